//! Kernel settings that are changed while the daemon runs, and put back afterwards, also after a SIGKILL: what they were is
//! on disk before they are changed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use tracing::debug;

use weft_kernel::path_manager::Namespace;

/// Prefix of the names of Weft's congestion controls.
const PREFIX: &str = "weft_";

/// The setting that names the default congestion control.
pub const DEFAULT: &str = "net.ipv4.tcp_congestion_control";

/// Returns the setting that chooses who manages the subflows of a namespace, and its value for user space. Linux 6.15 replaced
/// `pm_type`, which goes on to show the same.
pub fn path_manager(namespace: &Namespace) -> (&'static str, &'static str) {
    const NAME: &str = "net.mptcp.path_manager";
    match read(namespace, NAME) {
        Ok(_) => (NAME, "userspace"),
        Err(_) => ("net.mptcp.pm_type", "1"),
    }
}

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedSetting {
    namespace: Namespace,
    key: String,
    #[serde(rename = "was")]
    previous: String,
    set: String,
    /// True if the kernel copied the setting into this namespace, which may be one that is not served.
    #[serde(default)]
    inherited: bool,
}

/// The settings that were changed, and their file.
#[derive(Debug)]
pub struct Settings {
    file: PathBuf,
    changed: Vec<SavedSetting>,
}

impl Settings {
    /// Opens the file with the settings that an earlier process changed and did not restore. A file that cannot be read is
    /// set aside, so that it blocks neither a start nor `detach`; the second value is a line about it for the operator.
    pub fn open(file: &Path) -> (Self, Option<String>) {
        let read = match fs::read(file) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let (changed, damage) = match read {
            Ok(changed) => (changed, None),
            Err(error) => {
                debug!(%error, "settings of the last run");
                (Vec::new(), Some(set_aside(file)))
            }
        };
        let settings = Self {
            file: file.to_owned(),
            changed,
        };
        (settings, damage)
    }

