//! Whole simulations. They are one binary, because each further one would be linked with everything again; only `allocations` has
//! an allocator of its own.

#[path = "../experiment/mod.rs"]
mod experiment;

mod algorithms;
mod any_run;
mod controlling;
mod determinism;
mod failures;
mod fairness;
mod grid;
mod idle;
mod incast;
mod nic;
mod refused;
mod scattering;
mod spraying;
mod steady_state;
mod watching;
mod writing;
