//! Pause frames of priority flow control: when they are sent, and their effects.

use std::cmp::Reverse;

use weft_fabric::PAUSE_FRAME;
use weft_spec::QueueSize;

use crate::network::PartitionNetwork;
use crate::pauses::{CapturedPause, PauseAction, PauseEvent, announce, is_outdated};
use crate::port_state::ScheduledPort;
use crate::timers::Timer;
use weft_queues::{DropReason, LinkClass, LosslessQueue, ScheduledQueue, View, WakeUp};

/// Bit of the order of watchdogs, which come after frames.
const WATCHDOG: u64 = 1 << 63;

impl PartitionNetwork {
    /// The queue of a port, if it can be paused.
    fn lossless_mut(&mut self, port: usize) -> Option<&mut LosslessQueue> {
        match &mut self.states.ports[port].scheduled_mut()?.queue {
            ScheduledQueue::LosslessQueue(queue) => Some(queue),
            _ => None,
        }
    }

    /// Returns when `port` will hold at most `bytes` if it is not paused from `now` on. If `class` is given, packets of other
    /// classes do not count while their classes are paused.
    pub fn lossless_drain_time(&self, port: usize, now: u64, bytes: u32, class: Option<usize>) -> u64 {
        let output = &self.ports[port];
        let queue = self.states.ports[port].lossless();
        let waiting = queue.map_or(0, |queue| match class {
            None => queue.waiting_in(QueueSize::Bytes(0)) as u32,
            Some(class) => queue.bytes_before(class) as u32,
        });
        let end = match waiting {
            0 => output.busy_until,
            _ => self.free_at(port).max(now) + output.serialisation(waiting),
        };
        end.saturating_sub(output.serialisation(bytes))
    }

    /// Returns true if `port` can be paused, and `class` is.
    pub fn is_paused(&self, port: usize, class: usize) -> bool {
        let queue = self.states.ports[port].lossless();
        queue.is_some_and(|queue| queue.is_paused(class))
    }

    /// Ends the pauses of these classes of incoming links, one after the other, if so little waits.
    pub fn resume(&mut self, classes: &[LinkClass], now: u64) {
        for &class in classes {
            let frame = self
                .pauses
                .as_mut()
                .and_then(|pauses| pauses.ingress.resume(class));
            if let Some(port) = frame {
                self.request_frame(port as usize, now);
            }
        }
    }

    /// Sends a frame over `port` as soon as the packet or the frame that is being sent has left.
    pub fn request_frame(&mut self, port: usize, now: u64) {
        if self.pauses.is_none() {
            return;
        }
        if self.free_at(port) <= now {
            self.send_frame(port, now);
            return;
        }
        let state = &mut self.states.ports[port];
        let is_down = state.down;
        if let Some(scheduled) = state.scheduled_mut()
            && !is_down
        {
            scheduled.server.wants_frame = true;
            self.schedule_service(port);
        }
    }

    /// Sends a frame over `port`, which is idle, with the classes of the link in the other direction whose
    /// pauses have begun or ended since the last frame. Returns false if there are none, or if the link is
    /// down: the frame is then sent when it is up.
    pub fn send_frame(&mut self, port: usize, now: u64) -> bool {
        let (output, state) = (&self.ports[port], &mut self.states.ports[port]);
        let is_down = state.down;
        let Some((pauses, scheduled)) = self.pauses.as_mut().zip(state.scheduled_mut()) else {
            return false;
        };
        let server = &mut scheduled.server;
        server.wants_frame = false;
        let link = pauses.ingress.link(pauses.ring_of(port));
        let Some(link) = link.filter(|link| is_outdated(link) && !is_down) else {
            return false;
        };
        server.frames_until = now + output.serialisation(PAUSE_FRAME);
        let effect = server.frames_until + output.delay() + link.reaction;
        // After a change of the delay, frames still take effect in order.
        link.last_effect = link.last_effect.max(effect);
        link.frames += 1;
        let events = announce(link);
        if link.is_captured {
            let time = server.frames_until + output.delay();
            let reverse = link.reverse;
            pauses.captured.extend(events.iter().map(|event| CapturedPause {
                time,
                link: reverse,
                class: event.class,
                is_paused: matches!(event.action, PauseAction::Pause { .. }),
            }));
        }
        let partition = link.partition;
        if partition == pauses.partition {
            pauses.events.extend(events.into_iter().map(Reverse));
        } else {
            pauses.outboxes[partition as usize].extend(events);
        }
        self.schedule_service(port);
        true
    }

    /// Processes the earliest pause event of the current node.
    pub fn process_pause(&mut self) {
        let Some(Reverse(event)) = self.pauses.as_mut().and_then(|pauses| pauses.due.pop()) else {
            return;
        };
        let (port, class, now) = (event.port as usize, usize::from(event.class), event.time);
        self.serve_port_until(port, now.saturating_sub(1));
        let Some(queue) = self.lossless_mut(port) else {
            return;
        };
        match event.action {
            PauseAction::Pause { cause } => {
                let pause = queue.pause(class, now, cause);
                if let Some((pause, watchdog)) = pause.zip(queue.watchdog) {
                    self.set_watchdog(PauseEvent {
                        time: now + watchdog,
                        order: WATCHDOG | u64::from(event.port) << 8 | u64::from(event.class),
                        action: PauseAction::Watchdog { pause },
                        ..event
                    });
                }
            }
            PauseAction::Resume => {
                queue.resume(class, now);
                self.wake_up(port, now);
                self.states.ports[port].add_time(now);
                if self.free_at(port) > now {
                    self.schedule_service(port);
                } else {
                    self.next_service(port, now);
                }
            }
            PauseAction::Watchdog { pause } => {
                self.states.ports[port].add_time(now);
                let expire = |scheduled: &mut ScheduledPort, view: &mut View<'_>| match &mut scheduled.queue {
                    ScheduledQueue::LosslessQueue(queue) => queue.expire(class, pause, view),
                    _ => (Vec::new(), Vec::new()),
                };
                let (lost, classes) = self.with_queue(port, now, expire).unwrap_or_default();
                self.count_lost(port, &lost, DropReason::Watchdog);
                self.resume(&classes, now);
            }
        }
    }

    /// Lets an endpoint wait for the end of a pause of `port`. Returns false if the port cannot be paused.
    pub fn set_wake_up(&mut self, port: usize, wake_up: WakeUp) -> bool {
        let queue = self.lossless_mut(port);
        queue.map(|queue| queue.wake_up = Some(wake_up)).is_some()
    }

    /// Sets the timer of the endpoint that waits for the end of a pause of `port`, if one does.
    pub fn wake_up(&mut self, port: usize, now: u64) {
        let wake_up = self.lossless_mut(port).and_then(|queue| queue.wake_up.take());
        if let Some((wake_up, scheduled)) = wake_up.zip(self.states.ports[port].scheduled()) {
            self.set_timer(Timer {
                time: wake_up.time(now),
                node: scheduled.server.from,
                key: wake_up.key,
            });
        }
    }

    /// Sets the watchdog of a pause at the current node.
    fn set_watchdog(&mut self, event: PauseEvent) {
        if let Some(pauses) = &mut self.pauses {
            if event.time < self.end {
                pauses.due.push(Reverse(event));
            } else {
                pauses.events.push(Reverse(event));
            }
        }
    }
}
