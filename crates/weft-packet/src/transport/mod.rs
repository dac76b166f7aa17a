//! TCP and multipath TCP between two hosts. Single path is a connection with one subflow.
//!
//! Not modelled: SYN cookies, address advertisement, checksums, receive-buffer auto-tuning and pacing. The third packet of a
//! handshake is the first data packet, but for joins that are confirmed, and nothing is torn down, unless a profile has
//! `full_handshakes`.

mod connection;
mod handshakes;
mod host;
mod joining;
mod latency;
mod programs;
mod prr;
mod rack;
mod reassembly;
mod receiver;
mod recovery;
mod retiring;
mod rtt;
#[cfg(test)]
mod rules;
mod segments;
mod sender;
mod subflow;
mod timers;
mod tracing;
mod undo;

pub use connection::Connection;
pub use host::{Host, Shared, TimerKind, timer_key};
pub use programs::HANDOVER;
pub use tracing::FlowProbes;
