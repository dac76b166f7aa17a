//! TCP and multipath TCP between two hosts. A single-path transport is a connection with one
//! subflow.
//!
//! Not modelled: SYN cookies, address advertisement, checksums, receive-buffer auto-tuning. Unless
//! a profile has `full_handshakes`, no connection is torn down and the third packet of a handshake
//! is the first data packet, except for joins that are confirmed.

mod ack;
mod application;
mod close;
mod connection;
mod generators;
mod handshakes;
mod host;
mod join;
mod latency;
mod nic;
mod offload;
mod open;
mod output;
mod pacing;
mod path_monitor;
mod path_selector;
mod prr;
mod rack;
mod reassembly;
mod receiver;
mod reclaim;
mod recovery;
mod reinjections;
mod reroute;
mod rtt;
#[cfg(test)]
mod rules;
mod scatter_phase;
mod scheduling;
mod segments;
mod send_queues;
mod subflow;
mod timers;
mod trace;
mod undo;

/// Bytes of a hash-table entry: key and value, a control byte, and a share of the quarter of slots
/// that is empty.
const ENTRY_BYTES: usize = 16;

/// Bytes of a connection at both of its hosts, without its congestion control and its subflows.
pub const CONNECTION_BYTES: usize =
    size_of::<ConnectionSender>() + size_of::<receiver::ConnectionReceiver>() + 2 * ENTRY_BYTES;

/// Bytes of a subflow at both of its hosts, with memory for the first segments that it sends.
pub const SUBFLOW_BYTES: usize = size_of::<subflow::SubflowSender>()
    + size_of::<receiver::SubflowReceiver>()
    + ENTRY_BYTES
    + FIRST_SEGMENTS * size_of::<segments::Segment>();

/// Segments for which a new subflow has memory.
const FIRST_SEGMENTS: usize = 16;

pub use connection::ConnectionSender;
pub use generators::NEXT_JOB;
pub use host::{Host, Shared, TimerKind, timer_key};
pub use join::{DATA_FIN, JOIN_ACK};
pub use path_monitor::bytes as path_monitor_bytes;
pub use send_queues::bytes as send_queue_bytes;
pub use trace::FlowProbes;
