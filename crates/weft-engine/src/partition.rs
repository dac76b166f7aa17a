//! A partition: a range of nodes that one thread processes, window by window.

mod merged;

use std::cmp::Reverse;

use crate::captures::Captures;
use crate::hash::{mix, tie_rank};
use crate::network::PartitionNetwork;
use crate::order::{Scratch, sort_uniform_keys};
use crate::packet::Packet;
use crate::pauses::PauseEvent;
use crate::route::Route;
use crate::samples::{SAMPLE, Samples};
use crate::telemetry::PathRecord;
use crate::timers::Timer;
use weft_queues::WakeUp;

/// The endpoint at a host: a transport.
pub trait Endpoint: Send {
    /// Processes a packet that arrived for this host.
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>);
    /// First prefetch stage: `packet` arrives soon; prefetches what it touches first.
    fn prefetch(&self, packet: &Packet) {
        let _ = packet;
    }
    /// Second prefetch stage: called after [`prefetch`](Self::prefetch), for what the lines loaded
    /// there point to.
    fn prefetch_indirect(&self, packet: &Packet) {
        let _ = packet;
    }
    /// Processes a timer that this host set and that is due.
    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>);
}

/// The access of an endpoint to its node during a callback: time, packets and timers.
pub struct Context<'a> {
    network: &'a mut PartitionNetwork,
    /// The node of the endpoint, numbered over all partitions.
    node: u32,
    first_port: u32,
    /// Simulated time in picoseconds.
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

    /// Returns the port of this node that `route` takes first.
    pub fn port_of(&self, route: Route) -> u32 {
        route.next(self.network.hops).0
    }

    /// Returns when the first port of `route` will hold at most `bytes`, the packet being sent
    /// included. May be in the past. Of a port with a [scheduled](weft_queues::Queue) queue, the time is exact only if the port
    /// is lossless and is not paused.
    pub fn drain_time(&self, route: Route, bytes: u32) -> u64 {
        self.drain_time_of(self.port_of(route), bytes)
    }

    /// Returns when a port of this node will hold at most `bytes`; see [`drain_time`](Self::drain_time).
    pub fn drain_time_of(&self, port: u32, bytes: u32) -> u64 {
        let index = (self.first_port + port) as usize;
        if self.network.pauses.is_some() {
            return self.network.lossless_drain_time(index, self.now, bytes, None);
        }
        let port = &self.network.ports[index];
        port.busy_until.saturating_sub(port.serialisation(bytes))
    }

    /// Returns when a port of this node will hold at most `bytes` in front of a packet of this traffic class. Packets of
    /// other classes count unless they are paused.
    pub fn drain_time_before(&self, port: u32, class: usize, bytes: u32) -> u64 {
        if self.network.pauses.is_none() {
            return self.drain_time_of(port, bytes);
        }
        let index = (self.first_port + port) as usize;
        self.network
            .lossless_drain_time(index, self.now, bytes, Some(class))
    }

    /// Returns true if a port of this node may not send packets of a traffic class now, because the next node has
    /// paused it.
    pub fn is_paused(&self, port: u32, class: usize) -> bool {
        let port = (self.first_port + port) as usize;
        self.network.pauses.is_some() && self.network.is_paused(port, class)
    }

    /// Returns the serialisation time of `bytes` at the first port of `route` in picoseconds.
    pub fn serialisation(&self, route: Route, bytes: u32) -> u64 {
        self.serialisation_of(self.port_of(route), bytes)
    }

    /// Returns the serialisation time of `bytes` at a port of this node in picoseconds.
    pub fn serialisation_of(&self, port: u32, bytes: u32) -> u64 {
        let port = self.first_port + port;
        self.network.ports[port as usize].serialisation(bytes)
    }

    /// Sets a timer for the end of a pause of a port of this node, or for [`end_wait`](Self::end_wait). Its time is
    /// the first of `first`, `first + period` and so on that is not before. An endpoint that could send nothing
    /// at the earlier times need not ask at each of them whether the pause lasts. A port has one such timer.
    pub fn set_timer_at_resume(&mut self, port: u32, first: u64, period: u64, key: u64) {
        let wake_up = WakeUp { first, period, key };
        if !self
            .network
            .set_wake_up((self.first_port + port) as usize, wake_up)
        {
            self.set_timer(first, key);
        }
    }

    /// Ends the wait of [`set_timer_at_resume`](Self::set_timer_at_resume), if the pause lasts.
    pub fn end_wait(&mut self, port: u32) {
        self.network.wake_up((self.first_port + port) as usize, self.now);
    }

    /// Opens a flow whose packets ask for telemetry and which this node sends.
    pub fn open_telemetry(&mut self, flow: u32) {
        if let Some(telemetry) = &mut self.network.telemetry {
            telemetry.open(flow);
        }
    }

    /// Closes a flow that was [opened](Self::open_telemetry).
    pub fn close_telemetry(&mut self, flow: u32) {
        if let Some(telemetry) = &mut self.network.telemetry {
            telemetry.close(flow);
        }
    }

    /// Takes what switches have reported of a transmission of an open flow, and drops what they have reported of earlier
    /// ones. The packet has arrived, so that its records are complete.
    pub fn take_telemetry(&mut self, flow: u32, number: u32) -> Option<PathRecord> {
        self.network.telemetry.as_mut()?.take(flow, number)
    }

    /// Sets a timer: [`Endpoint::on_timer`] is called with `key` at `time`, but not before now.
    pub fn set_timer(&mut self, time: u64, key: u64) {
        self.network.set_timer(Timer {
            time: time.max(self.now),
            node: self.node,
            key,
        });
    }
}

