//! Rounds of a subflow (RFC 8257, section 3.3), and cuts of its window because of marks, which CWR
//! confirms (RFC 3168, section 6.1.2).

use weft_cc::Round;

/// The current round, and the data in which marks cause no other cut. Positions are bytes of the
/// subflow's data.
#[derive(Default)]
pub struct Rounds {
    /// The round ends when this byte is acknowledged.
    end: u64,
    /// Time at which the round started.
    started: u64,
    /// Marks cause no other cut until all bytes before this one are acknowledged: one byte more than
    /// was sent before the last cut. 0 before the first one.
    uncut_from: u64,
    /// The round so far.
    current: Round,
    /// True if the next data packet carries CWR (RFC 3168).
    owes_cwr: bool,
}

impl Rounds {
    /// Counts packets that were acknowledged, and those of them that were marked.
    #[inline(always)]
    pub fn count(&mut self, acked: u32, marked: u32) {
        self.current.acked += acked;
        self.current.marked += marked;
    }

    /// Returns true if an acknowledgement of all bytes before `ack` ends the round. With `beyond`,
    /// it must also cover a byte after the round (RFC 8257, section 3.3).
    #[inline(always)]
    pub fn is_ended_by(&self, ack: u64, beyond: bool) -> bool {
        ack >= self.end + u64::from(beyond)
    }

    /// Returns the time at which the round started.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Ends the round and starts one at `now` that ends at `nxt`, the next byte to send.
    pub fn start_next(&mut self, nxt: u64, now: u64) -> Round {
        self.end = nxt;
        self.started = now;
        std::mem::take(&mut self.current)
    }

    /// Returns true if `ack` acknowledges data that was sent after the last cut.
    #[inline(always)]
    pub fn is_after_cut(&self, ack: u64) -> bool {
        ack >= self.uncut_from
    }

    /// Records a cut. `nxt` is the next byte to send.
    pub fn on_cut(&mut self, nxt: u64) {
        self.uncut_from = nxt + 1;
        self.owes_cwr = true;
    }

    /// Returns true if the packet that is sent carries CWR.
    #[inline(always)]
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.owes_cwr)
    }
}
