//! Peers, users and containers that mean harm.

use super::*;

/// A join that this end accepted.
fn accepted(token: Token, port: u16) -> Event {
    Event::SubflowEstablished {
        token,
        subflow: subflow(port),
    }
}

fn destroyed(commands: &[Command]) -> Vec<u16> {
    let ports = commands.iter().map(|command| match command {
        Command::DestroySubflow { local, .. } => local.port(),
        other => panic!("{other:?}"),
    });
    ports.collect()
}

fn count(all: &Connections) -> usize {
    all.get(TOKEN).unwrap().subflows.len()
}

#[test]
fn a_peer_that_joins_without_end_gets_eight_subflows() {
    let mut all = connections(JoinPolicy::Ndiffports);
    commands_of(|t| all.on_event(0, &established(true), 0, t));
    let commands = commands_of(|t| {
        for port in 1001..1201 {
            all.on_event(0, &accepted(TOKEN, port), 0, t);
        }
    });
    assert_eq!(destroyed(&commands), (1008..1201).collect::<Vec<_>>());
    assert_eq!(count(&all), 8);
    // The programs report that they have no slot.
    let commands = commands_of(|t| {
        all.on_uncoupled(TOKEN, subflow(1300).four_tuple(), UncoupledReason::NoSlot, 0, t);
        all.on_event(0, &accepted(TOKEN, 1300), 0, t);
    });
    assert_eq!(destroyed(&commands), [1300]);
    // The kernel has closed one of the eight.
    all.on_event(0, &left(1003), MS, &mut Vec::new());
    assert!(commands_of(|t| all.on_event(0, &accepted(TOKEN, 1400), MS, t)).is_empty());
    assert_eq!(count(&all), 8);
}

/// The kernel reports a join before it can find the subflow.
#[test]
fn a_surplus_subflow_that_the_kernel_does_not_close_is_closed_later() {
    let mut all = with_subflows(4);
    let surplus = subflow(1004).four_tuple();
    assert_eq!(
        destroyed(&commands_of(|t| all.on_event(0, &joined(1004), 0, t))),
        [1004]
    );
    all.on_destroy_refused(TOKEN, surplus, 0);
    let again = pass(&mut all, 5 * MS);
    assert!(
        matches!(again[..], [(_, Command::DestroySubflow { .. })]),
        "{again:?}"
    );
    // However often it refuses, a scan finds what is left.
    for _ in 0..100 {
        all.on_destroy_refused(TOKEN, surplus, SECOND);
        pass(&mut all, 3 * SECOND);
    }
    let scan: Vec<_> = (1000..1005).map(seen).collect();
    all.reap_absent(0, &scan, 10 * SECOND);
    let again = pass(&mut all, 10 * SECOND);
    assert!(
        matches!(again[..], [(_, Command::DestroySubflow { .. })]),
        "{again:?}"
    );
    all.on_event(0, &left(1004), 10 * SECOND, &mut Vec::new());
    all.reap_absent(0, &scan[..4], 20 * SECOND);
    assert!(pass(&mut all, 30 * SECOND).is_empty());
    assert_eq!(count(&all), 4);
}

#[test]
fn surplus_subflows_are_closed_after_a_resync_too() {
    let limit = 8;
    for server in [true, false] {
        let mut all = connections(JoinPolicy::Ndiffports);
        let mut scan: Vec<_> = (1000..1020).map(seen).collect();
        for (i, subflow) in scan.iter_mut().enumerate() {
            subflow.initial = i == 0;
            subflow.server = server;
        }
        let commands = commands_of(|t| all.resync(0, &scan, 0, t));
        assert_eq!(commands.len(), 20 - limit, "{commands:?}");
        assert_eq!(count(&all), limit);
    }
}

#[test]
fn each_of_a_hundred_thousand_connections_is_read_as_fast_as_of_ten_thousand() {
    let read = |connections: usize| {
        let mut all = self::connections(JoinPolicy::Ndiffports);
        let subflow = |token: usize| DiagSubflow {
            token: token as Token,
            bytes: 1,
            ..seen(1000)
        };
        let scan: Vec<_> = (0..connections).map(subflow).collect();
        let took = (0..2).map(|_| cpu_time(|| all.resync(0, &scan, 0, &mut Vec::new())));
        let took = took.sum();
        assert_eq!(all.len(), connections);
        took
    };
    assert_grows_no_faster_than_the_number(10_000, read);
}

/// At most as many as one source address has ports, at a daemon that has just started.
#[test]
fn each_of_sixty_thousand_subflows_of_a_connection_is_closed_as_fast_as_of_six_thousand() {
    let close = |subflows: usize| {
        let mut all = connections(JoinPolicy::Ndiffports);
        let ports = 1000..1000 + subflows as u16;
        let mut scan: Vec<_> = ports.clone().map(seen).collect();
        for (i, subflow) in scan.iter_mut().enumerate() {
            subflow.initial = i == 0;
            subflow.server = true;
        }
        let mut commands = Vec::new();
        let took = cpu_time(|| {
            commands = commands_of(|t| all.resync(0, &scan, 0, t));
            for port in ports.skip(8) {
                all.on_event(0, &left(port), 0, &mut Vec::new());
            }
            all.reap_absent(0, &scan[..8], 0);
        });
        assert_eq!((commands.len(), count(&all)), (subflows - 8, 8));
        took
    };
    assert_grows_no_faster_than_the_number(6_000, close);
}

