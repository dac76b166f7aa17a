//! A port of a host's network card, for which flows wait in turn. Data is not queued in the host: at most two
//! data packets of this transport are at the port, one of which is being sent. Packets without payload do not wait here.

use std::collections::VecDeque;

/// A port of the network card.
#[derive(Default)]
pub struct Port {
    /// Time from which on the next data packet may be sent, unless the port is paused.
    pub busy_until: u64,
    /// Flows that wait, by sender.
    flows: VecDeque<u32>,
    /// True if the timer is set.
    is_armed: bool,
    /// True if the timer is set once the port is no longer paused.
    is_dormant: bool,
}

impl Port {
    /// Returns true if a packet can be sent at once, unless the port is paused.
    pub fn is_idle(&self, now: u64) -> bool {
        now >= self.busy_until && self.flows.is_empty()
    }

    /// Lets a flow wait.
    pub fn wait(&mut self, sender: u32) {
        self.flows.push_back(sender);
    }

    /// Removes the flow that has waited longest.
    pub fn next(&mut self) -> Option<u32> {
        self.flows.pop_front()
    }

    /// Returns the number of flows that wait.
    pub fn waiting(&self) -> usize {
        self.flows.len()
    }

    /// Returns the time for which the timer has to be set, if it has to: when the port is free, but not
    /// before `earliest`.
    pub fn arm(&mut self, earliest: u64) -> Option<u64> {
        if self.flows.is_empty() || self.is_armed {
            return None;
        }
        self.is_armed = true;
        Some(self.busy_until.max(earliest))
    }

    /// Handles the timer.
    pub fn on_timer(&mut self) {
        self.is_armed = false;
        self.is_dormant = false;
    }

    /// Records that the timer is set once the port is no longer paused.
    pub fn sleep(&mut self) {
        self.is_dormant = true;
    }

    /// Records that the timer is set at once. Returns true if it was not.
    pub fn wake(&mut self) -> bool {
        std::mem::take(&mut self.is_dormant)
    }
}
