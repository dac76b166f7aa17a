//! Counts of dropped packets by flow, place and reason.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use weft_queues::DropReason;

use crate::packet::{DATA, Packet};

/// The counts of a partition. The place of a drop is a port of the partition, but a ring if the link has lost the
/// packet.
#[derive(Default)]
pub struct Drops {
    /// Counts of [data](DATA) packets, by (`lo`, `hi`).
    data: HashMap<(u32, u32), Vec<Count>, FixedState>,
    /// Counts of all other packets, by place and reason.
    others: HashMap<(u32, DropReason), u64, FixedState>,
}

/// Packets that were dropped at one place for one reason.
struct Count {
    place: u32,
    reason: DropReason,
    packets: u64,
}

impl Drops {
    /// Counts a packet.
    pub fn count(&mut self, packet: &Packet, place: u32, reason: DropReason) {
        if packet.flags & DATA == 0 {
            *self.others.entry((place, reason)).or_default() += 1;
            return;
        }
        let counts = self.data.entry((packet.lo, packet.hi)).or_default();
        match counts
            .iter_mut()
            .find(|count| (count.place, count.reason) == (place, reason))
        {
            Some(count) => count.packets += 1,
            None => counts.push(Count {
                place,
                reason,
                packets: 1,
            }),
        }
    }

    /// Returns the number of data packets with this (`lo`, `hi`).
    pub fn of(&self, key: (u32, u32)) -> u64 {
        let counts = self.data.get(&key).into_iter().flatten();
        counts.map(|count| count.packets).sum()
    }

    /// Returns the number of data packets, by (`lo`, `hi`).
    #[cfg(test)]
    pub fn by_key(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        self.data.keys().map(|&key| (key, self.of(key)))
    }

    /// Returns all counts: place, reason, (`lo`, `hi`) of data packets, and number.
    pub fn all(&self) -> impl Iterator<Item = (u32, DropReason, Option<(u32, u32)>, u64)> {
        let data = self.data.iter().flat_map(|(&key, counts)| {
            let count = move |count: &Count| (count.place, count.reason, Some(key), count.packets);
            counts.iter().map(count)
        });
        let others = self.others.iter();
        let others = others.map(|(&(place, reason), &packets)| (place, reason, None, packets));
        data.chain(others)
    }
}
