use super::super::DiagSubflow;
use super::*;

mod addresses;
mod failed;
mod hostile;
mod inactive;
mod lost;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
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

fn connections(policy: JoinPolicy) -> Connections {
    let joins = JoinConfig {
        subflows: 4,
        min_bytes: 256_000,
        policy,
        addresses: vec!["10.0.0.1".parse().unwrap(), "10.0.1.1".parse().unwrap()],
        max_probes: 3,
        max_accepted: 8,
        announced_ports: false,
    };
    let hysteresis = Hysteresis {
        release_after: 100 * MS,
        min_cycle: 500 * MS,
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

/// The commands that one event causes.
fn commands_of(act: impl FnOnce(&mut Vec<CommandBatch>)) -> Vec<Command> {
    let mut batches = Vec::new();
    act(&mut batches);
    batches.into_iter().flat_map(|batch| batch.commands).collect()
}

/// The algorithm suppresses or releases all subflows but the first, as the programs report it.
fn request(all: &mut Connections, suppress: bool, now: u64, batches: &mut Vec<CommandBatch>) {
    let four_tuple: Vec<_> = all
        .get(TOKEN)
        .unwrap()
        .subflows
        .iter()
        .map(Subflow::four_tuple)
        .collect();
    for subflow in four_tuple.into_iter().skip(usize::from(suppress)) {
        all.on_request(TOKEN, subflow, suppress, now);
    }
    all.apply_requests([TOKEN], now, batches);
}

fn with_subflows(n: u16) -> Connections {
    let mut all = connections(JoinPolicy::Ndiffports);
    let mut none = Vec::new();
    all.on_event(0, &established(false), 0, &mut none);
    for port in 1001..1000 + n {
        let joined = Event::SubflowEstablished {
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
    let mut all = connections(JoinPolicy::Ndiffports);
    assert!(commands_of(|t| all.on_event(0, &established(false), 0, t)).is_empty());
    let joins = commands_of(|t| all.on_bulk(TOKEN, MS, t));
    let expected = Command::CreateSubflow {
        token: TOKEN,
        local: [10, 0, 0, 1].into(),
        local_id: 1,
        remote: "10.0.0.2:80".parse().unwrap(),
        backup: false,
    };
    assert_eq!(joins, [expected; 3]);
    assert!(commands_of(|t| all.on_bulk(TOKEN, MS, t)).is_empty());
}

#[test]
fn a_report_before_the_kernels_event_is_not_lost() {
    let mut all = connections(JoinPolicy::Ndiffports);
    assert!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).is_empty());
    assert_eq!(
        commands_of(|t| all.on_event(0, &established(false), MS, t)).len(),
        3
    );
}

#[test]
fn a_server_opens_none() {
    let mut all = connections(JoinPolicy::Ndiffports);
    let mut none = Vec::new();
    all.on_event(0, &established(true), 0, &mut none);
    all.on_bulk(TOKEN, 0, &mut none);
    assert!(none.is_empty());
}

#[test]
fn across_addresses_each_pair_is_used_once_and_a_server_announces() {
    let mut all = connections(JoinPolicy::Fullmesh);
    let mut none = Vec::new();
    all.on_event(0, &established(false), 0, &mut none);
    let announced = Event::Announced {
        token: TOKEN,
        id: 3,
        address: "10.0.1.2".parse().unwrap(),
        port: 0,
    };
    all.on_event(0, &announced, 0, &mut none);
    let joins = commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let pairs: Vec<String> = joins
        .iter()
        .map(|join| match join {
            Command::CreateSubflow {
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

    let mut server = connections(JoinPolicy::Fullmesh);
    let commands = commands_of(|t| server.on_event(0, &established(true), 0, t));
    let other = Command::Announce {
        backup: false,
        token: TOKEN,
        address: "10.0.1.1".parse().unwrap(),
        id: 2,
    };
    assert_eq!(commands, [other]);
}

fn left(port: u16) -> Event {
    Event::SubflowClosed {
        token: TOKEN,
        subflow: subflow(port),
    }
}

fn joined(port: u16) -> Event {
    Event::SubflowEstablished {
        token: TOKEN,
        subflow: subflow(port),
    }
}

/// Without any event, until the time.
fn pass(all: &mut Connections, until: u64) -> Vec<(u64, Command)> {
    let mut commands = Vec::new();
    while let Some(at) = all.deadline()
        && at <= until
    {
        commands.extend(
            commands_of(|t| all.on_deadlines(at, t))
                .into_iter()
                .map(|command| (at, command)),
        );
    }
    commands
}

#[test]
fn joins_that_take_long_are_not_asked_for_again() {
    let mut all = with_subflows(1);
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).len(), 3);
    assert!(pass(&mut all, 1000 * SECOND).is_empty());
    assert!(commands_of(|t| all.on_bulk(TOKEN, 1000 * SECOND, t)).is_empty());
}

#[test]
fn joins_that_fail_are_tried_again_each_time_after_twice_as_long_up_to_a_minute() {
    let mut all = with_subflows(3);
    assert!(pass(&mut all, SECOND).is_empty());
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, SECOND, t)).len(), 1);
    let (mut now, mut pauses) = (0, Vec::new());
    for _ in 0..8 {
        // The kernel gives up.
        now += 127 * SECOND;
        commands_of(|t| all.on_event(0, &left(2000), now, t));
        // Bytes do not hurry it.
        assert!(commands_of(|t| all.on_bytes(TOKEN, 1 << 30, now + 1, t)).is_empty());
        let joins = pass(&mut all, now + 100 * SECOND);
        assert_eq!(joins.len(), 1, "{joins:?}");
        pauses.push((joins[0].0 - now) / SECOND);
        now = joins[0].0;
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn a_join_that_was_rejected_after_it_stood_is_asked_for_again_a_minute_later() {
    let mut all = with_subflows(1);
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).len(), 3);
    let mut none = Vec::new();
    for port in 1001..1004 {
        all.on_event(0, &joined(port), 0, &mut none);
    }
    all.on_event(0, &left(1003), MS, &mut none);
    assert!(pass(&mut all, 59 * SECOND).is_empty());
    assert_eq!(pass(&mut all, 70 * SECOND).len(), 1);
    assert!(none.is_empty());
}

