//! CUBIC: RFC 9438, section 4, with the `HyStart` of Linux (`tcp_cubic.c`; Ha and Rhee, "Taming the
//! elephants: new TCP slow start", 2011).
//!
//! Subflows are not coupled. Equation numbers are those of the RFC. At the time t after the last
//! congestion event, which had left `beta` of the window, the window aims at
//!
//! ```math
//! W(t) = C (t - K)^3 + W_{\max}
//! K = \sqrt[3]{\frac{W_{\max} (1 - \beta)}{C}}
//! ```
//!
//! The default is Linux's: see the module `linux`. Where the RFC leaves a choice, `rfc_growth` has:
//!
//! - The RTT of equation (2)'s target is the smoothed one.
//! - `t` is the time since the first acknowledgement of congestion avoidance at which the window
//!   could grow. Of a silence longer than an RTT, only one RTT counts (section 5.8: no
//!   application-limited periods).
//! - In the Reno-friendly region the window is raised to `W_est` and never lowered to it, as in
//!   Linux.
//! - A mark, with `ecn`, is a congestion event like a loss (section 4.6).
//!
//! `HyStart` is that of Linux, not `HyStart`++ (RFC 9406). From a window of 16 packets on, slow
//! start ends at the first of two signals:
//!
//! - The ACK train, whose acknowledgements are at most 2 ms apart, lasts longer than half of a
//!   threshold, or longer than the threshold if the transport paces. The threshold is the smallest
//!   RTT plus the time for which segmentation offload may hold back packets: four bursts of 64 KB
//!   at the pacing rate, at most 1 ms.
//! - The smallest of more than 8 RTT samples of a round exceeds the smallest RTT of the connection
//!   by more than a threshold. The threshold is an eighth of that RTT, but at least 4 ms and at
//!   most 16 ms.

use crate::parameters::parameters;
use crate::reno::{MIN_SSTHRESH, congestion_avoidance};
use crate::response::pull;
use crate::{
    Ack, CongestionControl, Echo, Elapsed, ParameterRange, Path, Response, Round, Window, slow_start,
};

mod friendly;
mod linux;

use linux::{Bictcp, Law};

parameters! {
    /// C of equation (1), in packets per cubic second
    c: f64 = 0.4, ParameterRange::Float(0.001, 1000.0);
    /// a congestion event leaves this part of the window
    beta: f64 = 0.7, ParameterRange::Float(0.1, 0.95);
    /// 0 switches fast convergence off
    fast_convergence: bool = 1.0, ParameterRange::Bool;
    /// 1: grows at every acknowledgement by RFC 9438, sections 4.2 to 4.5; 0: as Linux does
    rfc_growth: bool = 0.0, ParameterRange::Bool;
    /// 0 switches HyStart off
    hystart: bool = 1.0, ParameterRange::Bool;
    /// 1 asks for ECN (RFC 3168), and a mark counts as a loss does
    ecn: bool = 0.0, ParameterRange::Bool;
}

/// CUBIC (RFC 9438) on each subflow.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Parameters,
    law: Law,
    subflows: Vec<State>,
}

impl Parameters {
    /// Alpha of section 4.3, with which the mean window of the Reno-friendly region is Reno's.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// The state of a subflow.
#[derive(Clone, Debug, Default)]
struct State {
    /// State of Linux's law, which is used without `rfc_growth`.
    bictcp: Bictcp,
    /// State of the RFC's law, which is used with `rfc_growth`.
    epoch: Epoch,
    /// The epoch before the last reduction, in case it proves spurious (section 4.9).
    prior_epoch: Epoch,
    /// Time of the last acknowledgement.
    last_ack: Elapsed,
    hystart: HyStart,
}

/// The variables of section 4.1.2 since the last congestion event.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// `W_max`; 0 if no congestion event defines it.
    w_max: f64,
    /// The window before the last congestion event (`cwnd_prior` of section 4.1.2).
    cwnd_prior: f64,
    /// True in congestion avoidance, where the fields below are defined.
    avoiding: bool,
    /// `t`, in seconds.
    t: f64,
    k: f64,
    w_est: f64,
}

