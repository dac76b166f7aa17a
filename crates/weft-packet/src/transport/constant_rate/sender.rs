//! The sender of a flow.

use std::sync::Arc;

use weft_run::SubflowRecord;

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};
use crate::transport::contract::NON_TCP;
use crate::transport::endpoint::FlowSender;
use crate::transport::flow_progress::SenderProgress;
use crate::transport::shared::Shared;

use super::params::Params;
use super::schedule::Schedule;

/// The sender of a flow.
pub struct Sender {
    params: Arc<Params>,
    pub route: Route,
    pub schedule: Schedule,
    /// Bytes of the flow, if it has a size, and the number of its packets, if known.
    size: Option<u64>,
    total: Option<u64>,
    sent: u64,
    pub progress: SenderProgress,
}

impl Sender {
    /// Creates the sender of a flow of this size.
    pub fn new(
        params: Arc<Params>,
        route: Route,
        schedule: Schedule,
        size: Option<u64>,
        progress: SenderProgress,
    ) -> Self {
        Self {
            route,
            schedule,
            size,
            total: size.map(|size| params.packets(size)),
            sent: 0,
            progress,
            params,
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
        (self.params.class, self.params.payload + self.params.header)
    }

    fn may_send(&mut self) -> bool {
        self.total != Some(self.sent)
    }

    fn next_port(&mut self, shared: &Shared) -> Option<u32> {
        let may_send = self.progress.waits.is_empty() && self.may_send();
        may_send.then(|| self.route.next(shared.hops).0)
    }

    fn take_packet(&mut self, _: u64, _: u32, _: u32, _: &Shared) -> Option<Packet> {
        let chunk = self.sent as u32;
        let size = self.params.packet_size(self.sent, self.size);
        self.sent += 1;
        Some(Packet {
            route: self.route,
            chunk,
            lo: self.progress.flow,
            size,
            flags: DATA | NON_TCP | self.params.class,
            ..Packet::default()
        })
    }

    /// Nothing is sent again.
    fn deadline(&mut self) -> Option<u64> {
        None
    }

    fn stop(&mut self, _: u64) -> bool {
        self.total = Some(self.sent);
        false
    }

    fn reroute(&mut self, shared: &Shared) {
        self.route = shared.route_of_flow(self.progress.flow, false);
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn total(&self) -> Option<u64> {
        self.total
    }

    fn record(&self) -> SubflowRecord {
        SubflowRecord {
            packets_sent: self.sent,
            ..SubflowRecord::default()
        }
    }
}
