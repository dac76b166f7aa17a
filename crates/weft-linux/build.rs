//! Compiles the BPF programs, one object each, with clang and the headers of the libbpf that is linked.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libbpf_cargo::SkeletonBuilder;

/// What `src/programs/mod.rs` includes, the tests, and the testbed's switch.
const PROGRAMS: [&str; 10] = [
    "weft_amp",
    "weft_dcm",
    "weft_dctcp",
    "weft_lia",
    "weft_xmp",
    "tests/joins",
    "tests/mark",
    "tests/mark_all",
    "tests/mark_queue",
    "weft_switch",
];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    if let Err(error) = Command::new(&clang).arg("--version").output() {
        println!(
            "cargo::error=the BPF programs need `{clang}`, 12 or newer ({error}): sudo apt-get install clang"
        );
        return ExitCode::FAILURE;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for program in PROGRAMS {
        let built = SkeletonBuilder::new()
            .source(format!("bpf/{program}.bpf.c"))
            .obj(out.join(format!("{}.o", program.replace('/', "_"))))
            .clang(&clang)
            .clang_args(arguments())
            .build();
        if let Err(error) = built {
            for line in format!("{error:#}").lines() {
                println!("cargo::error={line}");
            }
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn arguments() -> Vec<String> {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let mut arguments: Vec<String> = [
        "-mcpu=v3",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-unused-function",
    ]
    .map(String::from)
    .to_vec();
    // The kernel's uapi headers include asm/, which Debian keeps by architecture.
    let headers = format!("/usr/include/{arch}-linux-gnu");
    if Path::new(&headers).is_dir() {
        arguments.extend(["-idirafter".to_owned(), headers]);
    }
    arguments
}
