//! DCTCP: RFC 8257, section 3.3; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1,
//! equations (1) and (2).
//!
//! Each subflow is on its own.
//!
//! Where they are silent or differ: `alpha` starts at `alpha0`, 1 as in RFC 8257 and Linux or 0 as in AMP's
//! simulations. Slow start ends at the first mark, with a cut by the `alpha` of that moment. `cwnd_min` is
//! the floor of cuts by marks only (2 in the first implementations, 1 in later ones). Loss is Reno's (RFC
//! 8257, section 3.5), and so is growth (section 3.4). The fraction of marks counts packets, not bytes.

use crate::reno::{collapse, grow, halve};
use crate::{Ack, Allowed, CongestionControl, Echo, Parameter, Round, Window};

/// Slot: the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 0;

/// RFC 8257 on each subflow.
#[derive(Clone, Debug)]
pub struct Dctcp {
    alpha0: f64,
    g: f64,
    cwnd_min: f64,
}

impl Dctcp {
    /// One line about it.
    pub const ABOUT: &str = "DCTCP on each subflow, uncoupled (RFC 8257)";
    /// What can be set, in the order [`new`](Self::new) takes it.
    pub const PARAMETERS: [Parameter; 3] = [Self::ALPHA0, Self::G, Parameter::CWND_MIN];
    pub(crate) const ALPHA0: Parameter = Parameter {
        name: "alpha0",
        default: 1.0,
        allowed: Allowed::Number(0.0, 1.0),
        about: "alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations",
    };
    pub(crate) const G: Parameter = Parameter {
        name: "g",
        default: 1.0 / 16.0,
        allowed: Allowed::Number(0.001, 1.0),
        about: "weight of the newest round in alpha",
    };

    /// A fresh connection's state.
    pub fn new([alpha0, g, cwnd_min]: [f64; 3]) -> Self {
        Self { alpha0, g, cwnd_min }
    }
}

/// Equation (1): `alpha <- (1 - g) alpha + g F`.
pub(crate) fn estimate(alpha: &mut f64, g: f64, round: Round) {
    if round.acked > 0 {
        let fraction = f64::from(round.marked) / f64::from(round.acked);
        *alpha = (1.0 - g) * *alpha + g * fraction;
    }
}

/// Takes a part of the window away, down to `cwnd_min`, and ends slow start.
pub(crate) fn cut(w: &mut Window, part: f64, cwnd_min: f64) {
    w.cwnd = (w.cwnd * (1.0 - part)).max(cwnd_min);
    w.ssthresh = w.cwnd;
}

impl CongestionControl for Dctcp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].slot[ALPHA] = self.alpha0;
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        grow(&mut w[s], ack);
    }

    /// Equation (2): `cwnd <- cwnd (1 - alpha / 2)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let part = w[s].slot[ALPHA] / 2.0;
        cut(&mut w[s], part, self.cwnd_min);
    }

    /// Equation (1).
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        estimate(&mut w[s].slot[ALPHA], self.g, round);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, avoiding, round};

    fn alpha(w: &[Window]) -> f64 {
        w[0].slot[ALPHA]
    }

    #[test]
    fn alpha_follows_equation_1_and_the_cut_equation_2() {
        let mut cc = Dctcp::new([1.0, 1.0 / 16.0, 2.0]);
        let mut w = avoiding(&[20.0]);
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
        // A round without acknowledgements says nothing.
        cc.on_round(&mut w, 0, round(0, 0));
        assert_eq!(alpha(&w), 0.893_554_687_5);
    }

    #[test]
    fn alpha_of_0_makes_the_first_mark_only_end_slow_start() {
        let mut cc = Dctcp::new([0.0, 1.0 / 16.0, 2.0]);
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
        let mut cc = Dctcp::new([1.0, 1.0 / 16.0, 2.0]);
        let mut w = vec![Window::new(10.0, f64::INFINITY)];
        cc.on_open(&mut w, 0);
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (5.0, 5.0));
    }

    #[test]
    fn the_floor_holds_for_marks_and_not_for_timeouts() {
        for (cwnd_min, floor) in [(2.0, 2.0), (1.0, 1.5)] {
            let mut cc = Dctcp::new([1.0, 1.0 / 16.0, cwnd_min]);
            let mut w = avoiding(&[3.0]);
            cc.on_open(&mut w, 0);
            cc.on_mark(&mut w, 0); // 3 * (1 - 1/2) = 1.5
            assert_eq!(w[0].cwnd, floor);
            cc.on_timeout(&mut w, 0);
            assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 2.0));
        }
    }

    #[test]
    fn loss_halves_whatever_alpha_is_and_leaves_other_subflows_alone() {
        let mut cc = Dctcp::new([0.0, 1.0 / 16.0, 2.0]);
        let mut w = avoiding(&[12.0, 12.0]);
        cc.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (6.0, 6.0));
        assert_eq!(w[1], avoiding(&[12.0])[0]);
    }
}
