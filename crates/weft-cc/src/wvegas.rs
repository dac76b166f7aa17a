//! wVegas: Cao, Xu and Fu, "Delay-based congestion control for multipath TCP", IEEE ICNP 2012; Xu,
//! Cao and Dong, draft-xu-mptcp-congestion-control-05.
//!
//! The signal is the delay in queues. `T_r` is the mean round-trip time of a round on path r, `B_r`
//! the smallest one of all samples, and `d_r` the number of packets that wait in queues. Once per
//! round, with the paths k whose rate `x_k` is known and the parameter `total_alpha` = A:
//!
//! ```math
//! d_r = w_r \frac{T_r - B_r}{T_r}, \quad x_r = \frac{w_r}{T_r}, \quad \alpha_r = A \frac{x_r}{\sum_k x_k}
//! w_r \leftarrow w_r + 1 \quad (d_r < \alpha_r), \quad w_r \leftarrow w_r - 1 \quad (d_r > \alpha_r)
//! w_r \leftarrow w_r \frac{B_r}{2 T_r} \quad (T_r - B_r \ge 2 q_r)
//! ```
//!
//! There, `q_r` is the smallest mean delay in queues since the last reduction of the third line, which
//! drains queues so that `B_r` stays right. In slow start, a `d_r` above `gamma` ends it with the window
//! `w_r B_r / T_r + 1`. Rate and `alpha_r` change only if `d_r` has reached `alpha_r`.
//!
//! Details are those of the authors' module for Linux (`mptcp_wvegas.c`): samples are whole
//! microseconds, `T_r`, `d_r` and `alpha_r` are rounded down, and `alpha_r` is at least 2, its first
//! value. `ssthresh` is at least three quarters of the window after each round, so that slow start
//! follows a drained queue. Rounds with fewer than three samples, and recovery, grow as Reno does. Cuts
//! for losses are Reno's; they and their undo forget rate, `alpha_r`, `q_r` and the samples of the round.
//!
//! There are three differences. A queue without delay is not drained, although 0 is twice 0. A window that
//! does not limit the sender does not grow. A path whose round has just ended still counts in the sum of
//! the rates.
//!
//! Where round-trip times are noisy, `q_r` is the noise, and a queue of one packet is drained. A window
//! then swings between a half and all that a path needs; with `drain = 0` it does not.

use crate::parameters::parameters;
use crate::reno::{MIN_SSTHRESH, collapse_to, grow, halve_to};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Window, slow_start};

parameters! {
    /// packets that a connection keeps in queues, shared by its subflows (10 in the paper)
    total_alpha: u32 = 10.0, ParameterRange::Integer(2, 1000);
    /// packets in queues above which slow start ends (1 in the authors' module)
    gamma: u32 = 1.0, ParameterRange::Integer(0, 1000);
    /// 1: drains queues whose delay has doubled (the paper); 0: never drains queues
    drain: bool = 1.0, ParameterRange::Bool;
    /// floor of a window after a round, and of a cut by a loss, in packets
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
}

/// Delay-based congestion control with weights.
#[derive(Clone, Debug)]
pub struct Wvegas {
    params: Parameters,
    paths: Vec<Delays>,
}

/// The delays of a subflow, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// `B_r`, the smallest sample; 0 without a sample.
    base: u64,
    /// Sum and number of the samples of this round.
    sum: u64,
    samples: u64,
    /// `q_r`; 0 without one.
    queue: u64,
    /// `x_r` in 2^-32 packets per microsecond; 0 before it is known.
    rate: u64,
    /// `alpha_r` in packets.
    alpha: u64,
    /// Whether a round has ended without a change of the window since.
    round_ended: bool,
}

/// The first and the smallest `alpha_r`.
const MIN_ALPHA: u64 = 2;
/// Samples of a round with which the delay is not known well enough.
const FEW_SAMPLES: u64 = 2;
/// Bits of the fraction of a rate.
const RATE_BITS: u32 = 32;

impl Delays {
    const UNKNOWN: Self = Self {
        base: 0,
        sum: 0,
        samples: 0,
        queue: 0,
        rate: 0,
        alpha: MIN_ALPHA,
        round_ended: false,
    };

    /// Forgets all but the smallest sample.
    fn restart(&mut self) {
        *self = Self {
            base: self.base,
            ..Self::UNKNOWN
        };
    }

    fn sample(&mut self, rtt: f64) {
        let rtt = ((rtt * 1e6).round() as u64).max(1);
        if self.base == 0 || rtt < self.base {
            self.base = rtt;
        }
        self.sum += rtt;
        self.samples += 1;
    }
}

