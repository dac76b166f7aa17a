use super::*;
use crate::dctcp::{self, Dctcp};
use crate::test_windows::{ack, cwnds, in_avoidance, round};

/// Returns a connection in congestion avoidance whose subflows all send, with these shares, and
/// alpha of 1/2 on each.
fn sending(shares: &[f64]) -> (Warp, Vec<Window>) {
    let mut w = in_avoidance(shares);
    for r in &mut w {
        r.state = [r.cwnd, 0.5, 0.0, 0.0];
    }
    Warp::apportion(&mut w);
    let mut cc = Warp::new(Parameters::default());
    cc.left_slow_start = true;
    cc.activity.last_ack = vec![Elapsed(0); w.len()];
    cc.activity.own_marks = vec![0; w.len()];
    cc.activity.marked_rounds = vec![0; w.len()];
    (cc, w)
}

fn shares(w: &[Window]) -> Vec<f64> {
    w.iter().map(|r| r.state[SHARE]).collect()
}

fn at(seconds: f64, acked: u32) -> Ack {
    let now = Elapsed((seconds * 1e12) as u64);
    Ack { now, ..ack(acked) }
}

/// Later rounds differ from the one in which marks have just risen.
#[test]
fn rounds_with_marks_are_counted_up_to_one_more_than_needed() {
    let (mut cc, mut w) = sending(&[10.0]);
    let counted = |cc: &mut Warp, w: &mut [Window], marked| {
        cc.on_round(w, 0, round(10, marked));
        cc.activity.marked_rounds[0]
    };
    let found: Vec<u8> = [5, 5, 5, 5, 4, 5]
        .into_iter()
        .map(|marked| counted(&mut cc, &mut w, marked))
        .collect();
    assert_eq!(found, [1, 2, 3, 3, 0, 1]);
}

#[test]
fn one_subflow_is_dctcp() {
    let mut warp = Warp::new(Parameters::default());
    let mut dctcp = Dctcp::new(dctcp::Parameters::default());
    let mut w = [in_avoidance(&[10.0]), in_avoidance(&[10.0])];
    for window in &mut w {
        window[0].ssthresh = f64::INFINITY;
    }
    warp.on_open(&mut w[0], 0);
    dctcp.on_open(&mut w[1], 0);
    let both: [&mut dyn CongestionControl; 2] = [&mut warp, &mut dctcp];
    let mut cuts = 0;
    for (cc, w) in both.into_iter().zip(&mut w) {
        for n in 0..400_u32 {
            cc.on_round(w, 0, round(7, n % 5));
            cc.on_ack(w, 0, at(f64::from(n), 1 + n % 2));
            if n % 11 == 3 {
                cc.on_mark(w, 0);
                cuts += 1;
            }
            if n % 97 == 50 {
                cc.on_fast_retransmit(w, 0);
            }
        }
    }
    assert!(cuts > 50);
    assert_eq!(w[0][0].state[SHARE], w[1][0].cwnd);
    assert_eq!(w[0][0].cwnd, w[1][0].cwnd.floor());
}

#[test]
fn a_round_of_all_subflows_adds_one_packet_in_equal_parts() {
    let (mut cc, mut w) = sending(&[8.0, 4.0]);
    cc.on_ack(&mut w, 0, ack(8)); // 8 / (2 x 8)
    cc.on_ack(&mut w, 1, ack(4)); // 4 / (2 x 4)
    assert_eq!(shares(&w), [8.5, 4.5]);
    assert_eq!(cwnds(&w).iter().sum::<f64>(), 13.0);
}

#[test]
fn a_mark_cuts_each_by_its_alpha_and_what_others_sent_before_neither_cuts_nor_grows() {
    let (mut cc, mut w) = sending(&[8.0, 8.0]);
    w[1].state[ALPHA] = 0.0;
    cc.on_ack(&mut w, 0, at(5.0, 0));
    cc.on_mark(&mut w, 0); // 8 (1 - 1/4)
    assert_eq!(shares(&w), [6.0, 8.0]);
    // The smoothed RTT is 1 s; the RTT of the sample decides.
    let sampled = |seconds: f64, rtt: f64| Ack {
        rtt,
        ..at(seconds, 6)
    };
    for ack in [at(5.5, 6), sampled(6.5, 1.6)] {
        cc.on_ack(&mut w, 1, ack);
        assert!(!cc.reacts_to_mark(&w, 1));
        cc.on_mark(&mut w, 1);
        assert_eq!(shares(&w), [6.0, 8.0], "sent before the cut");
    }
    cc.on_ack(&mut w, 1, sampled(6.5, 1.0)); // 6 / (2 x 8)
    assert!(cc.reacts_to_mark(&w, 1));
    cc.on_mark(&mut w, 1);
    assert_eq!(w[0].state[SHARE], 4.5);
}

