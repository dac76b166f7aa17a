//! The data of a connection at its sender, in chunks of one MSS; the last chunk may be shorter. A
//! `DATA_ACK` acknowledges chunks (RFC 8684, section 3.3.2), and the shared receive window limits
//! them (RFC 8684, section 3.3.4).

use std::ops::Range;

/// Number of chunks of a connection that sends until it is stopped.
const UNLIMITED: u32 = u32::MAX;

/// The data that a connection sends: what there is, what was sent, and what was acknowledged. A
/// segment carries a whole chunk and its number, in place of a mapping (RFC 8684, section 3.3.1).
pub struct SendData {
    /// Total number of chunks, or [`UNLIMITED`].
    total: u32,
    /// Chunks that the application has written so far, which may be sent.
    written: u32,
    /// Payload bytes of a chunk.
    mss: u32,
    /// Payload bytes of the last chunk.
    last_len: u16,
    /// Next chunk that was never sent.
    nxt: u32,
    /// First chunk that is not acknowledged.
    una: u32,
    /// Chunks that may be outstanding: what fits into the receive buffer, which subflows share, and
    /// into the send buffer.
    window: u32,
}

impl SendData {
    /// Creates the data of a flow of this many bytes; `None` for a flow that sends until it is
    /// stopped. At most `buffer` bytes may be outstanding. `is_written` is true if the application has
    /// written all of it at the beginning.
    pub fn new(bytes: Option<u64>, mss: u32, buffer: u64, is_written: bool) -> Self {
        let wide = u64::from(mss);
        let (total, last_len) = match bytes {
            // A size beyond what chunks can number was rejected when the run was set up.
            Some(bytes) => (
                bytes.div_ceil(wide) as u32,
                ((bytes + wide - 1) % wide + 1) as u16,
            ),
            None => (UNLIMITED, mss as u16),
        };
        Self {
            total,
            written: if is_written { total } else { 0 },
            mss,
            last_len,
            nxt: 0,
            una: 0,
            window: (buffer / wide).clamp(1, u64::from(u32::MAX)) as u32,
        }
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

    /// Returns true if all data is acknowledged.
    #[inline(always)]
    pub fn is_acknowledged(&self) -> bool {
        self.una == self.total
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
        self.last_len = self.mss as u16;
    }

    /// Returns true if this chunk is the last one.
    #[inline(always)]
    pub fn is_last(&self, chunk: u32) -> bool {
        chunk + 1 == self.total
    }

    /// Returns the payload bytes of a chunk.
    #[inline(always)]
    pub fn chunk_len(&self, chunk: u32) -> u16 {
        if self.is_last(chunk) {
            self.last_len
        } else {
            self.mss as u16
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_has_the_rest_of_the_bytes() {
        for (bytes, total, last) in [
            (1, 1, 1),
            (999, 1, 999),
            (1000, 1, 1000),
            (1001, 2, 1),
            (2500, 3, 500),
        ] {
            let data = SendData::new(Some(bytes), 1000, 64_000, true);
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
}
