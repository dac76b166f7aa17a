//! OLIA: Khalili, Gast, Popovic, Upadhyay and Le Boudec, "MPTCP is not Pareto-optimal: performance issues and a
//! possible solution", ACM CoNEXT 2012, section 4; draft-khalili-mptcp-congestion-control-05.
//!
//! Each packet acknowledged on path r adds
//!
//! ```text
//! (w_r / rtt_r^2) / (sum_p w_p / rtt_p)^2 + alpha_r / w_r
//! ```
//!
//! With B the best paths (the largest `l_p / rtt_p^2`, where `l_p` is the larger of the packets acknowledged between
//! the last two losses and since the last one), M the paths with the largest window and R all paths, `alpha_r` is
//! `1 / (|R| |B \ M|)` on the paths of `B \ M`, `-1 / (|R| |M|)` on those of M while `B \ M` is not empty, and else 0.
//!
//! Where they are silent: the sets are recomputed at every acknowledgement, windows and qualities within a millionth of
//! the largest belong to M and B; a timeout counts as a loss. Slow start is Reno's on each subflow (the draft's
//! `ssthresh` of one packet for joins is a sender's setting, `initial_ssthresh`), cuts are Reno's, and a window is never
//! below one packet. A subflow counts once it is established and has an RTT; before any has, growth is Reno's.

use crate::parameters::parameters;
use crate::reno::{collapse, congestion_avoidance, halve};
use crate::response::best_paths;
use crate::{Ack, CongestionControl, Echo, Path, Response, Window};

parameters! {}

/// State: packets acknowledged between the last two losses.
const LOSS_INTERVAL: usize = 0;
/// State: packets acknowledged since the last loss.
const SINCE_LOSS: usize = 1;

/// Opportunistic linked increases.
#[derive(Clone, Debug)]
pub struct Olia;

impl Olia {
    /// One line about it.
    pub const ABOUT: &str = "OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)";

    /// The state of a new connection.
    pub fn new(_: Parameters) -> Self {
        Self
    }
}

/// The subflows of R.
fn paths(w: &[Window]) -> impl Iterator<Item = &Window> {
    w.iter().filter(|r| r.established && r.srtt > 0.0)
}

/// `l_p / rtt_p^2`.
fn quality(r: &Window) -> f64 {
    r.state[LOSS_INTERVAL].max(r.state[SINCE_LOSS]) / (r.srtt * r.srtt)
}

/// Is it the largest but for rounding?
fn is_max(x: f64, max: f64) -> bool {
    x >= max * (1.0 - 1e-6)
}

/// `alpha_r`.
fn alpha(w: &[Window], s: usize) -> f64 {
    let (mut cwnd, mut best) = (0.0_f64, 0.0_f64);
    for r in paths(w) {
        cwnd = cwnd.max(r.cwnd);
        best = best.max(quality(r));
    }
    let in_m = |r: &Window| is_max(r.cwnd, cwnd);
    let collected = |r: &Window| is_max(quality(r), best) && !in_m(r);
    let (mut all, mut m, mut b_without_m) = (0_u32, 0_u32, 0_u32);
    for r in paths(w) {
        all += 1;
        m += u32::from(in_m(r));
        b_without_m += u32::from(collected(r));
    }
    if b_without_m == 0 {
        0.0
    } else if collected(&w[s]) {
        1.0 / f64::from(all * b_without_m)
    } else if in_m(&w[s]) {
        -1.0 / f64::from(all * m)
    } else {
        0.0
    }
}

impl CongestionControl for Olia {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state = [0.0; 4];
    }

    /// The increase.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        w[s].state[SINCE_LOSS] += f64::from(ack.acked);
        if !ack.may_grow {
            return;
        }
        let left = congestion_avoidance(&mut w[s], ack);
        if left == 0.0 {
            return;
        }
        let increase = if w[s].srtt > 0.0 {
            let rate: f64 = paths(w).map(|r| r.cwnd / r.srtt).sum();
            w[s].cwnd / (w[s].srtt * rate).powi(2) + alpha(w, s) / w[s].cwnd
        } else {
            1.0 / w[s].cwnd
        };
        w[s].cwnd = (w[s].cwnd + left * increase.min(1.0)).max(1.0);
    }

    /// Not asked for; RFC 3168, section 6.1.2, would have it treated as a loss.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.on_fast_retransmit(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
        on_loss(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
        on_loss(&mut w[s]);
    }

    /// The packets between the last two losses and since the last one count as if there had been no loss.
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        let r = &mut w[s];
        r.undo();
        r.state[LOSS_INTERVAL] = r.prior_state[LOSS_INTERVAL];
        r.state[SINCE_LOSS] += r.prior_state[SINCE_LOSS];
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// The fixed point of the paper's section 4: the best paths alone are used, for the rate that Reno has on the best. Where
/// several are the best, alpha makes their windows equal. It jumps where another path becomes the best, so a model that
/// looks for an equilibrium has to damp it.
impl Response for Olia {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        best_paths(paths, cwnd);
    }
}