#[test]
fn a_connection_that_closes_at_once_teaches_nothing_of_its_peer() {
    let mut all = with_subflows(1);
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let mut none = Vec::new();
    for port in [1001, 1002] {
        all.on_event(0, &joined(port), 0, &mut none);
    }
    for port in [1001, 1002, 1000] {
        all.on_event(0, &left(port), MS, &mut none);
    }
    all.on_event(0, &Event::Closed { token: TOKEN }, MS, &mut none);
    assert!(pass(&mut all, SECOND).is_empty());
    all.on_event(0, &established(false), SECOND, &mut none);
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, SECOND, t)).len(), 3);
}

#[test]
fn a_join_without_ecn_is_closed_and_tried_again() {
    // The programs report before or after the kernel.
    for kernel_first in [false, true] {
        let mut all = with_subflows(3);
        assert_eq!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).len(), 1);
        let commands = commands_of(|t| {
            if kernel_first {
                all.on_event(0, &joined(1003), 0, t);
            }
            all.on_uncoupled(TOKEN, subflow(1003).four_tuple(), UncoupledReason::NoEcn, 0, t);
            if !kernel_first {
                all.on_event(0, &joined(1003), 0, t);
            }
            all.on_event(0, &left(1003), MS, t);
        });
        assert!(
            matches!(commands[..], [Command::DestroySubflow { local, .. }] if local.port() == 1003),
            "{commands:?}"
        );
        let again = pass(&mut all, 3 * SECOND);
        assert!(
            matches!(again[..], [(_, Command::CreateSubflow { .. })]),
            "{again:?}"
        );
    }
}

/// The kernel reports that the first one has gone while it is still at the others, between the same addresses.
#[test]
fn joins_without_ecn_that_are_closed_teach_nothing_of_the_peer() {
    let mut all = with_subflows(1);
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).len(), 3);
    for port in 1001..1004 {
        let commands = commands_of(|t| {
            all.on_uncoupled(TOKEN, subflow(port).four_tuple(), UncoupledReason::NoEcn, 0, t);
            all.on_event(0, &joined(port), 0, t);
            all.on_event(0, &left(port), MS, t);
        });
        assert!(
            matches!(commands[..], [Command::DestroySubflow { .. }]),
            "{commands:?}"
        );
    }
    let again: Vec<_> = pass(&mut all, 3 * SECOND);
    assert_eq!(again.len(), 3, "{again:?}");
}

