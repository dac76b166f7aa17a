//! The network card of a host: flows that have data to send wait for it, and so do packets without
//! payload. Data is not queued in the host.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::transport::state::HostContext;

/// Number of decisions from one that serves data to the next, while flows and packets without payload wait.
const CYCLE: u32 = 11;

/// A sender that waits for the network card and has a timer for its timeouts.
pub trait NicSender {
    /// Returns true if the flow may send a packet.
    fn may_send(&mut self) -> bool;

    /// Returns whether the flow waits for the card.
    fn waits(&mut self) -> &mut bool;

    /// Returns whether the timer of timeouts is set.
    fn has_timer(&mut self) -> &mut bool;

    /// Returns the time at which the oldest packet on its way times out; `None` if there is none.
    fn deadline(&mut self) -> Option<u64>;
}

/// The part of a host whose flows take turns at the network card.
pub trait NicUser {
    /// Its senders.
    type Sender: NicSender;

    /// Returns the card.
    fn nic(&mut self) -> &mut Nic;

    /// Returns the key of the timer of the card.
    fn nic_key(&self) -> u64;

    /// Returns the sender with this index.
    fn sender(&mut self, index: u32) -> &mut Self::Sender;

    /// Returns the key of the timer of a sender's timeouts.
    fn deadline_key(&self, index: u32) -> u64;

    /// Sends one packet of a flow that may send.
    fn send_packet(&mut self, index: u32, cx: &mut HostContext<'_, '_>);

    /// Sends a packet of a flow if it may send one and the card is idle. Otherwise the flow waits for the
    /// card if it may send.
    fn request_nic(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = self.sender(index);
        if *sender.waits() || !sender.may_send() {
            return;
        }
        if self.nic().is_idle(cx.now) {
            self.send_and_wait(index, cx);
        } else {
            self.wait_for_nic(index, cx);
        }
    }

    /// Lets a flow wait for the card.
    fn wait_for_nic(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        *self.sender(index).waits() = true;
        let key = self.nic_key();
        self.nic().wait(index, key, cx);
    }

    /// Sends one packet of a flow that may send. The flow waits for the card if it may send another one.
    fn send_and_wait(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        self.send_packet(index, cx);
        self.set_deadline(index, cx);
        if self.sender(index).may_send() {
            self.wait_for_nic(index, cx);
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

    /// Sends the next packet that waits for the card.
    fn on_nic_timer(&mut self, cx: &mut HostContext<'_, '_>) {
        self.nic().on_timer();
        let mut serves_data = false;
        while let Some(next) = self.nic().next(&mut serves_data) {
            match next {
                Next::Control(packet) => {
                    self.nic().send(&packet, cx);
                    break;
                }
                Next::Flow(index) => {
                    let sender = self.sender(index);
                    *sender.waits() = false;
                    if sender.may_send() {
                        self.send_and_wait(index, cx);
                        break;
                    }
                }
            }
        }
        let key = self.nic_key();
        self.nic().arm(key, cx);
    }

    /// Sends a packet without payload, or lets it wait for the card.
    fn send_control(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let key = self.nic_key();
        self.nic().send_control(packet, key, cx);
    }
}

/// The network card of a host.
#[derive(Default)]
pub struct Nic {
    /// Time at which the packet being sent has left.
    busy_until: u64,
    /// True if a timer is set for that time.
    armed: bool,
    /// Packets without payload that wait.
    control: VecDeque<Packet>,
    /// Flows that wait, by sender.
    flows: VecDeque<u32>,
    /// Number of decisions since one served data, while both waited.
    position: u32,
}

/// The next packet of the network card.
enum Next {
    /// A flow sends a packet, if it may.
    Flow(u32),
    /// A packet without payload.
    Control(Packet),
}

impl Nic {
    /// Returns true if a packet can be sent at once.
    fn is_idle(&self, now: u64) -> bool {
        now >= self.busy_until && self.control.is_empty() && self.flows.is_empty()
    }

    /// Returns the number of flows that wait.
    pub fn waiting_flows(&self) -> usize {
        self.flows.len()
    }

    /// Sends a packet, which occupies it until its last bit has left.
    pub fn send(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        self.busy_until = cx.now + cx.serialisation(packet.route, packet.size.into());
        cx.send(packet);
    }

    /// Sends a packet without payload at once, or lets it wait. `key` is that of its timer.
    fn send_control(&mut self, packet: &Packet, key: u64, cx: &mut HostContext<'_, '_>) {
        if self.is_idle(cx.now) {
            self.send(packet, cx);
        } else {
            self.control.push_back(*packet);
            self.arm(key, cx);
        }
    }

    /// Lets a flow wait.
    fn wait(&mut self, sender: u32, key: u64, cx: &mut HostContext<'_, '_>) {
        self.flows.push_back(sender);
        self.arm(key, cx);
    }

    /// Sets the timer for the end of the transmission if anything waits.
    fn arm(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        let any_waits = !self.control.is_empty() || !self.flows.is_empty();
        if any_waits && !self.armed {
            self.armed = true;
            cx.set_timer(self.busy_until, key);
        }
    }

    /// Handles the timer.
    fn on_timer(&mut self) {
        self.armed = false;
    }

    /// Removes what is sent next. Once data is served, flows are returned until one of them sends.
    fn next(&mut self, serves_data: &mut bool) -> Option<Next> {
        if !*serves_data {
            *serves_data = match (self.flows.is_empty(), self.control.is_empty()) {
                (false, false) => {
                    self.position = (self.position + 1) % CYCLE;
                    self.position == 0
                }
                (no_flow, _) => !no_flow,
            };
        }
        if *serves_data && let Some(flow) = self.flows.pop_front() {
            return Some(Next::Flow(flow));
        }
        self.control.pop_front().map(Next::Control)
    }
}
