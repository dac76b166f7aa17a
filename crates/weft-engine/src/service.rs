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

use crate::backlogs::Backlogs;
use crate::links::Links;
use crate::network::PartitionNetwork;
use crate::packet::{CE, ECT, Packet};
use crate::pauses::Pauses;
use crate::port::{NO_SERVICE, Port};
use crate::port_state::{Distribution, PortQueue, ScheduledPort, Server};
use crate::route::{HopBits, Route};
use crate::telemetry::Telemetry;
use weft_queues::{
    Arriving, Decision, Departure, DropReason, Fate, Queue, Refused, ScheduledQueue, View, Work,
};

/// The effects of a change of a link on the receiving ring.
#[derive(Default)]
pub struct ChangeEffects {
    /// The packet whose transmission begins at the time of the change, before the change, if the ring is that of another
    /// partition.
    pub begun: Option<Packet>,
    /// Packets that waited and are lost.
    pub lost: Vec<Packet>,
    /// True if the packet being sent, the last one of the ring, is lost.
    pub loses_last: bool,
    /// The new time of arrival of the packet being sent, if it changes.
    pub last_arrival: Option<u64>,
}

/// A port with a scheduled queue, and what its transmissions touch, apart from the queue.
struct Access<'a> {
    port: usize,
    output: &'a mut Port,
    server: &'a mut Server,
    marks: &'a mut u64,
    distribution: Option<&'a mut Distribution>,
    links: &'a mut Links,
    backlogs: &'a mut Backlogs,
    pauses: &'a mut Option<Box<Pauses>>,
    telemetry: &'a mut Option<Box<Telemetry>>,
    hops: HopBits,
}

impl Access<'_> {
    /// Begins the transmission of a packet.
    #[inline(always)]
    fn begin(&mut self, packet: Packet, now: u64) {
        if let Some(telemetry) = self.telemetry {
            let copy = packet; // So that the other one need not be in memory.
            telemetry.begin(self.port, self.output, now, &copy);
        }
        let time = self.output.begin_scheduled(now, packet.size);
        self.links.put(self.output, &packet, time);
    }
}

/// The arrival of a packet at `now`, whose transmission begins at `ready` if it need not wait.
struct Arrive<'a> {
    access: Access<'a>,
    now: u64,
    ready: u64,
    packet: &'a Packet,
    route: Route,
}

/// The part of an arrival that the rest of the network completes.
struct OpenArrival {
    accepted: bool,
    begins: bool,
    frame: Option<u32>,
    refused: Option<Refused>,
}

impl Work for Arrive<'_> {
    type Output = Option<OpenArrival>;

    #[inline(always)]
    fn on(self, queue: &mut impl Queue) -> Option<OpenArrival> {
        let Self { mut access, now, .. } = self;
        let mut packet = Arriving::new(self.packet, self.route);
        let mut refused = None;
        let free_at = access.server.free_at(access.output.busy_until);
        let mut view = access.server.view(
            access.port,
            now,
            free_at <= now,
            access.hops,
            access.pauses,
            &mut refused,
        );
        let arrival = queue.enqueue(&mut packet, &mut view);
        if arrival.accepted {
            let (bytes, marks) = (u64::from(packet.size), u64::from(arrival.marked));
            access.output.packets += 1;
            access.output.bytes += bytes;
            *access.marks += marks;
            if let Some(class) = access.server.classes.get_mut(usize::from(arrival.class)) {
                class.packets += 1;
                class.bytes += bytes;
                class.marks += marks;
            }
        }
        if arrival.passes {
            access.begin(packet.packet(), self.ready);
            return None;
        }
        if arrival.begins || arrival.frame.is_some() || refused.is_some() {
            return Some(OpenArrival {
                accepted: arrival.accepted,
                begins: arrival.begins,
                frame: arrival.frame,
                refused,
            });
        }
        if access.output.service() == NO_SERVICE && free_at > now && queue.is_ready() {
            access.output.set_service(free_at);
            access.backlogs.insert(access.port);
        }
        None
    }
}

/// The services of a port until a time, this time included.
struct Serve<'a> {
    access: Access<'a>,
    until: u64,
    /// True if the packet that is chosen has just come, so that it does not wait even if it is sent later.
    starts: bool,
}

