//! Uncoupled: Wischik, Raiciu, Greenhalgh and Handley, "Design, implementation and evaluation of
//! congestion control for multipath TCP", NSDI 2011, section 2. Each path r runs regular TCP, for
//! each ACK and for each loss, with a = 1:
//!
//! ```math
//! w_r \leftarrow w_r + \frac{a}{w_r}
//! w_r \leftarrow \frac{w_r}{2}
//! ```
//!
//! Each subflow is a [`Reno`], so that n subflows take the share of n flows. A `weight` a below 1
//! makes subflows less aggressive, as the paper's EWTCP does: a subflow gains a packets per round.
//! The window in equilibrium is proportional to the square root of a. n subflows with a = 1 / n^2
//! therefore take the share of one flow. This value follows from the equilibrium, not from the paper.

use crate::parameters::parameters;
use crate::reno::{self, MIN_SSTHRESH, Reno, grow_by};
use crate::response::{independent_windows, pull};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Window};

parameters! {
    /// floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))
    cwnd_min: f64 = MIN_SSTHRESH, ParameterRange::Integer(1, 100);
    /// packets gained per round (EWTCP); with 1 / n^2, n subflows share as one flow
    weight: f64 = 1.0, ParameterRange::Float(1e-4, 1.0);
}

/// Reno on each subflow.
#[derive(Clone, Debug)]
pub struct Uncoupled {
    reno: Reno,
    weight: f64,
}

impl Uncoupled {
    /// One-line description for the registry.
    pub const ABOUT: &str = "uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        let Parameters { cwnd_min, weight } = params;
        let reno = Reno::new(reno::Parameters {
            cwnd_min,
            rfc_growth: true,
        });
        Self { reno, weight }
    }
}

impl CongestionControl for Uncoupled {
    fn echo(&self) -> Echo {
        self.reno.echo()
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        grow_by(&mut w[s], ack, self.weight);
    }

    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.reno.on_mark(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.reno.on_fast_retransmit(w, s);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.reno.on_timeout(w, s, first);
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        self.reno.on_undo(w, s);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Uncoupled {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        independent_windows(paths, cwnd, |signal| pull(signal, 0.5) / self.weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, cwnds, in_avoidance};

    #[test]
    fn every_subflow_adds_a_packet_a_round_and_halves_alone() {
        let (mut cc, mut w) = (Uncoupled::new(Parameters::default()), in_avoidance(&[10.0, 4.0]));
        cc.on_ack(&mut w, 0, ack(10));
        cc.on_ack(&mut w, 1, ack(4));
        assert_eq!(cwnds(&w), [11.0, 5.0]);
        cc.on_fast_retransmit(&mut w, 0);
        cc.on_timeout(&mut w, 1, true);
        assert_eq!(cwnds(&w), [5.5, 1.0]);
    }

    #[test]
    fn a_weight_scales_the_growth_and_the_square_of_the_window() {
        let params = Parameters {
            weight: 0.25,
            ..Parameters::default()
        };
        let (mut cc, mut w) = (Uncoupled::new(params), in_avoidance(&[10.0]));
        cc.on_ack(&mut w, 0, ack(10));
        assert_eq!(cwnds(&w), [10.25]);
        let paths = [Path {
            signal: 0.0006,
            rtt: 0.1,
        }];
        let mut cwnd = [0.0];
        cc.response().unwrap().windows(&paths, &mut cwnd);
        crate::test_windows::assert_near(cwnd[0], 25.0);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("uncoupled", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            step.adds_for_each_packet(step.parameter("weight").unwrap() / step.own().0.cwnd);
            step.keeps_at_a_loss(0.5, step.parameter("cwnd_min").unwrap());
        });
    }
}
