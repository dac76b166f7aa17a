//! A sender's outstanding segments and what is known of each (RFC 6675's scoreboard), and which of them RACK takes for lost
//! (RFC 8985).

use std::collections::VecDeque;

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

impl Segment {
    /// Is this not the first time that it is sent?
    #[inline(always)]
    pub fn was_sent_before(&self) -> bool {
        self.flags & AMBIGUOUS != 0
    }
}

/// The receiver holds it.
const SACKED: u8 = 1;
/// Taken for lost; excludes `SACKED`.
const LOST: u8 = 2;
/// Lost and sent again; implies `LOST`.
const RESENT: u8 = 4;
/// Ever sent again: gives no RTT sample (Karn).
const AMBIGUOUS: u8 = 8;

/// What an acknowledgement covers for the first time, cumulatively or selectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Segments that it removed.
    pub packets: u32,
    /// Segments that the receiver was not known to hold.
    pub delivered: u32,
    /// When the first of those was sent that was sent only once; `u64::MAX` if there is none.
    pub first: u64,
    /// When the last of them was sent.
    pub last: u64,
    /// Was one that it removed ever sent again?
    pub again: bool,
    /// When the segment that was first in order was last sent, if it was sent again; else `u64::MAX`.
    pub head_again: u64,
}

impl Default for Acked {
    fn default() -> Self {
        Self {
            packets: 0,
            delivered: 0,
            first: u64::MAX,
            last: u64::MAX,
            again: false,
            head_again: u64::MAX,
        }
    }
}