#[test]
fn what_was_sent_before_all_had_an_acknowledgement_since_a_cut_does_not_cut_again() {
    let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
    let reacts_to_mark = |cc: &mut Warp, w: &mut [Window], s, seconds, sent| {
        let rtt = seconds - sent;
        cc.on_ack(
            w,
            s,
            Ack {
                rtt,
                ..at(seconds, 1)
            },
        );
        cc.reacts_to_mark(w, s)
    };
    cc.on_ack(&mut w, 0, at(5.0, 0));
    cc.on_mark(&mut w, 0);
    assert!(!reacts_to_mark(&mut cc, &mut w, 1, 5.25, 5.0), "2 has had none");
    assert!(
        !reacts_to_mark(&mut cc, &mut w, 2, 5.5, 5.25),
        "none had one when it was sent"
    );
    assert!(
        !reacts_to_mark(&mut cc, &mut w, 0, 5.75, 5.25),
        "the cutter's own as well"
    );
    assert!(reacts_to_mark(&mut cc, &mut w, 0, 6.0, 5.5));
    // A subflow that has nothing in flight is waited for during one round-trip time, 1 s.
    cc.on_mark(&mut w, 0);
    assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.0, 6.5));
    assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.5, 6.5));
    assert!(reacts_to_mark(&mut cc, &mut w, 1, 8.0, 7.5));
}

#[test]
fn slow_start_ends_with_the_first_mark_and_only_a_timeout_brings_it_back() {
    let (mut cc, mut w) = sending(&[8.0, 8.0]);
    cc.on_mark(&mut w, 0);
    // A shift leaves less than there was after the cut. A round still adds half a packet.
    w[0].state[SHARE] = 4.0;
    cc.on_ack(&mut w, 0, at(2.0, 4));
    assert_eq!(w[0].state[SHARE], 4.5);
    cc.on_timeout(&mut w, 0, true);
    cc.on_ack(&mut w, 0, at(3.0, 1));
    assert_eq!((w[0].state[SHARE], w[0].ssthresh), (2.0, 2.0));
    cc.on_ack(&mut w, 0, at(4.0, 2));
    assert_eq!(w[0].state[SHARE], 2.5);
}

#[test]
fn a_share_moves_to_where_fewer_packets_are_marked() {
    let (mut cc, mut w) = sending(&[8.0, 8.0]);
    // All packets marked on one, none on the other: the mean is 1/2, and 8 x 1/2 x 1/2 moves.
    cc.on_round(&mut w, 0, round(8, 8));
    assert_eq!(shares(&w), [6.0, 10.0]);
    // Equal marks: nothing moves.
    cc.on_round(&mut w, 1, round(9, 9));
    assert_eq!(shares(&w), [6.0, 10.0]);
}

#[test]
fn the_most_marked_is_deactivated_below_four_packets_each_and_activated_after_tau_rounds_with_room() {
    let (mut cc, mut w) = sending(&[4.0, 3.5, 4.0]);
    w[1].state[ALPHA] = 0.9;
    cc.on_round(&mut w, 0, round(2, 0));
    assert!(!w[1].active && w[0].active && w[2].active);
    assert_eq!(sending_total(&w), (2.0, 11.5), "its share went to the others");
    // Room for three is 2 x 4 packets each.
    w[0].state[SHARE] = 20.0;
    let mut rounds = 0;
    while !w[1].active {
        cc.on_round(&mut w, 0, round(10, 0));
        rounds += 1;
    }
    assert_eq!(rounds, cc.params.tau);
    let (m, total) = sending_total(&w);
    assert_eq!(m, 3.0);
    assert!((w[1].state[SHARE] - total / 3.0).abs() < 1e-12 && (total - 25.75).abs() < 1e-12);
}

