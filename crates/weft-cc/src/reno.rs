//! Reno: RFC 5681, sections 3.1 (slow start, congestion avoidance, timeout) and 3.2 (fast retransmit).
//!
//! Each subflow is on its own: with n subflows on one bottleneck the connection takes what n flows take.
//!
//! Where the RFC leaves a choice: congestion avoidance is its equation (3), `cwnd += 1 / cwnd` for each packet acknowledged, so a
//! delayed acknowledgement counts its packets and one acknowledgement never adds more than one packet. `FlightSize` of equation
//! (4) is the window, which a sender with enough data fills. Inflating the window during recovery (section 3.2, steps 3 to 5)
//! is the transport's.

use crate::{Ack, CongestionControl, Echo, Parameter, Window, slow_start};

/// RFC 5681 on each subflow.
#[derive(Clone, Debug)]
pub struct Reno;

impl Reno {
    /// One line about it.
    pub const ABOUT: &str = "Reno on each subflow, uncoupled, no ECN (RFC 5681)";
    /// What can be set: nothing.
    pub const PARAMETERS: [Parameter; 0] = [];

    /// A fresh connection's state.
    pub fn new([]: [f64; 0]) -> Self {
        Self
    }
}

impl CongestionControl for Reno {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        grow(&mut w[s], ack);
    }

    /// Not asked for; RFC 3168, section 6.1.2, would have it treated as a loss.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
    }
}

/// Slow start, then equation (3): one packet a round.
pub(crate) fn grow(w: &mut Window, ack: Ack) {
    let left = avoidance(w, ack);
    w.cwnd += left / w.cwnd;
}

/// Slow start; returns the packets left for congestion avoidance, at most a window of them, so that an acknowledgement that
/// covers more (the end of a recovery) counts as one round.
pub(crate) fn avoidance(w: &mut Window, ack: Ack) -> f64 {
    f64::from(slow_start(w, ack.acked)).min(w.cwnd)
}

/// Equation (4) and section 3.2, step 2, less the inflation.
pub(crate) fn halve(w: &mut Window) {
    w.ssthresh = (w.cwnd / 2.0).max(2.0);
    w.cwnd = w.ssthresh;
}

/// Equation (4) and the loss window of section 3.1: one packet.
pub(crate) fn collapse(w: &mut Window) {
    w.ssthresh = (w.cwnd / 2.0).max(2.0);
    w.cwnd = 1.0;
}
