use super::*;
use crate::test_windows::{assert_near, in_avoidance_at, round};

/// Returns an acknowledgement at a time in seconds.
fn ack_at(now: f64, acked: u32) -> Ack {
    Ack {
        acked,
        may_grow: true,
        now: Elapsed((now * 1e12).round() as u64),
        ..Ack::default()
    }
}

fn cubic(w: &mut [Window]) -> Cubic {
    let mut cc = Cubic::new(Parameters::default());
    for s in 0..w.len() {
        cc.on_open(w, s);
    }
    cc
}

fn by_rfc(w: &mut [Window]) -> Cubic {
    let mut cc = cubic(w);
    cc.params.rfc_growth = true;
    cc
}

#[test]
fn a_loss_leaves_seven_tenths_and_a_second_one_below_w_max_gives_way() {
    let mut w = in_avoidance_at(&[100.0], &[0.1]);
    let mut cc = by_rfc(&mut w);
    cc.on_fast_retransmit(&mut w, 0);
    assert_near(w[0].cwnd, 70.0);
    assert_eq!((w[0].ssthresh, cc.subflows[0].epoch.w_max), (w[0].cwnd, 100.0));
    // Section 4.7: below W_max, so W_max = 70 (1 + 0.7) / 2.
    cc.on_fast_retransmit(&mut w, 0);
    assert_near(cc.subflows[0].epoch.w_max, 59.5);
    assert_near(w[0].cwnd, 49.0);
    let mut w = in_avoidance_at(&[100.0], &[0.1]);
    let mut cc = by_rfc(&mut w);
    cc.params.fast_convergence = false;
    cc.on_fast_retransmit(&mut w, 0);
    cc.on_fast_retransmit(&mut w, 0);
    assert_near(cc.subflows[0].epoch.w_max, 70.0);
}

/// Section 4.9.2 restores the epoch; Linux restores the window and begins another epoch.
#[test]
fn a_spurious_loss_is_undone() {
    for rfc_growth in [true, false] {
        let mut w = in_avoidance_at(&[100.0], &[0.1]);
        let mut cc = cubic(&mut w);
        cc.params.rfc_growth = rfc_growth;
        cc.on_ack(&mut w, 0, ack_at(0.0, 1));
        w[0].save_prior();
        let before = w[0].cwnd;
        cc.on_fast_retransmit(&mut w, 0);
        assert!((w[0].cwnd / before - 0.7).abs() < 0.01);
        cc.on_undo(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (before, 100.0));
        assert_eq!(cc.subflows[0].epoch.avoiding, rfc_growth);
    }
}

#[test]
fn equations_1_and_2_give_the_window_its_target() {
    // A large window at a long RTT, so that the Reno-friendly region is far away.
    let mut w = in_avoidance_at(&[1000.0], &[0.1]);
    let mut cc = by_rfc(&mut w);
    cc.on_fast_retransmit(&mut w, 0);
    // K = cbrt((1000 - 700) / 0.4) = cbrt(750) = 9.0856.
    cc.on_ack(&mut w, 0, ack_at(0.0, 1));
    assert_near(cc.subflows[0].epoch.k, 750.0_f64.cbrt());
    // t = 0: W_cubic is 700, less than W_est = 700 + 9/17 / 700, which the window is set to.
    assert_near(w[0].cwnd, 700.0 + 9.0 / 17.0 / 700.0);
    // t = 0.1: target = 0.4 (0.2 - 9.0856)^3 + 1000 = 719.378.
    let before = w[0].cwnd;
    let target = 0.4 * (0.2 - 750.0_f64.cbrt()).powi(3) + 1000.0;
    assert!((target - 719.378).abs() < 1e-3, "{target}");
    cc.on_ack(&mut w, 0, ack_at(0.1, 1));
    assert_near(w[0].cwnd, before + (target - before) / before);
    // After t = K the window is W_max again, and it is convex from there (section 4.5).
    let mut now = 0.1;
    while now < 9.0856 {
        now += 0.1;
        let cwnd = w[0].cwnd as u32;
        cc.on_ack(&mut w, 0, ack_at(now, cwnd));
    }
    assert!((w[0].cwnd - 1000.0).abs() < 1.0, "{}", w[0].cwnd);
    // t = K + 5: 0.4 * 5^3 + 1000 = 1050.
    while now < 9.0856 + 5.0 {
        now += 0.1;
        let cwnd = w[0].cwnd as u32;
        cc.on_ack(&mut w, 0, ack_at(now, cwnd));
    }
    assert!((w[0].cwnd - 1050.0).abs() < 4.0, "{}", w[0].cwnd);
}

