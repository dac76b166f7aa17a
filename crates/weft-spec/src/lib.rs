//! The definition of an experiment: units, the types of a spec, and functions that read, override
//! and check a spec.
//!
//! Topologies, transports, traffic, probes, congestion control and path policies are open sets: in this crate
//! each is a name and a table. The crates that own them have registries ([`Entry`]), which convert
//! the table to typed fields.

mod entry;
mod error;
mod experiment;
mod file;
mod hosts;
mod layer;
mod named;
mod nearest;
mod overrides;
mod quantity;
mod tree;
mod units;
mod unmodelled;

pub use entry::{Entry, Parsed, find};
pub use error::{SpecError, Within, conflict, list_names, refuse};
pub use experiment::{
    HostQueues, KindSpec, LinkEventSpec, LinkState, MAX_CLASS, Mark, Measure, Queues, RateSharing, SizeClass,
    Spec, Stop, Sweep, Traffic, TransportSpec, check_queue,
};
pub use file::read_text;
pub use hosts::{HostJitter, Hosts, Qdisc};
pub use layer::Layer;
pub use named::{Cc, PathPolicySpec, QueueKindSpec};
pub use overrides::apply_override;
pub use tree::{default_number, from_table, read_table, to_table, whole_number};
pub use units::{QueueSize, Rate, Size, Time};
