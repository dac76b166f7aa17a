//! The kernel, what it was built with, and what the caller may do.

use std::fs;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use nix::unistd::getppid;

use super::Finding;
use crate::attach;
use crate::daemon::{self, settings};
use crate::status::Status;
use weft_kernel::path_manager::Namespace;

pub(super) fn findings(status: Option<&Status>, is_hidden: bool) -> Vec<Finding> {
    vec![
        release(),
        capabilities(),
        btf(),
        struct_ops(),
        bpf_fs(status),
        process(status, is_hidden),
    ]
}

fn release() -> Finding {
    const CHECK: &str = "kernel";
    let release = settings::read(&Namespace::current(), "kernel.osrelease").unwrap_or_default();
    match version(&release) {
        Some(version) if version >= OLDEST => Finding::ok(CHECK, release),
        _ => Finding::failure(
            CHECK,
            format!("{release:?} is older than {}.{}", OLDEST.0, OLDEST.1),
            "install a newer kernel",
        ),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn capabilities() -> Finding {
    const CHECK: &str = "capabilities";
    let missing = missing_capabilities();
    if missing.is_empty() {
        return Finding::ok(CHECK, "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are there");
    }
    Finding::failure(
        CHECK,
        format!("{} missing", missing.join(", ")),
        "run weftd as root, or by its systemd unit",
    )
}

/// The capabilities that are needed and that this process does not have.
pub fn missing_capabilities() -> Vec<&'static str> {
    missing(&fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// The capabilities that are needed and not effective. `CAP_SYS_ADMIN` stands for those of BPF.
fn missing(status: &str) -> Vec<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let all = effective & (1 << SYS_ADMIN) != 0;
    CAPABILITIES
        .iter()
        .filter(|(_, bit)| effective & (1 << bit) == 0 && !(all && *bit > SYS_ADMIN))
        .map(|(name, _)| *name)
        .collect()
}

fn btf() -> Finding {
    const CHECK: &str = "BTF";
    if fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
        Finding::ok(CHECK, "/sys/kernel/btf/vmlinux")
    } else {
        Finding::failure(
            CHECK,
            "the kernel has no type information",
            "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
        )
    }
}

fn struct_ops() -> Finding {
    const CHECK: &str = "struct_ops";
    let has =
        |name: &str| Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name::<Struct<'_>>(name).is_some());
    if !has("bpf_struct_ops_tcp_congestion_ops") {
        return Finding::failure(
            CHECK,
            "congestion control cannot be written in BPF",
            "boot a kernel built with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y",
        );
    }
    if !has("bpf_struct_ops_link") {
        return Finding::warning(
            CHECK,
            "registrations are not tied to a process (before Linux 6.4): they outlive a weftd that is killed",
            "weftd detach",
        );
    }
    Finding::ok(CHECK, "for TCP congestion control, with links")
}

fn bpf_fs(status: Option<&Status>) -> Finding {
    const CHECK: &str = "BPF file system";
    if attach::has_bpf_fs() {
        return Finding::ok(CHECK, attach::BPF_FS);
    }
    // `ip netns exec` mounts another /sys for its command.
    let daemon = status.map(|status| i64::from(status.process));
    let others = [i64::from(getppid().as_raw()), 1];
    let mut others = daemon.into_iter().chain(others);
    if others.any(|process| attach::is_bpf_fs(Path::new(&format!("/proc/{process}/root{}", attach::BPF_FS))))
    {
        return Finding::ok(
            CHECK,
            format!(
                "{}, which is hidden from this command, as `ip netns exec` does",
                attach::BPF_FS
            ),
        );
    }
    Finding::warning(
        CHECK,
        "not mounted: a restart does not find the windows of connections that are open",
        format!("mount -t bpf -o mode=0700 bpf {}", attach::BPF_FS),
    )
}

/// The daemon that runs, or what an earlier one has left. The status `is_hidden` from all but root.
fn process(status: Option<&Status>, is_hidden: bool) -> Finding {
    const CHECK: &str = "weftd";
    let folder = daemon::folder();
    if is_hidden {
        return Finding::warning(CHECK, "unknown: only root can ask weftd", "sudo weftd doctor");
    }
    if let Some(status) = status {
        if let Some(seconds) = status.trial_s {
            return Finding::warning(
                CHECK,
                format!(
                    "process {}: its successor has been on trial for {seconds:.0} s and does not answer yet",
                    status.process
                ),
                "run doctor again; a successor that hangs is replaced by the old program after 30 s",
            );
        }
        let algorithms = status.algorithms.join(" ");
        return Finding::ok(CHECK, format!("process {} runs: {algorithms}", status.process));
    }
    let attached = attach::attached();
    if !attached.is_empty() {
        return Finding::ok(
            CHECK,
            format!("attached without a daemon: {}", attached.join(" ")),
        );
    }
    if daemon::settings_file(&folder).exists() {
        return Finding::warning(
            CHECK,
            "none runs; one was killed and has left settings",
            "weftd detach, or start it again",
        );
    }
    Finding::warning(CHECK, "none runs", "systemctl start weftd")
}

const OLDEST: (u32, u32) = (6, 1);
const SYS_ADMIN: u32 = 21;
const CAPABILITIES: [(&str, u32); 3] = [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("6.18.44-cloud"), Some((6, 18)));
        assert_eq!(version("6.1.0-41-amd64"), Some((6, 1)));
        assert!(version("5.15.0") < Some(OLDEST));
        assert_eq!(version(""), None);
    }

    #[test]
    fn capabilities_are_bits() {
        assert!(missing("CapEff:\t000001ffffffffff\n").is_empty());
        assert_eq!(missing("CapEff:\t0000000000001000\n"), ["CAP_PERFMON", "CAP_BPF"]);
        assert_eq!(missing("").len(), 3);
        assert_eq!(missing("CapEff:\t0000000000200000\n"), ["CAP_NET_ADMIN"]);
    }
}
