//! The transport of a host: passes packets and timers to senders and receivers.

use std::collections::HashMap;
use std::sync::Arc;

use weft_fabric::Fabric;
use weft_run::{JobRecord, Sample, TransportConfig};
use weft_traffic::{Flow, FlowGenerator};

use crate::config::{NicConfig, Offload};
use crate::engine::prefetch::prefetch;
use crate::engine::route::HopBits;
use crate::engine::{Context, Endpoint};
use crate::packet::{CONTROL_ONLY, CWR, DATA, PROTECTED, Packet, SYN};
use crate::paths::DownLinks;

use super::connection::ConnectionSender;
use super::generators::{NEXT_JOB, RunningJob};
use super::join::{DATA_FIN, JOIN_ACK};
use super::latency::Latencies;
use super::nic::HostQdisc;
use super::pacing::may_pace;
use super::path_monitor::PathStats;
use super::receiver::{AckDecision, ConnectionReceiver, SubflowReceiver};
use super::reclaim::FreeSlots;
use super::subflow::SubflowSender;
use super::trace::{FlowProbes, FlowTracer};

/// State that all hosts share.
pub struct Shared {
    /// The network.
    pub fabric: Fabric,
    /// Transports.
    pub transports: Vec<TransportConfig>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Generators of flows and jobs.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// The flows that are recorded.
    pub probes: FlowProbes,
    /// How routes are packed.
    pub hops: HopBits,
    /// The network cards of the hosts.
    pub nic: Option<NicConfig>,
    /// The work that is offloaded to the network cards.
    pub offload: Offload,
    /// Links that routing avoids because they are down.
    pub down_links: DownLinks,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Kinds of timers. A key has the kind in its upper half and an index in its lower half.
#[derive(Clone, Copy)]
pub enum TimerKind {
    /// Opens a flow. Index: flow.
    Start = 0,
    /// The application stops. Index: flow.
    Stop = 1,
    /// A subflow joins. Index: subflow.
    Join = 2,
    /// Retransmission, loss probe or end of a reordering window. Index: subflow.
    Subflow = 3,
    /// Delayed acknowledgement. Index: receiver of the subflow.
    DelayedAck = 4,
    /// A sample of a flow. Index: sampler of this host.
    Sample = 5,
    /// A job starts. Index: `job * generators + generator`.
    StartJob = 6,
    /// A subflow closes. Index: subflow.
    Close = 7,
    /// A port has drained. Index: port.
    NicReady = 8,
    /// Pacing allows the next packet. Index: subflow.
    Pace = 9,
    /// An application has written a chunk. Index: flow.
    Write = 10,
    /// The path monitor checks the paths. Index: connection.
    PathMonitor = 11,
}

/// Returns the key of a timer.
pub fn timer_key(kind: TimerKind, index: u32) -> u64 {
    (kind as u64) << 32 | u64::from(index)
}

/// The transport of one host.
pub struct Host {
    pub(super) shared: Arc<Shared>,
    /// Index among the fabric's hosts.
    pub(super) index: u32,
    pub connections: Vec<ConnectionSender>,
    pub(super) subflows: Vec<SubflowSender>,
    /// Subflows that wait for the host's ports.
    pub(super) qdisc: HostQdisc,
    pub(super) connection_receivers: Vec<ConnectionReceiver>,
    pub(super) subflow_receivers: Vec<SubflowReceiver>,
    /// Slot of the connection of each flow that this host sends.
    pub(super) sender_of_flow: HashMap<u32, u32>,
    /// Slot of the connection's receiver of each flow that this host receives.
    pub(super) receiver_of_flow: HashMap<u32, u32>,
    /// Slot of the subflow's receiver of each (flow, subflow) that this host receives.
    pub(super) subflow_receiver_of: HashMap<(u32, u32), u32>,
    /// Slots that were reclaimed and may be reused.
    pub(super) free_slots: FreeSlots,
    /// Connections that have finished and were not reclaimed yet.
    pub ended: Vec<u32>,
    /// Timeouts of connections that were reclaimed.
    pub(super) reclaimed_timeouts: u64,
    /// Time for which reclaimed connections were open, in picoseconds.
    pub(super) reclaimed_open_time: u64,
    /// Time for which connections to this host received nothing until a delayed acknowledgement was sent, in picoseconds.
    pub delayed_ack_stall: u64,
    /// Observations that path monitors share, by transport.
    pub(super) path_stats: HashMap<u32, PathStats>,
    /// The recorder of flows.
    pub(super) tracer: FlowTracer,
    /// The recorded latencies.
    pub(super) latencies: Latencies,
    /// Samples and changes of recorded flows.
    pub samples: Vec<Sample>,
    /// Times at which flows sent from this host had all their data acknowledged, by class.
    pub completions: Vec<Vec<u64>>,
    /// Finished jobs whose client this host is.
    pub jobs: Vec<JobRecord>,
    /// Running jobs whose client this host is, by (generator, job).
    pub running_jobs: HashMap<(u32, u32), RunningJob>,
}

impl Endpoint for Host {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if packet.flags & DATA != 0 {
            self.on_data(packet, cx);
        } else if packet.flags & SYN == 0 {
            self.on_ack(packet, cx);
        } else if packet.flags & CONTROL_ONLY != 0 {
            self.on_control(packet, cx);
        } else if packet.flags == NEXT_JOB {
            self.on_next_job(packet, cx);
        } else {
            match packet.flags & !PROTECTED {
                SYN => self.on_syn(packet, cx),
                JOIN_ACK => self.on_join_ack(packet, cx),
                DATA_FIN => self.on_data_fin(packet, cx),
                flags if flags & CWR != 0 => self.on_join_confirmed(packet, cx),
                _ => self.on_syn_ack(packet, cx),
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            self.subflow_receivers
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
    fn prefetch_indirect(&self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            if let Some(receiver) = self.subflow_receivers.get(packet.slot as usize) {
                receiver.out_of_order.prefetch();
                self.connection_receivers[receiver.connection as usize]
                    .chunks
                    .prefetch(packet.chunk);
            }
        } else if packet.flags & SYN == 0
            && let Some(subflow) = self.subflows.get(packet.slot as usize)
        {
            subflow.segments.prefetch();
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        let index = key as u32;
        match key >> 32 {
            0 => self.open(index, cx),
            1 => self.stop(index, cx),
            2 => self.join(index, cx),
            3 => self.subflow_timer(index, cx),
            4 => self.delayed_ack_timer(index, cx),
            6 => self.on_job_timer(index, cx),
            7 => self.close(index, cx),
            8 => self.on_port_ready(index, cx),
            9 => self.on_pacing_timer(index, cx),
            10 => self.on_application_write(index, cx),
            11 => self.on_path_monitor_timer(index, cx),
            _ => self.sample(index, cx),
        }
    }
}

impl Host {
    /// Creates an idle host.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        Self {
            qdisc: HostQdisc::new(
                shared.nic,
                shared.offload.tso,
                shared
                    .transports
                    .iter()
                    .any(|transport| may_pace(transport.profile.pacing, &transport.cc)),
            ),
            shared,
            index,
            connections: Vec::new(),
            subflows: Vec::new(),
            connection_receivers: Vec::new(),
            subflow_receivers: Vec::new(),
            sender_of_flow: HashMap::new(),
            receiver_of_flow: HashMap::new(),
            subflow_receiver_of: HashMap::new(),
            free_slots: FreeSlots::default(),
            ended: Vec::new(),
            reclaimed_timeouts: 0,
            reclaimed_open_time: 0,
            delayed_ack_stall: 0,
            path_stats: HashMap::new(),
            tracer: FlowTracer::default(),
            latencies: Latencies::default(),
            samples: Vec::new(),
            completions: Vec::new(),
            jobs: Vec::new(),
            running_jobs: HashMap::new(),
        }
    }

