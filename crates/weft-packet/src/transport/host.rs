//! A host's transport: opens and accepts connections, and hands packets and timers to their halves.

use std::collections::HashMap;
use std::sync::Arc;

use weft_cc::{CongestionControl, Window};
use weft_fabric::Fabric;
use weft_paths::{Way, draw};
use weft_run::{JobRecord, Sample, Transport};
use weft_traffic::{Flow, Program};

use crate::engine::packet::{ACK, BARE, CWR, DATA, PROTECTED, Packet, SYN};
use crate::engine::prefetch::prefetch;
use crate::engine::route::HopBits;
use crate::engine::{At, Endpoint};
use crate::paths::Dead;
use crate::setup::Nic;

use super::connection::{Connection, UNLIMITED};
use super::handshakes::HANDSHAKE_DONE;
use super::joining::{CONFIRM, END, join_at};
use super::latency::Latencies;
use super::nic::Lines;
use super::pacing::may_pace;
use super::programs::{HANDOVER, RunningJob};
use super::reassembly::{Chunks, Islands};
use super::receiver::{Assembly, Reaction, Receiver};
use super::retiring::{Free, put};
use super::scattering::{expect_reordering, join_after};
use super::scheduling::Queues;
use super::subflow::{State, Subflow};
use super::tracing::{FlowProbes, Tracing};
use super::wandering::Wandering;

/// What all hosts know.
pub struct Shared {
    /// The network.
    pub fabric: Fabric,
    /// Transports.
    pub transports: Vec<Transport>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Traffic that reacts.
    pub programs: Vec<Arc<dyn Program>>,
    /// Flows on record.
    pub probes: FlowProbes,
    /// How routes are packed.
    pub hops: HopBits,
    /// The hosts' cards.
    pub nic: Option<Nic>,
    /// Links that routing avoids.
    pub dead: Dead,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Kinds of timers; a key is the kind in the upper half and an index in the lower.
#[derive(Clone, Copy)]
pub enum TimerKind {
    /// Open a flow: index of the flow.
    Start = 0,
    /// The application stops: index of the flow.
    Stop = 1,
    /// A join: subflow.
    Join = 2,
    /// Retransmission, probe or end of a reordering window: subflow.
    Retransmit = 3,
    /// Delayed acknowledgement: receiver.
    DelayedAck = 4,
    /// A sample of a flow: its number among those sampled at this host.
    Sample = 5,
    /// A job begins: job * programs + program.
    Begin = 6,
    /// A subflow closes: subflow.
    Close = 7,
    /// A port has room: port.
    Nic = 8,
    /// A paced packet may leave: subflow.
    Pace = 9,
    /// An application has written a chunk: index of the flow.
    Write = 10,
}

/// The key of a timer.
pub fn timer_key(kind: TimerKind, index: u32) -> u64 {
    (kind as u64) << 32 | u64::from(index)
}

/// The transport of one host.
pub struct Host {
    pub(super) shared: Arc<Shared>,
    /// Index among the fabric's hosts.
    pub(super) index: u32,
    pub connections: Vec<Connection>,
    pub(super) subflows: Vec<Subflow>,
    /// Subflows that wait for the host's ports.
    pub(super) lines: Lines,
    pub(super) assemblies: Vec<Assembly>,
    pub(super) receivers: Vec<Receiver>,
    /// Connection of each flow that this host sends.
    pub(super) sent: HashMap<u32, u32>,
    /// Assembly of each flow that this host receives.
    pub(super) received: HashMap<u32, u32>,
    /// Receiver of each (flow, subflow) that this host receives.
    pub(super) accepted: HashMap<(u32, u32), u32>,
    /// Places of what has ended, to be used again.
    pub(super) free: Free,
    /// Connections that have ended and keep their places.
    pub ended: Vec<u32>,
    /// Timeouts of those that do not.
    pub(super) past_timeouts: u64,
    /// Flows on record.
    pub(super) tracing: Tracing,
    /// Latencies on record.
    pub(super) latencies: Latencies,
    /// Their samples and changes.
    pub samples: Vec<Sample>,
    /// When flows sent from here had all their data acknowledged, by class.
    pub completions: Vec<Vec<u64>>,
    /// Jobs whose client this host is, once they have ended.
    pub jobs: Vec<JobRecord>,
    /// Those that have not, by (program, job).
    pub running: HashMap<(u32, u32), RunningJob>,
}

impl Endpoint for Host {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, at: &mut At<'_>) {
        if packet.flags & DATA != 0 {
            self.on_data(packet, at);
        } else if packet.flags & SYN == 0 {
            self.on_ack(packet, at);
        } else if packet.flags & BARE != 0 {
            self.on_bare(packet, at);
        } else if packet.flags == HANDOVER {
            self.on_handover(packet, at);
        } else {
            match packet.flags & !PROTECTED {
                SYN => self.on_syn(packet, at),
                CONFIRM => self.on_confirm(packet, at),
                END => self.on_end(packet, at),
                flags if flags & CWR != 0 => self.on_confirmed(packet, at),
                _ => self.on_syn_ack(packet, at),
            }
        }
    }

