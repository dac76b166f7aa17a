//! The phases of a flow: it opens on its paths, transfers after a handshake, sends its last byte, and is done when that byte arrives.

use std::collections::hash_map::Entry;
use std::ops::{Index, IndexMut, Range};

use weft_paths::{Paths, SubflowDirection, draw_seed};
use weft_spec::Time;
use weft_traffic::Flow;
use weft_transports::Profile;

use super::event_queue::Event;
use super::{FlowSimulation, add_seconds};

/// An open flow.
#[derive(Debug)]
pub(super) struct ActiveFlow {
    pub index: u32,
    pub flow: Flow,
    pub paths: FlowPaths,
    /// Bits on the wire that each subflow has delivered, and delivers per second.
    pub delivered: Vec<f64>,
    pub rates: Vec<f64>,
    /// Bits on the wire still to be delivered.
    pub remaining_bits: f64,
    /// Time up to which `delivered` and `remaining_bits` count.
    pub updated_at: Time,
    pub established: Time,
    /// The departure in the heap is valid only if it has this version.
    pub version: u32,
    pub phase: Phase,
}

/// Flows by slot. The slot of a flow that is done is used again.
#[derive(Default)]
pub(super) struct FlowSlots {
    all: Vec<ActiveFlow>,
    free: Vec<u32>,
}

impl FlowSlots {
    /// Adds a flow, and returns its slot.
    fn insert(&mut self, mut flow: ActiveFlow) -> u32 {
        if let Some(slot) = self.free.pop() {
            // Versions continue, so that no departure of the previous flow is valid for this one.
            flow.version = self[slot].version + 1;
            self[slot] = flow;
            return slot;
        }
        self.all.push(flow);
        self.all.len() as u32 - 1
    }

    /// Frees the slot of a flow that is done.
    fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Returns all slots, also free ones.
    pub fn slots(&self) -> Range<u32> {
        0..self.all.len() as u32
    }

    /// Returns the flows in the order of their slots, also those that are done.
    pub fn as_slice(&self) -> &[ActiveFlow] {
        &self.all
    }
}

impl Index<u32> for FlowSlots {
    type Output = ActiveFlow;

    fn index(&self, slot: u32) -> &ActiveFlow {
        &self.all[slot as usize]
    }
}

impl IndexMut<u32> for FlowSlots {
    fn index_mut(&mut self, slot: u32) -> &mut ActiveFlow {
        &mut self.all[slot as usize]
    }
}

/// Progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for a handshake, or for earlier flows of its connection.
    Waiting,
    Transferring,
    LastByteInFlight,
    Done,
}

/// The paths of a flow's subflows.
#[derive(Debug, Default)]
pub(super) struct FlowPaths {
    /// Links of all subflows in a row, and the end of each subflow in that list.
    pub links: Vec<u32>,
    pub ends: Vec<u32>,
    /// Round-trip time of each subflow without queues, in seconds.
    pub rtts: Vec<f64>,
}

impl FlowPaths {
    pub fn path(&self, subflow: usize) -> &[u32] {
        let start = subflow.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.links[start as usize..self.ends[subflow] as usize]
    }
}

impl FlowSimulation {
    /// Opens a flow: its paths are chosen, and its handshake takes a round-trip time, unless a persistent connection carries it.
    pub(super) fn open(&mut self, index: u32, flow: Flow) {
        let profile = &self.plan.transports[flow.transport as usize].expect_tcp().profile;
        let paths = self.choose_paths(&flow);
        let subflows = paths.ends.len();
        // A flow without a size has no handshake, so that all flows that open at one time need one equilibrium.
        let handshake = if flow.size.is_some() { paths.rtts[0] } else { 0.0 };
        let connection = self.generators.connection_of(index);
        let established = match connection {
            Some(_) => self.now.max(add_seconds(Time(0), handshake)),
            None => add_seconds(self.now, handshake),
        };
        let stop = flow.stop;
        let slot = self.flows.insert(ActiveFlow {
            index,
            remaining_bits: flow.size.map_or(f64::INFINITY, |size| wire_bits(profile, size.0)),
            flow,
            paths,
            delivered: vec![0.0; subflows],
            rates: vec![0.0; subflows],
            updated_at: self.now,
            established,
            version: 0,
            phase: Phase::Waiting,
        });
        self.subflows += subflows as u64;
        let is_first = connection.is_none_or(|connection| {
            let queue = self.connections.entry(connection).or_default();
            queue.push_back(slot);
            queue.len() == 1
        });
        if is_first {
            self.events.schedule(established, Event::StartTransfer(slot));
        }
        if let Some(stop) = stop {
            self.events.schedule(stop.max(established), Event::StopFlow(slot));
        }
    }

