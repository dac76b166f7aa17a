//! Data at its sender: the positions in what a subflow sends (RFC 9293, section 3.3.1), the chunks of a
//! connection, those to be sent again on another subflow, and the sizes of send buffers.
//!
//! The data of a connection consists of chunks of one MSS; the last one may be shorter. A `DATA_ACK`
//! acknowledges chunks (RFC 8684, section 3.3.2), and the shared receive window limits them (RFC 8684,
//! section 3.3.4).
//!
//! The buffers of subflows grow with their windows, and the application's data waits in the
//! connection's own (`net/ipv4/tcp_input.c` and net/mptcp/protocol.c, kernel 6.x).
//! A buffer holds what is sent and not acknowledged, and its size is in bytes of memory. Linux
//! stores data in pieces (`sk_buff`), each of which takes some memory besides its payload. While a
//! window limits a subflow, acknowledgements allow a segment or two at a time, and each is sent as
//! a piece of its own. While the buffer limits it, the window is open, and pieces are as long as
//! segmentation offload allows. Linux offloads in software if the NIC does not.

use std::collections::VecDeque;
use std::ops::Range;

use weft_cc::Window;
use weft_transports::{ConnectionSettings, Profile};

/// Number of chunks of a connection that sends until it is stopped.
const UNLIMITED: u32 = u32::MAX;

/// The data that a connection sends: what there is, what was sent, and what was acknowledged. A
/// segment carries a whole chunk and its number, in place of a mapping (RFC 8684, section 3.3.1).
pub struct SendData {
    /// Total number of chunks, or [`UNLIMITED`]. More are added to those of a persistent connection.
    total: u32,
    /// Chunks that the application has written so far, which may be sent.
    written: u32,
    /// Payload bytes of a chunk.
    mss: u32,
    /// Payload bytes of the last chunk of `current`.
    last_len: u16,
    /// The chunks of the message that was sent last; of a connection for one flow, all chunks.
    current: Range<u32>,
    /// Next chunk that was never sent.
    nxt: u32,
    /// First chunk that is not acknowledged.
    una: u32,
    /// The chunk that follows the oldest message which is not acknowledged; of a connection for one flow, the total.
    due: u32,
    /// Chunks that may be outstanding: what fits into the receive buffer, which subflows share, and
    /// into the send buffer.
    window: u32,
    /// The messages of a persistent connection.
    messages: Option<Box<Messages>>,
}

/// The flows that a persistent connection carries, in order.
#[derive(Default)]
pub struct Messages {
    all: Vec<Message>,
    /// Number of those that are acknowledged.
    acked: usize,
}

/// A flow that a persistent connection carries.
pub struct Message {
    /// Index of the flow.
    pub flow: u32,
    /// Its chunks.
    pub chunks: Range<u32>,
    /// Payload bytes of its last chunk.
    last_len: u16,
    /// Time at which it was opened.
    pub opened: u64,
    /// Time at which it was acknowledged.
    pub acked: Option<u64>,
}

impl SendData {
    /// Creates the data of a flow of this many bytes; `None` for a flow that sends until it is
    /// stopped. At most `buffer` bytes may be outstanding. `is_written` is true if the application has
    /// written all of it at the beginning.
    pub fn new(bytes: Option<u64>, mss: u32, buffer: u64, is_written: bool) -> Self {
        let (total, last_len) = match bytes {
            Some(bytes) => split(bytes, mss),
            None => (UNLIMITED, mss as u16),
        };
        Self {
            total,
            written: if is_written { total } else { 0 },
            mss,
            last_len,
            current: 0..total,
            nxt: 0,
            una: 0,
            due: total,
            window: (buffer / u64::from(mss)).clamp(1, u64::from(u32::MAX)) as u32,
            messages: None,
        }
    }

