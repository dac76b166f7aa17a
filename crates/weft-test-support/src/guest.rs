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
    /// Beginning of the version, such as "6.1", of which the newest is taken.
    pub series: &'static str,
    /// The release of Debian whose backports have the kernel, if this machine's release does not.
    pub backports: Option<&'static str>,
}

/// The kernel of Debian 12.
pub const STABLE: Packaged = Packaged {
    series: "6.1",
    backports: None,
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

/// Returns the folder with the unpacked packages of the newest kernel of a series.
fn unpacked(kernel: Packaged, below: &Path) -> Result<PathBuf, String> {
    let Packaged { series, backports } = kernel;
    let folder = below.join(format!("debian-{series}"));
    if folder.join("boot").is_dir() {
        return Ok(folder);
    }
    let work = tempfile::tempdir_in(below).expect("a temporary folder");
    let backport = || {
        download(
            work.path(),
            series,
            &options_for_backports(work.path(), backports?)?,
        )
    };
    let packages = download(work.path(), series, &[])
        .or_else(backport)
        .ok_or_else(|| format!("Linux {series} (cloud-amd64) among Debian's packages (apt-get update)"))?;
    let unpacked = work.path().join("unpacked");
    for package in packages {
        let status = Command::new("dpkg-deb")
            .arg("-x")
            .arg(package)
            .arg(&unpacked)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the package is unpacked"
        );
    }
    use_one_layout(&unpacked);
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

/// Debian 13 has modules in `usr/lib/modules`, and its newest packages have the kernel among them. Moves both to where they were
/// before.
fn use_one_layout(unpacked: &Path) {
    let modules = unpacked.join("usr/lib/modules");
    if !modules.is_dir() {
        return;
    }
    fs::create_dir_all(unpacked.join("lib")).expect("a folder");
    fs::rename(modules, unpacked.join("lib/modules")).expect("modules");
    let kernel = files_below(&unpacked.join("lib/modules"))
        .into_iter()
        .find(|file| file.ends_with("vmlinuz"));
    if let Some(kernel) = kernel {
        fs::create_dir_all(unpacked.join("boot")).expect("a folder");
        fs::rename(kernel, unpacked.join("boot/vmlinuz")).expect("a kernel");
    }
}

/// The packages of the newest kernel among those that are there with all its parts. Since 6.19 a kernel is in `linux-binary-VERSION` and
/// `linux-modules-VERSION`, and `linux-image-VERSION` has no files.
fn packages_of_newest(found: &str) -> Option<Vec<String>> {
    let names: Vec<&str> = found
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let has = |part: &str, version: &str| names.contains(&format!("linux-{part}-{version}").as_str());
    let versions = names.iter().filter_map(|name| name.strip_prefix("linux-image-"));
    let complete = versions.filter(|version| !has("binary", version) || has("modules", version));
    // Versions are compared number by number: 6.12.9 is older than 6.12.10.
    let numbers = |name: &&str| -> Vec<u32> {
        name.split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok())
            .collect()
    };
    let newest = complete.max_by_key(numbers)?;
    let parts: &[&str] = if has("binary", newest) {
        &["binary", "modules"]
    } else {
        &["image"]
    };
    Some(
        parts
            .iter()
            .map(|part| format!("linux-{part}-{newest}"))
            .collect(),
    )
}

/// Downloads the newest kernel of a series by apt with these options.
fn download(to: &Path, series: &str, options: &[String]) -> Option<Vec<PathBuf>> {
    let pattern = format!(
        r"^linux-(image|binary|modules)-{}\.[0-9].*-cloud-amd64$",
        series.replace('.', r"\.")
    );
    let found = Command::new("apt-cache")
        .args(options)
        .args(["search", "--names-only", &pattern])
        .output()
        .ok()?;
    let packages = packages_of_newest(&String::from_utf8_lossy(&found.stdout))?;
    let status = Command::new("apt-get")
        .args(options)
        .args(["--quiet", "download"])
        .args(packages)
        .current_dir(to)
        .output()
        .ok()?
        .status;
    let package = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "deb");
    status
        .success()
        .then(|| files_below(to).into_iter().filter(package).collect())
}

/// Returns options by which apt reads the backports of a release of Debian, and which change nothing outside `folder`.
fn options_for_backports(folder: &Path, release: &str) -> Option<Vec<String>> {
    let targets = Command::new("apt-get")
        .args(["indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)"])
        .output()
        .ok()?;
    let targets = String::from_utf8_lossy(&targets.stdout).into_owned();
    let archive = targets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (archive, own) = (words.next()?, words.next()?);
        (words.next() == Some("main") && !own.contains('-')).then_some(archive)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_with_all_its_parts_is_taken() {
        let found = "linux-image-6.12.9-cloud-amd64 - Linux\nlinux-image-6.12.10-cloud-amd64 - Linux\n";
        assert_eq!(
            packages_of_newest(found).unwrap(),
            ["linux-image-6.12.10-cloud-amd64"]
        );
        let split = ["image", "binary", "modules"]
            .map(|part| format!("linux-{part}-7.3.4+deb13-cloud-amd64 - Linux"));
        let parts = ["binary", "modules"].map(|part| format!("linux-{part}-7.3.4+deb13-cloud-amd64"));
        let newer = "linux-image-7.3.5+deb13-cloud-amd64\nlinux-binary-7.3.5+deb13-cloud-amd64\n";
        for all in [split.join("\n"), format!("{newer}{}", split.join("\n"))] {
            assert_eq!(packages_of_newest(&all).unwrap(), parts);
        }
        assert_eq!(packages_of_newest(newer), None);
    }
}
