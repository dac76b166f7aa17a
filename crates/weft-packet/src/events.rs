//! Link events at exact times, and their detection by routing.

use weft_run::{LinkChange, LinkEvent, detection_times};

use crate::simulation::PacketSimulation;

/// An action between two calls of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkAction {
    Change(u32, LinkChange),
    /// Routing detects that a link is down (true) or up (false).
    RoutingUpdate(u32, bool),
}

/// All actions in order of time. Simultaneous actions are in the order of their events.
pub(crate) struct LinkSchedule {
    actions: Vec<(u64, LinkAction)>,
    next: usize,
}

impl LinkSchedule {
    pub fn new(events: &[LinkEvent]) -> Self {
        let mut actions = Vec::new();
        for (event, update) in events.iter().zip(detection_times(events)) {
            actions.push((event.at.0, LinkAction::Change(event.link, event.change)));
            if let Some(time) = update {
                actions.push((
                    time.0,
                    LinkAction::RoutingUpdate(event.link, event.change == LinkChange::Down),
                ));
            }
        }
        actions.sort_by_key(|&(time, _)| time);
        Self { actions, next: 0 }
    }

    /// Returns the time of the next action; `u64::MAX` if there is none.
    pub fn next_time(&self) -> u64 {
        self.actions.get(self.next).map_or(u64::MAX, |&(time, _)| time)
    }
}

impl PacketSimulation {
    /// Applies all actions that are due at `now`. If routing detects a change, all hosts choose new
    /// paths.
    pub(crate) fn apply_due(&mut self, now: u64) {
        let (first, mut updated) = (self.link_schedule.next, false);
        while let Some(&(time, action)) = self.link_schedule.actions.get(self.link_schedule.next) {
            if time > now {
                break;
            }
            self.link_schedule.next += 1;
            match action {
                LinkAction::Change(link, change) => self.engine.change(link, change),
                LinkAction::RoutingUpdate(link, down) => {
                    self.shared.down_links.set(link, down);
                    updated = true;
                }
            }
        }
        if updated {
            for host in 0..self.shared.fabric.hosts.len() as u32 {
                self.engine.endpoint_mut(host).reroute();
            }
            self.reapply_assignments();
        }
        if self.link_schedule.next > first {
            self.engine.end_waits();
        }
    }
}
