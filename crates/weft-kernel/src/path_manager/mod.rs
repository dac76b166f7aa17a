//! The path manager: opens subflows, and informs the kernel which are suppressed.
//!
//! It is the kernel's userspace path manager (`net.mptcp.pm_type=1`), spoken to in generic netlink. `connections` decides
//! and knows neither sockets nor clocks; `channel` and `sock_diag` speak with the kernel.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod addresses;
mod channel;
mod connections;
mod counters;
mod hysteresis;
mod mptcp_pm;
mod namespace;
mod peers;
mod sock_diag;

use std::net::{IpAddr, SocketAddr};

pub use addresses::{Address, AddressChanges, eligible, present};
pub use channel::{Commands, Events, Refusal, endpoints, limits, open, request};
pub use connections::{
    CommandBatch, Connection, Connections, Decision, FourTuple, JoinConfig, JoinPolicy, MAX_CONNECTIONS,
    UncoupledReason,
};
pub use counters::{Counters, MptcpCounters};
pub use hysteresis::Hysteresis;
pub use mptcp_pm::{Endpoint, Limits};
pub use namespace::{NAMED, Namespace};
pub use sock_diag::{DiagSubflow, Listener, listeners, mptcp_subflows, sockets};

/// The kernel's identifier of a connection, unique on the machine while the connection exists.
pub type Token = u32;

/// A subflow as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subflow {
    /// Identifier of the local address; 0 is the first subflow's.
    pub local_id: u8,
    /// Identifier of the remote address; 0 is the first subflow's.
    pub remote_id: u8,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Whether this end has flagged it as a backup; the peer's request is another flag.
    pub backup: bool,
}

impl Subflow {
    /// Returns true if the four-tuples are equal; flags are ignored.
    pub fn matches(&self, other: &Subflow) -> bool {
        self.four_tuple() == other.four_tuple()
    }

    /// Local and remote address and port.
    pub fn four_tuple(&self) -> FourTuple {
        (self.local, self.remote)
    }
}

/// A path-manager event of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection can take additional subflows.
    Established {
        /// The connection.
        token: Token,
        /// First subflow of the connection.
        initial: Subflow,
        /// Whether the connection was accepted by this host.
        server: bool,
    },
    /// A connection has closed.
    Closed {
        /// The connection.
        token: Token,
    },
    /// The peer has a further address.
    Announced {
        /// The connection.
        token: Token,
        /// The peer's identifier for it.
        id: u8,
        /// The address.
        address: IpAddr,
        /// The port, 0 for the connection's.
        port: u16,
    },
    /// The peer has an address no more.
    Removed {
        /// The connection.
        token: Token,
        /// The peer's identifier for it.
        id: u8,
    },
    /// An additional subflow is established.
    SubflowEstablished {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
    },
    /// A subflow has closed.
    SubflowClosed {
        /// The connection.
        token: Token,
        /// The subflow.
        subflow: Subflow,
    },
}

impl Event {
    /// The connection.
    pub fn token(&self) -> Token {
        match *self {
            Self::Established { token, .. }
            | Self::Closed { token }
            | Self::Announced { token, .. }
            | Self::Removed { token, .. }
            | Self::SubflowEstablished { token, .. }
            | Self::SubflowClosed { token, .. } => token,
        }
    }
}

/// A command to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Open an additional subflow.
    CreateSubflow {
        /// The connection.
        token: Token,
        /// Local address; the port is the kernel's choice.
        local: IpAddr,
        /// The local address's identifier.
        local_id: u8,
        /// Remote address and port.
        remote: SocketAddr,
        /// Whether the subflow starts as a backup.
        backup: bool,
    },
    /// Make a subflow a backup, or a regular one again.
    SetBackup {
        /// The connection.
        token: Token,
        /// The subflow's local address and port.
        local: SocketAddr,
        /// The subflow's remote address and port.
        remote: SocketAddr,
        /// Whether the subflow becomes a backup.
        backup: bool,
    },
    /// Close a subflow.
    DestroySubflow {
        /// The connection.
        token: Token,
        /// The subflow's local address and port.
        local: SocketAddr,
        /// The subflow's remote address and port.
        remote: SocketAddr,
    },
    /// Announces an additional address to the peer.
    Announce {
        /// The connection.
        token: Token,
        /// The address.
        address: IpAddr,
        /// Identifier of the address.
        id: u8,
        /// Whether subflows of the address are backups.
        backup: bool,
    },
    /// Notifies the peer that an announced address no longer exists.
    RemoveAddress {
        /// The connection.
        token: Token,
        /// The address's identifier.
        id: u8,
    },
}