    #[inline(always)]
    fn expect(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            self.receivers
                .get(packet.slot as usize)
                .into_iter()
                .for_each(prefetch);
        } else if packet.flags & SYN == 0 {
            self.subflows
                .get(packet.slot as usize)
                .into_iter()
                .for_each(prefetch);
        }
    }

    #[inline(always)]
    fn expect_more(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            if let Some(receiver) = self.receivers.get(packet.slot as usize) {
                receiver.islands.expect();
                self.assemblies[receiver.assembly as usize]
                    .chunks
                    .expect(packet.chunk);
            }
        } else if packet.flags & SYN == 0
            && let Some(subflow) = self.subflows.get(packet.slot as usize)
        {
            subflow.segments.expect();
        }
    }

    fn on_timer(&mut self, key: u64, at: &mut At<'_>) {
        let index = key as u32;
        match key >> 32 {
            0 => self.open(index, at),
            1 => self.stop(index, at),
            2 => self.send_syn(index, at),
            3 => self.subflow_timer(index, at),
            4 => self.delayed_ack_timer(index, at),
            6 => self.begin(index, at),
            7 => self.close(index, at),
            8 => self.nic_has_room(index, at),
            9 => self.pace_is_due(index, at),
            10 => self.write(index, at),
            _ => self.sample(index, at),
        }
    }
}

