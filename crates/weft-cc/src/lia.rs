//! LIA, MPTCP's coupled congestion control: RFC 6356, section 3, equations (1) and (2).
//!
//! For each packet acknowledged on subflow s, with the window `w_s` and the round-trip time `T_s`:
//!
//! ```math
//! w_s \leftarrow w_s + \min\left(\frac{\alpha}{\sum_r w_r}, \frac{1}{w_s}\right)
//! \alpha = \sum_r w_r \cdot \frac{\max_r (w_r / T_r^2)}{\left(\sum_r w_r / T_r\right)^2}
//! ```
//!
//! The state is `alpha` over the sum of windows, in which that sum cancels.
//!
//! Where the RFC leaves a choice: alpha need not be computed at every acknowledgement (section
//! 4.1). By default it is computed when a round of any subflow ends and after every event that
//! lowers a window; `per_ack = 1` computes it at every acknowledgement. A subflow counts once it is
//! established and has an RTT. Until a subflow has an RTT, growth is Reno's. Decrease is Reno's
//! (section 3).
//!
//! `beta` adds the variant that AMP's paper, section 4.1 (3), calls "MPTCP (beta = 4)". It uses
//! ECN, with a cut of 1 / `beta` at the first mark of a window, to no less than `cwnd_min`. The
//! mark also ends slow start.

use crate::parameters::parameters;
use crate::reno::{MIN_SSTHRESH, collapse_to, congestion_avoidance, halve_to};
use crate::response::{coupled_windows, pull};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window};

parameters! {
    /// 0: no ECN; otherwise a mark cuts the window by 1 / beta
    beta: f64 = 0.0, ParameterRange::ZeroOrFloat(2.0, 1000.0);
    /// floor of a cut by a mark or a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
    /// 1 computes alpha at every acknowledgement, 0 once per round
    per_ack: bool = 0.0, ParameterRange::Bool;
}

/// LIA (RFC 6356).
#[derive(Clone, Debug)]
pub struct Lia {
    params: Parameters,
    /// `alpha / cwnd_total` as last computed.
    increase: f64,
}