#[test]
fn a_server_makes_no_use_of_a_join_without_ecn() {
    let mut all = connections(JoinPolicy::Ndiffports);
    let commands = commands_of(|t| {
        all.on_event(0, &established(true), 0, t);
        for port in [1001, 1002] {
            all.on_event(0, &joined(port), 0, t);
        }
        all.on_uncoupled(TOKEN, subflow(1001).four_tuple(), UncoupledReason::NoEcn, 0, t);
    });
    assert!(
        matches!(commands[..], [Command::SetBackup { local, backup: true, .. }] if local.port() == 1001),
        "{commands:?}"
    );
    // It stays aside when the others are released.
    commands_of(|t| request(&mut all, true, SECOND, t));
    commands_of(|t| request(&mut all, false, 3 * SECOND, t));
    pass(&mut all, 9 * SECOND);
    let backups: Vec<_> = all
        .get(TOKEN)
        .unwrap()
        .subflows
        .iter()
        .map(|s| s.backup)
        .collect();
    assert_eq!(backups, [false, true, false]);
}

#[test]
fn a_connection_without_ecn_stays_single_path() {
    let mut all = connections(JoinPolicy::Ndiffports);
    commands_of(|t| all.on_uncoupled(TOKEN, subflow(1000).four_tuple(), UncoupledReason::NoEcn, 0, t));
    let commands = commands_of(|t| {
        all.on_event(0, &established(false), 0, t);
        all.on_bulk(TOKEN, 0, t);
    });
    assert!(commands.is_empty(), "{commands:?}");
    // If the peer opens one nevertheless, it is a backup.
    let commands = commands_of(|t| all.on_event(0, &joined(1001), 0, t));
    assert!(
        matches!(commands[..], [Command::SetBackup { local, backup: true, .. }] if local.port() == 1001),
        "{commands:?}"
    );
}

#[test]
fn there_are_never_more_subflows_than_configured() {
    let mut all = with_subflows(4);
    let commands = commands_of(|t| all.on_event(0, &joined(1004), 0, t));
    assert!(
        matches!(commands[..], [Command::DestroySubflow { local, .. }] if local.port() == 1004),
        "{commands:?}"
    );
}

#[test]
fn joins_on_their_way_are_taken_over_and_not_asked_for_again() {
    let mut all = connections(JoinPolicy::Ndiffports);
    let mut seen = vec![seen(1000)];
    seen.extend([1001, 1002].map(|port| DiagSubflow {
        established: false,
        initial: false,
        ..self::seen(port)
    }));
    seen[0].bytes = 1 << 30;
    assert_eq!(commands_of(|t| all.resync(0, &seen, 0, t)).len(), 1);
    // They end unheard.
    all.reap_absent(0, &seen[..1], SECOND);
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, SECOND, t)).len(), 3);
}

#[test]
fn a_listener_of_both_families_announces_ipv4_addresses() {
    let mut server = connections(JoinPolicy::Fullmesh);
    let mapped = |address: &str| SocketAddr::new(address.parse().unwrap(), 80);
    let established = Event::Established {
        token: TOKEN,
        initial: Subflow {
            local: mapped("::ffff:10.0.0.1"),
            remote: mapped("::ffff:10.0.0.2"),
            ..subflow(1000)
        },
        server: true,
    };
    let commands = commands_of(|t| server.on_event(0, &established, 0, t));
    assert!(
        matches!(commands[..], [Command::Announce { address, .. }] if address.to_string() == "10.0.1.1"),
        "{commands:?}"
    );
}