    /// Creates the data of a persistent connection without messages. At most `buffer` bytes may be outstanding.
    pub fn of_messages(mss: u32, buffer: u64) -> Self {
        Self {
            due: UNLIMITED,
            messages: Some(Box::default()),
            ..Self::new(Some(0), mss, buffer, true)
        }
    }

    /// Adds the data of a flow to a persistent connection.
    pub fn append(&mut self, flow: u32, bytes: u64, now: u64) {
        let Some(messages) = &mut self.messages else {
            return;
        };
        // Numbers of chunks exceed 32 bits after terabytes, beyond what a run simulates.
        let (chunks, last_len) = split(bytes, self.mss);
        let end = self.total.saturating_add(chunks);
        messages.all.push(Message {
            flow,
            chunks: self.total..end,
            last_len,
            opened: now,
            acked: None,
        });
        if self.due == UNLIMITED {
            self.due = end;
        }
        (self.total, self.written) = (end, end);
    }

    /// Returns the messages of a persistent connection; `None` for a connection of one flow.
    pub fn messages(&self) -> Option<&[Message]> {
        self.messages.as_ref().map(|messages| &messages.all[..])
    }

    /// Returns the next flow of a persistent connection that is newly acknowledged.
    pub fn take_acknowledged(&mut self, now: u64) -> Option<u32> {
        let messages = self.messages.as_mut()?;
        let oldest = messages.all.get_mut(messages.acked)?;
        if self.una < oldest.chunks.end {
            return None;
        }
        oldest.acked = Some(now);
        let flow = oldest.flow;
        messages.acked += 1;
        self.due = messages
            .all
            .get(messages.acked)
            .map_or(UNLIMITED, |next| next.chunks.end);
        Some(flow)
    }

    /// Returns the message of a chunk of a persistent connection.
    #[cold]
    fn message_of(&self, chunk: u32) -> Option<&Message> {
        let messages = &self.messages.as_ref()?.all;
        messages.get(messages.partition_point(|message| message.chunks.end <= chunk))
    }

    /// Returns the flow of a chunk of a persistent connection.
    #[cold]
    #[inline(never)]
    pub fn flow_of(&self, chunk: u32) -> Option<u32> {
        self.message_of(chunk).map(|message| message.flow)
    }

    /// Returns the total number of chunks; `u32::MAX` if the flow is not stopped yet.
    #[inline(always)]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Returns the number of chunks that the application has written.
    #[inline(always)]
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Returns the payload bytes of a chunk.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Returns the next chunk that was never sent.
    #[inline(always)]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Returns the first chunk that is not acknowledged.
    #[inline(always)]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Returns true if all data is acknowledged, or a message of a persistent connection.
    #[inline(always)]
    pub fn is_acknowledged(&self) -> bool {
        self.una >= self.due
    }

    /// Returns true if the flow sends until it is stopped, and was not.
    pub fn is_unlimited(&self) -> bool {
        self.total == UNLIMITED
    }

