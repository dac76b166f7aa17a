//! Data packets at their receiver: acknowledgements, immediate and delayed.

use crate::packet::Packet;
use crate::transport::state::HostContext;

use super::endpoint::TcpEndpoint;
use super::receiver::AckDecision;

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
            cx.on_delivered_data(flow, next, bytes, connection.notify_at_mut());
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
