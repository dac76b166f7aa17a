//! MMPTCP: Kheirkhah, Wakeman and Parisis, "MMPTCP: A Multipath Transport Protocol for Data
//! Centers" (INFOCOM 2016), section III. Short flows scatter their packets over all paths in one
//! window; a flow that has grown large continues with several subflows.
//!
//! The first subflow scatters its packets. Once a number of bytes of the connection is
//! acknowledged, the others join, with paths drawn by hash. When the first of them has joined, the
//! scattering subflow takes no new data, and it closes when all its data is acknowledged.
//!
//! The paper adapts the threshold of duplicate acknowledgements to the number of paths. Its authors'
//! simulator adds that number to the usual threshold, except between hosts of one rack, and sends
//! acknowledgements along one path. Both are defaults here.
//!
//! The usual threshold waits for three later packets on the same path. If packets are scattered over
//! n paths, every n-th takes the same path. A `dupack_threshold` of 3 n therefore keeps spurious
//! retransmissions rare. With RACK, as many later packets must have arrived, and the segment must be
//! overtaken by more than a smoothed RTT. That is the maximum of RACK's reordering window (RFC 8985,
//! section 6.2, step 4). The window alone is too short while a first burst fills queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::Size;

use crate::draw::draw;
use crate::{Ecmp, Granularity, PathPolicy, Paths, SubflowDirection};

/// One subflow that scatters its packets over all paths, and several subflows after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mmptcp {
    /// Acknowledged bytes after which the additional subflows join: 100 kB in the paper's section
    /// IV.
    #[serde(default = "default_threshold")]
    pub threshold: Size,
    /// Number of duplicate acknowledgements that indicate a loss among scattered packets. The
    /// default is the profile's threshold, plus the number of paths if there are several.
    #[schemars(range(min = 1))]
    pub dupack_threshold: Option<u32>,
}

fn default_threshold() -> Size {
    Size(100_000)
}

impl Mmptcp {
    pub(crate) const ABOUT: &str = "scatters the first subflow's packets over all paths; after a number of bytes, other subflows take over";

    /// Returns the threshold of duplicate acknowledgements on a subflow whose packets are scattered;
    /// `None` for `usual`.
    pub fn dupack_threshold(&self, paths: Paths, subflow: u32, usual: u32) -> Option<u32> {
        let further = match u32::try_from(paths.count) {
            Ok(1) => 0,
            Ok(count) => count,
            Err(_) => u32::MAX,
        };
        let by_default = usual.saturating_add(further);
        (subflow == 0).then(|| self.dupack_threshold.unwrap_or(by_default).max(1))
    }
}

impl PathPolicy for Mmptcp {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        self.nth_path(paths, seed, direction, 0)
    }

    fn granularity(&self, subflow: u32, reverse: bool) -> Granularity {
        if subflow == 0 && !reverse {
            Granularity::Packet
        } else {
            Granularity::Subflow
        }
    }

    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        if direction.subflow > 0 {
            return Ecmp {}.path(paths, seed, direction);
        }
        let hash = draw(&[seed, direction.hash_key(), n, MMPTCP_DOMAIN]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }
}

/// Domain tag that separates these draws from others for the same subflow.
const MMPTCP_DOMAIN: u64 = 0x6D_6D70;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_of_duplicates_follows_the_paths() {
        let threshold_of = |duplicates, count, subflow| {
            let policy = Mmptcp {
                threshold: Size(1),
                dupack_threshold: duplicates,
            };
            policy.dupack_threshold(Paths { count, branches: 1 }, subflow, 3)
        };
        assert_eq!(threshold_of(None, 1, 0), Some(3));
        assert_eq!(threshold_of(None, 16, 0), Some(19));
        assert_eq!(threshold_of(Some(5), 16, 0), Some(5));
        assert_eq!(threshold_of(Some(5), 16, 1), None);
        assert_eq!(threshold_of(None, u64::MAX, 0), Some(u32::MAX));
    }
}
