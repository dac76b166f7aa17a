//! Marking of outstanding segments as lost.

use super::{EVER_RETRANSMITTED, LOST, Newest, RETRANSMITTED, Retransmission, SACKED, Segments};

impl Segments {
    /// Marks segments as lost that were sent before the newest delivered segment and are
    /// outstanding for longer than its RTT plus `window` (RFC 8985, section 6.2, step 5). Returns
    /// when the next segment will be, or `u64::MAX` if there is none.
    ///
    /// Segments sent once were sent in the order of their positions, and retransmitted ones in the
    /// order of a queue, so that no segment is checked twice.
    pub fn rack_mark_lost(&mut self, window: u64, now: u64) -> u64 {
        let Newest { sent: newest, rtt } = self.newest;
        let patience = rtt.saturating_add(window);
        let mut due = u64::MAX;
        let mut position = self.scanned_to.max(self.base);
        let mut undecided = u64::MAX;
        let end = self.end();
        while position < end {
            let segment = self.at(position);
            if segment.flags & SACKED != 0 {
                position = segment.sent_at;
                continue;
            }
            if segment.flags & LOST == 0 {
                let overtaken = (segment.sent_at, position) < newest;
                let out_of_time = segment.sent_at.saturating_add(patience);
                if overtaken && out_of_time <= now {
                    self.mark_lost(position);
                } else {
                    if overtaken {
                        due = due.min(out_of_time);
                    }
                    if segment.flags & EVER_RETRANSMITTED == 0 {
                        break;
                    }
                    // A probe, or a segment retransmitted before an undo: segments after it may
                    // have been sent before it.
                    undecided = undecided.min(position);
                }
            }
            position += 1;
        }
        self.scanned_to = position.min(undecided);
        while let Some(&first) = self.retransmit_queue.front() {
            if self.is_outstanding(first) {
                let Retransmission {
                    sent_at, position, ..
                } = first;
                if (sent_at, position) >= newest {
                    break;
                }
                if sent_at.saturating_add(patience) > now {
                    due = due.min(sent_at.saturating_add(patience));
                    break;
                }
                self.mark_lost_again(position);
            }
            self.retransmit_queue.pop_front();
        }
        due
    }

    /// Marks each retransmission as lost after which new data was sent that is sacked, as Linux did
    /// until 4.3 (`tcp_mark_lost_retrans`); RACK replaced it in 4.4. It does not once segments have
    /// arrived out of order, in which case Linux switched FACK off. RFC 6675 has no such rule: a
    /// retransmission that is lost waits for the timer.
    pub fn mark_lost_retransmissions(&mut self) {
        if self.reordered {
            return;
        }
        while let Some(&first) = self.retransmit_queue.front() {
            if self.is_outstanding(first) {
                if first.end >= self.sacked_end {
                    return;
                }
                self.mark_lost_again(first.position);
            }
            self.retransmit_queue.pop_front();
        }
    }

    /// Returns true if this is the last transmission of a segment that is still missing.
    fn is_outstanding(&mut self, retransmission: Retransmission) -> bool {
        if retransmission.position < self.base {
            return false;
        }
        let segment = self.at(retransmission.position);
        segment.flags & RETRANSMITTED != 0 && segment.sent_at == retransmission.sent_at
    }

    /// Marks a retransmission as lost, so that the segment is retransmitted once more.
    fn mark_lost_again(&mut self, position: u64) {
        self.at(position).flags &= !RETRANSMITTED;
        self.counts.retransmitted -= 1;
        self.next_lost = self.next_lost.min(position);
    }

    /// Marks every segment as lost that `threshold` sacked segments have overtaken (RFC 6675,
    /// section 4, `IsLost`). They are counted as segments, not as discontiguous sequences.
    pub fn mark_lost_by_dupthresh(&mut self, threshold: u32) {
        let mut bound = self.sacked_end.max(self.base);
        let mut above = 0;
        let start = self.scanned_to.max(self.base);
        while above < threshold && start < bound {
            bound -= 1;
            above += u32::from(self.at(bound).flags & SACKED != 0);
        }
        if above < threshold {
            return;
        }
        let mut position = start;
        while position < bound {
            self.mark_lost(position);
            position += 1;
        }
        self.scanned_to = bound;
    }

    fn mark_lost(&mut self, position: u64) {
        let segment = self.at(position);
        if segment.flags & (SACKED | LOST) == 0 {
            segment.flags |= LOST;
            self.counts.lost += 1;
            self.next_lost = self.next_lost.min(position);
        }
    }

    /// Marks the first segment as lost (third duplicate acknowledgement, partial acknowledgement).
    pub fn mark_head_lost(&mut self) {
        if self.len > 0 && self.at(self.base).flags & SACKED == 0 {
            self.mark_lost(self.base);
        }
    }

    /// Marks segments as lost after a timeout, including retransmitted ones, unless they are
    /// sacked: the first segment, and all that were sent until `since`. As in Linux, a timeout keeps
    /// the information about sacked segments, unlike RFC 6675, section 5.1, with RFC 2018.
    pub fn mark_all_lost(&mut self, since: u64) {
        self.scanned_to = self.end();
        let mut position = self.base;
        while position != self.end() {
            let head = position == self.base;
            let segment = self.at(position);
            if segment.flags & SACKED == 0 && (head || segment.sent_at <= since) {
                let flags = segment.flags;
                segment.flags = flags & !RETRANSMITTED | LOST;
                self.counts.lost += u32::from(flags & LOST == 0);
                self.counts.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
            } else if segment.flags & (SACKED | LOST) == 0 {
                self.scanned_to = self.scanned_to.min(position);
            }
            position += 1;
        }
        self.next_lost = self.base;
    }

    /// Considers no segment lost any more: they were only late.
    pub fn unmark_lost(&mut self) {
        for i in 0..self.len {
            let mask = self.ring.len() - 1;
            self.ring[(self.head + i) as usize & mask].flags &= !(LOST | RETRANSMITTED);
        }
        (self.counts.lost, self.counts.retransmitted) = (0, 0);
        self.retransmit_queue.clear();
        self.scanned_to = self.base;
    }
}