    /// Returns true if there is data that was not sent or assigned yet.
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        self.nxt < self.total
    }

    /// Returns true if the application has written data that was not sent or assigned yet.
    #[inline(always)]
    pub fn has_unsent_written(&self) -> bool {
        self.nxt < self.written
    }

    /// Returns true if new data may be sent.
    #[inline(always)]
    pub fn has_sendable(&self) -> bool {
        self.has_unsent_written() && self.window_left() > 0
    }

    /// Returns the number of chunks that the window still allows, which all subflows share (RFC 8684,
    /// section 3.3.4). The receive buffer is constant, so that the edge of the window follows from
    /// the last `DATA_ACK` (RFC 8684, section 3.3.5).
    #[inline(always)]
    pub fn window_left(&self) -> u32 {
        self.window.saturating_sub(self.nxt - self.una)
    }

    /// Takes the next chunk of new data, if it may be sent.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        self.has_sendable().then(|| self.take_next())
    }

    /// Takes the next chunk of new data.
    #[inline(always)]
    fn take_next(&mut self) -> u32 {
        self.nxt += 1;
        self.nxt - 1
    }

    /// Takes the next `count` chunks of new data.
    #[inline(always)]
    pub fn take_run(&mut self, count: u32) -> Range<u32> {
        self.nxt += count;
        self.nxt - count..self.nxt
    }

    /// Returns true if a `DATA_ACK` of all chunks before `una` advances.
    #[inline(always)]
    pub fn is_advanced_by(&self, una: u32) -> bool {
        una > self.una
    }

    /// Records that all chunks before `una` are acknowledged: a `DATA_ACK` is cumulative (RFC 8684,
    /// section 3.3.2). Returns true if the window was full.
    #[inline(always)]
    pub fn advance(&mut self, una: u32) -> bool {
        let was_full = self.window_left() == 0;
        self.una = una;
        was_full
    }

    /// Sets the number of chunks that the application has written, at most the total.
    pub fn set_written(&mut self, chunks: u64) {
        self.written = chunks.min(self.total.into()) as u32;
    }

    /// Stops the flow after this many chunks, all of which are full.
    pub fn stop(&mut self, total: u32) {
        self.total = total;
        self.written = total;
        self.current = 0..total;
        self.due = total;
        self.last_len = self.mss as u16;
    }

    /// Returns true if this chunk is the last one, or the last one of a message.
    #[inline(always)]
    pub fn is_last(&self, chunk: u32) -> bool {
        chunk + 1 == self.current.end || self.messages.is_some() && self.ends_message(chunk)
    }

    #[cold]
    #[inline(never)]
    fn ends_message(&self, chunk: u32) -> bool {
        !self.current.contains(&chunk)
            && self
                .message_of(chunk)
                .is_some_and(|message| chunk + 1 == message.chunks.end)
    }

    /// Returns the payload bytes of a chunk that is sent now.
    #[inline(always)]
    pub fn chunk_len(&mut self, chunk: u32) -> u16 {
        if self.messages.is_some() && !self.current.contains(&chunk) {
            self.set_current(chunk);
        }
        if chunk + 1 == self.current.end {
            self.last_len
        } else {
            self.mss as u16
        }
    }

    #[cold]
    #[inline(never)]
    fn set_current(&mut self, chunk: u32) {
        if let Some(message) = self.message_of(chunk) {
            (self.current, self.last_len) = (message.chunks.clone(), message.last_len);
        }
    }
}

/// Returns the number of chunks of this many bytes, and the payload bytes of the last one.
fn split(bytes: u64, mss: u32) -> (u32, u16) {
    let wide = u64::from(mss);
    // A size beyond what chunks can number was rejected when the run was set up.
    (
        bytes.div_ceil(wide) as u32,
        ((bytes + wide - 1) % wide + 1) as u16,
    )
}

/// The bytes of a subflow that are acknowledged and sent.
pub struct SendSequence {
    /// First byte that is not acknowledged (`SND.UNA`).
    una: u64,
    /// Next byte to send (`SND.NXT`).
    nxt: u64,
    /// Bytes that may be unacknowledged: whole segments.
    window: u64,
    /// Segments that the send buffer holds at its maximum.
    max_segments: u32,
}

impl SendSequence {
    /// Creates the sequence of a subflow of which nothing is sent. Its window is what the receiver's
    /// buffer takes, and at most what the send buffer holds at its maximum. A smaller send buffer
    /// limits no window: autotuning makes it hold two windows or more (`tcp_sndbuf_expand`).
    pub fn from_profile(profile: &Profile) -> Self {
        let (mss, buffers) = (profile.sizes.mss, &profile.connection);
        let received = buffers.subflow_receive_buffer / u64::from(mss);
        let sent = max_segments(buffers.send_buffer, mss);
        Self {
            una: 0,
            nxt: 0,
            window: received.min(sent) * u64::from(mss),
            max_segments: u32::try_from(sent).unwrap_or(u32::MAX),
        }
    }

