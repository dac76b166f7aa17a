//! The Debian package, in a Debian of its own below `target`: `make test-package`.
//!
//! `WEFTD_DEB` is the package to test, and `mmdebstrap` makes the Debian from the packages that this machine's apt knows.
//! Without one of them, or without root, the tests are skipped by name with the reason.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use weft_test_support::guest::{Guest, STABLE, files_below, find};
use weft_test_support::skip_without_feature;

/// Packages in addition to the essential ones: dependencies of weftd, and programs that boot and that the checks call.
const PACKAGES: &str =
    "apparmor,libelf1,zlib1g,systemd,systemd-sysv,dbus,kmod,iproute2,procps,iperf3,mptcpize";
/// Folders in which installing and removing leave traces by design.
const RECORDS: [&str; 6] = [
    "dev",
    "run/systemd",
    "var/lib/dpkg",
    "var/cache",
    "var/log",
    "var/lib/systemd",
];

/// In the guest, before systemd: the root file system goes where systemd can make views of it.
const INIT: &str = r"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir /debian
mount -t tmpfs -o size=90% tmpfs /debian
tar -xf /debian.tar -C /debian && rm /debian.tar
exec switch_root /debian /sbin/init
";

/// Started by systemd after everything else.
const CHECKS: &str = "\
[Unit]
After=weftd.service
[Service]
Type=oneshot
ExecStart=/checks.sh
StandardOutput=file:/dev/console
StandardError=file:/dev/console
[Install]
WantedBy=multi-user.target
";

const SCRIPT: &str = r#"#!/bin/sh
say() { echo "CHECK $*"; }
available() { cat /proc/sys/net/ipv4/tcp_available_congestion_control; }
# Once at each start, on trial or not.
runs() { journalctl -u weftd --no-pager -o cat | grep -c "weftd runs"; }
# The unit is active once the daemon has started, which takes seconds in emulation on a busy machine.
wait_for_state() {
	for i in $(seq 60); do
		[ "$(systemctl is-active weftd)" = $1 ] && break
		sleep 1
	done
}
wait_for() {
	for i in $(seq 60); do
		[ $(runs) -ge $1 ] && break
		sleep 1
	done
	sleep 2
	wait_for_state active
}
restarts() { systemctl show -P NRestarts weftd; }
say kernel $(uname -r)
say first $(systemctl is-active weftd)
journalctl -u weftd --no-pager -o cat
say confined $(cat /proc/$(systemctl show -P MainPID weftd)/attr/current)
say capabilities $(grep CapEff /proc/$(systemctl show -P MainPID weftd)/status)
inside() { nsenter -t $(systemctl show -P MainPID weftd) -m "$@"; }
writable() { inside sh -c "echo \"\$(cat $1)\" > $1" 2>/dev/null && echo yes || echo no; }
say writable $(writable /proc/sys/kernel/core_pattern) $(writable /proc/sys/vm/overcommit_memory) $(writable /proc/sys/net/mptcp/pm_type) $(inside mkdir /sys/fs/bpf/check && rmdir /sys/fs/bpf/check && echo yes)
say default $(cat /proc/sys/net/ipv4/tcp_congestion_control) $(cat /proc/sys/net/mptcp/pm_type)
ip link set lo up
mptcpize run iperf3 -s -D
sleep 3
mptcpize run iperf3 -c 127.0.0.1 -t 20 -b 20M > /run/iperf.log 2>&1 &
sleep 10
say status "$(weftd status --json | tr -d '\n')"
systemctl kill -s KILL weftd
for i in $(seq 60); do
	[ $(restarts) -ge 1 ] && break
	sleep 1
done
wait_for_state active
# A daemon that ends at once would be restarted again.
sleep 5
say again $(systemctl is-active weftd) restarts $(restarts)
journalctl -u weftd --no-pager -o cat
weftd status
say doctor $(weftd doctor > /run/doctor.log; echo $?)
cat /run/doctor.log
wait
say iperf $(grep -c receiver /run/iperf.log)
main=$(systemctl show -P MainPID weftd)
before=$(runs)
systemctl reload weftd
wait_for $((before + 2))
say reloaded $(systemctl is-active weftd) $(($(systemctl show -P MainPID weftd) - main)) $(($(runs) - before))
before=$(runs)
dpkg -i /weftd.deb > /run/dpkg.log 2>&1 || cat /run/dpkg.log
wait_for $((before + 2))
say upgraded $(systemctl is-active weftd) $(($(systemctl show -P MainPID weftd) - main)) $(($(runs) - before))
cp /usr/bin/weftd /usr/bin/weftd.new
mv /usr/bin/weftd.new /usr/bin/weftd
ip netns add red
sed -i 's/^namespaces = .*/namespaces = ["red"]/' /etc/weft/weftd.toml
before=$(runs)
systemctl reload weftd
wait_for $((before + 1))
say back $(systemctl is-active weftd) $(($(systemctl show -P MainPID weftd) - main)) $(readlink /proc/$main/exe)
journalctl -u weftd --no-pager -o cat | tail -20
pkill iperf3
sleep 2
systemctl stop weftd
say stopped $(systemctl is-active weftd)
say names $(available | tr ' ' '\n' | grep -c weft_)
say setting $(cat /proc/sys/net/mptcp/pm_type)
say denied $(dmesg | grep -c 'apparmor="DENIED".*profile="weftd"')
dmesg | grep 'apparmor="DENIED"'
say failed $(systemctl list-units --failed --plain --no-legend | grep -c weftd)
say ended
echo o > /proc/sysrq-trigger
"#;

