//! Ports with scheduled queues: the next packet is chosen when the one before it has left.
//!
//! A service is the end of a transmission after which another packet waits. A packet that is chosen at some time
//! arrives at least one lookahead later, so windows remain independent.
//!
//! Unless links can be paused, nothing but the port's own packets depends on a service. A port then serves all that is
//! due when it is used next, and at the end of a window, and needs no events. If links can be paused, a service may end
//! a pause of another link. Services are events then: those of later windows are in a timer wheel, those of the current
//! window and node in a sorted list.

use std::ops::Range;

use weft_fabric::LinkChange;
use weft_spec::Rate;

use crate::network::PartitionNetwork;
use crate::packet::{CE, ECT, Packet};
use crate::port::Enqueued;
use crate::port_state::ScheduledPort;
use crate::timers::Timer;
use weft_queues::{Decision, Departure, DropReason, Fate, Queue, Refused, View};

/// The effects of a change of a link on the receiving ring.
#[derive(Default)]
pub struct ChangeEffects {
    /// The packet whose transmission begins at the time of the change, before the change.
    pub begun: Option<Packet>,
    /// Packets that waited and are lost.
    pub lost: Vec<Packet>,
    /// True if the packet being sent, the last one of the ring, is lost.
    pub loses_last: bool,
    /// The new time of arrival of the packet being sent, if it changes.
    pub last_arrival: Option<u64>,
}

impl PartitionNetwork {
    /// Calls a function with the scheduled queue of `port` and what it sees at `now`; `None` if the queue
    /// is not scheduled.
    #[inline(always)]
    pub fn with_queue<R>(
        &mut self,
        port: usize,
        now: u64,
        act: impl FnOnce(&mut ScheduledPort, &mut View<'_>) -> R,
    ) -> Option<R> {
        let scheduled = self.states.ports[port].scheduled_mut()?;
        let mut view = View {
            now,
            is_idle: self.ports[port].busy_until.max(scheduled.frames_until) <= now,
            has_frame: scheduled.wants_frame,
            port: port as u32 - scheduled.first_port,
            hops: self.hops,
            refused: None,
            ingress: self.pauses.as_mut().map(|pauses| &mut pauses.ingress),
        };
        Some(act(scheduled, &mut view))
    }

    /// Enqueues a packet at a port with a scheduled queue, or one that is observed, at `now`. Its serialisation begins at
    /// `ready` if the port is idle. (The packet is passed as a value: a packet that a host creates then need not be in
    /// memory unless its queue is scheduled.)
    #[inline(never)]
    pub fn schedule(&mut self, port: usize, now: u64, ready: u64, packet: Packet) {
        if self.states.ports[port].scheduled().is_none() {
            return self.enqueue_observed(port, now, &packet);
        }
        self.serve_until(port, now);
        let state = &mut self.states.ports[port];
        state.add_time(now);
        if state.down {
            self.count_dropped(port, &packet, DropReason::LinkDown);
            return;
        }
        let enqueue = |scheduled: &mut ScheduledPort, view: &mut View<'_>| {
            (scheduled.queue.enqueue(packet, view), view.refused)
        };
        let Some((arrival, refused)) = self.with_queue(port, now, enqueue) else {
            return;
        };
        if arrival.accepted {
            self.count_accepted(port, &packet, arrival.marked);
        }
        let sent_back = refused.and_then(|refused| self.count_refused(port, arrival.accepted, &refused));
        if arrival.passes {
            let time = self.begin(port, ready, &packet);
            let mark = if arrival.marked { CE } else { 0 };
            self.deliver(port, &packet, time, packet.route, packet.flags | mark);
            return;
        }
        if let Some(frame) = arrival.frame {
            self.request_frame(frame as usize, now);
        }
        if arrival.begins {
            if let Some(packet) = self.begin_service(port, ready) {
                self.deliver(port, &packet, packet.time, packet.route, packet.flags);
            }
        } else if self.free_at(port) > now {
            self.schedule_service(port);
        }
        if let Some(header) = sent_back {
            self.send_back(port, now, &header);
        }
    }

