//! Valiant load balancing: the sender chooses a path uniformly at random, independently of the
//! switches. Raiciu et al., "Data Center Networking with Multipath TCP" (2010), section 2, and
//! Greenberg et al., "VL2" (2009), section 4.2.2, use it in this form.
//!
//! In contrast to ECMP the sender chooses: acknowledgements return over the path of the same
//! number, because the sender has chosen the switch in the middle for both directions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::draw;
use crate::{PathPolicy, Paths, SubflowDirection};

/// A path drawn for each subflow by the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vlb {}

impl Vlb {
    pub(crate) const ABOUT: &str =
        "a path drawn by the sender for each subflow, uniformly, for both directions";
}

impl PathPolicy for Vlb {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        let hash = draw(&[
            seed,
            direction.connection_key() ^ u64::from(direction.subflow),
            VLB_DOMAIN,
        ]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }
}

/// Domain tag that separates these draws from others for the same subflow.
const VLB_DOMAIN: u64 = 0x76_6C62;