    /// Returns true if the buffers of both ends have space for another segment.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.nxt - self.una < self.window
    }

    /// Returns the number of segments that the send buffer holds at its maximum.
    #[inline(always)]
    pub fn max_segments(&self) -> u32 {
        self.max_segments
    }

    /// Returns the first byte that is not acknowledged.
    #[inline(always)]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Returns the next byte to send.
    #[inline(always)]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Records that all bytes before `ack` are acknowledged.
    #[inline(always)]
    pub fn advance(&mut self, ack: u64) {
        debug_assert!((self.una..=self.nxt).contains(&ack));
        self.una = ack;
    }

    /// Records that a segment of this many bytes is sent for the first time.
    #[inline(always)]
    pub fn extend(&mut self, len: u16) {
        self.nxt += u64::from(len);
    }

    /// Expands the low 32 bits of a sequence number to the 64-bit number that is nearest to `una`.
    #[inline(always)]
    pub fn expand(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}

/// The chunks to reinject.
#[derive(Default)]
pub struct ReinjectQueue {
    /// Chunks, each with the subflow that timed out on it, which does not send the chunk again.
    waiting: VecDeque<(u32, u32)>,
    /// Number of reinjected chunks.
    count: u64,
}

impl ReinjectQueue {
    /// Returns true if no chunk waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of waiting chunks.
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Returns the number of chunks that were taken for reinjection.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes the next chunk to reinject on subflow `s`. Chunks on which `s` itself timed out stay
    /// in the queue. Chunks before `una` are acknowledged and are dropped.
    #[inline(always)]
    pub fn pop(&mut self, s: u32, una: u32) -> Option<u32> {
        while let Some(&(chunk, from)) = self.waiting.front() {
            if chunk < una {
                self.waiting.pop_front();
            } else if from == s {
                break;
            } else {
                self.waiting.pop_front();
                self.count += 1;
                return Some(chunk);
            }
        }
        None
    }

    /// Adds the chunks `sent` by subflow `s`, unless they are acknowledged or wait already.
    pub fn extend(&mut self, s: u32, una: u32, sent: impl Iterator<Item = u32>) {
        for chunk in sent.filter(|&chunk| chunk >= una) {
            if !self.waiting.iter().any(|&(waiting, _)| waiting == chunk) {
                self.waiting.push_back((chunk, s));
            }
        }
    }

    /// Replaces all waiting chunks by `chunks`, which subflow `s` has sent.
    pub fn replace(&mut self, s: u32, chunks: impl Iterator<Item = u32>) {
        self.waiting.clear();
        self.waiting.extend(chunks.map(|chunk| (chunk, s)));
    }

    /// Drops the chunks before `una` and those in `arrived`, which is sorted.
    pub fn drop_acked(&mut self, una: u32, arrived: &[u32]) {
        self.waiting
            .retain(|(chunk, _)| *chunk >= una && arrived.binary_search(chunk).is_err());
    }

    /// Drops all waiting chunks and frees their memory.
    pub fn free(&mut self) {
        self.waiting = VecDeque::new();
    }
}

/// Smallest window, in packets, for which autotuning provides a buffer (`TCP_INIT_CWND`).
const MIN_SNDBUF_CWND: f64 = 10.0;

/// Send buffer of the connection itself in bytes, without those of its subflows (`tcp_wmem`, first
/// value).
const CONNECTION_SNDBUF: u32 = 4096;

/// Memory that a piece of data takes besides its payload: the `truesize` of an `sk_buff` that holds
/// only headers.
pub const SKB_OVERHEAD: u32 = 896;

/// Longest payload of a piece: `sk_gso_max_size` without the longest headers (`tcp_xmit_size_goal`,
/// `sk_setup_caps`).
const MAX_SKB_PAYLOAD: u32 = 65_536 - 321;