    /// Counts a packet that arrived and was accepted.
    #[inline(always)]
    fn count_accepted(&mut self, port: usize, packet: &Packet, marked: bool) {
        self.count_in(port, packet);
        if marked {
            let state = &mut self.states.ports[port];
            state.marks += 1;
            if let Some(scheduled) = state.scheduled_mut() {
                scheduled.count(packet, |class| class.marks += 1);
            }
        }
    }

    /// Counts a packet for which there was no room; `had_waited` if it was not the arriving one. Returns a header that
    /// goes back to its sender.
    #[inline(never)]
    fn count_refused(&mut self, port: usize, had_waited: bool, refused: &Refused) -> Option<Packet> {
        let Refused {
            packet: victim,
            left,
            fate,
        } = *refused;
        if had_waited {
            self.count_out(port, &victim);
        }
        let trims = u64::from(!matches!(fate, Fate::Dropped(_)) && !victim.is_trimmed());
        if let Some(scheduled) = self.states.ports[port].scheduled_mut() {
            scheduled.count(&victim, |class| class.trims += trims);
        }
        match fate {
            Fate::Queued => self.count_in(port, &left),
            Fate::SentBack => return Some(left),
            Fate::Dropped(reason) => self.count_dropped(port, &left, reason),
        }
        None
    }

    /// Counts a packet that the queue of a port drops.
    #[cold]
    #[inline(never)]
    fn count_dropped(&mut self, port: usize, packet: &Packet, reason: DropReason) {
        let state = &mut self.states.ports[port];
        state.drops += 1;
        if let Some(scheduled) = state.scheduled_mut() {
            scheduled.count(packet, |class| class.drops += 1);
        }
        self.count_drop(packet, port, reason);
    }

    /// Counts a packet that joins the queue of a port.
    #[inline(always)]
    fn count_in(&mut self, port: usize, packet: &Packet) {
        let (output, bytes) = (&mut self.ports[port], u64::from(packet.size));
        output.packets += 1;
        output.bytes += bytes;
        if let Some(scheduled) = self.states.ports[port].scheduled_mut() {
            scheduled.count(packet, |class| {
                class.packets += 1;
                class.bytes += bytes;
            });
        }
    }

    /// Counts a packet that leaves the queue of a port without being sent.
    fn count_out(&mut self, port: usize, packet: &Packet) {
        let (output, bytes) = (&mut self.ports[port], u64::from(packet.size));
        output.packets -= 1;
        output.bytes -= bytes;
        if let Some(scheduled) = self.states.ports[port].scheduled_mut() {
            scheduled.count(packet, |class| {
                class.packets -= 1;
                class.bytes -= bytes;
            });
        }
    }

    /// Sends a header from the node of a port to the packet's sender.
    fn send_back(&mut self, port: usize, now: u64, header: &Packet) {
        let scheduled = self.states.ports[port].scheduled();
        let routes = self.return_routes.as_ref();
        let Some((scheduled, route)) = scheduled
            .zip(routes)
            .and_then(|(scheduled, routes)| Some((scheduled, routes.route_back(scheduled.from, header)?)))
        else {
            self.count_dropped(port, header, DropReason::NoRoute);
            return;
        };
        let (hop, rest) = route.next(self.hops);
        self.forward((scheduled.first_port + hop) as usize, now, header, rest);
    }

    /// Enqueues a packet at a FIFO that telemetry observes.
    fn enqueue_observed(&mut self, port: usize, now: u64, packet: &Packet) {
        self.complete_records(port, now);
        let output = &mut self.ports[port];
        let start = output.busy_until.max(now);
        match output.enqueue_observed(&mut self.states, port, now, packet.size, packet.flags) {
            Enqueued::Arrives(time, flags) => {
                let telemetry = self.telemetry.as_mut();
                if telemetry.is_some_and(|t| t.accept(port, &self.ports[port], start, now, packet)) {
                    self.backlogs.insert(port);
                }
                self.deliver(port, packet, time, packet.route, flags);
            }
            _ => self.count_fifo_drop(packet),
        }
    }

    /// Completes the records of telemetry of the packets that a FIFO has begun to send by `now`. Returns the time at which it
    /// begins to send the next packet that asks for telemetry.
    pub fn complete_records(&mut self, port: usize, now: u64) -> Option<u64> {
        self.telemetry.as_mut()?.complete(port, &self.ports[port], now)
    }