#[test]
fn a_subflow_that_joins_takes_its_share_from_the_others() {
    let mut cc = Warp::new(Parameters::default());
    let mut w = vec![Window::new(16.0, f64::INFINITY); 2];
    w[0].established = true;
    cc.on_open(&mut w, 0);
    w[1].established = true;
    cc.on_open(&mut w, 1);
    assert_eq!(cwnds(&w), [8.0, 8.0]);
    // No room for two.
    let (mut cc, mut w) = sending(&[15.0, 10.0]);
    w[1].state[SHARE] = 0.0;
    cc.on_open(&mut w, 1);
    assert!(!w[1].active);
}

#[test]
fn a_share_moves_to_working_subflows_only() {
    let cases: [fn(&mut Window); 2] = [|r| r.in_recovery = true, |r| r.state[TIMEOUTS] = 1.0];
    for spoil in cases {
        let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
        spoil(&mut w[2]);
        cc.on_round(&mut w, 0, round(8, 8)); // the mean of 0 and 1 is 1/2
        assert_eq!(shares(&w), [6.0, 10.0, 8.0]);
    }
    // A subflow without an acknowledgement for two round-trip times of 1 s.
    let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
    cc.on_ack(&mut w, 1, at(1.0, 0));
    cc.on_ack(&mut w, 0, at(2.5, 0));
    cc.on_round(&mut w, 0, round(8, 8));
    assert_eq!(shares(&w), [6.0, 10.0, 8.0]);
}

#[test]
fn a_mark_in_slow_start_ends_it_and_cuts_on_its_own_path_only() {
    let (mut cc, mut w) = sending(&[16.0, 16.0, 16.0]);
    for r in &mut w[..2] {
        r.ssthresh = f64::INFINITY;
    }
    cc.on_ack(&mut w, 0, at(1.0, 0));
    cc.on_mark(&mut w, 0); // 16 (1 - 1/4)
    assert_eq!(shares(&w), [12.0, 16.0, 16.0]);
    assert_eq!((w[0].ssthresh, w[1].ssthresh), (1.0, f64::INFINITY));
    // Marks of every subflow count, at any time of sending.
    assert!((0..3).all(|s| cc.reacts_to_mark(&w, s)));
    // A mark on a path in congestion avoidance cuts no subflow that is on its own.
    cc.on_mark(&mut w, 2);
    assert_eq!(shares(&w), [12.0, 16.0, 12.0]);
}

#[test]
fn after_slow_start_a_subflow_grows_on_its_own_until_its_fifth_mark() {
    let (mut cc, mut w) = sending(&[16.0, 16.0]);
    w[0].ssthresh = f64::INFINITY;
    cc.on_mark(&mut w, 0);
    for n in 1..OWN_MARKS {
        // A whole packet per round, and a mark that cuts only this subflow.
        w[0].state[SHARE] = 16.0;
        cc.on_ack(&mut w, 0, ack(16));
        assert_eq!(shares(&w), [17.0, 16.0], "{n}");
        cc.on_round(&mut w, 1, round(8, 8));
        assert_eq!(shares(&w), [17.0, 16.0], "no shift: {n}");
        w[1].state = [16.0, 0.5, 0.0, 0.0];
        cc.on_mark(&mut w, 0);
        assert_eq!(shares(&w), [17.0 * 0.75, 16.0], "{n}");
    }
    w[0].state[SHARE] = 16.0;
    cc.on_ack(&mut w, 0, ack(16));
    assert_eq!(shares(&w), [16.5, 16.0]);
    cc.on_mark(&mut w, 0);
    assert_eq!(shares(&w), [16.5 * 0.75, 12.0]);
}

#[test]
fn a_loss_ends_growth_of_its_own() {
    let (mut cc, mut w) = sending(&[16.0, 16.0]);
    w[0].ssthresh = f64::INFINITY;
    cc.on_mark(&mut w, 0);
    cc.on_fast_retransmit(&mut w, 0);
    let before = w[0].state[SHARE];
    cc.on_ack(&mut w, 0, ack(1000)); // at most one window
    assert_eq!(w[0].state[SHARE], before + 0.5);
}

#[test]
fn after_a_timeout_and_a_round_an_inactive_subflow_has_two_packets() {
    let (mut cc, mut w) = sending(&[3.0, 4.0]);
    // A repeated timeout keeps the threshold.
    w[0].ssthresh = SSTHRESH_AFTER_SLOW_START;
    cc.on_timeout(&mut w, 0, false);
    assert_eq!(cwnds(&w), [1.0, 4.0]);
    cc.on_round(&mut w, 0, round(1, 1));
    assert_eq!((w[0].active, w[0].cwnd), (false, 2.0));
}

