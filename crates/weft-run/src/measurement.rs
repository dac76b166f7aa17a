//! The measurement window of a run: counters are read at its two ends, and the difference is reported.
//!
//! The engine stops at these two times, before their events. No separate counters exist, so a run that is
//! measured as a whole pays nothing.

use std::collections::HashMap;

use weft_spec::Time;

use crate::outcome::{LinkRecord, QueueRecord};

/// All counters at one time.
#[derive(Clone, Debug, Default)]
pub struct CounterSnapshot {
    /// Counters of each link.
    pub links: Vec<LinkRecord>,
    /// Counters of each probed queue.
    pub queues: Vec<QueueRecord>,
    /// Application bytes that receivers hold, by flow.
    pub bytes: HashMap<u32, u64>,
}

/// Links and queues within the measurement window: events from `from` on and before `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Start of the window.
    pub from: Time,
    /// End of the window, or of the run if that is earlier.
    pub to: Time,
    /// A record per link.
    pub links: Vec<LinkRecord>,
    /// A record per probed queue.
    pub queues: Vec<QueueRecord>,
}

/// The measurement window, with the counters at its start and end.
#[derive(Clone, Debug)]
pub struct MeasurementWindow {
    from: Time,
    to: Time,
    at_start: Option<CounterSnapshot>,
    at_end: Option<CounterSnapshot>,
}

impl MeasurementWindow {
    /// Creates a window from `from` on and before `to`, without snapshots.
    pub fn new(from: Time, to: Time) -> Self {
        Self {
            from,
            to,
            at_start: None,
            at_end: None,
        }
    }

    /// The time of the next snapshot; none if both have been recorded.
    pub fn next_snapshot_time(&self) -> Option<Time> {
        match (&self.at_start, &self.at_end) {
            (None, _) => Some(self.from),
            (_, None) => Some(self.to),
            _ => None,
        }
    }

    /// Records the counters at [`next_snapshot_time`](Self::next_snapshot_time).
    pub fn record(&mut self, snapshot: CounterSnapshot) {
        if self.at_start.is_none() {
            self.at_start = Some(snapshot);
        } else {
            self.at_end = Some(snapshot);
        }
    }

    /// Returns true if `time` is within the window.
    pub fn contains(&self, time: Time) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Bytes of a flow delivered within the window; `so_far` are those delivered by now.
    pub fn bytes_in(&self, flow: u32, so_far: u64) -> u64 {
        let bytes = |snapshot: &CounterSnapshot| snapshot.bytes.get(&flow).copied().unwrap_or(0);
        let Some(at_start) = &self.at_start else { return 0 };
        self.at_end
            .as_ref()
            .map_or(so_far, bytes)
            .saturating_sub(bytes(at_start))
    }

    /// The bounds of the window, without links and queues.
    pub fn bounds(&self) -> MeasuredWindow {
        let (from, to) = (self.from, self.to);
        MeasuredWindow {
            from,
            to,
            links: Vec::new(),
            queues: Vec::new(),
        }
    }

    /// The counters within the window of a run that ended at `end` with the counters `now`.
    pub fn finish(&self, end: Time, now: CounterSnapshot) -> MeasuredWindow {
        let (from, to) = (self.from, self.to.min(end).max(self.from));
        let Some(at_start) = &self.at_start else {
            // The run ended before the window started.
            return MeasuredWindow {
                from,
                to,
                links: vec![LinkRecord::default(); now.links.len()],
                queues: now.queues.iter().map(|queue| queue.since(Some(queue))).collect(),
            };
        };
        let CounterSnapshot { links, queues, .. } = self.at_end.clone().unwrap_or(now);
        let pairs = links.iter().zip(&at_start.links);
        MeasuredWindow {
            from,
            to,
            links: pairs.map(|(link, before)| link.since(before)).collect(),
            queues: queues
                .iter()
                .zip(0..)
                .map(|(queue, i)| queue.since(at_start.queues.get(i)))
                .collect(),
        }
    }
}

impl LinkRecord {
    /// The increase since an earlier record of the same link.
    fn since(&self, before: &Self) -> Self {
        Self {
            // A link that fails drops packets that it had accepted before.
            packets: self.packets.saturating_sub(before.packets),
            bytes: self.bytes.saturating_sub(before.bytes),
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            in_flight: self.in_flight,
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
        }
    }
}

impl QueueRecord {
    /// The increase since an earlier record of the same queue.
    fn since(&self, before: Option<&Self>) -> Self {
        let before = before.map_or(&[][..], |before| &before.time_at_length);
        let earlier = before.iter().copied().chain(std::iter::repeat(Time(0)));
        let times = self.time_at_length.iter().zip(earlier);
        // A kernel's queue may turn out to have been longer than it was taken for.
        let mut time_at_length: Vec<Time> = times
            .map(|(now, before)| Time(now.0.saturating_sub(before.0)))
            .collect();
        let longest = time_at_length.iter().rposition(|time| time.0 > 0).unwrap_or(0);
        time_at_length.truncate(longest + 1);
        Self {
            link: self.link,
            time_at_length,
        }
    }
}
