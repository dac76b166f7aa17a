//! Subflows whose path has probably failed. They are closed where a second look confirms it.

use std::collections::VecDeque;

use tracing::{info, warn};

use super::{Daemon, now};
use weft_kernel::events::Event;
use weft_kernel::path_manager::CommandBatch;
use weft_kernel::programs::ConnectionStats;

/// Time from a timeout to the second look: 50 ms. The kernel resends a packet at the timeout. A path that works, and lost a whole
/// window in a full queue, carries its acknowledgement by then.
const CONFIRMED_AFTER: u64 = 50_000_000;
/// Maximum number of timeouts that wait for the second look. The limit bounds the list if events are forged.
const MAX_WAITING: usize = 4096;

/// The timeouts that wait for a second look, the oldest first.
#[derive(Default)]
pub(super) struct FailedPaths {
    waiting: VecDeque<Event>,
}

impl FailedPaths {
    /// Records a timeout of a subflow while another one progressed.
    pub(super) fn suspect(&mut self, event: Event) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(event);
        }
    }

    /// Returns the time of the next second look.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.waiting.front().map(|event| event.ktime_ns + CONFIRMED_AFTER)
    }
}

impl Daemon {
    /// Closes the subflows that are still silent although another one of their connection has progressed.
    pub(super) fn close_failed(&mut self, batches: &mut Vec<CommandBatch>) {
        let now = now();
        while self.failed_paths.deadline().is_some_and(|due| due <= now) {
            let Some(event) = self.failed_paths.waiting.pop_front() else {
                return;
            };
            let failed = match self.programs.connection(event.algorithm, event.token) {
                Ok(connection) => connection.is_some_and(|connection| is_silent(&connection, &event)),
                Err(error) => {
                    warn!(%error, "cannot read windows");
                    false
                }
            };
            let subflow = (event.local, event.remote);
            if failed && self.connections.on_failed(event.token, subflow, now, batches) {
                info!(local = %event.local, remote = %event.remote, "closed a subflow: it timed out while another one progressed");
                self.metrics.failed_subflows.inc();
            }
        }
    }
}

/// Whether the subflow of the event has acknowledged nothing since, and another one something.
fn is_silent(connection: &ConnectionStats, event: &Event) -> bool {
    let progressed = |last_ack_us: u64| last_ack_us * 1000 > event.ktime_ns;
    let (of_event, others): (Vec<_>, Vec<_>) = connection.subflows.iter().partition(|subflow| {
        (subflow.slot, subflow.remote) == (event.slot, event.remote) && subflow.local == event.local
    });
    of_event.iter().any(|subflow| !progressed(subflow.last_ack_us))
        && others.iter().any(|subflow| progressed(subflow.last_ack_us))
}
