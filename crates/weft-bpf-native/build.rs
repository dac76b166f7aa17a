//! Compiles the algorithms of the BPF programs for this machine.

fn main() {
    println!("cargo::rerun-if-changed={}", weft_bpf::SOURCES);
    println!("cargo::rerun-if-changed=src/native.c");
    let mut build = cc::Build::new();
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        build.include("src/without_linux");
    }
    build
        .file("src/native.c")
        .include(weft_bpf::SOURCES)
        .opt_level(2)
        .flags(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        // The list of files that were read is written next to the object, for the architecture
        // test.
        .flag("-MMD")
        .compile("weft_bpf_native");
}