/// Indices of a node's ports and endpoint.
#[derive(Clone, Copy)]
pub struct NodeSlots {
    /// First port of the node in the partition.
    pub first_port: u32,
    /// Endpoint of the node in the partition; `u32::MAX` at a switch.
    pub endpoint: u32,
}

/// Bits of a sort key that number a packet in its batch. The other bits are the time within the
/// window: up to 17 s.
pub const INDEX_BITS: u32 = 20;

/// Minimum number of links of a partition that prefetches. A busy link has about 1 KiB in use, and
/// the nearer caches hold some 2 MiB. In a smaller network, prefetching only costs time.
pub const MIN_PREFETCH_LINKS: usize = if cfg!(test) { 8 } else { 2048 };

/// Number of packets of a batch between the prefetch of a port and its use.
const PORT_PREFETCH: usize = 12;

/// Number of packets of a batch between the prefetch of the ring and the queue of a port and their use.
const QUEUE_PREFETCH: usize = 8;

/// Number of packets of a batch between the prefetch of the packets that wait at a port and their use.
const PACKET_PREFETCH: usize = 4;

/// Number of packets of a host's batch for which the host prefetches.
const HOST_PREFETCH: usize = 16;

/// A range of nodes with their endpoints and their part of the network.
pub struct Partition<E> {
    /// Number of the first node.
    pub first_node: u32,
    /// Indices of each node.
    pub node_slots: Vec<NodeSlots>,
    /// Endpoints of the hosts among the nodes.
    pub endpoints: Vec<E>,
    /// Ports, links and timers of the nodes.
    pub network: PartitionNetwork,
    /// Receiving node of each ring, numbered in the partition.
    pub ring_node: Vec<u32>,
    /// [`link_hash`](crate::hash::link_hash) of each ring's link.
    link_hashes: Vec<u64>,
    /// Samples of the partition.
    pub samples: Samples,
    /// Number of packets that reached a node.
    pub arrivals: u64,
    /// Number of timers that fired.
    pub timers_fired: u64,
    /// Running hash of the events of each node, if they are traced.
    pub trace: Vec<u64>,
    /// Captured packets.
    pub captures: Captures,
    batch: Vec<Packet>,
    /// The ring of each packet of the batch, if events are merged.
    batch_rings: Vec<u32>,
    /// For each ring in the batch, its first packet in the batch and the ring.
    ring_starts: Box<[(u32, u32)]>,
    keys: Vec<u64>,
    /// Ranks and keys of simultaneous packets.
    ranked: Vec<(u64, u64)>,
    scratch: Scratch,
    /// Number of bits of a key that may be set.
    key_bits: u32,
    due: Vec<Timer>,
    /// Rings with arrivals, and pause events, of a window whose events are merged.
    rings_due: Vec<u32>,
    pause_events: Vec<PauseEvent>,
    prefetches: bool,
    /// Whether events are processed one by one, because links can be paused or lose packets.
    merges_events: bool,
}

