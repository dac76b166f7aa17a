//! BALIA: Peng, Walid, Hwang and Low, "Multipath TCP: analysis, design, and implementation",
//! IEEE/ACM Transactions on Networking 24(1), 2016; Walid, Peng, Hwang and Low,
//! draft-walid-mptcp-congestion-control-04, section 3.
//!
//! With the round-trip time `T_r`, each ACK on path r changes its window as in the second equation,
//! and each loss as in the third:
//!
//! ```math
//! x_r = \frac{w_r}{T_r}, \quad \alpha_r = \frac{\max_k x_k}{x_r}
//! w_r \leftarrow w_r + \frac{x_r / T_r}{\left(\sum_k x_k\right)^2} \cdot \frac{1 + \alpha_r}{2} \cdot \frac{4 + \alpha_r}{5}
//! w_r \leftarrow w_r - \frac{w_r}{2} \min(\alpha_r, 1.5)
//! ```
//!
//! Where they are silent: a cut stops at two packets, as Reno's does, and sets `ssthresh`; slow
//! start and a timeout are Reno's. A subflow counts once it is established and has an RTT. Until a
//! subflow has an RTT, growth and cut are Reno's.

use crate::parameters::parameters;
use crate::reno::{MIN_SSTHRESH, collapse_to, congestion_avoidance, halve_to};
use crate::response::parts_as_best;
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Window};

parameters! {
    /// floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
}

/// Balanced linked adaptation.
#[derive(Clone, Debug)]
pub struct Balia {
    params: Parameters,
}

impl Balia {
    /// One-line description for the registry.
    pub const ABOUT: &str = "BALIA: balanced linked adaptation (draft-walid-mptcp-congestion-control)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self { params }
    }
}

/// Returns the sum and the maximum of all rates.
fn rates(w: &[Window]) -> (f64, f64) {
    let rates = w.iter().filter(|r| r.established && r.srtt > 0.0);
    rates.fold((0.0, 0.0), |(sum, most): (f64, f64), r| {
        let x = r.cwnd / r.srtt;
        (sum + x, most.max(x))
    })
}

impl CongestionControl for Balia {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if !ack.may_grow {
            return;
        }
        let left = congestion_avoidance(&mut w[s], ack);
        let (sum, most) = rates(w);
        let w = &mut w[s];
        let increase = if w.srtt > 0.0 {
            let x = w.cwnd / w.srtt;
            let alpha = most / x;
            x / w.srtt / (sum * sum) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
        } else {
            1.0 / w.cwnd
        };
        w.cwnd += left * increase.min(1.0);
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.on_fast_retransmit(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        let (_, most) = rates(w);
        let w = &mut w[s];
        if w.srtt == 0.0 {
            return halve_to(w, self.params.cwnd_min);
        }
        let alpha = most / (w.cwnd / w.srtt);
        w.ssthresh = (w.cwnd - w.cwnd / 2.0 * alpha.min(1.5)).max(self.params.cwnd_min);
        w.cwnd = w.ssthresh;
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse_to(&mut w[s], first, self.params.cwnd_min);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// With the total rate x, the balance of path r is `(1 + alpha)(4 + alpha) / (10 rtt^2 x^2) =
/// pull`, where a cut takes `min(alpha, 1.5) / 2`. On the best path, the one with the smallest `p
/// rtt^2`, alpha is 1, which gives `x = sqrt(3 / (2 p)) / rtt`. On a path whose `p rtt^2` is
/// `ratio` times that of the best one, `(1 + alpha)(4 + alpha) = 18 ratio` for alpha above 1.5.
/// Alphas between 1 and 1.5 are not stable: a path slightly worse than the best falls to half of
/// its rate (alpha = 2). Of two equally good paths either may be the one that falls, so their means
/// are equal.
impl Response for Balia {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        cwnd.fill(0.0);
        let best = paths.iter().map(square).fold(f64::INFINITY, f64::min);
        add_windows(paths, best, 1.0, cwnd, |_, path| {
            square(path) <= best * (1.0 + 1e-9)
        });
    }

    fn jumps(&self) -> bool {
        true
    }

    fn smoothed_windows(&self, paths: &[Path], width: f64, cwnd: &mut [f64]) {
        let mut parts = vec![0.0; paths.len()];
        parts_as_best(paths, width, &mut parts);
        cwnd.fill(0.0);
        for (best, (path, part)) in paths.iter().zip(parts).enumerate() {
            add_windows(paths, square(path), part, cwnd, |s, _| s == best);
        }
    }
}

/// `p rtt^2`, the smallest on the best path.
fn square(path: &Path) -> f64 {
    path.signal * path.rtt * path.rtt
}

/// Adds `part` of the windows in packets if the paths are the best ones for which `is_best` returns
/// true, with this `p rtt^2`.
fn add_windows(
    paths: &[Path],
    best: f64,
    part: f64,
    cwnd: &mut [f64],
    is_best: impl Fn(usize, &Path) -> bool,
) {
    let alpha = |(s, path): (usize, &Path)| {
        if is_best(s, path) {
            1.0
        } else {
            ((9.0 + 72.0 * (square(path) / best).max(1.0)).sqrt() - 5.0) / 2.0
        }
    };
    // The largest rate, from the sum of all rates, which is Reno's on the best path.
    let shares: f64 = paths.iter().enumerate().map(|path| 1.0 / alpha(path)).sum();
    let most = part * (1.5 / best).sqrt() / shares;
    for ((s, path), w) in paths.iter().enumerate().zip(cwnd) {
        *w += most / alpha((s, path)) * path.rtt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, cwnds, in_avoidance, in_avoidance_at};

    fn balia() -> Balia {
        Balia::new(Parameters::default())
    }

    #[test]
    fn one_subflow_is_reno() {
        let mut w = in_avoidance_at(&[10.0], &[0.02]);
        balia().on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 10.1);
        balia().on_fast_retransmit(&mut w, 0);
        assert_near(w[0].cwnd, 5.05);
    }

