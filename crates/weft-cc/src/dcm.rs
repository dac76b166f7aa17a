//! DCM: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (version of October 2020), section 2.1, equations (1) and (2).
//!
//! "Each subflow of DCM follows DCTCP to reduce its cwnd and MPTCP to increase its cwnd", and so does this file: equation (1) is
//! [`Lia`](crate::Lia)'s, equation (2) [`Dctcp`](crate::Dctcp)'s.
//!
//! Where the paper is silent: `a` of equation (1) is computed at every acknowledgement, as the list above the equation suggests and the
//! authors' simulator does; `per_ack = 0` computes it once a round. Slow start ends at the first mark, with a cut by the
//! `alpha` of that moment. A timeout is Reno's.

use crate::{Ack, Allowed, CongestionControl, Dctcp, Echo, Lia, Parameter, Round, Window};

/// MPTCP's increase with DCTCP's decrease.
#[derive(Clone, Debug)]
pub struct Dcm {
    increase: Lia,
    decrease: Dctcp,
}

impl Dcm {
    /// One line about it.
    pub const ABOUT: &str = "DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)";
    /// What can be set, in the order [`new`](Self::new) takes it.
    pub const PARAMETERS: [Parameter; 4] = [
        Dctcp::PARAMETERS[0],
        Dctcp::PARAMETERS[1],
        Dctcp::PARAMETERS[2],
        Parameter {
            name: "per_ack",
            default: 1.0,
            allowed: Allowed::Switch,
            about: "compute a of equation (1) at every acknowledgement instead of once a round",
        },
    ];

    /// A fresh connection's state.
    pub fn new([alpha0, g, cwnd_min, per_ack]: [f64; 4]) -> Self {
        Self {
            increase: Lia::new([0.0, cwnd_min, per_ack]),
            decrease: Dctcp::new([alpha0, g, cwnd_min]),
        }
    }
}

impl CongestionControl for Dcm {
    fn echo(&self) -> Echo {
        self.decrease.echo()
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.decrease.on_open(w, s);
        self.increase.on_open(w, s);
    }

    /// For each ACK on subflow s: `w_s <- w_s + min(a / w_total, 1 / w_s)`.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.increase.on_ack(w, s, ack);
    }

    /// For the first marked ACK in a window: `w_s <- w_s (1 - alpha_s / 2)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.decrease.on_mark(w, s);
        self.increase.couple(w);
    }

    /// Equation (2), and equation (1) where it is not computed at every acknowledgement.
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        self.decrease.on_round(w, s, round);
        self.increase.on_round(w, s, round);
    }

    /// For each loss: `w_s <- w_s / 2`.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.increase.on_fast_retransmit(w, s);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        self.increase.on_timeout(w, s);
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.increase.on_close(w, s);
    }
}
