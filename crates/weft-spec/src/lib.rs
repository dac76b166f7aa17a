//! What an experiment is: units, the spec's types, and how a spec is read, overridden and checked.
//!
//! Kinds of topology, traffic and probe, congestion control and path policies are open: here each is a name
//! and a table. The crates that own them keep registries ([`Entry`]), from which the table gets its types.

mod entry;
mod error;
mod experiment;
mod file;
mod hosts;
mod layer;
mod overrides;
mod profile;
mod quantity;
mod renames;
mod tree;
mod units;

pub use entry::{Entry, Parsed, find};
pub use error::SpecError;
pub use experiment::{
    Cc, HostQueues, KindSpec, LinkEventSpec, LinkState, MAX_SUBFLOWS, Mark, Measure, PathPolicySpec, Queues,
    RateSharing, SizeClass, Spec, Stop, Sweep, Traffic, TransportSpec, check_queue,
};
pub use file::read_text;
pub use hosts::{HostJitter, Hosts, Qdisc};
pub use layer::Layer;
pub use overrides::apply_override;
pub use profile::{FctFrom, NamedProfile, PROFILES, Profile, ProfilePatch, Recovery, RoundEnd};
pub use renames::{Both, replace_old_names};
pub use tree::{from_table, read_table, to_table};
pub use units::{QueueSize, Rate, Size, Time};
