//! The sizes of send buffers: those of subflows, which grow with their windows, and the
//! connection's own, in which the application's data waits (`net/ipv4/tcp_input.c` and
//! net/mptcp/protocol.c, kernel 6.x).

use weft_cc::Window;

/// Smallest window, in packets, for which autotuning provides a buffer (`TCP_INIT_CWND`).
const MIN_SNDBUF_CWND: f64 = 10.0;

/// Largest send buffer of a subflow in bytes (`tcp_wmem`, third value).
const MAX_SNDBUF: f64 = 4_194_304.0;
/// Send buffer of the connection itself in bytes, without those of its subflows (`tcp_wmem`, first
/// value).
const CONNECTION_SNDBUF: u32 = 4096;

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
    total: u32,
    /// Chunks that fit into the connection's buffer.
    chunks: u32,
    /// Chunks that the connection's buffer may hold when the application is asked for more data.
    refill_at: u32,
    /// Payload bytes of a chunk.
    mss: u32,
    /// Memory that a segment takes in a subflow's buffer, in bytes.
    segment: f64,
    /// Segments for which a subflow's buffer has space beyond two windows.
    extra_segments: f64,
}

impl SendBuffers {
    /// Creates the buffer of a connection whose subflows have none yet.
    pub fn new(extra_segments: u32, mss: u32) -> Self {
        Self {
            written: 0,
            total: CONNECTION_SNDBUF,
            chunks: 0,
            refill_at: 0,
            mss,
            segment: f64::from((mss + 640).next_power_of_two() + 256),
            extra_segments: f64::from(extra_segments),
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
        buffer.size.max(wanted.min(MAX_SNDBUF) as u32)
    }

    /// Sets the part of a subflow's buffer that the connection's buffer contains. The buffer is at
    /// least as large.
    #[inline(always)]
    pub fn set_added(&mut self, buffer: &mut SubflowBuffer, added: u32) {
        if added != buffer.added {
            self.total = self.total - buffer.added + added;
            self.chunks = (self.total / self.mss).max(1);
            self.refill_at = self.chunks - self.chunks / 3;
            buffer.added = added;
            buffer.size = buffer.size.max(added);
        }
    }
}
