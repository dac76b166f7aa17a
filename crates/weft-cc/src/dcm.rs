//! DCM: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
//! October 2020), section 2.1, equations (1) and (2).
//!
//! "Each subflow of DCM follows DCTCP to reduce its cwnd and MPTCP to increase its cwnd": equation
//! (1) is that of [`Lia`], equation (2) that of [`Dctcp`]. They are for each acknowledged packet and
//! for the first mark of a round:
//!
//! ```math
//! w_s \leftarrow w_s + \min\left(\frac{\max_r (w_r / T_r^2)}{\left(\sum_r w_r / T_r\right)^2}, \frac{1}{w_s}\right)
//! w_s \leftarrow w_s \left(1 - \frac{\alpha_s}{2}\right)
//! ```
//!
//! Where the paper is silent: `a` of equation (1) is computed at every acknowledgement, as in the
//! authors' simulator; `per_ack = 0` computes it once per round. Slow start ends at the first mark,
//! with a cut by the alpha of that time. A timeout is Reno's.

use crate::dctcp::{self, Dctcp};
use crate::lia::{self, Lia};
use crate::parameters::parameters;
use crate::response::{coupled_windows, dctcp_pull};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window};

parameters! {
    /// alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    alpha0: f64 = 1.0, ParameterRange::Float(0.0, 1.0);
    /// weight of the newest round in alpha
    g: f64 = 1.0 / 16.0, ParameterRange::Float(0.001, 1.0);
    /// floor of a cut by a mark, in packets
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
    /// 1 computes a of equation (1) at every acknowledgement, 0 once per round
    per_ack: bool = 1.0, ParameterRange::Bool;
}

/// MPTCP's increase with DCTCP's decrease.
#[derive(Clone, Debug)]
pub struct Dcm {
    mptcp: Lia,
    dctcp: Dctcp,
}

impl Dcm {
    /// One-line description for the registry.
    pub const ABOUT: &str = "DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        let Parameters {
            alpha0,
            g,
            cwnd_min,
            per_ack,
        } = params;
        Self {
            // Marks cut to `cwnd_min`, losses to the floor of RFC 5681.
            mptcp: Lia::new(lia::Parameters {
                per_ack,
                ..lia::Parameters::default()
            }),
            dctcp: Dctcp::new(dctcp::Parameters { alpha0, g, cwnd_min }),
        }
    }
}

impl CongestionControl for Dcm {
    fn echo(&self) -> Echo {
        self.dctcp.echo()
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.dctcp.on_open(w, s);
        self.mptcp.on_open(w, s);
    }

