//! The daemon: multipath congestion control on a stock Linux kernel.
//!
//! [`daemon`] connects the BPF programs and the path manager of `weft-kernel`.

pub mod attach;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod doctor;
mod failure;
mod manual;
pub mod metrics;
pub mod status;

pub use failure::Failure;