fn on_loss(w: &mut Window) {
    w.state[LOSS_INTERVAL] = std::mem::take(&mut w.state[SINCE_LOSS]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, in_avoidance, in_avoidance_at};

    /// Windows in congestion avoidance with this many packets acknowledged since the last loss.
    fn with_quality(cwnd: &[f64], since: &[f64]) -> Vec<Window> {
        let mut w = in_avoidance(cwnd);
        for (r, &since) in w.iter_mut().zip(since) {
            r.state[SINCE_LOSS] = since;
        }
        w
    }

    #[test]
    fn one_subflow_is_reno() {
        let mut w = in_avoidance_at(&[10.0], &[0.02]);
        Olia.on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 10.1);
    }

    #[test]
    fn where_the_best_paths_have_the_largest_windows_alpha_is_zero() {
        let w = with_quality(&[6.0, 2.0], &[500.0, 100.0]);
        assert_eq!((alpha(&w, 0), alpha(&w, 1)), (0.0, 0.0));
        // (6/1) / (8/1)^2 and (2/1) / 64
        for (s, expected) in [(0, 6.0 + 6.0 / 64.0), (1, 2.0 + 2.0 / 64.0)] {
            let mut w = w.clone();
            Olia.on_ack(&mut w, s, ack(1));
            assert_near(w[s].cwnd, expected);
        }
    }

    #[test]
    fn windows_move_from_the_largest_to_the_best() {
        // R = {0, 1, 2}, M = {0}, B \ M = {2}: alpha = -1/3, 0, 1/3.
        let w = with_quality(&[8.0, 4.0, 4.0], &[100.0, 100.0, 900.0]);
        assert_near(alpha(&w, 0), -1.0 / 3.0);
        assert_near(alpha(&w, 1), 0.0);
        assert_near(alpha(&w, 2), 1.0 / 3.0);
        // 8 + 8/256 - (1/3)/8: less than before.
        let mut grown = w.clone();
        Olia.on_ack(&mut grown, 0, ack(1));
        assert_near(grown[0].cwnd, 8.0 + 8.0 / 256.0 - 1.0 / 24.0);
        let mut grown = w;
        Olia.on_ack(&mut grown, 2, ack(1)); // 4 + 4/256 + (1/3)/4
        assert_near(grown[2].cwnd, 4.0 + 4.0 / 256.0 + 1.0 / 12.0);
        // Two of the best: 1/(3 * 2) each; two of the largest: -1/(3 * 2) each.
        let w = with_quality(&[8.0, 4.0, 4.0], &[100.0, 900.0, 900.0]);
        assert_near(alpha(&w, 1), 1.0 / 6.0);
        let w = with_quality(&[8.0, 8.0, 4.0], &[100.0, 100.0, 900.0]);
        assert_near(alpha(&w, 1), -1.0 / 6.0);
    }

    #[test]
    fn quality_counts_packets_between_losses_over_the_squared_rtt() {
        let mut w = in_avoidance_at(&[10.0, 10.0], &[1.0, 2.0]);
        w[1].state[SINCE_LOSS] = 300.0;
        for _ in 0..10 {
            Olia.on_ack(&mut w, 0, ack(10));
        }
        assert_eq!((quality(&w[0]), quality(&w[1])), (100.0, 75.0));
        // After a loss the hundred count still, until more than that many are acknowledged.
        Olia.on_fast_retransmit(&mut w, 0);
        Olia.on_ack(&mut w, 0, ack(40));
        assert_eq!(quality(&w[0]), 100.0);
        Olia.on_timeout(&mut w, 0, true);
        assert_eq!(quality(&w[0]), 40.0);
    }

    #[test]
    fn unequal_round_trips_are_in_the_increase() {
        // Rates 10 and 10: (10/1) / 400 and (40/16) / 400.
        let mut w = in_avoidance_at(&[10.0, 40.0], &[1.0, 4.0]);
        w[1].state[SINCE_LOSS] = 1e6;
        assert_eq!(alpha(&w, 1), 0.0);
        Olia.on_ack(&mut w, 1, ack(1));
        assert_near(w[1].cwnd, 40.0 + 2.5 / 400.0);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("olia", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.halves_at_a_loss(2.0);
        });
    }
}