impl Host {
    /// An idle host.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        Self {
            lines: Lines::new(
                shared.nic,
                shared
                    .transports
                    .iter()
                    .any(|it| may_pace(it.profile.pacing, &it.cc)),
            ),
            shared,
            index,
            connections: Vec::new(),
            subflows: Vec::new(),
            assemblies: Vec::new(),
            receivers: Vec::new(),
            sent: HashMap::new(),
            received: HashMap::new(),
            accepted: HashMap::new(),
            free: Free::default(),
            ended: Vec::new(),
            past_timeouts: 0,
            tracing: Tracing::default(),
            latencies: Latencies::default(),
            samples: Vec::new(),
            completions: Vec::new(),
            jobs: Vec::new(),
            running: HashMap::new(),
        }
    }

    /// Timeouts so far, of SYNs too.
    pub fn timeouts(&self) -> u64 {
        let timeouts = |s: &Subflow| s.stats.timeouts + s.stats.syn_timeouts;
        self.past_timeouts + self.subflows.iter().map(timeouts).sum::<u64>()
    }

    /// The sending halves of flows that have started and keep their places, in no order.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = &Connection> {
        self.sent.values().map(|&index| &self.connections[index as usize])
    }

    /// The sending half of a flow, once it has started.
    pub fn connection(&self, flow: u32) -> Option<(&Connection, &[Subflow])> {
        let connection = &self.connections[*self.sent.get(&flow)? as usize];
        Some((connection, self.subflows_of(connection)))
    }

    /// The subflows of a connection of this host.
    pub fn subflows_of(&self, connection: &Connection) -> &[Subflow] {
        &self.subflows[connection.first as usize..][..connection.windows.len()]
    }

    /// The receiving halves that keep their places, in no order.
    pub fn assemblies(&self) -> impl Iterator<Item = &Assembly> {
        self.received
            .values()
            .map(|&index| &self.assemblies[index as usize])
    }

    /// The receiving half of a flow.
    pub fn assembly(&self, flow: u32) -> Option<&Assembly> {
        self.received.get(&flow).map(|&a| &self.assemblies[a as usize])
    }

    /// The receiving half of a subflow.
    pub fn receiver(&self, flow: u32, subflow: u32) -> Option<&Receiver> {
        self.accepted
            .get(&(flow, subflow))
            .map(|&r| &self.receivers[r as usize])
    }

    /// A flow starts: subflow 0's SYN is sent.
    pub(super) fn open(&mut self, flow: u32, at: &mut At<'_>) {
        let shared = &self.shared;
        let spec = shared.flow(flow);
        let transport = &shared.transports[spec.transport as usize];
        let profile = &transport.profile;
        let mss = u64::from(profile.mss);
        let (total, last_len) = match spec.size {
            // A size beyond what chunks can number was refused when the run was set up.
            Some(size) => (size.0.div_ceil(mss) as u32, ((size.0 + mss - 1) % mss + 1) as u16),
            None => (UNLIMITED, profile.mss as u16),
        };
        let nodes = &shared.fabric.hosts;
        let (from, to) = (nodes[self.index as usize], nodes[spec.to as usize]);
        let first = self.free.run(transport.subflows);
        let first = first.unwrap_or(self.subflows.len() as u32);
        let cc = transport.cc.clone();
        let connection = Connection {
            flow,
            transport: spec.transport,
            first,
            echo: cc.echo(),
            suppresses_within_rounds: cc.suppresses_within_rounds(),
            cc,
            windows: vec![
                Window::new(profile.initial_cwnd, profile.initial_ssthresh);
                transport.subflows as usize
            ],
            total,
            written: if spec.rate.is_none() { total } else { 0 },
            last_len,
            next: 0,
            una: 0,
            join_at: join_at(join_after(transport).0, profile.mss, profile.confirmed_joins),
            joined: u64::MAX,
            receive_window: (profile.receive_buffer / mss).clamp(1, u64::from(u32::MAX)) as u32,
            reinject: std::collections::VecDeque::new(),
            queues: transport
                .gives_ahead()
                .then(|| Box::new(Queues::new(transport.subflows))),
            turn: 0,
            look_at_all: false,
            awaits_join: false,
            closes_until: if profile.full_handshakes { u64::MAX } else { 0 },
            opened: at.now,
            established: u64::MAX,
            finished: u64::MAX,
            reinjected: 0,
            suppressions: 0,
            suppressed_since: u64::MAX,
            episodes: Vec::new(),
            paced: profile.pacing,
            traced: false,
        };
        let index = put(&mut self.connections, &mut self.free.connections, connection);
        for s in 0..transport.subflows {
            // Whether routes fit was checked when the run was set up.
            let way = Way {
                flow,
                subflow: s,
                subflows: transport.subflows,
                back: false,
            };
            let route = shared.route(spec.transport, way, from, to).unwrap_or_default();
            let mut subflow = Subflow::new(index, s, route, profile);
            subflow.wandering = Wandering::new(shared, spec.transport, way, from, to);
            if let Some(wandering) = &subflow.wandering {
                let paths = wandering.paths();
                expect_reordering(&mut subflow, transport, paths, way);
            }
            match self.subflows.get_mut((first + s) as usize) {
                Some(place) => *place = subflow,
                None => self.subflows.push(subflow),
            }
        }
        self.sent.insert(flow, index);
        let paced = spec.rate.is_some();
        self.place_probes(index, at);
        self.send_syn(first, at);
        if paced {
            self.write(flow, at);
        }
    }

    /// The application has no more data.
    pub(super) fn stop(&mut self, flow: u32, at: &mut At<'_>) {
        let Some(&index) = self.sent.get(&flow) else {
            return;
        };
        let connection = &mut self.connections[index as usize];
        if connection.next < connection.total {
            let mss = self.shared.transports[connection.transport as usize].profile.mss;
            // What it has handed over goes still.
            connection.total = connection
                .queues
                .as_ref()
                .map_or(connection.next, |it| it.written().max(connection.next));
            connection.written = connection.total;
            connection.last_len = mss as u16;
            connection.start_to_close(at);
            self.send_end(index, at);
        }
        self.finish_if_done(index, at);
    }

    /// Sends a subflow's SYN, the first time or again.
    pub(super) fn send_syn(&mut self, slot: u32, at: &mut At<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        let connection = &self.connections[subflow.connection as usize];
        if connection.finished != u64::MAX {
            return;
        }
        let profile = &self.shared.transports[connection.transport as usize].profile;
        subflow.syn_sent = at.now;
        subflow.state = State::SynSent;
        subflow.arm(slot, at);
        at.send(&Packet {
            route: subflow.route,
            slot,
            chunk: subflow.stats.syn_timeouts as u32,
            lo: connection.flow,
            hi: subflow.index,
            size: profile.ack_size as u16,
            flags: SYN | if profile.protect_handshake { PROTECTED } else { 0 },
            ..Packet::default()
        });
    }

    /// A subflow is opened, or its SYN/ACK was late or lost.
    fn on_syn(&mut self, packet: &Packet, at: &mut At<'_>) {
        let (flow, index) = (packet.lo, packet.hi);
        let shared = Arc::clone(&self.shared);
        let spec = shared.flow(flow);
        let transport = &shared.transports[spec.transport as usize];
        let profile = &transport.profile;
        let assembly = if let Some(&known) = self.received.get(&flow) {
            known
        } else {
            let it = Assembly {
                flow,
                transport: spec.transport,
                chunks: Chunks::default(),
                end: u32::MAX,
                bytes: 0,
                newest: 0,
                due: self.record_delivered(flow, shared.due(flow, &spec)),
            };
            let new = put(&mut self.assemblies, &mut self.free.assemblies, it);
            self.received.insert(flow, new);
            new
        };
        let (receivers, free) = (&mut self.receivers, &mut self.free.receivers);
        let receiver = *self.accepted.entry((flow, index)).or_insert_with(|| {
            let nodes = &shared.fabric.hosts;
            let (here, there) = (nodes[self.index as usize], nodes[spec.from as usize]);
            let way = Way {
                flow,
                subflow: index,
                subflows: transport.subflows,
                back: true,
            };
            let it = Receiver {
                assembly,
                peer: packet.slot,
                route: shared.route(spec.transport, way, here, there).unwrap_or_default(),
                wandering: Wandering::new(&shared, spec.transport, way, here, there),
                next: 0,
                islands: Islands::default(),
                joined_at: 0,
                unacked: 0,
                quick: profile.quick_acks,
                echo: transport.cc.echo(),
                ce: false,
                marks: 0,
                tells: 0,
                last: 0,
                deadline: u64::MAX,
                timer: u64::MAX,
                packets: 0,
            };
            put(receivers, free, it)
        });
        at.send(&Packet {
            route: self.receivers[receiver as usize].route,
            slot: packet.slot,
            seq: receiver,
            chunk: packet.chunk,
            lo: flow,
            hi: index,
            size: profile.ack_size as u16,
            flags: SYN | ACK | if profile.protect_handshake { PROTECTED } else { 0 },
            ..Packet::default()
        });
    }

    /// A SYN/ACK arrived. Which SYN it answers its number tells, as a timestamp would; without those, an answer to a SYN sent twice
    /// gives no sample (Karn).
    fn on_syn_ack(&mut self, packet: &Packet, at: &mut At<'_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        if subflow.state != State::SynSent {
            return;
        }
        let connection = &mut self.connections[subflow.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index as usize;
        subflow.peer = packet.seq;
        let last = u64::from(packet.chunk) == subflow.stats.syn_timeouts;
        if profile.sample_handshake_rtt && last && (profile.timestamps || packet.chunk == 0) {
            subflow.rtt.sample(at.now - subflow.syn_sent);
            let rtt = subflow.rtt.srtt() as f64 * 1e-12;
            connection.windows[s].srtt = rtt;
            connection.windows[s].min_rtt = rtt;
        }
        if s > 0 && profile.confirmed_joins {
            self.confirm(packet.slot, at);
        } else {
            self.establish(packet.slot, at);
        }
    }

    /// A subflow may carry data; after subflow 0 the others join.
    pub(super) fn establish(&mut self, slot: u32, at: &mut At<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let full_handshakes = profile.full_handshakes;
        let s = subflow.index as usize;
        subflow.state = State::Open;
        subflow.deadline = u64::MAX;
        subflow.stats.established = at.now;
        connection.windows[s].established = true;
        connection.cc.on_open(&mut connection.windows, s);
        connection.note_suppression(at.now);
        connection.look_at_all = true;
        connection.awaits_join =
            profile.turn_waits_for_join && connection.windows.iter().any(|w| !w.established);
        if s == 0 {
            connection.established = at.now;
            if connection.join_at == 0 {
                self.open_joins(index, at);
            }
        } else {
            self.take_over(index, at.now);
        }
        if full_handshakes {
            let flow = self.connections[index as usize].flow;
            self.send_bare(flow, s as u32, HANDSHAKE_DONE, at);
        }
        self.pump(index, slot, at);
    }

    /// A uniformly random time up to `join_delay`, of a stream for each purpose.
    pub(super) fn join_delay(&self, flow: u32, subflow: u32, purpose: u64) -> u64 {
        let spec = self.shared.flow(flow);
        let profile = &self.shared.transports[spec.transport as usize].profile;
        let which = u64::from(flow) << 32 | u64::from(subflow);
        let hash = draw(&[self.shared.seed, which, purpose]);
        let range = u128::from(profile.join_delay.0) + 1;
        ((u128::from(hash) * range) >> 64) as u64
    }

    /// Data arrived.
    #[inline(always)]
    fn on_data(&mut self, packet: &Packet, at: &mut At<'_>) {
        let receiver = &mut self.receivers[packet.slot as usize];
        let assembly = &mut self.assemblies[receiver.assembly as usize];
        let profile = &self.shared.transports[assembly.transport as usize].profile;
        if receiver.echo_changes(packet) {
            at.send(&receiver.acknowledge(&assembly.chunks, 0, 0, profile));
        }
        let len = u64::from(packet.size) - u64::from(profile.header);
        match receiver.on_data(packet, len, at.now, assembly, profile) {
            Reaction::Acknowledge(lo, hi) => {
                at.send(&receiver.acknowledge(&assembly.chunks, lo, hi, profile));
            }
            Reaction::Delay => {
                if receiver.deadline == u64::MAX {
                    receiver.deadline = at.now + profile.delayed_ack_timeout.0;
                    if receiver.timer > receiver.deadline {
                        receiver.timer = receiver.deadline;
                        at.set_timer(receiver.deadline, timer_key(TimerKind::DelayedAck, packet.slot));
                    }
                }
            }
        }
        if assembly.bytes >= assembly.due {
            let assembly = receiver.assembly;
            self.at_due(assembly, at);
        }
    }

    fn delayed_ack_timer(&mut self, slot: u32, at: &mut At<'_>) {
        let receiver = &mut self.receivers[slot as usize];
        if at.now != receiver.timer {
            return;
        }
        receiver.timer = u64::MAX;
        if receiver.deadline > at.now {
            if receiver.deadline != u64::MAX {
                receiver.timer = receiver.deadline;
                at.set_timer(receiver.deadline, timer_key(TimerKind::DelayedAck, slot));
            }
            return;
        }
        let assembly = &self.assemblies[receiver.assembly as usize];
        let profile = &self.shared.transports[assembly.transport as usize].profile;
        at.send(&receiver.acknowledge(&assembly.chunks, 0, 0, profile));
    }

    /// A SYN, or the confirmation of a join, was not answered. The first SYNs are sent again at equal intervals if the profile says
    /// so, as by Linux since 6.5.
    pub(super) fn syn_timed_out(&mut self, slot: u32, at: &mut At<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.state == State::Confirming {
            subflow.rtt.back_off();
            self.confirm(slot, at);
            return;
        }
        let connection = &self.connections[subflow.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        subflow.stats.syn_timeouts += 1;
        if subflow.stats.syn_timeouts > profile.syn_linear_timeouts.into() {
            subflow.rtt.back_off();
        }
        self.send_syn(slot, at);
    }
}