    /// Whether an earlier process left changed settings.
    pub fn is_stale(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Gives a setting another value; says whether it had a different one. It is written even if it has the value already: a
    /// congestion control's name may stand for programs that were registered under it before.
    ///
    /// # Errors
    /// The setting does not exist or refuses the value, or it cannot be remembered.
    pub fn change(&mut self, namespace: &Namespace, key: &str, value: &str) -> io::Result<bool> {
        let previous = read(namespace, key)?;
        if previous == value {
            write(namespace, key, value)?;
            return Ok(false);
        }
        let known = self
            .changed
            .iter_mut()
            .find(|changed| changed.namespace == *namespace && changed.key == key);
        match known {
            Some(changed) => value.clone_into(&mut changed.set),
            None => self.changed.push(SavedSetting {
                namespace: namespace.clone(),
                key: key.to_owned(),
                previous,
                set: value.to_owned(),
                inherited: false,
            }),
        }
        self.save()?;
        write(namespace, key, value)?;
        Ok(true)
    }

    /// Records that a namespace took over the default congestion control that this process gave to `source`. The default of
    /// `source` before the change is then restored in this namespace as well. The kernel copies the default of the machine's
    /// own namespace into each new one (`tcp_sk_init`).
    ///
    /// # Errors
    /// Returns an error if the default cannot be read or the record cannot be saved.
    pub fn record_inherited(&mut self, source: &Namespace, namespace: &Namespace) -> io::Result<bool> {
        let mut defaults = self.changed.iter().filter(|changed| changed.key == DEFAULT);
        if defaults.clone().any(|changed| changed.namespace == *namespace) {
            return Ok(false);
        }
        let source = source.inode();
        let Some(original) = defaults.find(|changed| changed.namespace.inode() == source) else {
            return Ok(false);
        };
        if read(namespace, DEFAULT)? != original.set {
            return Ok(false);
        }
        let inherited = SavedSetting {
            namespace: namespace.clone(),
            inherited: true,
            ..original.clone()
        };
        self.changed.push(inherited);
        self.save()?;
        Ok(true)
    }

    /// Restores all settings, except those that were changed by others since and those of namespaces that are gone. Returns
    /// the problems.
    pub fn restore(&mut self) -> Vec<String> {
        self.restore_where(|_| true)
    }

    /// Restores the settings with one key, which this version no longer changes.
    pub fn restore_key(&mut self, key: &str) -> Vec<String> {
        self.restore_where(|changed| changed.key == key)
    }

    /// Restores the settings of namespaces that are no longer served. Returns these namespaces and the problems.
    pub fn restore_unserved(
        &mut self,
        is_served: impl Fn(&Namespace) -> bool,
    ) -> (Vec<Namespace>, Vec<String>) {
        let mut left: Vec<Namespace> = Vec::new();
        for changed in self.changed.iter().filter(|changed| !changed.inherited) {
            if !is_served(&changed.namespace) && !left.contains(&changed.namespace) {
                left.push(changed.namespace.clone());
            }
        }
        let wrong = self.restore_where(|changed| !changed.inherited && left.contains(&changed.namespace));
        (left, wrong)
    }

    fn restore_where(&mut self, selected: impl Fn(&SavedSetting) -> bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let (restored, left): (Vec<_>, Vec<_>) = self.changed.drain(..).partition(selected);
        self.changed = left;
        if restored.is_empty() && !self.changed.is_empty() {
            return wrong;
        }
        for SavedSetting {
            namespace,
            key,
            previous,
            set,
            ..
        } in restored.into_iter().rev()
        {
            let result = match read(&namespace, &key) {
                Ok(now) if now == set => write(&namespace, &key, &previous),
                Ok(_) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                wrong.push(format!("{key} stays {set}, it was {previous}: {error}"));
            }
        }
        let saved = if self.changed.is_empty() {
            fs::remove_file(&self.file)
        } else {
            self.save()
        };
        if let Err(error) = saved
            && error.kind() != io::ErrorKind::NotFound
        {
            wrong.push(format!("{}: {error}", self.file.display()));
        }
        wrong
    }

    fn save(&self) -> io::Result<()> {
        let new = self.file.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(&serde_json::to_vec(&self.changed)?)?;
        file.sync_all()?;
        fs::rename(new, &self.file)
    }
}

/// A setting's value; the key is a path below `/proc/sys` with dots.
///
/// # Errors
/// There is no such setting, or the namespace cannot be entered.
pub fn read(namespace: &Namespace, key: &str) -> io::Result<String> {
    let path = path(key);
    let text = namespace.run_in(|| fs::read_to_string(&path))?;
    Ok(text.trim_end().to_owned())
}

/// Gives a namespace a value that its setting has already. Returns the value.
///
/// # Errors
/// Returns an error if the setting does not exist or refuses the value, or if the namespace cannot be entered.
pub fn rewrite(namespace: &Namespace, key: &str) -> io::Result<String> {
    let value = read(namespace, key)?;
    write(namespace, key, &value)?;
    Ok(value)
}

/// Returns the default congestion control of a namespace if it is one of Weft's.
pub fn default_of(namespace: &Namespace) -> Option<String> {
    let name = read(namespace, DEFAULT).ok()?;
    name.starts_with(PREFIX).then_some(name)
}

/// Writes the default congestion control of a namespace again if it is one of Weft's, and returns the name then. A namespace
/// keeps the program that the name stood for when it was set, which may be one of an earlier process.
///
/// # Errors
/// Returns an error if the name is not registered any more, or if the namespace cannot be entered.
pub fn renew_default(namespace: &Namespace) -> io::Result<Option<String>> {
    let Some(name) = default_of(namespace) else {
        return Ok(None);
    };
    write(namespace, DEFAULT, &name)?;
    Ok(Some(name))
}

/// Moves a file that cannot be read out of the way.
fn set_aside(file: &Path) -> String {
    let damaged = file.with_extension("json.damaged");
    let moved = match fs::rename(file, &damaged) {
        Ok(()) => format!("it is now {}", damaged.display()),
        Err(error) => format!("it cannot be renamed: {error}"),
    };
    format!(
        "{}: damaged, so settings that the last weftd changed stay changed ({moved}); compare `sysctl {DEFAULT} net.mptcp.pm_type` with \
         the values that you want",
        file.display()
    )
}

fn write(namespace: &Namespace, key: &str, value: &str) -> io::Result<()> {
    let path = path(key);
    namespace
        .run_in(|| fs::write(&path, value))
        .map_err(|error| io::Error::new(error.kind(), format!("{key} = {value}: {error}")))
}

fn path(key: &str) -> PathBuf {
    Path::new("/proc/sys").join(key.replace('.', "/"))
}
