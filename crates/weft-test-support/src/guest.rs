//! Debian's packaged kernels in qemu's software emulation, with an initramfs that a test makes. A kernel's package is
//! downloaded and unpacked below `target`, not installed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// A kernel of Debian for virtual machines.
#[derive(Clone, Copy)]
pub struct Packaged {
    /// Version, such as "6.1".
    pub series: &'static str,
    /// Whether the kernel is among the backports if the release does not have it.
    pub backported: bool,
}

/// The kernel of Debian 12.
pub const STABLE: Packaged = Packaged {
    series: "6.1",
    backported: false,
};

/// An initramfs of busybox, to which a test adds files.
pub struct Guest {
    work: TempDir,
    qemu: PathBuf,
    busybox: PathBuf,
    /// The unpacked package of the kernel.
    pub kernel: PathBuf,
}

impl Guest {
    /// Unpacks the kernel below `folder`, where the next call finds it.
    ///
    /// # Errors
    /// Returns the name of a package that is missing on this machine.
    pub fn new(kernel: Packaged, folder: &Path) -> Result<Self, String> {
        if !cfg!(target_arch = "x86_64") {
            return Err("an x86_64 machine".to_owned());
        }
        let guest = Self {
            work: tempfile::tempdir().expect("a temporary folder"),
            qemu: find("qemu-system-x86_64").ok_or("the Debian package qemu-system-x86")?,
            busybox: find("busybox").ok_or("the Debian package busybox-static")?,
            kernel: unpacked(kernel, folder)?,
        };
        for folder in ["bin", "proc", "sys", "dev", "tmp", "run", "modules"] {
            fs::create_dir_all(guest.root().join(folder)).expect("a folder");
        }
        fs::copy(&guest.busybox, guest.root().join("bin/busybox")).expect("busybox");
        Ok(guest)
    }

    /// Returns the folder that becomes the initramfs.
    pub fn root(&self) -> PathBuf {
        self.work.path().join("root")
    }

    /// Boots with this text as `/init`, and returns the output of the guest, which is stopped after this many `seconds`.
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
        // Tests on the kernel of this machine may run at the same time, and some of them measure.
        let output = Command::new("timeout")
            .args(["--kill-after=5", &seconds.to_string()])
            .args(["nice", "-n", "19"])
            .arg(&self.qemu)
            .args(["-accel", "tcg", "-cpu", "max", "-nic", "none", "-m"])
            .arg(megabytes.to_string())
            .args([
                "-nographic",
                "-no-reboot",
                "-append",
                // On a busy machine the emulated timer is late for the check.
                "console=ttyS0 panic=-1 quiet no_timer_check",
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

/// Returns the folder of the unpacked package of the newest kernel of a series.
fn unpacked(kernel: Packaged, below: &Path) -> Result<PathBuf, String> {
    let Packaged { series, backported } = kernel;
    let folder = below.join(format!("debian-{series}"));
    if folder.join("boot").is_dir() {
        return Ok(folder);
    }
    let work = tempfile::tempdir_in(below).expect("a temporary folder");
    let backport = || download(work.path(), series, &backports(work.path())?);
    let package = download(work.path(), series, &[])
        .or_else(|| backported.then(backport)?)
        .ok_or_else(|| {
            format!("linux-image-{series}.*-cloud-amd64 among Debian's packages (apt-get update)")
        })?;
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
    // busybox loads no compressed modules.
    for module in files_below(&unpacked.join("lib/modules")) {
        if module.extension().is_some_and(|extension| extension == "xz") {
            let status = Command::new("xz").arg("-d").arg(&module).status();
            status
                .ok()
                .filter(ExitStatus::success)
                .ok_or("the Debian package xz-utils")?;
        }
    }
    fs::rename(&unpacked, &folder).expect("a folder below target");
    Ok(folder)
}

/// Downloads the newest kernel of a series by apt with these options.
fn download(to: &Path, series: &str, options: &[String]) -> Option<PathBuf> {
    let pattern = format!(
        r"^linux-image-{}\.[0-9].*-cloud-amd64$",
        series.replace('.', r"\.")
    );
    let found = Command::new("apt-cache")
        .args(options)
        .args(["search", "--names-only", &pattern])
        .output()
        .ok()?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let names = found.lines().filter_map(|line| line.split_whitespace().next());
    // Versions are compared number by number: 6.12.9 is older than 6.12.10.
    let numbers = |name: &&str| -> Vec<u32> {
        name.split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok())
            .collect()
    };
    let status = Command::new("apt-get")
        .args(options)
        .args(["--quiet", "download", names.max_by_key(numbers)?])
        .current_dir(to)
        .output()
        .ok()?
        .status;
    let package = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "deb");
    status
        .success()
        .then(|| files_below(to).into_iter().find(package))?
}

/// Returns options by which apt also reads the backports of this machine's Debian, and which change nothing outside `folder`.
fn backports(folder: &Path) -> Option<Vec<String>> {
    let targets = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)"])
        .output()
        .ok()?;
    let targets = String::from_utf8_lossy(&targets.stdout).into_owned();
    let (archive, release) = targets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (archive, release) = (words.next()?, words.next()?);
        (words.next() == Some("main") && !release.contains('-')).then_some((archive, release))
    })?;
    for below in ["sources", "lists/partial", "cache"] {
        fs::create_dir_all(folder.join(below)).ok()?;
    }
    let line = format!("deb {archive} {release}-backports main\n");
    fs::write(folder.join("sources/backports.list"), line).ok()?;
    let at = |key: &str, below: &str| format!("-oDir::{key}={}", folder.join(below).display());
    let options = vec![
        at("Etc::SourceList", "none"),
        at("Etc::SourceParts", "sources"),
        at("State::Lists", "lists"),
        at("Cache", "cache"),
    ];
    let updated = Command::new("apt-get")
        .args(&options)
        .args(["--quiet", "update"])
        .output()
        .ok()?;
    updated.status.success().then_some(options)
}

/// Returns the path of a program on this machine.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders
        .into_iter()
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Returns all files below a folder.
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
