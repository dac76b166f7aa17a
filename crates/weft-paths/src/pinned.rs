//! Paths by hand: who lays out traffic says which path a transport's flows take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathPolicy, Paths, Way};

/// Every subflow takes the path of this number, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The path's number, from 0; beyond the last path the first one follows.
    #[serde(default)]
    pub path: u32,
}

impl Pinned {
    pub(crate) const ABOUT: &str = "the path of a given number, as where somebody lays out paths by hand";
}

impl PathPolicy for Pinned {
    fn path(&self, paths: Paths, _: u64, _: Way) -> u64 {
        u64::from(self.path) % paths.count
    }
}
