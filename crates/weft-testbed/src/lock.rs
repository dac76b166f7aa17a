//! One testbed at a time: two would take each other's processor, and programs registered with the kernel have one name on the machine.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};

/// Waits until no other testbed runs. The lock goes with the process that holds it.
///
/// # Errors
/// In words: the lock cannot be had, or `stop` was set meanwhile.
pub fn acquire_lock(stop: &AtomicBool) -> Result<Flock<File>, String> {
    lock_file(Path::new(PATH), stop)
}

fn lock_file(path: &Path, stop: &AtomicBool) -> Result<Flock<File>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        // Who can read the file could take the lock, and keep it.
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(path)
        .map_err(|error| failed(&error))?;
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(|error| failed(&error))?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((given_back, Errno::EWOULDBLOCK)) if !stop.load(Ordering::Relaxed) => file = given_back,
            Err((_, Errno::EWOULDBLOCK)) => {
                return Err("stopped while another testbed was running".to_owned());
            }
            Err((_, error)) => return Err(failed(&error)),
        }
        thread::sleep(WAIT);
    }
}

const PATH: &str = "/run/weft-testbed.lock";
const WAIT: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_open_the_lock_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        // As earlier versions left it.
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let stop = AtomicBool::new(true);
        let lock = lock_file(&path, &stop).unwrap();
        assert_eq!(lock.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(lock_file(&path, &stop).is_err(), "it is taken");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(lock_file(&link, &stop).is_err());
    }
}
