//! The sender of a flow.

use std::sync::Arc;

use weft_run::{ControlCounters, SubflowRecord};

use crate::packet::Packet;
use crate::transport::endpoint::FlowSender;
use crate::transport::flow_progress::SenderProgress;
use crate::transport::shared::Shared;
use crate::transport::spray::{FlowData, PathsAhead, Records, State};

use super::params::Params;
use super::paths::Paths;
use super::scoreboard::{Fate, Scoreboard};
use super::wire::{Data, Report};

/// Number of reports that decide whether most packets have arrived recently.
const RECENT: u32 = 12;

/// The sender of a flow.
pub struct Sender {
    pub params: Arc<Params>,
    paths: Paths,
    /// The paths of the next packets, if the host has several links.
    ahead: Option<Box<PathsAhead>>,
    scores: Scoreboard,
    records: Records,
    /// Number of packets that may be sent.
    credit: u64,
    /// Number of packets that the receiver has pulled.
    pulls: u32,
    /// Fates of the last packets: bit 0 is the last one, and a set bit means that it arrived.
    recent: u32,
    /// Number of known fates in `recent`.
    fates: u32,
    pub data: FlowData,
    pub progress: SenderProgress,
    pub counters: SenderCounters,
}

/// The counters of a sender.
#[derive(Default)]
pub struct SenderCounters {
    /// Number of retransmissions and of timeouts.
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Number of ACKs, NACKs and pulls that arrived.
    pub acks: u64,
    pub nacks: u64,
    pub pulls: u64,
}

impl SenderCounters {
    /// Returns the counts of packets without payload.
    pub fn control(&self) -> ControlCounters {
        ControlCounters {
            acks: self.acks,
            nacks: self.nacks,
            pulls: Some(self.pulls),
            ..ControlCounters::default()
        }
    }
}

impl Sender {
    /// Creates the sender of a flow of this size, which may send its first window.
    pub fn new(
        params: Arc<Params>,
        paths: Paths,
        ahead: Option<Box<PathsAhead>>,
        size: Option<u64>,
        progress: SenderProgress,
    ) -> Self {
        let data = FlowData::new(size, &params.segments);
        let remembered = params.remembered().min(data.total().unwrap_or(u64::MAX));
        Self {
            scores: Scoreboard::new(paths.count()),
            paths,
            ahead,
            records: Records::new(remembered as usize),
            credit: params.config.initial_window.into(),
            pulls: 0,
            recent: 0,
            fates: 0,
            data,
            progress,
            counters: SenderCounters::default(),
            params,
        }
    }

    /// Returns the acknowledged payload bytes.
    pub fn acked_bytes(&self) -> u64 {
        let una = self.records.una().into();
        self.data.bytes_before(una, &self.params.segments)
    }

    fn finish(&mut self, now: u64) {
        self.progress.acked = Some(now);
        self.records.clear();
        self.paths.release();
        self.scores = Scoreboard::default();
    }

    /// Returns the size of the next new packet.
    fn new_size(&self) -> Option<u16> {
        self.data.next_size(&self.params.segments)
    }

    /// Returns the path of the next packet through a port.
    fn path_through(&mut self, port: u32, last: Option<u16>) -> u16 {
        let chosen = self.ahead.as_mut().and_then(|ahead| ahead.take(port, last));
        chosen.unwrap_or_else(|| self.choose_path(last))
    }

