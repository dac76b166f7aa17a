//! The measurement window of a run: counters are read at its two ends, and the difference is
//! reported.
//!
//! The engine stops at these two times, before it handles their events. The counters are those of
//! every run, so a run without a window has no additional cost.

use std::collections::HashMap;

use weft_spec::Time;

use crate::outcome::{ClassRecord, LinkRecord, QueueRecord};

/// All counters at one time.
#[derive(Clone, Debug, Default)]
pub struct CounterSnapshot {
    /// Counters of each link.
    pub links: Vec<LinkRecord>,
    /// Counters of each traffic class.
    pub classes: Vec<ClassRecord>,
    /// Counters of each probed queue.
    pub queues: Vec<QueueRecord>,
    /// Application bytes that have been delivered to the receiver, by flow.
    pub bytes: HashMap<u32, u64>,
}

/// Records of links and queues within the window: events at or after `from` and before `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Start of the window.
    pub from: Time,
    /// End of the window, or of the run if that is earlier.
    pub to: Time,
    /// A record per link.
    pub links: Vec<LinkRecord>,
    /// A record per traffic class of a queue.
    pub classes: Vec<ClassRecord>,
    /// A record per probed queue.
    pub queues: Vec<QueueRecord>,
}

/// The recorder of the window: it keeps the counters at the start and at the end.
#[derive(Clone, Debug)]
pub struct MeasurementWindow {
    from: Time,
    to: Time,
    phase: Phase,
}

/// The snapshots recorded so far: none, the one at the start, or those at the start and end.
#[derive(Clone, Debug)]
enum Phase {
    Before,
    During(CounterSnapshot),
    After(CounterSnapshot, CounterSnapshot),
}

impl MeasurementWindow {
    /// Creates a window of events at or after `from` and before `to`, without snapshots.
    pub fn new(from: Time, to: Time) -> Self {
        Self {
            from,
            to,
            phase: Phase::Before,
        }
    }

    /// Returns the time of the next snapshot; `None` if both have been recorded.
    pub fn next_snapshot_time(&self) -> Option<Time> {
        match self.phase {
            Phase::Before => Some(self.from),
            Phase::During(_) => Some(self.to),
            Phase::After(..) => None,
        }
    }

    /// Records the counters at [`next_snapshot_time`](Self::next_snapshot_time).
    pub fn record(&mut self, snapshot: CounterSnapshot) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Before) {
            Phase::Before => Phase::During(snapshot),
            Phase::During(at_start) | Phase::After(at_start, _) => Phase::After(at_start, snapshot),
        };
    }

    /// Returns true if `time` is within the window.
    pub fn contains(&self, time: Time) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Returns the bytes of a flow that were delivered within the window. `so_far` is the number
    /// delivered until the call, which counts while the window is open.
    pub fn bytes_in(&self, flow: u32, so_far: u64) -> u64 {
        let bytes = |snapshot: &CounterSnapshot| snapshot.bytes.get(&flow).copied().unwrap_or(0);
        match &self.phase {
            Phase::Before => 0,
            Phase::During(at_start) => so_far.saturating_sub(bytes(at_start)),
            Phase::After(at_start, at_end) => bytes(at_end).saturating_sub(bytes(at_start)),
        }
    }

    /// Returns a result with the bounds of the window, and without records of links and queues.
    pub fn bounds(&self) -> MeasuredWindow {
        MeasuredWindow {
            from: self.from,
            to: self.to,
            ..MeasuredWindow::default()
        }
    }

    /// Returns the result for a run that ended at `end` with the counters `now`, which end the window
    /// if it is still open.
    pub fn finish(&self, end: Time, now: &CounterSnapshot) -> MeasuredWindow {
        let counted = match &self.phase {
            // The run ended before the window started: all counts are 0.
            Phase::Before => CounterSnapshot {
                links: vec![LinkRecord::default(); now.links.len()],
                ..now.since(now)
            },
            Phase::During(at_start) => now.since(at_start),
            Phase::After(at_start, at_end) => at_end.since(at_start),
        };
        MeasuredWindow {
            from: self.from,
            to: self.to.min(end).max(self.from),
            links: counted.links,
            classes: counted.classes,
            queues: counted.queues,
        }
    }
}

impl CounterSnapshot {
    /// Returns the increase of all links, classes and queues since an earlier snapshot.
    fn since(&self, before: &Self) -> Self {
        let links = self.links.iter().zip(&before.links);
        let classes = self.classes.iter().zip(&before.classes);
        let queues = self.queues.iter().zip(0..);
        Self {
            links: links.map(|(link, before)| link.since(before)).collect(),
            classes: classes.map(|(class, before)| class.since(before)).collect(),
            queues: queues
                .map(|(queue, i)| queue.since(before.queues.get(i)))
                .collect(),
            bytes: HashMap::new(),
        }
    }
}

impl ClassRecord {
    /// Returns the increase since an earlier record of the class.
    fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
            trims: self.trims - before.trims,
            ..*self
        }
    }
}

impl LinkRecord {
    /// Returns the increase since an earlier record of the link. `in_flight` and `unsent` are not counts and stay.
    fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            in_flight: self.in_flight,
            unsent: self.unsent,
            drops: self.drops - before.drops,
            losses: self.losses - before.losses,
            marks: self.marks - before.marks,
            pauses: self.pauses - before.pauses,
            paused: Time(self.paused.0 - before.paused.0),
            expired_pauses: self.expired_pauses - before.expired_pauses,
        }
    }
}

impl QueueRecord {
    /// Returns the increase since an earlier record of the queue.
    fn since(&self, before: Option<&Self>) -> Self {
        let before = before.map_or(&[][..], |before| &before.time_at_length);
        let earlier = before.iter().copied().chain(std::iter::repeat(Time(0)));
        let times = self.time_at_length.iter().zip(earlier);
        // These can decrease: an estimate of a kernel's queue is corrected by the next arrival.
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