/// Returns a Debian, or `None` if a test cannot run here.
fn debian(test: &str) -> Option<(PathBuf, TempDir)> {
    let skip = |why: &str| {
        skip_without_feature(test, &format!("it needs {why}"));
        None
    };
    if !nix::unistd::geteuid().is_root() {
        return skip("root");
    }
    let Some(package) = std::env::var_os("WEFTD_DEB") else {
        return skip("WEFTD_DEB, a package (make test-package)");
    };
    let Some(mmdebstrap) = find("mmdebstrap") else {
        return skip("the Debian package mmdebstrap");
    };
    let tar = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian.tar");
    if !tar.exists() {
        let sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];
        let sources = sources.into_iter().find(|file| Path::new(file).exists())?;
        let part = tar.with_extension("part.tar");
        let made = Command::new(mmdebstrap)
            .args(["--variant=minbase", "--include", PACKAGES, "bookworm"])
            .args([part.as_os_str(), sources.as_ref()])
            .output()
            .expect("mmdebstrap");
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            let why = said.lines().find(|line| line.starts_with("E: "));
            return skip(&format!(
                "Debian's packages: {}",
                why.unwrap_or("mmdebstrap failed")
            ));
        }
        fs::rename(part, &tar).expect("a file below target");
    }
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder below target");
    // Device files are the kernel's to make.
    run(Command::new("tar")
        .args(["--exclude=./dev/*", "-xf"])
        .arg(&tar)
        .arg("-C")
        .arg(root.path()));
    let inside = root.path().join("weftd.deb");
    fs::copy(package, inside).expect("the package");
    Some((root.path().to_owned(), root))
}

#[test]
fn the_package_installs_and_goes_without_a_trace() {
    let Some((root, _folder)) = debian("the_package_installs_and_goes_without_a_trace") else {
        return;
    };
    let inside = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg(&root).arg(program).args(arguments);
        run(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let before = files(&root);
    inside("dpkg", &["-i", "/weftd.deb"]);
    let added: BTreeSet<_> = files(&root).difference(&before).cloned().collect();
    println!("{added:#?}");
    for expected in [
        "usr/bin/weftd",
        "etc/weft/weftd.toml",
        "usr/lib/systemd/system/weftd.service",
        "usr/share/weftd/grafana.json",
        "usr/share/weftd/alerts.yml",
        "usr/share/weftd/namespaces.conf",
        "etc/apparmor.d/weftd",
        "usr/share/man/man5/weftd.toml.5.gz",
    ] {
        assert!(added.contains(expected), "{expected}");
    }
    let copyright = fs::read_to_string(root.join("usr/share/doc/weftd/copyright")).expect("a copyright file");
    assert!(
        !copyright.contains("missing") && copyright.contains("Apache"),
        "{copyright}"
    );
    let version = inside("weftd", &["--version"]);
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("weftd "));
    let checked = inside("weftd", &["run", "--check"]);
    println!("{}", String::from_utf8_lossy(&checked.stdout));
    let verified = inside("systemd-analyze", &["verify", "--man=no", "weftd.service"]);
    assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
    // Installing it enables and starts nothing.
    assert!(
        !added
            .iter()
            .any(|file| file.contains("multi-user.target.wants/weftd"))
    );

    // A configuration that an operator changed is kept until the package is purged.
    let config = root.join("etc/weft/weftd.toml");
    fs::write(&config, "subflows.count = 2\n").expect("a configuration");
    inside("dpkg", &["-i", "/weftd.deb"]);
    inside("dpkg", &["-r", "weftd"]);
    assert!(!root.join("usr/bin/weftd").exists());
    assert_eq!(
        fs::read_to_string(&config).expect("a configuration"),
        "subflows.count = 2\n"
    );
    inside("dpkg", &["-P", "weftd"]);
    let after = files(&root);
    let changed: Vec<_> = after.symmetric_difference(&before).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert!(!root.join("etc/weft").exists() && !root.join("run/weft").exists());
}