    /// Returns the path of the next packet. A packet that is sent again avoids its last path.
    fn choose_path(&mut self, last: Option<u16>) -> u16 {
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

    /// Handles an acknowledgement. Returns true if all data has been acknowledged now.
    pub fn on_ack(&mut self, ack: &Report, now: u64) -> bool {
        self.counters.acks += 1;
        if self.progress.is_acked() {
            return false;
        }
        self.record_fate(ack.path, Fate::Arrived);
        self.records.acknowledge_all(ack.next, ack.psn, 1);
        self.on_counter(ack.pulls);
        let is_done = self.data.is_within(ack.next.into());
        if is_done {
            self.finish(now);
        }
        is_done
    }

    /// Handles the report of a trimmed packet: the packet waits until it is pulled.
    pub fn on_nack(&mut self, nack: &Report) {
        self.counters.nacks += 1;
        if self.progress.is_acked() {
            return;
        }
        self.record_fate(nack.path, Fate::Trimmed);
        self.records.acknowledge_all(nack.next, nack.next, 0);
        self.queue(nack.psn);
        self.on_counter(nack.pulls);
    }

    /// Handles a pull.
    pub fn on_pull(&mut self, pulls: u32, next: u32) {
        self.counters.pulls += 1;
        if !self.progress.is_acked() {
            self.records.acknowledge_all(next, next, 0);
            self.on_counter(pulls);
        }
    }

    /// Handles a header that a switch has returned. The packet waits until it is pulled, unless no pull will come, or
    /// most packets have arrived recently (section 3.2.4).
    pub fn on_return(&mut self, psn: u32, path: u16) {
        if self.progress.is_acked() {
            return;
        }
        let most_arrived = 2 * self.recent.count_ones() > self.fates;
        self.record_fate(path, Fate::Trimmed);
        self.queue(psn);
        if most_arrived || (self.expected_pulls() <= 0 && self.records.oldest().is_none()) {
            self.credit += 1;
        }
    }

    /// Makes a packet wait to be sent again, if it is on its way.
    fn queue(&mut self, psn: u32) {
        let record = self.records.get(psn);
        if record.is_some_and(|record| record.state == State::Sent) {
            self.records.queue(psn);
        }
    }

    /// Returns the number of pulls that the receiver will send for the packets that it has reported.
    fn expected_pulls(&self) -> i64 {
        let SenderCounters { acks, nacks, .. } = self.counters;
        (acks + nacks).cast_signed() - i64::from(self.pulls)
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

    /// Handles the timer: every packet that has timed out is sent again without being pulled.
    pub fn on_timer(&mut self, now: u64) {
        while !self.progress.is_acked() && self.deadline().is_some_and(|deadline| deadline <= now) {
            let Some((_, psn)) = self.records.oldest() else {
                return;
            };
            self.counters.timeouts += 1;
            if let Some(path) = self.records.ev(psn) {
                self.scores.record(path, Fate::Lost);
            }
            self.records.queue(psn);
            self.credit += 1;
        }
    }
}

impl FlowSender for Sender {
    fn progress(&self) -> &SenderProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut SenderProgress {
        &mut self.progress
    }

    fn full_packet(&self) -> (u16, u32) {
        (self.params.class, self.params.config.mtu)
    }

    fn may_send(&mut self) -> bool {
        !self.progress.is_acked()
            && self.credit > 0
            && (self.records.first_queued().is_some() || self.new_size().is_some())
    }

    fn next_port(&mut self, shared: &Shared) -> Option<u32> {
        let waits = self.progress.waits;
        if self.ahead.is_none() {
            return (waits.is_empty() && self.may_send()).then_some(0);
        }
        if !self.may_send() {
            return None;
        }
        let mut ahead = self.ahead.take()?;
        let port = ahead.next_port(waits, || {
            let path = self.choose_path(None);
            (self.paths.route(path, shared).next(shared.hops).0, path)
        });
        self.ahead = Some(ahead);
        port
    }

    fn take_packet(&mut self, now: u64, port: u32, _: u32, shared: &Shared) -> Option<Packet> {
        let again = self.records.first_queued();
        let (psn, size, path) = if let Some((psn, record)) = again {
            let path = self.path_through(port, self.records.ev(psn));
            self.records.resend_first(psn, path, now);
            self.counters.retransmitted += 1;
            (psn, record.size, path)
        } else {
            let size = self.new_size()?;
            let path = self.path_through(port, None);
            self.data.count();
            (self.records.push(size, false, path, now), size, path)
        };
        self.credit -= 1;
        let data = Data {
            psn,
            path,
            last: self.data.total() == Some(u64::from(psn) + 1),
            retransmission: again.is_some(),
            trimmed: false,
        };
        Some(Packet {
            route: self.paths.route(path, shared),
            ..data.packet(self.progress.flow, size, self.params.class)
        })
    }

    fn deadline(&mut self) -> Option<u64> {
        let (sent, _) = self.records.oldest()?;
        Some(sent + self.params.config.rto.0)
    }

    fn stop(&mut self, now: u64) -> bool {
        if self.progress.is_acked() || !self.data.stop() {
            return false;
        }
        let is_acked = self.records.is_empty();
        if is_acked {
            self.finish(now);
        }
        is_acked
    }

    fn reroute(&mut self, shared: &Shared) {
        self.paths.reroute();
        if let Some(ahead) = &mut self.ahead {
            ahead.reroute(shared);
        }
    }

    fn sent(&self) -> u64 {
        self.data.sent()
    }

    fn total(&self) -> Option<u64> {
        self.data.total()
    }

    fn record(&self) -> SubflowRecord {
        let counters = &self.counters;
        SubflowRecord {
            packets_sent: self.data.sent() + counters.retransmitted,
            retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            acked_bytes: Some(self.acked_bytes()),
            control: Some(counters.control()),
            ..SubflowRecord::default()
        }
    }
}