#[test]
fn the_reno_friendly_region_is_equation_4() {
    // At an RTT of 1 ms, the cubic function is almost constant.
    let mut w = in_avoidance_at(&[20.0], &[1e-3]);
    let mut cc = by_rfc(&mut w);
    cc.on_fast_retransmit(&mut w, 0);
    cc.on_ack(&mut w, 0, ack_at(0.0, 14));
    // alpha = 3 (1 - 0.7) / (1 + 0.7) = 9/17; W_est = 14 + 9/17 * 14/14. W_cubic(0) = 14 is
    // less.
    assert_near(w[0].cwnd, 14.0 + 9.0 / 17.0);
    // From cwnd_prior = 20 on, alpha = 1: one packet per round.
    cc.subflows[0].epoch.w_est = 20.0;
    w[0].cwnd = 20.0;
    cc.on_ack(&mut w, 0, ack_at(1e-3, 20));
    assert_near(w[0].cwnd, 21.0);
}

#[test]
fn the_target_is_at_most_half_a_window_away() {
    let mut w = in_avoidance_at(&[4.0], &[1.0]);
    let mut cc = by_rfc(&mut w);
    // K = 0 and W_max = 4, as no congestion event defines them; W_est = 4 + 1/4.
    cc.on_ack(&mut w, 0, ack_at(0.0, 1));
    assert_near(w[0].cwnd, 4.25);
    cc.subflows[0].epoch.t = 100.0;
    cc.on_ack(&mut w, 0, ack_at(0.0, 1)); // (1.5 * 4.25 - 4.25) / 4.25 = 1/2
    assert_near(w[0].cwnd, 4.75);
}

#[test]
fn after_a_timeout_the_plateau_is_where_slow_start_ended() {
    let mut w = in_avoidance_at(&[100.0], &[0.1]);
    let mut cc = by_rfc(&mut w);
    cc.on_timeout(&mut w, 0, true);
    assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 70.0));
    cc.on_timeout(&mut w, 0, false);
    assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 70.0));
    cc.on_ack(&mut w, 0, ack_at(0.0, 69));
    assert_eq!(w[0].cwnd, 70.0);
    cc.on_ack(&mut w, 0, ack_at(0.0, 1));
    assert_eq!((cc.subflows[0].epoch.k, cc.subflows[0].epoch.w_max), (0.0, 70.0));
}

#[test]
fn time_in_which_the_window_may_not_grow_does_not_count() {
    let mut w = in_avoidance_at(&[1000.0], &[0.1]);
    let mut cc = by_rfc(&mut w);
    cc.on_fast_retransmit(&mut w, 0);
    cc.on_ack(&mut w, 0, ack_at(0.0, 1));
    for (now, may_grow, t) in [
        (0.05, true, 0.05),
        (0.1, false, 0.05),
        (0.15, true, 0.1),
        (9.0, true, 0.2),
    ] {
        cc.on_ack(
            &mut w,
            0,
            Ack {
                may_grow,
                ..ack_at(now, 1)
            },
        );
        assert_near(cc.subflows[0].epoch.t, t);
    }
}

/// Slow start with a window of 20 and a smallest RTT of 10 ms: 90.5 * 10 ms / 20 is above 1 ms,
/// so 1 ms is held back.
fn slow_start() -> (Cubic, Vec<Window>) {
    let mut w = in_avoidance_at(&[20.0], &[10e-3]);
    w[0].ssthresh = f64::INFINITY;
    let cc = cubic(&mut w);
    (cc, w)
}

