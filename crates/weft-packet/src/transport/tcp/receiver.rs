//! The receiver of a connection (RFC 8684, section 3.3) and that of a subflow. The latter decides
//! when to acknowledge data (RFC 5681, section 4.2; RFC 8257, section 3.2). It also reports
//! duplicates (RFC 2883).

use std::collections::BTreeMap;

use weft_cc::Echo;
use weft_transports::{Profile, Recovery};

use crate::engine::prefetch::prefetch;
use crate::packet::{CE, Packet, RETRANSMIT, class_flags};

use super::path::SubflowPath;
use super::timers::AckTimer;
use super::wire::{ACK, COUNT_MASK, COUNT_SHIFT, CWR, DSACK, ECE, LAST, PUSH, control_ect};

/// The receiver of a connection.
pub struct ConnectionReceiver {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the transport in the configuration.
    pub transport: u32,
    /// The chunks that have arrived.
    chunks: Chunks,
    /// Total number of chunks; `u32::MAX` until the last chunk or the end of a stopped flow shows
    /// it.
    total: u32,
    /// Payload bytes that have arrived, each counted once.
    bytes: u64,
    /// Time at which the newest of them arrived.
    last_data_at: u64,
    /// Bytes at which the flow's generator is notified; `u64::MAX` if it is not notified, or was; 0
    /// while latencies are recorded.
    notify_at: u64,
    /// Bit `s` is set if subflow `s` delays the acknowledgement of a segment with PSH.
    pushed: u64,
    /// The messages of a persistent connection.
    messages: Option<Box<ReceivedMessages>>,
}

/// The flows that a persistent connection carries, at its receiver.
struct ReceivedMessages {
    /// Flows whose last chunk has arrived before other data, each with the chunk that follows it.
    incomplete: BTreeMap<u32, u32>,
    /// Flows all of whose data has arrived, in order.
    complete: Vec<ReceivedMessage>,
    /// Value of `notify_at` while no flow is incomplete.
    idle_notify_at: u64,
}

/// A flow of a persistent connection all of whose data has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Index of the flow.
    pub flow: u32,
    /// The chunk that follows its data.
    end: u32,
    /// Time at which the last of its data arrived.
    at: u64,
}

impl ConnectionReceiver {
    /// Creates the receiver of a flow. Its generator is notified at this number of bytes.
    pub fn new(flow: u32, transport: u32, notify_at: u64) -> Self {
        Self {
            flow,
            transport,
            chunks: Chunks::default(),
            total: u32::MAX,
            bytes: 0,
            last_data_at: 0,
            notify_at,
            pushed: 0,
            messages: None,
        }
    }

    /// Creates the receiver of a persistent connection. `notify_at` is 0 if latencies are recorded, otherwise `u64::MAX`.
    pub fn of_messages(flow: u32, transport: u32, notify_at: u64) -> Self {
        Self {
            messages: Some(Box::new(ReceivedMessages {
                incomplete: BTreeMap::new(),
                complete: Vec::new(),
                idle_notify_at: notify_at,
            })),
            ..Self::new(flow, transport, notify_at)
        }
    }

    /// Handles the last chunk of the connection, or of a message.
    #[cold]
    fn on_last_chunk(&mut self, packet: &Packet) {
        let end = packet.chunk + 1;
        let Some(messages) = &mut self.messages else {
            self.total = end;
            return;
        };
        if messages.complete.last().is_none_or(|newest| newest.end < end) {
            messages.incomplete.insert(end, packet.lo);
            self.total = *messages
                .incomplete
                .last_key_value()
                .map_or(&end, |(newest, _)| newest);
            self.notify_at = 0;
        }
    }

    /// Returns true for the receiver of a persistent connection.
    pub fn has_messages(&self) -> bool {
        self.messages.is_some()
    }

