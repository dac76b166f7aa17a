//! The sizes of send buffers: those of subflows, which grow with their windows, and the
//! connection's own, in which the application's data waits (`net/ipv4/tcp_input.c` and
//! net/mptcp/protocol.c, kernel 6.x).
//!
//! A buffer holds what is sent and not acknowledged, and its size is in bytes of memory. Linux
//! stores data in pieces (`sk_buff`), each of which takes some memory besides its payload. While a
//! window limits a subflow, acknowledgements allow a segment or two at a time, and each is sent as
//! a piece of its own. While the buffer limits it, the window is open, and pieces are as long as
//! segmentation offload allows. Linux offloads in software if the NIC does not.

use weft_cc::Window;
use weft_transports::ConnectionSettings;

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
/// application may begin a piece as long as the others leave memory (`sk_stream_memory_free`), so
/// that the last piece may exceed the buffer.
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
}
