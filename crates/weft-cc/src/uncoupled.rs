//! Uncoupled: Wischik, Raiciu, Greenhalgh and Handley, "Design, implementation and evaluation of
//! congestion control for multipath TCP", NSDI 2011, section 2. Each path r runs regular TCP: `w_r
//! <- w_r + 1 / w_r` for each ACK and `w_r <- w_r / 2` for each loss.
//!
//! Each subflow is a [`Reno`], so that n subflows take the share of n flows. The algorithm has a
//! name of its own because figures on multipath use that name.

use crate::parameters::parameters;
use crate::reno::{self, Reno};
use crate::{Ack, CongestionControl, Echo, Path, Response, Window};

parameters! {}

/// Reno on each subflow.
#[derive(Clone, Debug)]
pub struct Uncoupled(Reno);

impl Uncoupled {
    /// One-line description for the registry.
    pub const ABOUT: &str = "uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)";

    /// Creates the state of a new connection.
    pub fn new(_: Parameters) -> Self {
        Self(Reno::new(reno::Parameters {}))
    }
}

impl CongestionControl for Uncoupled {
    fn echo(&self) -> Echo {
        self.0.echo()
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.0.on_ack(w, s, ack);
    }

    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.0.on_mark(w, s);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.0.on_fast_retransmit(w, s);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.0.on_timeout(w, s, first);
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        self.0.on_undo(w, s);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

impl Response for Uncoupled {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        self.0.windows(paths, cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, cwnds, in_avoidance};

    #[test]
    fn every_subflow_adds_a_packet_a_round_and_halves_alone() {
        let (mut cc, mut w) = (Uncoupled::new(Parameters {}), in_avoidance(&[10.0, 4.0]));
        cc.on_ack(&mut w, 0, ack(10));
        cc.on_ack(&mut w, 1, ack(4));
        assert_eq!(cwnds(&w), [11.0, 5.0]);
        cc.on_fast_retransmit(&mut w, 0);
        cc.on_timeout(&mut w, 1, true);
        assert_eq!(cwnds(&w), [5.5, 1.0]);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("uncoupled", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            step.adds_for_each_packet(1.0 / step.own().0.cwnd);
            step.halves_at_a_loss(2.0);
        });
    }
}
