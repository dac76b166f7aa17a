//! The window engine: exact packet-level simulation without a global event queue.
//!
//! - **One event per packet-hop.** A FIFO port computes the departure of a packet when the packet
//!   is enqueued ([`port`]). A port with a scheduled queue chooses packets later, without events ([`service`]).
//! - **Lookahead windows.** The lookahead is the smallest sum of a link's propagation delay and the
//!   serialisation time of the smallest packet. No packet reaches another node sooner. Events at
//!   different nodes within one window of at most this length are independent, so each node sorts
//!   only its own events ([`partition`]). Arrivals at the same picosecond over different links are
//!   ordered by a hash of seed, time and link ([`hash`]), so that no link is favoured.
//! - **Queues** ([`weft_queues`]) accept, mark, cut, drop or delay packets, each kind in a file. [`losses`] are
//!   those of links.
//! - **A calendar of windows** ([`calendar`]) skips windows without events.
//! - **Threads** ([`threads`]) process a range of nodes each and exchange packets at the end of a
//!   window. If they wait too long for each other, one thread processes all nodes
//!   ([`thread_choice`]). Results do not depend on the number of threads.

// A packet is processed in one long function on purpose: calls in it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod backlogs;
mod barrier;
mod calendar;
mod captures;
mod counters;
mod deadlock;
mod drops;
mod links;
mod losses;
mod network;
mod order;
mod partition;
mod partition_map;
mod pause_frames;
mod pauses;
mod port;
mod port_state;
mod ring;
mod samples;
mod service;
mod telemetry;
#[cfg(test)]
mod tests;
mod thread_choice;
mod threads;
mod timers;

use std::sync::Arc;

use weft_fabric::{Fabric, LinkChange};
use weft_queues::hash;
pub use weft_queues::{Blocked, DropReason, packet, prefetch, route};

pub use counters::{DroppedPackets, LinkCounters};
pub use hash::clock_offset;
use hash::mix;
use network::PartitionNetwork;
pub use network::ReturnRoutes;
use packet::Packet;
pub use partition::{Context, Endpoint};
use partition::{NodeSlots, Partition};
pub use partition_map::MAX_ARRIVALS;
use partition_map::PartitionMap;
pub use pauses::{CapturedPause, PauseCounters};
pub use port::Unsent;
pub use port_state::ClassCounters;
pub use samples::{Reading, Sample, SampleTarget};
pub use telemetry::{HopRecord, MAX_HOPS, PathRecord};
use thread_choice::ThreadChoice;
use timers::Timer;

/// Bytes of a link without packets: its port and the state of that, its ring with the hash of the
/// link, their indices, and its bits in the calendar. While the engine is created, the link of each
/// ring and the ring of each link are listed.
pub const LINK_BYTES: usize = size_of::<port::Port>()
    + port::HEAP_BYTES
    + size_of::<port_state::PortState>()
    + size_of::<ring::Ring>()
    + size_of::<u64>()
    + size_of::<[(u32, u32); 2]>()
    + 4 * size_of::<u32>();

/// Bytes of a node: its indices, the hash of its events, and the host at it.
pub const NODE_BYTES: usize = size_of::<NodeSlots>() + size_of::<u64>() + size_of::<u32>();

/// Bytes of one timer.
pub const TIMER_BYTES: usize = size_of::<Timer>();

/// Maximum of the random time that a host takes to send a packet: the larger of two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// A time in picoseconds, the same at every port.
    pub time: u64,
    /// Number of bytes whose serialisation time at the port is the bound; 0 for none.
    pub packet: u16,
}

/// The number of threads of a run. Each has a partition of the network. The engine moves between all threads and
/// one during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This many, if the network has as many nodes.
    Exactly(usize),
    /// At most this many, and no more than the links can keep busy.
    UpTo(usize),
}

/// Configuration of an engine, in addition to the fabric.
pub struct EngineConfig {
    /// Size of the smallest packet on the wire in bytes; determines the lookahead.
    pub min_packet: u32,
    /// Size of the largest packet on the wire in bytes.
    pub max_packet: u32,
    /// Seed of tie ranks and of processing times.
    pub seed: u64,
    /// Maximum processing time: a packet that finds its host's port idle is delayed by a random
    /// time up to this.
    pub jitter: Jitter,
    /// Maximum number of packets that a node gets in one window, at most [`MAX_ARRIVALS`]. Windows
    /// are short enough for it.
    pub arrivals: u64,
    /// The number of threads.
    pub threads: Threads,
    /// True if the events of every node are hashed.
    pub trace: bool,
    /// Links for which the distribution of the queue length is recorded.
    pub distributions: Vec<u32>,
    /// Queues and buffers that are sampled: (target, interval in picoseconds).
    pub samples: Vec<(SampleTarget, u64)>,
    /// Links whose packets are captured.
    pub captures: Vec<u32>,
    /// Routes of headers that go back to senders, if queues send them back.
    pub return_routes: Option<Arc<dyn ReturnRoutes>>,
    /// Flags of the packets that ask for [telemetry](PathRecord), which have all of them; `None` if there are none. Such a packet has
    /// the node of its sender in `chunk`, the flow in `lo`, and the number of the transmission in `slot`.
    pub telemetry: Option<u16>,
    /// All changes that links will undergo. The highest rate and the shortest delay of each link
    /// bound the window.
    pub changes: Vec<(u32, LinkChange)>,
}