    /// Returns the number of timeouts so far, including those of SYNs.
    pub fn timeouts(&self) -> u64 {
        let timeouts = |s: &SubflowSender| s.stats.timeouts + s.stats.syn_timeouts;
        self.reclaimed_timeouts + self.subflows.iter().map(timeouts).sum::<u64>()
    }

    /// Returns the sum of the times for which connections from this host have been open, in picoseconds.
    pub fn open_time(&self, now: u64) -> u64 {
        let open = |c: &ConnectionSender| c.finished.min(now).saturating_sub(c.opened);
        self.reclaimed_open_time + self.connections().map(open).sum::<u64>()
    }

    /// Returns the flow and the number of the subflow whose sender is in this slot.
    pub fn subflow_at(&self, slot: u32) -> Option<(u32, u32)> {
        let subflow = self.subflows.get(slot as usize)?;
        let connection = self.connections.get(subflow.connection as usize)?;
        Some((connection.flow, subflow.index))
    }

    /// Returns the senders of flows that have started and were not reclaimed, in no order.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = &ConnectionSender> {
        self.sender_of_flow
            .values()
            .map(|&index| &self.connections[index as usize])
    }

    /// Returns the sender of a flow and its subflows, if the flow has started.
    pub fn connection(&self, flow: u32) -> Option<(&ConnectionSender, &[SubflowSender])> {
        let connection = &self.connections[*self.sender_of_flow.get(&flow)? as usize];
        Some((connection, self.subflows_of(connection)))
    }