    /// Equation (1), for each ACK on subflow s: `w_s <- w_s + min(a / w_total, 1 / w_s)`.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.mptcp.on_ack(w, s, ack);
    }

    /// The decrease for the first marked ACK in a window: `w_s <- w_s (1 - alpha_s / 2)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.dctcp.on_mark(w, s);
        self.mptcp.update_increase(w);
    }

    /// Equation (2), and equation (1) if it is not computed at every acknowledgement.
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        self.dctcp.on_round(w, s, round);
        self.mptcp.on_round(w, s, round);
    }

    /// The decrease for each loss: `w_s <- w_s / 2`.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.mptcp.on_fast_retransmit(w, s);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.mptcp.on_timeout(w, s, first);
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        self.mptcp.on_undo(w, s);
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.mptcp.on_close(w, s);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Dcm {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        coupled_windows(paths, cwnd, dctcp_pull);
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, cwnds, in_avoidance, in_avoidance_at, round};

    fn dcm(alpha0: f64, per_ack: bool) -> Dcm {
        Dcm::new(Parameters {
            alpha0,
            per_ack,
            ..Parameters::default()
        })
    }

    #[test]
    fn it_grows_by_equation_1_at_every_acknowledgement() {
        let mut cc = dcm(0.0, true);
        let mut w = in_avoidance_at(&[6.0, 2.0], &[1.0, 2.0]);
        // a / w_total = max(6/1, 2/4) / (6/1 + 2/2)^2 = 6/49, below 1/6.
        cc.on_ack(&mut w, 0, ack(1));
        let grown = 6.0 + 6.0 / 49.0;
        assert_near(w[0].cwnd, grown);
        // Computed with the new window; below 1/2.
        cc.on_ack(&mut w, 1, ack(1));
        assert_near(w[1].cwnd, 2.0 + grown / ((grown + 1.0) * (grown + 1.0)));
    }

    #[test]
    fn it_may_compute_a_once_a_round() {
        let mut cc = dcm(0.0, false);
        let mut w = in_avoidance(&[4.0, 4.0]);
        cc.on_round(&mut w, 0, round(4, 0)); // 4 / 8^2 = 1/16
        cc.on_ack(&mut w, 0, ack(4));
        cc.on_ack(&mut w, 1, ack(4));
        assert_eq!(cwnds(&w), [4.25, 4.25]);
    }

    #[test]
    fn joins_marks_and_closes_are_felt_at_once() {
        let mut cc = dcm(1.0, false);
        let mut w = in_avoidance(&[8.0, 8.0]);
        w[1].established = false;
        let grown_by = |cc: &mut Dcm, w: &mut [Window]| {
            let before = w[0].cwnd;
            cc.on_ack(w, 0, ack(1));
            std::mem::replace(&mut w[0].cwnd, before) - before
        };
        cc.on_open(&mut w, 0);
        assert_near(grown_by(&mut cc, &mut w), 8.0 / 64.0);
        w[1].established = true;
        cc.on_open(&mut w, 1);
        assert_near(grown_by(&mut cc, &mut w), 8.0 / 256.0);
        cc.on_mark(&mut w, 1); // 8 * (1 - 1/2)
        assert_near(grown_by(&mut cc, &mut w), 8.0 / 144.0);
        w[1].established = false;
        cc.on_close(&mut w, 1);
        assert_near(grown_by(&mut cc, &mut w), 8.0 / 64.0);
    }

    #[test]
    fn it_shrinks_by_equation_2_on_each_subflow() {
        let mut cc = dcm(0.5, true);
        let mut w = in_avoidance(&[16.0, 16.0]);
        cc.on_open(&mut w, 0);
        cc.on_open(&mut w, 1);
        // alpha_0 = 15/16 * 1/2 + 1/16 * 4/16 = 0.484375; alpha_1 = 15/16 * 1/2 = 0.46875
        cc.on_round(&mut w, 0, round(16, 4));
        cc.on_round(&mut w, 1, round(16, 0));
        // 16 * (1 - 0.2421875), 16 * (1 - 0.234375)
        cc.on_mark(&mut w, 0);
        cc.on_mark(&mut w, 1);
        assert_eq!(cwnds(&w), [12.125, 12.25]);
        assert_eq!(w[0].ssthresh, 12.125);
    }

    #[test]
    fn marks_stop_at_the_floor_and_losses_are_renos() {
        let mut cc = dcm(1.0, true);
        let mut w = in_avoidance(&[3.0, 12.0]);
        cc.on_open(&mut w, 0);
        cc.on_mark(&mut w, 0);
        assert_eq!(w[0].cwnd, 2.0);
        cc.on_fast_retransmit(&mut w, 1);
        assert_eq!((w[1].cwnd, w[1].ssthresh), (6.0, 6.0));
        cc.on_timeout(&mut w, 1, true);
        assert_eq!((w[1].cwnd, w[1].ssthresh), (1.0, 3.0));
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("dcm", |step| {
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
            step.keeps_at_a_loss(0.5, 2.0);
        });
    }

    #[test]
    fn its_response_is_lias_with_dctcps_cuts() {
        let windows = |paths: &[_]| crate::response::tests::windows_of("dcm", paths);
        // One path: DCTCP's sqrt(2) / p. Two paths: shares in proportion to 1 / p^2, and the sum of
        // the rates is that of the better one.
        assert_near(windows(&[(0.02, 1e-4)])[0], 50.0 * 2.0_f64.sqrt());
        let w = windows(&[(0.02, 1e-4), (0.04, 1e-4)]);
        assert_near(w[0] / w[1], 4.0);
        assert_near(w[0] + w[1], 50.0 * 2.0_f64.sqrt());
    }
}
