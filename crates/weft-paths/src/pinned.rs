//! Pinned paths: the spec sets the path of a transport's flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathPolicy, Paths, SubflowDirection};

/// All subflows take the path with one number, in both directions. They keep the interfaces at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Number of the path, from 0; the first path follows the last.
    #[serde(default)]
    pub path: u32,
}

impl Pinned {
    pub(crate) const ABOUT: &str = "the path with a given number, for every subflow";
}

impl PathPolicy for Pinned {
    fn path(&self, paths: Paths, _: u64, _: SubflowDirection) -> u64 {
        u64::from(self.path) % paths.count
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }
}