/// Returns the number of segments of `mss` bytes that a send buffer holds at its maximum. The
/// last piece may exceed the buffer, because the application may begin a piece whenever some memory
/// is free (`sk_stream_memory_free`).
pub fn max_segments(send_buffer: u64, mss: u32) -> u64 {
    let segments = u64::from((MAX_SKB_PAYLOAD / mss).max(1));
    send_buffer.div_ceil(segments * u64::from(mss) + u64::from(SKB_OVERHEAD)) * segments
}

/// Returns the bytes that a connection may have outstanding: at most its receive buffer, and at
/// most its send buffer, which is the sum of its subflows' buffers (`__mptcp_sync_sndbuf`).
pub fn max_outstanding(connection: &ConnectionSettings, subflows: u32) -> u64 {
    let send_buffer = connection.send_buffer * u64::from(subflows) + u64::from(CONNECTION_SNDBUF);
    connection.receive_buffer.min(send_buffer)
}

/// The send buffer of a subflow, in bytes of memory.
#[derive(Clone, Copy, Default)]
pub struct SubflowBuffer {
    /// Its size (`sk_sndbuf`), which never shrinks; 0 before the first assignment.
    size: u32,
    /// The part of it that the connection's buffer contains.
    added: u32,
}

impl SubflowBuffer {
    /// Returns the size.
    #[inline(always)]
    pub fn size(self) -> u32 {
        self.size
    }

    /// Returns the part that the connection's buffer contains.
    #[inline(always)]
    pub fn added(self) -> u32 {
        self.added
    }
}

/// The send buffer of a connection.
pub struct SendBuffers {
    /// Chunks before this one are in the connection's buffer, or were: the application has handed
    /// them over.
    written: u32,
    /// Bytes of all send buffers.
    total: u64,
    /// Chunks that fit into the connection's buffer.
    chunks: u32,
    /// Chunks that the connection's buffer may hold when the application is asked for more data.
    refill_at: u32,
    /// Payload bytes of a chunk.
    mss: u32,
    /// Memory that a segment takes in a subflow's buffer in the worst case, in bytes.
    segment: f64,
    /// Segments for which a subflow's buffer has space beyond two windows.
    extra_segments: f64,
    /// Maximum size of a subflow's buffer in bytes (`tcp_wmem`, third value).
    max: u32,
    /// Segments that a subflow's buffer of this size holds.
    max_segments: u32,
}

impl SendBuffers {
    /// Creates the buffer of a connection whose subflows have none yet, and have at most
    /// `send_buffer` bytes.
    pub fn new(extra_segments: u32, mss: u32, send_buffer: u64) -> Self {
        Self {
            written: 0,
            total: CONNECTION_SNDBUF.into(),
            chunks: 0,
            refill_at: 0,
            mss,
            segment: f64::from((mss + 640).next_power_of_two() + 256),
            extra_segments: f64::from(extra_segments),
            max: u32::try_from(send_buffer).unwrap_or(u32::MAX),
            max_segments: u32::try_from(max_segments(send_buffer, mss)).unwrap_or(u32::MAX),
        }
    }

    /// Returns the number of chunks that the application has handed over.
    #[inline(always)]
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Asks the application for more data once a third of the connection's buffer is free
    /// (`sk_stream_is_writeable`). The application has `written` chunks; those before `una` are
    /// acknowledged, and `nxt` is the next one that was never assigned.
    #[inline(always)]
    pub fn fill(&mut self, una: u32, nxt: u32, written: u32) {
        let held = self.written.max(nxt) - una;
        if held <= self.refill_at {
            self.written = una.saturating_add(self.chunks).min(written);
        }
    }

    /// Returns true if the buffer of a subflow that holds `segments` has no space for another one.
    #[inline(always)]
    pub fn is_full(&self, buffer: SubflowBuffer, segments: u32) -> bool {
        if buffer.size >= self.max {
            segments >= self.max_segments
        } else {
            segments * (self.mss + SKB_OVERHEAD) >= buffer.size
        }
    }

