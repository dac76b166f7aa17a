//! DCTCP: RFC 8257, section 3.3; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1, equations (1) and (2).
//!
//! Each subflow is on its own.
//!
//! Where they are silent or differ: `alpha` starts at 1 (RFC 8257, section 4.2), at 0 in the SIGCOMM paper's simulations and in
//! AMP's: `alpha0`. Slow start ends at the first mark, with a cut by the `alpha` of that moment. The floor `cwnd_min` is for cuts
//! by a mark: 2 in RFC 8257's implementations, 1 in later ones. Loss is Reno's (RFC 8257, section 3.4). `alpha` counts packets,
//! not bytes.

use crate::reno::{collapse, grow, halve};
use crate::{Ack, Allowed, CongestionControl, Echo, Parameter, Round, Window};

/// Estimate of the fraction of marked packets, 0 to 1.
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
    pub const PARAMETERS: [Parameter; 3] = [
        Parameter {
            name: "alpha0",
            default: 1.0,
            allowed: Allowed::Number(0.0, 1.0),
            about: "alpha of a new subflow; RFC 8257 and Linux start at 1, AMP's simulations at 0",
        },
        Parameter {
            name: "g",
            default: 1.0 / 16.0,
            allowed: Allowed::Number(1.0 / 1024.0, 1.0),
            about: "weight of the newest round in alpha",
        },
        Parameter {
            name: "cwnd_min",
            default: 2.0,
            allowed: Allowed::Whole(1, 1000),
            about: "floor of a cut by a mark, in packets",
        },
    ];

    /// A fresh connection's state.
    pub fn new([alpha0, g, cwnd_min]: [f64; 3]) -> Self {
        Self { alpha0, g, cwnd_min }
    }
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

    /// Equation (1): `alpha <- (1 - g) alpha + g F`.
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        if round.acked > 0 {
            let fraction = f64::from(round.marked) / f64::from(round.acked);
            let alpha = &mut w[s].slot[ALPHA];
            *alpha = (1.0 - self.g) * *alpha + self.g * fraction;
        }
    }

    /// Equation (2): `cwnd <- cwnd (1 - alpha / 2)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let w = &mut w[s];
        w.cwnd = (w.cwnd * (1.0 - w.slot[ALPHA] / 2.0)).max(self.cwnd_min);
        w.ssthresh = w.cwnd;
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        collapse(&mut w[s]);
    }
}
