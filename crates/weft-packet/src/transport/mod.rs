//! Transports: what hosts run. A host has what all transports share; each kind of transport is a
//! module behind the contract.

mod arrivals;
mod constant_rate;
mod contract;
mod endpoint;
mod flow_data;
mod flow_table;
mod generators;
mod host;
mod host_clock;
mod latencies;
mod ndp;
mod nic;
mod paths_ahead;
mod per_transport;
mod port_set;
mod probes;
mod return_routes;
mod roce;
mod routes;
mod segments;
mod shared;
mod spray;
mod state;
mod swift;
pub mod tcp;
#[cfg(test)]
mod test_runs;
mod timer_keys;
mod tracer;
mod uet;

use std::sync::{PoisonError, RwLock};

pub use contract::{
    ENTRY_BYTES, NON_TCP, ReceivedFlow, RecordedState, SentFlow, TELEMETRY, Transport, TransportKind,
};
pub use endpoint::flows::{FlowParams, ReceiverFlow, SenderFlow};
pub use endpoint::{FlowEndpoint, FlowSetup, Protocol, ProtocolKind, Sending};
pub use generators::NEXT_JOB;
pub use host::Host;
pub use nic::{Feed, FlowKind};
pub use probes::FlowProbes;
pub use return_routes::ShortestReturns;
pub use shared::Shared;
pub use state::{HostContext, HostState};
pub use timer_keys::{HostTimer, endpoint_timer, host_timer};

/// The kinds of transport of this crate, the default first. TCP must be the first one.
pub const TRANSPORTS: &[&dyn TransportKind] = &[
    &weft_transports::Tcp,
    &weft_transports::ConstantRate,
    &weft_transports::Uet,
    &weft_transports::Ndp,
    &weft_transports::Roce,
    &weft_transports::Swift,
];

/// The kinds of this crate, and those that programs have added.
static ALL: RwLock<&[&dyn TransportKind]> = RwLock::new(TRANSPORTS);

/// Returns all kinds of transport, the default first.
pub fn transports() -> &'static [&'static dyn TransportKind] {
    *ALL.read().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a kind of transport of another crate, for all specs that this process reads from now on. A kind whose name
/// exists is left out.
pub fn add_transport(kind: &'static dyn TransportKind) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    if all.iter().all(|known| known.name() != kind.name()) {
        *all = all.iter().copied().chain([kind]).collect::<Vec<_>>().leak();
        weft_transports::add_kind(kind);
    }
}
