//! Kernel settings that are changed while the daemon runs, and put back afterwards, also after a SIGKILL: what they were is
//! on disk before they are changed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use tracing::debug;

use crate::path_manager::Namespace;

/// The setting that names the default congestion control.
pub const DEFAULT: &str = "net.ipv4.tcp_congestion_control";

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedSetting {
    namespace: Namespace,
    key: String,
    #[serde(rename = "was")]
    previous: String,
    set: String,
}

/// The settings that were changed, and their file.
#[derive(Debug)]
pub struct Settings {
    file: PathBuf,
    changed: Vec<SavedSetting>,
}

impl Settings {
    /// With what an earlier process changed and did not put back.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn open(file: &Path) -> io::Result<Self> {
        let changed = match fs::read_to_string(file) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            file: file.to_owned(),
            changed,
        })
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
            }),
        }
        self.save()?;
        write(namespace, key, value)?;
        Ok(true)
    }

    /// Puts everything back, except what somebody else has changed since and namespaces that are gone. Returns what went
    /// wrong.
    pub fn restore(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for SavedSetting {
            namespace,
            key,
            previous,
            set,
        } in self.changed.drain(..).rev()
        {
            let back = match read(&namespace, &key) {
                Ok(now) if now == set => write(&namespace, &key, &previous),
                Ok(_) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = back {
                wrong.push(format!("{key} stays {set}, it was {previous}: {error}"));
            }
        }
        if let Err(error) = fs::remove_file(&self.file)
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

/// Namespaces take over the default congestion control that the machine had when they were made, and keep what the name
/// stood for. Of those that are not `served`, what names one of Weft's is written again, or made the machine's default
/// when the names are taken back. Where the caller may not enter them they stay as they are.
pub fn renew_inherited(managed: impl Fn(&Namespace) -> bool, taken_back: bool) {
    let own = read(&Namespace::current(), DEFAULT).unwrap_or_default();
    for namespace in Namespace::all_named()
        .into_iter()
        .filter(|namespace| !managed(namespace))
    {
        let Ok(name) = read(&namespace, DEFAULT) else {
            continue;
        };
        if !name.starts_with("weft_") || (taken_back && own.starts_with("weft_")) {
            continue;
        }
        let value = if taken_back { &own } else { &name };
        if let Err(error) = write(&namespace, DEFAULT, value) {
            debug!(%error, "an inherited default stays");
        }
    }
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
