//! TCP and multipath TCP between two hosts. A single-path transport is a connection with one
//! subflow.
//!
//! Not modelled: SYN cookies, address advertisement, checksums, receive-buffer auto-tuning. Unless
//! a profile has `full_handshakes`, no connection is torn down and the third packet of a handshake
//! is the first data packet, except for joins that are confirmed.

mod ack;
mod ack_event;
mod ack_timer;
mod admission;
mod application;
mod arrivals;
mod best_of;
mod close;
mod congestion;
mod connection;
mod cwnd_usage;
mod deadline_timer;
mod ecn_echo;
mod endpoint;
mod expiry;
mod gate;
mod handshakes;
mod join;
mod join_schedule;
mod kind;
mod lifetime;
mod loss_probe;
mod newreno;
mod offload;
mod open;
mod output;
mod pacing;
mod path;
mod path_monitor;
mod path_selection;
mod path_selector;
mod prr;
mod rack;
mod rate;
mod rearm;
mod reassembly;
mod receiver;
mod reclaim;
mod recovery;
mod reinject_queue;
mod reinjections;
mod reordering;
mod reroute;
mod rotation;
mod rounds;
mod rtt;
mod rtt_sample;
#[cfg(test)]
mod rules;
mod scatter_phase;
mod scheduling;
mod segments;
mod send_buffers;
mod send_data;
mod send_queue;
mod send_queues;
mod send_sequence;
mod slots;
mod state;
mod subflow;
mod subflow_mask;
mod suppression_log;
mod timer;
mod timer_keys;
mod undo;
mod verdict;
mod wake;
pub mod wire;

pub use endpoint::TcpEndpoint;

/// Index of TCP among the kinds of transport.
pub const INDEX: usize = 0;
