//! A partition: a range of nodes that one thread advances, window by window.

use std::cmp::Reverse;

use super::captures::Captures;
use super::hash::{mix, tie_rank};
use super::network::PartitionNetwork;
use super::order::{Scratch, sort_uniform_keys};
use super::packet::Packet;
use super::route::Route;
use super::timers::Timer;

/// What sits at a host: a transport.
pub trait Endpoint: Send {
    /// A packet arrived for this host.
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>);
    /// A packet will arrive soon: what it touches first is worth reading ahead.
    fn prefetch(&self, packet: &Packet) {
        let _ = packet;
    }
    /// After [`prefetch`](Self::prefetch): so is what that leads to.
    fn prefetch_indirect(&self, packet: &Packet) {
        let _ = packet;
    }
    /// A timer set by this host is due.
    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>);
}

/// Where and when an endpoint acts.
pub struct Context<'a> {
    network: &'a mut PartitionNetwork,
    /// The node, numbered over all partitions.
    node: u32,
    first_port: u32,
    /// Picoseconds.
    pub now: u64,
}

impl Context<'_> {
    /// Sends a packet along its route.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet) {
        let (hop, rest) = packet.route.next(self.network.hops);
        let port = (self.first_port + hop) as usize;
        self.network.send(self.node, port, self.now, packet, rest);
    }

    /// The port of this node that a route takes first.
    pub fn port_of(&self, route: Route) -> u32 {
        route.next(self.network.hops).0
    }

    /// When the port that a route takes first will hold no more than `bytes`, what it is sending included; perhaps in the past.
    pub fn drain_time(&self, route: Route, bytes: u32) -> u64 {
        let port = &self.network.ports[(self.first_port + self.port_of(route)) as usize];
        port.busy_until.saturating_sub(port.serialisation(bytes))
    }

    /// Has [`Endpoint::on_timer`] called with `key` at `time`, not before now.
    pub fn set_timer(&mut self, time: u64, key: u64) {
        self.network.set_timer(Timer {
            time: time.max(self.now),
            node: self.node,
            key,
        });
    }
}

/// Where a node's ports and endpoint are.
#[derive(Clone, Copy)]
pub struct NodeSlots {
    /// Its first port in the partition.
    pub first_port: u32,
    /// Its endpoint in the partition; `u32::MAX` at a switch.
    pub endpoint: u32,
}

/// Bits of a sort key that number a packet in its batch. The rest is time within the window: up to 17 s.
pub const INDEX_BITS: u32 = 20;

/// Partitions with at least this many links read ahead. A busy link has about a KiB in use, and the nearer caches hold
/// some 2 MiB; in a smaller network reading ahead only costs.
const MIN_PREFETCH_LINKS: usize = if cfg!(test) { 8 } else { 2048 };

/// Packets of a batch between reading a port ahead and using it.
const PORT_PREFETCH: usize = 12;

/// Packets of a batch between reading ahead where one will be written and writing it.
const PUSH_PREFETCH: usize = 6;

/// Packets of a host's batch that are read ahead.
const HOST_PREFETCH: usize = 16;

/// Engine timers: the sampling of a queue. Endpoints' keys leave this bit clear.
pub const SAMPLE: u64 = 1 << 63;

/// One sample of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Picoseconds.
    pub time: u64,
    /// Index of the probe.
    pub probe: u32,
    /// Packets waiting.
    pub length: u32,
    /// Packets marked so far.
    pub marks: u64,
    /// Packets dropped so far.
    pub drops: u64,
}

/// A queue sampled at an interval.
#[derive(Clone, Copy)]
pub struct QueueProbe {
    /// Port in the partition.
    pub port: u32,
    /// Index of the probe in the configuration.
    pub probe: u32,
    /// Picoseconds.
    pub interval: u64,
}

