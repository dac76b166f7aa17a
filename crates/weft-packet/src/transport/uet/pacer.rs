//! RCCC at the receiver: one pacer per host grants credit to its incoming flows in turn.

use std::collections::VecDeque;

use weft_transports::UetConfig;

use crate::transport::flow_table::FlowTable;

use super::credit::QUANTUM;
use super::params::longest_window;
use super::receiver::Receiver;

/// Quanta of a full grant: four packets.
const GRANT: i64 = 64;
/// Share of the link's rate at which credit is granted.
const SHARE: f64 = 0.99;
/// Quanta whose time a pull without credit takes.
const EMPTY_GRANT: i64 = 4;

/// The pacer of a host.
#[derive(Default)]
pub struct Pacer {
    /// Flows that need credit, and flows whose demand is met, by receiver. A flow may be in the second list
    /// more than once, and in both.
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// True while the timer is set.
    pub is_running: bool,
}

impl Pacer {
    /// Records that a flow asks for this number of quanta. It needs credit if `needs`, whatever it asks for.
    pub fn on_request(&mut self, index: u32, receiver: &mut Receiver, target: u32, needs: bool) {
        let grants = &mut receiver.state.grants;
        let more = target.wrapping_sub(grants.requested as u32).cast_signed();
        if more > 0 {
            grants.requested += i64::from(more);
        }
        if (more > 0 || needs) && !grants.is_active {
            grants.is_active = true;
            grants.entries += 1;
            self.active.push_back(index);
        }
    }

    /// Returns true if no flow is in a list.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.idle.is_empty()
    }

    /// Grants credit to the next flow. Returns its receiver, and the time until the next grant if
    /// a quantum takes `quantum` picoseconds on the link; `None` if no flow waits.
    pub fn grant(&mut self, receivers: &mut FlowTable<Receiver>, quantum: u64) -> Option<(u32, u64)> {
        let (index, granted) = if let Some(index) = self.active.pop_front() {
            let grants = &mut receivers[index].state.grants;
            let new = (grants.granted + GRANT).min(grants.requested).max(grants.granted);
            let granted = new - grants.granted;
            grants.granted = new;
            if grants.requested > grants.granted {
                self.active.push_back(index);
            } else {
                grants.is_active = false;
                self.idle.push_back(index);
            }
            (index, granted)
        } else {
            let index = self.idle.pop_front()?;
            let receiver = &mut receivers[index];
            let beyond = max_idle(&receiver.params.config);
            let grants = &mut receiver.state.grants;
            grants.granted += GRANT;
            let excess = grants.granted - grants.requested;
            if excess >= 0 && excess < beyond {
                self.idle.push_back(index);
            } else {
                grants.entries -= 1;
            }
            (index, GRANT)
        };
        let quanta = if granted == 0 { EMPTY_GRANT } else { granted };
        let per_quantum = (quantum as f64 / SHARE) as u64;
        Some((index, quanta as u64 * per_quantum))
    }
}

/// Returns the number of quanta that a flow may have beyond what it has asked for.
fn max_idle(config: &UetConfig) -> i64 {
    longest_window(config) / QUANTUM
}