#[test]
fn suppression_is_sent_at_once_to_all_but_the_first() {
    let mut all = with_subflows(4);
    let commands = commands_of(|t| request(&mut all, true, MS, t));
    let ports: Vec<u16> = commands
        .iter()
        .map(|command| match command {
            Command::SetBackup {
                local, backup: true, ..
            } => local.port(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ports, [1001, 1002, 1003]);
    assert!(commands_of(|t| request(&mut all, true, 2 * MS, t)).is_empty());
}

#[test]
fn the_subflow_that_the_algorithm_leaves_alone_need_not_be_the_first() {
    let mut all = with_subflows(3);
    let four_tuple = |port| subflow(port).four_tuple();
    let commands = commands_of(|t| {
        for port in [1000, 1002] {
            all.on_request(TOKEN, four_tuple(port), true, MS);
        }
        all.apply_requests([TOKEN], MS, t);
    });
    let flagged: Vec<_> = commands
        .iter()
        .map(|command| match command {
            Command::SetBackup { local, backup, .. } => (local.port(), *backup),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(flagged, [(1000, true), (1002, true)]);
    // It closes; the oldest that is left takes its place.
    let commands = commands_of(|t| {
        all.on_event(0, &left(1001), 2 * MS, t);
        all.apply_requests([TOKEN], 2 * MS, t);
    });
    assert!(
        matches!(commands[..], [Command::SetBackup { local, backup: false, .. }] if local.port() == 1000),
        "{commands:?}"
    );
}

#[test]
fn a_late_joiner_is_flagged_too() {
    let mut all = with_subflows(2);
    commands_of(|t| request(&mut all, true, MS, t));
    let joined = Event::SubflowEstablished {
        token: TOKEN,
        subflow: subflow(1007),
    };
    let commands = commands_of(|t| all.on_event(0, &joined, 2 * MS, t));
    assert!(
        matches!(commands[..], [Command::SetBackup { local, backup: true, .. }] if local.port() == 1007),
        "{commands:?}"
    );
}

/// The kernel reports a join some time before it finds the subflow.
#[test]
fn a_flag_that_the_kernel_refuses_is_tried_again() {
    let mut all = with_subflows(3);
    let late = subflow(1002).four_tuple();
    let is_of_it = |commands: &[Command], backup: bool| matches!(commands, [Command::SetBackup { local, backup: flag, .. }] if local.port() == 1002 && *flag == backup);
    assert_eq!(commands_of(|t| request(&mut all, true, 0, t)).len(), 2);
    let mut now = 0;
    for pause in [5, 10, 20] {
        all.on_flag_refused(TOKEN, late, true, now);
        assert!(commands_of(|t| all.on_deadlines(now + (pause - 1) * MS, t)).is_empty());
        now += pause * MS;
        let again = commands_of(|t| all.on_deadlines(now, t));
        assert!(is_of_it(&again, true), "{again:?}");
    }
    assert!(
        commands_of(|t| all.on_deadlines(now + 2000 * MS, t)).is_empty(),
        "it was accepted"
    );
    // A release too.
    now += 3000 * MS;
    assert_eq!(
        commands_of(|t| request(&mut all, false, now, t)).len()
            + commands_of(|t| all.on_deadlines(now + 1000 * MS, t)).len(),
        2
    );
    now += 1000 * MS;
    all.on_flag_refused(TOKEN, late, false, now);
    let again = commands_of(|t| all.on_deadlines(now + 5 * MS, t));
    assert!(is_of_it(&again, false), "{again:?}");
    // One that has gone is left alone.
    all.on_flag_refused(TOKEN, late, false, now + 10 * MS);
    commands_of(|t| all.on_event(0, &left(1002), now + 11 * MS, t));
    assert!(commands_of(|t| all.on_deadlines(now + 100 * MS, t)).is_empty());
}

#[test]
fn joins_of_a_suppressed_connection_are_backups() {
    let mut all = with_subflows(2);
    commands_of(|t| request(&mut all, true, MS, t));
    let joins = commands_of(|t| all.on_bulk(TOKEN, 2 * MS, t));
    assert_eq!(joins.len(), 2);
    assert!(
        joins
            .iter()
            .all(|join| matches!(join, Command::CreateSubflow { backup: true, .. }))
    );
}

#[test]
fn release_waits_until_the_request_has_lasted() {
    let mut all = with_subflows(2);
    commands_of(|t| request(&mut all, true, 0, t));
    assert!(commands_of(|t| request(&mut all, false, 600 * MS, t)).is_empty());
    commands_of(|t| request(&mut all, true, 650 * MS, t));
    assert!(commands_of(|t| request(&mut all, false, 660 * MS, t)).is_empty());
    assert!(commands_of(|t| all.on_deadlines(710 * MS, t)).is_empty());
    assert_eq!(all.deadline(), Some(760 * MS));
    assert_eq!(commands_of(|t| all.on_deadlines(760 * MS, t)).len(), 1);
}

#[test]
fn an_algorithm_that_changes_its_mind_every_few_milliseconds_makes_one_cycle_a_burst_at_most() {
    let mut all = with_subflows(4);
    let mut starts = Vec::new();
    for ms in 0..14_000 {
        let now = ms * MS;
        let mut batches = Vec::new();
        all.on_deadlines(now, &mut batches);
        // In a burst suppression and release are asked for in turn, 20 ms each; else release.
        let suppress = ms % 700 < 350 && ms % 40 < 20;
        request(&mut all, suppress, now, &mut batches);
        if batches
            .iter()
            .any(|t| matches!(t.suppression, Some(Decision { suppress: true, .. })))
        {
            starts.push(ms);
        }
        // Suppression takes effect at once.
        assert!(!suppress || all.get(TOKEN).unwrap().is_suppressed());
    }
    let bursts: BTreeSet<_> = starts.iter().map(|ms| ms / 700).collect();
    assert_eq!(bursts.len(), starts.len(), "{starts:?}");
    // It is left suppressed the longer, the more often it happens.
    assert!((3..8).contains(&starts.len()), "{starts:?}");
}

fn seen(port: u16) -> DiagSubflow {
    DiagSubflow {
        token: TOKEN,
        subflow: subflow(port),
        established: true,
        initial: true,
        server: false,
        congestion: "weft_amp".to_owned(),
        bytes: 0,
        ecn: true,
    }
}

#[test]
fn a_connection_whose_end_was_not_reported_is_forgotten_once_it_was_missed_twice() {
    let mut all = with_subflows(2);
    all.reap_absent(0, &[], 0);
    all.reap_absent(0, &[seen(1000)], 0);
    all.reap_absent(0, &[], 0);
    all.reap_absent(1, &[], 0);
    assert_eq!(all.len(), 1);
    all.reap_absent(0, &[], 0);
    assert!(all.is_empty());
}

#[test]
fn what_receives_more_than_it_sends_is_not_suppressed() {
    let mut all = with_subflows(4);
    commands_of(|t| request(&mut all, true, 0, t));
    // It sends at first, then it receives, then it sends again.
    assert!(commands_of(|t| all.on_traffic(TOKEN, [1000, 100], SECOND, t)).is_empty());
    assert!(commands_of(|t| all.on_traffic(TOKEN, [1100, 5000], 2 * SECOND, t)).is_empty());
    let released = pass(&mut all, 3 * SECOND);
    assert_eq!(released.len(), 3, "{released:?}");
    assert!(
        released
            .iter()
            .all(|(_, command)| matches!(command, Command::SetBackup { backup: false, .. }))
    );
    assert!(commands_of(|t| all.on_traffic(TOKEN, [1200, 9000], 3 * SECOND, t)).is_empty());
    let suppressed = commands_of(|t| all.on_traffic(TOKEN, [9000, 9000], 4 * SECOND, t));
    assert_eq!(suppressed.len(), 3, "{suppressed:?}");
}

#[test]
fn the_first_request_of_a_net_receiver_is_not_applied() {
    let mut all = with_subflows(4);
    assert!(!all.knows_direction(TOKEN, 10));
    assert!(commands_of(|t| all.on_traffic(TOKEN, [1000, 2000], 10, t)).is_empty());
    assert!(all.knows_direction(TOKEN, 11) && !all.knows_direction(TOKEN, SECOND));
    assert!(commands_of(|t| request(&mut all, true, 10, t)).is_empty());
    assert!(pass(&mut all, 3 * SECOND).is_empty());
}

/// Bytes arrive in bursts: between two reads that follow each other closely it may have sent more.
#[test]
fn a_pause_of_a_download_makes_no_net_sender() {
    let mut all = with_subflows(4);
    assert!(commands_of(|t| all.on_traffic(TOKEN, [1_000, 9_000], SECOND, t)).is_empty());
    assert!(commands_of(|t| request(&mut all, true, SECOND, t)).is_empty());
    let paused = SECOND + SECOND / 4;
    assert!(all.knows_direction(TOKEN, paused));
    assert!(commands_of(|t| all.on_traffic(TOKEN, [2_000, 9_000], paused, t)).is_empty());
    assert!(commands_of(|t| all.on_traffic(TOKEN, [3_000, 99_000], 2 * SECOND, t)).is_empty());
    let suppressed = commands_of(|t| all.on_traffic(TOKEN, [9_000, 99_000], 3 * SECOND, t));
    assert_eq!(suppressed.len(), 3, "{suppressed:?}");
}

/// The bytes that it receives while it is suppressed do not count against its release.
#[test]
fn a_connection_that_receives_is_released_although_it_receives_little_meanwhile() {
    let mut all = with_subflows(4);
    commands_of(|t| request(&mut all, true, 0, t));
    assert!(commands_of(|t| all.on_traffic(TOKEN, [0, 5000], SECOND, t)).is_empty());
    assert!(commands_of(|t| all.on_traffic(TOKEN, [5000, 5100], 2 * SECOND, t)).is_empty());
    assert_eq!(pass(&mut all, 3 * SECOND).len(), 3);
}
