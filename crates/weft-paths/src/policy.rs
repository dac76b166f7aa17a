//! The trait of a path policy.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{Size, SpecError, Time};

/// The paths from one host to another, as a policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// How many there are, at least 1.
    pub count: u64,
    /// Number of branches at the point where the paths first diverge. Each branch has `count / branches`
    /// paths with consecutive numbers.
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
    /// Number of the subflow in its connection.
    pub subflow: u32,
    /// How many subflows the connection may have.
    pub subflows: u32,
    /// Is it the receiver's direction?
    pub back: bool,
}

impl Way {
    /// One word that identifies it.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.flow) << 32 | u64::from(self.subflow) << 1 | u64::from(self.back)
    }
}

/// When the packets of one direction of a subflow change their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// They keep the path that was chosen when the subflow opened; nothing is asked when they are sent.
    Never,
    /// Each packet takes a new path.
    EveryPacket,
    /// The first packet after a longer pause takes a new path.
    AfterGap(Time),
    /// The transport turns to another one; see [`Watching`].
    WhenTold,
}

/// How a sender tells which of the paths of its subflows are fast. It sends no new data on slow ones, and what is outstanding on them
/// again on fast ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watching {
    /// A path is slow if data has been outstanding on it, and no acknowledgement has come, for so long. It is looked at as often.
    pub patience: Time,
    /// And for so many smoothed round-trip times.
    pub patience_rtts: f64,
    /// All paths count as fast again at multiples of this.
    pub forgets: Time,
    /// The loss rate by which [`PathPolicy::subflows_at`] is asked is measured over this.
    pub measures: Time,
    /// Do all connections of a host know what one has learnt?
    pub shared: bool,
}

/// A policy with its fields set.
pub trait PathPolicy {
    /// Are its fields in range?
    ///
    /// # Errors
    /// The field, by its path.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
    /// The number of the path, below `paths.count`, that the packets of one direction of a subflow take when it opens.
    fn path(&self, paths: Paths, seed: u64, way: Way) -> u64;
    /// When the packets of a subflow change their path, in the receiver's direction or in the sender's.
    fn changes(&self, subflow: u32, back: bool) -> Changes {
        let _ = (subflow, back);
        Changes::Never
    }
    /// The path after `n` changes.
    fn path_after(&self, paths: Paths, seed: u64, way: Way, n: u64) -> u64 {
        let _ = n;
        self.path(paths, seed, way)
    }
    /// How many duplicate acknowledgements indicate a loss on a subflow whose packets overtake each other;
    /// none for `usual`.
    fn duplicates(&self, paths: Paths, subflow: u32, usual: u32) -> Option<u32> {
        let _ = (paths, subflow, usual);
        None
    }
    /// How many bytes the first subflow carries before the others take over; none if it carries data as they
    /// do.
    fn scatters_until(&self) -> Option<Size> {
        None
    }
    /// How senders watch the paths of their subflows; none: they do not.
    fn watching(&self) -> Option<Watching> {
        None
    }
    /// On how many paths at most a connection sends that watches them, at this loss rate.
    fn subflows_at(&self, loss: f64) -> u32 {
        let _ = loss;
        u32::MAX
    }
}
