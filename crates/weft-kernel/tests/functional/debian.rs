//! All functional tests on the packaged kernels of Debian, which have modules that other kernels may lack. `make test` runs them on
//! 6.1, without links of `struct_ops` and with other arguments of congestion control, and on the newest kernel; `make nightly`
//! on those between, too. They boot in the software emulation of qemu, from an initramfs of busybox, the binary of this test and
//! iproute2. A kernel with Accurate ECN (RFC 9768) runs them without it and with it.

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
/// Time limit of a run. Emulation takes about a minute on an idle machine, and yields to other tests.
const SECONDS: u32 = 800;
/// Values of `net.ipv4.tcp_ecn` in the tests' namespaces, one run each, unless this variable has others. Values that a kernel does not
/// know are left out: those from 3 on ask for, or accept, Accurate ECN.
const ECN_VARIABLE: &str = "WEFT_ECN_MODES";
const ECN_MODES: &str = "2 3";
const MEGABYTES: u32 = 1024;
/// Variable with the names of the tests to run; all if it is not set.
const FILTER_VARIABLE: &str = "WEFT_GUEST_TESTS";

const INIT: &str = r"#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin WEFT_EMULATED=1 RUST_BACKTRACE=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in /modules/*; do insmod $module; done
echo KERNEL $(uname -r)
for mode in ECN_MODES; do
  echo $mode 2>/dev/null >/proc/sys/net/ipv4/tcp_ecn || continue
  echo 2 >/proc/sys/net/ipv4/tcp_ecn
  echo BEGINS with tcp_ecn = $mode
  WEFT_TCP_ECN=$mode functional --test-threads=1 --nocapture FILTER
  echo ENDED $?
done
echo ALL ENDED
poweroff -f
";

/// The kernels that the tests run on, the oldest first.
pub const STABLE_AND_BACKPORTS: [Packaged; 5] = [
    STABLE,
    backported("6.12", "bookworm"),
    backported("6.18", "trixie"),
    backported("7.2", "trixie"),
    backported("7", "trixie"),
];

const fn backported(series: &'static str, release: &'static str) -> Packaged {
    Packaged {
        series,
        backports: Some(release),
    }
}

#[test]
fn debians_kernel_passes_the_same_tests() {
    passes("debians_kernel_passes_the_same_tests", STABLE);
}

#[test]
fn the_newest_kernel_passes_the_same_tests() {
    passes(
        "the_newest_kernel_passes_the_same_tests",
        backported("7", "trixie"),
    );
}

#[test]
#[ignore = "takes minutes: make nightly"]
fn linux_6_12_passes_the_same_tests() {
    passes("linux_6_12_passes_the_same_tests", backported("6.12", "bookworm"));
}

#[test]
#[ignore = "takes minutes: make nightly"]
fn linux_6_18_passes_the_same_tests() {
    passes("linux_6_18_passes_the_same_tests", backported("6.18", "trixie"));
}

#[test]
#[ignore = "takes minutes: make nightly"]
fn linux_7_2_passes_the_same_tests() {
    passes("linux_7_2_passes_the_same_tests", backported("7.2", "trixie"));
}

fn passes(name: &str, kernel: Packaged) {
    if is_emulated() {
        return;
    }
    let modes = std::env::var(ECN_VARIABLE).unwrap_or_else(|_| ECN_MODES.to_owned());
    let filter = std::env::var(FILTER_VARIABLE).unwrap_or_default();
    match boot(kernel, &filter, &modes) {
        Ok(output) => {
            println!("{output}");
            let booted = format!("KERNEL {}.", kernel.series);
            assert!(output.contains(&booted), "it boots");
            assert!(output.contains("ALL ENDED"), "its tests end");
            let count = |text: &str| output.matches(text).count();
            assert!(count("BEGINS with") > 0, "it runs tests");
            assert_eq!(
                (count("test result: ok."), count("ENDED 0")),
                (count("BEGINS with"), count("BEGINS with")),
                "its tests pass"
            );
        }
        Err(missing) => skip_without_feature(name, &format!("it needs {missing}")),
    }
}

/// Runs this test's binary with these arguments once per mode of ECN. Returns the output of the guest, or an error that names what
/// is missing on this machine.
pub fn boot(kernel: Packaged, arguments: &str, modes: &str) -> Result<String, String> {
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
    let init = INIT.replace("ECN_MODES", modes).replace("FILTER", arguments);
    let runs = modes.split_whitespace().count() as u32;
    Ok(guest.boot(&init, MEGABYTES, SECONDS * runs.max(1)))
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
