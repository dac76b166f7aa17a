use super::*;
use crate::test_windows::{ack, assert_near, cwnds, in_avoidance};

const AT_FLOOR: [f64; 4] = [2.0, 2.9, 2.5, 2.0];
const CLEAR: Round = Round { acked: 3, marked: 0 };
const MARKED: Round = Round { acked: 3, marked: 1 };

fn amp(gamma: u32, tau: u32) -> Amp {
    Amp::new(Parameters {
        gamma,
        tau,
        ..Parameters::default()
    })
}

fn active(w: &[Window]) -> Vec<bool> {
    w.iter().map(|r| r.active).collect()
}

fn open(cc: &mut Amp, w: &mut [Window]) {
    for s in 0..w.len() {
        cc.on_open(w, s);
    }
}

/// Returns a connection of four subflows that has just been suppressed, all windows 2.
fn suppressed() -> (Amp, Vec<Window>) {
    let (mut cc, mut w) = (amp(1, 3), in_avoidance(&[2.0; 4]));
    open(&mut cc, &mut w);
    cc.on_round(&mut w, 0, MARKED);
    assert_eq!(active(&w), [true, false, false, false]);
    (cc, w)
}

#[test]
fn line_25_couples_by_the_sum_of_windows_whatever_the_round_trip_times() {
    let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[6.0, 4.0]));
    w[1].srtt = 9.0;
    open(&mut cc, &mut w);
    cc.on_ack(&mut w, 0, ack(1)); // 1/10
    assert_near(w[0].cwnd, 6.1);
    cc.on_ack(&mut w, 1, ack(2)); // 2/10.1
    assert_near(w[1].cwnd, 4.0 + 2.0 / 10.1);
    assert_near(cc.w_total, 10.1 + 2.0 / 10.1);
}

#[test]
fn one_subflow_is_reno_in_growth_and_is_never_suppressed() {
    let (mut cc, mut w) = (amp(1, 1), in_avoidance(&[4.0]));
    open(&mut cc, &mut w);
    cc.on_ack(&mut w, 0, ack(1));
    assert_eq!(w[0].cwnd, 4.25);
    w[0].cwnd = 2.0;
    for _ in 0..10 {
        cc.on_round(&mut w, 0, MARKED);
        assert!(w[0].active && !cc.suppressed);
    }
    cc.on_timeout(&mut w, 0, true);
    cc.on_timeout(&mut w, 0, true);
    assert!(w[0].active);
}

#[test]
fn slow_start_is_renos_and_ends_at_the_first_mark_with_the_cut_of_line_29() {
    let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[8.0, 2.0]));
    w[0].ssthresh = f64::INFINITY;
    open(&mut cc, &mut w);
    cc.on_ack(&mut w, 0, ack(2));
    assert_eq!((w[0].cwnd, cc.w_total), (10.0, 12.0));
    cc.on_mark(&mut w, 0);
    assert_eq!((w[0].cwnd, w[0].ssthresh, cc.w_total), (7.5, 7.5, 9.5));
    cc.on_ack(&mut w, 0, ack(1));
    assert_near(w[0].cwnd, 7.5 + 1.0 / 9.5);
}

#[test]
fn lines_29_and_32_have_the_floor_and_timeouts_do_not() {
    let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[5.0, 5.0, 3.0]));
    open(&mut cc, &mut w);
    for expected in [3.75, 2.8125, 2.109_375, 2.0, 2.0] {
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (expected, expected));
    }
    cc.on_fast_retransmit(&mut w, 1);
    cc.on_fast_retransmit(&mut w, 2);
    assert_eq!((w[1].cwnd, w[1].ssthresh), (2.5, 2.5));
    assert_eq!((w[2].cwnd, w[2].ssthresh), (2.0, 2.0));
    cc.on_timeout(&mut w, 1, true);
    assert_eq!((w[1].cwnd, w[1].ssthresh, cc.w_total), (1.0, 2.0, 5.0));
    let mut cc = Amp::new(Parameters {
        cwnd_min: 1.0,
        ..Parameters::default()
    });
    cc.on_fast_retransmit(&mut w, 2);
    cc.on_fast_retransmit(&mut w, 2);
    assert_eq!(w[2].cwnd, 1.0);
}

#[test]
fn gamma_rounds_of_the_initial_subflow_suppress_all_others() {
    let (mut cc, mut w) = (amp(3, 8), in_avoidance(&AT_FLOOR));
    open(&mut cc, &mut w);
    for n_round in 1..=2 {
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!((cc.n_round, active(&w)), (n_round, vec![true; 4]));
        // Rounds of other subflows do not count.
        cc.on_round(&mut w, 1, MARKED);
        assert_eq!(cc.n_round, n_round);
    }
    cc.on_round(&mut w, 0, MARKED);
    assert_eq!(active(&w), [true, false, false, false]);
    assert_eq!(cwnds(&w), AT_FLOOR);
}

