//! Parameters of transports: the types of each kind in a spec, their checks, and defaults that follow from the
//! network.
//!
//! A kind of transport is a file of this crate and a line of its registry, and the folder with its behaviour at
//! the packet level. Other crates handle [parameters](Parameters) without names of kinds.
#![doc = include_str!("columns.md")]

mod constant_rate;
mod fields;
mod hpcc;
mod kind;
mod ndp;
mod network;
mod ranges;
mod registry;
mod resolve;
mod roce;
mod swift;
mod tcp;
mod timely;
mod timestamps;
mod uet;

pub use constant_rate::{ConstantRate, ConstantRateConfig};
pub use hpcc::{HpccConfig, TELEMETRY_BYTES};
pub use kind::{BuildAlgorithm, Context, FctFrom, Kind, PacketSizes, Parameters, Resolved, TransportConfig};
pub use ndp::{Ndp, NdpConfig, NdpPullOrder};
pub use registry::{KINDS, add_kind, find_kind, kinds};
pub use resolve::resolve;
pub use roce::{Roce, RoceConfig, RoceControl, RoceRetransmission};
pub use swift::{Swift, SwiftConfig};
pub use tcp::{
    AckSettings, ConnectionSettings, HandshakeSettings, JoinSettings, LossSettings, MAX_SUBFLOWS,
    MarkSettings, NamedProfile, NamedScheduler, PROFILES, Profile, ProfilePatch, Recovery, RecoveryOptions,
    RoundEnd, RtoEstimator, RtoSettings, SCHEDULERS, Scheduler, SegmentSizes, Tcp, TcpConfig, TcpMode,
    TcpSpec, WindowSettings, WindowValidation, profile_name,
};
pub use timely::{TimelyConfig, TimelyUpdates};
pub use timestamps::TimestampErrors;
pub use uet::{Uet, UetConfig, UetControl, UetLoadBalancing};