/// The state of `HyStart` in a round.
#[derive(Clone, Debug)]
struct HyStart {
    /// True if the next acknowledgement is the first of a round.
    starts_round: bool,
    round_start: Elapsed,
    last_ack: Elapsed,
    /// The smallest RTT sample of the round.
    round_min_rtt: f64,
    samples: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            starts_round: true,
            round_start: Elapsed(0),
            last_ack: Elapsed(0),
            round_min_rtt: f64::INFINITY,
            samples: 0,
        }
    }
}

impl Cubic {
    /// One-line description for the registry.
    pub const ABOUT: &str = "CUBIC with HyStart on each subflow, Linux's default (RFC 9438)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            law: Law::new(params.c, params.beta),
            params,
            subflows: Vec::new(),
        }
    }

    /// Sections 4.6 and 4.7, without the change of the window.
    fn reduce(&mut self, w: &mut Window, s: usize) {
        let state = &mut self.subflows[s];
        w.ssthresh = if self.params.rfc_growth {
            state.prior_epoch = state.epoch;
            state.epoch.reduce(w.cwnd, &self.params)
        } else {
            state
                .bictcp
                .reduce(w.cwnd, self.params.fast_convergence, &self.law)
        };
    }
}

impl Epoch {
    /// Sections 4.6 and 4.7. Returns the slow-start threshold.
    fn reduce(&mut self, cwnd: f64, params: &Parameters) -> f64 {
        self.cwnd_prior = cwnd;
        let gives_way = params.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way {
            cwnd * (1.0 + params.beta) / 2.0
        } else {
            cwnd
        };
        self.avoiding = false;
        (cwnd * params.beta).max(MIN_SSTHRESH)
    }

    /// Sections 4.2 to 4.5, for `acked` packets.
    fn grow(&mut self, w: &mut Window, acked: f64, params: &Parameters) {
        if !self.avoiding {
            self.start_epoch(w, params.c);
        }
        // Equation (4), with alpha of section 4.3.
        let alpha = if self.w_est < self.cwnd_prior {
            params.alpha()
        } else {
            1.0
        };
        self.w_est += alpha * acked / w.cwnd;
        // Equation (1).
        let w_cubic = |t: f64| params.c * (t - self.k).powi(3) + self.w_max;
        if w_cubic(self.t) < self.w_est {
            w.cwnd = self.w_est.clamp(w.cwnd, w.cwnd + acked);
        } else {
            let target = w_cubic(self.t + w.srtt).clamp(w.cwnd, 1.5 * w.cwnd);
            w.cwnd += acked * (target - w.cwnd) / w.cwnd;
        }
    }

    /// Begins congestion avoidance: equation (2), or sections 4.8 and 4.10 if no `W_max` is above
    /// the window.
    fn start_epoch(&mut self, w: &Window, c: f64) {
        self.avoiding = true;
        self.t = 0.0;
        self.w_est = w.cwnd;
        if w.cwnd < self.w_max {
            self.k = ((self.w_max - w.cwnd) / c).cbrt();
        } else {
            self.k = 0.0;
            self.w_max = w.cwnd;
            self.cwnd_prior = self.cwnd_prior.max(w.cwnd);
        }
    }
}

impl HyStart {
    const LOW_WINDOW: f64 = 16.0;
    const ACK_DELTA: f64 = 2e-3;
    const MIN_SAMPLES: u32 = 8;
    /// Four bursts of 64 KB in full segments.
    const MAX_OFFLOADED: f64 = 181.0;

