//! The sender of a flow.

use weft_transports::NdpConfig;

use crate::transport::endpoint::flows::SenderFlow;
use crate::transport::spray::{Records, State};

use super::paths::Paths;
use super::protocol::NdpProtocol;
use super::scoreboard::{Fate, Scoreboard};
use super::wire::Report;

/// Number of reports that decide whether most packets have arrived recently.
const RECENT: u32 = 12;

/// Maximum number of packets whose paths a sender remembers.
const MAX_REMEMBERED: u64 = 4096;

/// The sender of a flow.
pub type Sender = SenderFlow<NdpProtocol>;

/// The state of a sender.
pub struct NdpSender {
    pub paths: Paths,
    pub scores: Scoreboard,
    pub records: Records,
    /// Number of packets that may be sent.
    pub credit: u64,
    /// Number of packets that the receiver has pulled.
    pulls: u32,
    /// Fates of the last packets: bit 0 is the last one, and a set bit means that it arrived.
    recent: u32,
    /// Number of known fates in `recent`.
    fates: u32,
    /// Number of pulls that arrived.
    pub pulls_arrived: u64,
}

impl NdpSender {
    /// Creates the state of a flow of this many packets, which may send its first window; `None` if it has no end yet.
    pub fn new(config: &NdpConfig, paths: Paths, packets: Option<u64>) -> Self {
        let remembered = remembered(config).min(packets.unwrap_or(u64::MAX));
        Self {
            scores: Scoreboard::new(paths.count()),
            paths,
            records: Records::new(remembered as usize),
            credit: config.initial_window.into(),
            pulls: 0,
            recent: 0,
            fates: 0,
            pulls_arrived: 0,
        }
    }

    /// Returns the path of the next packet. A packet that is sent again avoids its last path.
    pub fn choose_path(&mut self, last: Option<u16>) -> u16 {
        // The bound is for the case that all paths are left out.
        for _ in 0..2 * self.paths.count() {
            let path = self.paths.choose();
            let is_same = last == Some(path) && self.paths.count() > 1;
            if !is_same && !self.scores.is_left_out(path) {
                return path;
            }
        }
        self.paths.choose()
    }

    /// Handles the pull counter of a packet: as many packets as it has grown by may be sent (section 3.2.1).
    fn on_counter(&mut self, pulls: u32) {
        let more = pulls.wrapping_sub(self.pulls).cast_signed();
        if more > 0 {
            self.credit += u64::from(more.cast_unsigned());
            self.pulls = pulls;
        }
    }

    fn record_fate(&mut self, path: u16, fate: Fate) {
        self.scores.record(path, fate);
        let arrived = u32::from(fate == Fate::Arrived);
        self.recent = (self.recent << 1 | arrived) & ((1 << RECENT) - 1);
        self.fates = RECENT.min(self.fates + 1);
    }

    /// Makes a packet wait to be sent again, if it is on its way.
    fn queue(&mut self, psn: u32) {
        let record = self.records.get(psn);
        if record.is_some_and(|record| record.state == State::Sent) {
            self.records.queue(psn);
        }
    }
}

/// Returns the number of packets whose paths a sender remembers: those that may be sent before the first one times out.
fn remembered(config: &NdpConfig) -> u64 {
    let bytes = u128::from(config.rto.0) * u128::from(config.rate.0) / 8_000_000_000_000;
    let packets = u64::try_from(bytes / u128::from(config.mtu)).unwrap_or(u64::MAX);
    let window = config.initial_window.into();
    packets.saturating_add(window).min(MAX_REMEMBERED)
}

impl Sender {
    /// Handles an acknowledgement. Returns true if all data has been acknowledged now.
    pub fn on_ack(&mut self, ack: &Report) -> bool {
        self.counters.acks += 1;
        if self.is_acked() {
            return false;
        }
        let state = &mut self.state;
        state.record_fate(ack.path, Fate::Arrived);
        state.records.acknowledge_all(ack.next, ack.psn, 1);
        state.on_counter(ack.pulls);
        self.data.is_within(ack.next.into())
    }

    /// Handles the report of a trimmed packet: the packet waits until it is pulled.
    pub fn on_nack(&mut self, nack: &Report) {
        self.counters.nacks += 1;
        if self.is_acked() {
            return;
        }
        let state = &mut self.state;
        state.record_fate(nack.path, Fate::Trimmed);
        state.records.acknowledge_all(nack.next, nack.next, 0);
        state.queue(nack.psn);
        state.on_counter(nack.pulls);
    }

    /// Handles a pull.
    pub fn on_pull(&mut self, pulls: u32, next: u32) {
        self.state.pulls_arrived += 1;
        if !self.is_acked() {
            self.state.records.acknowledge_all(next, next, 0);
            self.state.on_counter(pulls);
        }
    }

    /// Handles a header that a switch has returned. The packet waits until it is pulled, unless no pull will come, or
    /// most packets have arrived recently (section 3.2.4).
    pub fn on_return(&mut self, psn: u32, path: u16) {
        if self.is_acked() {
            return;
        }
        let reports = self.counters.acks + self.counters.nacks;
        let state = &mut self.state;
        let most_arrived = 2 * state.recent.count_ones() > state.fates;
        state.record_fate(path, Fate::Trimmed);
        state.queue(psn);
        // The receiver sends a pull for each packet that it has reported.
        let expects_pulls = reports.cast_signed() > i64::from(state.pulls);
        if most_arrived || (!expects_pulls && state.records.oldest().is_none()) {
            state.credit += 1;
        }
    }

    /// Handles the timer: every packet that has timed out is sent again without being pulled.
    pub fn on_timer(&mut self, now: u64) {
        let (is_acked, rto) = (self.is_acked(), self.params.config.rto.0);
        let state = &mut self.state;
        while let Some((sent, psn)) = state.records.oldest() {
            if is_acked || sent + rto > now {
                return;
            }
            self.counters.timeouts += 1;
            if let Some(path) = state.records.ev(psn) {
                state.scores.record(path, Fate::Lost);
            }
            state.records.queue(psn);
            state.credit += 1;
        }
    }
}