#[test]
fn one_round_that_does_not_fit_starts_the_count_anew() {
    let spoilers: [fn(&mut Window); 4] = [
        |r| r.cwnd = 3.0,
        |r| r.cwnd = 1.0,
        |r| r.in_recovery = true,
        |r| r.established = false, // not yet: a closed one would not matter
    ];
    for spoil in spoilers {
        let (mut cc, mut w) = (amp(2, 8), in_avoidance(&AT_FLOOR));
        open(&mut cc, &mut w);
        cc.on_round(&mut w, 0, MARKED);
        let good = w[2].clone();
        spoil(&mut w[2]);
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!(cc.n_round, 0);
        w[2] = good;
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!((cc.n_round, cc.suppressed), (1, false));
        cc.on_round(&mut w, 0, MARKED);
        assert!(cc.suppressed);
    }
}

#[test]
fn suppressed_subflows_keep_their_windows_and_leave_the_sum() {
    let (mut cc, mut w) = suppressed();
    assert_eq!(cc.w_total, 2.0);
    cc.on_ack(&mut w, 3, ack(2));
    assert_eq!(w[3].cwnd, 2.0);
    cc.on_ack(&mut w, 0, ack(1)); // 1/2: alone it grows as one TCP does
    assert_eq!(w[0].cwnd, 2.5);
    w[3].cwnd = 4.0;
    cc.on_mark(&mut w, 3);
    assert_eq!((w[3].cwnd, cc.w_total), (3.0, 2.5));
}

#[test]
fn tau_clear_rounds_release() {
    let (mut cc, mut w) = suppressed();
    w[0].cwnd = 3.0;
    for n_round in 1..=2 {
        cc.on_round(&mut w, 0, CLEAR);
        assert_eq!(
            (cc.n_round, active(&w)),
            (n_round, vec![true, false, false, false])
        );
        // Rounds of other subflows, which still drain, do not count.
        cc.on_round(&mut w, 2, CLEAR);
        assert_eq!(cc.n_round, n_round);
    }
    cc.on_round(&mut w, 0, CLEAR);
    assert_eq!((active(&w), cwnds(&w)), (vec![true; 4], vec![3.0, 2.0, 2.0, 2.0]));
    assert_eq!((cc.n_round, cc.w_total), (0, 9.0));
    // The cycle can start again.
    w[0].cwnd = 2.0;
    cc.on_round(&mut w, 0, MARKED);
    assert!(cc.suppressed);
}

#[test]
fn a_mark_the_floor_or_a_recovery_starts_the_count_to_release_anew() {
    let spoilers: [fn(&mut Window); 3] = [|_| (), |r| r.cwnd = 2.9, |r| r.in_recovery = true];
    for (spoil, round) in spoilers.into_iter().zip([MARKED, CLEAR, CLEAR]) {
        let (mut cc, mut w) = suppressed();
        w[0].cwnd = 5.0;
        cc.on_round(&mut w, 0, CLEAR);
        cc.on_round(&mut w, 0, CLEAR);
        let good = w[0].clone();
        spoil(&mut w[0]);
        cc.on_round(&mut w, 0, round);
        assert_eq!((cc.n_round, cc.suppressed), (0, true));
        w[0] = good;
        cc.on_round(&mut w, 0, CLEAR);
        cc.on_round(&mut w, 0, CLEAR);
        assert!(cc.suppressed);
        cc.on_round(&mut w, 0, CLEAR);
        assert!(!cc.suppressed);
    }
}

#[test]
fn a_subflow_on_its_way_blocks_suppression_and_joins_suppressed_ones_suppressed() {
    let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 2.0]));
    w[2].established = false;
    cc.on_open(&mut w, 0);
    cc.on_open(&mut w, 1);
    cc.on_round(&mut w, 0, MARKED);
    assert!(!cc.suppressed);
    w[2].established = true;
    cc.on_open(&mut w, 2);
    cc.on_round(&mut w, 0, MARKED);
    assert!(cc.suppressed);
    // A fourth subflow that the connection did not have before.
    w.extend(in_avoidance(&[10.0]));
    cc.on_open(&mut w, 3);
    assert_eq!((active(&w), cc.w_total), (vec![true, false, false, false], 2.0));
    w[0].cwnd = 3.0;
    cc.on_round(&mut w, 0, CLEAR);
    cc.on_round(&mut w, 0, CLEAR);
    assert_eq!((active(&w), cc.w_total), (vec![true; 4], 17.0));
}

