//! The receivers of a subflow and of a connection.

use weft_cc::Echo;
use weft_spec::{Profile, Recovery};

use crate::packet::{ACK, CE, COUNT_MASK, COUNT_SHIFT, CWR, DSACK, ECE, LAST, PUSH, Packet, RETRANSMIT};

use super::path::SubflowPath;
use super::reassembly::{Chunks, RangeSet};

/// The receiver of a connection.
pub struct ConnectionReceiver {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the transport in the configuration.
    pub transport: u32,
    /// The chunks that have arrived.
    pub chunks: Chunks,
    /// Total number of chunks; `u32::MAX` until the last chunk or the end of a stopped flow shows
    /// it.
    pub total: u32,
    /// Payload bytes that have arrived, each counted once.
    pub bytes: u64,
    /// Time at which the newest of them arrived.
    pub last_data_at: u64,
    /// Bytes at which the flow's generator is notified; `u64::MAX` if it is not notified, or was; 0
    /// while latencies are recorded.
    pub notify_at: u64,
    /// Bit `s` is set if subflow `s` delays the acknowledgement of a segment with PSH.
    pub pushed: u64,
}

/// The receiver of a subflow.
pub struct SubflowReceiver {
    /// Slot of the connection's receiver at this host.
    pub connection: u32,
    /// Slot of the subflow's sender at the other host.
    pub peer: u32,
    /// Path to the other host.
    pub path: SubflowPath,
    /// Next byte expected.
    pub next: u64,
    /// Bytes received beyond the next byte expected.
    pub out_of_order: RangeSet,
    /// The chunk that the connection expected when out-of-order bytes were last merged with those
    /// in order (`stall_on_held_data`).
    pub merged_at_chunk: u32,
    /// Segments received in order that are not acknowledged yet.
    pub unacked: u32,
    /// Number of segments that are still acknowledged immediately.
    pub quick_acks_left: u32,
    /// The ECN echo that the sender's congestion control asks for.
    pub echo: Echo,
    /// DCTCP: true if the last segment was marked. Classic ECN: true if ECE is latched.
    pub ce: bool,
    /// Whether a segment with PSH has arrived since the last acknowledgement.
    pub pushed: bool,
    /// Marks not echoed yet.
    pub marks: u32,
    /// [`RETRANSMIT`] and [`DSACK`] as the next acknowledgement carries them.
    pub ack_flags: u16,
    /// Time at which the last data packet arrived.
    pub last_packet_at: u64,
    /// Time at which a delayed acknowledgement is due; `u64::MAX` if none is.
    pub deadline: u64,
    /// Time of the earliest engine timer that has not fired; `u64::MAX` if there is none.
    pub timer: u64,
    /// Time of the engine timer after that; `u64::MAX` if there is none.
    pub second_timer: u64,
    /// Number of data packets that arrived.
    pub packets: u64,
}

/// Whether a segment is acknowledged, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDecision {
    /// Delay the acknowledgement.
    Delay,
    /// Acknowledge now, or together with data that arrives immediately afterwards.
    Soon,
    /// Acknowledge now and report this range of out-of-order bytes, which is empty if there is
    /// none.
    Now(u64, u64),
}

impl SubflowReceiver {
    /// Returns true if DCTCP's rule for delayed acknowledgements applies (RFC 8257, section 3.2).
    /// By this rule, a segment whose mark differs from that of the last one makes the receiver
    /// first acknowledge earlier segments with the old echo. It then acknowledges the segment
    /// itself immediately, as Linux does since 4.18. Must be called before
    /// [`on_data`](Self::on_data).
    #[inline(always)]
    pub fn needs_ack_before_ce_change(&self, packet: &Packet) -> bool {
        self.echo == Echo::Dctcp && (packet.flags & CE != 0) != self.ce && self.unacked > 0
    }