    /// Returns the next flow of a persistent connection all of whose data has newly arrived.
    pub fn take_complete(&mut self, now: u64) -> Option<u32> {
        let messages = self.messages.as_mut()?;
        let first = messages.incomplete.first_entry()?;
        if self.chunks.next() < *first.key() {
            return None;
        }
        let (end, flow) = first.remove_entry();
        messages.complete.push(ReceivedMessage { flow, end, at: now });
        if messages.incomplete.is_empty() {
            self.notify_at = messages.idle_notify_at;
        }
        Some(flow)
    }

    /// Returns the flows of a persistent connection all of whose data has arrived.
    pub fn complete_messages(&self) -> &[ReceivedMessage] {
        self.messages.as_ref().map_or(&[], |messages| &messages.complete)
    }

    /// Returns the time at which the last data of the message arrived that ends before chunk `end`.
    pub fn message_finish(&self, end: u32) -> Option<u64> {
        let messages = self.complete_messages();
        let position = messages.binary_search_by_key(&end, |message| message.end).ok()?;
        Some(messages[position].at)
    }

    /// Returns the chunks that have arrived.
    #[inline(always)]
    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// Returns the payload bytes that have arrived, each counted once.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the time at which the newest bytes arrived.
    pub fn last_data_at(&self) -> u64 {
        self.last_data_at
    }

    /// Returns true if all data has arrived.
    #[inline(always)]
    pub fn is_complete(&self) -> bool {
        self.chunks.next() == self.total
    }

    /// Sets the total number of chunks.
    #[inline(always)]
    pub fn set_total(&mut self, total: u32) {
        self.total = total;
    }

    /// Records the chunk of a packet, which has `len` bytes.
    #[inline(always)]
    fn insert(&mut self, packet: &Packet, len: u64) {
        if self.chunks.insert(packet.chunk) {
            self.bytes += len;
            self.last_data_at = packet.time;
        }
    }

    /// Records that subflow `s` delays the acknowledgement of a segment with PSH.
    #[inline(always)]
    pub fn set_pushed(&mut self, s: u32) {
        self.pushed |= 1 << s;
    }

    /// Returns true if a subflow delays the acknowledgement of a segment with PSH, and all data up
    /// to the newest has been read since `expected` was the next chunk.
    #[inline(always)]
    pub fn is_pushed_data_read(&self, expected: u32) -> bool {
        self.pushed != 0 && self.chunks.next() != expected && self.chunks.is_in_order()
    }

    /// Takes the subflows that delay the acknowledgement of a segment with PSH, one bit each.
    pub fn take_pushed(&mut self) -> u64 {
        std::mem::take(&mut self.pushed)
    }

    /// Returns true if the bytes at which the flow's generator is notified have arrived.
    #[inline(always)]
    pub fn is_notification_due(&self) -> bool {
        self.bytes >= self.notify_at
    }

    /// Returns the number of bytes at which the flow's generator is notified, to change it.
    pub fn notify_at_mut(&mut self) -> &mut u64 {
        &mut self.notify_at
    }

    /// Frees the memory of a receiver whose slot is free.
    pub fn free(&mut self) {
        self.chunks = Chunks::default();
    }
}

/// The receiver of a subflow.
pub struct SubflowReceiver {
    /// Slot of the connection's receiver at this host.
    pub connection: u32,
    /// Slot of the subflow's sender at the other host.
    pub peer: u32,
    /// Flags of all acknowledgements: [`ACK`] and the traffic class.
    ack_flags: u16,
    /// Path to the other host.
    pub path: SubflowPath,
    /// The timer of delayed acknowledgements.
    pub timer: AckTimer,
    /// Next byte expected.
    next: u64,
    /// Bytes received beyond the next byte expected.
    out_of_order: RangeSet,
    /// The chunk that the connection expected when out-of-order bytes were last merged with those
    /// in order (`stall_on_held_data`).
    merged_at_chunk: u32,
    pending: PendingAck,
    echo: EcnEcho,
    /// Time at which the last data packet arrived.
    last_packet_at: u64,
    /// Number of data packets that arrived.
    packets: u64,
}

