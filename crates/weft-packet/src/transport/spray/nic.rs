//! The network card of a host: flows that have data to send wait for it, and so do packets without
//! payload. Data is not queued in the host.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::transport::state::HostContext;

/// Number of decisions from one that serves data to the next, while flows and packets without payload wait.
const CYCLE: u32 = 11;

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
pub enum Next {
    /// A flow sends a packet, if it may.
    Flow(u32),
    /// A packet without payload.
    Control(Packet),
}

impl Nic {
    /// Returns true if a packet can be sent at once.
    pub fn is_idle(&self, now: u64) -> bool {
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
    pub fn send_control(&mut self, packet: &Packet, key: u64, cx: &mut HostContext<'_, '_>) {
        if self.is_idle(cx.now) {
            self.send(packet, cx);
        } else {
            self.control.push_back(*packet);
            self.arm(key, cx);
        }
    }

    /// Lets a flow wait.
    pub fn wait(&mut self, sender: u32, key: u64, cx: &mut HostContext<'_, '_>) {
        self.flows.push_back(sender);
        self.arm(key, cx);
    }

    /// Sets the timer for the end of the transmission if anything waits.
    pub fn arm(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        let any_waits = !self.control.is_empty() || !self.flows.is_empty();
        if any_waits && !self.armed {
            self.armed = true;
            cx.set_timer(self.busy_until, key);
        }
    }

    /// Handles the timer.
    pub fn on_timer(&mut self) {
        self.armed = false;
    }

    /// Removes what is sent next. Once data is served, flows are returned until one of them sends.
    pub fn next(&mut self, serves_data: &mut bool) -> Option<Next> {
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
