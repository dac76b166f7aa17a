//! All functional tests on the packaged kernels of Debian, which have modules that other kernels may lack. These are 6.1, without
//! links of `struct_ops` and with other arguments of congestion control, and the kernel of the backports. They boot in the software
//! emulation of qemu, from an initramfs of busybox, the binary of this test and iproute2.

use std::fs;
use std::path::Path;
use std::process::Command;

use weft_test_support::guest::{Guest, Packaged, STABLE, files_below, find};
use weft_test_support::skip_without_feature;

use crate::machine::is_emulated;

/// Loaded in this order.
const MODULES: [&str; 8] = [
    "sch_ingress",
    "sch_tbf",
    "sch_red",
    "veth",
    "cls_bpf",
    "tcp_dctcp",
    "inet_diag",
    "tcp_diag",
];
/// Programs that the tests call.
const TOOLS: [&str; 3] = ["ip", "ss", "tc"];
/// Time limit. Emulation takes about a minute on an idle machine, and yields to other tests.
const SECONDS: u32 = 800;
const MEGABYTES: u32 = 1024;

const INIT: &str = r"#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin WEFT_EMULATED=1 RUST_BACKTRACE=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in /modules/*; do insmod $module; done
echo KERNEL $(uname -r)
functional --test-threads=1 --nocapture
echo ENDED $?
poweroff -f
";

const BACKPORTED: Packaged = Packaged {
    series: "6.12",
    backported: true,
};

#[test]
fn debians_kernel_passes_the_same_tests() {
    passes("debians_kernel_passes_the_same_tests", STABLE);
}

#[test]
fn debians_backported_kernel_passes_the_same_tests() {
    passes("debians_backported_kernel_passes_the_same_tests", BACKPORTED);
}

fn passes(name: &str, kernel: Packaged) {
    if is_emulated() {
        return;
    }
    match boot(kernel) {
        Ok(output) => {
            println!("{output}");
            let booted = format!("KERNEL {}.", kernel.series);
            assert!(output.contains(&booted), "it boots");
            assert!(output.contains("test result: ok."), "its tests pass");
            assert!(output.contains("ENDED 0"), "its tests end");
        }
        Err(missing) => skip_without_feature(name, &format!("it needs {missing}")),
    }
}

/// Returns the output of the guest, or an error that names what is missing on this machine.
fn boot(kernel: Packaged) -> Result<String, String> {
    let tools = TOOLS.map(find).into_iter().collect::<Option<Vec<_>>>();
    let tools = tools.ok_or("the Debian package iproute2")?;
    let guest = Guest::new(kernel, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let own = std::env::current_exe().expect("this test's binary");
    install(&own, &guest.root(), "functional");
    for (path, name) in tools.iter().zip(TOOLS) {
        install(path, &guest.root(), name);
    }
    let all = files_below(&guest.kernel.join("lib/modules"));
    for (i, module) in MODULES.iter().enumerate() {
        let file = all.iter().find(|file| file.ends_with(format!("{module}.ko")));
        let file = file.ok_or_else(|| format!("the module {module} uncompressed in the kernel's package"))?;
        fs::copy(file, guest.root().join(format!("modules/{i}-{module}.ko"))).expect("a module");
    }
    Ok(guest.boot(INIT, MEGABYTES, SECONDS))
}

/// Copies a program and the libraries that it needs.
fn install(program: &Path, root: &Path, name: &str) {
    fs::copy(program, root.join("bin").join(name)).expect("a program");
    let needs = Command::new("ldd").arg(program).output().expect("ldd");
    for library in String::from_utf8_lossy(&needs.stdout).split_whitespace() {
        if let Some(below) = library.strip_prefix('/') {
            let to = root.join(below);
            fs::create_dir_all(to.parent().unwrap_or(root)).expect("a folder");
            fs::copy(library, to).expect("a library");
        }
    }
}
