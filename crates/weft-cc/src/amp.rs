//! AMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (version of October 2020), section 4.2, Algorithm 1, whose line numbers stand
//! below.
//!
//! Where the paper is silent, the authors' simulator decides: suppression and release are looked at when a round of the initial subflow
//! ends; a round counts towards suppression if every subflow is established, has `floor(cwnd) = cwnd_min` and is in no recovery; a
//! round counts towards release if it brought no mark, `floor(cwnd) > cwnd_min` and the initial subflow is in no recovery; `w_total`
//! counts active subflows only; slow start ends at the first mark, with the cut of line 29. A timeout is Reno's.
//!
//! Where both are silent: a suppressed subflow keeps its window while what it has in flight is acknowledged, but marks
//! and losses still lower it. A subflow that is established while others are suppressed is suppressed too. A closed subflow neither
//! counts nor blocks; when the initial one closes, all others are released and the first established one takes its place. When the
//! initial subflow times out twice with no round between, its path is taken for dead and the others are released.

use crate::reno::{avoidance, collapse};
use crate::{Ack, Allowed, CongestionControl, Echo, Parameter, Round, Window};

/// 1 once the subflow has closed, else 0.
const CLOSED: usize = 0;

/// Timeouts of the initial subflow with no round between after which the others are released.
const DEAD_AFTER: u32 = 2;

/// AMP.
#[derive(Clone, Debug)]
pub struct Amp {
    gamma: u32,
    tau: u32,
    beta: f64,
    cwnd_min: f64,
    ssr: bool,
    /// Sum of the windows of established, active subflows.
    w_total: f64,
    /// The subflow that is never suppressed: the initial one, or the first established one once that has closed.
    initial: usize,
    suppressed: bool,
    /// Consecutive rounds of the initial subflow that speak for suppression or, when suppressed, for release.
    n_round: u32,
    /// Timeouts of the initial subflow since its last round.
    timeouts: u32,
}

impl Amp {
    /// One line about it.
    pub const ABOUT: &str =
        "AMP: adaptive multipath with subflow suppression and release (Kheirkhah and Lee)";
    /// What can be set, in the order [`new`](Self::new) takes it.
    pub const PARAMETERS: [Parameter; 5] = [
        Parameter {
            name: "gamma",
            default: 2.0,
            allowed: Allowed::Whole(1, 1_000_000),
            about: "rounds with all windows at the floor until subflows are suppressed",
        },
        Parameter {
            name: "tau",
            default: 8.0,
            allowed: Allowed::Whole(1, 1_000_000),
            about: "rounds without a mark until they are released",
        },
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
            about: "floor of a cut by a mark or a fast retransmit, in packets",
        },
        Parameter {
            name: "ssr",
            default: 1.0,
            allowed: Allowed::Switch,
            about: "0 switches subflow suppression and release off",
        },
    ];

    /// A fresh connection's state.
    pub fn new([gamma, tau, beta, cwnd_min, ssr]: [f64; 5]) -> Self {
        Self {
            gamma: gamma as u32,
            tau: tau as u32,
            beta,
            cwnd_min,
            ssr: ssr == 1.0,
            w_total: 0.0,
            initial: 0,
            suppressed: false,
            n_round: 0,
            timeouts: 0,
        }
    }

    /// Lines 2 to 13.
    fn suppress_subflows(&mut self, w: &mut [Window]) {
        let (mut n, mut n_sf) = (0, 0);
        for r in w.iter().filter(|r| r.slot[CLOSED] == 0.0) {
            n += 1;
            n_sf += u32::from(r.established && !r.in_recovery && r.cwnd.floor() == self.cwnd_min);
        }
        self.n_round = if n_sf == n && n > 1 { self.n_round + 1 } else { 0 };
        if self.n_round >= self.gamma {
            self.set_active(w, false);
        }
    }

    /// Lines 14 to 21.
    fn release_subflows(&mut self, w: &mut [Window], round: Round) {
        let first = &w[self.initial];
        let clear = round.marked == 0 && !first.in_recovery && first.cwnd.floor() > self.cwnd_min;
        self.n_round = if clear { self.n_round + 1 } else { 0 };
        if self.n_round >= self.tau {
            self.set_active(w, true);
        }
    }

    /// Sets `active` of every subflow but the initial one, which always is.
    fn set_active(&mut self, w: &mut [Window], active: bool) {
        for (s, r) in w.iter_mut().enumerate() {
            r.active = active || s == self.initial;
        }
        self.suppressed = !active;
        self.n_round = 0;
    }

    fn sum(&mut self, w: &[Window]) {
        self.w_total = w
            .iter()
            .filter(|r| r.established && r.active)
            .map(|r| r.cwnd)
            .sum();
    }
}

impl CongestionControl for Amp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].slot[CLOSED] = 0.0;
        w[s].active = !self.suppressed || s == self.initial;
        self.sum(w);
    }

    /// Lines 23 to 25.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let w = &mut w[s];
        if !w.active {
            return;
        }
        let before = w.cwnd;
        let left = avoidance(w, ack);
        self.w_total += w.cwnd - before;
        let grown = left / self.w_total.max(w.cwnd);
        w.cwnd += grown;
        self.w_total += grown;
    }

    /// Lines 27 to 29.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        w[s].cwnd = (w[s].cwnd * (1.0 - 1.0 / self.beta)).max(self.cwnd_min);
        w[s].ssthresh = w[s].cwnd;
        self.sum(w);
    }

    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        if self.ssr && s == self.initial {
            self.timeouts = 0;
            if self.suppressed {
                self.release_subflows(w, round);
            } else {
                self.suppress_subflows(w);
            }
        }
        self.sum(w);
    }

    /// Lines 31 and 32.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        w[s].cwnd = (w[s].cwnd / 2.0).max(self.cwnd_min);
        w[s].ssthresh = w[s].cwnd;
        self.sum(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
        if s == self.initial {
            self.timeouts += 1;
            if self.suppressed && self.timeouts >= DEAD_AFTER {
                self.set_active(w, true);
            }
        }
        self.sum(w);
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        w[s].slot[CLOSED] = 1.0;
        if s == self.initial {
            self.initial = w.iter().position(|r| r.established).unwrap_or(0);
            self.timeouts = 0;
            self.set_active(w, true);
        }
        self.sum(w);
    }
}
