//! AMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
//! October 2020), section 4.2, Algorithm 1. Comments below cite its line numbers.
//!
//! A packet acknowledged on an active subflow adds the first change, where `w_total` sums active
//! subflows; the first mark of a round makes the second:
//!
//! ```math
//! w_s \leftarrow w_s + \frac{1}{w_{\mathrm{total}}}
//! w_s \leftarrow w_s - \frac{w_s}{\beta}
//! ```
//!
//! Where the paper is silent, the authors' simulator decides:
//!
//! - Suppression and release are decided at the end of a round of the initial subflow.
//! - A round counts towards suppression if every subflow is established, has `floor(cwnd)` equal to
//!   `cwnd_min`, and is not in recovery.
//! - A round counts towards release if it had no mark, `floor(cwnd)` is above `cwnd_min`, and the
//!   initial subflow is not in recovery.
//! - `w_total` is the sum over active subflows only.
//! - Slow start ends at the first mark, with the cut of line 29.
//! - A timeout is Reno's.
//!
//! Where both are silent:
//!
//! - A suppressed subflow keeps its window while its data in flight is acknowledged; marks and
//!   losses still lower it.
//! - A subflow that joins suppressed ones is suppressed too.
//! - A closed subflow neither counts nor blocks. If the initial one closes, the others are released
//!   and the first established one becomes initial.
//! - A subflow that times out twice without a round between counts as failed until it ends a round:
//!   it neither counts nor blocks. If it is the initial one, the others are released.
//! - Release restarts both counts.
//!
//! The parameter `dctcp_cut` is an extension of the paper, off by default. A subflow that sends
//! alone (all others are suppressed, or there are none) is then cut by DCTCP's alpha / 2 instead of
//! 1 / beta. A single subflow grows as a DCTCP flow, so it needs the same cuts to get the same
//! share of a bottleneck. Alpha starts at 1 and has DCTCP's default weight of the newest round. It
//! is updated in every round, so that it is right when the subflow begins to send alone.

use crate::dctcp::{cut, estimate};
use crate::parameters::parameters;
use crate::reno::{collapse, congestion_avoidance};
use crate::response::pull;
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window, dctcp};

parameters! {
    /// rounds with all windows at the floor until subflows are suppressed
    gamma: u32 = 2.0, ParameterRange::Integer(1, 1_000_000);
    /// rounds without a mark until suppressed subflows are released
    tau: u32 = 8.0, ParameterRange::Integer(1, 1_000_000);
    /// a mark cuts the window by 1 / beta
    beta: f64 = 4.0, ParameterRange::Float(2.0, 1000.0);
    /// floor of a cut by a mark or a fast retransmit, in packets
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
    /// 0 switches subflow suppression and release off
    ssr: bool = 1.0, ParameterRange::Bool;
    /// 1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper
    dctcp_cut: bool = 0.0, ParameterRange::Bool;
}

/// State: 1 once the subflow has closed, else 0.
const CLOSED: usize = 0;
/// State: timeouts since the last end of a round of this subflow.
const TIMEOUTS: usize = 1;
/// State: with `dctcp_cut`, the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 2;

/// AMP.
#[derive(Clone, Debug)]
pub struct Amp {
    params: Parameters,
    /// Sum of the windows of established, active subflows.
    w_total: f64,
    /// The subflow that is never suppressed.
    initial: usize,
    suppressed: bool,
    /// Consecutive rounds of the initial subflow that count towards suppression or, while
    /// suppressed, towards release.
    n_round: u32,
}

impl Amp {
    /// One-line description for the registry.
    pub const ABOUT: &str = "AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            w_total: 0.0,
            initial: 0,
            suppressed: false,
            n_round: 0,
        }
    }

    /// Algorithm 1, lines 2 to 13.
    fn suppress_subflows(&mut self, w: &mut [Window]) {
        let (mut n, mut n_sf) = (0, 0);
        for r in w.iter().filter(|r| is_alive(r)) {
            n += 1;
            n_sf += u32::from(r.cwnd.floor() == self.params.cwnd_min && r.established && !r.in_recovery);
        }
        self.n_round = if n_sf == n && n > 1 { self.n_round + 1 } else { 0 };
        if self.n_round >= self.params.gamma {
            self.set_active(w, false);
        }
    }

    /// Algorithm 1, lines 14 to 21.
    fn release_subflows(&mut self, w: &mut [Window], round: Round) {
        let r = &w[self.initial];
        let clear = round.marked == 0 && r.cwnd.floor() > self.params.cwnd_min && !r.in_recovery;
        self.n_round = if clear { self.n_round + 1 } else { 0 };
        if self.n_round >= self.params.tau {
            self.set_active(w, true);
        }
    }

    /// Sets `active` of all subflows; the initial one is always active.
    fn set_active(&mut self, w: &mut [Window], active: bool) {
        for (s, r) in w.iter_mut().enumerate() {
            r.active = active || s == self.initial;
        }
        self.suppressed = !active;
        self.n_round = 0;
    }

    fn update_total(&mut self, w: &[Window]) {
        self.w_total = w
            .iter()
            .filter(|r| r.established && r.active)
            .map(|r| r.cwnd)
            .sum();
    }
}

