//! Pinned paths: the spec sets the path of a transport's flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathPolicy, Paths, SubflowDirection};

/// Every subflow takes the path of this number, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The path's number, from 0; the first path follows the last.
    #[serde(default)]
    pub path: u32,
}

impl Pinned {
    pub(crate) const ABOUT: &str = "the path of a given number, for paths laid out by hand";
}

impl PathPolicy for Pinned {
    fn path(&self, paths: Paths, _: u64, _: SubflowDirection) -> u64 {
        u64::from(self.path) % paths.count
    }
}
