//! The trait of a path policy.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{SpecError, Time};

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
    /// The path changes when the transport requests it.
    OnRequest,
    /// The path changes when the policy decides it, at a [`PathEvent`].
    OnEvent,
}

/// An event of a sender that a policy with [`Granularity::OnEvent`] is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The end of a round, that is, of the data of one round-trip time.
    Round {
        /// Number of packets acknowledged in the round.
        acked: u32,
        /// Number of packets among them that were marked.
        marked: u32,
        /// True if nothing is outstanding.
        is_idle: bool,
    },
    /// The transmission of a packet while nothing else is outstanding.
    Start,
    /// A retransmission timeout, or the timeout of a SYN.
    Timeout {
        /// True if congestion control reduces the window for the timeout, false for a SYN and for a
        /// repeated timeout of one segment.
        is_loss: bool,
        /// Uniformly random bits.
        random: u64,
    },
}

/// State of a policy with [`Granularity::OnEvent`], for one direction of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// Number of consecutive rounds with congestion.
    pub congested_rounds: u32,
    /// Time from which marks may change the path; 0 without a timeout.
    pub suspended_until: Time,
}

/// A policy with its fields set. It only chooses paths: what else a transport does with a policy of
/// this name is a mode of the transport.
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
    /// Returns true if a subflow keeps its interfaces, that is, the first and the last link of its
    /// path. It has their addresses (RFC 8684, section 3.2), so that its packets take no other
    /// interfaces. If this is false, a host has one address for all its interfaces.
    fn keeps_interfaces(&self) -> bool {
        false
    }
    /// Returns the granularity of path changes of a subflow's packets, in the ACK direction or the
    /// data direction.
    fn granularity(&self, _subflow: u32, _reverse: bool) -> Granularity {
        Granularity::Subflow
    }
    /// Updates the state at an event at time `now`. Returns true if the path changes, to that of
    /// [`nth_path`](Self::nth_path) after one more change. Only for [`Granularity::OnEvent`].
    fn on_event(&self, _state: &mut PathState, _event: PathEvent, _now: Time) -> bool {
        false
    }
    /// Returns the path after `n` changes.
    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, _n: u64) -> u64 {
        self.path(paths, seed, direction)
    }
}
