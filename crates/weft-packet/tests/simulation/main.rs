//! Whole simulations: one binary, as each more would be linked with everything again. Only `allocations` has another allocator.

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