    /// Begins the transmission of a packet at `begin`. Returns the time of arrival at the far end.
    #[inline(always)]
    fn begin(&mut self, port: usize, begin: u64, packet: &Packet) -> u64 {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.begin(port, &self.ports[port], begin, packet);
        }
        let output = &mut self.ports[port];
        output.busy_until = begin + output.serialisation(packet.size.into());
        output.busy_until + output.delay()
    }

    /// Chooses the next packet, whose transmission begins at `begin`. Returns the packet with its time
    /// of arrival; `None` if none may be sent.
    #[must_use]
    #[inline(always)]
    fn begin_service(&mut self, port: usize, begin: u64) -> Option<Packet> {
        loop {
            let dequeue = |scheduled: &mut ScheduledPort, view: &mut View<'_>| scheduled.queue.dequeue(view);
            let departure = self.with_queue(port, begin, dequeue)??;
            let Departure {
                mut packet,
                decision,
                frame,
            } = departure;
            if let Decision::Drop(reason) = decision {
                self.count_out(port, &packet);
                self.states.ports[port].drops += 1;
                self.count_drop(&packet, port, reason);
                continue;
            }
            if decision == Decision::Mark && packet.flags & ECT != 0 {
                let state = &mut self.states.ports[port];
                state.mark(&mut packet.flags);
                if let Some(scheduled) = state.scheduled_mut() {
                    scheduled.count(&packet, |class| class.marks += 1);
                }
            }
            packet.time = self.begin(port, begin, &packet);
            self.schedule_service(port);
            if let Some(frame) = frame {
                self.request_frame(frame as usize, begin);
            }
            return Some(packet);
        }
    }

    /// Returns when the packet and the pause frames that a port is sending have left.
    #[inline(always)]
    pub fn free_at(&self, port: usize) -> u64 {
        let busy_until = self.ports[port].busy_until;
        let scheduled = self.states.ports[port].scheduled();
        scheduled.map_or(busy_until, |scheduled| scheduled.frames_until.max(busy_until))
    }

    /// Schedules the end of the transmission if a packet or a pause frame waits for it.
    #[inline(always)]
    pub fn schedule_service(&mut self, port: usize) {
        let busy_until = self.ports[port].busy_until;
        let Some(state) = self.states.ports[port].scheduled_mut() else {
            return;
        };
        let time = busy_until.max(state.frames_until);
        if state.event == Some(time) || !(state.wants_frame || state.queue.is_ready()) {
            return;
        }
        state.event = Some(time);
        if self.pauses.is_none() {
            self.backlogs.insert(port);
            return;
        }
        let timer = Timer {
            time,
            node: state.from,
            key: port as u64,
        };
        if time < self.end {
            // A node has few events in a window, so a sorted list costs less than a heap.
            let later = self.services_due.partition_point(|due| *due > timer);
            self.services_due.insert(later, timer);
        } else {
            self.services.push(timer);
        }
    }

    /// Serves a port until `now`, this time included, unless its services are events.
    #[inline(always)]
    pub fn serve_until(&mut self, port: usize, now: u64) {
        while let Some(time) = self.states.ports[port].scheduled().and_then(|state| state.event)
            && time <= now
            && self.pauses.is_none()
        {
            if let Some(packet) = self.end_service(port, time) {
                self.deliver(port, &packet, packet.time, packet.route, packet.flags);
            }
        }
    }

    /// Serves those of these ports at which packets wait.
    pub fn serve_ports_until(&mut self, ports: Range<usize>, now: u64) {
        for port in ports {
            if self.backlogs.contains(port) {
                self.serve_until(port, now);
            }
        }
    }

    /// Serves all ports until the end of the part of the window that is being processed.
    pub fn serve_window(&mut self) {
        self.serve_all_until(self.end - 1);
    }

    /// Serves all ports until `now`, this time included, and finds the first service after it.
    pub fn serve_all_until(&mut self, now: u64) {
        if self.backlogs.is_empty() {
            return;
        }
        let mut next = u64::MAX;
        for word in 0..self.backlogs.words() {
            for port in self.backlogs.of_word(word) {
                self.serve_until(port, now);
                let first = match self.states.ports[port].scheduled() {
                    Some(scheduled) => scheduled.event,
                    None => self.complete_records(port, now),
                };
                match first {
                    Some(time) => next = next.min(time),
                    None => self.backlogs.remove(port),
                }
            }
        }
        self.backlogs.end_window(next);
    }

    /// Processes the earliest service event of the current node.
    #[inline(always)]
    pub fn serve(&mut self) {
        let Some(timer) = self.services_due.pop() else {
            return;
        };
        let port = timer.key as usize;
        if let Some(packet) = self.end_service(port, timer.time) {
            self.deliver(port, &packet, packet.time, packet.route, packet.flags);
        }
    }

    /// Ends the transmission that ends at `now`, if any, and begins the next one. Returns its packet.
    #[must_use]
    #[inline(always)]
    pub fn end_service(&mut self, port: usize, now: u64) -> Option<Packet> {
        let busy_until = self.ports[port].busy_until;
        let scheduled = self.states.ports[port].scheduled_mut()?;
        if scheduled.event != Some(now) {
            return None;
        }
        // After a failure, events of earlier packets are obsolete. A pause frame comes before packets.
        let free_at = busy_until.max(scheduled.frames_until);
        scheduled.event = None;
        if free_at != now {
            if free_at > now {
                self.schedule_service(port);
            }
            return None;
        }
        self.states.ports[port].add_time(now);
        self.next_service(port, now)
    }

    /// Sends the pause frame that waits at an idle port, or begins the next transmission and returns its
    /// packet.
    #[must_use]
    #[inline(always)]
    pub fn next_service(&mut self, port: usize, now: u64) -> Option<Packet> {
        let scheduled = self.states.ports[port].scheduled()?;
        if scheduled.wants_frame && self.send_frame(port, now) {
            return None;
        }
        self.begin_service(port, now)
    }

    /// Changes the link of a port with a scheduled queue at `now`. Transmissions that end at `now` have
    /// ended.
    pub fn change_scheduled(&mut self, port: usize, now: u64, change: LinkChange) -> ChangeEffects {
        let mut effects = ChangeEffects {
            begun: self.end_service(port, now),
            ..ChangeEffects::default()
        };
        let output = &mut self.ports[port];
        let is_sending = !output.is_idle(now);
        match change {
            LinkChange::Down => {
                effects.loses_last = is_sending;
                output.busy_until = output.busy_until.min(now);
                let state = &mut self.states.ports[port];
                state.add_time(now);
                state.down = true;
                if let Some(scheduled) = state.scheduled_mut() {
                    scheduled.event = None;
                    scheduled.frames_until = scheduled.frames_until.min(now);
                    scheduled.wants_frame = false;
                }
                let clear = |scheduled: &mut ScheduledPort, view: &mut View<'_>| scheduled.queue.clear(view);
                let (lost, classes) = self.with_queue(port, now, clear).unwrap_or_default();
                effects.lost = lost;
                self.resume(&classes, now);
            }
            LinkChange::Up => {
                self.states.ports[port].down = false;
                self.request_frame(port, now);
            }
            LinkChange::Rate(rate) => output.set_scheduled_rate(rate),
            LinkChange::Delay(delay) => {
                output.set_scheduled_delay(delay);
                effects.last_arrival = is_sending.then(|| output.busy_until + delay.0);
            }
        }
        // The first service may have been one of this port, which no longer exists. A run with one partition may forget
        // it before it is due, whereas the partition of this port alone would process an empty window for it.
        self.serve_all_until(now.saturating_sub(1));
        effects
    }

    /// Counts packets that have waited in a scheduled queue and are dropped.
    pub fn count_lost(&mut self, port: usize, lost: &[Packet], reason: DropReason) {
        for packet in lost {
            self.count_out(port, packet);
            self.count_dropped(port, packet, reason);
        }
    }

    /// Informs telemetry that the link of `port` has failed.
    pub fn fail_records(&mut self, port: usize) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.fail(port, &self.ports[port]);
        }
    }

    /// Informs telemetry of the rate of the link of `port`.
    pub fn set_rate_of_records(&mut self, port: usize, rate: Rate) {
        if let Some(telemetry) = &mut self.telemetry {
            let output = &self.ports[port];
            telemetry.set_rate(port, rate, |before| output.start_after(before));
        }
    }
}
