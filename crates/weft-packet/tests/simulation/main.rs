//! Whole simulations. They are one binary, because each further one would be linked with everything again; only `allocations` has
//! an allocator of its own.

#[path = "../experiment/mod.rs"]
mod experiment;

mod algorithms;
mod any_run;
mod application;
mod controller;
mod determinism;
mod failures;
mod fairness;
mod grid;
mod idle;
mod incast;
mod nic;
mod path_monitor;
mod plb;
mod scatter_phase;
mod spraying;
mod steady_state;
mod validation;