impl EngineConfig {
    /// Creates the configuration of an engine that records nothing, without changes of links, for packets of these
    /// sizes on the wire in bytes. Hosts take no time to send, and the seed is 1.
    pub fn new(min_packet: u32, max_packet: u32, threads: Threads) -> Self {
        Self {
            min_packet,
            max_packet,
            threads,
            seed: 1,
            jitter: Jitter::default(),
            arrivals: MAX_ARRIVALS,
            trace: false,
            distributions: Vec::new(),
            samples: Vec::new(),
            captures: Vec::new(),
            return_routes: None,
            telemetry: None,
            changes: Vec::new(),
        }
    }
}

/// The engine, with an endpoint at every host.
pub struct Engine<E> {
    partitions: Vec<Partition<E>>,
    /// Ends of each link of the fabric: (partition, port) at its sender and (partition, ring) at its
    /// receiver.
    links: Vec<[(u32, u32); 2]>,
    /// Index of each host of the fabric: (partition, endpoint).
    hosts: Vec<(u32, u32)>,
    now: u64,
    windows: u64,
    trace: bool,
    captures: bool,
    thread_choice: ThreadChoice,
}

impl<E: Endpoint> Engine<E> {
    /// Creates the network; `endpoint(i)` creates the endpoint of the fabric's host `i`.
    pub fn new(fabric: &Fabric, config: &EngineConfig, mut endpoint: impl FnMut(u32) -> E) -> Self {
        let map = PartitionMap::new(fabric, config);
        let mut partitions = Vec::new();
        let mut hosts = vec![(0, u32::MAX); fabric.hosts.len()];
        for range in map.ranges() {
            let p = partitions.len() as u32;
            let mut endpoints = Vec::new();
            let node_slots = range
                .clone()
                .map(|node| {
                    let mut slots = NodeSlots {
                        first_port: map.first_port(node),
                        endpoint: u32::MAX,
                    };
                    if let Some(host) = map.host(node) {
                        slots.endpoint = endpoints.len() as u32;
                        hosts[host as usize] = (p, slots.endpoint);
                        endpoints.push(endpoint(host));
                    }
                    slots
                })
                .collect();
            let (samples, timers) = map.samples(&range, config);
            let network = map.network(&range, config, timers);
            partitions.push(Partition::new(
                range.start,
                node_slots,
                endpoints,
                network,
                map.rings(&range, config.seed),
                samples,
            ));
        }
        let links = map.link_ends();
        for &link in &config.captures {
            let (partition, ring) = links[link as usize][1];
            partitions[partition as usize].capture(ring, link);
            let (partition, port) = links[link as usize][0];
            if let Some(pauses) = &mut partitions[partition as usize].network.pauses {
                pauses.capture(port);
            }
        }
        Self {
            partitions,
            links,
            hosts,
            now: 0,
            windows: 0,
            trace: config.trace,
            captures: !config.captures.is_empty(),
            thread_choice: ThreadChoice::new(),
        }
    }

    /// Sets a timer at host `host`, before the run or between two calls of
    /// [`run_until`](Self::run_until).
    pub fn set_timer(&mut self, host: u32, node: u32, time: u64, key: u64) {
        let (partition, _) = self.hosts[host as usize];
        self.partitions[partition as usize]
            .network
            .timers
            .push(Timer { time, node, key });
    }

