//! Transports: what hosts run. A host has what all transports share; each kind of transport is a
//! module behind the contract.

mod arrivals;
mod constant_rate;
mod contract;
mod endpoint;
mod flow_progress;
mod flow_table;
mod generators;
mod host;
mod latencies;
mod ndp;
mod nic;
mod per_transport;
mod probes;
mod return_routes;
mod roce;
mod routes;
mod shared;
mod spray;
mod state;
pub mod tcp;
#[cfg(test)]
mod test_runs;
mod timer_keys;
mod tracer;
mod uet;

pub use contract::{OTHER, ReceivedFlow, RecordedState, SentFlow, Transport, TransportKind};
pub use generators::NEXT_JOB;
pub use host::Host;
pub use nic::FlowKind;
pub use probes::FlowProbes;
pub use return_routes::ShortestReturns;
pub use shared::Shared;
pub use state::{HostContext, HostState};
pub use timer_keys::{HostTimer, host_timer, other_timer};

/// All kinds of transport, the default first. TCP must be the first one.
pub const TRANSPORTS: &[&dyn TransportKind] = &[
    &weft_transports::Tcp,
    &weft_transports::ConstantRate,
    &weft_transports::Uet,
    &weft_transports::Ndp,
    &weft_transports::Roce,
];
