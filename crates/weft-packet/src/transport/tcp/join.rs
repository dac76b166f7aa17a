//! Additional subflows that join a connection (RFC 8684, section 3.2), and the `DATA_FIN` of a
//! stopped flow.

use std::sync::Arc;

use weft_cc::CongestionControl;

use crate::packet::Packet;
use crate::transport::state::HostContext;

use super::endpoint::TcpEndpoint;
use super::gate::BlockReasons;
use super::timer_keys::{TcpTimer, timer_key};
use super::wire;

/// Returns the number of acknowledged chunks from which on the additional subflows join: those of
/// `after` bytes. It is at least one if a connection has to be fully established, for which a
/// `DATA_ACK` is needed (RFC 8684, section 3.1). With 0 they join immediately.
pub fn join_at(after: u64, mss: u32, confirmed: bool) -> u32 {
    let chunks = after.div_ceil(mss.into()).max(confirmed.into());
    chunks.min(u64::from(u32::MAX) - 1) as u32
}

impl TcpEndpoint {
    /// Starts the joins of a connection's additional subflows, each after a delay of its own.
    #[cold]
    pub(super) fn open_joins(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        connection.joins.start(cx.now);
        let (flow, first, subflows) = (
            connection.flow,
            connection.first_subflow,
            connection.windows().len() as u32,
        );
        // Subflows are numbered in the order in which they start, which is that of round robin.
        let delays = (1..subflows).map(|other| self.join_delay(flow, other, 0x6A6F_696E));
        let mut delays: Vec<u64> = delays.collect();
        delays.sort_unstable();
        for (other, delay) in (1..subflows).zip(delays) {
            let time = cx.now + delay;
            cx.set_timer(time, timer_key(TcpTimer::Join, first + other));
        }
    }

    /// Starts a join that is due, unless its subflow is not selected: it then joins when it is
    /// selected.
    pub(super) fn join(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &self.subflows[slot as usize];
        if !subflow.gate.is_blocked_by(BlockReasons::NOT_SELECTED) && subflow.state.is_closed() {
            self.send_syn(slot, cx);
        }
    }

    /// Sends the third packet of a join, when its SYN/ACK arrived or the third packet timed out.
    /// The subflow carries no data before the other end has acknowledged that packet ("Host A ...
    /// MUST NOT send data ... until it receives an ACK", RFC 8684, section 3.2).
    pub(super) fn send_join_ack(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let connection = &self.connections[subflow.connection() as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        let profile = &tcp.profile;
        subflow.state.on_join_ack_sent();
        subflow.arm(slot, cx);
        cx.send(&Packet {
            route: subflow.path.route(),
            slot: subflow.peer(),
            ..wire::control(
                wire::JOIN_ACK,
                (connection.flow, subflow.index()),
                transport.class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the third packet of a join, which the other end sends.
    pub(super) fn on_join_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let Some(receiver) = self.subflow_receivers.get(packet.slot as usize) else {
            return;
        };
        let connection = &self.connection_receivers[receiver.connection as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        cx.send(&Packet {
            route: receiver.path.route(),
            slot: receiver.peer,
            ..wire::control(
                wire::JOIN_CONFIRMED,
                (packet.lo, packet.hi),
                transport.ack_class,
                &tcp.profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the fourth packet of a join: the subflow may carry data.
    pub(super) fn on_join_confirmed(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if self.subflows[packet.slot as usize].state.is_pre_established() {
            self.establish(packet.slot, cx);
        }
    }

    /// Announces to the other end that a stopped flow has no more data than was sent.
    pub(super) fn send_data_fin(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &self.connections[index as usize];
        let subflow = &self.subflows[connection.first_subflow as usize];
        if connection.data.is_acknowledged() || subflow.peer() == u32::MAX {
            return;
        }
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        let profile = &tcp.profile;
        if profile.acks.ack_every == 1 {
            // No acknowledgement is delayed.
            return;
        }
        cx.send(&Packet {
            route: subflow.path.route(),
            slot: subflow.peer(),
            chunk: connection.data.total(),
            ..wire::control(
                wire::DATA_FIN,
                (connection.flow, 0),
                transport.class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the announcement that a flow has stopped: delayed acknowledgements are sent, and the
    /// one that completes the data is not delayed.
    pub(super) fn on_data_fin(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let shared = Arc::clone(&self.shared);
        let Some(&index) = self.slots.receivers.get(&packet.lo) else {
            return;
        };
        let connection = &mut self.connection_receivers[index as usize];
        connection.set_total(packet.chunk);
        let tcp = shared.tcp(connection.transport);
        for s in 0..tcp.subflows {
            let Some(&receiver) = self.slots.subflow_receivers.get(&(packet.lo, s)) else {
                continue;
            };
            let receiver = &mut self.subflow_receivers[receiver as usize];
            if receiver.unacked() > 0 {
                cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, &tcp.profile));
            }
        }
    }
}
