//! Ports whose departures are not known when packets arrive: packets wait in the port, and the port
//! chooses the next packet when the one before it has left.
//!
//! A service event is the end of a transmission after which another packet waits. Service events of
//! later windows are in a timer wheel, those of the current window and node in a sorted list. A packet that
//! is chosen at some time arrives at least one lookahead later, so windows remain independent.

use weft_fabric::LinkChange;

use crate::network::PartitionNetwork;
use crate::packet::{ECT, Packet};
use crate::queue::{Decision, Fate, ServedQueue};
use crate::route::Route;
use crate::timers::Timer;

/// A served port.
pub struct ServedPort {
    /// Sending and receiving node, numbered over all partitions.
    pub from: u32,
    pub to: u32,
    /// First port of the sending node in the partition.
    first_port: u32,
    /// The packets that wait, and the choice among them.
    pub queue: ServedQueue,
    /// Counters of each class of the queue, if it has classes.
    pub classes: Vec<ClassCounters>,
    /// End of the last pause frame, which is sent before packets that wait.
    pub frames_until: u64,
    /// Whether a pause frame waits for the end of a transmission.
    pub wants_frame: bool,
    /// Time of the pending service event.
    event: Option<u64>,
}

/// Counters of a class of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets accepted by the queue, without those that it lost when the link failed: these count
    /// as dropped.
    pub packets: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets of the class that were cut to headers, without those whose headers were dropped at once.
    pub trims: u64,
}

/// Routes of the headers that switches send back to the senders of packets.
pub trait ReturnRoutes: Send + Sync {
    /// Returns a route from `node`, a switch, to the sender of `header`; `None` if there is none, and the
    /// header is dropped.
    fn route_back(&self, node: u32, header: &Packet) -> Option<Route>;
}

impl ServedPort {
    /// Creates an idle port.
    pub fn new(from: u32, to: u32, first_port: u32, queue: ServedQueue) -> Self {
        Self {
            from,
            to,
            first_port,
            classes: vec![ClassCounters::default(); queue.classes()],
            queue,
            frames_until: 0,
            wants_frame: false,
            event: None,
        }
    }

    /// First port of the sending node in the partition.
    pub fn first_port(&self) -> usize {
        self.first_port as usize
    }

