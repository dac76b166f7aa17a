//! Algorithms of sockets that choose none: a program at the root of cgroups, and the rules that it applies.

use std::fs::{self, File};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject};
use zerocopy::IntoBytes;

use super::Error;
use crate::abi;

/// A rule. The first one that fits a socket decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of the algorithm in the kernel.
    pub algorithm: String,
    /// Only sockets that connect, and to this network: an address, and how many of its bits count.
    pub to: Option<(IpAddr, u8)>,
    /// First and last port of the other end, or of a socket that listens.
    pub ports: (u16, u16),
    /// Only sockets in this cgroup, by its path below the root, or below it.
    pub cgroup: Option<String>,
}

/// The program, attached; dropping it detaches it.
pub struct Scope {
    // Dropped before the object.
    link: Link,
    object: Object,
    root: PathBuf,
    rules: Vec<Rule>,
    written: Vec<abi::Rule>,
}

impl Scope {
    /// Attaches the program with these rules, in the place of one that the last process has left in a folder. Nothing is attached
    /// without rules.
    ///
    /// # Errors
    /// There are no cgroups of version 2, or what the kernel answers.
    pub fn attach(rules: Vec<Rule>, folder: Option<&Path>) -> Result<Option<Self>, Error> {
        let left = folder
            .map(|folder| folder.join(HANDOVER))
            .filter(|pin| pin.exists());
        if rules.is_empty() {
            left.map(fs::remove_file);
            return Ok(None);
        }
        let root = root_of_cgroups()?;
        let object = load()?;
        let written = resolve(&root, &rules);
        // The rules are there before the program is.
        write(&object, &written)?;
        let link = if let Some(pin) = left {
            let mut link = Link::open(pin).map_err(wrong)?;
            let program = object.progs().next().ok_or_else(|| Error::missing(PROGRAM))?;
            link.update_prog(&program).map_err(wrong)?;
            let _ = link.unpin();
            link
        } else {
            let cgroup = File::open(&root).map_err(|error| Error::io(PROGRAM, &error))?;
            let program = object.progs_mut().next().ok_or_else(|| Error::missing(PROGRAM))?;
            program.attach_cgroup(cgroup.as_raw_fd()).map_err(wrong)?
        };
        Ok(Some(Self {
            link,
            object,
            root,
            rules,
            written,
        }))
    }

    /// Looks which cgroups there are now.
    ///
    /// # Errors
    /// The kernel's.
    pub fn follow(&mut self) -> Result<(), Error> {
        let resolved = resolve(&self.root, &self.rules);
        if resolved != self.written {
            write(&self.object, &resolved)?;
            self.written = resolved;
        }
        Ok(())
    }

    /// The folders in which cgroups of rules come and go.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let cgroups = self.rules.iter().filter_map(|rule| rule.cgroup.as_ref());
        cgroups.filter_map(|cgroup| self.root.join(cgroup).parent().map(Path::to_owned))
    }

    /// Keeps the program attached until the next process attaches its own.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hand_over(&mut self, folder: &Path) -> Result<(), Error> {
        let pin = folder.join(HANDOVER);
        let _ = fs::remove_file(&pin);
        self.link.pin(pin).map_err(wrong)
    }
}

/// Tests whether the kernel accepts the program.
///
/// # Errors
/// Returns the errors of [`Scope::attach`].
pub fn try_load() -> Result<(), Error> {
    root_of_cgroups()?;
    load().map(|_| ())
}

fn load() -> Result<Object, Error> {
    let object =
        ObjectBuilder::default().open_memory(include_bytes!(concat!(env!("OUT_DIR"), "/weft_scope.o")));
    object.and_then(OpenObject::load).map_err(wrong)
}

fn write(object: &Object, rules: &[abi::Rule]) -> Result<(), Error> {
    let map = object.maps().find(|map| map.name() == "rules");
    let map = map.ok_or_else(|| Error::missing(PROGRAM))?;
    let end = EMPTY;
    for (i, rule) in (0_u32..RULES as u32).zip(rules.iter().chain([&end])) {
        map.update(&i.to_ne_bytes(), rule.as_bytes(), MapFlags::ANY)
            .map_err(wrong)?;
    }
    Ok(())
}

/// Converts rules to the form of the program, with the current numbers of cgroups.
fn resolve(root: &Path, rules: &[Rule]) -> Vec<abi::Rule> {
    let number =
        |cgroup: &String| fs::metadata(root.join(cgroup)).map_or(NO_CGROUP, |metadata| metadata.ino());
    rules
        .iter()
        .map(|rule| {
            let (network, bits) = rule.to.map_or(([0; 16], 0), |(ip, bits)| match ip {
                IpAddr::V4(ip) => (ip.to_ipv6_mapped().octets(), 96 + u32::from(bits)),
                IpAddr::V6(ip) => (ip.octets(), u32::from(bits)),
            });
            let mut algorithm = [0; 16];
            let length = rule.algorithm.len().min(algorithm.len() - 1);
            algorithm[..length].copy_from_slice(&rule.algorithm.as_bytes()[..length]);
            let word = |i: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| network[4 * i + byte]));
            abi::Rule {
                cgroup: rule.cgroup.as_ref().map_or(0, number),
                network: [0, 1, 2, 3].map(word),
                bits,
                destination: rule.to.is_some().into(),
                first_port: rule.ports.0.into(),
                last_port: rule.ports.1.into(),
                algorithm,
            }
        })
        .collect()
}

/// Returns the folder where cgroups of version 2 are mounted.
fn root_of_cgroups() -> Result<PathBuf, Error> {
    const MOUNTS: &str = "/proc/self/mounts";
    let mounts = fs::read_to_string(MOUNTS).map_err(|error| Error::io(MOUNTS, &error))?;
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let root = mounts.find_map(|mut fields| {
        let point = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(point))
    });
    root.ok_or_else(|| Error::Kernel {
        what: "rules".to_owned(),
        why: "cgroups of version 2 are not mounted".to_owned(),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn wrong(error: libbpf_rs::Error) -> Error {
    Error::kernel(PROGRAM, &error)
}

/// `WEFT_RULES`.
pub const RULES: usize = 32;
const PROGRAM: &str = "weft_scope";
const HANDOVER: &str = "handover_scope";
/// A number that no cgroup has.
const NO_CGROUP: u64 = u64::MAX;
const EMPTY: abi::Rule = abi::Rule {
    cgroup: 0,
    network: [0; 4],
    bits: 0,
    destination: 0,
    first_port: 0,
    last_port: 0,
    algorithm: [0; 16],
};
