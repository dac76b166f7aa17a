//! One daemon a machine: the kernel's names of congestion controls are global.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use tracing::debug;

use crate::Failure;

/// The lock of the process that manages the kernel. The kernel releases it at the end of the process, whatever ends it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Takes it.
    ///
    /// # Errors
    /// [`Failure::Failed`]: another process has it.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("lock");
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        // One that was killed has to end first, with its program on trial. On a busy machine that took more than 0.2 s.
        let mut locked = file.try_lock();
        for _ in 0..MAX_TRIES {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            sleep(RETRY_DELAY);
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                return Err(Failure::Failed(format!(
                    "weftd runs already: process {} holds {}",
                    holder.trim(),
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The number is for messages only; a full file system does not end the process.
        let written = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        if let Err(error) = written {
            debug!(%error, "{}", path.display());
        }
        Ok(Self(file))
    }
}

const MAX_TRIES: u32 = 100;
const RETRY_DELAY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_until_the_first_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let refusal = Lock::take(folder.path()).unwrap_err().to_string();
        let own = format!("weftd runs already: process {} holds", std::process::id());
        assert!(refusal.starts_with(&own), "{refusal}");
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn one_that_ends_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let ends = std::thread::spawn(move || {
            sleep(Duration::from_secs(1));
            drop(first);
        });
        Lock::take(folder.path()).unwrap();
        ends.join().unwrap();
    }
}
