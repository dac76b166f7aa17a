//! Fully coupled: Wischik, Raiciu, Greenhalgh and Handley, "Design, implementation and evaluation
//! of congestion control for multipath TCP", NSDI 2011, section 2, algorithm COUPLED. It follows
//! Kelly and Voice (2005) and Han et al. (2006).
//!
//! For each ACK on path r, and for each loss on it:
//!
//! ```math
//! w_r \leftarrow w_r + \frac{1}{\sum_k w_k}
//! w_r \leftarrow w_r - \frac{1}{2} \sum_k w_k
//! ```
//!
//! All traffic moves to the least congested paths. `w_total` is the sum.
//!
//! Where the paper is silent: a window falls to no less than one packet, which keeps probing (the
//! paper's section 2.4); `ssthresh` follows it. Slow start and a timeout are Reno's on each
//! subflow. `w_total` is the sum over established subflows.

use crate::parameters::parameters;
use crate::reno::{collapse, congestion_avoidance};
use crate::response::{best_paths, smoothed_best_paths};
use crate::{Ack, CongestionControl, Echo, Path, Response, Window};

parameters! {}

/// The algorithm COUPLED.
#[derive(Clone, Debug)]
pub struct FullyCoupled;

impl FullyCoupled {
    /// One-line description for the registry.
    pub const ABOUT: &str = "fully coupled: the connection as one flow over all paths (NSDI 2011, section 2)";

    /// Creates the state of a new connection.
    pub fn new(_: Parameters) -> Self {
        Self
    }
}

/// Returns `w_total`.
fn total(w: &[Window]) -> f64 {
    w.iter().filter(|r| r.established).map(|r| r.cwnd).sum()
}

impl CongestionControl for FullyCoupled {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if ack.may_grow {
            let left = congestion_avoidance(&mut w[s], ack);
            let total = total(w).max(w[s].cwnd);
            w[s].cwnd += left / total;
        }
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.on_fast_retransmit(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        let total = total(w).max(w[s].cwnd);
        w[s].cwnd = (w[s].cwnd - total / 2.0).max(1.0);
        w[s].ssthresh = w[s].cwnd;
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// A loss on any path cuts `w_total` / 2, so `w_total` is Reno's window at the smallest loss rate.
/// The paths with that loss rate are assumed to have equal RTTs.
impl Response for FullyCoupled {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, cwnds, in_avoidance};

    #[test]
    fn an_acknowledgement_adds_one_part_of_all_windows() {
        let mut w = in_avoidance(&[6.0, 2.0, 50.0]);
        w[2].established = false;
        FullyCoupled.on_ack(&mut w, 0, ack(2)); // 2/8
        assert_eq!(w[0].cwnd, 6.25);
        FullyCoupled.on_ack(&mut w, 1, ack(1)); // 1/8.25
        assert_eq!(w[1].cwnd, 2.0 + 1.0 / 8.25);
    }

    #[test]
    fn a_loss_takes_half_of_all_windows_from_one() {
        let mut w = in_avoidance(&[10.0, 4.0]);
        FullyCoupled.on_fast_retransmit(&mut w, 0); // 10 - 14/2
        assert_eq!(cwnds(&w), [3.0, 4.0]);
        FullyCoupled.on_fast_retransmit(&mut w, 0); // 3 - 7/2, at least 1
        assert_eq!(cwnds(&w), [1.0, 4.0]);
        // One path: half of the window, like Reno.
        let mut w = in_avoidance(&[10.0]);
        FullyCoupled.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (5.0, 5.0));
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("fully-coupled", |step| {
            step.moves_no_other_window();
            step.adds_at_most_a_packet_a_round();
            step.grows_at_acknowledgements_only();
        });
    }
}