impl Wvegas {
    /// One-line description for the registry.
    pub const ABOUT: &str = "wVegas: delays in queues as signal, weighted by rate (Cao et al., ICNP 2012)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            paths: Vec::new(),
        }
    }

    /// Changes the window at the end of a round.
    fn end_round(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let Delays {
            base, sum, samples, ..
        } = self.paths[s];
        let mean = sum / samples;
        let (before, cwnd) = (w[s].cwnd, w[s].cwnd as u64);
        let waiting = cwnd * (mean - base) / mean;
        if w[s].cwnd < w[s].ssthresh {
            if waiting > self.params.gamma.into() {
                let target = (cwnd * base / mean + 1) as f64;
                w[s].cwnd = w[s].cwnd.min(target);
                w[s].ssthresh = w[s].ssthresh.min(w[s].cwnd - 1.0);
            } else {
                slow_start(&mut w[s], ack.acked);
            }
        } else {
            if waiting >= self.paths[s].alpha {
                self.paths[s].rate = (cwnd << RATE_BITS) / mean;
                self.paths[s].alpha = self.weigh(w, s);
            }
            if waiting > self.paths[s].alpha {
                w[s].cwnd -= 1.0;
                w[s].ssthresh = w[s].ssthresh.min(w[s].cwnd - 1.0);
            } else if waiting < self.paths[s].alpha {
                w[s].cwnd += 1.0;
            }
            if self.params.drain {
                self.drain(&mut w[s], s, mean - base, mean);
            }
        }
        let w = &mut w[s];
        w.cwnd = w.cwnd.max(self.params.cwnd_min.min(before));
        // `tcp_current_ssthresh`; a window has at least one packet.
        w.ssthresh = w.ssthresh.max((0.75 * w.cwnd).max(1.0));
    }

    /// Returns `alpha_r`.
    fn weigh(&self, w: &[Window], s: usize) -> u64 {
        let rates = w.iter().zip(&self.paths).filter(|(r, _)| r.established);
        let total: u64 = rates.map(|(_, path)| path.rate).sum();
        let alpha = u64::from(self.params.total_alpha) * self.paths[s].rate / total.max(1);
        alpha.max(MIN_ALPHA)
    }

    /// Reduces the window if the delay in queues, `queue`, has doubled.
    fn drain(&mut self, w: &mut Window, s: usize, queue: u64, mean: u64) {
        let path = &mut self.paths[s];
        if path.queue == 0 || queue < path.queue {
            path.queue = queue;
        }
        if path.queue > 0 && queue >= 2 * path.queue {
            w.cwnd = (w.cwnd as u64 * path.base / (2 * mean)) as f64;
            path.queue = 0;
        }
    }
}

