//! The C sources of the BPF programs, for build scripts, and the structs that the programs share
//! with user space.
//!
//! `weft-kernel` compiles the programs for the kernel, `weft-bpf-native` the algorithms for user
//! space. This crate's README has a table of the files.

pub mod abi;
#[cfg(feature = "compile")]
mod compile;
mod parameters;

#[cfg(feature = "compile")]
pub use compile::compile;

/// The folder of the sources.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// The programs of `weftd`: `{program}.bpf.c` in [`SOURCES`].
pub const PROGRAMS: [&str; 11] = [
    "weft_amp",
    "weft_amp_fg",
    "weft_balia",
    "weft_dcm",
    "weft_dctcp",
    "weft_lia",
    "weft_olia",
    "weft_warp",
    "weft_wvegas",
    "weft_xmp",
    "weft_scope",
];

/// The switch of the testbed.
pub const SWITCH: &str = "weft_switch";

/// Programs that change packets in tests.
pub const TEST_PROGRAMS: [&str; 7] = [
    "tests/clear_accecn",
    "tests/disorder",
    "tests/joins",
    "tests/mark",
    "tests/mark_all",
    "tests/mark_bytes",
    "tests/mark_queue",
];