    #[test]
    fn growth_is_the_rate_balanced_by_alpha() {
        // Rates 6 and 2: on 0 alpha is 1, 6/64; on 1 alpha is 3, 2/64 * 4/2 * 7/5.
        let mut w = in_avoidance(&[6.0, 2.0]);
        balia().on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 6.0 + 6.0 / 64.0);
        let mut w = in_avoidance(&[6.0, 2.0]);
        balia().on_ack(&mut w, 1, ack(2));
        assert_near(w[1].cwnd, 2.0 + 2.0 * (2.0 / 64.0 * 2.0 * 1.4));
        // RTTs 1 and 4, rates 10 and 10: 10/4 / 400 on the slower.
        let mut w = in_avoidance_at(&[10.0, 40.0], &[1.0, 4.0]);
        balia().on_ack(&mut w, 1, ack(1));
        assert_near(w[1].cwnd, 40.0 + 2.5 / 400.0);
    }

    #[test]
    fn a_loss_takes_more_from_a_slower_path_up_to_three_quarters() {
        let mut w = in_avoidance(&[12.0, 10.0, 4.0]);
        balia().on_fast_retransmit(&mut w, 1); // alpha 1.2: 10 - 5 * 1.2
        assert_near(w[1].cwnd, 4.0);
        balia().on_fast_retransmit(&mut w, 0); // alpha 1
        assert_near(w[0].cwnd, 6.0);
        let mut w = in_avoidance(&[40.0, 12.0, 4.0]);
        balia().on_fast_retransmit(&mut w, 1); // alpha 3.3: 12 - 6 * 1.5
        balia().on_fast_retransmit(&mut w, 2); // 4 - 3, at least 2
        assert_eq!(cwnds(&w), [40.0, 3.0, 2.0]);
        let mut low = Balia::new(Parameters { cwnd_min: 1.0 });
        let mut w = in_avoidance(&[40.0, 12.0, 4.0]);
        low.on_fast_retransmit(&mut w, 2); // 4 - 3
        assert_eq!(cwnds(&w), [40.0, 12.0, 1.0]);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("balia", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
        });
    }

    #[test]
    fn its_response_balances_its_two_equations() {
        let paths = [(0.0006, 0.1), (0.0009, 0.1), (0.0024, 0.05), (0.01, 0.2)];
        let w = crate::response::tests::windows_of("balia", &paths);
        let rates: Vec<f64> = w.iter().zip(paths).map(|(w, (_, rtt))| w / rtt).collect();
        let (sum, most) = (rates.iter().sum::<f64>(), rates[0]);
        // Reno's rate on the best path, 50 / 0.1.
        assert_near(sum, 500.0);
        for (x, (p, rtt)) in rates.iter().zip(paths) {
            let alpha = most / x;
            let increase = x / rtt / (sum * sum) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0;
            let cut = alpha.min(1.5) / 2.0;
            assert_near(increase, x * rtt * p * cut / (1.0 - cut / 2.0));
        }
        assert_near(rates[0], rates[2]);
    }
}
