//! TCP's endpoint of a host: its connections and subflows, data that arrives for its receivers, new
//! routes, and the reuse of slots of connections that have finished.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::prefetch::prefetch;
use crate::engine::route::Route;
use crate::packet::{DATA, Packet};
use crate::transport::shared::Shared;
use crate::transport::state::HostContext;

use super::admission::Admission;
use super::connection::ConnectionSender;
use super::path_monitor::PathMonitors;
use super::receiver::{AckDecision, ConnectionReceiver, SubflowReceiver};
use super::subflow::{BlockReasons, SubflowSender};
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
    /// The monitors of paths, which policy `opn` has.
    pub(super) path_monitors: PathMonitors,
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
            path_monitors: PathMonitors::default(),
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

    /// Returns the established subflows of connections that have not finished, each with the bytes
    /// acknowledged on it, in no order.
    pub fn established_subflows(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let open = self
            .connections()
            .filter(|connection| !connection.lifetime.is_finished());
        open.flat_map(|connection| {
            let established = |s: &&SubflowSender| s.stats().established.is_some();
            let subflows = self.subflows_of(connection).iter().filter(established);
            subflows.map(|s| (connection.flow, s.index(), s.seq.una()))
        })
    }

    /// Sets the route of a subflow from its next packet on. Returns false if the connection does
    /// not exist any more.
    pub fn set_subflow_route(&mut self, flow: u32, subflow: u32, route: Route) -> bool {
        let Some(&index) = self.slots.senders.get(&flow) else {
            return false;
        };
        let first = self.connections[index as usize].first_subflow;
        self.subflows[(first + subflow) as usize].path.set_route(route);
        true
    }

    /// Chooses new routes after routing has detected a link event.
    pub fn reroute(&mut self) {
        let shared = Arc::clone(&self.shared);
        let route = |flow, subflow, reverse| shared.route_of_subflow(&shared.flow(flow), subflow, reverse);
        for (&flow, &index) in &self.slots.senders {
            let connection = &self.connections[index as usize];
            let first = connection.first_subflow as usize;
            for (s, subflow) in (0..).zip(&mut self.subflows[first..][..connection.windows().len()]) {
                subflow.path.reroute(|| route(flow, s, false));
            }
        }
        for (&(flow, subflow), &slot) in &self.slots.subflow_receivers {
            let receiver = &mut self.subflow_receivers[slot as usize];
            receiver.path.reroute(|| route(flow, subflow, true));
        }
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

/// Free slots of one host.
#[derive(Default)]
pub struct FreeSlots {
    pub connections: Vec<u32>,
    /// First slots of runs of subflows, by the length of the run.
    runs: HashMap<u32, Vec<u32>>,
    pub connection_receivers: Vec<u32>,
    pub subflow_receivers: Vec<u32>,
}

impl FreeSlots {
    /// Takes the first of `n` adjacent free slots for subflows, if there are any.
    pub fn take_run(&mut self, n: u32) -> Option<u32> {
        self.runs.get_mut(&n)?.pop()
    }

    /// Adds `n` adjacent free slots for subflows from `first` on.
    pub fn add_run(&mut self, first: u32, n: u32) {
        self.runs.entry(n).or_default().push(first);
    }
}

/// Inserts `item` into a free slot, or else a new one. Returns the slot.
pub fn insert<T>(slots: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    if let Some(slot) = free.pop() {
        slots[slot as usize] = item;
        return slot;
    }
    slots.push(item);
    slots.len() as u32 - 1
}

impl TcpEndpoint {
    /// Returns the number of this host's connections that have finished but are not yet reclaimed, and
    /// the number of open ones.
    pub fn ended_and_open(&self) -> (usize, usize) {
        (self.ended.len(), self.slots.senders.len() - self.ended.len())
    }

    /// Takes the slots of connections that have finished and were not reclaimed.
    pub fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    /// Keeps the slots of connections that could not be reclaimed yet.
    pub fn keep_ended(&mut self, ended: Vec<u32>) {
        self.ended = ended;
    }

    /// Returns true if a connection that has finished does nothing more by itself. Joins and closes
    /// may still be due.
    pub fn sender_is_idle(&self, index: u32, now: u64) -> bool {
        let connection = &self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let throttled = self
            .subflows_of(connection)
            .iter()
            .any(|subflow| subflow.gate.is_blocked_by(BlockReasons::THROTTLED));
        !throttled
            && connection.lifetime.is_closed(now)
            && (connection.windows().len() == 1
                || connection
                    .joins
                    .started()
                    .is_none_or(|started| now > started + profile.joins.join_delay.0))
    }

    /// Returns the slots of the receivers of a flow's subflows, or `None` if one of them still has
    /// an acknowledgement to send.
    pub fn idle_receivers(&self, flow: u32, subflows: u32) -> Option<Vec<u32>> {
        let slots = (0..subflows).filter_map(|s| self.slots.subflow_receivers.get(&(flow, s)).copied());
        let idle = |&slot: &u32| self.subflow_receivers[slot as usize].timer.is_off();
        slots.map(|slot| idle(&slot).then_some(slot)).collect()
    }

    /// Frees the slots of a connection's sender and its subflows.
    pub fn free_sender(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        let subflows = connection.congestion.free();
        self.totals.reclaimed_open_time += connection.lifetime.open_time(u64::MAX);
        let first = connection.first_subflow;
        self.slots.senders.remove(&connection.flow);
        let of_connection = &mut self.subflows[first as usize..][..subflows as usize];
        self.totals.reclaimed_sndbuf_limited += sndbuf_limited(of_connection);
        for subflow in of_connection {
            self.totals.reclaimed_timeouts += subflow.stats().timeouts + subflow.stats().syn_timeouts;
            subflow.free();
        }
        self.free_slots.connections.push(index);
        self.free_slots.add_run(first, subflows);
    }

    /// Frees the slots of a connection's receiver and its subflows.
    pub fn free_receiver(&mut self, flow: u32, subflows: u32) {
        for s in 0..subflows {
            if let Some(slot) = self.slots.subflow_receivers.remove(&(flow, s)) {
                self.subflow_receivers[slot as usize].free();
                self.free_slots.subflow_receivers.push(slot);
            }
        }
        if let Some(slot) = self.slots.receivers.remove(&flow) {
            self.connection_receivers[slot as usize].free();
            self.free_slots.connection_receivers.push(slot);
        }
    }

    /// Returns the number of slots of connections and subflows, of senders and receivers.
    #[cfg(test)]
    pub fn slot_count(&self) -> usize {
        self.connections.len()
            + self.subflows.len()
            + self.connection_receivers.len()
            + self.subflow_receivers.len()
    }
}

impl TcpEndpoint {
    /// Handles a data packet.
    #[inline(always)]
    pub fn on_data(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.subflow_receivers[packet.slot as usize];
        let connection = &mut self.connection_receivers[receiver.connection as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        if receiver.needs_ack_before_ce_change(packet) {
            cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, profile));
        }
        let len = u64::from(packet.size) - u64::from(profile.sizes.header);
        let expected = connection.chunks().next();
        match receiver.on_data(packet, len, cx.now, connection, profile) {
            AckDecision::Now(lo, hi) => {
                cx.send(&receiver.acknowledge(connection.chunks(), lo, hi, profile));
            }
            AckDecision::Soon => {
                if receiver.merges(self.shared.offload.gro, profile.sizes.mss) {
                    receiver
                        .timer
                        .set(cx.now + self.shared.offload.gro.0, packet.slot, cx);
                } else {
                    cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, profile));
                }
            }
            AckDecision::Delay => {
                if receiver.timer.is_off() {
                    receiver
                        .timer
                        .set(cx.now + profile.acks.delayed_ack_timeout.0, packet.slot, cx);
                }
                if receiver.is_pushed() {
                    connection.set_pushed(packet.hi);
                }
            }
        }
        if connection.is_pushed_data_read(expected) {
            self.acknowledge_pushed(packet.slot, cx);
        }
        let receiver = &self.subflow_receivers[packet.slot as usize];
        let connection = &mut self.connection_receivers[receiver.connection as usize];
        if connection.is_notification_due() {
            let (flow, next, bytes) = (connection.flow, connection.chunks().next(), connection.bytes());
            if connection.has_messages() {
                while let Some(flow) = connection.take_complete(cx.now) {
                    cx.on_delivered(flow);
                }
                let mut never = u64::MAX;
                cx.on_delivered_data(flow, next, bytes, &mut never);
            } else {
                cx.on_delivered_data(flow, next, bytes, connection.notify_at_mut());
            }
        }
    }

    /// Sends the delayed acknowledgements of pushed segments. It is called once the application has
    /// read everything that has arrived on the connection of `slot`. Each subflow on which a
    /// segment with PSH waits for a delayed acknowledgement sends it (Linux's `mptcp_cleanup_rbuf`
    /// and `tcp_cleanup_rbuf`; since 6.6 `tcp_measure_rcv_mss` sets `ICSK_ACK_PUSHED` for full
    /// segments, too).
    fn acknowledge_pushed(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let connection = self.subflow_receivers[slot as usize].connection;
        let connection = &mut self.connection_receivers[connection as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let mut pushed = connection.take_pushed();
        while pushed != 0 {
            let s = pushed.trailing_zeros();
            pushed &= pushed - 1;
            if let Some(&slot) = self.slots.subflow_receivers.get(&(connection.flow, s)) {
                let receiver = &mut self.subflow_receivers[slot as usize];
                if receiver.is_pushed() && receiver.unacked() > 0 {
                    cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, profile));
                }
            }
        }
    }

    pub(super) fn delayed_ack_timer(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.subflow_receivers[slot as usize];
        if !receiver.timer.on_engine_timer(slot, cx) {
            return;
        }
        let connection = &self.connection_receivers[receiver.connection as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let since_data = cx.now - connection.last_data_at();
        if since_data >= profile.acks.delayed_ack_timeout.0 {
            self.totals.delayed_ack_stall += since_data;
        }
        cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, profile));
    }
}
