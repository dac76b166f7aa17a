//! DCTCP: RFC 8257, section 3.3; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section
//! 3.1, equations (1) and (2).
//!
//! Subflows are not coupled. With the fraction F of marked packets in a round, and at the first mark
//! of a round:
//!
//! ```math
//! \alpha \leftarrow (1 - g) \alpha + g F
//! w \leftarrow w \left(1 - \frac{\alpha}{2}\right)
//! ```
//!
//! Where the sources are silent or differ: `alpha` starts at `alpha0`, 1 as in RFC 8257 and Linux
//! or 0 as in AMP's simulations. Slow start ends at the first mark, with a cut by the `alpha` of
//! that time. `cwnd_min` is the minimum after cuts by marks only (2 in the first implementations, 1
//! in later ones). Loss is Reno's (RFC 8257, section 3.5), and so is growth (section 3.4). The
//! fraction of marks counts packets, not bytes.

use crate::parameters::parameters;
use crate::reno::{collapse, grow, halve};
use crate::response::{dctcp_pull, independent_windows};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window};

parameters! {
    /// alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    alpha0: f64 = 1.0, ParameterRange::Float(0.0, 1.0);
    /// weight of the newest round in alpha
    g: f64 = 1.0 / 16.0, ParameterRange::Float(0.001, 1.0);
    /// floor of a cut by a mark, in packets
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
}

/// State: the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 0;

/// DCTCP (RFC 8257) on each subflow.
#[derive(Clone, Debug)]
pub struct Dctcp {
    params: Parameters,
}

impl Dctcp {
    /// One-line description for the registry.
    pub const ABOUT: &str = "DCTCP on each subflow, uncoupled (RFC 8257)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self { params }
    }
}

/// Equation (1): `alpha <- (1 - g) alpha + g F`.
pub(crate) fn estimate(alpha: &mut f64, g: f64, round: Round) {
    if round.acked > 0 {
        let fraction = f64::from(round.marked) / f64::from(round.acked);
        *alpha = (1.0 - g) * *alpha + g * fraction;
    }
}

/// Reduces the window by a part, to no less than `cwnd_min`, and ends slow start.
pub(crate) fn cut(w: &mut Window, part: f64, cwnd_min: f64) {
    w.cwnd = (w.cwnd * (1.0 - part)).max(cwnd_min);
    w.ssthresh = w.cwnd;
}

impl CongestionControl for Dctcp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state[ALPHA] = self.params.alpha0;
    }

    fn restarts_after_idle(&self) -> bool {
        true
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        grow(&mut w[s], ack);
    }

    /// Equation (2): `cwnd <- cwnd (1 - alpha / 2)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let part = w[s].state[ALPHA] / 2.0;
        cut(&mut w[s], part, self.params.cwnd_min);
    }

    /// Equation (1).
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        estimate(&mut w[s].state[ALPHA], self.params.g, round);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Dctcp {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        independent_windows(paths, cwnd, dctcp_pull);
        for w in cwnd {
            *w = w.max(self.params.cwnd_min);
        }
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, in_avoidance, round};

    fn dctcp(alpha0: f64, cwnd_min: f64) -> Dctcp {
        let g = 1.0 / 16.0;
        Dctcp::new(Parameters { alpha0, g, cwnd_min })
    }

    fn alpha(w: &[Window]) -> f64 {
        w[0].state[ALPHA]
    }

    #[test]
    fn alpha_follows_equation_1_and_the_cut_equation_2() {
        let mut cc = dctcp(1.0, 2.0);
        let mut w = in_avoidance(&[20.0]);
        cc.on_open(&mut w, 0);
        assert_eq!(alpha(&w), 1.0);
        // 15/16 * 1 + 1/16 * 5/20 = 0.9375 + 0.015625
        cc.on_round(&mut w, 0, round(20, 5));
        assert_eq!(alpha(&w), 0.953_125);
        // 20 * (1 - 0.953125 / 2) = 20 * 0.5234375
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (10.468_75, 10.468_75));
        // A round without marks: 15/16 * 0.953125
        cc.on_round(&mut w, 0, round(10, 0));
        assert_eq!(alpha(&w), 0.893_554_687_5);
        // A round without acknowledgements does not change alpha.
        cc.on_round(&mut w, 0, round(0, 0));
        assert_eq!(alpha(&w), 0.893_554_687_5);
    }

    #[test]
    fn alpha_of_0_makes_the_first_mark_only_end_slow_start() {
        let mut cc = dctcp(0.0, 2.0);
        let mut w = vec![Window::new(8.0, f64::INFINITY)];
        cc.on_open(&mut w, 0);
        cc.on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 10.0);
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (10.0, 10.0));
        // Congestion avoidance from here on: 10 + 1/10.
        cc.on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 10.1);
    }

    #[test]
    fn slow_start_ends_with_a_cut_by_alpha() {
        let mut cc = dctcp(1.0, 2.0);
        let mut w = vec![Window::new(10.0, f64::INFINITY)];
        cc.on_open(&mut w, 0);
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (5.0, 5.0));
    }

    #[test]
    fn the_floor_holds_for_marks_and_not_for_timeouts() {
        for (cwnd_min, floor) in [(2.0, 2.0), (1.0, 1.5)] {
            let mut cc = dctcp(1.0, cwnd_min);
            let mut w = in_avoidance(&[3.0]);
            cc.on_open(&mut w, 0);
            cc.on_mark(&mut w, 0); // 3 * (1 - 1/2) = 1.5
            assert_eq!(w[0].cwnd, floor);
            cc.on_timeout(&mut w, 0, true);
            assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 2.0));
        }
    }

    #[test]
    fn loss_halves_whatever_alpha_is_and_leaves_other_subflows_alone() {
        let mut cc = dctcp(0.0, 2.0);
        let mut w = in_avoidance(&[12.0, 12.0]);
        cc.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (6.0, 6.0));
        assert_eq!(w[1], in_avoidance(&[12.0])[0]);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("dctcp", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            step.adds_for_each_packet(1.0 / step.own().0.cwnd);
            step.keeps_at_a_loss(0.5, 2.0);
        });
    }

    #[test]
    fn its_response_is_one_over_the_fraction_of_marks() {
        // sqrt(2) / 0.01; if all packets are marked, the minimum
        let w = crate::response::tests::windows_of("dctcp", &[(0.01, 1e-4), (1.0, 1e-4)]);
        assert!((w[0] - 141.421_356).abs() < 1e-6 && w[1] == 2.0, "{w:?}");
    }
}