/// A range of nodes.
pub struct Partition<E> {
    /// Number of the first node.
    pub first_node: u32,
    /// Its nodes.
    pub node_slots: Vec<NodeSlots>,
    /// Its endpoints.
    pub endpoints: Vec<E>,
    /// Its ports, links and timers.
    pub network: PartitionNetwork,
    /// Receiving node (in the partition) of each ring.
    pub ring_node: Vec<u32>,
    /// [`link_hash`](super::hash::link_hash) of each ring's link.
    link_hashes: Vec<u64>,
    /// Queues sampled here.
    pub queue_probes: Vec<QueueProbe>,
    /// Their samples.
    pub queue_samples: Vec<QueueSample>,
    /// Packets that reached a node.
    pub arrivals: u64,
    /// Timers that fired.
    pub timers_fired: u64,
    /// Running hash of each node's events, if traced.
    pub trace: Vec<u64>,
    /// Packets on record.
    pub captures: Captures,
    batch: Vec<Packet>,
    /// Where each ring's packets begin in the batch, and which ring: as many as the batch has rings.
    ring_starts: Box<[(u32, u32)]>,
    keys: Vec<u64>,
    scratch: Scratch,
    /// Bits of a key that may be set.
    key_bits: u32,
    due: Vec<Timer>,
    prefetches: bool,
}

impl<E: Endpoint> Partition<E> {
    /// An idle partition.
    pub fn new(
        first_node: u32,
        node_slots: Vec<NodeSlots>,
        endpoints: Vec<E>,
        network: PartitionNetwork,
        rings: impl Iterator<Item = (u32, u64)>,
        queue_probes: Vec<QueueProbe>,
    ) -> Self {
        let (ring_node, link_hashes): (Vec<u32>, Vec<u64>) = rings.unzip();
        let max_rings = ring_node.chunk_by(|a, b| a == b).map(<[u32]>::len).max();
        let ring_starts = vec![(0, 0); max_rings.unwrap_or(0)].into();
        let trace = vec![0; node_slots.len()];
        let prefetches = network.rings.len() >= MIN_PREFETCH_LINKS;
        let key_bits = INDEX_BITS + u64::BITS - network.lookahead.leading_zeros();
        Self {
            first_node,
            node_slots,
            endpoints,
            network,
            ring_node,
            link_hashes,
            queue_probes,
            queue_samples: Vec::new(),
            arrivals: 0,
            timers_fired: 0,
            trace,
            captures: Captures::default(),
            batch: Vec::new(),
            ring_starts,
            keys: Vec::new(),
            scratch: Scratch::new(),
            key_bits,
            due: Vec::new(),
            prefetches,
        }
    }

    /// Puts what arrives over the link of `ring` on record.
    pub fn capture(&mut self, ring: u32, link: u32) {
        self.captures.add(self.ring_node.len(), ring, link);
    }

    /// Processes all events of `window` before `end`. Nodes are independent within a window, so their order is free;
    /// at each node events go by (time, rank of the link at that time, order on the link), and packets before timers at
    /// equal times.
    pub fn process<const TRACE: bool>(&mut self, window: u64, end: u64) {
        if self.prefetches {
            self.process_window::<TRACE, true>(window, end);
        } else {
            self.process_window::<TRACE, false>(window, end);
        }
    }

    #[inline(always)]
    fn process_window<const TRACE: bool, const PREFETCH: bool>(&mut self, window: u64, end: u64) {
        let start = window * self.network.lookahead;
        self.network.end = end;
        self.network.calendar.advance(window);
        self.due.clear();
        self.network.timers.take(window, end, &mut self.due);
        self.due.sort_unstable_by_key(|t| (t.node, t.time, t.key));
        let mut due = 0;
        if self.network.calendar.take_occupied() {
            // The node whose packets are in the batch.
            let mut node = u32::MAX;
            let mut ring_count = 0;
            for word in 0..self.network.calendar.words() {
                let mut bits = self.network.calendar.take_word(word);
                while bits != 0 {
                    let ring = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if self.ring_node[ring] != node {
                        if PREFETCH {
                            self.prefetch_node(word, ring, bits);
                        }
                        if node != u32::MAX {
                            self.process_node::<TRACE, PREFETCH>(node, start, ring_count, &mut due);
                        }
                        node = self.ring_node[ring];
                        ring_count = 0;
                    }
                    self.ring_starts[ring_count] = (self.batch.len() as u32, ring as u32);
                    ring_count += 1;
                    if let Some(next) = self.network.rings[ring].drain_before(end, &mut self.batch) {
                        self.network
                            .calendar
                            .schedule(next / self.network.lookahead, ring as u32);
                    }
                }
            }
            self.process_node::<TRACE, PREFETCH>(node, start, ring_count, &mut due);
        }
        while due < self.due.len() {
            let node = self.due[due].node - self.first_node;
            self.process_node::<TRACE, false>(node, start, 0, &mut due);
        }
    }