#[test]
fn a_closed_subflow_neither_counts_nor_blocks() {
    let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 7.0]));
    open(&mut cc, &mut w);
    w[2].established = false;
    cc.on_close(&mut w, 2);
    assert_eq!(cc.w_total, 4.0);
    cc.on_round(&mut w, 0, MARKED);
    assert!(cc.suppressed);
    // The last suppressed subflow closes: none is left to suppress, and the initial one
    // continues.
    w[1].established = false;
    cc.on_close(&mut w, 1);
    assert_eq!((w[0].active, cc.w_total), (true, 2.0));
}

#[test]
fn when_the_initial_subflow_closes_the_others_are_released_and_the_next_takes_its_place() {
    let (mut cc, mut w) = suppressed();
    w[0].established = false;
    cc.on_close(&mut w, 0);
    assert_eq!((active(&w), cc.w_total), (vec![true; 4], 6.0));
    // Rounds of subflow 1 count now.
    cc.on_round(&mut w, 2, MARKED);
    assert!(!cc.suppressed);
    cc.on_round(&mut w, 1, MARKED);
    assert_eq!(active(&w)[1..], [true, false, false]);
    // All subflows have closed, and one opens.
    for s in 1..4 {
        w[s].established = false;
        cc.on_close(&mut w, s);
    }
    assert_eq!(cc.w_total, 0.0);
    w[2].established = true;
    cc.on_open(&mut w, 2);
    cc.on_ack(&mut w, 2, ack(1));
    assert_eq!((w[2].active, w[2].cwnd), (true, 2.5));
    w[3].established = true;
    cc.on_open(&mut w, 3);
    cc.on_round(&mut w, 2, MARKED);
    assert_eq!(active(&w)[2..], [true, false]);
}

#[test]
fn two_timeouts_without_a_round_are_taken_for_a_dead_path() {
    // The initial subflow: the others are released at its second timeout.
    let (mut cc, mut w) = suppressed();
    cc.on_timeout(&mut w, 0, true);
    cc.on_round(&mut w, 0, CLEAR);
    cc.on_timeout(&mut w, 0, true);
    assert!(cc.suppressed, "a round lies between the two");
    cc.on_timeout(&mut w, 0, true);
    assert_eq!(active(&w), [true; 4]);

    // Another subflow: it blocks after one timeout, does not after two, and counts again after
    // a round.
    let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 2.0]));
    open(&mut cc, &mut w);
    cc.on_timeout(&mut w, 2, true);
    cc.on_round(&mut w, 0, MARKED);
    assert!(!cc.suppressed);
    cc.on_timeout(&mut w, 2, true);
    cc.on_round(&mut w, 2, CLEAR);
    cc.on_round(&mut w, 0, MARKED);
    assert!(!cc.suppressed);
    cc.on_timeout(&mut w, 2, true);
    cc.on_timeout(&mut w, 2, true);
    cc.on_round(&mut w, 0, MARKED);
    assert!(cc.suppressed);
    // A failure while suppressed releases no subflow.
    cc.on_timeout(&mut w, 2, true);
    assert!(cc.suppressed);
}

#[test]
fn without_ssr_nothing_is_ever_suppressed() {
    let (mut cc, mut w) = (
        Amp::new(Parameters {
            gamma: 1,
            ssr: false,
            ..Parameters::default()
        }),
        in_avoidance(&[2.0; 4]),
    );
    open(&mut cc, &mut w);
    for _ in 0..20 {
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!((active(&w), cc.n_round), (vec![true; 4], 0));
    }
}

#[test]
fn its_laws_hold_whatever_is_reported() {
    crate::events::obeys("amp", |step| {
        step.moves_no_other_window();
        step.grows_at_acknowledgements_only();
        step.adds_at_most_a_packet_a_round();
        let total: f64 = step.live().map(|r| r.cwnd).sum();
        step.adds_for_each_packet(if step.own().0.active { 1.0 / total } else { 0.0 });
        step.keeps_at_a_loss(0.5, step.parameter("cwnd_min").unwrap());
        let suppresses = step.parameter("ssr") == Some(1.0);
        assert!(suppresses || step.after.iter().all(|r| r.active), "{step:?}");
    });
}

#[test]
fn its_response_is_the_sum_of_windows_and_suppression_at_the_floor() {
    let windows = |paths: &[_]| crate::response::tests::windows_of("amp", paths);
    // pull = 0.01 * 2 / 7: one path sqrt(350), two sqrt(700) together.
    assert_near(windows(&[(0.01, 1e-4)])[0], 350.0_f64.sqrt());
    let w = windows(&[(0.01, 1e-4), (0.01, 5e-4)]);
    assert_eq!(w[0], w[1]);
    assert_near(w[0] + w[1], 700.0_f64.sqrt());
    // All packets marked: 3.5 = w^2 for one; four would have 0.94 each, below the minimum:
    // suppression.
    let w = windows(&[(1.0, 1e-4); 4]);
    assert_eq!(w, [2.0, 0.0, 0.0, 0.0]);
}
