//! Flowlets: Vanini et al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching" (NSDI 2017), section 2.
//!
//! After a pause longer than the difference of the paths' delays a new path does not reorder packets, so one
//! is drawn. In the paper, switches have flowlets in each direction; here acknowledgements keep their path,
//! because they come without pauses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::Time;

use crate::draw::draw;
use crate::{Changes, PathPolicy, Paths, Way};

/// A path drawn for every burst of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flowlet {
    /// The pause after which a packet begins a new flowlet: the paper's timeout, 500 us in its section 5.
    #[serde(default = "half_a_millisecond")]
    pub gap: Time,
}

fn half_a_millisecond() -> Time {
    Time::from_us(500)
}

impl Flowlet {
    pub(crate) const ABOUT: &str = "a path drawn for every burst of a subflow's packets, after a gap";
}

impl PathPolicy for Flowlet {
    fn path(&self, paths: Paths, seed: u64, way: Way) -> u64 {
        self.path_after(paths, seed, way, 0)
    }

    fn changes(&self, _: u32, back: bool) -> Changes {
        if back {
            Changes::Never
        } else {
            Changes::AfterGap(self.gap)
        }
    }

    fn path_after(&self, paths: Paths, seed: u64, way: Way, n: u64) -> u64 {
        let hash = draw(&[seed, way.word(), n, FLOWLET]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }
}

/// Tells these draws from others for the same subflow.
const FLOWLET: u64 = 0x666C_6F77;
