use super::*;

const MS: u64 = 1_000_000;
const TOKEN: Token = 9;

fn subflow(port: u16) -> Subflow {
    Subflow {
        local_id: u8::from(port != 1000),
        remote_id: 0,
        local: SocketAddr::new([10, 0, 0, 1].into(), port),
        remote: "10.0.0.2:80".parse().unwrap(),
        backup: false,
    }
}

fn connections(spread: Spread) -> Connections {
    let joins = Joins {
        subflows: 4,
        after: 256_000,
        spread,
        addresses: vec!["10.0.0.1".parse().unwrap(), "10.0.1.1".parse().unwrap()],
    };
    let hysteresis = Hysteresis {
        release_after: 100 * MS,
        cycle: 500 * MS,
    };
    Connections::new(joins, hysteresis)
}

fn established(server: bool) -> Event {
    Event::Established {
        token: TOKEN,
        initial: subflow(1000),
        server,
    }
}

/// What the kernel is told for one thing that happens.
fn told(act: impl FnOnce(&mut Vec<Told>)) -> Vec<Command> {
    let mut told = Vec::new();
    act(&mut told);
    told.into_iter().flat_map(|told| told.commands).collect()
}

/// The algorithm suppresses or releases all subflows but the first, as the programs report it.
fn wish(all: &mut Connections, suppress: bool, now: u64, told: &mut Vec<Told>) {
    let ends: Vec<_> = all
        .get(TOKEN)
        .unwrap()
        .subflows
        .iter()
        .map(Subflow::ends)
        .collect();
    for subflow in ends.into_iter().skip(usize::from(suppress)) {
        all.on_wish(TOKEN, subflow, suppress, now);
    }
    all.settle([TOKEN], now, told);
}

fn with_subflows(n: u16) -> Connections {
    let mut all = connections(Spread::SamePair);
    let mut none = Vec::new();
    all.on_event(0, &established(false), 0, &mut none);
    for port in 1001..1000 + n {
        let joined = Event::Joined {
            token: TOKEN,
            subflow: subflow(port),
        };
        all.on_event(0, &joined, 0, &mut none);
    }
    assert!(none.is_empty());
    all
}

#[test]
fn joins_wait_for_bytes_and_are_asked_for_once() {
    let mut all = connections(Spread::SamePair);
    assert!(told(|t| all.on_event(0, &established(false), 0, t)).is_empty());
    let joins = told(|t| all.on_bulk(TOKEN, MS, t));
    let expected = Command::Create {
        token: TOKEN,
        local: [10, 0, 0, 1].into(),
        local_id: 1,
        remote: "10.0.0.2:80".parse().unwrap(),
        backup: false,
    };
    assert_eq!(joins, [expected; 3]);
    assert!(told(|t| all.on_bulk(TOKEN, MS, t)).is_empty());
}

#[test]
fn a_report_before_the_kernels_event_is_not_lost() {
    let mut all = connections(Spread::SamePair);
    assert!(told(|t| all.on_bulk(TOKEN, 0, t)).is_empty());
    assert_eq!(told(|t| all.on_event(0, &established(false), MS, t)).len(), 3);
}

#[test]
fn a_server_opens_none() {
    let mut all = connections(Spread::SamePair);
    let mut none = Vec::new();
    all.on_event(0, &established(true), 0, &mut none);
    all.on_bulk(TOKEN, 0, &mut none);
    assert!(none.is_empty());
}

