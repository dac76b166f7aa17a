//! Modes of TCP that come with a path policy.

use weft_paths::{Mmptcp, Opn, Policy};

/// The behaviour of TCP in addition to sending on the paths that the policy chooses.
#[derive(Clone, Copy, Debug)]
pub enum TcpMode<'a> {
    /// Nothing.
    Standard,
    /// The first subflow scatters its packets over all paths until other subflows replace it.
    Scatter(&'a Mmptcp),
    /// Senders monitor their paths, send no new data on slow ones, and reinject what is outstanding
    /// there.
    Monitor(&'a Opn),
}

impl<'a> TcpMode<'a> {
    /// Returns the mode of a policy.
    pub fn from_policy(policy: &'a Policy) -> Self {
        match policy {
            Policy::Mmptcp(scatter) => Self::Scatter(scatter),
            Policy::Opn(monitor) => Self::Monitor(monitor),
            _ => Self::Standard,
        }
    }

    /// Returns the parameters of the scatter phase, if there is one.
    pub fn scatter(self) -> Option<&'a Mmptcp> {
        match self {
            Self::Scatter(scatter) => Some(scatter),
            Self::Standard | Self::Monitor(_) => None,
        }
    }

    /// Returns the parameters of path monitoring, if there is any.
    pub fn monitor(self) -> Option<&'a Opn> {
        match self {
            Self::Monitor(monitor) => Some(monitor),
            Self::Standard | Self::Scatter(_) => None,
        }
    }
}
