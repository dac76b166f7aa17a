//! The life of a flow: it opens on its paths, is served after a handshake, sends its last byte, and is gone when that arrives.

use weft_paths::{PathPolicy, Paths, Way, seed_of_draws};
use weft_spec::{Profile, Time};
use weft_traffic::Flow;

use super::{Course, Step, later};

/// An open flow.
#[derive(Debug)]
pub(super) struct Served {
    pub index: u32,
    pub flow: Flow,
    pub ways: Chosen,
    /// Bits on the wire that each subflow has delivered, and delivers in a second.
    pub delivered: Vec<f64>,
    pub rates: Vec<f64>,
    /// Bits on the wire still to be delivered.
    pub left: f64,
    /// Until when all that is accounted for.
    pub since: Time,
    pub established: Time,
    /// Its departure in the heap is right only if it was put there at this number.
    pub version: u32,
    pub phase: Phase,
    /// Its number in the sharing.
    pub shared: Option<u32>,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Handshake,
    Served,
    /// All is sent, the last byte under way.
    Sent,
    Gone,
}

/// The paths of a flow's subflows.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Links of all subflows in a row, and where each subflow's end.
    pub links: Vec<u32>,
    pub ends: Vec<u32>,
    /// In seconds, without queues.
    pub rtts: Vec<f64>,
}

impl Chosen {
    pub fn path(&self, subflow: usize) -> &[u32] {
        let start = subflow.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.links[start as usize..self.ends[subflow] as usize]
    }
}

impl Course {
    /// A flow opens: its paths are chosen, and its handshake takes a round-trip time.
    pub(super) fn open(&mut self, index: u32, flow: Flow) {
        let profile = &self.plan.transports[flow.transport as usize].profile;
        let ways = self.choose_paths(index, &flow);
        let subflows = ways.ends.len();
        // Of a flow without a size no start is modelled; that all begin at once makes one equilibrium of them.
        let handshake = if flow.size.is_some() { ways.rtts[0] } else { 0.0 };
        let established = later(self.now, handshake);
        let stop = flow.stop;
        let mut served = Served {
            index,
            left: flow.size.map_or(f64::INFINITY, |size| wire_bits(profile, size.0)),
            flow,
            ways,
            delivered: vec![0.0; subflows],
            rates: vec![0.0; subflows],
            since: self.now,
            established,
            version: 0,
            phase: Phase::Handshake,
            shared: None,
        };
        self.subflows += subflows as u64;
        let place = self.free.pop().unwrap_or(self.served.len() as u32);
        if let Some(free) = self.served.get_mut(place as usize) {
            // Its versions go on, so that no departure of the flow before is taken for its own.
            served.version = free.version + 1;
            *free = served;
        } else {
            self.served.push(served);
        }
        self.note(established, Step::Serve(place));
        if let Some(stop) = stop {
            self.note(stop.max(established), Step::Stop(place));
        }
    }

    /// The paths that the transport's policy gives a flow, around links known to be dead.
    pub(super) fn choose_paths(&self, index: u32, flow: &Flow) -> Chosen {
        let fabric = &self.plan.fabric;
        let transport = &self.plan.transports[flow.transport as usize];
        let [from, to] = [flow.from, flow.to].map(|host| fabric.hosts[host as usize]);
        let mut ways = Chosen::default();
        // That there is a path was checked.
        let Some(paths) = Paths::between(fabric, from, to) else {
            return ways;
        };
        let hop = 8.0 * f64::from(transport.profile.wire_size());
        for subflow in 0..transport.subflows {
            let way = Way {
                flow: index,
                subflow,
                subflows: transport.subflows,
                back: false,
            };
            let seed = seed_of_draws(self.plan.spec.seed);
            let chosen = transport.paths.path(paths, seed, way);
            let begin = ways.links.len();
            let delay = self.ways.living_path(
                fabric,
                (from, to),
                chosen,
                paths.count,
                (seed, way),
                &mut ways.links,
            );
            let path = &ways.links[begin..];
            let sending: f64 = path
                .iter()
                .map(|&link| hop / fabric.links[link as usize].rate.0 as f64)
                .sum();
            ways.rtts.push(2.0 * delay.seconds() + sending);
            ways.ends.push(ways.links.len() as u32);
        }
        ways
    }

    /// A flow's data begins.
    pub(super) fn serve(&mut self, place: u32) {
        let served = &mut self.served[place as usize];
        served.phase = Phase::Served;
        served.since = self.now;
        self.join(place);
    }

    /// The application has no more data.
    pub(super) fn stop(&mut self, place: u32) {
        if self.served[place as usize].phase == Phase::Served {
            self.depart(place);
        }
    }

    /// All is sent; the last byte is under way.
    pub(super) fn depart(&mut self, place: u32) {
        self.part(place);
        let served = &mut self.served[place as usize];
        served.phase = Phase::Sent;
        let arrival = later(self.now, served.ways.rtts[0] / 2.0);
        self.note(arrival, Step::Arrive(place));
    }

    pub(super) fn arrive(&mut self, place: u32) {
        let (record, flow) = self.record(place, Some(self.now));
        let served = &mut self.served[place as usize];
        served.phase = Phase::Gone;
        let (index, class) = (served.index, flow.class as usize);
        if self.completions.len() <= class {
            self.completions.resize(class + 1, Vec::new());
        }
        self.completions[class].push(self.now);
        self.ended.push((record, flow));
        self.free.push(place);
        for (time, next) in self.reacting.arrived(index, self.now) {
            self.note(time, Step::Next(next));
        }
    }
}

/// Bits on the wire of so much data: each packet has its headers.
fn wire_bits(profile: &Profile, bytes: u64) -> f64 {
    let packets = bytes.div_ceil(u64::from(profile.mss).max(1));
    let headers = u64::from(profile.wire_size() - profile.mss);
    8.0 * (bytes + packets * headers) as f64
}
