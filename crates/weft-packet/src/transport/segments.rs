//! A sender's outstanding segments and what is known of each (RFC 6675's scoreboard).

use crate::engine::prefetch::prefetch;

/// One outstanding segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// When it was last sent, in picoseconds. Once it is sacked: a position up to which all after it are sacked too.
    pub sent_at: u64,
    /// Low 32 bits of its first byte's sequence number.
    pub seq: u32,
    /// Its chunk of the connection's data.
    pub chunk: u32,
    /// Payload bytes.
    pub len: u16,
    flags: u8,
}

/// The receiver holds it.
const SACKED: u8 = 1;
/// Taken for lost; excludes `SACKED`.
const LOST: u8 = 2;
/// Lost and sent again; implies `LOST`.
const RESENT: u8 = 4;
/// Ever sent again: gives no RTT sample (Karn).
const AMBIGUOUS: u8 = 8;

/// What an acknowledgement removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Segments.
    pub packets: u32,
    /// When the last of them was sent that was sent once and not sacked before; `u64::MAX` if none was.
    pub sent_at: u64,
}

/// Outstanding segments in order of sequence number. Positions count from the first segment ever sent.
#[derive(Default)]
pub struct Segments {
    ring: Box<[Segment]>,
    head: u32,
    len: u32,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// Position of the head.
    base: u64,
    /// No segment before this position is lost and unsent.
    next_lost: u64,
    /// All segments before this position are sacked or lost.
    judged: u64,
    /// Position after the highest sacked segment.
    sacked_end: u64,
    /// When the delivered segment that was sent last was sent.
    newest_delivered: u64,
}

