//! Subflows that time out while another one progresses, and joins that the network has delayed.

use super::super::connection::requested_pair;
use super::*;

fn failed(all: &mut Connections, port: u16, now: u64) -> Vec<Command> {
    commands_of(|t| {
        all.on_failed(TOKEN, subflow(port).four_tuple(), now, t);
    })
}

fn is_destroyed(commands: &[Command], port: u16) -> bool {
    matches!(commands, [Command::DestroySubflow { local, .. }] if local.port() == port)
}

#[test]
fn a_failed_subflow_is_closed_and_opened_again() {
    let mut all = with_subflows(4);
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let commands = failed(&mut all, 1002, SECOND);
    assert!(is_destroyed(&commands, 1002), "{commands:?}");
    // The kernel repeats what it has sent on the subflow, which times out, for some time.
    assert!(failed(&mut all, 1002, 2 * SECOND).is_empty());
    assert!(commands_of(|t| all.on_event(0, &left(1002), 2 * SECOND, t)).is_empty());
    let again = pass(&mut all, 10 * SECOND);
    assert!(
        matches!(again[..], [(at, Command::CreateSubflow { .. })] if at == 3 * SECOND),
        "{again:?}"
    );
}

#[test]
fn a_failed_subflow_is_opened_again_between_its_addresses() {
    let mut all = connections(JoinPolicy::Fullmesh);
    commands_of(|t| all.on_event(0, &established(false), 0, t));
    let mut second = subflow(1001);
    second.local.set_ip("10.0.1.1".parse().unwrap());
    let joined = Event::SubflowEstablished {
        token: TOKEN,
        subflow: second,
    };
    commands_of(|t| all.on_event(0, &joined, 0, t));
    let announced = Event::Announced {
        token: TOKEN,
        id: 3,
        address: "10.0.1.2".parse().unwrap(),
        port: 0,
    };
    commands_of(|t| all.on_event(0, &announced, 0, t));
    // Joins to the announced address are on their way.
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    commands_of(|t| {
        all.on_failed(TOKEN, second.four_tuple(), SECOND, t);
    });
    let again = pass(&mut all, 10 * SECOND);
    let expected = (second.local.ip(), second.remote);
    assert!(
        matches!(again[..], [(_, Command::CreateSubflow { local, remote, .. })] if (local, remote) == expected),
        "{again:?}"
    );
}

/// Returns the addresses of the joins among commands.
fn joined_pairs(commands: &[(u64, Command)]) -> Vec<(IpAddr, SocketAddr)> {
    let pair = |(_, command): &(u64, Command)| match command {
        Command::CreateSubflow { local, remote, .. } => Some((*local, *remote)),
        _ => None,
    };
    commands.iter().filter_map(pair).collect()
}

/// A server that listens at its first address only, while its kernel announces both.
#[test]
fn a_join_to_an_address_without_listener_is_not_held_for_a_limit() {
    let mut all = connections(JoinPolicy::Fullmesh);
    all.joins.subflows = 2;
    commands_of(|t| all.on_event(0, &established(false), 0, t));
    let announced = Event::Announced {
        token: TOKEN,
        id: 3,
        address: "10.0.1.2".parse().unwrap(),
        port: 0,
    };
    commands_of(|t| all.on_event(0, &announced, 0, t));
    let mut refused = subflow(1001);
    refused.local.set_ip("10.0.1.1".parse().unwrap());
    refused.remote.set_ip("10.0.1.2".parse().unwrap());
    let first = commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let first: Vec<_> = first.into_iter().map(|command| (0, command)).collect();
    assert_eq!(joined_pairs(&first), [requested_pair(&refused)]);
    let left = Event::SubflowClosed {
        token: TOKEN,
        subflow: refused,
    };
    commands_of(|t| all.on_event(0, &left, MS, t));
    let again = pass(&mut all, 3 * SECOND);
    let other = (refused.local.ip(), subflow(1000).remote);
    assert_eq!(joined_pairs(&again), [other], "{again:?}");
}

