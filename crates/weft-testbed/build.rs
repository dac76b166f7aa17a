//! Compiles the switch of the testbed.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_bpf::compile(&[weft_bpf::SWITCH])
}