impl Lia {
    /// One-line description for the registry.
    pub const ABOUT: &str = "LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            increase: f64::INFINITY,
        }
    }

    /// Equation (2), divided by `cwnd_total`.
    pub(crate) fn update_increase(&mut self, w: &[Window]) {
        let (mut best, mut total) = (0.0_f64, 0.0);
        for r in w.iter().filter(|r| r.established && r.srtt > 0.0) {
            let per_second = 1.0 / r.srtt;
            let rate = r.cwnd * per_second;
            best = best.max(rate * per_second);
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
        if self.params.beta == 0.0 {
            Echo::Off
        } else {
            Echo::Dctcp
        }
    }

    fn on_open(&mut self, w: &mut [Window], _: usize) {
        self.update_increase(w);
    }

    /// Equation (1).
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if !ack.may_grow {
            return;
        }
        if self.params.per_ack {
            self.update_increase(w);
        }
        let left = congestion_avoidance(&mut w[s], ack);
        w[s].cwnd += left * self.increase.min(1.0 / w[s].cwnd);
    }

    /// Handles a mark as a loss (RFC 3168, section 6.1.2) if `beta` is 0, although the algorithm
    /// then does not ask for ECN.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        if self.params.beta == 0.0 {
            halve_to(&mut w[s], self.params.cwnd_min);
        } else {
            w[s].cwnd = (w[s].cwnd * (1.0 - 1.0 / self.params.beta)).max(self.params.cwnd_min);
            w[s].ssthresh = w[s].cwnd;
        }
        self.update_increase(w);
    }

    fn on_round(&mut self, w: &mut [Window], _: usize, _: Round) {
        self.update_increase(w);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve_to(&mut w[s], self.params.cwnd_min);
        self.update_increase(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse_to(&mut w[s], first, self.params.cwnd_min);
        self.update_increase(w);
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        self.update_increase(w);
    }

    fn on_close(&mut self, w: &mut [Window], _: usize) {
        self.update_increase(w);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Lia {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        if self.params.beta == 0.0 {
            coupled_windows(paths, cwnd, |signal| pull(signal, 0.5));
        } else {
            coupled_windows(paths, cwnd, |signal| pull(signal, 1.0 / self.params.beta));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, cwnds, in_avoidance, in_avoidance_at, round};

    fn lia(w: &[Window]) -> Lia {
        let mut cc = Lia::new(Parameters::default());
        cc.update_increase(w);
        cc
    }

    #[test]
    fn one_subflow_is_reno() {
        let mut w = in_avoidance_at(&[10.0], &[0.02]);
        // alpha = 10 * (10 / rtt^2) / (10 / rtt)^2 = 1, so 10 + min(1/10, 1/10).
        lia(&w).on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 10.1);
    }

    #[test]
    fn equal_round_trips_couple_by_the_largest_window() {
        let mut w = in_avoidance(&[6.0, 2.0]);
        // alpha = 8 * max(6, 2) / 8^2 = 3/4; alpha / cwnd_total = 3/32.
        let mut cc = lia(&w);
        cc.on_ack(&mut w, 0, ack(1));
        cc.on_ack(&mut w, 1, ack(2));
        assert_eq!(cwnds(&w), [6.0 + 3.0 / 32.0, 2.0 + 6.0 / 32.0]);
    }

    #[test]
    fn unequal_round_trips_follow_equation_2_capped_at_reno() {
        let mut w = in_avoidance_at(&[10.0, 40.0], &[1.0, 4.0]);
        // max(10/1, 40/16) = 10; (10/1 + 40/4)^2 = 400; 10/400 = 1/40, as much as 1/cwnd of subflow
        // 1.
        let mut cc = lia(&w);
        cc.on_ack(&mut w, 0, ack(1));
        cc.on_ack(&mut w, 1, ack(1));
        assert_eq!(cwnds(&w), [10.025, 40.025]);
        // max(10/1, 400/400) = 10; (10/1 + 400/20)^2 = 900; 10/900 = 1/90 is above 1/400, which
        // caps it.
        let mut w = in_avoidance_at(&[10.0, 400.0], &[1.0, 20.0]);
        let mut cc = lia(&w);
        cc.on_ack(&mut w, 0, ack(1));
        cc.on_ack(&mut w, 1, ack(1));
        assert_eq!(cwnds(&w), [10.0 + 1.0 / 90.0, 400.0025]);
    }

    #[test]
    fn alpha_is_computed_once_a_round_or_at_every_acknowledgement() {
        let windows = in_avoidance(&[4.0, 4.0]);
        // Round 1: alpha / cwnd_total = 4/64 = 1/16.
        let (mut w, mut cc) = (windows.clone(), lia(&windows));
        cc.on_ack(&mut w, 0, ack(4));
        cc.on_ack(&mut w, 0, ack(4));
        assert_eq!(w[0].cwnd, 4.5);
        // Round 2: 4.5 / 8.5^2.
        cc.on_round(&mut w, 0, round(8, 0));
        cc.on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 4.5 + 4.5 / 72.25);

        let (mut w, mut cc) = (
            windows,
            Lia::new(Parameters {
                per_ack: true,
                ..Parameters::default()
            }),
        );
        cc.on_ack(&mut w, 0, ack(4));
        // Now 4.25 / 8.25^2.
        cc.on_ack(&mut w, 0, ack(4));
        assert_near(w[0].cwnd, 4.25 + 4.0 * 4.25 / 68.0625);
    }

    #[test]
    fn subflows_without_handshake_or_round_trip_time_do_not_count() {
        let mut w = in_avoidance(&[6.0, 2.0, 50.0, 50.0]);
        w[2].established = false;
        w[3].srtt = 0.0;
        lia(&w).on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 6.0 + 3.0 / 32.0);
        // Until a subflow has a sample, Reno: 6 + 1/6.
        let mut w = in_avoidance_at(&[6.0, 2.0], &[0.0, 0.0]);
        lia(&w).on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 6.0 + 1.0 / 6.0);
    }

    #[test]
    fn joins_losses_and_closes_are_felt_at_once() {
        let mut cc = Lia::new(Parameters::default());
        let mut w = in_avoidance(&[6.0, 6.0, 4.0]);
        w[2].established = false;
        cc.on_open(&mut w, 1); // 6 / 12^2
        assert_eq!(cc.increase, 6.0 / 144.0);
        w[2].established = true;
        cc.on_open(&mut w, 2); // 6 / 16^2
        assert_eq!(cc.increase, 6.0 / 256.0);
        cc.on_fast_retransmit(&mut w, 0); // windows 3, 6, 4
        assert_eq!(cc.increase, 6.0 / 169.0);
        cc.on_timeout(&mut w, 1, true); // windows 3, 1, 4
        assert_eq!(cc.increase, 4.0 / 64.0);
        w[2].established = false;
        cc.on_close(&mut w, 2); // windows 3, 1
        assert_eq!(cc.increase, 3.0 / 16.0);
    }

    #[test]
    fn the_floor_holds_for_losses() {
        let params = Parameters {
            cwnd_min: 1.0,
            ..Parameters::default()
        };
        let mut cc = Lia::new(params);
        let mut w = in_avoidance(&[3.0, 1.5]);
        cc.on_fast_retransmit(&mut w, 0);
        cc.on_timeout(&mut w, 1, true);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.5, 1.5));
        assert_eq!((w[1].cwnd, w[1].ssthresh), (1.0, 1.0));
    }

    #[test]
    fn beta_makes_it_ecn_capable_with_a_constant_cut() {
        assert_eq!(Lia::new(Parameters::default()).echo(), Echo::Off);
        let mut cc = Lia::new(Parameters {
            beta: 4.0,
            ..Parameters::default()
        });
        assert_eq!(cc.echo(), Echo::Dctcp);
        let mut w = in_avoidance(&[8.0, 4.0]);
        w[0].ssthresh = f64::INFINITY;
        cc.on_mark(&mut w, 0); // 8 * 3/4, and the end of slow start
        assert_eq!((w[0].cwnd, w[0].ssthresh), (6.0, 6.0));
        assert_eq!(cc.increase, 6.0 / 100.0);
        for expected in [4.5, 3.375, 2.531_25, 2.0, 2.0] {
            cc.on_mark(&mut w, 0);
            assert_eq!(w[0].cwnd, expected);
        }
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("lia", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            if step.parameter("per_ack") == Some(1.0) {
                let timed = || step.live().filter(|r| r.srtt > 0.0);
                let best = timed().map(|r| r.cwnd / r.srtt / r.srtt).fold(0.0, f64::max);
                let rate = timed().map(|r| r.cwnd / r.srtt).sum::<f64>();
                let coupled = if rate > 0.0 {
                    best / rate.powi(2)
                } else {
                    f64::INFINITY
                };
                step.adds_for_each_packet(coupled.min(1.0 / step.own().0.cwnd));
            }
            step.keeps_at_a_loss(0.5, step.parameter("cwnd_min").unwrap());
        });
    }
}
