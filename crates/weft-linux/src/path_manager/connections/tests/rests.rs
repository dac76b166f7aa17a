use super::*;

/// The subflows' ports with their new flags.
fn flags(commands: &[Command]) -> Vec<(u16, bool)> {
    let flags = commands.iter().map(|command| match command {
        Command::Prioritise { local, backup, .. } => (local.port(), *backup),
        other => panic!("{other:?}"),
    });
    flags.collect()
}

fn rest(all: &mut Connections, port: u16, rests: bool) -> Vec<(u16, bool)> {
    flags(&told(|t| all.on_rest(TOKEN, subflow(port).ends(), rests, t)))
}

#[test]
fn subflows_rest_one_by_one_and_wake_at_once() {
    let mut all = with_subflows(4);
    assert_eq!(rest(&mut all, 1002, true), [(1002, true)]);
    assert_eq!(rest(&mut all, 1000, true), [(1000, true)]);
    assert_eq!(rest(&mut all, 1000, true), [], "it knows");
    assert_eq!(rest(&mut all, 1002, false), [(1002, false)]);
    assert!(!all.get(TOKEN).unwrap().suppressed);
    assert!(pass(&mut all, SECOND).is_empty());
}

/// The programs see a subflow that joins before the kernel reports it.
#[test]
fn a_subflow_may_rest_before_the_kernel_reports_it() {
    let mut all = with_subflows(2);
    assert_eq!(rest(&mut all, 1007, true), []);
    let joined = Event::Joined {
        token: TOKEN,
        subflow: subflow(1007),
    };
    let commands = told(|t| all.on_event(0, &joined, MS, t));
    assert_eq!(flags(&commands), [(1007, true)]);
    // Its port may be another's later.
    told(|t| all.on_event(0, &left(1007), 2 * MS, t));
    assert!(told(|t| all.on_event(0, &joined, 3 * MS, t)).is_empty());
}

#[test]
fn nothing_rests_of_a_connection_that_receives_more_than_it_sends() {
    let mut all = with_subflows(3);
    told(|t| all.on_carried(TOKEN, (0, 5_000), MS, t));
    assert_eq!(rest(&mut all, 1001, true), []);
    let sends = told(|t| all.on_carried(TOKEN, (9_000, 5_000), SECOND, t));
    assert_eq!(flags(&sends), [(1001, true)]);
    let receives = told(|t| all.on_carried(TOKEN, (9_000, 50_000), 2 * SECOND, t));
    assert_eq!(flags(&receives), [(1001, false)]);
}

/// A daemon that starts takes every backup for suppressed, until it knows better.
#[test]
fn what_rests_is_taken_over_as_it_is() {
    let mut all = connections(Spread::SamePair);
    let mut of = [seen(1000), seen(1001), seen(1002)];
    for joined in &mut of[1..] {
        joined.initial = false;
    }
    of[1].subflow.backup = true;
    told(|t| all.resync(0, &of, 0, t));
    assert!(all.get(TOKEN).unwrap().suppressed);
    let commands = told(|t| all.on_resting(TOKEN, vec![subflow(1001).ends()], t));
    assert!(commands.is_empty(), "{commands:?}");
    assert!(!all.get(TOKEN).unwrap().suppressed);
    assert_eq!(rest(&mut all, 1002, true), [(1002, true)]);
}

#[test]
fn a_flag_of_what_rests_that_the_kernel_refuses_is_tried_again() {
    let mut all = with_subflows(2);
    assert_eq!(rest(&mut all, 1001, true), [(1001, true)]);
    all.on_not_flagged(TOKEN, subflow(1001).ends(), true, 0);
    assert_eq!(flags(&told(|t| all.due(5 * MS, t))), [(1001, true)]);
}
