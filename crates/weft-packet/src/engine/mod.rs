//! The window engine: exact packet-level simulation without a global event queue.
//!
//! - **One event a packet-hop.** A FIFO port knows a packet's departure when it is enqueued ([`port`]), so there is no
//!   service event.
//! - **Windows.** No packet reaches another node sooner than the lookahead, the smallest propagation delay plus
//!   serialisation of the smallest packet. Events at different nodes within one window of at most that length are
//!   independent; each node sorts the few that concern it ([`partition`]). Arrivals at the same picosecond from different
//!   links go by a hash of seed, time and link ([`hash`]), so that no link is favoured.
//! - **A calendar of windows** ([`calendar`]) skips silence.
//! - **Threads** ([`threads`]) each advance a range of nodes and exchange packets at a window's end. Results do not
//!   depend on how many there are.

mod calendar;
mod captures;
#[cfg(test)]
mod exactness;
mod hash;
mod network;
mod order;
pub mod packet;
mod partition;
mod partition_map;
mod port;
#[cfg(test)]
mod port_exactness;
pub mod prefetch;
#[cfg(test)]
mod random_networks;
#[cfg(test)]
mod reference;
mod ring;
pub mod route;
mod threads;
mod timers;

use weft_fabric::Fabric;
use weft_run::{LinkChange, LinkRecord};

use hash::mix;
use packet::Packet;
pub use partition::{Context, Endpoint, QueueSample};
use partition::{NodeSlots, Partition};
pub use partition_map::MAX_ARRIVALS;
use partition_map::PartitionMap;
use timers::Timer;

/// Bytes of a link without packets: its port and ring, where both are, and a bit of the calendar.
pub const LINK_BYTES: usize =
    size_of::<port::Port>() + size_of::<ring::Ring>() + size_of::<[(u32, u32); 2]>() + size_of::<u32>();

/// Bytes of a timer.
pub const TIMER_BYTES: usize = size_of::<Timer>();

/// What the engine must know beside the fabric.
pub struct EngineConfig {
    /// Bytes on the wire of the smallest packet: part of the lookahead.
    pub min_packet: u32,
    /// Bytes on the wire of the largest packet.
    pub max_packet: u32,
    /// Seed of what orders arrivals at the same time, and of processing times.
    pub seed: u64,
    /// A packet that finds its host's port idle leaves it late by a random time up to this, in picoseconds.
    pub jitter: u64,
    /// Packets that a node may get in one window, at most [`MAX_ARRIVALS`]: windows are made short enough.
    pub arrivals: u64,
    /// Threads, at least 1.
    pub threads: usize,
    /// Hash every node's events?
    pub trace: bool,
    /// Links whose queue's distribution is kept.
    pub distributions: Vec<u32>,
    /// Links whose queue is sampled: (link, picoseconds).
    pub samples: Vec<(u32, u64)>,
    /// Links whose packets are on record.
    pub captures: Vec<u32>,
    /// All changes that links will undergo, since the fastest links bound a window.
    pub changes: Vec<(u32, LinkChange)>,
}

/// The engine, with an endpoint at every host.
pub struct Engine<E> {
    partitions: Vec<Partition<E>>,
    /// Of each link of the fabric: (partition, port) of its sender, (partition, ring) at its receiver.
    links: Vec<[(u32, u32); 2]>,
    /// Of each host of the fabric: (partition, endpoint).
    hosts: Vec<(u32, u32)>,
    now: u64,
    windows: u64,
    trace: bool,
    captures: bool,
}

