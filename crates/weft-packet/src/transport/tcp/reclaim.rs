//! Reuse of the slots of connections that have finished.
//!
//! Only the simulation, which sees both ends and the network, can determine that no packet refers
//! to a slot any more ([`crate::reclaim`]). A timer of the old connection may still fire; its time
//! then differs from the deadline of the connection that uses the slot.

use super::endpoint::{TcpEndpoint, sndbuf_limited};
use super::gate::BlockReasons;

impl TcpEndpoint {
    /// Returns the number of connections of this host that have finished and were not reclaimed, and
    /// of those that have not finished.
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