/// The acknowledgement that a receiver owes.
#[derive(Default)]
struct PendingAck {
    /// Segments received in order that are not acknowledged yet.
    segments: u32,
    /// Number of segments that are still acknowledged immediately.
    quick_acks_left: u32,
    /// True if a segment with PSH has arrived since the last acknowledgement.
    pushed: bool,
    /// [`RETRANSMIT`] and [`DSACK`] as the next acknowledgement carries them.
    flags: u16,
}

/// How a segment relates to the bytes that arrived before it.
#[derive(Clone, Copy)]
enum SegmentOrder {
    /// It begins at the next byte expected, and the receiver holds no out-of-order bytes.
    InOrder,
    /// It advances the next byte expected while out-of-order bytes are held.
    FillsHole,
    /// It lies beyond the next byte expected and extends this range of out-of-order bytes.
    OutOfOrder(u64, u64),
    /// All of it arrived before.
    Duplicate,
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
    /// Creates the receiver of a subflow that opens. `connection` is the slot of the connection's
    /// receiver, `peer` that of the subflow's sender at the other host.
    pub fn new(
        connection: u32,
        peer: u32,
        path: SubflowPath,
        echo: Echo,
        ack_class: u8,
        profile: &Profile,
    ) -> Self {
        Self {
            connection,
            peer,
            ack_flags: ACK | class_flags(ack_class) | control_ect(echo),
            path,
            timer: AckTimer::new(),
            next: 0,
            out_of_order: RangeSet::default(),
            merged_at_chunk: 0,
            pending: PendingAck {
                quick_acks_left: profile.acks.quick_acks,
                ..PendingAck::default()
            },
            echo: EcnEcho::new(echo),
            last_packet_at: 0,
            packets: 0,
        }
    }

    /// Returns the number of data packets that have arrived.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of segments received in order that are not acknowledged yet.
    #[inline(always)]
    pub fn unacked(&self) -> u32 {
        self.pending.segments
    }

    /// Returns true if a segment with PSH has arrived since the last acknowledgement.
    #[inline(always)]
    pub fn is_pushed(&self) -> bool {
        self.pending.pushed
    }

    /// Prefetches the bytes received out of order.
    #[inline(always)]
    pub fn prefetch_out_of_order(&self) {
        self.out_of_order.prefetch();
    }

    /// Frees the memory of a receiver whose slot is free.
    pub fn free(&mut self) {
        self.out_of_order = RangeSet::default();
    }

    /// Returns true if DCTCP's rule for delayed acknowledgements applies (RFC 8257, section 3.2).
    /// By this rule, a segment whose mark differs from that of the last one makes the receiver
    /// first acknowledge earlier segments with the old echo. It then acknowledges the segment
    /// itself immediately, as Linux does since 4.18. Must be called before
    /// [`on_data`](Self::on_data).
    #[inline(always)]
    pub fn needs_ack_before_ce_change(&self, packet: &Packet) -> bool {
        self.echo.is_changed_by(packet.flags & CE != 0) && self.pending.segments > 0
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
        self.renew_quick_acks_after_pause(now, profile);
        let mut immediate = self.update_echo(packet, profile);
        let expected = connection.chunks.next();
        connection.insert(packet, len);
        if packet.flags & LAST != 0 {
            connection.on_last_chunk(packet);
            immediate = true;
        }
        // Linux acknowledges a DATA_FIN immediately, regardless of the subflow on which the last
        // data arrived (RFC 8684, section 3.3.3).
        immediate |= connection.is_complete();
        let ahead = packet.seq.wrapping_sub(self.next as u32).cast_signed();
        // The timestamp echoed is that of the first segment since the last acknowledgement (RFC 7323, section 4.3).
        if ahead == 0 && self.pending.segments == 0 {
            self.pending.flags = packet.flags & RETRANSMIT;
        }
        let order = if ahead == 0 && self.out_of_order.is_empty() {
            self.next += len;
            SegmentOrder::InOrder
        } else if profile.connection.stall_on_held_data {
            self.advance_with_connection(packet, len, (expected, connection.chunks.next()))
        } else {
            self.reassemble(ahead, len)
        };
        self.decide(order, packet.flags, immediate, profile)
    }