#[test]
fn a_failed_pair_comes_first_until_a_join_between_it_lasts() {
    let mut all = connections(JoinPolicy::Fullmesh);
    commands_of(|t| all.on_event(0, &established(false), 0, t));
    let mut second = subflow(1001);
    second.local.set_ip("10.0.1.1".parse().unwrap());
    let established = |all: &mut Connections, port: u16, now: u64| {
        let mut subflow = second;
        subflow.local.set_port(port);
        let joined = Event::SubflowEstablished {
            token: TOKEN,
            subflow,
        };
        commands_of(|t| all.on_event(0, &joined, now, t));
        subflow.four_tuple()
    };
    let first = established(&mut all, 1001, 0);
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    commands_of(|t| {
        all.on_failed(TOKEN, first, SECOND, t);
    });
    let failed = |all: &Connections| all.get(TOKEN).unwrap().joins.failed.len();
    assert_eq!(failed(&all), 1);
    // Without ECN it is closed, too, and the pair still comes first.
    let now = 4 * SECOND;
    let without_ecn = established(&mut all, 1002, now);
    commands_of(|t| all.on_uncoupled(TOKEN, without_ecn, UncoupledReason::NoEcn, now, t));
    assert_eq!(failed(&all), 1);
    established(&mut all, 1003, now);
    pass(&mut all, 6 * SECOND);
    assert_eq!(failed(&all), 0);
}

#[test]
fn the_first_subflow_may_fail_and_the_last_one_stays() {
    let mut all = with_subflows(2);
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let commands = failed(&mut all, 1000, SECOND);
    assert!(is_destroyed(&commands, 1000), "{commands:?}");
    assert!(failed(&mut all, 1001, SECOND).is_empty());
    assert_eq!(all.get(TOKEN).unwrap().subflows, [subflow(1001)]);
}

#[test]
fn an_end_that_cannot_join_again_closes_nothing() {
    let mut all = connections(JoinPolicy::Ndiffports);
    commands_of(|t| all.on_event(0, &established(true), 0, t));
    commands_of(|t| all.on_event(0, &joined(1001), 0, t));
    assert!(failed(&mut all, 1001, SECOND).is_empty());
    // The kernel refuses joins of a connection that another path manager opened.
    let mut all = with_subflows(2);
    let joins = commands_of(|t| all.on_bulk(TOKEN, 0, t));
    let Command::CreateSubflow { local, remote, .. } = joins[0] else {
        panic!("{joins:?}");
    };
    all.on_invalid(TOKEN, (local, remote), 0);
    assert!(failed(&mut all, 1001, SECOND).is_empty());
}

/// The joins of a connection are answered without ECN, and the delays until the next one are returned.
fn delays_of_repeated(all: &mut Connections, now: &mut u64, ports: std::ops::Range<u16>) -> Vec<u64> {
    *now += SECOND;
    for port in ports {
        let commands = commands_of(|t| {
            all.on_event(0, &joined(port), *now, t);
            all.on_uncoupled(TOKEN, subflow(port).four_tuple(), UncoupledReason::NoEcn, *now, t);
        });
        assert!(is_destroyed(&commands, port), "{commands:?}");
        commands_of(|t| all.on_event(0, &left(port), *now, t));
        *now += MS;
    }
    let answered = *now;
    let again = pass(all, answered + 100 * SECOND);
    *now = again.last().expect("a join").0;
    again.iter().map(|(at, _)| (at - answered) / SECOND).collect()
}

/// A path whose SYN is lost or late answers the second one, from which the kernel has removed ECN.
#[test]
fn joins_whose_syns_were_repeated_are_tried_again_at_once() {
    let mut all = with_subflows(2);
    let mut now = 2 * SECOND;
    assert!(pass(&mut all, now).is_empty());
    assert_eq!(commands_of(|t| all.on_bulk(TOKEN, now, t)).len(), 2);
    assert_eq!(delays_of_repeated(&mut all, &mut now, 1002..1004), [0, 0]);
    assert_eq!(delays_of_repeated(&mut all, &mut now, 1004..1006), [0, 0]);
    // A device on the way that drops SYNs with ECN always does.
    assert_eq!(delays_of_repeated(&mut all, &mut now, 1006..1008), [7, 7]);
    assert_eq!(delays_of_repeated(&mut all, &mut now, 1008..1010), [15, 15]);
}