impl<E: Endpoint> Engine<E> {
    /// Builds the network; `endpoint(i)` makes the endpoint of the fabric's host `i`.
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
            let (queue_probes, timers) = map.queue_probes(&range, config);
            let network = map.network(&range, config, timers);
            partitions.push(Partition::new(
                range.start,
                node_slots,
                endpoints,
                network,
                map.rings(&range, config.seed),
                queue_probes,
            ));
        }
        let links = map.link_ends();
        for &link in &config.captures {
            let (partition, ring) = links[link as usize][1];
            partitions[partition as usize].capture(ring, link);
        }
        Self {
            partitions,
            links,
            hosts,
            now: 0,
            windows: 0,
            trace: config.trace,
            captures: !config.captures.is_empty(),
        }
    }

    /// Sets a timer at host `host` before the run or between two calls of [`run_until`](Self::run_until).
    pub fn set_timer(&mut self, host: u32, node: u32, time: u64, key: u64) {
        let (partition, _) = self.hosts[host as usize];
        self.partitions[partition as usize]
            .network
            .timers
            .push(Timer { time, node, key });
    }

    /// Changes a link as of [`now`](Self::now), before anything else that happens then. A packet whose last bit leaves then has left.
    pub fn change(&mut self, link: u32, change: LinkChange) {
        let now = self.now;
        let [(from, port), (to, local)] = self.links[link as usize];
        let sender = &mut self.partitions[from as usize].network;
        let (port, admission) = (
            &mut sender.ports[port as usize],
            &mut sender.admissions[port as usize],
        );
        let (times, latest) = match change {
            LinkChange::Down => {
                let lost = port.fail(admission, now);
                let ring = &mut self.partitions[to as usize].network.rings[local as usize];
                let lost = ring.pop_last(lost);
                let sender = &mut self.partitions[from as usize].network;
                for packet in &lost {
                    sender.count_drop(packet);
                }
                return;
            }
            LinkChange::Up => return port.recover(admission),
            LinkChange::Rate(rate) => (port.set_rate(admission, now, rate), u64::MAX),
            LinkChange::Delay(delay) => (port.set_delay(admission, now, delay), now + delay.0),
        };
        let receiver = &mut self.partitions[to as usize].network;
        if let Some(first) = receiver.rings[local as usize].reschedule(&times, latest) {
            receiver.calendar.schedule(first / receiver.lookahead, local);
        }
    }

    /// Processes all events before `end`, in picoseconds.
    pub fn run_until(&mut self, end: u64) {
        self.windows += if self.trace || self.captures {
            threads::run::<E, true>(&mut self.partitions, end)
        } else {
            threads::run::<E, false>(&mut self.partitions, end)
        };
        self.now = self.now.max(end);
    }

    /// Simulated picoseconds so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the first window begins in which anything will happen; `u64::MAX` if nothing will.
    pub fn next_window_start(&self) -> u64 {
        let windows = self.partitions.iter().map(|p| p.network.next_window());
        windows.min().unwrap_or(u64::MAX).saturating_mul(self.window())
    }

    /// Length of a window in picoseconds; windows begin at its multiples.
    pub fn window(&self) -> u64 {
        self.partitions.first().map_or(1, |p| p.network.lookahead)
    }

    /// Windows that held events; a window cut by the end of a run counts twice.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The endpoint of host `host`.
    pub fn endpoint(&self, host: u32) -> &E {
        let (partition, endpoint) = self.hosts[host as usize];
        &self.partitions[partition as usize].endpoints[endpoint as usize]
    }

    /// The same, to change it between two calls of [`run_until`](Self::run_until).
    pub fn endpoint_mut(&mut self, host: u32) -> &mut E {
        let (partition, endpoint) = self.hosts[host as usize];
        &mut self.partitions[partition as usize].endpoints[endpoint as usize]
    }

    /// Packets that reached a node, and timers that fired.
    pub fn events(&self) -> (u64, u64) {
        self.partitions
            .iter()
            .fold((0, 0), |(a, t), p| (a + p.arrivals, t + p.timers_fired))
    }

    /// Packets dropped and packets marked.
    pub fn drops_and_marks(&self) -> (u64, u64) {
        let admission = self.partitions.iter().flat_map(|p| &p.network.admissions);
        admission.fold((0, 0), |(d, m), r| (d + r.drops, m + r.marks))
    }

    /// Counters of every link of the fabric.
    pub fn link_records(&self) -> Vec<LinkRecord> {
        let record = |&[(from, port), (to, ring)]: &[(u32, u32); 2]| {
            let sender = &self.partitions[from as usize].network;
            let (port, admission) = (&sender.ports[port as usize], &sender.admissions[port as usize]);
            let ring = &self.partitions[to as usize].network.rings[ring as usize];
            LinkRecord {
                packets: port.packets,
                bytes: port.bytes,
                delivered: ring.delivered(),
                delivered_bytes: port.bytes - ring.iter().map(|packet| u64::from(packet.size)).sum::<u64>(),
                in_flight: ring.iter().count() as u64,
                drops: admission.drops,
                marks: admission.marks,
            }
        };
        self.links.iter().map(record).collect()
    }

    /// Picoseconds spent at each queue length of a probed link.
    pub fn distribution(&self, link: u32) -> Option<Vec<u64>> {
        let (partition, port) = self.links[link as usize][0];
        let network = &self.partitions[partition as usize].network;
        network.ports[port as usize].distribution(&network.admissions[port as usize], self.now)
    }

    /// Samples of all sampled queues, in no order.
    pub fn queue_samples(&self) -> impl Iterator<Item = &QueueSample> {
        self.partitions.iter().flat_map(|p| &p.queue_samples)
    }

    /// Forgets them.
    pub fn drop_queue_samples(&mut self) {
        for partition in &mut self.partitions {
            partition.queue_samples = Vec::new();
        }
    }

    /// Hands over what arrived over links on record: link and packet, in order of time.
    pub fn take_captured(&mut self) -> Vec<(u32, Packet)> {
        if !self.captures {
            return Vec::new();
        }
        let taken = self.partitions.iter_mut().flat_map(|p| p.captures.drain());
        let mut taken: Vec<_> = taken.collect();
        // Of one link all are of one partition, in order.
        taken.sort_by_key(|(link, packet)| (packet.time, *link));
        taken
    }

    /// The packets in the network, each with the node that it reaches next.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Packet)> {
        self.partitions.iter().flat_map(|p| {
            let rings = p.ring_node.iter().zip(&p.network.rings);
            rings.flat_map(move |(node, ring)| ring.iter().map(move |packet| (p.first_node + node, packet)))
        })
    }

    /// Data packets dropped, by (flow, subflow).
    #[cfg(test)]
    pub fn drops(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        self.partitions
            .iter()
            .flat_map(|p| p.network.drops.iter().map(|(&k, &v)| (k, v)))
    }

    /// Data packets dropped of a (flow, subflow).
    pub fn drops_of(&self, subflow: (u32, u32)) -> u64 {
        let drops = self.partitions.iter().map(|p| &p.network.drops);
        drops.filter_map(|drops| drops.get(&subflow)).sum()
    }

    /// Hash of every node's events in order, if traced.
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
