//! OLIA: Khalili, Gast, Popovic, Upadhyay and Le Boudec, "MPTCP is not Pareto-optimal: performance
//! issues and a possible solution", ACM CoNEXT 2012, section 4;
//! draft-khalili-mptcp-congestion-control-05.
//!
//! For each packet acknowledged on path r, with the round-trip time `T_r`:
//!
//! ```math
//! w_r \leftarrow w_r + \frac{w_r / T_r^2}{\left(\sum_p w_p / T_p\right)^2} + \frac{\alpha_r}{w_r}
//! ```
//!
//! Let R be all paths, M the paths with the largest window, and B the best paths: those with the
//! largest `l_p / rtt_p^2`. There, `l_p` is the number of packets acknowledged between the last two
//! losses or since the last one, whichever is larger. Then `alpha_r` is `1 / (|R| |B \ M|)` on the
//! paths of `B \ M`. On the paths of M it is `-1 / (|R| |M|)` if `B \ M` is not empty. Otherwise it
//! is 0.
//!
//! Where the sources are silent: the sets are recomputed at every acknowledgement. Windows and
//! qualities within a millionth of the largest belong to M and B. A timeout counts as a loss. Slow
//! start is Reno's on each subflow; the draft's `ssthresh` of one packet for joins is a setting of
//! the sender, `initial_ssthresh`. Cuts are Reno's, and a window is never below one packet. A
//! subflow counts once it is established and has an RTT. Until a subflow has an RTT, growth is
//! Reno's.

use crate::parameters::parameters;
use crate::reno::{MIN_SSTHRESH, collapse_to, congestion_avoidance, halve_to};
use crate::response::{best_paths, smoothed_best_paths};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Window};

parameters! {
    /// floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
}

/// State: packets acknowledged between the last two losses.
const LOSS_INTERVAL: usize = 0;
/// State: packets acknowledged since the last loss.
const SINCE_LOSS: usize = 1;

/// Opportunistic linked increases.
#[derive(Clone, Debug)]
pub struct Olia {
    params: Parameters,
}

impl Olia {
    /// One-line description for the registry.
    pub const ABOUT: &str = "OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self { params }
    }
}

/// Returns the subflows of R.
fn paths(w: &[Window]) -> impl Iterator<Item = &Window> {
    w.iter().filter(|r| r.established && r.srtt > 0.0)
}

/// Returns `l_p / rtt_p^2`.
fn quality(r: &Window) -> f64 {
    r.state[LOSS_INTERVAL].max(r.state[SINCE_LOSS]) / (r.srtt * r.srtt)
}

/// Returns true if the value is the largest within rounding.
fn is_max(x: f64, max: f64) -> bool {
    x >= max * (1.0 - 1e-6)
}

/// Returns `alpha_r`.
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

    /// Returns the increase per acknowledged packet.
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

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.on_fast_retransmit(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve_to(&mut w[s], self.params.cwnd_min);
        on_loss(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse_to(&mut w[s], first, self.params.cwnd_min);
        on_loss(&mut w[s]);
    }

    /// Counts the packets between the last two losses and since the last one as if the loss had not
    /// happened.
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

/// The fixed point of the paper's section 4: only the best paths are used, for the rate that Reno
/// has on the best one. If several are best, alpha makes their windows equal. The function jumps
/// where another path becomes the best.
impl Response for Olia {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        best_paths(paths, cwnd);
    }

    fn jumps(&self) -> bool {
        true
    }

    fn smoothed_windows(&self, paths: &[Path], width: f64, cwnd: &mut [f64]) {
        smoothed_best_paths(paths, width, cwnd);
    }
}

fn on_loss(w: &mut Window) {
    w.state[LOSS_INTERVAL] = std::mem::take(&mut w.state[SINCE_LOSS]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, in_avoidance, in_avoidance_at};

    fn olia() -> Olia {
        Olia::new(Parameters::default())
    }

    /// Returns windows in congestion avoidance with this many packets acknowledged since the last
    /// loss.
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
        olia().on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 10.1);
    }

    #[test]
    fn where_the_best_paths_have_the_largest_windows_alpha_is_zero() {
        let w = with_quality(&[6.0, 2.0], &[500.0, 100.0]);
        assert_eq!((alpha(&w, 0), alpha(&w, 1)), (0.0, 0.0));
        // (6/1) / (8/1)^2 and (2/1) / 64
        for (s, expected) in [(0, 6.0 + 6.0 / 64.0), (1, 2.0 + 2.0 / 64.0)] {
            let mut w = w.clone();
            olia().on_ack(&mut w, s, ack(1));
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
        // 8 + 8/256 - (1/3)/8: smaller than before.
        let mut grown = w.clone();
        olia().on_ack(&mut grown, 0, ack(1));
        assert_near(grown[0].cwnd, 8.0 + 8.0 / 256.0 - 1.0 / 24.0);
        let mut grown = w;
        olia().on_ack(&mut grown, 2, ack(1)); // 4 + 4/256 + (1/3)/4
        assert_near(grown[2].cwnd, 4.0 + 4.0 / 256.0 + 1.0 / 12.0);
        // Two best paths: 1/(3 * 2) each; two largest windows: -1/(3 * 2) each.
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
            olia().on_ack(&mut w, 0, ack(10));
        }
        assert_eq!((quality(&w[0]), quality(&w[1])), (100.0, 75.0));
        // After a loss the hundred packets still count, until more are acknowledged.
        olia().on_fast_retransmit(&mut w, 0);
        olia().on_ack(&mut w, 0, ack(40));
        assert_eq!(quality(&w[0]), 100.0);
        olia().on_timeout(&mut w, 0, true);
        assert_eq!(quality(&w[0]), 40.0);
    }

    #[test]
    fn unequal_round_trips_are_in_the_increase() {
        // Rates 10 and 10: (10/1) / 400 and (40/16) / 400.
        let mut w = in_avoidance_at(&[10.0, 40.0], &[1.0, 4.0]);
        w[1].state[SINCE_LOSS] = 1e6;
        assert_eq!(alpha(&w, 1), 0.0);
        olia().on_ack(&mut w, 1, ack(1));
        assert_near(w[1].cwnd, 40.0 + 2.5 / 400.0);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("olia", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.keeps_at_a_loss(0.5, step.parameter("cwnd_min").unwrap());
        });
    }
}