    /// Handles a segment of `len` bytes that arrives at `now`.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        packet: &Packet,
        len: u64,
        now: u64,
        connection: &mut ConnectionReceiver,
        profile: &Profile,
    ) -> AckDecision {
        self.packets += 1;
        // After a pause the sender's window may be small. A pause may also end with a
        // retransmission by the timer.
        if now - self.last_packet_at > profile.min_rto.0 {
            self.quick_acks_left = profile.quick_acks;
        }
        self.last_packet_at = now;
        let marked = packet.flags & CE != 0;
        let mut at_once = false;
        match self.echo {
            Echo::Off => {}
            Echo::Dctcp => {
                at_once = marked != self.ce;
                self.ce = marked;
            }
            Echo::Classic => {
                // Linux: the window is small, or will be.
                at_once = packet.flags & CWR != 0;
                if marked && !self.ce {
                    self.quick_acks_left = self.quick_acks_left.max(profile.quick_acks.min(2));
                }
                self.ce = marked || (self.ce && packet.flags & CWR == 0);
            }
            Echo::Count => self.marks += u32::from(marked),
        }
        let expected = connection.chunks.next();
        if connection.chunks.insert(packet.chunk) {
            connection.bytes += len;
            connection.last_data_at = packet.time;
        }
        if packet.flags & LAST != 0 {
            connection.total = packet.chunk + 1;
            at_once = true;
        }
        // Linux acknowledges a DATA_FIN immediately, regardless of the subflow on which the last
        // data arrived (RFC 8684, section 3.3.3).
        at_once |= connection.chunks.next() == connection.total;
        let ahead = packet.seq.wrapping_sub(self.next as u32).cast_signed();
        if ahead == 0 {
            // The timestamp echoed is that of the first segment since the last acknowledgement (RFC 7323, section 4.3).
            if self.unacked == 0 {
                self.ack_flags = packet.flags & RETRANSMIT;
            }
            if self.out_of_order.is_empty() {
                self.next += len;
                self.unacked += 1;
                self.pushed |= packet.flags & PUSH != 0;
                if self.quick_acks_left > 0 {
                    self.quick_acks_left -= 1;
                    return if at_once {
                        AckDecision::Now(0, 0)
                    } else {
                        AckDecision::Soon
                    };
                }
                if at_once {
                    return AckDecision::Now(0, 0);
                }
                return if self.unacked >= profile.ack_every {
                    AckDecision::Soon
                } else {
                    AckDecision::Delay
                };
            }
        }
        if profile.stall_on_held_data {
            self.advance_with_connection(packet, len, (expected, connection.chunks.next()));
            return AckDecision::Now(0, 0);
        }
        // Out of order, duplicate, or filling a hole: acknowledged immediately (RFC 5681, section
        // 4.2).
        let start = self.next.wrapping_add_signed(i64::from(ahead));
        if ahead < 0 && start + len <= self.next {
            self.ack_flags |= packet.flags & RETRANSMIT | DSACK;
            self.quick_acks_left = profile.quick_acks;
            return AckDecision::Now(0, 0);
        }
        if self.out_of_order.contains(start, start + len) {
            self.ack_flags |= DSACK;
        }
        let (lo, hi) = self.out_of_order.insert(start.max(self.next), start + len);
        self.next = self.out_of_order.advance(self.next);
        if lo < self.next || profile.recovery == Recovery::NewReno {
            AckDecision::Now(0, 0)
        } else {
            AckDecision::Now(lo, hi)
        }
    }

    /// The fault of `stall_on_held_data`: handles a segment that arrives out of order, or while
    /// out-of-order bytes are held. Held bytes are merged with those in order only if the chunk
    /// that the connection expects has advanced, which data of other subflows since the last
    /// segment may have caused. A retransmission of a held segment advances nothing.
    #[cold]
    fn advance_with_connection(&mut self, segment: &Packet, len: u64, expected: (u32, u32)) {
        let (before, after) = expected;
        if self.merged_at_chunk != before {
            self.next = self.out_of_order.advance(self.next);
        }
        let ahead = segment.seq.wrapping_sub(self.next as u32).cast_signed();
        let start = self.next.wrapping_add_signed(i64::from(ahead));
        if ahead == 0 && !self.out_of_order.starts_at(self.next) {
            self.next += len;
        } else if ahead > 0 {
            self.out_of_order.insert(start, start + len);
        }
        // That simulator has no data that other subflows delivered before: it does not reinject.
        if after != before || segment.chunk < before {
            self.next = self.out_of_order.advance(self.next);
        }
        self.merged_at_chunk = after;
    }

    /// Returns the acknowledgement of everything received so far, which reports the range `lo..hi`.
    #[inline(always)]
    pub fn acknowledge(&mut self, chunks: &Chunks, lo: u64, hi: u64, profile: &Profile) -> Packet {
        self.unacked = 0;
        self.pushed = false;
        self.deadline = u64::MAX;
        let echoed = match self.echo {
            Echo::Off => 0,
            Echo::Dctcp | Echo::Classic => {
                if self.ce {
                    ECE
                } else {
                    0
                }
            }
            Echo::Count => {
                let count = self.marks.min(u32::from(COUNT_MASK));
                self.marks -= count;
                (count as u16) << COUNT_SHIFT | if count > 0 { ECE } else { 0 }
            }
        };
        let ack_flags = self.ack_flags;
        self.ack_flags &= RETRANSMIT;
        Packet {
            route: self.path.next_route(self.last_packet_at),
            slot: self.peer,
            seq: self.next as u32,
            chunk: chunks.next(),
            lo: lo as u32,
            hi: hi as u32,
            size: profile.ack_size as u16,
            flags: ACK | echoed | ack_flags,
            time: 0,
        }
    }
}