#[test]
fn the_profile_is_what_apparmor_understands() {
    let name = "the_profile_is_what_apparmor_understands";
    let Some(parser) = find("apparmor_parser") else {
        return skip_without_feature(name, "it needs the Debian package apparmor");
    };
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/weftd.apparmor");
    let parse = |profile: &Path| {
        // For a kernel with all that the profile's ABI has: this machine's may be without AppArmor, of which the parser warns.
        let kernel = ["--kernel-features", "/etc/apparmor.d/abi/3.0"];
        Command::new(&parser)
            .args(["--skip-kernel-load", "--skip-cache", "--warn=all", "--Werror"])
            .args(kernel)
            .arg(profile)
            .output()
            .expect("the parser")
    };
    let understood = parse(Path::new(profile));
    assert!(
        understood.status.success(),
        "{}",
        String::from_utf8_lossy(&understood.stderr)
    );
    // A word that it does not know is an error.
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("weftd");
    let text = fs::read_to_string(profile).expect("the profile");
    fs::write(&wrong, text.replace("capability bpf", "capability bfp")).expect("a profile");
    assert!(!parse(&wrong).status.success());
}

#[test]
fn the_unit_runs_under_systemd() {
    let Some((root, _folder)) = debian("the_unit_runs_under_systemd") else {
        return;
    };
    let guest = match Guest::new(STABLE, Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        Ok(guest) => guest,
        Err(missing) => {
            return skip_without_feature("the_unit_runs_under_systemd", &format!("it needs {missing}"));
        }
    };
    let inside = |arguments: &[&str]| run(Command::new("chroot").arg(&root).args(arguments));
    inside(&["dpkg", "-i", "/weftd.deb"]);
    let config = root.join("etc/weft/weftd.toml");
    let text = fs::read_to_string(&config).expect("a configuration");
    let text = text.replace("# default = ", "default = ");
    fs::write(&config, text).expect("a configuration");
    let modules = fs::read_dir(guest.kernel.join("lib/modules")).expect("modules");
    for folder in modules.flatten() {
        let below = root.join("lib/modules");
        fs::create_dir_all(&below).expect("a folder");
        run(Command::new("cp").arg("-a").arg(folder.path()).arg(&below));
        inside(&["depmod", &folder.file_name().to_string_lossy()]);
    }
    let script = root.join("checks.sh");
    fs::write(&script, SCRIPT).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a script");
    fs::write(root.join("etc/systemd/system/checks.service"), CHECKS).expect("a unit");
    inside(&["systemctl", "enable", "weftd", "checks"]);
    let tar = guest.root().join("debian.tar");
    run(Command::new("tar")
        .args(["--exclude=./var/cache", "--exclude=./usr/share/doc", "-cf"])
        .arg(tar)
        .arg("-C")
        .arg(&root)
        .arg("."));

    let printed = guest.boot(INIT, 3072, 500);
    println!("{printed}");
    let said = |what: &str| {
        let mut lines = printed.lines().filter_map(|line| line.split("CHECK ").nth(1));
        let found = lines.find_map(|line| line.strip_prefix(what));
        found
            .unwrap_or_else(|| panic!("it never said {what:?}"))
            .trim()
            .to_owned()
    };
    assert!(said("kernel").starts_with("6.1."));
    assert_eq!(said("first"), "active");
    assert_eq!(said("confined"), "weftd (enforce)");
    // The kernel's settings are read-only, those of the network and the BPF file system are not.
    assert_eq!(said("writable"), "no no yes yes");
    assert_eq!(said("default"), "weft_amp 1");
    let status: serde_json::Value = serde_json::from_str(&said("status")).expect("a status");
    let connections = status["connections"].as_array().expect("connections");
    let subflows = |connection: &serde_json::Value| connection["subflows"].as_array().map(Vec::len);
    assert!(
        connections.iter().any(|connection| connection["role"] == "client"
            && connection["algorithm"] == "weft_amp"
            && subflows(connection) == Some(4)),
        "{status:#}"
    );
    assert_eq!(said("again"), "active restarts 1");
    assert_eq!(said("doctor"), "0");
    assert_eq!(said("iperf"), "1");
    // The same process, after a start on trial and another one.
    assert_eq!(said("reloaded"), "active 0 2");
    // An upgrade is a reload.
    assert_eq!(said("upgraded"), "active 0 2");
    // It may not enter other namespaces, which only its start finds out.
    assert_eq!(said("back"), "active 0 /usr/bin/weftd (deleted)");
    assert_eq!(said("denied"), "0");
    assert_eq!(said("stopped"), "inactive");
    assert_eq!(said("names"), "0");
    assert_eq!(said("setting"), "0");
    assert_eq!(said("failed"), "0");
    said("ended");
}

/// All files, as paths below `root`, but what keeps records.
fn files(root: &Path) -> BTreeSet<String> {
    files_below(root)
        .iter()
        .filter_map(|file| file.strip_prefix(root).ok())
        .filter(|file| !RECORDS.iter().any(|folder| file.starts_with(folder)))
        .map(|file| file.to_string_lossy().into_owned())
        .collect()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("a command");
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