    /// Applies a change to the counters of the class of a packet.
    pub fn count(&mut self, packet: &Packet, change: impl FnOnce(&mut ClassCounters)) {
        if let Some(class) = self.queue.class_of(packet) {
            change(&mut self.classes[class]);
        }
    }
}

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
    /// Enqueues a packet at a served port at `now`. Its serialisation begins at `ready` if the port is
    /// idle.
    #[inline(always)]
    pub fn enqueue_served(&mut self, port: usize, served: usize, now: u64, ready: u64, packet: Packet) {
        if let ServedQueue::Lossless(_) = self.served[served].queue {
            self.enqueue_lossless(port, served, now, ready, packet);
        } else {
            self.enqueue_unpaused(port, served, now, ready, packet);
        }
    }

    /// Does what [`enqueue_served`](Self::enqueue_served) does, at a port that cannot be paused.
    fn enqueue_unpaused(&mut self, port: usize, served: usize, now: u64, ready: u64, packet: Packet) {
        let (state, admission) = (&mut self.served[served], &mut self.admissions.ports[port]);
        admission.add_time(|| state.queue.len(), now);
        let arrival = state.queue.offer(packet, admission);
        if arrival.accepted {
            admission.marks += u64::from(arrival.marked);
            state.count(&packet, |class| class.marks += u64::from(arrival.marked));
            self.count_in(port, served, &packet);
        }
        let mut sent_back = None;
        if let Some((victim, left, fate)) = arrival.victim {
            if arrival.accepted {
                self.count_out(port, served, &victim);
            }
            let trims = u64::from(fate != Fate::Dropped && !victim.is_trimmed());
            self.served[served].count(&victim, |class| class.trims += trims);
            match fate {
                Fate::Queued => self.count_in(port, served, &left),
                Fate::SentBack => sent_back = Some(left),
                Fate::Dropped => {
                    self.admissions.ports[port].drops += 1;
                    self.served[served].count(&left, |class| class.drops += 1);
                    self.count_drop(&left);
                }
            }
        }
        if !self.ports[port].is_idle(now) {
            self.schedule_service(port, served);
        } else if let Some(packet) = self.begin_service(port, served, ready) {
            self.deliver(port, &packet, packet.time, packet.route, packet.flags);
        }
        if let Some(header) = sent_back {
            self.send_back(served, now, &header);
        }
    }

    /// Counts a packet that joins the queue of a served port.
    pub fn count_in(&mut self, port: usize, served: usize, packet: &Packet) {
        let (output, bytes) = (&mut self.ports[port], u64::from(packet.size));
        output.packets += 1;
        output.bytes += bytes;
        self.served[served].count(packet, |class| {
            class.packets += 1;
            class.bytes += bytes;
        });
    }

    /// Counts a packet that leaves the queue of a served port without being sent.
    fn count_out(&mut self, port: usize, served: usize, packet: &Packet) {
        let (output, bytes) = (&mut self.ports[port], u64::from(packet.size));
        output.packets -= 1;
        output.bytes -= bytes;
        self.served[served].count(packet, |class| {
            class.packets -= 1;
            class.bytes -= bytes;
        });
    }

    /// Sends a header from the node of a served port to the packet's sender.
    fn send_back(&mut self, served: usize, now: u64, header: &Packet) {
        let ServedPort { from, first_port, .. } = self.served[served];
        let routes = self.return_routes.as_ref();
        let Some(route) = routes.and_then(|routes| routes.route_back(from, header)) else {
            self.count_drop(header);
            return;
        };
        let (hop, rest) = route.next(self.hops);
        self.forward((first_port + hop) as usize, now, header, rest);
    }

    /// Chooses the next packet, whose transmission begins at `begin`. Returns the packet with its time
    /// of arrival; `None` if none waits.
    #[must_use]
    #[inline(always)]
    pub fn begin_service(&mut self, port: usize, served: usize, begin: u64) -> Option<Packet> {
        if let ServedQueue::Lossless(_) = self.served[served].queue {
            return self.begin_lossless(port, served, begin);
        }
        self.begin_other(port, served, begin)
    }

    /// Does what [`begin_service`](Self::begin_service) does, at a port that cannot be paused.
    fn begin_other(&mut self, port: usize, served: usize, begin: u64) -> Option<Packet> {
        loop {
            let (mut packet, decision) = self.served[served].queue.pop()?;
            let admission = &mut self.admissions.ports[port];
            if decision == Decision::Drop {
                admission.drops += 1;
                self.count_out(port, served, &packet);
                self.count_drop(&packet);
                continue;
            }
            if decision == Decision::Mark && packet.flags & ECT != 0 {
                admission.mark(&mut packet.flags);
                self.served[served].count(&packet, |class| class.marks += 1);
            }
            let output = &mut self.ports[port];
            output.busy_until = begin + output.serialisation(packet.size.into());
            packet.time = output.busy_until + output.delay();
            self.schedule_service(port, served);
            return Some(packet);
        }
    }

    /// Returns when the packet and the pause frames that a served port is sending have left.
    pub fn free_at(&self, port: usize) -> u64 {
        let busy_until = self.ports[port].busy_until;
        let served = self.admissions.ports[port].served();
        served.map_or(busy_until, |served| self.served_free_at(port, served))
    }

    /// Returns [`free_at`](Self::free_at) of the served port `served`.
    pub fn served_free_at(&self, port: usize, served: usize) -> u64 {
        self.served[served].frames_until.max(self.ports[port].busy_until)
    }

    /// Schedules the end of the transmission if a packet or a pause frame waits for it.
    pub fn schedule_service(&mut self, port: usize, served: usize) {
        let (state, busy_until) = (&mut self.served[served], self.ports[port].busy_until);
        let time = busy_until.max(state.frames_until);
        if !(state.queue.is_ready() || state.wants_frame) || state.event == Some(time) {
            return;
        }
        state.event = Some(time);
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
        let served = self.admissions.ports[port].served()?;
        let state = &mut self.served[served];
        if state.event != Some(now) {
            return None;
        }
        // After a failure, events of earlier packets are obsolete. A pause frame comes before packets.
        let free_at = self.ports[port].busy_until.max(state.frames_until);
        if free_at != now {
            if free_at > now {
                self.schedule_service(port, served);
            }
            return None;
        }
        state.event = None;
        self.admissions.ports[port].add_time(|| state.queue.len(), now);
        self.next_service(port, served, now)
    }

    /// Sends the pause frame that waits at an idle port, or begins the next transmission and returns its
    /// packet.
    #[must_use]
    #[inline(always)]
    pub fn next_service(&mut self, port: usize, served: usize, now: u64) -> Option<Packet> {
        if self.served[served].wants_frame && self.send_frame(port, now) {
            return None;
        }
        self.begin_service(port, served, now)
    }

    /// Changes the link of a served port at `now`. Transmissions that end at `now` have ended.
    pub fn change_served(
        &mut self,
        port: usize,
        served: usize,
        now: u64,
        change: LinkChange,
    ) -> ChangeEffects {
        let begun = self.end_service(port, now);
        let state = &mut self.served[served];
        let (output, admission) = (&mut self.ports[port], &mut self.admissions.ports[port]);
        let is_sending = !output.is_idle(now);
        let mut effects = ChangeEffects {
            begun,
            ..ChangeEffects::default()
        };
        match change {
            LinkChange::Down => {
                admission.add_time(|| state.queue.len(), now);
                effects.loses_last = is_sending;
                output.busy_until = output.busy_until.min(now);
                state.frames_until = state.frames_until.min(now);
                state.wants_frame = false;
                admission.down = true;
                effects.lost = match &mut state.queue {
                    ServedQueue::Lossless(_) => self.clear_lossless(port, now),
                    queue => queue.clear(),
                };
            }
            LinkChange::Up => {
                admission.down = false;
                self.request_frame(port, now);
            }
            LinkChange::Rate(rate) => output.set_served_rate(rate),
            LinkChange::Delay(delay) => {
                output.set_served_delay(delay);
                effects.last_arrival = is_sending.then(|| output.busy_until + delay.0);
            }
        }
        effects
    }

    /// Counts packets of a served port that a failure has lost.
    pub fn count_lost(&mut self, port: usize, lost: &[Packet]) {
        let Some(served) = self.admissions.ports[port].served() else {
            return;
        };
        for packet in lost {
            self.admissions.ports[port].drops += 1;
            self.count_out(port, served, packet);
            self.served[served].count(packet, |class| class.drops += 1);
            self.count_drop(packet);
        }
    }

    /// Returns how many packets wait at `port` at `now`, which is not before the last event.
    pub fn queue_length(&self, port: usize, now: u64) -> u32 {
        match self.admissions.ports[port].served() {
            Some(served) => self.served[served].queue.len() as u32,
            None => self.ports[port].length(now),
        }
    }

    /// Returns how many bytes wait at `port` at `now`, which is not before the last event.
    pub fn queue_bytes(&self, port: usize, now: u64) -> u64 {
        match self.admissions.ports[port].served() {
            Some(_) => self.waiting(port).map(|packet| u64::from(packet.size)).sum(),
            None => self.ports[port].length_in_bytes(now),
        }
    }

    /// Returns the packets that wait at a served port.
    pub fn waiting(&self, port: usize) -> impl Iterator<Item = &Packet> {
        let served = self.admissions.ports[port].served();
        served
            .into_iter()
            .flat_map(|served| self.served[served].queue.packets())
    }
}
