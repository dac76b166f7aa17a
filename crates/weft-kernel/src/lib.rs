//! Multipath congestion control of a stock Linux kernel: BPF programs and the path manager.
//!
//! [`programs`] loads the BPF programs of `weft-bpf` and reads their maps, [`events`] are their
//! reports, and [`abi`] has the structs that they share with user space. [`path_manager`] opens
//! subflows and informs the kernel which of them are suppressed.

pub mod events;
pub mod path_manager;
pub mod programs;

pub use weft_bpf::abi;
