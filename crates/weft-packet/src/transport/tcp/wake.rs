//! Subflows that waited for a port of their host or for their pace, and may send.

use crate::transport::state::HostContext;

use super::endpoint::TcpEndpoint;
use super::gate::BlockReasons;

impl TcpEndpoint {
    /// Serves the subflows that wait for port `port`, in turn, until the port is full.
    pub(super) fn on_port_ready(&mut self, port: u32, cx: &mut HostContext<'_, '_>) {
        loop {
            let subflows = &self.subflows;
            let route_of = |slot: u32| subflows[slot as usize].path.route();
            let Some(slot) = self.qdisc.next_served(port, route_of, cx) else {
                return;
            };
            let subflow = &mut self.subflows[slot as usize];
            subflow.gate.unblock(BlockReasons::THROTTLED);
            let connection = subflow.connection();
            self.transmit_pending(connection, slot, cx);
        }
    }

    /// Handles the timer of a paced subflow: its next packet may be sent.
    pub(super) fn on_pacing_timer(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.gate.earliest_departure() == cx.now && subflow.gate.unblock(BlockReasons::THROTTLED) {
            let connection = subflow.connection();
            self.transmit_pending(connection, slot, cx);
        }
    }
}
