//! Compiles the BPF programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_bpf::compile(&weft_bpf::PROGRAMS)
}
