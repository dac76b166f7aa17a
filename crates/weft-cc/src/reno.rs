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
//! By default, windows are whole packets as in Linux (`tcp_reno_cong_avoid`, `tcp_reno_ssthresh`;
//! compared with acknowledgements and losses that 6.18 recorded). A window grows by one packet once
//! as many packets have been acknowledged as it has, and a loss leaves half of it, rounded down.
//!
//! With `rfc_growth`, congestion avoidance is equation (3), `cwnd += 1 / cwnd` for each packet
//! acknowledged. A delayed acknowledgement therefore counts all its packets, but an acknowledgement
//! never adds more than one packet. Half a window may have a fraction.
//!
//! `FlightSize` of equation (4) is the window, which a sender with enough data fills. Instead of
//! inflating the window during recovery (section 3.2, steps 3 to 5), the transport subtracts from
//! what is outstanding the packets that duplicates report.

use crate::parameters::parameters;
use crate::response::{independent_windows, pull};
use crate::whole_packets::count_acked;
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Window, slow_start};

parameters! {
    /// floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
    /// 1: grows by 1 / cwnd per packet (RFC 5681); 0: by whole packets, as Linux does
    rfc_growth: bool = 0.0, ParameterRange::Bool;
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

    /// Equation (4) and section 3.2, step 2, without the inflation.
    fn reduce(&self, w: &mut Window) {
        if self.params.rfc_growth {
            halve_to(w, self.params.cwnd_min);
        } else {
            // `tcp_reno_ssthresh`, `tcp_init_cwnd_reduction`.
            w.ssthresh = (w.cwnd / 2.0).floor().max(self.params.cwnd_min);
            w.cwnd = w.ssthresh;
            w.state[COUNT] = 0.0;
        }
    }
}

/// Index in the state of a window: packets acknowledged since it last grew (`snd_cwnd_cnt`).
const COUNT: usize = 0;

/// Grows a window by whole packets (`tcp_reno_cong_avoid`).
fn grow_whole(w: &mut Window, acked: u32) {
    let left = slow_start(w, acked);
    if left > 0 {
        let mut count = w.state[COUNT] as u32;
        w.cwnd += f64::from(count_acked(&mut count, w.cwnd as u32, left));
        w.state[COUNT] = count.into();
    }
}

impl CongestionControl for Reno {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn restarts_after_idle(&self) -> bool {
        true
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if self.params.rfc_growth {
            grow(&mut w[s], ack);
        } else if ack.may_grow {
            grow_whole(&mut w[s], ack.acked);
        }
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.reduce(&mut w[s]);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.reduce(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        if first {
            self.reduce(&mut w[s]);
        }
        (w[s].cwnd, w[s].state[COUNT]) = (1.0, 0.0);
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
mod tests;