    /// After a pause the sender's window may be small, so that segments are acknowledged immediately. A
    /// pause may also end with a retransmission by the timer.
    #[inline(always)]
    fn renew_quick_acks_after_pause(&mut self, now: u64, profile: &Profile) {
        if now - self.last_packet_at > profile.rto.min_rto.0 {
            self.pending.quick_acks_left = profile.acks.quick_acks;
        }
        self.last_packet_at = now;
    }

    /// Records the mark of a segment. Returns true if the segment is acknowledged immediately for its
    /// sake.
    #[inline(always)]
    fn update_echo(&mut self, packet: &Packet, profile: &Profile) -> bool {
        let effect = self
            .echo
            .on_segment(packet.flags & CE != 0, packet.flags & CWR != 0);
        if effect.latched {
            let quick_acks = profile.acks.quick_acks.min(2);
            self.pending.quick_acks_left = self.pending.quick_acks_left.max(quick_acks);
        }
        effect.immediate
    }

    /// Records a segment that begins `ahead` bytes after the next byte expected and is not the only
    /// one that the receiver holds.
    #[inline(always)]
    fn reassemble(&mut self, ahead: i32, len: u64) -> SegmentOrder {
        let start = self.next.wrapping_add_signed(i64::from(ahead));
        let end = start + len;
        if ahead < 0 && end <= self.next {
            return SegmentOrder::Duplicate;
        }
        let partly_known = self.out_of_order.contains(start, end);
        let (lo, hi) = self.out_of_order.insert(start.max(self.next), end);
        self.next = self.out_of_order.advance(self.next);
        if partly_known {
            self.pending.flags |= DSACK;
        }
        if lo < self.next {
            SegmentOrder::FillsHole
        } else {
            SegmentOrder::OutOfOrder(lo, hi)
        }
    }

    /// Decides when a segment with these flags is acknowledged. An out-of-order or duplicate segment, or one
    /// that fills a hole, is acknowledged immediately (RFC 5681, section 4.2).
    #[inline(always)]
    fn decide(&mut self, order: SegmentOrder, flags: u16, immediate: bool, profile: &Profile) -> AckDecision {
        let pending = &mut self.pending;
        match order {
            SegmentOrder::InOrder => {
                pending.segments += 1;
                pending.pushed |= flags & PUSH != 0;
                let mut is_due = pending.segments >= profile.acks.ack_every;
                if pending.quick_acks_left > 0 {
                    pending.quick_acks_left -= 1;
                    is_due = true;
                }
                if immediate {
                    AckDecision::Now(0, 0)
                } else if is_due {
                    AckDecision::Soon
                } else {
                    AckDecision::Delay
                }
            }
            SegmentOrder::Duplicate => {
                pending.flags |= flags & RETRANSMIT | DSACK;
                pending.quick_acks_left = profile.acks.quick_acks;
                AckDecision::Now(0, 0)
            }
            SegmentOrder::OutOfOrder(lo, hi) if profile.loss.recovery != Recovery::NewReno => {
                AckDecision::Now(lo, hi)
            }
            SegmentOrder::FillsHole | SegmentOrder::OutOfOrder(..) => AckDecision::Now(0, 0),
        }
    }

    /// The fault of `stall_on_held_data`: handles a segment that arrives out of order, or while
    /// out-of-order bytes are held. Held bytes are merged with those in order only if the chunk
    /// that the connection expects has advanced, which data of other subflows since the last
    /// segment may have caused. A retransmission of a held segment advances nothing.
    #[cold]
    fn advance_with_connection(&mut self, segment: &Packet, len: u64, expected: (u32, u32)) -> SegmentOrder {
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
        // Acknowledged immediately and without a SACK block, like a segment that fills a hole.
        SegmentOrder::FillsHole
    }