/// Work for ten times as many may take forty times as long, as caches hold less of it; what is quadratic takes a hundred times. A
/// limit in seconds would measure what else the machine does.
fn assert_grows_no_faster_than_the_number(few: usize, work: impl Fn(usize) -> std::time::Duration) {
    let least = |number| (0..3).map(|_| work(number)).min().unwrap();
    let (of_few, of_many) = (least(few), least(10 * few));
    assert!(
        of_many < 40 * of_few,
        "{few}: {of_few:?}, {}: {of_many:?}",
        10 * few
    );
}

/// Processor time of this thread, whatever else the machine does.
fn cpu_time(work: impl FnOnce()) -> std::time::Duration {
    let clock = || {
        let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
        std::time::Duration::from(now.unwrap())
    };
    let began = clock();
    work();
    clock().saturating_sub(began)
}

#[test]
fn no_list_grows_with_lost_events() {
    let mut all = connections(JoinPolicy::Fullmesh);
    let own = subflow(1000).local.ip();
    let backup = Address {
        backup: true,
        ..Address::new(own)
    };
    all.on_addresses(0, vec![backup], &[own], 0, &mut Vec::new());
    let mut scan = [seen(1000), seen(1001)];
    scan[1].initial = false;
    for _ in 0..1000 {
        all.resync(0, &scan, 0, &mut Vec::new());
    }
    let connection = all.get(TOKEN).unwrap();
    assert_eq!(
        connection.suppression.forced_backups,
        [subflow(1001).four_tuple()]
    );
    // A BPF program reports subflows that the kernel never does.
    for port in 0..10_000 {
        let four_tuple = subflow(port).four_tuple();
        all.on_uncoupled(TOKEN, four_tuple, UncoupledReason::NoEcn, 0, &mut Vec::new());
        all.on_active_changed(TOKEN, four_tuple, false, &mut Vec::new());
    }
    let connection = all.get(TOKEN).unwrap();
    assert!(connection.joins.early_uncoupled.len() <= 64 && connection.suppression.inactive.len() <= 64);
}

#[test]
fn a_token_belongs_to_one_namespace() {
    let mut all = with_subflows(2);
    for event in [Event::Closed { token: TOKEN }, joined(1007), left(1001)] {
        assert!(commands_of(|t| all.on_event(1, &event, 0, t)).is_empty());
    }
    assert_eq!(count(&all), 2);
    // The kernel gives the token to another connection once the first has ended.
    all.on_event(1, &established(true), 0, &mut Vec::new());
    assert_eq!(all.get(TOKEN).unwrap().namespace, 1);
}

#[test]
fn connections_beyond_the_limit_are_not_recorded() {
    let mut all = connections(JoinPolicy::Ndiffports);
    for token in 0..MAX_CONNECTIONS as Token + 10 {
        let event = Event::Established {
            token,
            initial: subflow(1000),
            server: true,
        };
        all.on_event(0, &event, 0, &mut Vec::new());
        all.on_bulk(token + (1 << 24), 0, &mut Vec::new());
    }
    assert_eq!((all.len(), all.omitted()), (MAX_CONNECTIONS, 10));
    assert!(all.pending_events.len() <= MAX_PENDING);
    all.on_deadlines(60 * SECOND, &mut Vec::new());
    assert!(all.pending_events.is_empty());
}

/// Events of connections that the kernel never reports, as many as are kept.
#[test]
fn pending_events_cost_nothing_per_turn() {
    let mut all = connections(JoinPolicy::Ndiffports);
    let count = MAX_PENDING as u64;
    for i in 0..2 * count {
        all.on_bulk(i as Token, i, &mut Vec::new());
    }
    assert_eq!(all.pending_events.len(), MAX_PENDING);
    let took = cpu_time(|| {
        for turn in 0..1000 {
            all.on_deadlines(SECOND + turn, &mut Vec::new());
        }
    });
    assert!(took.as_millis() < 100, "{took:?}");
    // Each ends after ten seconds. A connection that the kernel has reported makes way for another with its token.
    all.on_event(0, &Event::Closed { token: 0 }, SECOND, &mut Vec::new());
    all.on_deadlines(10 * SECOND + 1, &mut Vec::new());
    assert_eq!(all.pending_events.len(), MAX_PENDING - 2);
    all.on_bulk(0, 11 * SECOND, &mut Vec::new());
    all.on_deadlines(12 * SECOND, &mut Vec::new());
    assert_eq!((all.pending_events.len(), all.pending_since.len()), (1, 1));
    all.on_deadlines(21 * SECOND, &mut Vec::new());
    assert!(all.pending_events.is_empty() && all.pending_since.is_empty());
}