    /// Changes a link at [`now`](Self::now), before any other event at this time. A packet whose
    /// last bit leaves the port at this time has left.
    pub fn change(&mut self, link: u32, change: LinkChange) {
        let now = self.now;
        let [(from, port), (to, local)] = self.links[link as usize];
        let sender = &mut self.partitions[from as usize].network;
        let index = port as usize;
        sender.complete_records(index, now);
        let (port, states) = (&mut sender.ports[index], &mut sender.states);
        if states.ports[index].scheduled().is_some() {
            return self.change_scheduled(link, change);
        }
        let (times, latest) = match change {
            LinkChange::Down => {
                let lost = port.fail(states, index, now);
                let ring = &mut self.partitions[to as usize].network.links.rings[local as usize];
                let lost = ring.pop_last(lost);
                let sender = &mut self.partitions[from as usize].network;
                for packet in &lost {
                    sender.count_drop(packet, index, DropReason::LinkDown);
                }
                sender.fail_records(index);
                return self.end_change(from as usize, now);
            }
            LinkChange::Up => return port.recover(states, index),
            LinkChange::Rate(rate) => {
                let times = port.set_rate(states, index, now, rate);
                sender.set_rate_of_records(index, rate);
                (times, u64::MAX)
            }
            LinkChange::Delay(delay) => {
                let times = port.set_delay(&mut states.ports[index], now, delay);
                (times, now + delay.0)
            }
        };
        let receiver = &mut self.partitions[to as usize].network;
        if let Some(first) = receiver.links.rings[local as usize].reschedule(&times, latest) {
            receiver
                .links
                .calendar
                .schedule(first / receiver.links.lookahead, local);
        }
        self.end_change(from as usize, now);
    }

    /// Ends the change of the link of an observed FIFO of partition `from`: sends the records that it has completed, and finds the
    /// next one.
    fn end_change(&mut self, from: usize, now: u64) {
        if self.partitions[from].network.telemetry.is_some() {
            self.partitions[from]
                .network
                .serve_all_until(now.saturating_sub(1));
            self.exchange_telemetry(from);
        }
    }

    /// Delivers the records that partition `from` has for the others.
    fn exchange_telemetry(&mut self, from: usize) {
        threads::exchange_telemetry(&mut self.partitions, from);
    }

    /// Changes the link of a port with a scheduled queue, as [`change`](Self::change) does.
    fn change_scheduled(&mut self, link: u32, change: LinkChange) {
        let now = self.now;
        let [(from, port), (to, local)] = self.links[link as usize].map(|(p, i)| (p as usize, i as usize));
        let effects = self.partitions[from].network.change_scheduled(port, now, change);
        let receiver = &mut self.partitions[to].network;
        if let Some(packet) = effects.begun {
            receiver
                .links
                .receive(local, &packet, packet.time, packet.route, packet.flags);
        }
        let mut lost = receiver.links.rings[local].pop_last(effects.loses_last.into());
        lost.extend(effects.lost);
        if let LinkChange::Delay(delay) = change {
            let arrivals = effects.last_arrival.as_slice();
            if let Some(first) = receiver.links.rings[local].reschedule(arrivals, now + delay.0) {
                receiver
                    .links
                    .calendar
                    .schedule(first / receiver.links.lookahead, local as u32);
            }
        }
        let network = &mut self.partitions[from].network;
        network.count_lost(port, &lost, DropReason::LinkDown);
        match change {
            LinkChange::Down => network.fail_records(port),
            LinkChange::Rate(rate) => network.set_rate_of_records(port, rate),
            _ => {}
        }
        self.exchange_pauses(from);
        self.exchange_telemetry(from);
    }

    /// Ends the waits of endpoints for ends of pauses (see [`Context::set_timer_at_resume`]), because links have
    /// changed, or routes.
    pub fn end_waits(&mut self) {
        let now = self.now;
        for network in self.partitions.iter_mut().map(|p| &mut p.network) {
            if network.pauses.is_some() {
                (0..network.ports.len()).for_each(|port| network.wake_up(port, now));
            }
        }
    }

    /// Processes all events before `end`, in picoseconds.
    pub fn run_until(&mut self, end: u64) {
        self.windows += if self.trace || self.captures {
            threads::run::<E, true>(&mut self.partitions, end, &mut self.thread_choice)
        } else {
            threads::run::<E, false>(&mut self.partitions, end, &mut self.thread_choice)
        };
        self.now = self.now.max(end);
    }

    /// Simulated time so far in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Maximum number of threads that the engine uses: its number of partitions.
    pub fn threads(&self) -> usize {
        self.partitions.len()
    }

    /// Start of the first window with an event; `u64::MAX` if there are no more events.
    pub fn next_window_start(&self) -> u64 {
        let windows = self.partitions.iter().map(|p| p.network.next_window());
        windows.min().unwrap_or(u64::MAX).saturating_mul(self.window())
    }

    /// Length of a window in picoseconds. Windows begin at multiples of it.
    pub fn window(&self) -> u64 {
        self.partitions.first().map_or(1, |p| p.network.links.lookahead)
    }

    /// Number of windows with events. A window that is cut by the end of a run counts twice.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The endpoint of host `host`.
    pub fn endpoint(&self, host: u32) -> &E {
        let (partition, endpoint) = self.hosts[host as usize];
        &self.partitions[partition as usize].endpoints[endpoint as usize]
    }

