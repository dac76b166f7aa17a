//! The turns of sprayed flows at the NIC of their host. In its turn, a flow sends one packet.

use crate::packet::Packet;
use crate::transport::nic::{Feed, Request};
use crate::transport::state::HostContext;

/// The port of a host's only link.
const PORT: u32 = 0;

/// A sender that waits for the NIC and has a timer for its timeouts.
pub trait NicSender {
    /// Returns true if the flow may send a packet.
    fn may_send(&mut self) -> bool;

    /// Returns whether the flow waits for the NIC.
    fn waits(&mut self) -> &mut bool;

    /// Returns whether the timer of timeouts is set.
    fn has_timer(&mut self) -> &mut bool;

    /// Returns the time at which the oldest packet on its way times out; `None` if there is none.
    fn deadline(&mut self) -> Option<u64>;
}

/// The part of a host whose flows take turns at the NIC.
pub trait NicUser {
    /// Its senders.
    type Sender: NicSender;

    /// Returns the sender with this index.
    fn sender(&mut self, index: u32) -> &mut Self::Sender;

    /// Returns the request of a sender for the NIC.
    fn request(&self, index: u32) -> Request;

    /// Returns the key of the timer of a sender's timeouts.
    fn deadline_key(&self, index: u32) -> u64;

    /// Returns the next packet of a flow that may send. This many flows wait for the NIC, itself included.
    fn take_packet(&mut self, index: u32, waiting: u32, cx: &mut HostContext<'_, '_>) -> Option<Packet>;

    /// Sends a packet of a flow if it may send one and the NIC is free. Otherwise the flow waits for its turn
    /// if it may send.
    fn request_nic(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = self.sender(index);
        if *sender.waits() || !sender.may_send() {
            return;
        }
        let (nics, engine) = cx.nics();
        if nics.is_free(Feed::Memory, PORT, engine, || self.request(index)) {
            self.send_and_wait(index, cx);
        } else {
            self.wait_for_nic(index, cx);
        }
    }

    /// Lets a flow wait for its turn.
    fn wait_for_nic(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        *self.sender(index).waits() = true;
        let request = self.request(index);
        let (nics, engine) = cx.nics();
        nics.wait(request, PORT, engine);
    }

    /// Sends one packet of a flow that may send. The flow waits for its turn if it may send another one.
    fn send_and_wait(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let waiting = cx.host.nics.waiting_flows(PORT) as u32 + 1;
        if let Some(packet) = self.take_packet(index, waiting, cx) {
            let (nics, engine) = cx.nics();
            nics.send_data(Feed::Memory, &packet, engine, || self.request(index));
        }
        self.set_deadline(index, cx);
        if self.sender(index).may_send() {
            self.wait_for_nic(index, cx);
        }
    }

    /// Handles the turn of a flow.
    fn on_turn(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = self.sender(index);
        *sender.waits() = false;
        if sender.may_send() {
            self.send_and_wait(index, cx);
        }
    }

    /// Sets the timer of timeouts unless it is set.
    fn set_deadline(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = self.sender(index);
        if *sender.has_timer() {
            return;
        }
        if let Some(deadline) = sender.deadline() {
            *sender.has_timer() = true;
            cx.set_timer(deadline, self.deadline_key(index));
        }
    }
}
