//! Measuring a part of a run: counters are read when it begins and when it ends, and the difference is reported.
//!
//! The engine stops at these two times, before their events. No separate counters exist, so a run that is
//! measured as a whole pays nothing.

use std::collections::HashMap;

use weft_spec::Time;

use crate::outcome::{LinkRecord, QueueRecord};

/// What had been counted by some time.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// By link.
    pub links: Vec<LinkRecord>,
    /// By probed queue.
    pub queues: Vec<QueueRecord>,
    /// Application bytes that receivers held, by flow.
    pub bytes: HashMap<u32, u64>,
}

/// Links and queues in a part of a run: events from `from` on and before `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// When it begins.
    pub from: Time,
    /// When it ends, or the run did.
    pub to: Time,
    /// A record per link.
    pub links: Vec<LinkRecord>,
    /// A record per probed queue.
    pub queues: Vec<QueueRecord>,
}

/// The part of a run that is measured, and what had been counted when it began and ended.
#[derive(Clone, Debug)]
pub struct Measuring {
    from: Time,
    to: Time,
    began: Option<Counted>,
    ended: Option<Counted>,
}

impl Measuring {
    /// From `from` on and before `to`.
    pub fn new(from: Time, to: Time) -> Self {
        Self {
            from,
            to,
            began: None,
            ended: None,
        }
    }

    /// When counters are to be read next; none if they have been.
    pub fn next(&self) -> Option<Time> {
        match (&self.began, &self.ended) {
            (None, _) => Some(self.from),
            (_, None) => Some(self.to),
            _ => None,
        }
    }

    /// Notes what had been counted at [`next`](Self::next).
    pub fn note(&mut self, counted: Counted) {
        if self.began.is_none() {
            self.began = Some(counted);
        } else {
            self.ended = Some(counted);
        }
    }

    /// Is a time within?
    pub fn covers(&self, time: Time) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Bytes of a flow delivered within; `so_far` are those delivered by now.
    pub fn bytes(&self, flow: u32, so_far: u64) -> u64 {
        let of = |counted: &Counted| counted.bytes.get(&flow).copied().unwrap_or(0);
        let Some(began) = &self.began else { return 0 };
        self.ended.as_ref().map_or(so_far, of).saturating_sub(of(began))
    }

    /// The part itself, without links and queues.
    pub fn whole(&self) -> Measured {
        let (from, to) = (self.from, self.to);
        Measured {
            from,
            to,
            links: Vec::new(),
            queues: Vec::new(),
        }
    }

    /// What lies between; `now` is what has been counted by a run that may end before its time.
    pub fn measured(&self, end: Time, now: Counted) -> Measured {
        let (from, to) = (self.from, self.to.min(end).max(self.from));
        let Some(began) = &self.began else {
            // The run ended first: nothing was measured.
            return Measured {
                from,
                to,
                links: vec![LinkRecord::default(); now.links.len()],
                queues: now.queues.iter().map(|queue| queue.since(Some(queue))).collect(),
            };
        };
        let Counted { links, queues, .. } = self.ended.clone().unwrap_or(now);
        let pairs = links.iter().zip(&began.links);
        Measured {
            from,
            to,
            links: pairs.map(|(link, before)| link.since(before)).collect(),
            queues: queues
                .iter()
                .zip(0..)
                .map(|(queue, i)| queue.since(began.queues.get(i)))
                .collect(),
        }
    }
}

impl LinkRecord {
    /// What came after an earlier record of the same link.
    fn since(&self, before: &Self) -> Self {
        Self {
            // A link that dies takes back what it had accepted before.
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
    /// What came after an earlier record of the same queue.
    fn since(&self, before: Option<&Self>) -> Self {
        let before = before.map_or(&[][..], |before| &before.time_at);
        let earlier = before.iter().copied().chain(std::iter::repeat(Time(0)));
        let times = self.time_at.iter().zip(earlier);
        // A kernel's queue may turn out to have been longer than it was taken for.
        let mut time_at: Vec<Time> = times
            .map(|(now, before)| Time(now.0.saturating_sub(before.0)))
            .collect();
        let longest = time_at.iter().rposition(|time| time.0 > 0).unwrap_or(0);
        time_at.truncate(longest + 1);
        Self {
            link: self.link,
            time_at,
        }
    }
}