    /// Returns the size to which the buffer of a subflow grows (`tcp_should_expand_sndbuf`,
    /// `tcp_sndbuf_expand`). With `is_short`, the buffer holds data back, and not the window. It then
    /// grows to two windows, or to more whole windows if the extra segments need them.
    #[inline(always)]
    pub fn expanded(&self, buffer: SubflowBuffer, window: &Window, is_short: bool) -> u32 {
        if buffer.size != 0 && !is_short {
            return buffer.size;
        }
        let cwnd = window.cwnd.max(MIN_SNDBUF_CWND);
        let mut windows = 2.0;
        if self.extra_segments > 0.0 {
            windows += (self.extra_segments / cwnd.floor()).ceil();
        }
        let wanted = windows * cwnd * self.segment;
        buffer.size.max(wanted.min(f64::from(self.max)) as u32)
    }

    /// Sets the part of a subflow's buffer that the connection's buffer contains. The buffer is at
    /// least as large.
    #[inline(always)]
    pub fn set_added(&mut self, buffer: &mut SubflowBuffer, added: u32) {
        if added != buffer.added {
            self.total = self.total - u64::from(buffer.added) + u64::from(added);
            let chunks = (self.total / u64::from(self.mss)).max(1);
            self.chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
            self.refill_at = self.chunks - self.chunks / 3;
            buffer.added = added;
            buffer.size = buffer.size.max(added);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(receive_buffer: u64, send_buffer: u64) -> SendSequence {
        SendSequence::from_profile(&Profile::linux().with(|p| {
            p.connection.subflow_receive_buffer = receive_buffer;
            p.connection.send_buffer = send_buffer;
        }))
    }

    #[test]
    fn numbers_are_expanded_beyond_32_bits() {
        let mut seq = sequence(1 << 40, 1 << 40);
        assert_eq!(seq.expand(u32::MAX), u64::MAX, "one byte before the first");
        for _ in 0..80_000 {
            seq.extend(u16::MAX);
        }
        let una = (1 << 32) - 100;
        seq.advance(una);
        assert_eq!(seq.expand(50), (1 << 32) + 50);
        assert_eq!(seq.expand(una as u32 - 7), una - 7);
    }

    #[test]
    fn the_window_has_room_for_whole_segments() {
        let mut seq = sequence(3 * 1448 + 1447, 4 << 20);
        let sent = std::iter::from_fn(|| seq.has_room().then(|| seq.extend(1448)));
        assert_eq!(sent.take(10).count(), 3);
        seq.advance(1448);
        assert!(seq.has_room());
        seq.extend(1448);
        assert!(!seq.has_room());
    }

    #[test]
    fn the_last_chunk_has_the_rest_of_the_bytes() {
        for (bytes, total, last) in [
            (1, 1, 1),
            (999, 1, 999),
            (1000, 1, 1000),
            (1001, 2, 1),
            (2500, 3, 500),
        ] {
            let mut data = SendData::new(Some(bytes), 1000, 64_000, true);
            assert_eq!(data.total(), total);
            assert_eq!(data.chunk_len(total - 1), last);
            assert!(total == 1 || data.chunk_len(0) == 1000);
        }
    }

    #[test]
    fn the_receive_window_limits_what_is_outstanding() {
        let mut data = SendData::new(None, 1000, 3_999, true);
        assert!((0..3).all(|chunk| data.take() == Some(chunk)) && data.take().is_none());
        assert_eq!(data.window_left(), 0);
        assert!(data.advance(2), "the window was full");
        assert!(!data.advance(3) && data.window_left() == 3);
        data.stop(4);
        assert_eq!((data.take(), data.take()), (Some(3), None));
        assert!(!data.has_unsent() && !data.is_acknowledged());
        data.advance(4);
        assert!(data.is_acknowledged());
    }

    /// `ss -tinm` showed 2,850 to 2,922 segments of 1448 bytes, in 4.18 to 4.28 MB, at a full buffer
    /// of 4 MiB. The sender was Linux 6.18, and the RTT 100 ms or 281 ms.
    #[test]
    fn a_buffer_at_its_maximum_holds_pieces_of_64_kilobytes() {
        assert_eq!(max_segments(4 << 20, 1448), 64 * 45);
        assert_eq!(max_segments(1, 1448), 45, "an empty buffer takes a piece");
        assert_eq!(max_segments(66_056, 1448), 45);
        assert_eq!(max_segments(66_057, 1448), 90);
        assert_eq!(max_segments(65_000, 65_490), 1);
    }

    /// A segment takes an `sk_buff` of its own until then: 2344 bytes.
    #[test]
    fn a_growing_buffer_holds_short_pieces() {
        let mut buffers = SendBuffers::new(0, 1448, 4 << 20);
        let (mut buffer, mut window) = (SubflowBuffer::default(), Window::new(10.0, f64::INFINITY));
        for (cwnd, size, holds) in [
            (10.0, 87_040, 38),
            (100.0, 870_400, 372),
            (90.0, 870_400, 372),
            (482.0, 4_194_304, 2880),
        ] {
            window.cwnd = cwnd;
            let added = buffers.expanded(buffer, &window, true);
            buffers.set_added(&mut buffer, added);
            assert_eq!(buffer.size(), size);
            assert!(buffers.is_full(buffer, holds) && !buffers.is_full(buffer, holds - 1));
        }
        assert_eq!(buffers.chunks, (4_194_304 + 4096) / 1448);
    }

    #[test]
    fn the_largest_buffers_of_many_subflows_have_a_sum() {
        let mut buffers = SendBuffers::new(0, 100, 1 << 30);
        let window = Window::new(1e9, f64::INFINITY);
        for _ in 0..64 {
            let mut buffer = SubflowBuffer::default();
            let added = buffers.expanded(buffer, &window, true);
            buffers.set_added(&mut buffer, added);
        }
        assert_eq!(buffers.total, (64 << 30) + 4096);
    }

    #[test]
    fn messages_follow_one_another() {
        let mut data = SendData::of_messages(1000, 64_000);
        assert!(!data.is_acknowledged() && !data.has_sendable());
        data.append(7, 2500, 10);
        data.append(9, 1000, 20);
        data.append(8, 1, 30);
        let sent: Vec<_> = std::iter::from_fn(|| data.take()).collect();
        assert_eq!(sent, [0, 1, 2, 3, 4]);
        let lengths = |data: &mut SendData, chunks: &[u32]| -> Vec<(u16, bool)> {
            let length = |&chunk: &u32| (data.chunk_len(chunk), data.is_last(chunk));
            chunks.iter().map(length).collect()
        };
        let expected = [(1000, false), (1000, false), (500, true), (1000, true), (1, true)];
        assert_eq!(lengths(&mut data, &sent), expected);
        // Another transmission of an earlier message, without its first transmission.
        assert!(!data.is_last(1) && data.is_last(2));
        assert_eq!(lengths(&mut data, &[2, 0]), [(500, true), (1000, false)]);
        data.advance(2);
        assert_eq!(data.take_acknowledged(50), None);
        data.advance(4);
        assert!(data.is_acknowledged());
        let acked: Vec<_> = std::iter::from_fn(|| data.take_acknowledged(60)).collect();
        assert_eq!((acked, data.is_acknowledged()), (vec![7, 9], false));
        data.advance(5);
        assert_eq!(data.take_acknowledged(70), Some(8));
        assert!(!data.is_acknowledged());
        let acked = data.messages().unwrap().iter().map(|message| message.acked);
        assert_eq!(acked.collect::<Vec<_>>(), [Some(60), Some(60), Some(70)]);
    }
}
