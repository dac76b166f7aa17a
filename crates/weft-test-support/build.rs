//! Compiles the BPF programs that change packets in tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_bpf::compile(&weft_bpf::TEST_PROGRAMS)
}
