//! Flowlets: Vanini et al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet
//! Switching" (NSDI 2017), section 2.
//!
//! After a pause longer than the difference of the paths' delays a new path does not reorder
//! packets, so one is drawn. In the paper, switches have flowlets in each direction; in this policy
//! acknowledgements keep their path, because they come without pauses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::Time;

use crate::draw::draw;
use crate::{Granularity, PathPolicy, Paths, SubflowDirection};

/// A path drawn for every flowlet, that is, every burst of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flowlet {
    /// Gap after which a packet begins a new flowlet: the paper's timeout, 500 us in its section 5.
    #[serde(default = "default_gap")]
    pub gap: Time,
}

fn default_gap() -> Time {
    Time::from_us(500)
}

impl Flowlet {
    pub(crate) const ABOUT: &str =
        "a path drawn for every flowlet, a burst of a subflow's packets after a gap";
}

impl PathPolicy for Flowlet {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        self.nth_path(paths, seed, direction, 0)
    }

    fn granularity(&self, _: u32, reverse: bool) -> Granularity {
        if reverse {
            Granularity::Subflow
        } else {
            Granularity::Flowlet(self.gap)
        }
    }

    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        let hash = draw(&[seed, direction.hash_key(), n, FLOWLET_DOMAIN]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }
}

/// Domain tag that separates these draws from others for the same subflow.
const FLOWLET_DOMAIN: u64 = 0x666C_6F77;
