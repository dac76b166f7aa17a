//! The trait of a path policy.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{Size, SpecError, Time};

/// The paths from one host to another, as a policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Number of paths, at least 1.
    pub count: u64,
    /// Number of branches at the point where the paths first diverge. Each branch has `count /
    /// branches` paths with consecutive numbers.
    pub branches: u64,
}

impl Paths {
    /// Returns the paths between two hosts; `None` if no path connects them.
    pub fn between(fabric: &Fabric, from: NodeId, to: NodeId) -> Option<Self> {
        let count = fabric.routing.path_count(from, to);
        (count > 0).then(|| Self {
            count,
            branches: fabric.routing.first_branches(from, to),
        })
    }
}

/// One direction of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowDirection {
    /// Identity of the flow, which stands for the connection's addresses and ports.
    pub flow: u64,
    /// Number of the subflow in its connection.
    pub subflow: u32,
    /// Maximum number of subflows of the connection.
    pub subflows: u32,
    /// True for the direction of the acknowledgements, from the receiver to the sender.
    pub reverse: bool,
}

impl SubflowDirection {
    /// Returns a number that identifies the connection, for hashes.
    pub(crate) fn connection_key(self) -> u64 {
        self.flow.rotate_left(32)
    }

    /// Returns a number that identifies the direction, for hashes.
    pub fn hash_key(self) -> u64 {
        self.connection_key() ^ (u64::from(self.subflow) << 1 | u64::from(self.reverse))
    }
}

/// Granularity of path changes of one direction of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All packets keep the path that was chosen when the subflow opened.
    Subflow,
    /// Each packet takes a new path.
    Packet,
    /// The first packet after a longer pause takes a new path.
    Flowlet(Time),
    /// The path changes when the path monitor requests it; see [`PathMonitorConfig`].
    OnRequest,
}

/// Parameters of path monitoring, by which a sender finds the fast paths of its subflows. It sends
/// no new data on slow paths, and reinjects their outstanding data on fast ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathMonitorConfig {
    /// A path is slow if data has been outstanding on it for this long without an acknowledgement.
    /// Paths are checked at this interval.
    pub timeout: Time,
    /// Minimum of the timeout in smoothed round-trip times.
    pub timeout_rtts: f64,
    /// Interval at whose multiples all paths count as fast again.
    pub reset_interval: Time,
    /// Interval over which the loss rate for [`PathPolicy::max_subflows`] is measured.
    pub loss_interval: Time,
    /// True if all connections of a host share the state of paths.
    pub per_host: bool,
}

/// A policy with its fields set.
pub trait PathPolicy {
    /// Checks that the fields are in range.
    ///
    /// # Errors
    /// Returns an error with the path of the field.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
    /// Returns the number of the path, below `paths.count`, that the packets of one direction of a
    /// subflow take when the subflow opens.
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64;
    /// Returns the granularity of path changes of a subflow's packets, in the ACK direction or the
    /// data direction.
    fn granularity(&self, subflow: u32, reverse: bool) -> Granularity {
        let _ = (subflow, reverse);
        Granularity::Subflow
    }
    /// Returns the path after `n` changes.
    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        let _ = n;
        self.path(paths, seed, direction)
    }
    /// Returns the threshold of duplicate acknowledgements on a subflow whose packets are
    /// reordered; `None` for `usual`.
    fn dupack_threshold(&self, paths: Paths, subflow: u32, usual: u32) -> Option<u32> {
        let _ = (paths, subflow, usual);
        None
    }
    /// Returns the bytes of the scatter phase, which the first subflow carries before the others
    /// join; `None` if there is no such phase.
    fn scatter_bytes(&self) -> Option<Size> {
        None
    }
    /// Returns the parameters of path monitoring; `None` if senders do not monitor paths.
    fn path_monitor(&self) -> Option<PathMonitorConfig> {
        None
    }
    /// Returns the maximum number of subflows that a connection with path monitoring uses at this
    /// loss rate.
    fn max_subflows(&self, loss: f64) -> u32 {
        let _ = loss;
        u32::MAX
    }
}