impl<E: Endpoint> Partition<E> {
    /// Creates an idle partition.
    pub fn new(
        first_node: u32,
        node_slots: Vec<NodeSlots>,
        endpoints: Vec<E>,
        network: PartitionNetwork,
        rings: impl Iterator<Item = (u32, u64)>,
        samples: Samples,
    ) -> Self {
        let (ring_node, link_hashes): (Vec<u32>, Vec<u64>) = rings.unzip();
        let max_rings = ring_node.chunk_by(|a, b| a == b).map(<[u32]>::len).max();
        let ring_starts = vec![(0, 0); max_rings.unwrap_or(0)].into();
        let trace = vec![0; node_slots.len()];
        let prefetches = network.links.rings.len() >= MIN_PREFETCH_LINKS;
        let merges_events = !network.losses.is_empty() || network.pauses.is_some();
        let key_bits = INDEX_BITS + u64::BITS - network.links.lookahead.leading_zeros();
        Self {
            first_node,
            node_slots,
            endpoints,
            network,
            ring_node,
            link_hashes,
            samples,
            arrivals: 0,
            timers_fired: 0,
            trace,
            captures: Captures::default(),
            batch: Vec::new(),
            batch_rings: Vec::new(),
            ring_starts,
            keys: Vec::new(),
            ranked: Vec::new(),
            scratch: Scratch::new(),
            key_bits,
            due: Vec::new(),
            rings_due: Vec::new(),
            pause_events: Vec::new(),
            prefetches,
            merges_events,
        }
    }

    /// Captures the packets that arrive over `link`, the link of `ring`.
    pub fn capture(&mut self, ring: u32, link: u32) {
        self.captures.add(self.ring_node.len(), ring, link);
    }

    /// Appends a packet from another partition to a ring, numbered over all partitions.
    pub fn receive(&mut self, ring: u32, packet: &Packet) {
        let local = (ring - self.network.links.first_ring) as usize;
        let Packet {
            time, route, flags, ..
        } = *packet;
        self.network.links.receive(local, packet, time, route, flags);
    }

    /// Processes all events of `window` before `end`. Nodes are independent within a window, so
    /// their order is free. The events of a node are ordered by time, by the link's rank at this
    /// time, and by the order on the link. At equal times, packets come before timers.
    pub fn process<const TRACE: bool>(&mut self, window: u64, end: u64) {
        if self.merges_events {
            self.process_merged::<TRACE>(window, end);
        } else if self.prefetches {
            self.process_window::<TRACE, true>(window, end);
        } else {
            self.process_window::<TRACE, false>(window, end);
        }
        self.network.serve_window();
    }

    /// Serves the ports of `node` until `now`, before its endpoint or a probe sees them.
    #[inline(always)]
    fn serve_node(&mut self, node: u32, now: u64) {
        if !self.network.backlogs.is_empty() {
            let next = self.node_slots.get(node as usize + 1);
            let end = next.map_or(self.network.ports.len() as u32, |slots| slots.first_port);
            let first = self.node_slots[node as usize].first_port;
            self.network.serve_node_until(node, first..end, now);
        }
    }

    /// Moves calendar and timers to `window`, and lists the timers that are due before `end`. Returns the
    /// start of the window.
    #[inline(always)]
    fn begin_window(&mut self, window: u64, end: u64) -> u64 {
        self.network.end = end;
        self.network.links.calendar.advance(window);
        self.due.clear();
        self.network.timers.take(window, end, &mut self.due);
        self.due.sort_unstable_by_key(|t| (t.node, t.time, t.key));
        window * self.network.links.lookahead
    }

    /// Adds the packets of `ring` that arrive before `end` to the batch, as those of its ring number
    /// `ring_count`.
    #[inline(always)]
    fn drain_ring(&mut self, ring: usize, ring_count: usize, end: u64) {
        self.ring_starts[ring_count] = (self.batch.len() as u32, ring as u32);
        if let Some(next) = self.network.links.rings[ring].drain_before(end, &mut self.batch) {
            self.network
                .links
                .calendar
                .schedule(next / self.network.links.lookahead, ring as u32);
        }
    }

