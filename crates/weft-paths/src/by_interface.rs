//! Subflows bound to interfaces: a host with several interfaces opens a subflow over each, starting
//! with the first one (RFC 8684, section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathPolicy, Paths, SubflowDirection};

/// Subflow s takes path s, in both directions; the first path follows the last. It keeps the interfaces at both ends: while
/// one of their cables is down, it times out, and other subflows carry the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByInterface {}

impl ByInterface {
    pub(crate) const ABOUT: &str = "path s for subflow s, as if every path had an interface of its own";
}

impl PathPolicy for ByInterface {
    fn path(&self, paths: Paths, _: u64, direction: SubflowDirection) -> u64 {
        u64::from(direction.subflow) % paths.count
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }
}