#[test]
fn short_times_with_room_do_not_delay_a_trial() {
    let (mut cc, mut w) = sending(&[6.0, 6.0]);
    (w[1].active, w[1].state[SHARE]) = (false, 0.0);
    for n in 0..140 {
        assert!(!w[1].active, "{n}");
        // Room for two subflows in every second round.
        w[0].state[SHARE] = if n % 2 == 0 { 12.0 } else { 20.0 };
        cc.on_round(&mut w, 0, round(8, 4));
        if w[1].active {
            return;
        }
    }
    panic!("no trial");
}

#[test]
fn before_the_first_mark_a_subflow_is_activated_as_soon_as_there_is_room() {
    let mut cc = Warp::new(Parameters::default());
    let mut w = in_avoidance(&[10.0; 3]);
    for r in &mut w {
        (r.ssthresh, r.established) = (f64::INFINITY, false);
    }
    for s in 0..3 {
        w[s].established = true;
        cc.on_open(&mut w, s);
    }
    assert_eq!(shares(&w), [10.0, 0.0, 0.0]);
    cc.on_ack(&mut w, 0, at(1.0, 6));
    cc.on_round(&mut w, 0, round(10, 0));
    assert_eq!(shares(&w), [8.0, 8.0, 0.0]);
    assert_eq!(w[1].ssthresh, f64::INFINITY);
}

/// Returns two paths with W = 6, after rounds on the first one with this part of marks until
/// subflow 1 is on trial.
fn on_trial(marks: u32) -> (Warp, Vec<Window>) {
    let (mut cc, mut w) = sending(&[6.0, 6.0]);
    (w[1].active, w[1].state[SHARE]) = (false, 0.0);
    // 2,004 packets.
    for n in 0..334 {
        assert!(!w[1].active, "{n}");
        cc.on_round(&mut w, 0, round(8, marks));
    }
    assert_eq!(shares(&w), [4.0, 2.0]);
    (cc, w)
}

#[test]
fn where_there_is_no_room_an_inactive_subflow_is_tried_and_exchanged_if_it_has_fewer_marks() {
    for (marks, active) in [(0, [false, true]), (1, [false, true]), (8, [true, false])] {
        let (mut cc, mut w) = on_trial(4);
        for n in 0..8 {
            assert!(w[0].active && w[1].active, "{n}");
            w[1].state[MARKED] = 0.5; // no shift
            cc.on_round(&mut w, 0, round(8, 4));
            w[0].state[MARKED] = f64::from(marks) / 8.0;
            cc.on_round(&mut w, 1, round(8, marks));
        }
        assert_eq!([w[0].active, w[1].active], active, "{marks}");
        assert!((sending_total(&w).1 - 6.0).abs() < 1e-9);
    }
}

#[test]
fn of_less_than_four_packets_a_trial_takes_half() {
    let (mut cc, mut w) = sending(&[3.0, 3.0]);
    (w[1].active, w[1].state[SHARE]) = (false, 0.0);
    // 2,001 packets.
    for _ in 0..666 {
        cc.on_round(&mut w, 0, round(8, 4));
    }
    assert_eq!(shares(&w), [3.0, 0.0]);
    cc.on_round(&mut w, 0, round(8, 4));
    assert_eq!((shares(&w), cwnds(&w)), (vec![1.5, 1.5], vec![2.0, 2.0]));
    for _ in 0..8 {
        w[1].state[MARKED] = 0.5; // no shift
        cc.on_round(&mut w, 1, round(2, 2));
    }
    assert_eq!(shares(&w), [3.0, 0.0]);
}

/// Returns a connection whose subflow 1 was deactivated because its path is crowded.
fn crowded() -> (Warp, Vec<Window>) {
    let (mut cc, mut w) = sending(&[30.0, 3.0]);
    w[0].state[ALPHA] = 0.125;
    cc.on_round(&mut w, 1, round(8, 4));
    assert_eq!((w[1].active, shares(&w)), (false, vec![33.0, 0.0]));
    (cc, w)
}

