//! Pause frames: what they announce, and when they take effect.

use std::cmp::Reverse;

use weft_fabric::Lossless;

use super::super::{Event, Reference, TestEndpoint, serialisation};

/// A frame: the paused link, and class and cause of each pause. The cause is `None` if the pause ends.
pub type Frame = (u32, Vec<(usize, Option<u32>)>);

impl<T: TestEndpoint> Reference<'_, T> {
    /// Sends a frame over `back` as soon as possible.
    pub(in super::super) fn say(&mut self, back: u32, now: u64) {
        let wire = &self.wires[back as usize];
        let stops = &mut self.stops.links[back as usize];
        stops.pending = wire.up;
        let is_serving = wire.fifo.serving.is_some() && stops.served_at > now;
        if is_serving {
            return;
        }
        if stops.frames_end > now {
            self.wake(back, now);
        } else {
            self.speak(back, now);
        }
    }

    /// Sends a frame over `back`, which is free, if there is something to say. Returns whether there is.
    pub(in super::super) fn speak(&mut self, back: u32, now: u64) -> bool {
        self.stops.links[back as usize].pending = false;
        let links = 0..self.stops.links.len() as u32;
        let mut about =
            links.filter_map(|over| Some((over, self.rules(over).filter(|(to, _)| *to == back)?.1)));
        let Some((over, rules)) = about.next() else {
            return false;
        };
        drop(about);
        let paused = &self.stops.links[over as usize];
        let wire = &self.wires[back as usize];
        let news: Vec<usize> = (0..8)
            .filter(|&c| paused.is_over[c] != paused.is_announced[c])
            .collect();
        if news.is_empty() || !wire.up {
            return false;
        }
        let (rate, delay) = (wire.rate, wire.delay);
        let mut content = Vec::new();
        for class in news {
            let is_over = paused.is_over[class];
            let held = self.held(over, class, &rules).into_iter().rev();
            let fullest = held.max_by_key(|(_, bytes)| *bytes).map(|(link, _)| link);
            content.push((class, fullest.filter(|_| is_over)));
        }
        for &(class, cause) in &content {
            let paused = &mut self.stops.links[over as usize];
            paused.is_announced[class] = paused.is_over[class];
            paused.frames_back += u64::from(cause.is_some());
        }
        let stops = &mut self.stops.links[back as usize];
        stops.frames_end = now + serialisation(rate, 64);
        stops.effect = stops.effect.max(stops.frames_end + delay + rules.reaction.0);
        stops.frames += 1;
        let number = stops.frames;
        self.events
            .push(Reverse((stops.effect, Event::Frame { link: back, number })));
        self.stops.frames.insert((back, number), (over, content));
        self.wake(back, now);
        true
    }

    /// Handles a frame that takes effect.
    pub fn apply(&mut self, frame_link: u32, number: u32, now: u64) {
        let Some((link, content)) = self.stops.frames.remove(&(frame_link, number)) else {
            return;
        };
        let Some(stated) = self.stated(link) else { return };
        for (class, cause) in content {
            if class < stated.classes.into() {
                self.apply_to(link, &stated, class, cause, now);
            }
        }
    }

    fn apply_to(&mut self, link: u32, stated: &Lossless, class: usize, cause: Option<u32>, now: u64) {
        let stops = &mut self.stops.links[link as usize];
        if let Some(cause) = cause {
            if !stops.is_paused(class) {
                stops.pauses[class].push((now, None, cause));
                let stop = stops.pauses[class].len();
                if let Some(watchdog) = stated.watchdog {
                    let event = Event::Watchdog { link, class, stop };
                    self.events.push(Reverse((now + watchdog.0, event)));
                }
            }
            return;
        }
        if let Some((_, end @ None, _)) = stops.pauses[class].last_mut() {
            *end = Some(now);
        }
        stops.gives_up[class] = false;
        self.end_service(link, now);
        self.go_on(link, now);
    }

    /// Sends what was not said while `link` was down.
    pub fn repeat_frames(&mut self, link: u32, now: u64) {
        if self.is_lossless(link) {
            self.say(link, now);
        }
    }
}