fn sample(cc: &mut Cubic, w: &mut [Window], now: f64, rtt: f64) -> bool {
    let may_grow = false;
    cc.on_ack(
        w,
        0,
        Ack {
            may_grow,
            rtt,
            ..ack_at(now, 1)
        },
    );
    w[0].ssthresh == w[0].cwnd
}

#[test]
fn a_train_of_acknowledgements_ends_slow_start_after_half_an_rtt() {
    let (mut cc, mut w) = slow_start();
    // From 1.0 s: (10 ms + 1 ms) / 2 = 5.5 ms.
    for n in 0..=11 {
        assert!(
            !sample(&mut cc, &mut w, 1.0 + f64::from(n) * 0.5e-3, 10e-3),
            "{n}"
        );
    }
    assert!(sample(&mut cc, &mut w, 1.0 + 5.6e-3, 10e-3));
    // A gap of more than 2 ms breaks the train, and a new round begins another.
    let (mut cc, mut w) = slow_start();
    assert!(!sample(&mut cc, &mut w, 1.0, 10e-3));
    assert!(!sample(&mut cc, &mut w, 1.0 + 2.1e-3, 10e-3));
    assert!(!sample(&mut cc, &mut w, 1.0 + 6e-3, 10e-3));
    cc.on_round(&mut w, 0, round(20, 0));
    assert!(!sample(&mut cc, &mut w, 1.0 + 7e-3, 10e-3));
    // Small windows are ignored.
    let (mut cc, mut w) = slow_start();
    w[0].cwnd = 15.0;
    for n in 0..30 {
        assert!(!sample(&mut cc, &mut w, 1.0 + f64::from(n) * 0.5e-3, 10e-3));
    }
}

#[test]
fn a_paced_train_ends_slow_start_after_a_whole_rtt() {
    let (mut cc, mut w) = slow_start();
    w[0].paced = true;
    // From 1.0 s: 10 ms + 1 ms.
    for n in 0..=22 {
        assert!(
            !sample(&mut cc, &mut w, 1.0 + f64::from(n) * 0.5e-3, 10e-3),
            "{n}"
        );
    }
    assert!(sample(&mut cc, &mut w, 1.0 + 11.1e-3, 10e-3));
}

#[test]
fn a_rising_rtt_ends_slow_start_at_the_ninth_sample() {
    for (rtt, ends) in [(14.1e-3, true), (13.9e-3, false)] {
        let (mut cc, mut w) = slow_start();
        // 3 ms apart: no train. An eighth of 10 ms is less than 4 ms.
        for n in 0..8 {
            assert!(!sample(&mut cc, &mut w, 1.0 + f64::from(n) * 3e-3, rtt));
        }
        assert_eq!(sample(&mut cc, &mut w, 1.1, rtt), ends);
    }
    // One small RTT in the round is enough to continue slow start.
    let (mut cc, mut w) = slow_start();
    sample(&mut cc, &mut w, 1.0, 10e-3);
    for n in 1..20 {
        assert!(!sample(&mut cc, &mut w, 1.0 + f64::from(n) * 3e-3, 20e-3));
    }
}

#[test]
fn its_laws_hold_whatever_is_reported() {
    crate::events::obeys("cubic", |step| {
        step.moves_no_other_window();
        step.grows_at_acknowledgements_only();
    });
}

/// RFC 9438, section 5.1, equation (6): `1.054 rtt^0.75 / p^0.75`; or Reno's window if that is
/// larger.
#[test]
fn its_response_is_equation_6() {
    let w = crate::response::tests::windows_of("cubic", &[(1e-6, 0.1)]);
    // (0.1 / 1e-6)^0.75 = 5623.4; times 1.0537 (1.054 in the RFC)
    assert!((w[0] - 5925.4).abs() < 1.0, "{}", w[0]);
    let rfc = Parameters {
        rfc_growth: true,
        ..Parameters::default()
    };
    let path = Path {
        signal: 1e-3,
        rtt: 1e-3,
    };
    assert_near(rfc.friendly_window(path), 1500.0_f64.sqrt());
}
