//! Subflows spread over distinct paths, as many as there are. A path manager with knowledge of the
//! fabric does this. Raiciu et al., "Improving Datacenter Performance and Robustness with Multipath
//! TCP" (SIGCOMM 2011), section 4, compare random paths with it.
//!
//! Paths that diverge early have distant numbers, so the subflows go to all branches in rotation,
//! and within each branch to paths at equal steps. A number within a branch determines the next
//! switches and the receiver's link. So each branch begins at a different number, and subflows of
//! different branches do not meet at the receiver's side. The first path of a connection is drawn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{draw, uniform_below};
use crate::{PathPolicy, Paths, SubflowDirection};

/// No two subflows share a path until every path has a subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disjoint {}

impl Disjoint {
    pub(crate) const ABOUT: &str =
        "subflows over distinct paths, spread over as many branches as possible; the first path is drawn";
}

impl PathPolicy for Disjoint {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        let subflow = u64::from(direction.subflow) % paths.count;
        let each = paths.count / paths.branches;
        let hash = draw(&[seed, direction.connection_key(), DISJOINT_DOMAIN]);
        let branch = (uniform_below((hash >> 32) as u32, paths.branches) + subflow) % paths.branches;
        // The subflows of a branch, of which at most `each` are counted.
        let (turn, turns) = (
            subflow / paths.branches,
            u64::from(direction.subflows)
                .div_ceil(paths.branches)
                .clamp(1, each),
        );
        let step = u128::from(turn) * u128::from(each) / u128::from(turns);
        let begins = u128::from(subflow % paths.branches) * u128::from(stride(each)) % u128::from(each);
        let within = (uniform_below(hash as u32, each) + step as u64 + begins as u64) % each;
        branch * each + within
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }
}

/// Domain tag that separates these draws from others for the same flow.
const DISJOINT_DOMAIN: u64 = 0x64_6973;

/// Returns the difference between the first numbers of the branches. It has no common factor with
/// `each`, so that the last choices differ, and is near the golden section of `each`, so that the
/// other choices differ.
fn stride(each: u64) -> u64 {
    let near = (each as f64 * 0.382) as u64;
    (near.max(1)..each.max(2))
        .find(|&n| gcd(n, each) == 1)
        .unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
