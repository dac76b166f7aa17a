//! A sender's outstanding segments and the state of each (RFC 6675's scoreboard), and which of them
//! RACK considers lost (RFC 8985).

mod losses;

use std::collections::VecDeque;

use crate::engine::prefetch::prefetch;

/// One outstanding segment (RFC 8985, section 6.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Time of the last transmission, in picoseconds. Once the segment is sacked: a position up to
    /// which all segments after it are sacked, too.
    pub sent_at: u64,
    /// Low 32 bits of the sequence number of its first byte.
    pub seq: u32,
    /// Its chunk of the connection's data.
    pub chunk: u32,
    /// Payload bytes.
    pub len: u16,
    flags: u8,
}

impl Segment {
    /// Returns true if this transmission is not the first one.
    #[inline(always)]
    pub fn was_sent_before(&self) -> bool {
        self.flags & EVER_RETRANSMITTED != 0
    }
}

/// The receiver holds the segment.
const SACKED: u8 = 1;
/// Considered lost; excludes `SACKED`.
const LOST: u8 = 2;
/// Lost and retransmitted; implies `LOST`.
const RETRANSMITTED: u8 = 4;
/// Ever retransmitted; gives no RTT sample (Karn).
const EVER_RETRANSMITTED: u8 = 8;

/// Maximum degree of reordering (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;

/// Segments that an acknowledgement covers for the first time, cumulatively or selectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Number of segments that it removed.
    pub packets: u32,
    /// Number of segments that the receiver was not known to hold.
    pub delivered: u32,
    /// Time at which the first of those was sent that was sent only once; `u64::MAX` if there is
    /// none.
    pub first: u64,
    /// Time at which the last of those was sent that was sent only once.
    pub last: u64,
    /// True if one of the covered segments was ever retransmitted.
    pub retransmitted: bool,
    /// Time of the last transmission of the segment that was first in order, if it was
    /// retransmitted; else `u64::MAX`.
    pub head_retransmitted_at: u64,
}

impl Default for Acked {
    fn default() -> Self {
        Self {
            packets: 0,
            delivered: 0,
            first: u64::MAX,
            last: u64::MAX,
            retransmitted: false,
            head_retransmitted_at: u64::MAX,
        }
    }
}

/// The delivered segment that was sent last (RFC 8985, section 6.2, step 2).
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// Time of the transmission, and position: segments sent at the same time were sent in the
    /// order of positions.
    sent: (u64, u64),
    /// Time from the transmission of the last segment in order of an acknowledgement to its arrival
    /// (`tcp_rack_advance`). In RFC 8985 the segments are in the order in which they were sent.
    rtt: u64,
}

/// Numbers of outstanding segments by their state.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sacked: u32,
    lost: u32,
    retransmitted: u32,
}

/// Outstanding segments in order of sequence number. Positions count from the first segment ever sent.
#[derive(Default)]
pub struct Segments {
    ring: Box<[Segment]>,
    head: u32,
    len: u32,
    counts: Counts,
    /// Position of the head.
    base: u64,
    /// No segment before this position is lost and unsent.
    next_lost: u64,
    /// All segments before this position are sacked or lost.
    scanned_to: u64,
    /// Position after the highest sacked segment.
    sacked_end: u64,
    newest: Newest,
    /// True if a segment that was sent once arrived after one beyond it.
    reordered: bool,
    /// Maximum number of segments by which one was overtaken, including itself.
    reordering: u32,
    /// Retransmissions in the order in which they were sent. Entries of segments that were
    /// acknowledged or retransmitted since are stale.
    retransmit_queue: VecDeque<Retransmission>,
}

/// A retransmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    sent_at: u64,
    position: u64,
    /// Position after the last segment that had been sent when it was sent.
    end: u64,
}

impl Segments {
    /// Returns the number of outstanding segments.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if no segment is outstanding.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the time of the last transmission, once nothing is outstanding; `None` if nothing was
    /// sent. The place of the last segment still holds it. If that was sacked, its time is that of
    /// the newest delivered segment.
    pub fn last_sent_at(&self) -> Option<u64> {
        let last = self.head.wrapping_sub(1) as usize & self.ring.len().wrapping_sub(1);
        let segment = self.ring.get(last)?;
        let in_order = if segment.flags & SACKED == 0 {
            segment.sent_at
        } else {
            0
        };
        Some(in_order.max(self.newest.sent.0))
    }