#[test]
fn a_subflow_on_a_crowded_path_is_deactivated() {
    crowded();
    let cases: [(f64, f64, f64); 4] = [
        (30.0, 4.5, 0.125), // four packets
        (15.0, 3.0, 0.125), // the other one has fewer than 16
        (30.0, 3.0, 0.3),   // less than twice the marks
        (30.0, 3.0, 0.5),
    ];
    for (other, share, alpha) in cases {
        let (mut cc, mut w) = sending(&[other, share]);
        w[0].state[ALPHA] = alpha;
        w[0].state[MARKED] = 0.5; // no shift
        cc.on_round(&mut w, 1, round(8, 4));
        assert!(w[1].active, "{other} {share} {alpha}");
    }
}

#[test]
fn room_does_not_activate_a_subflow_on_a_crowded_path() {
    let (mut cc, mut w) = crowded();
    let mut packets = 0.0;
    while !w[1].active {
        packets += sending_total(&w).1;
        cc.on_round(&mut w, 0, round(30, 3));
    }
    assert!((16_000.0..16_034.0).contains(&packets), "{packets}");
    assert_eq!(w[1].state[SHARE], 2.0);
    // As many marks as on the other path: it stays crowded. With fewer it is kept.
    for (marks, active) in [(4, false), (0, true)] {
        let (mut cc, mut w) = (cc.clone(), w.clone());
        for _ in 0..8 {
            w[0].state[MARKED] = 1.0; // no shift
            cc.on_round(&mut w, 1, round(8, marks));
        }
        assert_eq!((w[0].active, w[1].active), (true, active), "{marks}");
    }
}

#[test]
fn a_rise_of_marks_begins_a_trial_of_a_crowded_path() {
    let (mut cc, mut w) = crowded();
    for marked in [15, 3, 14, 15, 15] {
        assert!(!w[1].active, "{marked}");
        cc.on_round(&mut w, 0, round(30, marked));
    }
    assert!(w[1].active);
}

#[test]
fn a_path_on_which_the_rest_of_a_burst_had_few_marks_is_tried_soon() {
    let (mut cc, mut w) = sending(&[6.0, 6.0]);
    (w[1].active, w[1].state[SHARE]) = (false, 0.0);
    w[1].state[ALPHA] = 0.2;
    for n in 0..64 {
        assert!(!w[1].active, "{n}");
        cc.on_round(&mut w, 0, round(8, 4));
    }
    assert_eq!(shares(&w), [4.0, 2.0]);
}

#[test]
fn a_subflow_that_has_timed_out_is_not_tried() {
    let (mut cc, mut w) = sending(&[6.0, 6.0]);
    (w[1].active, w[1].state[SHARE]) = (false, 0.0);
    w[1].state[TIMEOUTS] = 1.0;
    for _ in 0..400 {
        cc.on_round(&mut w, 0, round(8, 4));
    }
    assert!(!w[1].active);
}

#[test]
fn an_undone_timeout_gives_the_share_back() {
    let (mut cc, mut w) = sending(&[8.0, 8.0]);
    w[0].save_prior();
    cc.on_timeout(&mut w, 0, true);
    cc.on_timeout(&mut w, 0, false);
    assert_eq!(shares(&w), [0.0, 8.0]);
    cc.on_undo(&mut w, 0);
    assert_eq!((shares(&w), cwnds(&w)), (vec![8.0, 8.0], vec![8.0, 8.0]));
    assert!(w[0].active);
}

#[test]
fn packets_are_apportioned_by_largest_remainder() {
    let (_, w) = sending(&[2.9, 2.5, 2.7]); // 8.1
    assert_eq!(cwnds(&w), [3.0, 2.0, 3.0]);
}

#[test]
fn a_loss_halves_its_own_path_and_two_timeouts_deactivate_it() {
    let (mut cc, mut w) = sending(&[8.0, 8.0]);
    cc.on_fast_retransmit(&mut w, 0);
    assert_eq!(shares(&w), [4.0, 8.0]);
    cc.on_timeout(&mut w, 1, true);
    assert_eq!((w[1].cwnd, w[1].ssthresh, w[1].active), (1.0, 4.0, true));
    cc.on_timeout(&mut w, 1, false);
    assert!(!w[1].active && w[0].active);
}

#[test]
fn its_laws_hold_whatever_is_reported() {
    crate::events::obeys("warp", |step| {
        // Whole packets, and no more than the sum of the shares except where the minimum window
        // is larger.
        for r in step.after {
            assert_eq!(r.cwnd, r.cwnd.floor(), "{step:?}");
            assert!(
                r.state[SHARE] >= 0.0 && (r.active || r.state[SHARE] == 0.0),
                "{step:?}"
            );
        }
    });
}
