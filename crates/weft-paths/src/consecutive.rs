//! Consecutive paths, as in the testbed of Raiciu et al., "Data Center Networking with Multipath
//! TCP" (2010), section 4: every path has a pair of addresses. The first subflow's pair is chosen
//! at random, additional subflows take the next ones, and acknowledgements return between the same
//! addresses. The topology decides which switches they pass (`Routing::append_ports`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{draw, uniform_below};
use crate::{PathPolicy, Paths, SubflowDirection};

/// A path drawn for the first subflow; the other subflows take the paths with the next numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consecutive {}

impl Consecutive {
    pub(crate) const ABOUT: &str = "a path drawn for the first subflow, the next paths for additional subflows; one number for both directions";
}

impl PathPolicy for Consecutive {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        let hash = draw(&[seed, direction.connection_key()]);
        let first = uniform_below((hash >> 32) as u32, paths.count);
        (first + u64::from(direction.subflow) % paths.count) % paths.count
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }
}