    /// Returns RACK's round-trip time, that of delivered data (`RACK.rtt`); 0 before any was.
    pub fn rack_rtt(&self) -> u64 {
        self.newest.rtt
    }

    /// Returns the number of segments believed to be in the network: the pipe of RFC
    /// 6675, section 4, in packets.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.len - self.counts.sacked - self.counts.lost + self.counts.retransmitted
    }

    /// Returns true if a segment is lost and not retransmitted.
    pub fn any_to_retransmit(&self) -> bool {
        self.counts.lost > self.counts.retransmitted
    }

    /// Returns the number of segments that are lost and not retransmitted.
    pub fn lost_unsent(&self) -> u32 {
        self.counts.lost - self.counts.retransmitted
    }

    /// Returns true if a retransmission is believed to be in the network.
    pub fn any_retransmitted(&self) -> bool {
        self.counts.retransmitted > 0
    }

    /// Returns the number of segments that are lost, including those that were retransmitted.
    #[cfg(test)]
    pub fn lost(&self) -> u32 {
        self.counts.lost
    }

    /// Returns true if any segment is considered lost.
    pub fn any_lost(&self) -> bool {
        self.counts.lost > 0
    }

    /// Returns true if any segment is sacked, lost or retransmitted.
    #[inline(always)]
    pub fn any_out_of_order(&self) -> bool {
        self.counts.sacked | self.counts.lost != 0
    }

    /// Returns the number of segments that the receiver holds out of order.
    #[inline(always)]
    pub fn sacked(&self) -> u32 {
        self.counts.sacked
    }

    /// Returns true if a segment that was sent once arrived after one beyond it (RFC 8985, section
    /// 6.2, step 3).
    pub fn reordered(&self) -> bool {
        self.reordered
    }

    /// Returns the maximum number of segments by which one was overtaken, including itself
    /// (`reordering` of Linux, once it exceeds its first value).
    pub fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Limits the degree of reordering to `max`, after a timeout (`tcp_enter_loss`).
    pub fn limit_reordering(&mut self, max: u32) {
        self.reordering = self.reordering.min(max);
    }

    /// Records that the segment at `position`, which was sent once, arrived after one beyond it
    /// (`tcp_check_sack_reordering`).
    fn note_reordering(&mut self, position: u64) {
        self.reordered = true;
        let overtaken = self.sacked_end.saturating_sub(position).min(MAX_REORDERING);
        self.reordering = self.reordering.max(overtaken as u32);
    }

    /// Records reordering if a segment that was sent once fills a hole. All bytes before `ack` have
    /// arrived.
    #[cold]
    fn note_filled_hole(&mut self, ack: u32) {
        let mut position = self.base;
        while position < self.sacked_end {
            let segment = *self.at(position);
            if before(ack, segment.seq.wrapping_add(u32::from(segment.len))) {
                return;
            }
            if segment.flags & SACKED != 0 {
                position = segment.sent_at;
            } else if segment.flags & EVER_RETRANSMITTED != 0 {
                position += 1;
            } else {
                self.note_reordering(position);
                return;
            }
        }
    }

    /// Returns when the first segment was sent, if it was sent only once.
    pub fn head_sent_once(&self) -> Option<u64> {
        let mask = self.ring.len().wrapping_sub(1);
        let head = self.ring.get(self.head as usize & mask);
        let once = head.filter(|head| self.len > 0 && head.flags & (EVER_RETRANSMITTED | SACKED) == 0);
        once.map(|head| head.sent_at)
    }

    /// Returns when the first segment was last sent; `u64::MAX` if none is outstanding.
    pub fn head_sent_at(&self) -> u64 {
        let mask = self.ring.len().wrapping_sub(1);
        let head = self.ring.get(self.head as usize & mask);
        head.filter(|_| self.len > 0)
            .map_or(u64::MAX, |head| head.sent_at)
    }

    /// Returns the time of the latest transmission among the first `n` segments, or `None` if fewer
    /// are outstanding.
    pub fn first_sent_at(&self, n: u32) -> Option<u64> {
        let sent = self.iter().take(n as usize).map(|segment| segment.sent_at);
        sent.max().filter(|_| self.len >= n)
    }

    /// Returns when the last segment was last sent; 0 if none is outstanding.
    pub fn tail_sent_at(&self) -> u64 {
        let mask = self.ring.len().wrapping_sub(1);
        let last = self.head.wrapping_add(self.len).wrapping_sub(1);
        let tail = self.ring.get(last as usize & mask);
        tail.filter(|_| self.len > 0).map_or(0, |tail| tail.sent_at)
    }

    /// Prefetches the memory that an acknowledgement and the transmission of a segment access.
    #[inline(always)]
    pub fn prefetch(&self) {
        let mask = self.ring.len().wrapping_sub(1);
        for i in [self.head, self.head + self.len] {
            self.ring.get(i as usize & mask).into_iter().for_each(prefetch);
        }
    }

    #[inline(always)]
    fn at(&mut self, position: u64) -> &mut Segment {
        let mask = self.ring.len() - 1;
        &mut self.ring[(u64::from(self.head) + position - self.base) as usize & mask]
    }

    fn end(&self) -> u64 {
        self.base + u64::from(self.len)
    }

    /// Appends a segment that was sent at `now`.
    #[inline(always)]
    pub fn push(&mut self, seq: u32, chunk: u32, len: u16, now: u64) -> Segment {
        if self.len as usize == self.ring.len() {
            self.grow();
        }
        let end = self.end();
        self.len += 1;
        let segment = Segment {
            sent_at: now,
            seq,
            chunk,
            len,
            flags: 0,
        };
        // A whole segment would be built in memory first, with its padding.
        let slot = self.at(end);
        (slot.sent_at, slot.seq, slot.chunk) = (now, seq, chunk);
        (slot.len, slot.flags) = (len, 0);
        segment
    }

    #[cold]
    fn grow(&mut self) {
        let mut grown: Vec<Segment> = self.iter().copied().collect();
        grown.resize((grown.len() * 2).max(16), Segment::default());
        self.ring = grown.into_boxed_slice();
        self.head = 0;
    }

    /// Returns the outstanding segments.
    fn iter(&self) -> impl Iterator<Item = &Segment> {
        (0..self.len).map(|i| &self.ring[(self.head + i) as usize & (self.ring.len() - 1)])
    }

    /// Returns the outstanding chunks that the receiver is not known to hold.
    pub fn unsacked_chunks(&self) -> impl Iterator<Item = u32> {
        self.iter().filter(|s| s.flags & SACKED == 0).map(|s| s.chunk)
    }

    /// Returns the outstanding chunks from sequence number `seq` on that the receiver is not known
    /// to hold.
    pub fn unsacked_chunks_from(&self, seq: u32) -> impl Iterator<Item = u32> {
        let unsacked = self.iter().filter(|s| s.flags & SACKED == 0);
        unsacked.filter(move |s| !before(s.seq, seq)).map(|s| s.chunk)
    }

    /// Removes the segments that the cumulative acknowledgement `ack` (low 32 bits), which arrives
    /// at `now`, covers. `min_rtt` distinguishes the acknowledgement of a retransmission from that
    /// of the original.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u32, now: u64, min_rtt: u64) -> Acked {
        if self.sacked_end > self.base {
            self.note_filled_hole(ack);
        }
        let mut acked = Acked::default();
        let mask = self.ring.len().wrapping_sub(1);
        // When the last segment was sent, if it is neither sacked, lost nor retransmitted.
        let mut last_sent_at = u64::MAX;
        while self.len > 0 {
            let segment = self.ring[self.head as usize & mask];
            if before(ack, segment.seq.wrapping_add(u32::from(segment.len))) {
                break;
            }
            if segment.flags == 0 {
                acked.delivered += 1;
                acked.last = segment.sent_at;
                acked.first = acked.first.min(segment.sent_at);
                last_sent_at = segment.sent_at;
            } else {
                self.acknowledge_marked(&segment, &mut acked, now, min_rtt);
                last_sent_at = u64::MAX;
            }
            acked.packets += 1;
            self.head = (self.head + 1) & mask as u32;
            self.len -= 1;
        }
        if last_sent_at != u64::MAX {
            self.newest.rtt = now - last_sent_at;
        }
        self.base += u64::from(acked.packets);
        acked
    }

    /// Removes a segment that is sacked, lost or retransmitted.
    fn acknowledge_marked(&mut self, segment: &Segment, acked: &mut Acked, now: u64, min_rtt: u64) {
        self.uncount(segment.flags);
        let again = segment.flags & EVER_RETRANSMITTED != 0;
        acked.retransmitted |= again;
        if segment.flags & SACKED != 0 {
            return;
        }
        acked.delivered += 1;
        let position = self.base + u64::from(acked.packets);
        self.rack_update(segment.sent_at, position, again, now, min_rtt);
        if again {
            if acked.packets == 0 {
                acked.head_retransmitted_at = segment.sent_at;
            }
        } else {
            acked.last = segment.sent_at;
            acked.first = acked.first.min(segment.sent_at);
        }
    }

    /// Updates RACK's newest delivered segment. If a retransmitted segment is acknowledged sooner
    /// than the minimum RTT allows, the original has arrived (RFC 8985, section 6.2, step 2).
    #[inline(always)]
    fn rack_update(&mut self, sent_at: u64, position: u64, again: bool, now: u64, min_rtt: u64) {
        let rtt = now.saturating_sub(sent_at);
        if again && rtt < min_rtt {
            return;
        }
        self.newest.rtt = rtt;
        self.newest.sent = self.newest.sent.max((sent_at, position));
    }

    fn uncount(&mut self, flags: u8) {
        self.counts.sacked -= u32::from(flags & SACKED != 0);
        self.counts.lost -= u32::from(flags & LOST != 0);
        self.counts.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
    }

    /// Records at `now` that the receiver holds `lo..hi`. Returns the segments that are newly known
    /// to be held.
    pub fn sack(&mut self, lo: u32, hi: u32, now: u64, min_rtt: u64) -> Acked {
        let mut acked = Acked::default();
        let start = self.position_of(lo);
        let mut position = start;
        let mut late = u64::MAX;
        while position < self.end() {
            let segment = self.at(position);
            if segment.flags & SACKED != 0 {
                position = segment.sent_at;
                continue;
            }
            if before(hi, segment.seq.wrapping_add(u32::from(segment.len))) {
                break;
            }
            let Segment { flags, sent_at, .. } = *segment;
            segment.flags = flags & !(LOST | RETRANSMITTED) | SACKED;
            segment.sent_at = position + 1;
            let again = flags & EVER_RETRANSMITTED != 0;
            self.rack_update(sent_at, position, again, now, min_rtt);
            self.uncount(flags);
            self.counts.sacked += 1;
            acked.delivered += 1;
            acked.retransmitted |= again;
            if !again {
                acked.last = sent_at;
                acked.first = acked.first.min(sent_at);
                if position < self.sacked_end {
                    late = late.min(position);
                }
            }
            position += 1;
        }
        if acked.delivered > 0 {
            // A range is reported repeatedly while it grows.
            self.at(start).sent_at = position;
            self.sacked_end = self.sacked_end.max(position);
        }
        if late != u64::MAX {
            self.note_reordering(late);
        }
        acked
    }

    /// Returns the position of the first segment that begins at or after `seq`.
    fn position_of(&mut self, seq: u32) -> u64 {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = u32::midpoint(low, high);
            if before(self.at(self.base + u64::from(middle)).seq, seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.base + u64::from(low)
    }

    /// Returns the last segment, which is retransmitted at `now` as a loss probe (RFC 8985, section
    /// 7.3), unless the receiver holds it.
    pub fn probe(&mut self, now: u64) -> Option<Segment> {
        if self.len == 0 {
            return None;
        }
        let last = self.end() - 1;
        let segment = self.at(last);
        if segment.flags & (SACKED | LOST) != 0 {
            return None;
        }
        segment.flags |= EVER_RETRANSMITTED;
        segment.sent_at = now;
        Some(*segment)
    }

    /// Returns the next segment to retransmit, which counts as sent at `now` (RFC 6675, section 4,
    /// `NextSeg`, rule 1).
    pub fn retransmit(&mut self, now: u64) -> Option<Segment> {
        let mut position = self.next_lost.max(self.base);
        while position != self.end() {
            let segment = self.at(position);
            position += 1;
            if segment.flags & (LOST | RETRANSMITTED) == LOST {
                segment.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
                segment.sent_at = now;
                let segment = *segment;
                self.counts.retransmitted += 1;
                self.next_lost = position;
                while self
                    .retransmit_queue
                    .front()
                    .is_some_and(|first| first.position < self.base)
                {
                    self.retransmit_queue.pop_front();
                }
                self.retransmit_queue.push_back(Retransmission {
                    sent_at: now,
                    position: position - 1,
                    end: self.end(),
                });
                return Some(segment);
            }
        }
        self.next_lost = position;
        None
    }

    /// Drops all segments and frees the memory.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns true if `a` is before `b` in sequence order modulo 2^32 (RFC 9293, section 3.4).
#[inline(always)]
pub fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests;
