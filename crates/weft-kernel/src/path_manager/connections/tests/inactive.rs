use super::*;

/// The subflows' ports with their new flags.
fn flags(commands: &[Command]) -> Vec<(u16, bool)> {
    let flags = commands.iter().map(|command| match command {
        Command::SetBackup { local, backup, .. } => (local.port(), *backup),
        other => panic!("{other:?}"),
    });
    flags.collect()
}

fn set_active(all: &mut Connections, port: u16, active: bool) -> Vec<(u16, bool)> {
    flags(&commands_of(|t| {
        all.on_active_changed(TOKEN, subflow(port).four_tuple(), active, t);
    }))
}

#[test]
fn subflows_are_deactivated_one_by_one_and_activated_at_once() {
    let mut all = with_subflows(4);
    assert_eq!(set_active(&mut all, 1002, false), [(1002, true)]);
    assert_eq!(set_active(&mut all, 1000, false), [(1000, true)]);
    assert_eq!(set_active(&mut all, 1000, false), [], "it knows");
    assert_eq!(set_active(&mut all, 1002, true), [(1002, false)]);
    assert!(!all.get(TOKEN).unwrap().is_suppressed());
    assert!(pass(&mut all, SECOND).is_empty());
}

/// The programs see a subflow that joins before the kernel reports it.
#[test]
fn a_subflow_may_be_inactive_before_the_kernel_reports_it() {
    let mut all = with_subflows(2);
    assert_eq!(set_active(&mut all, 1007, false), []);
    let joined = Event::SubflowEstablished {
        token: TOKEN,
        subflow: subflow(1007),
    };
    let commands = commands_of(|t| all.on_event(0, &joined, MS, t));
    assert_eq!(flags(&commands), [(1007, true)]);
    // Its port may be another's later.
    commands_of(|t| all.on_event(0, &left(1007), 2 * MS, t));
    assert!(commands_of(|t| all.on_event(0, &joined, 3 * MS, t)).is_empty());
}

#[test]
fn a_connection_that_receives_more_than_it_sends_has_no_inactive_subflow() {
    let mut all = with_subflows(3);
    commands_of(|t| all.on_traffic(TOKEN, [0, 5_000], MS, t));
    assert_eq!(set_active(&mut all, 1001, false), []);
    let sends = commands_of(|t| all.on_traffic(TOKEN, [9_000, 5_000], SECOND, t));
    assert_eq!(flags(&sends), [(1001, true)]);
    let receives = commands_of(|t| all.on_traffic(TOKEN, [9_000, 50_000], 2 * SECOND, t));
    assert_eq!(flags(&receives), [(1001, false)]);
}

/// A daemon that starts takes every backup for suppressed, until it knows better.
#[test]
fn inactive_subflows_are_taken_over_as_they_are() {
    let mut all = connections(JoinPolicy::Ndiffports);
    let mut found = [seen(1000), seen(1001), seen(1002)];
    for joined in &mut found[1..] {
        joined.initial = false;
    }
    found[1].subflow.backup = true;
    commands_of(|t| all.resync(0, &found, 0, t));
    assert!(all.get(TOKEN).unwrap().is_suppressed());
    let commands = commands_of(|t| all.set_inactive(TOKEN, vec![subflow(1001).four_tuple()], t));
    assert!(commands.is_empty(), "{commands:?}");
    assert!(!all.get(TOKEN).unwrap().is_suppressed());
    assert_eq!(set_active(&mut all, 1002, false), [(1002, true)]);
}

#[test]
fn a_flag_of_an_inactive_subflow_that_the_kernel_refuses_is_retried() {
    let mut all = with_subflows(2);
    assert_eq!(set_active(&mut all, 1001, false), [(1001, true)]);
    all.on_flag_refused(TOKEN, subflow(1001).four_tuple(), true, 0);
    assert_eq!(
        flags(&commands_of(|t| all.on_deadlines(5 * MS, t))),
        [(1001, true)]
    );
}
