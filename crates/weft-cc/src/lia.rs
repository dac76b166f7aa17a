//! LIA, the coupled congestion control of MPTCP: RFC 6356, section 3, equations (1) and (2).
//!
//! For each packet acknowledged on subflow s the window grows by `min(alpha / cwnd_total, 1 / cwnd_s)`, where
//!
//! ```text
//! alpha = cwnd_total * max_r(cwnd_r / rtt_r^2) / (sum_r cwnd_r / rtt_r)^2
//! ```
//!
//! so `alpha / cwnd_total`, which is what is kept here, needs no total.
//!
//! Where the RFC leaves a choice: section 4.1 lets a sender compute alpha once per round trip instead of at every
//! acknowledgement; here, by default, it is computed whenever a round of any subflow ends and after every event that
//! lowers a window, `per_ack = 1` computes it always. A subflow counts once it is established and has an RTT; before any has, growth
//! is Reno's. Decrease is Reno's (section 3). `beta` adds what AMP's paper calls "MPTCP (beta = 4)", section 4.1 (3): ECN with a
//! constant cut 1 / beta at the first mark of a window, no lower than `cwnd_min`.

use crate::reno::{avoidance, collapse, halve};
use crate::{Ack, Allowed, CongestionControl, Echo, Parameter, Round, Window};

/// RFC 6356.
#[derive(Clone, Debug)]
pub struct Lia {
    beta: f64,
    cwnd_min: f64,
    per_ack: bool,
    /// `alpha / cwnd_total` as last computed, in packets for each packet acknowledged.
    increase: f64,
}

impl Lia {
    /// One line about it.
    pub const ABOUT: &str = "LIA, MPTCP's linked increases; ECN with a constant cut by `beta` (RFC 6356)";
    /// What can be set, in the order [`new`](Self::new) takes it.
    pub const PARAMETERS: [Parameter; 3] = [
        Parameter {
            name: "beta",
            default: 0.0,
            allowed: Allowed::ZeroOrNumber(2.0, 1000.0),
            about: "0: no ECN; otherwise ECN with a cut of 1 / beta at a mark (AMP, section 4.1)",
        },
        Parameter {
            name: "cwnd_min",
            default: 2.0,
            allowed: Allowed::Whole(1, 1000),
            about: "floor of a cut by a mark, in packets",
        },
        Parameter {
            name: "per_ack",
            default: 0.0,
            allowed: Allowed::Switch,
            about: "compute alpha at every acknowledgement instead of once a round",
        },
    ];

    /// A fresh connection's state.
    pub fn new([beta, cwnd_min, per_ack]: [f64; 3]) -> Self {
        Self {
            beta,
            cwnd_min,
            per_ack: per_ack == 1.0,
            increase: f64::INFINITY,
        }
    }

    /// Equation (2), divided by `cwnd_total`.
    pub(crate) fn couple(&mut self, w: &[Window]) {
        let (mut best, mut total) = (0.0_f64, 0.0);
        for r in w.iter().filter(|r| r.established && r.srtt > 0.0) {
            let rate = r.cwnd / r.srtt;
            best = best.max(rate / r.srtt);
            total += rate;
        }
        self.increase = if total > 0.0 {
            best / (total * total)
        } else {
            f64::INFINITY
        };
    }
}

impl CongestionControl for Lia {
    fn echo(&self) -> Echo {
        if self.beta == 0.0 { Echo::Off } else { Echo::Dctcp }
    }

    fn on_open(&mut self, w: &mut [Window], _: usize) {
        self.couple(w);
    }

    /// Equation (1).
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if self.per_ack {
            self.couple(w);
        }
        let left = avoidance(&mut w[s], ack);
        w[s].cwnd += left * self.increase.min(1.0 / w[s].cwnd);
    }

    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        if self.beta == 0.0 {
            halve(&mut w[s]);
        } else {
            w[s].cwnd = (w[s].cwnd * (1.0 - 1.0 / self.beta)).max(self.cwnd_min);
            w[s].ssthresh = w[s].cwnd;
        }
        self.couple(w);
    }

    fn on_round(&mut self, w: &mut [Window], _: usize, _: Round) {
        self.couple(w);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
        self.couple(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
        self.couple(w);
    }

    fn on_close(&mut self, w: &mut [Window], _: usize) {
        self.couple(w);
    }
}
