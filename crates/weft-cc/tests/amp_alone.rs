//! AMP's `dctcp_cut`: a subflow that sends alone is a DCTCP flow; otherwise cuts are those of the
//! paper.

use proptest::prelude::*;
use weft_cc::{Ack, Algorithm, CongestionControl, Round, Window};

const MARKED: Round = Round { acked: 4, marked: 1 };

fn amp(dctcp_cut: f64) -> Algorithm {
    let parameters = [("gamma", 2.0), ("tau", 3.0), ("dctcp_cut", dctcp_cut)];
    Algorithm::build("amp", &parameters.map(|(name, value)| (name.to_owned(), value))).unwrap()
}

/// Returns established subflows of two packets in congestion avoidance.
fn opened(cc: &mut Algorithm, subflows: usize) -> Vec<Window> {
    let window = Window {
        established: true,
        ..Window::new(2.0, 2.0)
    };
    let mut w = vec![window; subflows];
    for s in 0..subflows {
        cc.on_open(&mut w, s);
    }
    w
}

/// Returns the part of a window of 16 packets that a mark removes.
fn cut(cc: &mut Algorithm, w: &mut [Window], s: usize) -> f64 {
    w[s].cwnd = 16.0;
    cc.on_mark(w, s);
    let part = 1.0 - w[s].cwnd / 16.0;
    w[s].cwnd = 2.0;
    part
}

#[test]
fn only_a_subflow_that_is_alone_is_cut_by_half_of_alpha_which_is_kept_all_the_while() {
    let mut cc = amp(1.0);
    let mut w = opened(&mut cc, 4);
    let mut alpha: f64 = 1.0;
    cc.on_round(&mut w, 0, MARKED);
    alpha += (0.25 - alpha) / 16.0;
    assert_eq!(cut(&mut cc, &mut w, 0), 0.25);
    cc.on_round(&mut w, 0, MARKED);
    alpha += (0.25 - alpha) / 16.0;
    assert!(!w[1].active, "two rounds with all windows at the floor suppress");
    assert!((cut(&mut cc, &mut w, 0) - alpha / 2.0).abs() < 1e-12);
    // Data in flight of the suppressed subflows is cut as before.
    assert_eq!(cut(&mut cc, &mut w, 1), 0.25);
    // After release, the initial subflow is cut in that way as well.
    w[0].cwnd = 3.0;
    for _ in 0..3 {
        cc.on_round(&mut w, 0, Round { acked: 3, marked: 0 });
    }
    assert!(w[1].active);
    assert_eq!(cut(&mut cc, &mut w, 0), 0.25);
    // The initial subflow sends alone because the others have closed.
    for s in 1..4 {
        w[s].established = false;
        cc.on_close(&mut w, s);
    }
    for _ in 0..3 {
        alpha -= alpha / 16.0;
    }
    assert!((cut(&mut cc, &mut w, 0) - alpha / 2.0).abs() < 1e-12);
}

#[test]
fn by_default_the_cut_is_the_papers_also_alone() {
    for subflows in [1, 4] {
        let mut cc = amp(0.0);
        let mut w = opened(&mut cc, subflows);
        for _ in 0..4 {
            cc.on_round(&mut w, 0, MARKED);
        }
        assert!(w[1..].iter().all(|r| !r.active));
        assert_eq!(cut(&mut cc, &mut w, 0), 0.25);
    }
}

proptest! {
    #[test]
    fn one_subflow_is_a_dctcp_flow(
        cwnd in 1_u32..40,
        events in prop::collection::vec((0_u32..10, 1_u32..20, 0_u32..20), 0..300),
    ) {
        let mut windows = Vec::new();
        for mut cc in [amp(1.0), Algorithm::build("dctcp", &[]).unwrap()] {
            let mut w = opened(&mut cc, 1);
            (w[0].cwnd, w[0].ssthresh) = (f64::from(cwnd), f64::INFINITY);
            for &(event, acked, marked) in &events {
                let marked = marked.min(acked);
                match event {
                    0..6 => {
                        let ack = Ack { acked, marked, may_grow: marked < 15, ..Ack::default() };
                        cc.on_ack(&mut w, 0, ack);
                    }
                    6..8 => cc.on_round(&mut w, 0, Round { acked, marked }),
                    8 => cc.on_mark(&mut w, 0),
                    _ if acked < 18 => cc.on_fast_retransmit(&mut w, 0),
                    _ => cc.on_timeout(&mut w, 0, marked < 10),
                }
            }
            windows.push((w[0].cwnd, w[0].ssthresh));
        }
        let same = |a: f64, b: f64| a == b || (a - b).abs() < 1e-9 * a;
        let ((amp, amp_ssthresh), (dctcp, dctcp_ssthresh)) = (windows[0], windows[1]);
        prop_assert!(same(amp, dctcp) && same(amp_ssthresh, dctcp_ssthresh), "{windows:?}");
    }
}
