//! Requirements of the testbed on the machine.

use std::path::Path;

use nix::unistd::geteuid;

/// Everything that is missing, in one line.
pub fn check() -> Result<(), String> {
    let mut missing = Vec::new();
    if !geteuid().is_root() {
        missing.push("root, because it makes network namespaces and loads BPF programs");
    }
    for (path, what) in NEEDED {
        if !Path::new(path).exists() {
            missing.push(what);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("level \"linux\" needs {}", missing.join("; ")))
}

const NEEDED: &[(&str, &str)] = &[
    ("/proc/self/ns/net", "network namespaces (CONFIG_NET_NS)"),
    (
        "/sys/kernel/btf/vmlinux",
        "the kernel's BTF (CONFIG_DEBUG_INFO_BTF)",
    ),
    ("/proc/sys/net/mptcp/enabled", "MPTCP (CONFIG_MPTCP)"),
    (
        "/proc/sys/net/mptcp/pm_type",
        "MPTCP's userspace path manager (Linux 5.19 or newer)",
    ),
];