    /// Mutable access to the endpoint of host `host`, between two calls of
    /// [`run_until`](Self::run_until).
    pub fn endpoint_mut(&mut self, host: u32) -> &mut E {
        let (partition, endpoint) = self.hosts[host as usize];
        &mut self.partitions[partition as usize].endpoints[endpoint as usize]
    }

    /// Number of packets that reached a node, and of timers that fired.
    pub fn events(&self) -> (u64, u64) {
        self.partitions
            .iter()
            .fold((0, 0), |(a, t), p| (a + p.arrivals, t + p.timers_fired))
    }

    /// Number of packets that links have lost.
    pub fn lost(&self) -> u64 {
        self.partitions.iter().map(|p| p.network.losses.total()).sum()
    }

    /// Number of packets dropped by queues, and of packets marked.
    pub fn drops_and_marks(&self) -> (u64, u64) {
        let states = self.partitions.iter().flat_map(|p| &p.network.states.ports);
        states.fold((0, 0), |(d, m), r| (d + r.drops, m + r.marks))
    }

    /// Number of packets cut to headers, and of pauses of links, per class.
    pub fn trims_and_pauses(&self) -> (u64, u64) {
        let networks = || self.partitions.iter().map(|p| &p.network);
        let trims = networks().flat_map(PartitionNetwork::scheduled);
        let trims = trims
            .flat_map(|port| &port.server.classes)
            .map(|class| class.trims);
        let pauses = networks().filter_map(|network| network.pauses.as_ref());
        let pauses = pauses.flat_map(|pauses| pauses.ingress.incoming.iter().flatten());
        (trims.sum(), pauses.map(|link| link.pauses).sum())
    }

    /// Time in picoseconds spent at each queue length of a probed link.
    pub fn distribution(&self, link: u32) -> Option<Vec<u64>> {
        let (partition, port) = self.links[link as usize][0];
        let network = &self.partitions[partition as usize].network;
        let (port, state) = (port as usize, &network.states.ports[port as usize]);
        let Some(scheduled) = state.scheduled() else {
            return network.ports[port].distribution(state, self.now);
        };
        let mut distribution = state.distribution.clone()?;
        distribution.add_time(scheduled.queue.waiting(), self.now);
        Some(distribution.time_at)
    }

    /// All samples, those of a target in order of time.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.partitions.iter().flat_map(|p| &p.samples.taken)
    }

    /// Discards the samples so far.
    pub fn drop_samples(&mut self) {
        for partition in &mut self.partitions {
            partition.samples.taken = Vec::new();
        }
    }

    /// Drains the packets that arrived over captured links: (link, packet), in order of time.
    pub fn take_captured(&mut self) -> Vec<(u32, Packet)> {
        if !self.captures {
            return Vec::new();
        }
        let taken = self.partitions.iter_mut().flat_map(|p| p.captures.drain());
        let mut taken: Vec<_> = taken.collect();
        // All packets of one link are in one partition, in order, and the sort is stable.
        taken.sort_by_key(|(link, packet)| (packet.time, *link));
        taken
    }

    /// Drains the pause frames that have arrived over captured links, in order of time.
    pub fn take_captured_pauses(&mut self) -> Vec<CapturedPause> {
        let now = self.now;
        let pauses = self
            .partitions
            .iter_mut()
            .filter_map(|p| p.network.pauses.as_mut());
        let mut taken: Vec<_> = pauses.flat_map(|pauses| pauses.drain_captured(now)).collect();
        taken.sort_unstable();
        taken
    }

    /// The packets in the network, each with the next node on its route.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Packet)> {
        self.partitions.iter().flat_map(|p| {
            let rings = p.ring_node.iter().zip(&p.network.links.rings);
            let on_links = rings
                .flat_map(move |(node, ring)| ring.iter().map(move |packet| (p.first_node + node, packet)));
            let waiting = p.network.scheduled();
            let waiting = waiting.flat_map(|port| {
                port.packets()
                    .into_iter()
                    .map(move |packet| (port.server.to, packet))
            });
            on_links.chain(waiting)
        })
    }

    /// Number of [counted](packet::DATA) packets dropped, by (`lo`, `hi`).
    #[cfg(test)]
    pub fn drops(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        self.partitions.iter().flat_map(|p| p.network.drops.by_key())
    }

    /// Number of [counted](packet::DATA) packets with this (`lo`, `hi`) that were dropped.
    pub fn drops_of(&self, key: (u32, u32)) -> u64 {
        let drops = self.partitions.iter().map(|p| &p.network.drops);
        drops.map(|drops| drops.of(key)).sum()
    }

    /// Hash of the events of every node in order, if they are traced.
    pub fn trace_hash(&self) -> Option<u64> {
        self.trace.then(|| {
            let mut hash = 0;
            for node in self.partitions.iter().flat_map(|p| &p.trace) {
                mix(&mut hash, *node);
            }
            hash
        })
    }
}
