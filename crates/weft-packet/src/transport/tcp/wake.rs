//! Subflows that waited for the NIC of their host or for their pace, and may send.

use crate::transport::state::HostContext;

use super::endpoint::TcpEndpoint;
use super::gate::BlockReasons;

impl TcpEndpoint {
    /// Sends what a subflow may send in its turn at the NIC.
    pub fn send_in_turn(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        subflow.gate.unblock(BlockReasons::THROTTLED);
        let connection = subflow.connection();
        self.transmit_pending(connection, slot, cx);
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
