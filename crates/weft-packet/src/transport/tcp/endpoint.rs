//! TCP's endpoint of a host: its connections and subflows, senders and receivers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::prefetch::prefetch;
use crate::packet::{DATA, Packet};
use crate::transport::shared::Shared;

use super::admission::Admission;
use super::connection::ConnectionSender;
use super::path_monitor::PathStats;
use super::receiver::{ConnectionReceiver, SubflowReceiver};
use super::slots::FreeSlots;
use super::subflow::SubflowSender;
use super::wire::SYN;

/// TCP's endpoint of one host.
pub struct TcpEndpoint {
    pub(super) shared: Arc<Shared>,
    /// Index among the fabric's hosts.
    pub(super) index: u32,
    pub(super) connections: Vec<ConnectionSender>,
    pub(super) subflows: Vec<SubflowSender>,
    /// The causes that may hold packets back.
    pub(super) admission: Admission,
    pub(super) connection_receivers: Vec<ConnectionReceiver>,
    pub(super) subflow_receivers: Vec<SubflowReceiver>,
    /// The slots of flows.
    pub(super) slots: FlowSlots,
    /// Slots that were reclaimed and may be reused.
    pub(super) free_slots: FreeSlots,
    /// Connections that have finished and were not reclaimed yet.
    pub(super) ended: Vec<u32>,
    /// Totals.
    pub(super) totals: Totals,
    /// Observations that path monitors share, by transport.
    pub(super) path_stats: HashMap<u32, PathStats>,
}

/// The slots of flows that were not reclaimed.
#[derive(Default)]
pub struct FlowSlots {
    /// Slot of the connection of each flow that this host sends.
    pub(super) senders: HashMap<u32, u32>,
    /// Slot of the connection's receiver of each flow that this host receives.
    pub(super) receivers: HashMap<u32, u32>,
    /// Slot of the subflow's receiver of each (flow, subflow) that this host receives.
    pub(super) subflow_receivers: HashMap<(u32, u32), u32>,
}

/// Totals of a host.
#[derive(Default)]
pub struct Totals {
    /// Timeouts of connections that were reclaimed.
    pub(super) reclaimed_timeouts: u64,
    /// Time for which reclaimed connections were open, in picoseconds.
    pub(super) reclaimed_open_time: u64,
    /// Time for which the send buffer limited reclaimed connections, in picoseconds.
    pub(super) reclaimed_sndbuf_limited: u64,
    /// Time for which connections to this host received nothing until a delayed acknowledgement was sent, in picoseconds.
    pub(super) delayed_ack_stall: u64,
}