impl Segments {
    /// How many are outstanding.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Are none outstanding?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Segments believed to be in the network: RFC 6675's pipe, in packets.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.len - self.sacked - self.lost + self.resent
    }

    /// Is any segment lost and not sent again?
    pub fn any_to_resend(&self) -> bool {
        self.lost > self.resent
    }

    /// Is any segment taken for lost?
    pub fn any_lost(&self) -> bool {
        self.lost > 0
    }

    /// Reads ahead what an acknowledgement and sending a segment will touch.
    #[inline(always)]
    pub fn expect(&self) {
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
        *self.at(end) = segment;
        segment
    }

    #[cold]
    fn grow(&mut self) {
        let mut grown: Vec<Segment> = self.iter().copied().collect();
        grown.resize((grown.len() * 2).max(16), Segment::default());
        self.ring = grown.into_boxed_slice();
        self.head = 0;
    }

    /// The outstanding segments.
    fn iter(&self) -> impl Iterator<Item = &Segment> {
        (0..self.len).map(|i| &self.ring[(self.head + i) as usize & (self.ring.len() - 1)])
    }

    /// Chunks outstanding that the receiver is not known to hold.
    pub fn unsacked_chunks(&self) -> impl Iterator<Item = u32> {
        self.iter().filter(|s| s.flags & SACKED == 0).map(|s| s.chunk)
    }

    /// Removes what the cumulative acknowledgement `ack` (low 32 bits) covers.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u32) -> Acked {
        let mut acked = Acked {
            packets: 0,
            sent_at: u64::MAX,
        };
        let mask = self.ring.len().wrapping_sub(1);
        while self.len > 0 {
            let segment = self.ring[self.head as usize & mask];
            if before(ack, segment.seq.wrapping_add(u32::from(segment.len))) {
                break;
            }
            if segment.flags == 0 {
                acked.sent_at = segment.sent_at;
            } else {
                self.forget(segment.flags);
                if segment.flags & SACKED == 0 {
                    self.newest_delivered = self.newest_delivered.max(segment.sent_at);
                    if segment.flags & AMBIGUOUS == 0 {
                        acked.sent_at = segment.sent_at;
                    }
                }
            }
            acked.packets += 1;
            self.head = (self.head + 1) & mask as u32;
            self.len -= 1;
        }
        self.base += u64::from(acked.packets);
        acked
    }

    fn forget(&mut self, flags: u8) {
        self.sacked -= u32::from(flags & SACKED != 0);
        self.lost -= u32::from(flags & LOST != 0);
        self.resent -= u32::from(flags & RESENT != 0);
    }

    /// Notes that the receiver holds `lo..hi`, and takes for lost every segment that `threshold` segments above it
    /// have overtaken (RFC 6675, `IsLost`). Returns how many segments are newly known to be held.
    pub fn sack(&mut self, lo: u32, hi: u32, threshold: u32) -> u32 {
        let mut newly = 0;
        let start = self.find(lo);
        let mut position = start;
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
            position += 1;
            segment.flags = flags & !(LOST | RESENT) | SACKED;
            segment.sent_at = position;
            self.newest_delivered = self.newest_delivered.max(sent_at);
            self.forget(flags);
            self.sacked += 1;
            newly += 1;
        }
        if newly > 0 {
            // The same island is reported again and again while it grows.
            self.at(start).sent_at = position;
            self.sacked_end = self.sacked_end.max(position);
            self.judge(threshold);
        }
        newly
    }

    /// Takes retransmissions for lost that something sent later has overtaken (RFC 8985's order of sending; paths
    /// do not reorder, so that no reordering window is needed).
    pub fn lose_overtaken(&mut self) {
        if self.resent == 0 {
            return;
        }
        let newest = self.newest_delivered;
        let mut position = self.base;
        while position < self.end() {
            let segment = self.at(position);
            if segment.flags & SACKED != 0 {
                position = segment.sent_at;
                continue;
            }
            if segment.flags & RESENT != 0 {
                if segment.sent_at >= newest {
                    return;
                }
                segment.flags &= !RESENT;
                self.resent -= 1;
                self.next_lost = self.next_lost.min(position);
            }
            position += 1;
        }
    }

    /// Position of the first segment that begins at or after `seq`.
    fn find(&mut self, seq: u32) -> u64 {
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

    fn judge(&mut self, threshold: u32) {
        let mut bound = self.sacked_end.max(self.base);
        let mut above = 0;
        let start = self.judged.max(self.base);
        while above < threshold && start < bound {
            bound -= 1;
            above += u32::from(self.at(bound).flags & SACKED != 0);
        }
        if above < threshold {
            return;
        }
        let mut position = start;
        while position < bound {
            self.lose(position);
            position += 1;
        }
        self.judged = bound;
    }

    fn lose(&mut self, position: u64) {
        let segment = self.at(position);
        if segment.flags & (SACKED | LOST) == 0 {
            segment.flags |= LOST;
            self.lost += 1;
            self.next_lost = self.next_lost.min(position);
        }
    }

    /// Takes the first segment for lost (third duplicate acknowledgement, partial acknowledgement).
    pub fn lose_first(&mut self) {
        if self.len > 0 && self.at(self.base).flags & SACKED == 0 {
            self.lose(self.base);
        }
    }

    /// Takes all for lost that are not sacked, the retransmitted too (timeout).
    pub fn lose_all(&mut self) {
        let mut position = self.base;
        while position != self.end() {
            let segment = self.at(position);
            if segment.flags & SACKED == 0 {
                segment.flags = segment.flags & !RESENT | LOST;
            }
            position += 1;
        }
        self.lost = self.len - self.sacked;
        self.resent = 0;
        self.next_lost = self.base;
        self.judged = self.end();
    }

    /// The next segment to send again; it counts as sent at `now`.
    pub fn resend(&mut self, now: u64) -> Option<Segment> {
        let mut position = self.next_lost.max(self.base);
        while position != self.end() {
            let segment = self.at(position);
            position += 1;
            if segment.flags & (LOST | RESENT) == LOST {
                segment.flags |= RESENT | AMBIGUOUS;
                segment.sent_at = now;
                let segment = *segment;
                self.resent += 1;
                self.next_lost = position;
                return Some(segment);
            }
        }
        self.next_lost = position;
        None
    }

    /// Drops everything and gives the memory back.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Sequence order modulo 2^32 (RFC 9293, section 3.4).
#[inline(always)]
pub fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn queue(n: u32) -> Segments {
        let mut q = Segments::default();
        for i in 0..n {
            q.push(i * MSS, i, MSS as u16, u64::from(i));
        }
        q
    }

    #[test]
    fn cumulative_acknowledgement_gives_the_newest_sample() {
        let mut q = queue(4);
        assert_eq!(
            q.acknowledge(MSS * 2 + 1),
            Acked {
                packets: 2,
                sent_at: 1
            }
        );
        assert_eq!(q.pipe(), 2);
        assert_eq!(
            q.acknowledge(MSS * 2),
            Acked {
                packets: 0,
                sent_at: u64::MAX
            }
        );
    }

    #[test]
    fn three_segments_above_a_hole_make_it_lost() {
        let mut q = queue(6);
        assert_eq!(q.sack(MSS, 3 * MSS, 3), 2);
        assert!(!q.any_lost());
        assert_eq!(q.sack(MSS, 4 * MSS, 3), 1);
        assert!(q.any_to_resend());
        // 6 outstanding, 3 sacked, 1 lost.
        assert_eq!(q.pipe(), 2);
        assert_eq!(q.resend(50).map(|s| s.chunk), Some(0));
        assert_eq!(q.pipe(), 3);
        assert!(q.resend(50).is_none());
        // The retransmission gives no sample, and neither do segments that were sacked before.
        assert_eq!(
            q.acknowledge(4 * MSS),
            Acked {
                packets: 4,
                sent_at: u64::MAX
            }
        );
        assert_eq!(q.pipe(), 2);
    }

    #[test]
    fn two_holes_are_both_found() {
        let mut q = queue(10);
        q.sack(MSS, 2 * MSS, 3);
        q.sack(3 * MSS, 5 * MSS, 3);
        // Above segment 0: 1, 3, 4. Above segment 2: 3, 4 only.
        assert_eq!(q.resend(0).map(|s| s.chunk), Some(0));
        assert!(q.resend(0).is_none());
        q.sack(3 * MSS, 6 * MSS, 3);
        assert_eq!(q.resend(0).map(|s| s.chunk), Some(2));
    }

    #[test]
    fn a_timeout_takes_everything_unsacked_for_lost() {
        let mut q = queue(5);
        q.sack(2 * MSS, 3 * MSS, 3);
        q.lose_all();
        assert_eq!(q.pipe(), 0);
        let again: Vec<u32> = std::iter::from_fn(|| q.resend(9).map(|s| s.chunk)).collect();
        assert_eq!(again, [0, 1, 3, 4]);
        assert_eq!(q.pipe(), 4);
        q.lose_all();
        assert_eq!(q.resend(10).map(|s| s.chunk), Some(0));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut q = Segments::default();
        let start = u32::MAX - 3 * MSS;
        for i in 0..8 {
            q.push(start.wrapping_add(i * MSS), i, MSS as u16, 0);
        }
        q.sack(start.wrapping_add(2 * MSS), start.wrapping_add(7 * MSS), 3);
        let again: Vec<u32> = std::iter::from_fn(|| q.resend(9).map(|s| s.chunk)).collect();
        assert_eq!(again, [0, 1]);
        assert_eq!(q.acknowledge(start.wrapping_add(8 * MSS)).packets, 8);
        assert_eq!(q.pipe(), 0);
    }
}
