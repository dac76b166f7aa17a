//! Removal of map entries of sockets that the kernel has closed without a call of `release`.

use libbpf_rs::{MapCore, MapFlags, ProgramInput};
use zerocopy::IntoBytes;

use super::{ConnectionStats, Error, Programs, Subflow};
use crate::abi;

/// Name of the program that frees a slot. Each algorithm has one, because the algorithm handles the close.
const REAP: &str = "weft_reap";

impl Programs {
    /// Removes entries that were not used for `idle_us` microseconds, except for connections whose token is `known`. If the
    /// socket of an entry still exists, it gets another entry with its next acknowledgement. Returns the number of removed entries.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reap(&self, now_us: u64, idle_us: u64, known: impl Fn(u32) -> bool) -> Result<usize, Error> {
        let wrong = |error| Error::kernel("the map of connections", &error);
        let mut reaped = 0;
        let keys: Vec<_> = self.connections.keys().collect();
        for key in keys {
            let value = self.connections.lookup(&key, MapFlags::ANY).map_err(wrong)?;
            let Some(connection) = value
                .as_deref()
                .and_then(|value| ConnectionStats::read(&key, value))
            else {
                continue;
            };
            let used = connection.subflows.iter().map(|s| s.last_ack_us).max();
            let idle = now_us.saturating_sub(used.unwrap_or(0)) > idle_us;
            let counts = connection.token == 0 || !known(connection.token);
            if idle && counts && self.connections.delete(&key).is_ok() {
                reaped += 1;
            }
        }
        Ok(reaped)
    }

    /// Frees the slot of a subflow that has no socket any more, unless it is another's by now; the algorithm is informed that the
    /// subflow has closed. Whether it did.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reap_subflow(&self, connection: &ConnectionStats, subflow: &Subflow) -> Result<bool, Error> {
        let name = connection.algorithm;
        let wrong = |error| Error::kernel(name.kernel(), &error);
        let Some(loaded) = self.loaded.iter().find(|loaded| loaded.name == name) else {
            return Ok(false);
        };
        let mut programs = loaded.object.progs_mut();
        let Some(program) = programs.find(|program| program.name() == REAP) else {
            return Ok(false);
        };
        let mut lost = abi::Lost {
            key: connection.key,
            slot: subflow.slot as u32,
            owner: subflow.owner,
        };
        let input = ProgramInput {
            context_in: Some(lost.as_mut_bytes()),
            ..ProgramInput::default()
        };
        let output = program.test_run(input).map_err(wrong)?;
        Ok(output.return_value == 0)
    }
}
