//! One testbed at a time: two would take each other's processor, and programs registered with the kernel have one name on the machine.

use std::fs::{File, OpenOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Waits until no other testbed runs. The lock goes with the process that holds it.
///
/// # Errors
/// In words: the lock cannot be had, or `stop` was set meanwhile.
pub fn acquire_lock(stop: &AtomicBool) -> Result<Flock<File>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{PATH}: {error}");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(PATH)
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
