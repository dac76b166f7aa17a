//! TCP and multipath TCP between two hosts. A single-path transport is a connection with one
//! subflow.
//!
//! Not modelled: SYN cookies, address advertisement, checksums, receive-buffer auto-tuning. Unless
//! a profile has `full_handshakes`, no connection is torn down and the third packet of a handshake
//! is the first data packet, except for joins that are confirmed.

mod ack;
mod ack_event;
mod admission;
mod close;
mod congestion;
mod connection;
mod endpoint;
mod expiry;
mod kind;
mod loss_detection;
mod open;
mod output;
mod path;
mod path_monitor;
mod path_selection;
mod receiver;
mod recovery;
mod rtt;
#[cfg(test)]
mod rules;
mod scatter_phase;
mod scheduling;
mod segments;
mod send_data;
mod send_queues;
mod state;
mod subflow;
mod timers;
pub mod wire;

pub use endpoint::TcpEndpoint;

/// Index of TCP among the kinds of transport.
pub const INDEX: usize = 0;
