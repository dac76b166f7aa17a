//! Ports with scheduled queues: the next packet is chosen when the one before it has left.
//!
//! A service is the end of a transmission after which another packet waits. A packet that is chosen at some time
//! arrives at least one lookahead later, so windows remain independent.
//!
//! Nothing but the port's own packets depends on a service, unless a link into the node is to be paused: a service may end
//! that pause. So services are no events. A port serves all that is due when it is used next, and at the end of a window.
//! If a link into the node is to be paused, or might be once a packet has arrived, the node serves all its ports, in order
//! of time.

use std::ops::Range;

use weft_fabric::LinkChange;
use weft_spec::Rate;

use crate::network::PartitionNetwork;
use crate::packet::{CE, ECT, Packet};
use crate::port::Enqueued;
use crate::port_state::{NO_EVENT, PortQueue, ScheduledPort};
use weft_queues::{Decision, DropReason, Fate, Queue, Refused, View};

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
        let is_idle = scheduled.free_at(self.ports[port].busy_until) <= now;
        let mut view = scheduled.view(port, now, is_idle, self.hops, &mut self.pauses);
        Some(act(scheduled, &mut view))
    }

    /// Enqueues a packet at a port with a scheduled queue, or one that is observed, at `now`. Its serialisation begins at
    /// `ready` if the port is idle. (The packet is passed as a value: a packet that a host creates then need not be in
    /// memory unless its queue is scheduled.)
    #[inline(never)]
    pub fn schedule(&mut self, port: usize, now: u64, ready: u64, packet: Packet) {
        let Some(scheduled) = self.states.ports[port].scheduled() else {
            return self.enqueue_observed(port, now, &packet);
        };
        if self.may_pause(scheduled.node, &packet) {
            self.serve_node_until(scheduled.node, scheduled.node_ports.clone(), now);
        } else if scheduled.event <= now {
            self.serve_until(port, now);
        }
        // The port is looked up once for all that follows.
        let (output, state) = (&mut self.ports[port], &mut self.states.ports[port]);
        state.add_time(now);
        if state.down {
            self.count_dropped(port, &packet, DropReason::LinkDown);
            return;
        }
        let PortQueue::Scheduled(scheduled) = &mut state.queue else {
            return;
        };
        let mut free_at = scheduled.free_at(output.busy_until);
        let mut view = scheduled.view(port, now, free_at <= now, self.hops, &mut self.pauses);
        let arrival = scheduled.queue.enqueue(packet, &mut view);
        if arrival.accepted {
            let bytes = u64::from(packet.size);
            output.packets += 1;
            output.bytes += bytes;
            state.marks += u64::from(arrival.marked);
            if let Some(class) = scheduled.classes.get_mut(usize::from(arrival.class)) {
                class.packets += 1;
                class.bytes += bytes;
                class.marks += u64::from(arrival.marked);
            }
        }
        if arrival.passes {
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.begin(port, output, ready, &packet);
            }
            let (time, ring) = (output.begin_scheduled(ready, packet.size), output.ring);
            let mark = if arrival.marked { CE } else { 0 };
            self.deliver_to(ring, port, &packet, time, packet.route, packet.flags | mark);
            return;
        }
        let event = scheduled.event;
        let mut sent_back = None;
        if let Some(refused) = view.refused {
            sent_back = self.count_refused(port, arrival.accepted, &refused);
        }
        if let Some(frame) = arrival.frame {
            self.request_frame(frame as usize, now);
            free_at = self.free_at(port);
        }
        if arrival.begins {
            self.start_service(port, ready);
        } else if free_at > now && event != free_at {
            self.schedule_service(port);
        }
        if let Some(header) = sent_back {
            self.send_back(port, now, &header);
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
        self.forward((scheduled.node_ports.start + hop) as usize, now, header, rest);
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

    /// Chooses the next packet, whose transmission begins at `begin`, and calls `put` with the packet, its time of
    /// arrival and its flags. Does nothing if none may be sent. (To return the packet would copy it three times.)
    #[inline(always)]
    fn begin_service(&mut self, port: usize, begin: u64, put: impl FnOnce(&mut Self, &Packet, u64, u16)) {
        loop {
            // The port is looked up once for all that follows.
            let (output, state) = (&mut self.ports[port], &mut self.states.ports[port]);
            let PortQueue::Scheduled(scheduled) = &mut state.queue else {
                return;
            };
            let is_idle = scheduled.free_at(output.busy_until) <= begin;
            let mut view = scheduled.view(port, begin, is_idle, self.hops, &mut self.pauses);
            let Some(departure) = scheduled.queue.dequeue(&mut view) else {
                return;
            };
            let packet = &departure.packet;
            let mut flags = packet.flags;
            match departure.decision {
                Decision::Drop(reason) => {
                    self.drop_departure(port, packet, reason);
                    continue;
                }
                Decision::Mark if flags & ECT != 0 => {
                    flags |= CE;
                    state.marks += 1;
                    scheduled.count(packet, |class| class.marks += 1);
                }
                _ => {}
            }
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.begin(port, output, begin, packet);
            }
            let arrival = output.begin_scheduled(begin, packet.size);
            if scheduled.wants_frame || departure.is_followed {
                let time = scheduled.free_at(output.busy_until);
                if scheduled.event != time {
                    scheduled.event = time;
                    self.backlogs.insert(port);
                }
            }
            if let Some(frame) = departure.frame {
                self.request_frame(frame as usize, begin);
            }
            return put(self, packet, arrival, flags);
        }
    }

    /// Drops a packet whose transmission was to begin.
    #[cold]
    #[inline(never)]
    fn drop_departure(&mut self, port: usize, packet: &Packet, reason: DropReason) {
        self.count_out(port, packet);
        self.states.ports[port].drops += 1;
        self.count_drop(packet, port, reason);
    }

    /// Begins the transmission of the packet that is chosen next, if there is one.
    #[inline(never)]
    fn start_service(&mut self, port: usize, begin: u64) {
        self.begin_service(port, begin, |network, packet, time, flags| {
            network.deliver(port, packet, time, packet.route, flags);
        });
    }

    /// Returns when the packet and the pause frames that a port is sending have left.
    #[inline(always)]
    pub fn free_at(&self, port: usize) -> u64 {
        let busy_until = self.ports[port].busy_until;
        let scheduled = self.states.ports[port].scheduled();
        scheduled.map_or(busy_until, |scheduled| scheduled.free_at(busy_until))
    }

    /// Schedules the end of the transmission if a packet or a pause frame waits for it.
    #[inline(never)]
    pub fn schedule_service(&mut self, port: usize) {
        let busy_until = self.ports[port].busy_until;
        let Some(state) = self.states.ports[port].scheduled_mut() else {
            return;
        };
        let time = state.free_at(busy_until);
        if state.event == time || !(state.wants_frame || state.queue.is_ready()) {
            return;
        }
        state.event = time;
        self.backlogs.insert(port);
    }

    /// Serves a port until `now`, this time included.
    #[inline(never)]
    pub fn serve_until(&mut self, port: usize, now: u64) {
        while let Some(scheduled) = self.states.ports[port].scheduled()
            && scheduled.event <= now
        {
            self.end_service(port, scheduled.event, |network, packet, time, flags| {
                network.deliver(port, packet, time, packet.route, flags);
            });
        }
    }

    /// Serves the ports of a node until `now`, this time included: in order of time while a link into the node is to be
    /// paused.
    pub fn serve_node_until(&mut self, node: u32, ports: Range<u32>, now: u64) {
        let ports = ports.start as usize..ports.end as usize;
        while let Some((event, port)) = self.next_in_order(node, ports.clone())
            && event <= now
        {
            self.end_service(port, event, |network, packet, time, flags| {
                network.deliver(port, packet, time, packet.route, flags);
            });
        }
        for port in ports {
            if self.backlogs.contains(port) {
                self.serve_until(port, now);
            }
        }
    }

    /// Returns the next service of a node with these ports, and its port, if a link into the node is to be paused.
    fn next_in_order(&self, node: u32, ports: Range<usize>) -> Option<(u64, usize)> {
        self.pauses
            .as_ref()
            .filter(|pauses| pauses.ingress.is_pausing(node))?;
        let backlogs = ports.filter(|&port| self.backlogs.contains(port));
        let events = backlogs.filter_map(|port| Some((self.states.ports[port].scheduled()?.event, port)));
        events.min()
    }

    /// Serves a port until `now`, this time included, and all ports of its node if a link into that is to be paused.
    pub fn serve_port_until(&mut self, port: usize, now: u64) {
        match (&self.pauses, self.states.ports[port].scheduled()) {
            (Some(pauses), Some(scheduled)) if pauses.ingress.is_pausing(scheduled.node) => {
                self.serve_node_until(scheduled.node, scheduled.node_ports.clone(), now);
            }
            _ => self.serve_until(port, now),
        }
    }

    /// Returns true if a link into a node is to be paused, or might be once this packet waits there.
    #[inline(always)]
    fn may_pause(&self, node: u32, packet: &Packet) -> bool {
        let ingress = self.pauses.as_ref().map(|pauses| &pauses.ingress);
        ingress.is_some_and(|ingress| ingress.is_pausing(node) || ingress.may_pause(packet))
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
        for word in 0..self.backlogs.words() {
            for port in self.backlogs.of_word(word) {
                self.serve_port_until(port, now);
            }
        }
        let mut next = u64::MAX;
        for word in 0..self.backlogs.words() {
            for port in self.backlogs.of_word(word) {
                let first = match self.states.ports[port].scheduled() {
                    Some(scheduled) => scheduled.event,
                    None => self.complete_records(port, now).unwrap_or(NO_EVENT),
                };
                if first == NO_EVENT {
                    self.backlogs.remove(port);
                }
                next = next.min(first);
            }
        }
        self.backlogs.end_window(next);
    }

    /// Ends the transmission that ends at `now`, if any, and begins the next one; see
    /// [`begin_service`](Self::begin_service).
    #[inline(always)]
    fn end_service(&mut self, port: usize, now: u64, put: impl FnOnce(&mut Self, &Packet, u64, u16)) {
        let (busy_until, state) = (self.ports[port].busy_until, &mut self.states.ports[port]);
        let PortQueue::Scheduled(scheduled) = &mut state.queue else {
            return;
        };
        if scheduled.event != now {
            return;
        }
        // After a failure, events of earlier packets are obsolete. A pause frame comes before packets.
        let free_at = scheduled.free_at(busy_until);
        scheduled.event = NO_EVENT;
        if free_at != now {
            if free_at > now {
                self.schedule_service(port);
            }
            return;
        }
        let wants_frame = scheduled.wants_frame;
        state.add_time(now);
        if wants_frame && self.send_frame(port, now) {
            return;
        }
        self.begin_service(port, now, put);
    }

    /// Sends the pause frame that waits at an idle port, or begins the next transmission.
    pub fn next_service(&mut self, port: usize, now: u64) {
        let scheduled = self.states.ports[port].scheduled();
        let wants_frame = scheduled.is_some_and(|scheduled| scheduled.wants_frame);
        if !(wants_frame && self.send_frame(port, now)) {
            self.start_service(port, now);
        }
    }

    /// Changes the link of a port with a scheduled queue at `now`. Transmissions that end at `now` have
    /// ended.
    pub fn change_scheduled(&mut self, port: usize, now: u64, change: LinkChange) -> ChangeEffects {
        let mut effects = ChangeEffects::default();
        self.end_service(port, now, |_, packet, time, flags| {
            effects.begun = Some(Packet {
                time,
                flags,
                ..*packet
            });
        });
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
                    scheduled.event = NO_EVENT;
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