/// Returns true if `s` is the only subflow that may send new data.
fn is_only_alive(w: &[Window], s: usize) -> bool {
    w[s].active && w.iter().filter(|r| r.established && r.active).count() == 1
}

/// Returns true if the subflow has neither closed nor timed out twice.
fn is_alive(r: &Window) -> bool {
    r.state[CLOSED] == 0.0 && r.state[TIMEOUTS] < 2.0
}

impl CongestionControl for Amp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state = [0.0; 4];
        w[s].state[ALPHA] = dctcp::Parameters::default().alpha0;
        if !w[self.initial].established {
            self.initial = s;
        }
        w[s].active = !self.suppressed || s == self.initial;
        self.update_total(w);
    }

    /// Algorithm 1, lines 23 to 25.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let w = &mut w[s];
        if w.active && ack.may_grow {
            let before = w.cwnd;
            let left = congestion_avoidance(w, ack);
            self.w_total += w.cwnd - before;
            let growth = left / self.w_total.max(w.cwnd);
            self.w_total += growth;
            w.cwnd += growth;
        }
    }

    /// Algorithm 1, lines 27 to 29. With `dctcp_cut` and one active subflow: equation (2) of DCTCP.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let part = if self.params.dctcp_cut && is_only_alive(w, s) {
            w[s].state[ALPHA] / 2.0
        } else {
            1.0 / self.params.beta
        };
        cut(&mut w[s], part, self.params.cwnd_min);
        self.update_total(w);
    }

    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        w[s].state[TIMEOUTS] = 0.0;
        if self.params.dctcp_cut {
            estimate(&mut w[s].state[ALPHA], dctcp::Parameters::default().g, round);
        }
        if s == self.initial {
            match (self.params.ssr, self.suppressed) {
                (true, false) => self.suppress_subflows(w),
                (true, true) => self.release_subflows(w, round),
                (false, _) => {}
            }
            self.update_total(w);
        }
    }

    /// Algorithm 1, lines 31 and 32.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        w[s].cwnd = (w[s].cwnd / 2.0).max(self.params.cwnd_min);
        w[s].ssthresh = w[s].cwnd;
        self.update_total(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
        w[s].state[TIMEOUTS] += 1.0;
        if s == self.initial && !is_alive(&w[s]) {
            self.set_active(w, true);
        }
        self.update_total(w);
    }

    /// Suppression and release are not undone: other subflows have acted on them in the meantime.
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        w[s].state[TIMEOUTS] = 0.0;
        self.update_total(w);
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        w[s].state[CLOSED] = 1.0;
        if s == self.initial {
            self.initial = w.iter().position(|r| r.established).unwrap_or(s);
            self.set_active(w, true);
        }
        self.update_total(w);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// Line 25 adds 1 / `w_total` per packet, so that `w_r = 1 / (pull_r w_total)` and, summed,
/// `w_total^2 = sum_r 1 / pull_r`. If all windows are at the minimum, all subflows but the initial
/// one are suppressed, and their windows are 0.
impl Response for Amp {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        let Parameters {
            beta, cwnd_min, ssr, ..
        } = self.params;
        let pull = |path: &Path| pull(path.signal, 1.0 / beta);
        let total = paths.iter().map(|path| 1.0 / pull(path)).sum::<f64>().sqrt();
        for (path, w) in paths.iter().zip(&mut *cwnd) {
            *w = (1.0 / (pull(path) * total)).max(cwnd_min);
        }
        let at_floor = |w: &f64| w.floor() == cwnd_min;
        if let [initial, others @ ..] = cwnd
            && ssr
            && !others.is_empty()
            && at_floor(initial)
            && others.iter().all(at_floor)
        {
            *initial = pull(&paths[0]).sqrt().recip().max(cwnd_min);
            others.fill(0.0);
        }
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests;
