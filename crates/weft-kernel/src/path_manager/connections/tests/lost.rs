//! Connections without subflows, which the kernel keeps for `net.mptcp.close_timeout`.

use super::*;

/// All subflows close, as after a reset by the network.
fn lose_all(all: &mut Connections, ports: std::ops::Range<u16>, now: u64) {
    for port in ports {
        assert!(commands_of(|t| all.on_event(0, &left(port), now, t)).is_empty());
    }
}

/// Returns the number of joins among commands.
fn joins(commands: &[(u64, Command)]) -> usize {
    let is_join = |(_, command): &&(u64, Command)| matches!(command, Command::CreateSubflow { .. });
    commands.iter().filter(is_join).count()
}

#[test]
fn a_connection_that_lost_all_subflows_joins_again() {
    let mut all = with_subflows(4);
    assert!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).is_empty());
    lose_all(&mut all, 1000..1004, SECOND);
    assert!(all.get(TOKEN).unwrap().subflows.is_empty());
    let commands = pass(&mut all, 2 * SECOND);
    assert_eq!(joins(&commands), 4, "{commands:?}");
    assert_eq!(commands[0].0, SECOND + 100 * MS);
    for port in 1011..1015 {
        assert!(commands_of(|t| all.on_event(0, &joined(port), 2 * SECOND, t)).is_empty());
    }
    // The first of them takes the part of the initial subflow.
    let suppressed = commands_of(|t| request(&mut all, true, 3 * SECOND, t));
    let kept =
        |command: &Command| matches!(command, Command::SetBackup { local, .. } if local.port() == 1011);
    assert!(
        suppressed.len() == 3 && !suppressed.iter().any(kept),
        "{suppressed:?}"
    );
}

#[test]
fn a_connection_of_few_bytes_gets_one_subflow() {
    let mut all = with_subflows(1);
    lose_all(&mut all, 1000..1001, SECOND);
    let commands = pass(&mut all, 2 * SECOND);
    assert_eq!(joins(&commands), 1, "{commands:?}");
}

#[test]
fn a_connection_that_closes_does_not_join() {
    let mut all = with_subflows(4);
    commands_of(|t| all.on_bulk(TOKEN, 0, t));
    lose_all(&mut all, 1000..1004, SECOND);
    commands_of(|t| all.on_event(0, &Event::Closed { token: TOKEN }, SECOND + MS, t));
    assert!(pass(&mut all, 1000 * SECOND).is_empty());
}

#[test]
fn a_server_waits() {
    let mut all = connections(JoinPolicy::Ndiffports);
    commands_of(|t| all.on_event(0, &established(true), 0, t));
    lose_all(&mut all, 1000..1001, SECOND);
    assert!(pass(&mut all, 50 * SECOND).is_empty());
    // Neither scan finds it, and it is still known when its client joins.
    all.reap_absent(0, &[], 30 * SECOND);
    all.reap_absent(0, &[], 40 * SECOND);
    commands_of(|t| all.on_event(0, &joined(1001), 50 * SECOND, t));
    assert_eq!(all.get(TOKEN).unwrap().subflows.len(), 1);
}

#[test]
fn the_wait_ends_with_the_timeout_of_the_kernel() {
    let mut all = with_subflows(1);
    lose_all(&mut all, 1000..1001, 0);
    let mut requests = 0;
    for _ in 0..100 {
        let Some(at) = all.deadline() else { break };
        for command in commands_of(|t| all.on_deadlines(at, t)) {
            let Command::CreateSubflow { local, remote, .. } = command else {
                panic!("{command:?}");
            };
            requests += 1;
            all.on_refused(TOKEN, (local, remote), at);
        }
    }
    // After 0.1, 2, 6, 14, 30 and 62 s.
    assert_eq!(requests, 6);
    all.reap_absent(0, &[], 60 * SECOND);
    all.reap_absent(0, &[], 61 * SECOND);
    assert!(all.is_empty());
}

#[test]
fn the_last_subflow_stays_without_ecn() {
    let mut all = with_subflows(1);
    lose_all(&mut all, 1000..1001, 0);
    pass(&mut all, SECOND);
    commands_of(|t| all.on_event(0, &joined(1001), SECOND, t));
    let four_tuple = subflow(1001).four_tuple();
    let commands = commands_of(|t| all.on_uncoupled(TOKEN, four_tuple, UncoupledReason::NoEcn, SECOND, t));
    assert!(commands.is_empty(), "{commands:?}");
    assert_eq!(all.get(TOKEN).unwrap().uncoupled, Some(UncoupledReason::NoEcn));
}
