//! TCP and multipath TCP between two hosts. Single path is a connection with one subflow.
//!
//! Not modelled: SYN cookies, address advertisement, checksums, receive-buffer auto-tuning. The third packet of a
//! handshake is the first data packet, but for joins that are confirmed, and nothing is torn down, unless a profile has
//! `full_handshakes`.

mod acknowledgements;
mod connection;
mod copies;
mod ending;
mod handshakes;
mod host;
mod joining;
mod latency;
mod nic;
mod offload;
mod opening;
mod pacing;
mod programs;
mod prr;
mod queues;
mod rack;
mod reassembly;
mod receiver;
mod recovery;
mod rerouting;
mod retiring;
mod rtt;
#[cfg(test)]
mod rules;
mod scattering;
mod scheduling;
mod segments;
mod sending;
mod subflow;
mod timers;
mod tracing;
mod undo;
mod wandering;
mod watching;
mod writing;

/// Bytes of an entry of a hash table: key and value, a control byte, and a quarter of all places empty.
const ENTRY_BYTES: usize = 16;

/// Bytes of a connection at both of its hosts, without its congestion control and subflows.
pub const CONNECTION_BYTES: usize =
    size_of::<ConnectionSender>() + size_of::<receiver::ConnectionReceiver>() + 2 * ENTRY_BYTES;

/// Bytes of a subflow at both of its hosts, with the room for the first segments that it sends.
pub const SUBFLOW_BYTES: usize = size_of::<subflow::SubflowSender>()
    + size_of::<receiver::SubflowReceiver>()
    + ENTRY_BYTES
    + FIRST_SEGMENTS * size_of::<segments::Segment>();

/// Segments that a new subflow has room for.
const FIRST_SEGMENTS: usize = 16;

pub use connection::ConnectionSender;
pub use host::{Host, Shared, TimerKind, timer_key};
pub use joining::{DATA_FIN, JOIN_ACK};
pub use programs::NEXT_JOB;
pub use queues::bytes as queue_bytes;
pub use tracing::FlowProbes;
pub use watching::bytes as watch_bytes;