#[test]
fn across_addresses_each_pair_is_used_once_and_a_server_announces() {
    let mut all = connections(Spread::Addresses);
    let mut none = Vec::new();
    all.on_event(0, &established(false), 0, &mut none);
    let announced = Event::Announced {
        token: TOKEN,
        id: 3,
        address: "10.0.1.2".parse().unwrap(),
        port: 0,
    };
    all.on_event(0, &announced, 0, &mut none);
    let joins = told(|t| all.on_bulk(TOKEN, 0, t));
    let pairs: Vec<String> = joins
        .iter()
        .map(|join| match join {
            Command::Create {
                local,
                remote,
                local_id,
                ..
            } => format!("{local}#{local_id} {remote}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "10.0.1.1#2 10.0.1.2:80",
        "10.0.0.1#1 10.0.1.2:80",
        "10.0.1.1#2 10.0.0.2:80",
    ];
    assert_eq!(pairs, expected);

    let mut server = connections(Spread::Addresses);
    let commands = told(|t| server.on_event(0, &established(true), 0, t));
    let other = Command::Announce {
        token: TOKEN,
        address: "10.0.1.1".parse().unwrap(),
        id: 2,
    };
    assert_eq!(commands, [other]);
}

#[test]
fn joins_that_do_not_come_to_be_are_tried_again_with_patience() {
    let mut all = connections(Spread::SamePair);
    let mut none = Vec::new();
    all.on_event(0, &established(false), 0, &mut none);
    all.on_bulk(TOKEN, 0, &mut none);
    let joined = Event::Joined {
        token: TOKEN,
        subflow: subflow(1001),
    };
    all.on_event(0, &joined, MS, &mut none);
    assert_eq!(all.deadline(), Some(RETRY));
    assert_eq!(told(|t| all.due(RETRY, t)).len(), 2);
    let mut attempts = 1;
    while let Some(at) = all.deadline() {
        told(|t| all.due(at, t));
        attempts += 1;
    }
    assert_eq!(attempts, ATTEMPTS);
}

#[test]
fn suppression_is_told_at_once_to_all_but_the_first() {
    let mut all = with_subflows(4);
    let commands = told(|t| wish(&mut all, true, MS, t));
    let ports: Vec<u16> = commands
        .iter()
        .map(|command| match command {
            Command::Prioritise {
                local, backup: true, ..
            } => local.port(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ports, [1001, 1002, 1003]);
    assert!(told(|t| wish(&mut all, true, 2 * MS, t)).is_empty());
}

#[test]
fn the_subflow_that_the_algorithm_leaves_alone_need_not_be_the_first() {
    let mut all = with_subflows(3);
    let ends = |port| subflow(port).ends();
    let commands = told(|t| {
        for port in [1000, 1002] {
            all.on_wish(TOKEN, ends(port), true, MS);
        }
        all.settle([TOKEN], MS, t);
    });
    let flagged: Vec<_> = commands
        .iter()
        .map(|command| match command {
            Command::Prioritise { local, backup, .. } => (local.port(), *backup),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(flagged, [(1000, true), (1002, true)]);
    // It closes; the oldest that is left takes its place.
    let left = Event::Left {
        token: TOKEN,
        subflow: subflow(1001),
    };
    let commands = told(|t| {
        all.on_event(0, &left, 2 * MS, t);
        all.settle([TOKEN], 2 * MS, t);
    });
    assert!(
        matches!(commands[..], [Command::Prioritise { local, backup: false, .. }] if local.port() == 1000),
        "{commands:?}"
    );
}

#[test]
fn a_late_joiner_is_flagged_too() {
    let mut all = with_subflows(2);
    told(|t| wish(&mut all, true, MS, t));
    let joined = Event::Joined {
        token: TOKEN,
        subflow: subflow(1007),
    };
    let commands = told(|t| all.on_event(0, &joined, 2 * MS, t));
    assert!(
        matches!(commands[..], [Command::Prioritise { local, backup: true, .. }] if local.port() == 1007),
        "{commands:?}"
    );
}

#[test]
fn joins_of_a_suppressed_connection_are_backups() {
    let mut all = with_subflows(2);
    told(|t| wish(&mut all, true, MS, t));
    let joins = told(|t| all.on_bulk(TOKEN, 2 * MS, t));
    assert_eq!(joins.len(), 2);
    assert!(
        joins
            .iter()
            .all(|join| matches!(join, Command::Create { backup: true, .. }))
    );
}

#[test]
fn release_waits_until_the_wish_has_lasted() {
    let mut all = with_subflows(2);
    told(|t| wish(&mut all, true, 0, t));
    assert!(told(|t| wish(&mut all, false, 600 * MS, t)).is_empty());
    told(|t| wish(&mut all, true, 650 * MS, t));
    assert!(told(|t| wish(&mut all, false, 660 * MS, t)).is_empty());
    assert!(told(|t| all.due(710 * MS, t)).is_empty());
    assert_eq!(all.deadline(), Some(760 * MS));
    assert_eq!(told(|t| all.due(760 * MS, t)).len(), 1);
}

#[test]
fn an_algorithm_that_changes_its_mind_every_few_milliseconds_makes_one_cycle_a_burst_at_most() {
    let mut all = with_subflows(4);
    let mut starts = Vec::new();
    for ms in 0..14_000 {
        let now = ms * MS;
        let mut told = Vec::new();
        all.due(now, &mut told);
        // In a burst suppression and release are asked for in turn, 20 ms each; else release.
        let suppress = ms % 700 < 350 && ms % 40 < 20;
        wish(&mut all, suppress, now, &mut told);
        if told.iter().any(|t| matches!(t.suppression, Some((true, _)))) {
            starts.push(ms);
        }
        // Nobody waits for suppression.
        assert!(!suppress || all.get(TOKEN).unwrap().suppressed);
    }
    let bursts: BTreeSet<_> = starts.iter().map(|ms| ms / 700).collect();
    assert_eq!(bursts.len(), starts.len(), "{starts:?}");
    // It is left suppressed the longer, the more often it happens.
    assert!((3..8).contains(&starts.len()), "{starts:?}");
}

#[test]
fn at_the_end_everything_is_released_and_a_closed_connection_forgotten() {
    let mut all = with_subflows(3);
    told(|t| wish(&mut all, true, 0, t));
    let released: usize = all.release_all().iter().map(|told| told.commands.len()).sum();
    assert_eq!(released, 2);
    let mut none = Vec::new();
    all.on_event(0, &Event::Closed { token: TOKEN }, 0, &mut none);
    assert!(all.is_empty());
}

#[test]
fn a_connection_whose_end_was_not_told_is_forgotten_once_it_was_missed_twice() {
    let mut all = with_subflows(2);
    let seen = Seen {
        token: TOKEN,
        subflow: subflow(1000),
        initial: true,
        server: false,
        congestion: "weft_amp".to_owned(),
        bytes: 0,
        ecn: true,
    };
    all.forget_absent(0, &[]);
    all.forget_absent(0, &[seen]);
    all.forget_absent(0, &[]);
    all.forget_absent(1, &[]);
    assert_eq!(all.len(), 1);
    all.forget_absent(0, &[]);
    assert!(all.is_empty());
}