    /// Returns the subflows of a connection of this host.
    pub fn subflows_of(&self, connection: &ConnectionSender) -> &[SubflowSender] {
        &self.subflows[connection.first_subflow as usize..][..connection.windows.len()]
    }

    /// Returns the receivers of connections that were not reclaimed, in no order.
    pub fn connection_receivers(&self) -> impl Iterator<Item = &ConnectionReceiver> {
        self.receiver_of_flow
            .values()
            .map(|&index| &self.connection_receivers[index as usize])
    }

    /// Returns the receiver of a flow's connection.
    pub fn connection_receiver(&self, flow: u32) -> Option<&ConnectionReceiver> {
        self.receiver_of_flow
            .get(&flow)
            .map(|&a| &self.connection_receivers[a as usize])
    }

    /// Returns the receiver of a flow's subflow.
    pub fn subflow_receiver(&self, flow: u32, subflow: u32) -> Option<&SubflowReceiver> {
        self.subflow_receiver_of
            .get(&(flow, subflow))
            .map(|&r| &self.subflow_receivers[r as usize])
    }

    /// Handles a data packet.
    #[inline(always)]
    fn on_data(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let receiver = &mut self.subflow_receivers[packet.slot as usize];
        let connection = &mut self.connection_receivers[receiver.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        if receiver.needs_ack_before_ce_change(packet) {
            cx.send(&receiver.acknowledge(&connection.chunks, 0, 0, profile));
        }
        let len = u64::from(packet.size) - u64::from(profile.header);
        let expected = connection.chunks.next();
        match receiver.on_data(packet, len, cx.now, connection, profile) {
            AckDecision::Now(lo, hi) => {
                cx.send(&receiver.acknowledge(&connection.chunks, lo, hi, profile));
            }
            AckDecision::Soon => {
                if receiver.merges(self.shared.offload.gro, profile.mss) {
                    receiver.acknowledge_by(cx.now + self.shared.offload.gro.0, packet.slot, cx);
                } else {
                    cx.send(&receiver.acknowledge(&connection.chunks, 0, 0, profile));
                }
            }
            AckDecision::Delay => {
                if receiver.deadline == u64::MAX {
                    receiver.acknowledge_by(cx.now + profile.delayed_ack_timeout.0, packet.slot, cx);
                }
                if receiver.pushed {
                    connection.pushed |= 1 << packet.hi;
                }
            }
        }
        if connection.pushed != 0 && connection.chunks.next() != expected && connection.chunks.is_in_order() {
            self.acknowledge_pushed(packet.slot, cx);
        }
        let receiver = &self.subflow_receivers[packet.slot as usize];
        let connection = &self.connection_receivers[receiver.connection as usize];
        if connection.bytes >= connection.notify_at {
            let connection = receiver.connection;
            self.on_tracked_data(connection, cx);
        }
    }

    /// Sends the delayed acknowledgements of pushed segments. It is called once the application has
    /// read everything that has arrived on the connection of `slot`. Each subflow on which a
    /// segment with PSH waits for a delayed acknowledgement sends it (Linux's `mptcp_cleanup_rbuf`
    /// and `tcp_cleanup_rbuf`; since 6.6 `tcp_measure_rcv_mss` sets `ICSK_ACK_PUSHED` for full
    /// segments, too).
    fn acknowledge_pushed(&mut self, slot: u32, cx: &mut Context<'_>) {
        let connection = self.subflow_receivers[slot as usize].connection;
        let connection = &mut self.connection_receivers[connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let mut pushed = std::mem::take(&mut connection.pushed);
        while pushed != 0 {
            let s = pushed.trailing_zeros();
            pushed &= pushed - 1;
            if let Some(&slot) = self.subflow_receiver_of.get(&(connection.flow, s)) {
                let receiver = &mut self.subflow_receivers[slot as usize];
                if receiver.pushed && receiver.unacked > 0 {
                    cx.send(&receiver.acknowledge(&connection.chunks, 0, 0, profile));
                }
            }
        }
    }

    fn delayed_ack_timer(&mut self, slot: u32, cx: &mut Context<'_>) {
        let receiver = &mut self.subflow_receivers[slot as usize];
        if cx.now != receiver.timer {
            return;
        }
        receiver.timer = std::mem::replace(&mut receiver.second_timer, u64::MAX);
        if receiver.deadline > cx.now {
            if receiver.deadline != u64::MAX {
                receiver.acknowledge_by(receiver.deadline, slot, cx);
            }
            return;
        }
        let connection = &self.connection_receivers[receiver.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let since_data = cx.now - connection.last_data_at;
        if since_data >= profile.delayed_ack_timeout.0 {
            self.delayed_ack_stall += since_data;
        }
        cx.send(&receiver.acknowledge(&connection.chunks, 0, 0, profile));
    }
}
