//! Changes of links at exact times, and their detection by routing.

use weft_run::{LinkChange, LinkEvent, detection_times};

use crate::simulation::PacketSimulation;

/// What is done between two calls of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkAction {
    Change(u32, LinkChange),
    /// Routing learns that a link is dead, or not.
    RoutingUpdate(u32, bool),
}

/// All steps, in the order of their times and, at one time, of the events.
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

    /// When the next step is due; `u64::MAX` if none is.
    pub fn next_time(&self) -> u64 {
        self.actions.get(self.next).map_or(u64::MAX, |&(time, _)| time)
    }
}

impl PacketSimulation {
    /// Takes all steps that are due at `now`. When routing learns of a change, all hosts choose new paths.
    pub(crate) fn apply_due(&mut self, now: u64) {
        let mut updated = false;
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
    }
}