impl CongestionControl for Wvegas {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        if self.paths.len() < w.len() {
            self.paths.resize(w.len(), Delays::UNKNOWN);
        }
        self.paths[s] = Delays::UNKNOWN;
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let path = &mut self.paths[s];
        if ack.rtt > 0.0 {
            path.sample(ack.rtt);
        }
        if !ack.may_grow {
            return;
        }
        if w[s].in_recovery {
            grow(&mut w[s], ack);
        } else if path.round_ended {
            if path.samples > FEW_SAMPLES {
                self.end_round(w, s, ack);
            } else {
                grow(&mut w[s], ack);
            }
            let path = &mut self.paths[s];
            (path.round_ended, path.sum, path.samples) = (false, 0, 0);
        } else {
            slow_start(&mut w[s], ack.acked);
        }
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2), although the algorithm does not ask for
    /// ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.on_fast_retransmit(w, s);
    }

    fn on_round(&mut self, _: &mut [Window], s: usize, _: crate::Round) {
        self.paths[s].round_ended = true;
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve_to(&mut w[s], self.params.cwnd_min);
        self.paths[s].restart();
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse_to(&mut w[s], first, self.params.cwnd_min);
        self.paths[s].restart();
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        self.paths[s].restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Round;
    use crate::test_windows::{assert_near, in_avoidance};

    /// Returns an algorithm with open subflows that have these windows and, as the smallest sample,
    /// 1000 us.
    fn opened(cwnd: &[f64]) -> (Wvegas, Vec<Window>) {
        let (mut cc, mut w) = (Wvegas::new(Parameters::default()), in_avoidance(cwnd));
        for s in 0..w.len() {
            cc.on_open(&mut w, s);
            cc.paths[s].base = 1000;
        }
        (cc, w)
    }

    /// Reports three samples and the end of a round.
    fn round(cc: &mut Wvegas, w: &mut [Window], s: usize, us: f64) {
        let ack = Ack {
            acked: 1,
            may_grow: true,
            rtt: us * 1e-6,
            ..Ack::default()
        };
        cc.on_ack(w, s, ack);
        cc.on_ack(w, s, ack);
        cc.on_round(w, s, Round { acked: 3, marked: 0 });
        cc.on_ack(w, s, ack);
    }

    #[test]
    fn a_window_alone_keeps_ten_packets_in_queues() {
        let (mut cc, mut w) = opened(&[100.0]);
        // 100 * 10 / 1010 = 0.99 packets wait.
        round(&mut cc, &mut w, 0, 1010.0);
        assert_near(w[0].cwnd, 101.0);
        // 101 * 19 / 1019 = 1.88, still less than the first alpha of 2.
        round(&mut cc, &mut w, 0, 1019.0);
        assert_near(w[0].cwnd, 102.0);
        // 102 * 19.9 / 1019 is rounded down to 1; alpha is not renewed.
        assert_eq!(cc.paths[0].alpha, 2);
        // 2.9 packets, so alpha becomes all of total_alpha, and the window grows.
        cc.paths[0].queue = 29;
        round(&mut cc, &mut w, 0, 1029.0);
        assert_eq!(cc.paths[0].alpha, 10);
        assert_near(w[0].cwnd, 103.0);
        // 103 * 120 / 1120 = 11.04 packets are too many; 103 * 108 / 1108 = 10.04 with 102 are 9.9.
        cc.paths[0].queue = 120;
        round(&mut cc, &mut w, 0, 1120.0);
        assert_near(w[0].cwnd, 102.0);
        round(&mut cc, &mut w, 0, 1112.0);
        assert_near(w[0].cwnd, 102.0);
    }

    #[test]
    fn subflows_have_alphas_in_proportion_to_their_rates() {
        let (mut cc, mut w) = opened(&[90.0, 30.0]);
        for s in [0, 1, 0] {
            cc.paths[s].queue = 200;
            round(&mut cc, &mut w, s, 1200.0);
        }
        // Rates 75 and 25 packets per ms at first; the windows are 89 and 29 by then.
        assert_eq!((cc.paths[0].alpha, cc.paths[1].alpha), (7, 2));
        // A closed subflow has no rate.
        w[1].established = false;
        round(&mut cc, &mut w, 0, 1200.0);
        assert_eq!(cc.paths[0].alpha, 10);
    }

    #[test]
    fn a_queue_that_has_doubled_is_drained() {
        let (mut cc, mut w) = opened(&[100.0]);
        w[0].ssthresh = 2.0;
        round(&mut cc, &mut w, 0, 1004.0);
        assert_near(w[0].cwnd, 101.0);
        // 8 us are twice 4: 102 * 1000 / 2016.
        round(&mut cc, &mut w, 0, 1008.0);
        assert_near(w[0].cwnd, 50.0);
        // Slow start up to three quarters of the window before.
        assert_near(w[0].ssthresh, 75.75);
        // An empty queue is not drained.
        let (mut cc, mut w) = opened(&[100.0]);
        round(&mut cc, &mut w, 0, 1000.0);
        assert_near(w[0].cwnd, 101.0);
    }

    #[test]
    fn a_threshold_is_at_least_one_packet() {
        let params = Parameters {
            cwnd_min: 1.0,
            ..Parameters::default()
        };
        let mut w = in_avoidance(&[3.0]);
        let mut cc = Wvegas::new(params);
        cc.on_open(&mut w, 0);
        (cc.paths[0].base, w[0].ssthresh) = (1, f64::INFINITY);
        // All but 1e-4 packets of the window wait.
        round(&mut cc, &mut w, 0, 10_000.0);
        assert_near(w[0].cwnd, 1.0);
        assert_near(w[0].ssthresh, 1.0);
    }

    #[test]
    fn slow_start_ends_once_more_than_gamma_packets_wait() {
        let (mut cc, mut w) = opened(&[40.0]);
        w[0].ssthresh = f64::INFINITY;
        // 1.96 packets are rounded down to 1; three acknowledgements add a packet each.
        round(&mut cc, &mut w, 0, 1049.0);
        assert_near(w[0].cwnd, 43.0);
        // 45 * 50 / 1050 = 2.1: 45 * 1000 / 1050 + 1.
        round(&mut cc, &mut w, 0, 1050.0);
        assert_near(w[0].cwnd, 43.0);
        assert_near(w[0].ssthresh, 42.0);
    }

    #[test]
    fn a_round_with_two_samples_or_a_recovery_grows_as_reno() {
        let (mut cc, mut w) = opened(&[10.0]);
        let ack = Ack {
            acked: 1,
            may_grow: true,
            rtt: 0.002,
            ..Ack::default()
        };
        cc.on_ack(&mut w, 0, ack);
        cc.on_round(&mut w, 0, Round { acked: 2, marked: 0 });
        cc.on_ack(&mut w, 0, ack);
        assert_near(w[0].cwnd, 10.1);
        w[0].in_recovery = true;
        cc.on_ack(&mut w, 0, ack);
        assert_near(w[0].cwnd, 10.1 + 1.0 / 10.1);
    }

    #[test]
    fn a_loss_halves_and_forgets_all_but_the_smallest_round_trip() {
        let (mut cc, mut w) = opened(&[100.0]);
        cc.paths[0].queue = 200;
        round(&mut cc, &mut w, 0, 1200.0);
        cc.on_fast_retransmit(&mut w, 0);
        assert_near(w[0].cwnd, 49.5);
        let path = cc.paths[0];
        assert_eq!((path.base, path.rate, path.alpha, path.queue), (1000, 0, 2, 0));
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("wvegas", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
        });
    }
}
