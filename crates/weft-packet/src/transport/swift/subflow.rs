//! What a subflow of a flow with several has in addition to the state of a flow with one.

use std::collections::VecDeque;

use crate::engine::route::Route;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::FlowSetup;
use crate::transport::flow_data::FlowData;

use super::protocol::SwiftProtocol;

/// The packets of a subflow at its sender, by their numbers in the flow.
#[derive(Default)]
pub struct Chunks {
    /// The packets from the first one on that is not known to have arrived.
    numbers: VecDeque<u32>,
    /// Payload bytes of those before it.
    acked_bytes: u64,
}

impl Chunks {
    /// Adds the next packet.
    pub fn push(&mut self, chunk: u32) {
        self.numbers.push_back(chunk);
    }

    /// Returns the number in the flow of the packet that is the n-th of those not known to have arrived.
    pub fn get(&self, n: u32) -> u32 {
        self.numbers[n as usize]
    }

    /// Removes the first packets, which have arrived.
    pub fn remove(&mut self, packets: u32, data: &FlowData) {
        let payload = |chunk: u32| data.bytes_before(u64::from(chunk) + 1) - data.bytes_before(chunk.into());
        self.acked_bytes += self.numbers.drain(..packets as usize).map(payload).sum::<u64>();
    }

    /// Returns the payload bytes of the packets that were removed.
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }
}

/// The subflows of a flow at its receiver.
pub struct SubflowReceivers {
    /// The packets that have arrived, by their numbers in the flow.
    pub chunks: Arrivals,
    pub subflows: Box<[SubflowReceiver]>,
}

/// A subflow at its receiver.
pub struct SubflowReceiver {
    pub arrivals: Arrivals,
    /// Route of acknowledgements.
    pub route: Route,
    /// Number of data packets that arrived.
    pub packets: u64,
}

impl SubflowReceivers {
    /// Returns the subflows of a flow; `None` if it has one.
    pub fn new(flow: &FlowSetup<'_, SwiftProtocol>) -> Option<Box<Self>> {
        let receiver = |subflow| SubflowReceiver {
            arrivals: Arrivals::default(),
            route: flow.shared.route_of_subflow(&flow.spec, subflow, true),
            packets: 0,
        };
        let subflows = flow.params.config.subflows;
        (subflows > 1).then(|| {
            Box::new(Self {
                chunks: Arrivals::default(),
                subflows: (0..subflows).map(receiver).collect(),
            })
        })
    }
}
