//! Registration of the programs' names in the kernel, and their replacement by the programs of another process without a gap.
//!
//! From Linux 6.4 on a registration is a link. A process that hands over pins its links; the next one replaces
//! their programs by its own (`BPF_LINK_UPDATE`). In earlier kernels a registration lasts until the element of its map is deleted, so
//! the map is pinned. The name is unknown for some milliseconds between the deletion and the next registration.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapHandle, MapMut, MapType, Object, libbpf_sys};

use super::{Error, KernelAlgorithm};

/// Prefix of pins of maps that represent a registration on kernels without links.
pub const REGISTRATION: &str = "registration_";
/// Prefix of pins of links that wait for the next process.
pub const HANDOVER: &str = "handover_";

/// Where the last process has left its registrations, if anywhere, and whether they are links.
pub(super) struct Registrar<'a> {
    folder: Option<&'a Path>,
    links: bool,
}

impl<'a> Registrar<'a> {
    pub fn new(folder: Option<&'a Path>) -> Self {
        Self {
            folder,
            links: has_links(),
        }
    }

    /// Whether the kernel ties a registration to a link.
    pub fn links(&self) -> bool {
        self.links
    }

    /// Returns the pin of a name that the last process left.
    fn leftovers(&self, name: KernelAlgorithm) -> Option<PathBuf> {
        let prefix = if self.links { HANDOVER } else { REGISTRATION };
        self.folder.map(|folder| pin(folder, prefix, name))
    }

    /// Refuses names that another program has registered.
    pub fn check(&self, names: &[KernelAlgorithm]) -> Result<(), Error> {
        for &name in names {
            let left = self.leftovers(name).is_some_and(|pin| pin.exists());
            if !left && !is_free_soon(name)? {
                return Err(Error::Registered(name.kernel()));
            }
        }
        Ok(())
    }

    /// Registers loaded programs, in the place of those that the last process has left. Pins of links stay until
    /// [`finish`](Self::finish).
    pub fn register(&self, name: KernelAlgorithm, object: &mut Object) -> Result<Link, Error> {
        let wrong = |error| Error::kernel(name.kernel(), &error);
        let mut map = object
            .maps_mut()
            .find(|map| map.name() == name.kernel())
            .ok_or_else(|| Error::Kernel {
                what: name.kernel().to_owned(),
                why: "not among the maps".to_owned(),
            })?;
        match self.leftovers(name) {
            Some(pin) if self.links && pin.exists() => {
                let link = Link::open(&pin).map_err(wrong)?;
                // libbpf writes the programs into the map before it asks for a link, which the kernel refuses: the name is taken.
                if let Ok(new) = map.attach_struct_ops() {
                    return Ok(new);
                }
                update(&link, &map).map_err(|error| Error::io(name.kernel(), &error))?;
                Ok(link)
            }
            Some(pin) if !self.links => {
                if unregister_pinned(&pin) {
                    is_free_soon(name)?;
                }
                let _ = fs::remove_file(&pin);
                map.pin(&pin).map_err(wrong)?;
                map.attach_struct_ops().map_err(wrong)
            }
            _ => map.attach_struct_ops().map_err(wrong),
        }
    }

    /// Removes the other pins of the last process, after all names have been registered.
    pub fn finish<'l>(&self, links: impl Iterator<Item = (KernelAlgorithm, &'l mut Link)>) {
        let mut kept = Vec::new();
        for (name, link) in links {
            if link.pin_path().is_some() {
                let _ = link.unpin();
            }
            kept.push(name);
        }
        let Some(folder) = self.folder else { return };
        for name in KernelAlgorithm::ALL {
            let _ = fs::remove_file(pin(folder, HANDOVER, *name));
            let registration = pin(folder, REGISTRATION, *name);
            if !kept.contains(name) && unregister_pinned(&registration) {
                let _ = fs::remove_file(registration);
            }
        }
    }
}

/// Keeps a link for the next process.
pub(super) fn hand_over(name: KernelAlgorithm, link: &mut Link, folder: &Path) -> Result<(), Error> {
    let pin = pin(folder, HANDOVER, name);
    let _ = fs::remove_file(&pin);
    link.pin(pin)
        .map_err(|error| Error::kernel(name.kernel(), &error))
}

/// Ends the registration whose map is pinned there, if one is. Whether it did.
pub(super) fn unregister_pinned(pin: &Path) -> bool {
    MapHandle::from_pinned_path(pin)
        .is_ok_and(|map| map.map_type() == MapType::StructOps && map.delete(&[0; 4]).is_ok())
}

/// Whether the kernel ties a registration to a link (6.4).
pub(super) fn has_links() -> bool {
    libbpf_rs::btf::Btf::from_vmlinux().is_ok_and(|btf| {
        btf.type_by_name::<libbpf_rs::btf::types::Struct<'_>>("bpf_struct_ops_link")
            .is_some()
    })
}

/// Puts a map's programs in the place of those that a link has registered. libbpf does so only with links that it has made
/// itself in this process.
#[allow(unsafe_code)]
fn update(link: &Link, map: &MapMut<'_>) -> io::Result<()> {
    let (link, map) = (link.as_fd().as_raw_fd(), map.as_fd().as_raw_fd());
    // SAFETY: two descriptors that are open, and no options.
    let code = unsafe { libbpf_sys::bpf_link_update(link, map, std::ptr::null()) };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-code))
    }
}

/// Returns the congestion controls of the machine, which all namespaces share.
fn registered() -> Result<Vec<String>, Error> {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let list = fs::read_to_string(LIST).map_err(|error| Error::io(LIST, &error))?;
    Ok(list.split_whitespace().map(str::to_owned).collect())
}

/// Whether a name is free, or free within a second. The kernel frees it some time after the last pin or process has released it.
fn is_free_soon(name: KernelAlgorithm) -> Result<bool, Error> {
    for _ in 0..1000 {
        if registered()?.iter().all(|registered| registered != name.kernel()) {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(false)
}

fn pin(folder: &Path, prefix: &str, name: KernelAlgorithm) -> PathBuf {
    folder.join(format!("{prefix}{}", name.kernel()))
}
