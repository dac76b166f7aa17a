//! The network of one partition: the ports of its nodes, the links into its nodes, and timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::Jitter;
use crate::backlogs::Backlogs;
use crate::drops::Drops;
use crate::hash::processing_time;
use crate::links::Links;
use crate::losses::Losses;
use crate::packet::Packet;
use crate::pauses::Pauses;
use crate::port::Port;
use crate::port_state::{PortStates, Refusal, ScheduledPort};
use crate::prefetch::prefetch;
use crate::route::{HopBits, Route};
use crate::telemetry::Telemetry;
use crate::timers::{Timer, Timers};
use weft_queues::DropReason;

/// Routes of the headers that switches send back to the senders of packets.
pub trait ReturnRoutes: Send + Sync {
    /// Returns a route from `node`, a switch, to the sender of `header`; `None` if there is none, and the
    /// header is dropped.
    fn route_back(&self, node: u32, header: &Packet) -> Option<Route>;
}

/// The state of a partition without its endpoints.
pub struct PartitionNetwork {
    /// Output ports of the partition's nodes.
    pub ports: Vec<Port>,
    /// Rest of the state of the ports, by the same index.
    pub states: PortStates,
    /// The links that the ports send into.
    pub links: Links,
    /// Losses of the links into the partition's nodes.
    pub losses: Losses,
    /// Pauses of links, if the network has lossless queues.
    pub pauses: Option<Box<Pauses>>,
    /// Ports at which packets or pause frames wait, and observed FIFOs.
    pub backlogs: Backlogs,
    /// Telemetry, if transports ask for it.
    pub telemetry: Option<Box<Telemetry>>,
    /// Timers after the current window.
    pub timers: Timers,
    /// Timers of the current node that are due in the current window.
    pub due: BinaryHeap<Reverse<Timer>>,
    /// End of the part of the window that is being processed, in picoseconds.
    pub end: u64,
    /// Seed of processing times at hosts.
    pub seed: u64,
    /// Maximum processing time at a host.
    pub jitter: Jitter,
    /// Routes of headers that go back to senders.
    pub return_routes: Option<Arc<dyn ReturnRoutes>>,
    /// Encoding of routes.
    pub hops: HopBits,
    /// Counts of packets dropped or lost.
    pub drops: Drops,
    /// True if the network is so large that scheduled queues, of which it has some, are prefetched.
    pub prefetches_queues: bool,
}

impl PartitionNetwork {
    /// Forwards `packet` with the remaining `route` over port `port` of the partition at `now`.
    #[inline(always)]
    pub fn forward(&mut self, port: usize, now: u64, packet: &Packet, route: Route) {
        self.transmit(port, now, now, packet, route);
    }

    /// Sends a packet that host `node` creates, after the host's processing time if the port is
    /// idle.
    #[inline(always)]
    pub fn send(&mut self, node: u32, port: usize, now: u64, packet: &Packet, route: Route) {
        let mut ready = now;
        if self.ports[port].is_idle(now) && self.jitter != Jitter::default() {
            let max = self
                .jitter
                .time
                .max(self.ports[port].serialisation(u32::from(self.jitter.packet)));
            ready += processing_time(self.seed, node, self.ports[port].packets, max);
        }
        self.transmit(port, now, ready, packet, route);
    }

    #[inline(always)]
    fn transmit(&mut self, port: usize, now: u64, ready: u64, packet: &Packet, route: Route) {
        let sender = &mut self.ports[port];
        let (size, flags) = (packet.size, packet.flags);
        match sender.enqueue(&mut self.states, port, now, ready, size, flags) {
            Some((time, flags)) => match self.links.local(sender.ring) {
                Some(local) => self.links.receive(local, packet, time, route, flags),
                None => self.post(port, packet, time, route, flags),
            },
            None => self.schedule(port, now, ready, *packet, route),
        }
    }

    /// Posts a packet that leaves `port` to the partition of its link.
    #[inline(never)]
    fn post(&mut self, port: usize, packet: &Packet, time: u64, route: Route, flags: u16) {
        let (ring, partition) = (self.ports[port].ring, self.ports[port].partition);
        let packet = Packet {
            time,
            route,
            flags,
            ..*packet
        };
        self.links.post(ring, partition, packet);
    }

