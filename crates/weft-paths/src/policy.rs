//! What a policy is asked.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{Size, Time};

/// The paths from one host to another, as a policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// How many there are, at least 1.
    pub count: u64,
    /// How many ways there are where they first part; each begins `count / branches` paths, numbered in a row.
    pub branches: u64,
}

impl Paths {
    /// Between two hosts; none if no path connects them.
    pub fn between(fabric: &Fabric, from: NodeId, to: NodeId) -> Option<Self> {
        let count = fabric.routing.paths(from, to);
        (count > 0).then(|| Self {
            count,
            branches: fabric.routing.branches(from, to),
        })
    }
}

/// One direction of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index of the flow, which stands for the connection's addresses and ports.
    pub flow: u32,
    /// Which of the connection's subflows.
    pub subflow: u32,
    /// How many subflows the connection may have.
    pub subflows: u32,
    /// Is it the receiver's direction?
    pub back: bool,
}

impl Way {
    /// What tells it from others, in one word.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.flow) << 32 | u64::from(self.subflow) << 1 | u64::from(self.back)
    }
}

/// When the packets of one direction of a subflow change their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// They keep the one of when the subflow opened, and nothing is asked when they are sent.
    Never,
    /// Each packet takes another one.
    EveryPacket,
    /// The first packet after a longer pause takes another one.
    AfterGap(Time),
}

/// A policy with its fields set.
pub trait PathPolicy {
    /// The number of the path, below `paths.count`, that the packets of one direction of a subflow take when it opens.
    fn path(&self, paths: Paths, seed: u64, way: Way) -> u64;
    /// When those of a subflow take another one, in the receiver's direction or in the sender's.
    fn changes(&self, subflow: u32, back: bool) -> Changes {
        let _ = (subflow, back);
        Changes::Never
    }
    /// The path after `n` changes.
    fn path_after(&self, paths: Paths, seed: u64, way: Way, n: u64) -> u64 {
        let _ = n;
        self.path(paths, seed, way)
    }
    /// How many duplicate acknowledgements tell of a loss on a subflow whose packets overtake each other, where `usual` do otherwise;
    /// none: it is as usual.
    fn duplicates(&self, paths: Paths, subflow: u32, usual: u32) -> Option<u32> {
        let _ = (paths, subflow, usual);
        None
    }
    /// The first subflow carries so many bytes, then the others take over; none: it carries data as they do.
    fn scatters_until(&self) -> Option<Size> {
        None
    }
}
