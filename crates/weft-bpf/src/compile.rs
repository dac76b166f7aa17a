//! Compilation of the BPF programs in a build script, with clang and the headers of the libbpf that
//! is linked.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libbpf_cargo::SkeletonBuilder;

use crate::SOURCES;

/// Compiles programs to `OUT_DIR`, one object each: `tests/mark` to `tests_mark.o`.
///
/// To be returned by `main` of a build script; errors are Cargo's messages on standard output.
pub fn compile(programs: &[&str]) -> ExitCode {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    if let Err(error) = Command::new(&clang).arg("--version").output() {
        println!(
            "cargo::error=the BPF programs need `{clang}`, 12 or newer ({error}): sudo apt-get install clang"
        );
        return ExitCode::FAILURE;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for program in programs {
        let name = out.join(program.replace('/', "_"));
        let built = SkeletonBuilder::new()
            .source(format!("{SOURCES}/{program}.bpf.c"))
            .obj(name.with_extension("o"))
            .clang(&clang)
            .clang_args(arguments(&name.with_extension("d")))
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

/// Returns the arguments of clang, which writes the list of files that it reads to `read` for the
/// test of the architecture.
fn arguments(read: &Path) -> Vec<String> {
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
    arguments.extend(["-MMD".to_owned(), "-MF".to_owned(), read.display().to_string()]);
    // The kernel's uapi headers include asm/, which Debian keeps in a folder per architecture.
    let headers = format!("/usr/include/{arch}-linux-gnu");
    if Path::new(&headers).is_dir() {
        arguments.extend(["-idirafter".to_owned(), headers]);
    }
    arguments
}
