//! XMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (version of October 2020), section 2.2, equation (3); after Cao et al.,
//! "Explicit Multipath Congestion Control for Data Center Networks", 2013 ("XMP's paper" below), whose Algorithm 1 it is.
//!
//! With the rate `x_s = w_s / rtt_s` that a subflow reached in its last round, equation (3) reads
//!
//! ```text
//! delta_s = rtt_s / rtt_min * x_s / (sum_r x_r)
//! ```
//!
//! Where section 2.2 is silent, Algorithm 1 of XMP's paper and the authors' simulator decide: the window moves in whole packets, the fraction
//! of delta is saved for later rounds, a cut takes at least one packet; a round in which a cut was made does not grow; the first mark in
//! slow start only ends slow start (ssthresh = cwnd, no cut); `rtt_min` is the smallest smoothed RTT among subflows. A loss
//! halves and rounds down. A subflow counts once it is established and has ended a round with an RTT.

use crate::reno::{collapse, halve};
use crate::{Ack, Allowed, CongestionControl, Echo, Parameter, Round, Window, slow_start};

/// Rate in the last round, packets per second; 0 before the first.
const RATE: usize = 0;
/// What of delta has not become a whole packet yet, below 1.
const ADDER: usize = 1;
/// 1 if a mark came since the last round ended, else 0.
const REDUCED: usize = 2;

/// XMP.
#[derive(Clone, Debug)]
pub struct Xmp {
    beta: f64,
    cwnd_min: f64,
}

impl Xmp {
    /// One line about it.
    pub const ABOUT: &str =
        "XMP: constant cuts at marks, rate-balanced increase (Cao et al. 2013; AMP's paper, section 2.2)";
    /// What can be set, in the order [`new`](Self::new) takes it.
    pub const PARAMETERS: [Parameter; 2] = [
        Parameter {
            name: "beta",
            default: 4.0,
            allowed: Allowed::Number(2.0, 1000.0),
            about: "a mark cuts the window by 1 / beta",
        },
        Parameter {
            name: "cwnd_min",
            default: 2.0,
            allowed: Allowed::Whole(1, 1000),
            about: "floor of a cut by a mark, in packets",
        },
    ];

    /// A fresh connection's state.
    pub fn new([beta, cwnd_min]: [f64; 2]) -> Self {
        Self { beta, cwnd_min }
    }

    /// Equation (3) in packets per round of `s`; `w[s]` has a rate.
    fn delta(w: &[Window], s: usize) -> f64 {
        let (mut total, mut rtt_min) = (0.0, f64::INFINITY);
        for r in w.iter().filter(|r| r.established && r.slot[RATE] > 0.0) {
            total += r.slot[RATE];
            rtt_min = r.srtt.min(rtt_min);
        }
        w[s].srtt / rtt_min * (w[s].slot[RATE] / total)
    }
}

impl CongestionControl for Xmp {
    fn echo(&self) -> Echo {
        Echo::Count
    }

    /// Slow start only: congestion avoidance grows once a round.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        slow_start(&mut w[s], ack.acked);
    }

    /// First marked ACK in a window: `w_s <- w_s (1 - 1 / beta)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let w = &mut w[s];
        if w.cwnd >= w.ssthresh {
            let cut = (w.cwnd / self.beta).floor().max(1.0);
            w.cwnd = (w.cwnd - cut).max(self.cwnd_min);
        }
        w.ssthresh = w.ssthresh.min(w.cwnd);
        w.slot[REDUCED] = 1.0;
    }

    /// Every window of data: `w_s <- w_s + delta_s`.
    fn on_round(&mut self, w: &mut [Window], s: usize, _: Round) {
        if w[s].srtt == 0.0 {
            return;
        }
        w[s].slot[RATE] = w[s].cwnd / w[s].srtt;
        let reduced = std::mem::take(&mut w[s].slot[REDUCED]) == 1.0;
        if reduced || w[s].in_recovery || w[s].cwnd < w[s].ssthresh {
            return;
        }
        let saved = w[s].slot[ADDER] + Self::delta(w, s);
        w[s].slot[ADDER] = saved.fract();
        w[s].cwnd += saved.floor();
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
        w[s].cwnd = w[s].cwnd.floor();
        w[s].ssthresh = w[s].cwnd;
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
        w[s].ssthresh = w[s].ssthresh.floor();
    }
}