/// The delivered segment that was sent last (RFC 8985, section 6.2, step 2).
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// When, and where: what was sent at one time was sent in the order of positions.
    sent: (u64, u64),
    /// How long it took from there until its acknowledgement.
    rtt: u64,
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
    newest: Newest,
    /// Has a segment sent once arrived after one beyond it?
    reordered: bool,
    /// When and which segments were sent again, in the order of sending; those acknowledged or sent again since count no more.
    again: VecDeque<(u64, u64)>,
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

    /// How many are lost and not sent again?
    pub fn missing(&self) -> u32 {
        self.lost - self.resent
    }

    /// Is any segment taken for lost?
    pub fn any_lost(&self) -> bool {
        self.lost > 0
    }

    /// Is anything held out of order, lost or sent again?
    #[inline(always)]
    pub fn any_out_of_order(&self) -> bool {
        self.sacked | self.lost != 0
    }

    /// How many the receiver holds out of order.
    #[inline(always)]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Has a segment sent once arrived after one beyond it (RFC 8985, section 6.2, step 3)?
    pub fn reordered(&self) -> bool {
        self.reordered
    }

    /// When the first segment was sent, if it was sent once.
    pub fn head_sent_once(&self) -> Option<u64> {
        let mask = self.ring.len().wrapping_sub(1);
        let head = self.ring.get(self.head as usize & mask);
        let once = head.filter(|head| self.len > 0 && head.flags & (AMBIGUOUS | SACKED) == 0);
        once.map(|head| head.sent_at)
    }

    /// When the first segment was last sent; `u64::MAX` if none is outstanding.
    pub fn head_sent_at(&self) -> u64 {
        let mask = self.ring.len().wrapping_sub(1);
        let head = self.ring.get(self.head as usize & mask);
        head.filter(|_| self.len > 0)
            .map_or(u64::MAX, |head| head.sent_at)
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

    /// Removes what the cumulative acknowledgement `ack` (low 32 bits) covers, which arrived at `now`. `min_rtt` tells an
    /// acknowledgement of what was sent again from one of the first copy.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u32, now: u64, min_rtt: u64) -> Acked {
        let mut acked = Acked::default();
        let mut marked = 0_u32;
        let mask = self.ring.len().wrapping_sub(1);
        while self.len > 0 {
            let segment = self.ring[self.head as usize & mask];
            if before(ack, segment.seq.wrapping_add(u32::from(segment.len))) {
                break;
            }
            if segment.flags == 0 {
                acked.delivered += 1;
                acked.last = segment.sent_at;
                acked.first = acked.first.min(segment.sent_at);
            } else {
                self.acknowledge_marked(&segment, &mut acked, now, min_rtt);
                marked += 1;
            }
            acked.packets += 1;
            self.head = (self.head + 1) & mask as u32;
            self.len -= 1;
        }
        if self.sacked_end > self.base {
            // Has what was sent once filled a hole? Then it was late, not lost.
            let below = u64::from(acked.packets).min(self.sacked_end - self.base);
            self.reordered |= u64::from(marked) < below;
        }
        self.base += u64::from(acked.packets);
        acked
    }

    /// A segment that is sacked, lost or sent again is removed.
    fn acknowledge_marked(&mut self, segment: &Segment, acked: &mut Acked, now: u64, min_rtt: u64) {
        self.forget(segment.flags);
        let again = segment.flags & AMBIGUOUS != 0;
        acked.again |= again;
        if segment.flags & SACKED != 0 {
            return;
        }
        acked.delivered += 1;
        let position = self.base + u64::from(acked.packets);
        self.renew(segment.sent_at, position, again, now, min_rtt);
        if again {
            if acked.packets == 0 {
                acked.head_again = segment.sent_at;
            }
        } else {
            acked.last = segment.sent_at;
            acked.first = acked.first.min(segment.sent_at);
        }
    }

    /// A segment was delivered: is it the newest? Sent again and acknowledged sooner than any, it is the first copy that
    /// arrived (RFC 8985, section 6.2, step 2).
    #[inline(always)]
    fn renew(&mut self, sent_at: u64, position: u64, again: bool, now: u64, min_rtt: u64) {
        let rtt = now.saturating_sub(sent_at);
        if (sent_at, position) > self.newest.sent && !(again && rtt < min_rtt) {
            self.newest = Newest {
                sent: (sent_at, position),
                rtt,
            };
        }
    }

    fn forget(&mut self, flags: u8) {
        self.sacked -= u32::from(flags & SACKED != 0);
        self.lost -= u32::from(flags & LOST != 0);
        self.resent -= u32::from(flags & RESENT != 0);
    }

    /// Notes at `now` that the receiver holds `lo..hi`. Returns what is newly known to be held.
    pub fn sack(&mut self, lo: u32, hi: u32, now: u64, min_rtt: u64) -> Acked {
        let mut acked = Acked::default();
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
            segment.flags = flags & !(LOST | RESENT) | SACKED;
            segment.sent_at = position + 1;
            let again = flags & AMBIGUOUS != 0;
            self.renew(sent_at, position, again, now, min_rtt);
            self.forget(flags);
            self.sacked += 1;
            acked.delivered += 1;
            acked.again |= again;
            if !again {
                acked.last = sent_at;
                acked.first = acked.first.min(sent_at);
                self.reordered |= position < self.sacked_end;
            }
            position += 1;
        }
        if acked.delivered > 0 {
            // The same island is reported again and again while it grows.
            self.at(start).sent_at = position;
            self.sacked_end = self.sacked_end.max(position);
        }
        acked
    }

    /// Takes for lost what was sent before the newest delivered segment and has been under way for longer than its RTT and
    /// `window` (RFC 8985, section 6.2, step 5). Returns when the next one will have been; `u64::MAX` if there is none.
    ///
    /// Segments sent once were sent in the order of their positions, and those sent again in that of a queue, so that nothing
    /// is looked at twice.
    pub fn lose_overtaken(&mut self, window: u64, now: u64) -> u64 {
        let Newest { sent: newest, rtt } = self.newest;
        let patience = rtt.saturating_add(window);
        let mut due = u64::MAX;
        let mut position = self.judged.max(self.base);
        let end = self.end();
        while position < end {
            let segment = self.at(position);
            if segment.flags & SACKED != 0 {
                position = segment.sent_at;
                continue;
            }
            if segment.flags & (LOST | AMBIGUOUS) == 0 {
                if (segment.sent_at, position) >= newest {
                    break;
                }
                if segment.sent_at.saturating_add(patience) > now {
                    due = segment.sent_at.saturating_add(patience);
                    break;
                }
                self.lose(position);
            }
            position += 1;
        }
        self.judged = position;
        while let Some(&(sent_at, position)) = self.again.front() {
            if position >= self.base
                && self.at(position).flags & RESENT != 0
                && self.at(position).sent_at == sent_at
            {
                if (sent_at, position) >= newest {
                    break;
                }
                if sent_at.saturating_add(patience) > now {
                    due = due.min(sent_at.saturating_add(patience));
                    break;
                }
                self.at(position).flags &= !RESENT;
                self.resent -= 1;
                self.next_lost = self.next_lost.min(position);
            }
            self.again.pop_front();
        }
        due
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

    /// Takes for lost every segment that `threshold` sacked segments have overtaken (RFC 6675, `IsLost`).
    pub fn judge(&mut self, threshold: u32) {
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

    /// Takes for lost what is not sacked, what was sent again too (timeout): the first segment, and all that were sent until
    /// `since`.
    pub fn lose_all(&mut self, since: u64) {
        self.judged = self.end();
        let mut position = self.base;
        while position != self.end() {
            let head = position == self.base;
            let segment = self.at(position);
            if segment.flags & SACKED == 0 && (head || segment.sent_at <= since) {
                let flags = segment.flags;
                segment.flags = flags & !RESENT | LOST;
                self.lost += u32::from(flags & LOST == 0);
                self.resent -= u32::from(flags & RESENT != 0);
            } else if segment.flags & (SACKED | LOST) == 0 {
                self.judged = self.judged.min(position);
            }
            position += 1;
        }
        self.next_lost = self.base;
    }

    /// Takes nothing for lost any more: it was only late.
    pub fn find_again(&mut self) {
        for i in 0..self.len {
            let mask = self.ring.len() - 1;
            self.ring[(self.head + i) as usize & mask].flags &= !(LOST | RESENT);
        }
        (self.lost, self.resent) = (0, 0);
        self.again.clear();
        self.judged = self.base;
    }

    /// The last segment, to be sent at `now` once more as a probe (RFC 8985, section 7.3), unless the receiver holds it.
    pub fn probe(&mut self, now: u64) -> Option<Segment> {
        if self.len == 0 {
            return None;
        }
        let last = self.end() - 1;
        let segment = self.at(last);
        if segment.flags & (SACKED | LOST) != 0 {
            return None;
        }
        segment.flags |= AMBIGUOUS;
        segment.sent_at = now;
        Some(*segment)
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
                while self.again.front().is_some_and(|&(_, gone)| gone < self.base) {
                    self.again.pop_front();
                }
                self.again.push_back((now, position - 1));
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
    fn cumulative_acknowledgement_tells_of_the_first_and_the_last() {
        let mut q = queue(4);
        assert_eq!(
            q.acknowledge(MSS * 2 + 1, 9, 0),
            Acked {
                packets: 2,
                delivered: 2,
                first: 0,
                last: 1,
                ..Acked::default()
            }
        );
        assert_eq!(q.pipe(), 2);
        assert_eq!(q.acknowledge(MSS * 2, 9, 0), Acked::default());
    }

    #[test]
    fn three_segments_above_a_hole_make_it_lost() {
        let mut q = queue(6);
        assert_eq!(q.sack(MSS, 3 * MSS, 9, 0).delivered, 2);
        q.judge(3);
        assert!(!q.any_lost());
        assert_eq!(q.sack(MSS, 4 * MSS, 9, 0).delivered, 1);
        q.judge(3);
        assert!(q.any_to_resend());
        // 6 outstanding, 3 sacked, 1 lost.
        assert_eq!(q.pipe(), 2);
        assert_eq!(q.resend(50).map(|s| s.chunk), Some(0));
        assert_eq!(q.pipe(), 3);
        assert!(q.resend(50).is_none());
        // The retransmission gives no sample, and segments that were sacked before count no more.
        assert_eq!(
            q.acknowledge(4 * MSS, 60, 0),
            Acked {
                packets: 4,
                delivered: 1,
                again: true,
                head_again: 50,
                ..Acked::default()
            }
        );
        assert_eq!(q.pipe(), 2);
        assert!(!q.reordered());
    }

    #[test]
    fn two_holes_are_both_found() {
        let mut q = queue(10);
        q.sack(MSS, 2 * MSS, 9, 0);
        q.sack(3 * MSS, 5 * MSS, 9, 0);
        q.judge(3);
        // Above segment 0: 1, 3, 4. Above segment 2: 3, 4 only.
        assert_eq!(q.resend(0).map(|s| s.chunk), Some(0));
        assert!(q.resend(0).is_none());
        q.sack(3 * MSS, 6 * MSS, 9, 0);
        q.judge(3);
        assert_eq!(q.resend(0).map(|s| s.chunk), Some(2));
    }

    /// RFC 8985, section 6.2, step 5: lost is what was sent before the newest delivered segment and is out for longer than its
    /// RTT and the window. Segments are sent at 0, 1, 2, ...
    #[test]
    fn what_is_overtaken_is_lost_after_the_window() {
        let mut q = queue(6);
        // Segment 2 took 100.
        q.sack(2 * MSS, 3 * MSS, 102, 0);
        assert_eq!(q.lose_overtaken(25, 102), 125);
        assert!(!q.any_lost());
        // Segment 0 is due, 1 a little later; 3 was sent later than what was delivered.
        assert_eq!(q.lose_overtaken(25, 125), 126);
        assert_eq!(q.resend(125).map(|s| s.chunk), Some(0));
        assert_eq!(q.lose_overtaken(0, 125), u64::MAX);
        assert_eq!(q.resend(125).map(|s| s.chunk), Some(1));
        assert!(q.resend(125).is_none());
        assert!(!q.reordered());
    }

    /// A retransmission lost again hides nothing: those sent after it are found in the order of sending, not of sequence.
    #[test]
    fn retransmissions_are_overtaken_in_the_order_of_sending() {
        let mut q = queue(8);
        q.sack(7 * MSS, 8 * MSS, 100, 0);
        q.lose_overtaken(0, 100);
        for (now, chunk) in [(100, 0), (110, 1), (120, 2), (130, 3)] {
            assert_eq!(q.resend(now).map(|s| s.chunk), Some(chunk));
        }
        // 1 arrives: 0 is lost again, and sent last.
        q.sack(MSS, 2 * MSS, 210, 0);
        q.lose_overtaken(0, 210);
        assert_eq!(q.resend(210).map(|s| s.chunk), Some(0));
        // 3 arrives: 2 is lost again, although 0, before it in sequence, was sent later.
        q.sack(3 * MSS, 4 * MSS, 230, 0);
        assert_eq!(q.lose_overtaken(0, 230), u64::MAX);
        assert_eq!(q.resend(230).map(|s| s.chunk), Some(2));
    }

    #[test]
    fn a_hole_filled_by_what_was_sent_once_is_reordering() {
        let mut q = queue(6);
        q.sack(3 * MSS, 4 * MSS, 9, 0);
        assert!(!q.reordered());
        q.sack(MSS, 2 * MSS, 9, 0);
        assert!(q.reordered());
        let mut q = queue(6);
        q.sack(3 * MSS, 4 * MSS, 9, 0);
        q.acknowledge(MSS, 9, 0);
        assert!(q.reordered());
    }

    #[test]
    fn a_timeout_takes_everything_unsacked_for_lost() {
        let mut q = queue(5);
        q.sack(2 * MSS, 3 * MSS, 9, 0);
        q.lose_all(u64::MAX);
        assert_eq!(q.pipe(), 0);
        let again: Vec<u32> = std::iter::from_fn(|| q.resend(9).map(|s| s.chunk)).collect();
        assert_eq!(again, [0, 1, 3, 4]);
        assert_eq!(q.pipe(), 4);
        q.lose_all(u64::MAX);
        assert_eq!(q.resend(10).map(|s| s.chunk), Some(0));
    }

    /// RFC 8985, section 6.3: what was sent just now is not taken for lost, but for the first segment.
    #[test]
    fn a_timeout_spares_what_was_sent_just_now() {
        let mut q = queue(5);
        q.lose_all(2);
        assert_eq!(q.pipe(), 2);
        let again: Vec<u32> = std::iter::from_fn(|| q.resend(9).map(|s| s.chunk)).collect();
        assert_eq!(again, [0, 1, 2]);
        q.find_again();
        assert_eq!((q.pipe(), q.any_lost()), (5, false));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut q = Segments::default();
        let start = u32::MAX - 3 * MSS;
        for i in 0..8 {
            q.push(start.wrapping_add(i * MSS), i, MSS as u16, 0);
        }
        q.sack(start.wrapping_add(2 * MSS), start.wrapping_add(7 * MSS), 9, 0);
        q.judge(3);
        let again: Vec<u32> = std::iter::from_fn(|| q.resend(9).map(|s| s.chunk)).collect();
        assert_eq!(again, [0, 1]);
        assert_eq!(q.acknowledge(start.wrapping_add(8 * MSS), 9, 0).packets, 8);
        assert_eq!(q.pipe(), 0);
    }
}