    /// Returns the acknowledgement of everything received so far, which reports the range `lo..hi`.
    #[inline(always)]
    pub fn acknowledge(&mut self, chunks: &Chunks, lo: u64, hi: u64, profile: &Profile) -> Packet {
        self.pending.segments = 0;
        self.pending.pushed = false;
        self.timer.stop();
        let echoed = self.echo.take_flags();
        let pending_flags = self.pending.flags;
        self.pending.flags &= RETRANSMIT;
        Packet {
            route: self.path.next_route(self.last_packet_at, || false),
            slot: self.peer,
            seq: self.next as u32,
            chunk: chunks.next(),
            lo: lo as u32,
            hi: hi as u32,
            size: profile.sizes.ack_size as u16,
            flags: self.ack_flags | echoed | pending_flags,
            time: 0,
        }
    }
}

/// Bytes received beyond the next expected one, as disjoint sorted ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet(Vec<(u64, u64)>);

impl RangeSet {
    /// Prefetches the first range.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.0.first().into_iter().for_each(prefetch);
    }

    /// Returns true if no byte is out of order.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the first range begins at `next`, so that nothing is missing before it.
    pub fn starts_at(&self, next: u64) -> bool {
        self.0.first().is_some_and(|&(start, _)| start == next)
    }

    /// Returns true if all of `lo..hi` is held.
    pub fn contains(&self, lo: u64, hi: u64) -> bool {
        let first = self.0.partition_point(|&(_, end)| end < hi);
        self.0.get(first).is_some_and(|&(start, _)| start <= lo)
    }

    /// Adds `lo..hi` and returns the range that now contains it.
    pub fn insert(&mut self, mut lo: u64, mut hi: u64) -> (u64, u64) {
        let first = self.0.partition_point(|&(_, end)| end < lo);
        let last = self.0.partition_point(|&(start, _)| start <= hi);
        if first < last {
            lo = lo.min(self.0[first].0);
            hi = hi.max(self.0[last - 1].1);
        }
        self.0.splice(first..last, [(lo, hi)]);
        (lo, hi)
    }

    /// Returns the next byte expected once everything before `next` has arrived, and removes the
    /// ranges before it.
    pub fn advance(&mut self, mut next: u64) -> u64 {
        let covered = self.0.iter().take_while(|&&(start, _)| start <= next).count();
        if covered > 0 {
            next = next.max(self.0[covered - 1].1);
            self.0.drain(..covered);
        }
        next
    }
}

/// Chunks received beyond the next expected one, on any subflow (RFC 8684, section 3.3.4): one bit
/// each in a growing ring.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    next: u32,
    /// One more than the highest chunk received.
    end: u32,
    bits: Box<[u64]>,
}

impl Chunks {
    /// Prefetches the memory that inserting `chunk` accesses.
    #[inline(always)]
    pub fn prefetch(&self, chunk: u32) {
        let mask = self.bits.len().wrapping_sub(1);
        self.bits
            .get((chunk / 64) as usize & mask)
            .into_iter()
            .for_each(prefetch);
    }

    /// Returns the next chunk expected.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns true if nothing is out of order.
    pub fn is_in_order(&self) -> bool {
        self.next >= self.end
    }

    /// Inserts chunk `chunk`. Returns `false` if it was held already.
    #[inline(always)]
    pub fn insert(&mut self, chunk: u32) -> bool {
        if chunk < self.next {
            return false;
        }
        while (chunk - self.next) as usize + 64 >= self.bits.len() * 64 {
            self.grow();
        }
        self.end = self.end.max(chunk + 1);
        let mask = self.bits.len() - 1;
        let word = &mut self.bits[(chunk / 64) as usize & mask];
        let bit = 1 << (chunk % 64);
        let new = *word & bit == 0;
        *word |= bit;
        if chunk == self.next {
            loop {
                let word = &mut self.bits[(self.next / 64) as usize & mask];
                let run = (*word >> (self.next % 64)).trailing_ones();
                let whole = self.next % 64 + run == 64;
                *word &= !(u64::MAX.checked_shr(64 - run).unwrap_or(0) << (self.next % 64));
                self.next += run;
                if !whole {
                    break;
                }
            }
        }
        new
    }

