//! The definition of an experiment: units, the types of a spec, and functions that read, override
//! and check a spec.
//!
//! Topologies, traffic, probes, congestion control and path policies are open sets: in this crate
//! each is a name and a table. The crates that own them have registries ([`Entry`]), which convert
//! the table to typed fields.

mod entry;
mod error;
mod experiment;
mod file;
mod hosts;
mod layer;
mod named;
mod ndp;
mod nearest;
mod overrides;
mod profile;
mod quantity;
mod renames;
mod roce;
mod tree;
mod uet;
mod units;
mod unmodelled;

pub use entry::{Entry, Parsed, find};
pub use error::SpecError;
pub use experiment::{
    HostQueues, KindSpec, LinkEventSpec, LinkState, MAX_CLASS, MAX_SUBFLOWS, Mark, Measure, Queues,
    RateSharing, SizeClass, Spec, Stop, Sweep, Traffic, TransportSpec, check_queue,
};
pub use file::read_text;
pub use hosts::{HostJitter, Hosts, Qdisc};
pub use layer::Layer;
pub use named::{Cc, PathPolicySpec, QueueKindSpec};
pub use ndp::NdpSpec;
pub use overrides::apply_override;
pub use profile::{
    AckSettings, ConnectionSettings, FctFrom, HandshakeSettings, JoinSettings, LossSettings, MarkSettings,
    NamedProfile, PROFILES, PacketSizes, Profile, ProfilePatch, Recovery, RecoveryOptions, RoundEnd,
    RtoEstimator, RtoSettings, WindowSettings, WindowValidation,
};
pub use renames::{Both, replace_old_names};
pub use roce::{RoceControlName, RoceRetransmission, RoceSpec};
pub use tree::{from_table, read_table, to_table, whole_number};
pub use uet::{UetControl, UetLoadBalancing, UetSpec};
pub use units::{QueueSize, Rate, Size, Time};
