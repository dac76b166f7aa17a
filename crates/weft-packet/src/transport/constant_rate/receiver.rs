//! The receiver of a flow: what has arrived.

use std::sync::Arc;

use crate::packet::{PROTECTED, Packet};
use crate::transport::contract::NON_TCP;
use crate::transport::endpoint::FlowReceiver;
use crate::transport::flow_progress::ReceiverProgress;
use crate::transport::shared::Shared;

use super::params::Params;

/// The receiver of a flow.
pub struct Receiver {
    params: Arc<Params>,
    /// All packets before this one have arrived.
    next: u32,
    /// Number of all packets of the flow; `None` if it has no size.
    total: Option<u64>,
    pub progress: ReceiverProgress,
}

impl Receiver {
    /// Creates the receiver of a flow of this size.
    pub fn new(params: Arc<Params>, size: Option<u64>, progress: ReceiverProgress) -> Self {
        Self {
            next: 0,
            total: size.map(|size| params.packets(size)),
            progress,
            params,
        }
    }

    /// Handles a packet. Packets arrive once, because nothing is sent again.
    pub fn on_data(&mut self, packet: &Packet) {
        self.progress.packets += 1;
        let payload = u32::from(packet.size) - self.params.header;
        self.progress.accept(payload.into(), packet.time);
        if packet.chunk == self.next {
            self.next += 1;
        }
    }

    /// Returns the packet that reports the arrival of all data, without its route; `None` if some is missing.
    pub fn answer(&self) -> Option<Packet> {
        (self.total == Some(self.progress.packets)).then(|| Packet {
            lo: self.progress.flow,
            size: self.params.header as u16,
            flags: NON_TCP | PROTECTED | self.params.ack_class,
            ..Packet::default()
        })
    }
}

impl FlowReceiver for Receiver {
    fn progress(&self) -> &ReceiverProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut ReceiverProgress {
        &mut self.progress
    }

    fn next_chunk(&self) -> u32 {
        self.next
    }

    /// The route of the only answer is chosen when it is sent.
    fn reroute(&mut self, _: &Shared) {}
}