    /// The paths that the transport's policy gives a flow, around links that are known to be down.
    pub(super) fn choose_paths(&self, flow: &Flow) -> FlowPaths {
        let fabric = &self.plan.fabric;
        let transport = &self.plan.transports[flow.transport as usize];
        let [from, to] = [flow.from, flow.to].map(|host| fabric.hosts[host as usize]);
        let mut flow_paths = FlowPaths::default();
        // The existence of a path is checked before the run.
        let Some(paths) = Paths::between(fabric, from, to) else {
            return flow_paths;
        };
        let hop = 8.0 * f64::from(transport.sizes().full());
        for subflow in 0..transport.subflows() {
            let direction = SubflowDirection {
                flow: flow.id,
                subflow,
                subflows: transport.subflows(),
                reverse: false,
            };
            let seed = draw_seed(self.plan.spec.seed);
            let begin = flow_paths.links.len();
            let delay = self.network.resolver.live_path(
                fabric,
                (from, to),
                (&transport.paths, paths),
                (seed, direction),
                &mut flow_paths.links,
            );
            let path = &flow_paths.links[begin..];
            let sending: f64 = path
                .iter()
                .map(|&link| hop / fabric.links[link as usize].rate.0 as f64)
                .sum();
            flow_paths.rtts.push(2.0 * delay.seconds() + sending);
            flow_paths.ends.push(flow_paths.links.len() as u32);
        }
        flow_paths
    }

    /// Starts the transfer of a flow after its handshake.
    pub(super) fn start_transfer(&mut self, slot: u32) {
        let active = &mut self.flows[slot];
        active.phase = Phase::Transferring;
        active.updated_at = self.now;
        self.start_sharing(slot);
    }

    /// Stops a flow whose application has no more data.
    pub(super) fn stop(&mut self, slot: u32) {
        if self.flows[slot].phase == Phase::Transferring {
            self.finish_sending(slot);
        }
    }

    /// Ends the transfer of a flow; its last byte is in flight.
    pub(super) fn finish_sending(&mut self, slot: u32) {
        self.stop_sharing(slot);
        let active = &mut self.flows[slot];
        active.phase = Phase::LastByteInFlight;
        let arrival = add_seconds(self.now, active.paths.rtts[0] / 2.0);
        self.events.schedule(arrival, Event::Deliver(slot));
        let index = active.index;
        if let Some(connection) = self.generators.connection_of(index) {
            self.start_next(connection);
        }
    }

    /// Starts the next flow of a persistent connection whose first flow has sent its last byte.
    fn start_next(&mut self, connection: u32) {
        let Entry::Occupied(mut queue) = self.connections.entry(connection) else {
            return;
        };
        queue.get_mut().pop_front();
        match queue.get().front() {
            Some(&next) => self.events.schedule(self.now, Event::StartTransfer(next)),
            None => drop(queue.remove()),
        }
    }

    /// Records a flow whose last byte arrives.
    pub(super) fn on_delivered(&mut self, slot: u32) {
        let (record, flow) = self.record(slot, Some(self.now));
        let active = &mut self.flows[slot];
        active.phase = Phase::Done;
        let (index, class) = (active.index, flow.class as usize);
        if self.completions.len() <= class {
            self.completions.resize(class + 1, Vec::new());
        }
        self.completions[class].push(self.now);
        self.finished.push((record, flow));
        self.flows.release(slot);
        for (time, action) in self.generators.on_flow_delivered(index, self.now) {
            self.events.schedule(time, Event::GeneratorAction(action));
        }
    }
}

/// Bits on the wire of `bytes` of data: each packet has its headers.
fn wire_bits(profile: &Profile, bytes: u64) -> f64 {
    let packets = bytes.div_ceil(u64::from(profile.sizes.mss).max(1));
    let headers = u64::from(profile.wire_size() - profile.sizes.mss);
    8.0 * (bytes + packets * headers) as f64
}
