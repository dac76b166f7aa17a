//! A ring: the packets on a link, queued or propagating, in order of arrival.

use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::route::Route;

/// Maximum number of packets of a link that are prefetched: in many networks, the packets that
/// arrive in a window.
const MAX_PREFETCH: u32 = 8;

/// A growing ring buffer. Its packets are sorted by [`Packet::time`], because a link is a FIFO.
pub struct Ring {
    packets: Box<[Packet]>,
    head: u32,
    len: u32,
    delivered: u64,
}

impl Ring {
    /// Creates an empty ring.
    pub fn new() -> Self {
        Self {
            packets: Box::default(),
            head: 0,
            len: 0,
            delivered: 0,
        }
    }

    /// Appends `packet` with another time, route and flags. Returns true if the ring was empty. (To
    /// change the packet before the copy would load wide what was just stored narrow, which
    /// stalls.)
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, time: u64, route: Route, flags: u16) -> bool {
        if self.len as usize == self.packets.len() {
            self.grow();
        }
        let mask = self.packets.len() - 1;
        self.packets[(self.head + self.len) as usize & mask] = Packet {
            time,
            route,
            flags,
            ..*packet
        };
        self.len += 1;
        self.len == 1
    }

    /// Moves the packets that arrive before `end` to the end of `batch`. Returns the arrival time
    /// of the next packet.
    #[inline(always)]
    pub fn drain_before(&mut self, end: u64, batch: &mut Vec<Packet>) -> Option<u64> {
        let len = self.len as usize;
        let (wrapped, first) = self.packets.split_at(self.head as usize);
        let first = &first[..len.min(first.len())];
        let mut taken = append_before(end, first, batch);
        if taken == first.len() && taken < len {
            taken += append_before(end, &wrapped[..len - taken], batch);
        }
        self.len -= taken as u32;
        self.delivered += taken as u64;
        // Starting over keeps a link with little traffic in the same cache lines.
        self.head = if self.len == 0 {
            0
        } else {
            (self.head + taken as u32) & (self.packets.len() - 1) as u32
        };
        (self.len > 0).then(|| self.packets[self.head as usize].time)
    }

    /// Prefetches what [`drain_before`](Self::drain_before) will move.
    #[inline(always)]
    pub fn prefetch_take(&self) {
        // Three packets fill two lines, so every second packet is enough, except where one
        // straddles two lines.
        for i in (0..self.len.min(MAX_PREFETCH)).step_by(2) {
            self.prefetch(i);
        }
    }

    /// Prefetches the slot that [`push`](Self::push) will write.
    #[inline(always)]
    pub fn prefetch_push(&self) {
        self.prefetch(self.len);
    }

    /// Removes and returns the last `n` packets.
    pub fn pop_last(&mut self, n: u32) -> Vec<Packet> {
        let lost = self.iter().skip((self.len - n) as usize).copied().collect();
        self.len -= n;
        lost
    }

    /// Sets the arrival times of the last packets to `times`, and those of the packets before them
    /// to at most `latest`. Returns the first arrival time.
    pub fn reschedule(&mut self, times: &[u64], latest: u64) -> Option<u64> {
        let mask = self.packets.len().wrapping_sub(1);
        let before = self.len - times.len() as u32;
        for i in 0..self.len {
            let packet = &mut self.packets[(self.head + i) as usize & mask];
            packet.time = match i.checked_sub(before) {
                Some(i) => times[i as usize],
                None => packet.time.min(latest),
            };
        }
        self.iter().next().map(|packet| packet.time)
    }

    #[inline(always)]
    fn prefetch(&self, i: u32) {
        let mask = self.packets.len().wrapping_sub(1);
        if let Some(packet) = self.packets.get((self.head + i) as usize & mask) {
            prefetch(packet);
        }
    }

    /// Number of packets delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The packets in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len).map(|i| &self.packets[(self.head + i) as usize & (self.packets.len() - 1)])
    }

    /// The packet that arrives last.
    pub fn last(&self) -> Option<&Packet> {
        let last = self.len.checked_sub(1)?;
        Some(&self.packets[(self.head + last) as usize & (self.packets.len() - 1)])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let grown: Vec<Packet> = self.iter().copied().collect();
        let capacity = (grown.len() * 2).max(8);
        let mut packets = grown;
        packets.resize(capacity, Packet::default());
        self.packets = packets.into_boxed_slice();
        self.head = 0;
    }
}

/// Appends the first packets to `batch`, those that arrive before `end`. Returns their number.
#[inline(always)]
fn append_before(end: u64, packets: &[Packet], batch: &mut Vec<Packet>) -> usize {
    // Packets are sorted by time, so the last one of four decides about all four.
    let mut taken = 0;
    while taken + 3 < packets.len() && packets[taken + 3].time < end {
        taken += 4;
    }
    while taken < packets.len() && packets[taken].time < end {
        taken += 1;
    }
    batch.extend_from_slice(&packets[..taken]);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_in_order_across_wraps_and_growth() {
        let mut ring = Ring::new();
        let mut batch = Vec::new();
        let (mut pushed, mut expected) = (0, 0);
        for step in 0..200_u64 {
            for _ in 0..step % 13 {
                let was_empty = ring.push(&Packet::default(), pushed, Route::default(), 0);
                assert_eq!(was_empty, pushed == expected);
                pushed += 1;
            }
            let end = expected + step % 11;
            if pushed > expected {
                batch.clear();
                let next = ring.drain_before(end, &mut batch);
                for p in &batch {
                    assert_eq!(p.time, expected);
                    expected += 1;
                }
                assert_eq!(expected, end.min(pushed));
                assert_eq!(next, (expected < pushed).then_some(expected));
            }
        }
        assert!(expected > 500);
    }
}