impl TcpEndpoint {
    /// Creates the endpoint of an idle host.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        Self {
            admission: Admission::new(&shared),
            shared,
            index,
            connections: Vec::new(),
            subflows: Vec::new(),
            connection_receivers: Vec::new(),
            subflow_receivers: Vec::new(),
            slots: FlowSlots::default(),
            free_slots: FreeSlots::default(),
            ended: Vec::new(),
            totals: Totals::default(),
            path_stats: HashMap::new(),
        }
    }

    /// Returns true if this host sends a flow that was not reclaimed.
    pub fn sends(&self, flow: u32) -> bool {
        self.slots.senders.contains_key(&flow)
    }

    /// Returns true if this host receives a flow that was not reclaimed.
    pub fn receives(&self, flow: u32) -> bool {
        self.slots.receivers.contains_key(&flow)
    }

    /// Returns the time for which connections to this host received nothing until a delayed
    /// acknowledgement was sent, in picoseconds.
    pub fn delayed_ack_stall(&self) -> u64 {
        self.totals.delayed_ack_stall
    }

    /// Returns the number of timeouts so far, including those of SYNs.
    pub fn timeout_count(&self) -> u64 {
        let timeouts = |s: &SubflowSender| s.stats().timeouts + s.stats().syn_timeouts;
        self.totals.reclaimed_timeouts + self.subflows.iter().map(timeouts).sum::<u64>()
    }

    /// Returns the sum of the times for which connections from this host have been open, in picoseconds.
    pub fn open_time(&self, now: u64) -> u64 {
        let open = |c: &ConnectionSender| c.lifetime.open_time(now);
        self.totals.reclaimed_open_time + self.connections().map(open).sum::<u64>()
    }

    /// Returns the sum of the times for which the send buffer limited connections from this host, in
    /// picoseconds.
    pub fn sndbuf_limited(&self) -> u64 {
        let limited = |c: &ConnectionSender| sndbuf_limited(self.subflows_of(c));
        self.totals.reclaimed_sndbuf_limited + self.connections().map(limited).sum::<u64>()
    }

    /// Returns the number of open connections from this host that cannot send, because all their
    /// established subflows are inactive.
    pub fn inactive_connections(&self) -> usize {
        self.connections().filter(|c| c.is_inactive()).count()
    }

    /// Returns the flow and the number of the subflow whose sender is in this slot.
    pub fn subflow_at(&self, slot: u32) -> Option<(u32, u32)> {
        let subflow = self.subflows.get(slot as usize)?;
        let connection = self.connections.get(subflow.connection() as usize)?;
        Some((connection.flow, subflow.index()))
    }

    /// Returns the senders of flows that have started and were not reclaimed, in no order.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = &ConnectionSender> {
        self.slots
            .senders
            .values()
            .map(|&index| &self.connections[index as usize])
    }

    /// Returns the sender of a flow and its subflows, if the flow has started.
    pub fn connection(&self, flow: u32) -> Option<(&ConnectionSender, &[SubflowSender])> {
        let connection = &self.connections[*self.slots.senders.get(&flow)? as usize];
        Some((connection, self.subflows_of(connection)))
    }

    /// Returns the sender of the connection in a slot.
    pub fn connection_in(&self, slot: u32) -> &ConnectionSender {
        &self.connections[slot as usize]
    }

    /// Returns the subflows of a connection of this host.
    pub fn subflows_of(&self, connection: &ConnectionSender) -> &[SubflowSender] {
        &self.subflows[connection.first_subflow as usize..][..connection.windows().len()]
    }

    /// Returns the receivers of connections that were not reclaimed, in no order.
    pub fn connection_receivers(&self) -> impl Iterator<Item = &ConnectionReceiver> {
        self.slots
            .receivers
            .values()
            .map(|&index| &self.connection_receivers[index as usize])
    }

    /// Returns the receiver of a flow's connection.
    pub fn connection_receiver(&self, flow: u32) -> Option<&ConnectionReceiver> {
        self.slots
            .receivers
            .get(&flow)
            .map(|&a| &self.connection_receivers[a as usize])
    }

    /// Returns the receiver of a flow's subflow.
    pub fn subflow_receiver(&self, flow: u32, subflow: u32) -> Option<&SubflowReceiver> {
        self.slots
            .subflow_receivers
            .get(&(flow, subflow))
            .map(|&r| &self.subflow_receivers[r as usize])
    }

    /// Prefetches what a packet touches first.
    #[inline(always)]
    pub fn prefetch(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            self.subflow_receivers
                .get(packet.slot as usize)
                .into_iter()
                .for_each(prefetch);
        } else if packet.flags & SYN == 0 {
            self.subflows
                .get(packet.slot as usize)
                .into_iter()
                .for_each(prefetch);
        }
    }

    /// Prefetches what the lines loaded by [`prefetch`](Self::prefetch) point to.
    #[inline(always)]
    pub fn prefetch_indirect(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            if let Some(receiver) = self.subflow_receivers.get(packet.slot as usize) {
                receiver.prefetch_out_of_order();
                self.connection_receivers[receiver.connection as usize]
                    .chunks()
                    .prefetch(packet.chunk);
            }
        } else if packet.flags & SYN == 0
            && let Some(subflow) = self.subflows.get(packet.slot as usize)
        {
            subflow.segments.prefetch();
        }
    }
}

/// Returns the time for which the send buffer limited a connection with these subflows, in
/// picoseconds: that of the subflow which it limited longest.
pub(super) fn sndbuf_limited(subflows: &[SubflowSender]) -> u64 {
    let limited = subflows.iter().map(|subflow| subflow.stats().sndbuf_limited);
    limited.max().unwrap_or(0)
}
