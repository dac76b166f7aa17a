//! The C sources of the BPF programs, for build scripts, and the structs that the programs share
//! with user space.
//!
//! `weft-linux` compiles the programs for the kernel, `weft-bpf-native` the algorithms for user
//! space. This crate's README has a table of the files.

pub mod abi;
mod parameters;

/// The folder of the sources.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// All programs: `{program}.bpf.c` in [`SOURCES`].
pub const PROGRAMS: [&str; 14] = [
    "weft_amp",
    "weft_amp_fg",
    "weft_dcm",
    "weft_dctcp",
    "weft_lia",
    "weft_warp",
    "weft_xmp",
    "weft_scope",
    "weft_switch",
    "tests/disorder",
    "tests/joins",
    "tests/mark",
    "tests/mark_all",
    "tests/mark_queue",
];
