//! AMP and its family on a stock Linux kernel's MPTCP.
//!
//! [`programs`] loads the BPF programs of `weft-bpf` and reads what they keep, [`events`] is what they report at once,
//! [`abi`] what they share with user space. [`path_manager`] opens subflows and informs the kernel which are
//! suppressed. [`daemon`] is what joins the two.

pub mod attach;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod doctor;
pub mod events;
mod failure;
mod manual;
pub mod metrics;
pub mod path_manager;
pub mod programs;
pub mod status;
pub mod testbed;

pub use failure::Failure;
pub use weft_bpf::abi;