    /// Returns true if slow start must end. Called for every RTT sample in slow start.
    fn should_exit_slow_start(&mut self, w: &Window, ack: Ack) -> bool {
        if self.starts_round {
            *self = Self {
                starts_round: false,
                round_start: ack.now,
                last_ack: ack.now,
                ..Self::default()
            };
        }
        if w.cwnd < Self::LOW_WINDOW {
            return false;
        }
        let since = |then: Elapsed| Elapsed(ack.now.0 - then.0).seconds();
        if since(self.last_ack) <= Self::ACK_DELTA {
            self.last_ack = ack.now;
            // The pacing rate of slow start is two windows per round trip.
            let held_back = (Self::MAX_OFFLOADED * w.srtt / (2.0 * w.cwnd)).min(1e-3);
            // "Pacing might have delayed packets up to RTT/2 during slow start" (`hystart_update`).
            let threshold = w.min_rtt + held_back;
            if since(self.round_start) > if w.paced { threshold } else { threshold / 2.0 } {
                return true;
            }
        }
        self.round_min_rtt = self.round_min_rtt.min(ack.rtt);
        if self.samples < Self::MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_min_rtt > w.min_rtt + (w.min_rtt / 8.0).clamp(4e-3, 16e-3)
    }
}

impl CongestionControl for Cubic {
    fn echo(&self) -> Echo {
        if self.params.ecn { Echo::Classic } else { Echo::Off }
    }

    fn restarts_after_idle(&self) -> bool {
        true
    }

    /// A round of `HyStart` (`hystart_update`).
    fn rounds_end_beyond(&self) -> bool {
        true
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.subflows.resize_with(w.len(), State::default);
        self.subflows[s] = State::default();
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let (w, state) = (&mut w[s], &mut self.subflows[s]);
        let silence = Elapsed(ack.now.0 - state.last_ack.0).seconds();
        state.last_ack = ack.now;
        if self.params.hystart
            && ack.rtt > 0.0
            && w.cwnd < w.ssthresh
            && state.hystart.should_exit_slow_start(w, ack)
        {
            w.ssthresh = w.cwnd;
        }
        if !self.params.rfc_growth {
            if ack.may_grow {
                let left = slow_start(w, ack.acked);
                if left > 0 {
                    state.bictcp.grow(w, left, ack.now, &self.law);
                }
            }
        } else if ack.may_grow {
            state.epoch.t += silence.min(w.srtt);
            let left = congestion_avoidance(w, ack);
            if left > 0.0 {
                state.epoch.grow(w, left, &self.params);
            }
        }
    }

    /// Section 4.6.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.reduce(&mut w[s], s);
        w[s].cwnd = w[s].ssthresh;
    }

    fn on_restart(&mut self, _: &mut [Window], s: usize, idle: f64, now: Elapsed) {
        self.subflows[s].bictcp.skip_idle(idle, now);
    }

    fn on_round(&mut self, _: &mut [Window], s: usize, _: Round) {
        self.subflows[s].hystart.starts_round = true;
    }

    /// Section 4.6.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.reduce(&mut w[s], s);
        w[s].cwnd = w[s].ssthresh;
    }

    /// Section 4.8.
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        if first {
            self.reduce(&mut w[s], s);
        }
        w[s].cwnd = 1.0;
        let state = &mut self.subflows[s];
        state.bictcp = Bictcp::default();
        (state.epoch.w_max, state.epoch.avoiding) = (0.0, false);
        state.hystart = HyStart::default();
    }

    /// Section 4.9.2. Linux restores the window and begins a new epoch.
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        if w[s].cwnd < w[s].prior_cwnd {
            self.subflows[s].epoch = self.subflows[s].prior_epoch;
        }
        w[s].undo();
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Parameters {
    /// Section 4.3: Reno's window, or that of Linux, which differs at short round-trip times.
    fn friendly_window(&self, path: Path) -> f64 {
        let reno = pull(path.signal, 0.5).sqrt().recip();
        if self.rfc_growth {
            reno
        } else {
            reno * friendly::part_of_reno(path)
        }
    }
}

/// Section 5.1, equation (5), or the window of the Reno-friendly region if that is larger.
impl Response for Cubic {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        let Parameters { c, beta, .. } = self.params;
        let factor = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25);
        for (path, w) in paths.iter().zip(cwnd) {
            let cubic = factor * (path.rtt / path.signal).powf(0.75);
            *w = cubic.max(self.params.friendly_window(*path));
        }
    }
}

#[cfg(test)]
mod tests;
