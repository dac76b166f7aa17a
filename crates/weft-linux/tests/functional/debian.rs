//! All functional tests again on Debian's packaged 6.1 kernel, which knows neither links of `struct_ops` nor the later
//! arguments of congestion control, and which has the modules that other kernels may lack. It boots in qemu's
//! software emulation from an initramfs of busybox, this test's own binary and iproute2. Its package is downloaded and
//! unpacked below `target`, not installed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::is_emulated;

/// Loaded in this order.
const MODULES: [&str; 6] = [
    "sch_ingress",
    "sch_tbf",
    "cls_bpf",
    "tcp_dctcp",
    "inet_diag",
    "tcp_diag",
];
/// What the tests call.
const TOOLS: [&str; 3] = ["ip", "ss", "tc"];
/// Emulation takes about a minute on an idle machine.
const SECONDS: &str = "500";

const INIT: &str = r"#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin WEFT_EMULATED=1 RUST_BACKTRACE=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod $module; done
echo KERNEL $(uname -r)
functional --test-threads=1 --nocapture
echo ENDED $?
poweroff -f
";

#[test]
fn debians_kernel_passes_the_same_tests() {
    if is_emulated() {
        return;
    }
    match boot() {
        Ok(output) => {
            println!("{output}");
            assert!(output.contains("KERNEL 6.1."), "it boots");
            assert!(output.contains("test result: ok."), "its tests pass");
            assert!(output.contains("ENDED 0"), "its tests end");
        }
        Err(missing) => println!("debians_kernel_passes_the_same_tests: skipped, it needs {missing}"),
    }
}

/// What the guest printed, or what is missing here.
fn boot() -> Result<String, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("an x86_64 machine".to_owned());
    }
    let qemu = find("qemu-system-x86_64").ok_or("the Debian package qemu-system-x86")?;
    let busybox = find("busybox").ok_or("the Debian package busybox-static")?;
    let tools = TOOLS.map(find).into_iter().collect::<Option<Vec<_>>>();
    let tools = tools.ok_or("the Debian package iproute2")?;
    let kernel = kernel()?;

    let work = tempfile::tempdir().expect("a temporary folder");
    let root = work.path().join("root");
    for folder in ["bin", "proc", "sys", "dev", "tmp", "run", "modules"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    fs::copy(&busybox, root.join("bin/busybox")).expect("busybox");
    let own = std::env::current_exe().expect("this test's binary");
    install(&own, &root, "functional");
    for (path, name) in tools.iter().zip(TOOLS) {
        install(path, &root, name);
    }
    let all = files_below(&kernel.join("lib/modules"));
    for (i, module) in MODULES.iter().enumerate() {
        let file = all.iter().find(|file| file.ends_with(format!("{module}.ko")));
        let file = file.ok_or_else(|| format!("the module {module} uncompressed in the kernel's package"))?;
        fs::copy(file, root.join(format!("modules/{i}-{module}.ko"))).expect("a module");
    }
    let init = root.join("init");
    fs::write(&init, INIT).expect("init");
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).expect("init");

    let initramfs = work.path().join("initramfs");
    let packed = Command::new(&busybox)
        .args(["sh", "-c", "find . | cpio -o -H newc"])
        .current_dir(&root)
        .stdout(File::create(&initramfs).expect("a file"))
        .status();
    assert!(
        packed.is_ok_and(|status| status.success()),
        "the initramfs is packed"
    );

    let image = files_below(&kernel.join("boot"));
    let image = image
        .iter()
        .find(|file| file.to_string_lossy().contains("vmlinuz"));
    let output = Command::new("timeout")
        .args(["--kill-after=5", SECONDS])
        .arg(&qemu)
        .args(["-accel", "tcg", "-cpu", "max", "-m", "1024", "-nic", "none"])
        .args([
            "-nographic",
            "-no-reboot",
            "-append",
            "console=ttyS0 panic=-1 quiet",
        ])
        .arg("-kernel")
        .arg(image.expect("the package has a kernel"))
        .arg("-initrd")
        .arg(&initramfs)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("qemu starts");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The unpacked package of the newest 6.1 kernel for virtual machines.
fn kernel() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian-6.1");
    if folder.join("boot").is_dir() {
        return Ok(folder);
    }
    let missing = || "linux-image-6.1.*-cloud-amd64 among Debian's packages (apt-get update)".to_owned();
    let found = Command::new("apt-cache")
        .args([
            "search",
            "--names-only",
            r"^linux-image-6\.1\.0-[0-9]*-cloud-amd64$",
        ])
        .output()
        .map_err(|_| missing())?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let names = found.lines().filter_map(|line| line.split_whitespace().next());
    let newest = names.max_by_key(|name| name.split('-').nth(3).and_then(|n| n.parse::<u32>().ok()));
    let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let downloaded = Command::new("apt-get")
        .args(["download", newest.ok_or_else(missing)?])
        .current_dir(work.path())
        .output();
    if !downloaded.is_ok_and(|output| output.status.success()) {
        return Err(missing());
    }
    let package = files_below(work.path()).into_iter().next().ok_or_else(missing)?;
    let unpacked = work.path().join("unpacked");
    let status = Command::new("dpkg-deb")
        .arg("-x")
        .arg(package)
        .arg(&unpacked)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the package is unpacked"
    );
    fs::rename(&unpacked, &folder).expect("a folder below target");
    Ok(folder)
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

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders
        .into_iter()
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}
