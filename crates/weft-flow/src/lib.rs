//! Where the rates of connections settle, without packets: max-min fair rates and the equilibrium of a congestion
//! control.
//!
//! An [`Instance`] says which links every subflow crosses, by hand or, by [`place_connections`], on a fabric. [`max_min`](fn@max_min) solves it for one
//! path each, [`coupled_max_min`] for several, both checked by a certificate, and [`equilibrium`](fn@equilibrium) for a congestion control. [`IncrementalMaxMin`] keeps max-min fair rates while flows come and go, and [`Fluid`] serves flows of a
//! size at them. [`FlowBackend`] runs experiments: all of that in time. Nothing is hashed, and the number of threads changes no bit of the result.

mod backend;
mod certificate;
mod coupled;
mod equilibrium;
mod fluid;
mod incremental;
mod instance;
mod max_min;
mod placement;
mod simulation;

pub use backend::FlowBackend;
pub use certificate::{certify, certify_coupled};
pub use coupled::{Bottleneck, CoupledFilling, CoupledSolution, coupled_max_min};
pub use equilibrium::{Delays, Equilibrium, Settings, equilibrium};
pub use fluid::Fluid;
pub use incremental::IncrementalMaxMin;
pub use instance::{Error, Instance};
pub use max_min::max_min;
pub use placement::{ConnectionSpec, Placement, place_connections};
