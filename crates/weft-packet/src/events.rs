//! Changes of links at exact times, and their detection by routing.

use weft_run::{LinkChange, LinkEvent, detection_times};

use crate::simulation::PacketSimulation;

/// What is done between two calls of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Change(u32, LinkChange),
    /// Routing learns that a link is dead, or not.
    Notice(u32, bool),
}

/// All steps, in the order of their times and, at one time, of the events.
pub(crate) struct Agenda {
    steps: Vec<(u64, Step)>,
    next: usize,
}

impl Agenda {
    pub fn new(events: &[LinkEvent]) -> Self {
        let mut steps = Vec::new();
        for (event, notice) in events.iter().zip(detection_times(events)) {
            steps.push((event.at.0, Step::Change(event.link, event.change)));
            if let Some(time) = notice {
                steps.push((time.0, Step::Notice(event.link, event.change == LinkChange::Down)));
            }
        }
        steps.sort_by_key(|&(time, _)| time);
        Self { steps, next: 0 }
    }

    /// When the next step is due; `u64::MAX` if none is.
    pub fn time(&self) -> u64 {
        self.steps.get(self.next).map_or(u64::MAX, |&(time, _)| time)
    }
}

impl PacketSimulation {
    /// Takes all steps that are due at `now`. When routing learns of a change, all hosts choose new paths.
    pub(crate) fn take_steps(&mut self, now: u64) {
        let mut noticed = false;
        while let Some(&(time, step)) = self.agenda.steps.get(self.agenda.next) {
            if time > now {
                break;
            }
            self.agenda.next += 1;
            match step {
                Step::Change(link, change) => self.engine.change(link, change),
                Step::Notice(link, dead) => {
                    self.shared.down_links.set(link, dead);
                    noticed = true;
                }
            }
        }
        if noticed {
            for host in 0..self.shared.fabric.hosts.len() as u32 {
                self.engine.endpoint_mut(host).reroute();
            }
            self.keep_placed();
        }
    }
}
