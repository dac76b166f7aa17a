//! Where the rates of connections settle, without packets: max-min fair rates and the equilibrium of a congestion
//! control.
//!
//! An [`Instance`] says which links every subflow crosses, by hand or, by [`place`], on a fabric. [`max_min`] solves it for one
//! path each, [`coupled_max_min`] for several, both checked by a certificate, and [`equilibrium`] for a congestion control. [`Sharing`] keeps max-min fair rates while flows come and go, and [`Fluid`] serves flows of a
//! size at them. [`FlowLevel`] is a home of experiments: all of that in time. Nothing is hashed, and the number of threads changes no bit of the result.

mod certificate;
mod coupled;
mod course;
mod equilibrium;
mod fluid;
mod home;
mod instance;
mod max_min;
mod placing;
mod sharing;

pub use certificate::{certify, certify_coupled};
pub use coupled::{Bottleneck, Coupled, Filling, coupled_max_min};
pub use equilibrium::{Delays, Equilibrium, Settings, equilibrium};
pub use fluid::Fluid;
pub use home::FlowLevel;
pub use instance::{Error, Instance};
pub use max_min::max_min;
pub use placing::{Connection, Placed, place};
pub use sharing::Sharing;