    #[cold]
    fn grow(&mut self) {
        let mut grown = vec![0; (self.bits.len() * 2).max(2)].into_boxed_slice();
        let first = self.next / 64;
        for word in first..first + self.bits.len() as u32 {
            grown[word as usize & (grown.len() - 1)] = self.bits[word as usize & (self.bits.len() - 1)];
        }
        self.bits = grown;
    }
}

/// The state of a subflow's echo.
pub struct EcnEcho {
    /// The echo that the sender's congestion control asks for.
    kind: Echo,
    /// DCTCP: true if the last segment was marked. Classic ECN: true if ECE is latched.
    ce: bool,
    /// Marks not echoed yet.
    marks: u32,
}

/// The effect of a segment's mark on its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoEffect {
    /// True if the segment is acknowledged immediately.
    pub immediate: bool,
    /// True if ECE was latched.
    pub latched: bool,
}

impl EcnEcho {
    /// Creates the state before any segment has arrived.
    pub fn new(kind: Echo) -> Self {
        Self {
            kind,
            ce: false,
            marks: 0,
        }
    }

    /// Returns true if DCTCP's state changes with a segment that is marked or not.
    #[inline(always)]
    pub fn is_changed_by(&self, marked: bool) -> bool {
        self.kind == Echo::Dctcp && marked != self.ce
    }

    /// Handles a segment that is marked or not, and that carries CWR or not.
    #[inline(always)]
    pub fn on_segment(&mut self, marked: bool, cwr: bool) -> EchoEffect {
        match self.kind {
            Echo::Off => EchoEffect::default(),
            Echo::Dctcp => EchoEffect {
                immediate: std::mem::replace(&mut self.ce, marked) != marked,
                latched: false,
            },
            Echo::Classic => {
                let latched = marked && !self.ce;
                self.ce = marked || (self.ce && !cwr);
                EchoEffect {
                    // Linux: the window is small, or will be.
                    immediate: cwr,
                    latched,
                }
            }
            Echo::Count => {
                self.marks += u32::from(marked);
                EchoEffect::default()
            }
        }
    }

    /// Returns the flags of an acknowledgement that echo the marks.
    #[inline(always)]
    pub fn take_flags(&mut self) -> u16 {
        match self.kind {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn islands_equal_a_set_of_bytes(ranges in prop::collection::vec((0_u64..60, 1_u64..9), 1..60)) {
            let mut held = RangeSet::default();
            let mut set = BTreeSet::new();
            let mut next = 0;
            for (lo, len) in ranges {
                let lo = lo.max(next);
                set.extend(lo..lo + len);
                let (start, end) = held.insert(lo, lo + len);
                prop_assert!(start <= lo && lo + len <= end);
                prop_assert!((start..end).all(|b| set.contains(&b)));
                prop_assert!(!set.contains(&end) && (start == next || !set.contains(&(start - 1))));
                next = held.advance(next);
                while set.remove(&next) {
                    prop_assert!(false, "byte {next} is held but not delivered");
                }
                let before: Vec<u64> = set.range(..next).copied().collect();
                for b in before {
                    set.remove(&b);
                }
            }
        }

        #[test]
        fn chunks_equal_a_set(order in prop::collection::vec(0_u32..700, 1..900)) {
            let mut chunks = Chunks::default();
            let mut set = BTreeSet::new();
            for chunk in order {
                prop_assert_eq!(chunks.insert(chunk), set.insert(chunk));
                let next = (0..701).find(|c| !set.contains(c)).unwrap_or(0);
                prop_assert_eq!(chunks.next(), next);
            }
        }
    }

    #[test]
    fn long_runs_in_order_stay_small() {
        let mut chunks = Chunks::default();
        for chunk in 0..10_000 {
            assert!(chunks.insert(chunk ^ 1));
        }
        assert_eq!((chunks.next(), chunks.bits.len()), (10_000, 2));
    }
}
