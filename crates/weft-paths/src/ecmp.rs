//! Equal-cost multipath: Hopps, "Analysis of an Equal-Cost Multi-Path Algorithm" (RFC 2992),
//! section 1.
//!
//! Switches hash the identity of a subflow, its five-tuple, so that all its packets in one
//! direction take one path. The path is random, and two subflows of a connection may share it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{draw, uniform_below};
use crate::{PathPolicy, Paths, SubflowDirection};

/// A path drawn for each subflow, and another for its acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecmp {}

impl Ecmp {
    pub(crate) const ABOUT: &str = "a path drawn by hash for each subflow and direction, as switches do";
}

impl PathPolicy for Ecmp {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        let hash = draw(&[seed, direction.hash_key()]);
        // The choice of a switch must not predict that of the next one.
        let each = paths.count / paths.branches;
        uniform_below((hash >> 32) as u32, paths.branches) * each + uniform_below(hash as u32, each)
    }
}