    /// Reads ahead what arrives at the node of link `ring`, whose other links are among `bits`.
    #[inline(always)]
    fn prefetch_node(&self, word: usize, ring: usize, mut bits: u64) {
        let node = self.ring_node[ring];
        let mut ring = ring;
        loop {
            self.network.rings[ring].prefetch_take();
            ring = word * 64 + bits.trailing_zeros() as usize;
            if bits == 0 || self.ring_node[ring] != node {
                return;
            }
            bits &= bits - 1;
        }
    }

    /// Processes the batch at `node` and its timers, after the timers of the nodes before it.
    #[inline(always)]
    fn process_node<const TRACE: bool, const PREFETCH: bool>(
        &mut self,
        node: u32,
        start: u64,
        ring_count: usize,
        due: &mut usize,
    ) {
        while *due < self.due.len() && self.due[*due].node - self.first_node < node {
            let earlier = self.due[*due].node - self.first_node;
            let batch = std::mem::take(&mut self.batch);
            self.process_with_timers::<TRACE, false>(earlier, start, 0, due);
            self.batch = batch;
        }
        let slots = self.node_slots[node as usize];
        self.arrivals += self.batch.len() as u64;
        if slots.endpoint == u32::MAX
            && self
                .due
                .get(*due)
                .is_none_or(|t| t.node - self.first_node != node)
        {
            self.process_switch::<TRACE, PREFETCH>(node, slots, start, ring_count);
        } else {
            self.process_with_timers::<TRACE, PREFETCH>(node, start, ring_count, due);
        }
        self.batch.clear();
    }

    /// Sorts the batch: `keys` are (time in the window, index in the batch).
    #[inline(always)]
    fn sort(&mut self, start: u64, ring_count: usize) {
        self.keys.clear();
        debug_assert!(self.batch.len() < 1 << INDEX_BITS);
        self.keys.extend(
            self.batch
                .iter()
                .enumerate()
                .map(|(i, packet)| (packet.time - start) << INDEX_BITS | i as u64),
        );
        if ring_count > 1 {
            sort_uniform_keys(&mut self.keys, &mut self.scratch, self.key_bits);
            // Without a way out of the loop it is a few vector instructions.
            let pairs = self.keys.windows(2);
            if pairs.fold(false, |any, pair| any | same_time(pair[0], pair[1])) {
                self.break_ties(start, ring_count);
            }
        }
    }

    /// Orders what arrives at the same time by the links' ranks at that time.
    #[cold]
    #[inline(never)]
    fn break_ties(&mut self, start: u64, ring_count: usize) {
        let ring_starts = &self.ring_starts[..ring_count];
        for tied in self.keys.chunk_by_mut(|&a, &b| same_time(a, b)) {
            if tied.len() > 1 {
                let time = start + (tied[0] >> INDEX_BITS);
                // Of one link's packets, and of links of the same rank, the first in the batch goes first.
                tied.sort_unstable_by_key(|&key| {
                    let index = (key & ((1 << INDEX_BITS) - 1)) as u32;
                    let position = ring_starts.partition_point(|&(start, _)| start <= index) - 1;
                    let (_, ring) = ring_starts[position];
                    (tie_rank(self.link_hashes[ring as usize], time), index)
                });
            }
        }
    }

    /// A switch without timers.
    #[inline(always)]
    fn process_switch<const TRACE: bool, const PREFETCH: bool>(
        &mut self,
        node: u32,
        slots: NodeSlots,
        start: u64,
        ring_count: usize,
    ) {
        self.sort(start, ring_count);
        for (i, &key) in self.keys.iter().enumerate() {
            if PREFETCH {
                if let Some(port) = self.port_of(slots, i + PORT_PREFETCH) {
                    self.network.prefetch_port(port);
                }
                if let Some(port) = self.port_of(slots, i + PUSH_PREFETCH) {
                    self.network.prefetch_push(port);
                }
            }
            let index = key & ((1 << INDEX_BITS) - 1);
            let packet = &self.batch[index as usize];
            if TRACE {
                trace_packet(&mut self.trace[node as usize], packet);
                self.captures
                    .record(&self.ring_starts[..ring_count], index as u32, packet);
            }
            let (hop, rest) = packet.route.next(self.network.hops);
            let port = (slots.first_port + hop) as usize;
            self.network.forward(port, packet.time, packet, rest);
        }
    }