#[test]
fn a_connection_without_subflows_survives_everything() {
    for server in [false, true] {
        let mut all = connections(JoinPolicy::Fullmesh);
        let mut batches = Vec::new();
        all.on_event(0, &established(server), 0, &mut batches);
        all.on_event(0, &left(1000), 0, &mut batches);
        assert_eq!(count(&all), 0);
        let addresses = ["10.0.0.1", "10.0.7.1"].map(|ip| ip.parse::<IpAddr>().unwrap());
        let eligible = addresses.map(Address::new).to_vec();
        all.on_addresses(0, eligible, &addresses, MS, &mut batches);
        all.on_event(0, &established(server), MS, &mut batches);
        all.on_event(0, &Event::Removed { token: TOKEN, id: 1 }, MS, &mut batches);
        let address = addresses[1];
        let announced = Event::Announced {
            token: TOKEN,
            id: 1,
            address,
            port: 0,
        };
        all.on_event(0, &announced, MS, &mut batches);
        let four_tuple = subflow(1000).four_tuple();
        all.on_uncoupled(TOKEN, four_tuple, UncoupledReason::NoEcn, MS, &mut batches);
        all.on_request(TOKEN, four_tuple, true, MS);
        all.apply_requests([TOKEN], MS, &mut batches);
        all.on_traffic(TOKEN, [1, 2], MS, &mut batches);
        all.on_bulk(TOKEN, MS, &mut batches);
        all.on_deadlines(100 * SECOND, &mut batches);
        all.resync(0, &[], 59 * SECOND, &mut batches);
        assert_eq!(all.len(), 1);
        all.resync(0, &[], 60 * SECOND, &mut batches);
        assert!(all.is_empty());
    }
}

#[test]
fn a_peer_does_not_choose_which_hosts_are_attacked() {
    let mut all = connections(JoinPolicy::Fullmesh);
    all.on_event(0, &established(false), 0, &mut Vec::new());
    let announce = |all: &mut Connections, id: u8, address: &str, port: u16| {
        let event = Event::Announced {
            token: TOKEN,
            id,
            address: address.parse().unwrap(),
            port,
        };
        all.on_event(0, &event, 0, &mut Vec::new());
        all.get(TOKEN).unwrap().announced.len()
    };
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "169.254.1.1",
        "::1",
        "::",
        "ff02::1",
        "fe80::1",
        "::ffff:127.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:169.254.1.1",
        "::ffff:255.255.255.255",
        "::ffff:224.0.0.1",
    ] {
        assert_eq!(announce(&mut all, 1, address, 0), 0, "{address}");
    }
    assert_eq!(announce(&mut all, 1, "10.0.1.2", 22), 0, "another service");
    assert_eq!(announce(&mut all, 1, "10.0.1.2", 80), 1);
    for id in 2..=255 {
        announce(&mut all, id, &format!("10.0.2.{id}"), 0);
    }
    assert_eq!(all.get(TOKEN).unwrap().announced.len(), 8);
    all.joins.announced_ports = true;
    assert_eq!(announce(&mut all, 1, "10.0.1.2", 22), 8);
}

/// The kernel cannot open a subflow to one of the addresses that a peer announced.
#[test]
fn an_address_that_does_not_fit_does_not_end_joins_to_others() {
    let mut all = connections(JoinPolicy::Fullmesh);
    all.on_event(0, &established(false), 0, &mut Vec::new());
    let announce = |all: &mut Connections, id: u8, now: u64| {
        let event = Event::Announced {
            token: TOKEN,
            id,
            address: [10, 0, 2, id].into(),
            port: 0,
        };
        let commands = commands_of(|t| all.on_event(0, &event, now, t));
        let joins = commands.iter().map(|command| match command {
            Command::CreateSubflow { local, remote, .. } => (*local, *remote),
            other => panic!("{other:?}"),
        });
        joins.collect::<Vec<_>>()
    };
    all.all.get_mut(&TOKEN).unwrap().bulk = true;
    let asked = announce(&mut all, 2, 0);
    let to_announced: Vec<_> = asked
        .iter()
        .filter(|pair| pair.1.ip() == IpAddr::from([10, 0, 2, 2]))
        .copied()
        .collect();
    assert!(!to_announced.is_empty(), "{asked:?}");
    for pair in &to_announced {
        all.on_invalid(TOKEN, *pair, 0);
    }
    assert!(!all.get(TOKEN).unwrap().joins.unmanaged);
    // Not again to that address, but to the next one.
    pass(&mut all, 10 * SECOND);
    let asked = announce(&mut all, 3, 10 * SECOND);
    assert!(
        !asked.is_empty() && asked.iter().all(|pair| !to_announced.contains(pair)),
        "{asked:?}"
    );
    // To the address of the first subflow the kernel refuses joins only of connections that are not ours.
    let initial = all.get(TOKEN).unwrap().initial_pair;
    all.on_invalid(TOKEN, initial, 10 * SECOND);
    assert!(announce(&mut all, 4, 20 * SECOND).is_empty());
}
