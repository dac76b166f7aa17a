//! Debian's packaged 6.1 kernel in qemu's software emulation, with an initramfs that a test makes. The kernel's package is
//! downloaded and unpacked below `target`, not installed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An initramfs of busybox, to which a test adds what it needs.
pub struct Guest {
    work: TempDir,
    qemu: PathBuf,
    busybox: PathBuf,
    /// The unpacked package of the kernel.
    pub kernel: PathBuf,
}

impl Guest {
    /// Or what is missing here.
    pub fn new() -> Result<Self, String> {
        if !cfg!(target_arch = "x86_64") {
            return Err("an x86_64 machine".to_owned());
        }
        let guest = Self {
            work: tempfile::tempdir().expect("a temporary folder"),
            qemu: find("qemu-system-x86_64").ok_or("the Debian package qemu-system-x86")?,
            busybox: find("busybox").ok_or("the Debian package busybox-static")?,
            kernel: kernel()?,
        };
        for folder in ["bin", "proc", "sys", "dev", "tmp", "run", "modules"] {
            fs::create_dir_all(guest.root().join(folder)).expect("a folder");
        }
        fs::copy(&guest.busybox, guest.root().join("bin/busybox")).expect("busybox");
        Ok(guest)
    }

    /// Where the initramfs grows.
    pub fn root(&self) -> PathBuf {
        self.work.path().join("root")
    }

    /// Boots, with this text as `/init`; what the guest printed within so many seconds.
    pub fn boot(&self, init: &str, megabytes: u32, seconds: u32) -> String {
        let path = self.root().join("init");
        fs::write(&path, init).expect("init");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("init");
        let initramfs = self.work.path().join("initramfs");
        let packed = Command::new(&self.busybox)
            .args(["sh", "-c", "find . | cpio -o -H newc"])
            .current_dir(self.root())
            .stdout(File::create(&initramfs).expect("a file"))
            .stderr(Stdio::null())
            .status();
        assert!(
            packed.is_ok_and(|status| status.success()),
            "the initramfs is packed"
        );
        let image = files_below(&self.kernel.join("boot"));
        let image = image
            .iter()
            .find(|file| file.to_string_lossy().contains("vmlinuz"));
        let output = Command::new("timeout")
            .args(["--kill-after=5", &seconds.to_string()])
            .arg(&self.qemu)
            .args(["-accel", "tcg", "-cpu", "max", "-nic", "none", "-m"])
            .arg(megabytes.to_string())
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
            .stdin(Stdio::null())
            .output()
            .expect("qemu starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
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

pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders
        .into_iter()
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}