    /// Prefetches the port that [`forward`](Self::forward) will use.
    #[inline(always)]
    pub fn prefetch_port(&self, port: usize) {
        prefetch(&self.ports[port]);
        if self.prefetches_queues {
            prefetch(&self.states.ports[port]);
        }
    }

    /// Prefetches what a [prefetched](Self::prefetch_port) port refers to: the ring of its link, and a scheduled queue.
    #[inline(always)]
    pub fn prefetch_queue(&self, port: usize) {
        self.links.prefetch_ring(self.ports[port].ring);
        if self.prefetches_queues {
            self.states.ports[port].scheduled().into_iter().for_each(prefetch);
        }
    }

    /// Prefetches what a [prefetched](Self::prefetch_queue) queue refers to: the place of the next packet on the link, and the
    /// packets of a scheduled queue that may be sent next, with the counters of its classes.
    #[inline(always)]
    pub fn prefetch_packets(&self, port: usize) {
        self.links.prefetch_push(self.ports[port].ring);
        if self.prefetches_queues
            && let Some(scheduled) = self.states.ports[port].scheduled()
        {
            scheduled.queue.prefetch();
            scheduled.server.classes.iter().for_each(prefetch);
        }
    }

    /// Enqueues a packet at a FIFO that is observed, or has just refused it.
    #[cold]
    #[inline(never)]
    pub fn enqueue_out_of_line(&mut self, port: usize, now: u64, ready: u64, packet: &Packet, route: Route) {
        if self.ports[port].is_observed() {
            self.enqueue_observed(port, now, &Packet { route, ..*packet });
        } else if self.count_refusal(now, packet) {
            self.transmit(port, now, ready, packet, route);
        }
    }

    /// Counts a packet that a FIFO has just dropped, or the buffer of the FIFO. Returns true if the packet is then to be
    /// enqueued once more.
    pub fn count_refusal(&mut self, now: u64, packet: &Packet) -> bool {
        let (port, refusal) = self.states.refusal;
        match refusal {
            Refusal::Dropped(reason) => self.count_drop(packet, port, reason),
            Refusal::Uncounted => Port::count_buffer(&mut self.ports, &mut self.states, port, now),
        }
        matches!(refusal, Refusal::Uncounted)
    }

    /// Counts a packet that is dropped at a port, or lost on the link of a ring.
    #[cold]
    #[inline(never)]
    pub fn count_drop(&mut self, packet: &Packet, place: usize, reason: DropReason) {
        self.drops.count(packet, place as u32, reason);
    }

    /// Sets a timer at a node of the partition. A timer that is due in the current window belongs
    /// to the current node.
    pub fn set_timer(&mut self, timer: Timer) {
        if timer.time < self.end {
            self.due.push(Reverse(timer));
        } else {
            self.timers.push(timer);
        }
    }

    /// The first window with an event in this partition; `u64::MAX` if there is none.
    pub fn next_window(&self) -> u64 {
        let timer = self.timers.next().unwrap_or(u64::MAX);
        let pause = self.pauses.as_ref().and_then(|pauses| pauses.next_time());
        let pause = pause.map_or(u64::MAX, |time| time / self.links.lookahead);
        let next = self.links.calendar.next().unwrap_or(u64::MAX);
        let backlog = match self.backlogs.next {
            u64::MAX => u64::MAX,
            time => time / self.links.lookahead,
        };
        next.min(timer).min(pause).min(backlog)
    }

    /// The scheduled queues.
    pub fn scheduled(&self) -> impl Iterator<Item = &ScheduledPort> {
        self.states.ports.iter().filter_map(|state| state.scheduled())
    }

    /// Returns how many packets wait at `port` at `now`, which is not before the last event.
    pub fn queue_length(&self, port: usize, now: u64) -> u32 {
        match self.states.ports[port].scheduled() {
            Some(scheduled) => scheduled.queue.waiting() as u32,
            None => self.ports[port].length(now),
        }
    }

    /// Returns how many bytes wait at `port` at `now`, which is not before the last event.
    pub fn queue_bytes(&self, port: usize, now: u64) -> u64 {
        match self.states.ports[port].scheduled() {
            Some(scheduled) => scheduled
                .packets()
                .iter()
                .map(|packet| u64::from(packet.size))
                .sum(),
            None => self.ports[port].length_in_bytes(now),
        }
    }
}
