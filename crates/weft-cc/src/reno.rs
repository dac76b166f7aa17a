//! Reno: RFC 5681, sections 3.1 (slow start, congestion avoidance, timeout) and 3.2 (fast
//! retransmit).
//!
//! Subflows are not coupled: n of them take the share of n flows at a bottleneck. The equations are
//! those of an acknowledged packet and of a loss:
//!
//! ```math
//! w \leftarrow w + \frac{1}{w}
//! w \leftarrow \frac{w}{2}
//! ```
//!
//! Where the RFC leaves a choice: congestion avoidance is equation (3), `cwnd += 1 / cwnd` for each
//! packet acknowledged. A delayed acknowledgement therefore counts all its packets, but an
//! acknowledgement never adds more than one packet. `FlightSize` of equation (4) is the window,
//! which a sender with enough data fills. The transport inflates the window during recovery
//! (section 3.2, steps 3 to 5).

use crate::parameters::parameters;
use crate::response::{independent_windows, pull};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Window, slow_start};

parameters! {
    /// floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
}

/// The smallest `ssthresh` in packets (RFC 5681, equation (4)).
pub(crate) const MIN_SSTHRESH: f64 = 2.0;

/// Reno (RFC 5681) on each subflow.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    params: Parameters,
}

impl Reno {
    /// One-line description for the registry.
    pub const ABOUT: &str = "Reno on each subflow, uncoupled, without ECN (RFC 5681)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self { params }
    }
}

impl CongestionControl for Reno {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        grow(&mut w[s], ack);
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        halve_to(&mut w[s], self.params.cwnd_min);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve_to(&mut w[s], self.params.cwnd_min);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse_to(&mut w[s], first, self.params.cwnd_min);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Reno {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        independent_windows(paths, cwnd, |signal| pull(signal, 0.5));
    }
}

/// Slow start, then one packet per round (RFC 5681, section 3.1, equation (3), per packet).
pub(crate) fn grow(w: &mut Window, ack: Ack) {
    grow_by(w, ack, 1.0);
}

/// [`grow`] with another number of packets per round than one.
pub(crate) fn grow_by(w: &mut Window, ack: Ack, weight: f64) {
    if ack.may_grow {
        let left = congestion_avoidance(w, ack);
        w.cwnd += left * weight / w.cwnd;
    }
}

/// Runs slow start. Returns the packets left for congestion avoidance, at most one window: an
/// acknowledgement of more (at the end of a recovery) counts as one round.
pub(crate) fn congestion_avoidance(w: &mut Window, ack: Ack) -> f64 {
    f64::from(slow_start(w, ack.acked)).min(w.cwnd)
}

/// Equation (4) and section 3.2, step 2, without the inflation.
pub(crate) fn halve(w: &mut Window) {
    halve_to(w, MIN_SSTHRESH);
}

/// [`halve`] with another floor than that of RFC 5681, section 3.1, equation (4).
pub(crate) fn halve_to(w: &mut Window, floor: f64) {
    w.ssthresh = (w.cwnd / 2.0).max(floor);
    w.cwnd = w.ssthresh;
}

/// The loss window of section 3.1, one packet. Equation (4) only if the timer of the segment
/// expires for the first time.
pub(crate) fn collapse(w: &mut Window, first: bool) {
    collapse_to(w, first, MIN_SSTHRESH);
}

/// [`collapse`] with another floor than that of RFC 5681, section 3.1, equation (4).
pub(crate) fn collapse_to(w: &mut Window, first: bool, floor: f64) {
    if first {
        w.ssthresh = (w.cwnd / 2.0).max(floor);
    }
    w.cwnd = 1.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, in_avoidance};

    #[test]
    fn slow_start_adds_what_is_acknowledged_up_to_ssthresh() {
        let mut w = vec![Window::new(4.0, 7.0)];
        Reno::default().on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 6.0);
        // One of the two packets reaches ssthresh 7, the other is left to congestion avoidance: 7 +
        // 1/7.
        Reno::default().on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 7.0 + 1.0 / 7.0);
    }

    #[test]
    fn congestion_avoidance_adds_a_packet_a_round() {
        let mut w = in_avoidance(&[10.0]);
        // A delayed acknowledgement of 2: 10 + 2/10.
        Reno::default().on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 10.2);
        // An acknowledgement of more than the window adds only one packet.
        Reno::default().on_ack(&mut w, 0, ack(50));
        assert_eq!(w[0].cwnd, 11.2);
    }

    #[test]
    fn losses_halve_and_timeouts_collapse_no_lower_than_two_and_one() {
        let mut w = in_avoidance(&[11.0, 3.0]);
        Reno::default().on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (5.5, 5.5));
        Reno::default().on_timeout(&mut w, 0, true);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 2.75));
        // A timeout of the same segment holds ssthresh constant.
        Reno::default().on_timeout(&mut w, 0, false);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 2.75));
        Reno::default().on_fast_retransmit(&mut w, 1);
        assert_eq!((w[1].cwnd, w[1].ssthresh), (2.0, 2.0));
    }

    #[test]
    fn the_floor_is_that_of_equation_4_or_another() {
        let mut low = Reno::new(Parameters { cwnd_min: 1.0 });
        let mut w = in_avoidance(&[3.0, 1.5]);
        low.on_fast_retransmit(&mut w, 0);
        low.on_timeout(&mut w, 1, true);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.5, 1.5));
        assert_eq!((w[1].cwnd, w[1].ssthresh), (1.0, 1.0));
        let mut high = Reno::new(Parameters { cwnd_min: 4.0 });
        let mut w = in_avoidance(&[5.0]);
        high.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (4.0, 4.0));
    }

    #[test]
    fn a_timeout_is_followed_by_slow_start_to_half_the_window() {
        let mut w = in_avoidance(&[8.0]);
        Reno::default().on_timeout(&mut w, 0, true);
        for expected in [2.0, 3.0, 4.0, 4.25] {
            Reno::default().on_ack(&mut w, 0, ack(1));
            assert_eq!(w[0].cwnd, expected);
        }
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("reno", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            step.adds_for_each_packet(1.0 / step.own().0.cwnd);
            step.halves_at_a_loss(step.parameter("cwnd_min").unwrap());
        });
    }
}