    /// The port that the `i`-th packet of the sorted batch takes at a switch.
    #[inline(always)]
    fn port_of(&self, slots: NodeSlots, i: usize) -> Option<usize> {
        let packet = &self.batch[(self.keys.get(i)? & ((1 << INDEX_BITS) - 1)) as usize];
        let (hop, _) = packet.route.next(self.network.hops);
        Some((slots.first_port + hop) as usize)
    }

    /// A node with an endpoint or with timers.
    fn process_with_timers<const TRACE: bool, const PREFETCH: bool>(
        &mut self,
        node: u32,
        start: u64,
        ring_count: usize,
        due: &mut usize,
    ) {
        self.sort(start, ring_count);
        if PREFETCH {
            self.prefetch_packets(node);
        }
        while let Some(timer) = self.due.get(*due).filter(|t| t.node - self.first_node == node) {
            self.network.due.push(Reverse(*timer));
            *due += 1;
        }
        let slots = self.node_slots[node as usize];
        for i in 0..self.keys.len() {
            let index = self.keys[i] & ((1 << INDEX_BITS) - 1);
            let packet = self.batch[index as usize];
            while let Some(&Reverse(timer)) = self.network.due.peek() {
                if timer.time >= packet.time {
                    break;
                }
                self.fire_timer::<TRACE>(node, slots);
            }
            if TRACE {
                trace_packet(&mut self.trace[node as usize], &packet);
                self.captures
                    .record(&self.ring_starts[..ring_count], index as u32, &packet);
            }
            if packet.route.is_at_destination() {
                let mut cx = Context {
                    network: &mut self.network,
                    node: self.first_node + node,
                    first_port: slots.first_port,
                    now: packet.time,
                };
                self.endpoints[slots.endpoint as usize].on_packet(&packet, &mut cx);
            } else {
                let (hop, rest) = packet.route.next(self.network.hops);
                self.network
                    .forward((slots.first_port + hop) as usize, packet.time, &packet, rest);
            }
        }
        while !self.network.due.is_empty() {
            self.fire_timer::<TRACE>(node, slots);
        }
    }

    /// Reads ahead what the batch will touch at a host.
    #[inline(always)]
    fn prefetch_packets(&self, node: u32) {
        let Some(host) = self
            .endpoints
            .get(self.node_slots[node as usize].endpoint as usize)
        else {
            return;
        };
        let soon = || self.batch.iter().take(HOST_PREFETCH);
        soon().for_each(|packet| host.prefetch(packet));
        soon().for_each(|packet| host.prefetch_indirect(packet));
    }

    /// Fires the earliest due timer.
    fn fire_timer<const TRACE: bool>(&mut self, node: u32, slots: NodeSlots) {
        let Some(Reverse(timer)) = self.network.due.pop() else {
            return;
        };
        self.timers_fired += 1;
        if timer.key & SAMPLE != 0 {
            let probe = self.queue_probes[(timer.key & !SAMPLE) as usize];
            let port = probe.port as usize;
            self.queue_samples.push(QueueSample {
                time: timer.time,
                probe: probe.probe,
                length: self.network.ports[port].length(timer.time),
                marks: self.network.admissions[port].marks,
                drops: self.network.admissions[port].drops,
            });
            self.network.set_timer(Timer {
                time: timer.time + probe.interval,
                ..timer
            });
            return;
        }
        if TRACE {
            mix(&mut self.trace[node as usize], timer.time);
            mix(&mut self.trace[node as usize], timer.key);
        }
        let mut cx = Context {
            network: &mut self.network,
            node: timer.node,
            first_port: slots.first_port,
            now: timer.time,
        };
        self.endpoints[slots.endpoint as usize].on_timer(timer.key, &mut cx);
    }
}

/// Are two sort keys of the same time?
fn same_time(a: u64, b: u64) -> bool {
    a ^ b < 1 << INDEX_BITS
}

/// Mixes a packet that reached a node into the hash of the node's events.
pub fn trace_packet(hash: &mut u64, p: &Packet) {
    mix(hash, p.time);
    mix(hash, p.route.word());
    mix(hash, u64::from(p.slot) << 32 | u64::from(p.seq));
    mix(hash, u64::from(p.chunk) << 32 | u64::from(p.lo));
    mix(
        hash,
        u64::from(p.hi) << 32 | u64::from(p.size) << 16 | u64::from(p.flags),
    );
}
