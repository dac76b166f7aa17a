//! The times at which congestion control suppressed subflows of a connection.

use weft_run::SuppressionRecord;
use weft_spec::Time;

/// The suppressions of a connection.
#[derive(Default)]
pub struct SuppressionLog {
    /// Number of times that subflows were suppressed.
    count: u64,
    /// Time since which a subflow has been suppressed; `None` if none is.
    since: Option<u64>,
    /// Beginnings and ends of earlier suppressions.
    episodes: Vec<(u64, u64)>,
}

impl SuppressionLog {
    /// Returns the number of times that subflows were suppressed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Counts an event at which fewer subflows are active `after` than `before`.
    pub fn count_event(&mut self, before: usize, after: usize) {
        self.count += u64::from(after < before);
    }

    /// Records at `now` whether a subflow is suppressed.
    pub fn record(&mut self, is_suppressed: bool, now: u64) {
        match self.since {
            None if is_suppressed => self.since = Some(now),
            Some(since) if !is_suppressed => {
                // A suppression that ends when it begins, as when the connection ends with the
                // round, has kept no data back.
                if since < now {
                    self.episodes.push((since, now));
                }
                self.since = None;
            }
            _ => {}
        }
    }

    /// Returns the episodes of suppression of `flow` so far, in order.
    pub fn episodes(&self, flow: u32) -> impl Iterator<Item = SuppressionRecord> {
        let ended = self.episodes.iter().map(|&(start, end)| (start, Some(Time(end))));
        let lasting = self.since.map(|since| (since, None));
        ended.chain(lasting).map(move |(start, end)| SuppressionRecord {
            flow,
            start: Time(start),
            end,
        })
    }

    /// Frees the memory of earlier suppressions.
    pub fn free(&mut self) {
        self.episodes = Vec::new();
    }
}