    #[inline(always)]
    fn process_window<const TRACE: bool, const PREFETCH: bool>(&mut self, window: u64, end: u64) {
        let start = self.begin_window(window, end);
        let mut due = 0;
        if self.network.links.calendar.take_occupied() {
            // The node whose packets are in the batch.
            let mut node = u32::MAX;
            let mut ring_count = 0;
            for word in 0..self.network.links.calendar.words() {
                let mut bits = self.network.links.calendar.take_word(word);
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
                    self.drain_ring(ring, ring_count, end);
                    ring_count += 1;
                }
            }
            self.process_node::<TRACE, PREFETCH>(node, start, ring_count, &mut due);
        }
        while due < self.due.len() {
            let node = self.due[due].node - self.first_node;
            self.process_node::<TRACE, false>(node, start, 0, &mut due);
        }
    }

    /// Prefetches what arrives at the node of ring `ring`, whose other rings are among `bits`.
    #[inline(always)]
    fn prefetch_node(&self, word: usize, ring: usize, mut bits: u64) {
        let node = self.ring_node[ring];
        let mut ring = ring;
        loop {
            self.network.links.rings[ring].prefetch_take();
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
            let any_tie = sort_uniform_keys(&mut self.keys, &mut self.scratch, self.key_bits, INDEX_BITS);
            if any_tie {
                self.break_ties(start, ring_count);
            }
        }
    }

    /// Orders simultaneous arrivals by the ranks of the links at that time.
    #[cold]
    #[inline(never)]
    fn break_ties(&mut self, start: u64, ring_count: usize) {
        let ring_starts = &self.ring_starts[..ring_count];
        for tied in self.keys.chunk_by_mut(|&a, &b| same_time(a, b)) {
            if tied.len() > 1 {
                let time = start + (tied[0] >> INDEX_BITS);
                let rank = |&key: &u64| {
                    let index = (key & ((1 << INDEX_BITS) - 1)) as u32;
                    let position = ring_starts.partition_point(|&(start, _)| start <= index) - 1;
                    let (_, ring) = ring_starts[position];
                    (tie_rank(self.link_hashes[ring as usize], time), key)
                };
                // Packets of one link, and of links of equal rank, keep their order in the batch.
                self.ranked.clear();
                self.ranked.extend(tied.iter().map(rank));
                self.ranked.sort_unstable();
                for (key, &(_, ranked)) in tied.iter_mut().zip(&self.ranked) {
                    *key = ranked;
                }
            }
        }
    }

    /// Processes the batch at a switch without due timers.
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
                self.prefetch_ports(slots, &self.keys, &self.batch, i);
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

    /// Prefetches the ports that packets after the `i`-th one of a sorted batch take at a switch.
    #[inline(always)]
    fn prefetch_ports(&self, slots: NodeSlots, keys: &[u64], batch: &[Packet], i: usize) {
        let port_of = |i: usize| {
            let index = keys.get(i)? & ((1 << INDEX_BITS) - 1);
            let (hop, _) = batch[index as usize].route.next(self.network.hops);
            Some((slots.first_port + hop) as usize)
        };
        if let Some(port) = port_of(i + PORT_PREFETCH) {
            self.network.prefetch_port(port);
        }
        if let Some(port) = port_of(i + QUEUE_PREFETCH) {
            self.network.prefetch_queue(port);
        }
        if let Some(port) = port_of(i + PACKET_PREFETCH) {
            self.network.prefetch_packets(port);
        }
    }

    /// Processes the batch at a node with an endpoint or with due timers.
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
        let (keys, batch) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.batch));
        for &key in &keys {
            let index = key & ((1 << INDEX_BITS) - 1);
            let packet = &batch[index as usize];
            while let Some(&Reverse(timer)) = self.network.due.peek() {
                if timer.time >= packet.time {
                    break;
                }
                self.fire_timer::<TRACE>(node, slots);
            }
            self.process_arrival::<TRACE>(node, slots, ring_count, index as u32, packet);
        }
        (self.keys, self.batch) = (keys, batch);
        while !self.network.due.is_empty() {
            self.fire_timer::<TRACE>(node, slots);
        }
    }

    /// Processes packet `index` of the batch at `node`: hands it to the endpoint, or forwards it.
    #[inline(always)]
    fn process_arrival<const TRACE: bool>(
        &mut self,
        node: u32,
        slots: NodeSlots,
        ring_count: usize,
        index: u32,
        packet: &Packet,
    ) {
        if TRACE {
            trace_packet(&mut self.trace[node as usize], packet);
            self.captures
                .record(&self.ring_starts[..ring_count], index, packet);
        }
        if packet.route.is_at_destination() {
            self.serve_node(node, packet.time);
            let mut cx = Context {
                network: &mut self.network,
                node: self.first_node + node,
                first_port: slots.first_port,
                now: packet.time,
            };
            self.endpoints[slots.endpoint as usize].on_packet(packet, &mut cx);
        } else {
            let (hop, rest) = packet.route.next(self.network.hops);
            let port = (slots.first_port + hop) as usize;
            self.network.forward(port, packet.time, packet, rest);
        }
    }

    /// Prefetches what the first packets of the batch touch at a host.
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
        self.serve_node(node, timer.time);
        if timer.key & SAMPLE != 0 {
            let next = self.samples.take(&self.network, timer);
            self.network.set_timer(next);
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

/// Returns true if two sort keys have the same time.
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