/// A reason to leave the services of a port, and its time: the rest of the network acts before the next service.
enum Interruption {
    /// The pause frame that waits is sent before packets.
    Frame(u64),
    /// A pause frame is to be sent over this port.
    Request(u32, u64),
    /// The packet that was chosen is dropped, and another one takes its place.
    Drop(Packet, DropReason, u64),
}

impl Work for Serve<'_> {
    type Output = Option<Interruption>;

    #[inline(always)]
    fn on(self, queue: &mut impl Queue) -> Option<Interruption> {
        let Self {
            mut access,
            until,
            starts,
        } = self;
        while access.output.service() <= until {
            let now = access.output.service();
            access.output.set_service(NO_SERVICE);
            if let Some(distribution) = access.distribution.as_mut().filter(|_| !starts) {
                distribution.add_time(queue.waiting(), now);
            }
            if access.server.wants_frame {
                return Some(Interruption::Frame(now));
            }
            let mut refused = None;
            let mut view =
                access
                    .server
                    .view(access.port, now, true, access.hops, access.pauses, &mut refused);
            let Departure {
                mut packet,
                decision,
                frame,
            } = queue.dequeue(&mut view)?;
            match decision {
                Decision::Drop(reason) => return Some(Interruption::Drop(packet, reason, now)),
                Decision::Mark if packet.flags & ECT != 0 => {
                    *access.marks += 1;
                    access
                        .server
                        .count(queue.class_of(&packet), |class| class.marks += 1);
                    packet.flags |= CE;
                }
                _ => {}
            }
            access.begin(packet, now);
            if queue.is_ready() {
                let free_at = access.server.free_at(access.output.busy_until);
                access.output.set_service(free_at);
            }
            if let Some(frame) = frame {
                return Some(Interruption::Request(frame, now));
            }
        }
        None
    }
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
        let is_idle = scheduled.server.free_at(self.ports[port].busy_until) <= now;
        let refused = &mut None;
        let mut view = scheduled
            .server
            .view(port, now, is_idle, self.hops, &mut self.pauses, refused);
        Some(act(scheduled, &mut view))
    }

    /// Returns the queue of `port`, if it is scheduled, and access to the rest of the port.
    #[inline(always)]
    fn access(&mut self, port: usize) -> Option<(&mut ScheduledQueue, Access<'_>)> {
        let state = &mut self.states.ports[port];
        let PortQueue::Scheduled(scheduled) = &mut state.queue else {
            return None;
        };
        let access = Access {
            port,
            output: &mut self.ports[port],
            server: &mut scheduled.server,
            marks: &mut state.marks,
            distribution: state.distribution.as_mut(),
            links: &mut self.links,
            backlogs: &mut self.backlogs,
            pauses: &mut self.pauses,
            telemetry: &mut self.telemetry,
            hops: self.hops,
        };
        Some((&mut scheduled.queue, access))
    }

    /// Enqueues a packet at a port that has not accepted it at once. Its serialisation begins at `ready` if the port is idle.
    /// (The packet is passed by value: one that a host creates then need not be in memory unless its queue is scheduled.)
    #[inline(never)]
    pub fn schedule(&mut self, port: usize, now: u64, ready: u64, packet: Packet, route: Route) {
        let Some(scheduled) = self.states.ports[port].scheduled() else {
            return self.enqueue_out_of_line(port, now, ready, &packet, route);
        };
        if self.may_pause(scheduled.server.node, &packet) {
            let node = scheduled.server.node;
            self.serve_node_until(node, scheduled.server.node_ports.clone(), now);
        } else if self.ports[port].service() <= now {
            self.serve_until(port, now);
        }
        let state = &mut self.states.ports[port];
        state.add_time(now);
        if state.down {
            return self.count_dropped(port, &Packet { route, ..packet }, DropReason::LinkDown);
        }
        let Some((queue, access)) = self.access(port) else {
            return;
        };
        let open = queue.work(Arrive {
            access,
            now,
            ready,
            packet: &packet,
            route,
        });
        if let Some(open) = open {
            self.finish_arrival(port, now, ready, &open);
        }
    }

    /// Completes an arrival at a port.
    #[inline(never)]
    fn finish_arrival(&mut self, port: usize, now: u64, ready: u64, open: &OpenArrival) {
        let sent_back = open
            .refused
            .and_then(|refused| self.count_refused(port, open.accepted, &refused));
        if let Some(frame) = open.frame {
            self.request_frame(frame as usize, now);
        }
        if open.begins {
            self.start_service(port, ready);
        } else if self.free_at(port) > now {
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
        let Some((scheduled, route)) = scheduled.zip(routes).and_then(|(scheduled, routes)| {
            Some((scheduled, routes.route_back(scheduled.server.from, header)?))
        }) else {
            self.count_dropped(port, header, DropReason::NoRoute);
            return;
        };
        let (hop, rest) = route.next(self.hops);
        self.forward(
            (scheduled.server.node_ports.start + hop) as usize,
            now,
            header,
            rest,
        );
    }

    /// Enqueues a packet at a FIFO that telemetry observes.
    pub fn enqueue_observed(&mut self, port: usize, now: u64, packet: &Packet) {
        self.complete_records(port, now);
        let output = &mut self.ports[port];
        let start = output.busy_until.max(now);
        let accepted = output.enqueue_observed(&mut self.states, port, now, packet.size, packet.flags);
        let Some((time, flags)) = accepted else {
            if self.count_refusal(now, packet) {
                self.enqueue_observed(port, now, packet);
            }
            return;
        };
        let telemetry = self.telemetry.as_mut();
        if telemetry.is_some_and(|t| t.accept(port, &self.ports[port], start, now, packet)) {
            self.backlogs.insert(port);
        }
        self.links
            .put(&self.ports[port], &Packet { flags, ..*packet }, time);
    }

    /// Completes the records of telemetry of the packets that a FIFO has begun to send by `now`. Returns the time at which it
    /// begins to send the next packet that asks for telemetry.
    pub fn complete_records(&mut self, port: usize, now: u64) -> Option<u64> {
        self.telemetry.as_mut()?.complete(port, &self.ports[port], now)
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
    fn start_service(&mut self, port: usize, begin: u64) {
        self.set_service(port, begin);
        self.serve(port, begin, true);
    }

    /// Returns when the packet and the pause frames that a port is sending have left.
    #[inline(always)]
    pub fn free_at(&self, port: usize) -> u64 {
        let busy_until = self.ports[port].busy_until;
        let scheduled = self.states.ports[port].scheduled();
        scheduled.map_or(busy_until, |scheduled| scheduled.server.free_at(busy_until))
    }

    /// Schedules the end of the transmission if a packet or a pause frame waits for it.
    #[inline(never)]
    pub fn schedule_service(&mut self, port: usize) {
        let busy_until = self.ports[port].busy_until;
        let Some(state) = self.states.ports[port].scheduled_mut() else {
            return;
        };
        let time = state.server.free_at(busy_until);
        if state.server.wants_frame || state.queue.is_ready() {
            self.set_service(port, time);
        }
    }

    /// Serves a port until `now`, this time included.
    pub fn serve_until(&mut self, port: usize, now: u64) {
        self.serve(port, now, false);
    }

    /// Serves a port until `until`, this time included. `starts` is true if the packet that is chosen has just come.
    #[inline(never)]
    fn serve(&mut self, port: usize, until: u64, starts: bool) {
        loop {
            let Some((queue, access)) = self.access(port) else {
                return;
            };
            let interruption = queue.work(Serve {
                access,
                until,
                starts,
            });
            match interruption {
                None => return,
                Some(Interruption::Frame(at)) => {
                    if !self.send_frame(port, at) {
                        self.set_service(port, at);
                    }
                }
                Some(Interruption::Request(frame, at)) => self.request_frame(frame as usize, at),
                Some(Interruption::Drop(packet, reason, at)) => {
                    self.drop_departure(port, &packet, reason);
                    self.set_service(port, at);
                }
            }
        }
    }

    /// Sets the time of the next service of a port.
    fn set_service(&mut self, port: usize, time: u64) {
        self.ports[port].set_service(time);
        self.backlogs.insert(port);
    }

    /// Serves the ports of a node until `now`, this time included: in order of time while a link into the node is to be
    /// paused.
    pub fn serve_node_until(&mut self, node: u32, ports: Range<u32>, now: u64) {
        let ports = ports.start as usize..ports.end as usize;
        while self.is_pausing(node) {
            match self.first_service(ports.clone()) {
                Some((time, port)) if time <= now => self.serve_until(port, time),
                _ => return,
            }
        }
        for port in ports {
            if self.ports[port]
                .scheduled_service()
                .is_some_and(|time| time <= now)
            {
                self.serve_until(port, now);
            }
        }
    }

    /// Returns true if a link into the node is to be paused.
    fn is_pausing(&self, node: u32) -> bool {
        let pauses = self.pauses.as_ref();
        pauses.is_some_and(|pauses| pauses.ingress.is_pausing(node))
    }

    /// Returns the time of the next service of these ports, and its port: the first one of several.
    fn first_service(&self, ports: Range<usize>) -> Option<(u64, usize)> {
        let services = self.ports[ports.clone()].iter().zip(ports);
        services
            .filter_map(|(port, number)| Some((port.scheduled_service()?, number)))
            .min()
    }

    /// Serves a port until `now`, this time included, and all ports of its node if a link into that is to be paused.
    pub fn serve_port_until(&mut self, port: usize, now: u64) {
        match (&self.pauses, self.states.ports[port].scheduled()) {
            (Some(pauses), Some(scheduled)) if pauses.ingress.is_pausing(scheduled.server.node) => {
                let node = scheduled.server.node;
                self.serve_node_until(node, scheduled.server.node_ports.clone(), now);
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
        let is_independent = self.pauses.is_none();
        let mut next = u64::MAX;
        for word in 0..self.backlogs.words() {
            if self.prefetches_queues {
                let ports = || self.backlogs.of_word(word);
                ports().for_each(|port| self.prefetch_port(port));
                ports().for_each(|port| self.prefetch_queue(port));
                ports().for_each(|port| self.prefetch_packets(port));
            }
            for port in self.backlogs.of_word(word) {
                self.serve_port_until(port, now);
                if is_independent {
                    next = next.min(self.first_service_after(port, now));
                }
            }
        }
        // The service of a port that ends a pause changes that of another one.
        for word in (0..self.backlogs.words()).filter(|_| !is_independent) {
            for port in self.backlogs.of_word(word) {
                next = next.min(self.first_service_after(port, now));
            }
        }
        self.backlogs.end_window(next);
    }

    /// Returns the time of the first service of a port that has been served until `now`. A port without one leaves the
    /// backlogs.
    fn first_service_after(&mut self, port: usize, now: u64) -> u64 {
        let first = match self.states.ports[port].scheduled() {
            Some(_) => self.ports[port].service(),
            None => self.complete_records(port, now).unwrap_or(NO_SERVICE),
        };
        if first == NO_SERVICE {
            self.backlogs.remove(port);
        }
        first
    }

    /// Sends the pause frame that waits at an idle port, or begins the next transmission.
    pub fn next_service(&mut self, port: usize, now: u64) {
        let scheduled = self.states.ports[port].scheduled();
        let wants_frame = scheduled.is_some_and(|scheduled| scheduled.server.wants_frame);
        if !(wants_frame && self.send_frame(port, now)) {
            self.start_service(port, now);
        }
    }

    /// Changes the link of a port with a scheduled queue at `now`. Transmissions that end at `now` have
    /// ended.
    pub fn change_scheduled(&mut self, port: usize, now: u64, change: LinkChange) -> ChangeEffects {
        let mut effects = ChangeEffects::default();
        self.serve_until(port, now);
        let output = &mut self.ports[port];
        let begun = self.links.outboxes[output.partition as usize].pop();
        effects.begun = begun.map(|(_, packet)| packet);
        let is_sending = !output.is_idle(now);
        match change {
            LinkChange::Down => {
                effects.loses_last = is_sending;
                output.busy_until = output.busy_until.min(now);
                output.set_service(NO_SERVICE);
                let state = &mut self.states.ports[port];
                state.add_time(now);
                state.down = true;
                if let Some(scheduled) = state.scheduled_mut() {
                    scheduled.server.frames_until = scheduled.server.frames_until.min(now);
                    scheduled.server.wants_frame = false;
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
