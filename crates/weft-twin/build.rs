//! Compiles the algorithms of the BPF programs for this machine.

fn main() {
    println!("cargo::rerun-if-changed=../weft-linux/bpf");
    println!("cargo::rerun-if-changed=src/twin.c");
    cc::Build::new()
        .file("src/twin.c")
        .include("../weft-linux/bpf")
        .opt_level(2)
        .flags(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        .compile("weft_twin");
}
