//! What an experiment is: units, the spec's types, how a spec is read, overridden and complained about.
//!
//! What is open (kinds of topology, traffic and probe, congestion control, path policies) is a name and a table here; the crates that
//! own them keep registries ([`Entry`]) from which the table gets its types.

mod entry;
mod error;
mod experiment;
mod hosts;
mod profile;
mod quantity;
mod set;
mod tree;
mod units;

pub use entry::{Entry, Loaded, find};
pub use error::SpecError;
pub use experiment::{
    Cc, Event, HostQueues, Kind, LinkState, MAX_SUBFLOWS, Mark, Measure, PathPolicy, Queues, SizeClass, Spec,
    Stop, Traffic, Transport,
};
pub use hosts::{Hosts, Nic};
pub use profile::{FctFrom, NamedProfile, PROFILES, Profile, ProfilePatch, Recovery};
pub use set::apply_override;
pub use tree::{from_table, read_table, to_table};
pub use units::{Amount, Rate, Size, Time};
