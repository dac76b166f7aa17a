//! Turns finished flows into records and reclaims their slots.
//!
//! The slots of a flow can be reused once no packet is on its way to either end and no
//! acknowledgement or join is due. The network is searched for such packets at fixed simulated
//! times, so that the slot of a later flow depends neither on threads nor on the ends of slices.
//!
//! A packet of TCP has the slot of its sender or receiver. Packets of other transports have the number of their flow,
//! which no later flow gets, so only the time of the search depends on what is on its way.

use std::collections::{HashMap, HashSet};

use weft_run::{FlowRecord, PacketKind, PacketRecord, PauseFrameRecord, SuppressionRecord};
use weft_spec::Time;

use crate::engine::route::Route;
use crate::packet::CLASS;
use crate::simulation::PacketSimulation;
use crate::transport::tcp::wire;
use crate::transport::{Host, NEXT_JOB, NON_TCP, Transport};

/// Interval between searches for reclaimable flows. A search is skipped while more flows are open
/// than have finished.
const RECLAIM_INTERVAL: Time = Time::from_ms(1);

/// Records of finished flows, and of captured packets.
#[derive(Clone, Default)]
pub(crate) struct FinishedRecords {
    /// Records of flows, with the time at which each flow opened.
    pub flows: Vec<(FlowRecord, Time)>,
    pub suppressions: Vec<SuppressionRecord>,
    /// Captured packets, also those of unfinished flows.
    pub packets: Vec<PacketRecord>,
    /// Classes of captured pause frames.
    pub pause_frames: Vec<PauseFrameRecord>,
}

/// Destinations of the packets in the network.
#[derive(Default)]
struct InFlightTargets {
    /// Receivers of subflows: (node, slot).
    receivers: HashSet<(u32, u32)>,
    /// Senders of subflows: (node, slot).
    senders: HashSet<(u32, u32)>,
    /// Flows with a SYN in the network.
    opening: HashSet<u32>,
}

/// The schedule of searches for reclaimable flows.
#[derive(Clone, Copy)]
pub(crate) struct ReclaimSchedule {
    interval: u64,
    pub next: u64,
}

impl ReclaimSchedule {
    /// `window` is the length of the engine's window, so that no search cuts a window; `busy` is
    /// the time of the first event.
    pub fn new(window: u64, busy: u64) -> Self {
        let interval = RECLAIM_INTERVAL.0.next_multiple_of(window.max(1));
        let mut schedule = Self { interval, next: 0 };
        schedule.advance_past(busy);
        schedule
    }

    /// Schedules the next search after `busy`, the time of the engine's next event: times without
    /// events need no search.
    pub fn advance_past(&mut self, busy: u64) {
        self.next = (busy / self.interval)
            .saturating_add(1)
            .saturating_mul(self.interval);
    }
}

impl PacketSimulation {
    /// Turns finished flows into records if nothing refers to them any more.
    pub(crate) fn reclaim_finished(&mut self) {
        self.reclaim_connections();
        self.reclaim_flows();
    }

    fn reclaim_connections(&mut self) {
        let (ended, open) = self.hosts().fold((0, 0), |(ended, open), host| {
            let (ended_here, open_here) = host.tcp().ended_and_open();
            (ended + ended_here, open + open_here)
        });
        if ended == 0 || ended < open {
            return;
        }
        let targets = self.in_flight_targets();
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            let mut ended = self.engine.endpoint_mut(host).tcp_mut().take_ended();
            ended.retain(|&index| !self.try_reclaim(host, index, &targets));
            self.engine.endpoint_mut(host).tcp_mut().keep_ended(ended);
        }
    }

    /// Turns finished flows of transports other than TCP into records if nothing is on its way to either end.
    fn reclaim_flows(&mut self) {
        let endpoints = || self.hosts().flat_map(Host::endpoints);
        let (ended, open) = endpoints().fold((0, 0), |(ended, open), (_, endpoint)| {
            let (ended_here, open_here) = endpoint.ended_and_open();
            (ended + ended_here, open + open_here)
        });
        if ended == 0 || ended < open {
            return;
        }
        let in_network = self.engine.in_flight().map(|(_, packet)| packet);
        let packets = in_network.chain(self.hosts().flat_map(Host::waiting_packets));
        let packets = packets.filter(|packet| packet.flags & NON_TCP != 0);
        let arriving: HashSet<u32> = packets.map(|packet| packet.lo).collect();
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            let kinds: Vec<_> = self
                .engine
                .endpoint(host)
                .endpoints()
                .map(|(kind, _)| kind)
                .collect();
            for kind in kinds {
                let endpoint = self.engine.endpoint_mut(host).endpoint_mut(kind);
                let mut ended = endpoint.map(Transport::take_ended).unwrap_or_default();
                ended.retain(|flow| arriving.contains(flow) || !self.reclaim_flow(host, kind, *flow));
                if let Some(endpoint) = self.engine.endpoint_mut(host).endpoint_mut(kind) {
                    endpoint.keep_ended(ended);
                }
            }
        }
    }

    /// Turns a flow into a record and frees its slots. Returns false if one of its ends still does something.
    fn reclaim_flow(&mut self, host: u32, kind: usize, flow: u32) -> bool {
        let endpoint = |host| {
            let mut endpoints = self.engine.endpoint(host).endpoints();
            endpoints.find_map(|(number, endpoint)| (number == kind).then_some(endpoint))
        };
        let to = self.shared.flow(flow).to;
        let sent = endpoint(host).and_then(|sender| sender.ended_flow(flow));
        let Some(sent) = sent.filter(|_| endpoint(to).is_some_and(|receiver| receiver.is_quiet(flow))) else {
            return false;
        };
        let opened = sent.opened;
        let record = self.record(sent, &HashMap::new());
        self.finished.flows.push((record, opened));
        for end in [host, to] {
            self.engine.endpoint_mut(end).free(kind, flow);
        }
        true
    }

    fn in_flight_targets(&self) -> InFlightTargets {
        let mut targets = InFlightTargets::default();
        for (node, packet) in self.engine.in_flight() {
            if packet.is_trimmed() {
                // Counted for its flow wherever it arrives.
                targets.opening.insert(packet.lo);
            }
            if packet.flags & !CLASS == NEXT_JOB || packet.flags & NON_TCP != 0 {
                continue;
            }
            match wire::kind(packet) {
                Some(PacketKind::Syn | PacketKind::JoinAck | PacketKind::DataFin) => {
                    targets.opening.insert(packet.lo);
                }
                Some(PacketKind::Data) => {
                    targets
                        .receivers
                        .insert((self.destination(node, packet.route), packet.slot));
                }
                Some(PacketKind::Ack | PacketKind::SynAck | PacketKind::JoinConfirmed) => {
                    targets
                        .senders
                        .insert((self.destination(node, packet.route), packet.slot));
                }
                Some(PacketKind::HandshakeAck | PacketKind::Fin | PacketKind::FinAck) | None => {}
            }
        }
        targets
    }

    /// Returns the node at which a route from `node` ends.
    pub(crate) fn destination(&self, mut node: u32, mut route: Route) -> u32 {
        let fabric = &self.shared.fabric;
        while !route.is_at_destination() {
            let first = fabric.first_link(node);
            let (port, rest) = route.next(self.shared.hops);
            node = fabric.links[first + port as usize].to;
            route = rest;
        }
        node
    }

    /// Turns a flow into a record and frees its slots. Returns false if something still refers to
    /// them.
    fn try_reclaim(&mut self, host: u32, index: u32, targets: &InFlightTargets) -> bool {
        let sender = self.engine.endpoint(host).tcp();
        let connection = sender.connection_in(index);
        let (flow, first, subflows) = (
            connection.flow,
            connection.first_subflow,
            connection.windows().len() as u32,
        );
        let to = self.shared.flow(flow).to;
        let Some(slots) = self.engine.endpoint(to).tcp().idle_receivers(flow, subflows) else {
            return false;
        };
        let [here, there] = [host, to].map(|host| self.shared.fabric.hosts[host as usize]);
        let is_target = targets.opening.contains(&flow)
            || (first..first + subflows).any(|slot| targets.senders.contains(&(here, slot)))
            || slots
                .iter()
                .any(|&slot| targets.receivers.contains(&(there, slot)));
        if is_target || !sender.sender_is_idle(index, self.engine.now()) {
            return false;
        }
        let mut sent = sender.sent_flow(connection);
        let (opened, suppressions) = (sent.opened, std::mem::take(&mut sent.suppressions));
        let record = self.record(sent, &HashMap::new());
        self.finished.suppressions.extend(suppressions);
        self.finished.flows.push((record, opened));
        self.engine.endpoint_mut(host).tcp_mut().free_sender(index);
        self.engine
            .endpoint_mut(to)
            .tcp_mut()
            .free_receiver(flow, subflows);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::Jitter;
    use std::sync::Arc;

    use weft_cc::Algorithm;
    use weft_fabric::{ManyToOne, PortQueues, QueueConfig, Topology};
    use weft_paths::Ecmp;
    use weft_run::ActiveRun;
    use weft_spec::{QueueSize, Rate, Size};
    use weft_traffic::Flow;
    use weft_transports::{Profile, Scheduler, TcpConfig, TransportConfig};

    use super::*;
    use crate::transport::TRANSPORTS;
    use crate::{Counters, Offload, Outcome, Probe, ProbedFlows, SimulationConfig, Threads};

    const END: Time = Time::from_ms(40);
    const FLOWS: u32 = 1_600;

    /// Returns a run with flows of up to 60 kB, a new one every 20 us, into a short queue. It has
    /// losses, timeouts, joins and reinjections.
    fn simulation(threads: usize) -> PacketSimulation {
        let queue = QueueConfig {
            limit: QueueSize::Packets(6),
            mark: Some(QueueSize::Packets(5)),
        };
        let queues = PortQueues {
            switch: queue,
            host: queue,
        };
        let topology = ManyToOne {
            senders: 8,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(2),
            sender_rate: None,
        };
        let profile = Profile::linux().with(|p| {
            p.rto.initial_rto = Time::from_us(900);
            p.rto.min_rto = Time::from_us(700);
            p.acks.delayed_ack_timeout = Time::from_us(300);
            p.joins.join_delay = Time::from_us(200);
        });
        let transport = |(name, subflows)| TransportConfig {
            kind: "tcp",
            class: 0,
            ack_class: 0,
            paths: Ecmp {}.into(),
            parameters: Arc::new(TcpConfig {
                cc: Algorithm::build(name, &[]).unwrap(),
                subflows,
                join_after: Size(0),
                scheduler: Scheduler::RoundRobin,
                profile: profile.clone(),
            }),
        };
        let flow = |i: u32| Flow {
            id: u64::from(i),
            from: i % 8,
            to: 8,
            size: Some(Size(1 + u64::from(i) * 7_919 % 40_000)),
            start: Time::from_us(20 * u64::from(i)),
            stop: None,
            transport: i % 2,
            traffic: 0,
            class: 0,
            round: 0,
            rate: None,
        };
        let config = SimulationConfig {
            fabric: topology.build(&queues).unwrap(),
            kinds: TRANSPORTS,
            transports: [("dctcp", 1), ("amp", 3)].map(transport).to_vec(),
            flows: (0..FLOWS).map(flow).collect(),
            generators: Vec::new(),
            // The latencies of every other flow are recorded.
            probes: (0..FLOWS)
                .step_by(2)
                .map(|flow| Probe::Latency {
                    flows: ProbedFlows::One(flow),
                })
                .collect(),
            jitter: Jitter::default(),
            clock_ppm: 0,
            nic: None,
            offload: Offload::default(),
            events: Vec::new(),
            controller: None,
            seed: 1,
            threads: Threads::Exactly(threads),
            trace_hash: true,
        };
        PacketSimulation::new(config).unwrap()
    }

    fn slots(simulation: &PacketSimulation) -> usize {
        let slots = simulation.hosts().map(|host| host.tcp().slot_count());
        slots.sum()
    }

    /// Returns the outcome without the number of lookahead windows and the trace hash, which
    /// contains slots.
    fn without_ways(outcome: Outcome) -> Outcome {
        Outcome {
            trace_hash: None,
            counters: Counters {
                windows: 0,
                ..outcome.counters
            },
            ..outcome
        }
    }

    #[test]
    fn reused_slots_change_nothing() {
        let mut keeping = simulation(1);
        keeping.reclaim_schedule.next = u64::MAX;
        keeping.run_until(END);
        let kept = slots(&keeping);
        assert!(
            kept as u32 > 4 * FLOWS,
            "{kept}: at least one at both ends of each flow"
        );
        let kept = without_ways(keeping.into_outcome());
        let dropped: u64 = kept.links.iter().map(|link| link.drops).sum();
        assert!(
            dropped > 100 && kept.counters.timeouts > 30,
            "{:?}",
            kept.counters
        );

        let mut reusing = simulation(1);
        reusing.run_until(END);
        let used = slots(&reusing) as u32;
        assert!(used < 2 * FLOWS, "{used} slots at the end");
        assert_eq!(without_ways(reusing.into_outcome()), kept);
    }

    #[test]
    fn what_is_taken_on_the_way_is_what_was_there() {
        let mut whole = simulation(1);
        whole.run_until(END);
        let whole = whole.into_outcome();
        let mut taking = simulation(3);
        let (mut flows, mut suppressions, mut times) = (Vec::new(), Vec::new(), 0);
        let mut latencies = Vec::new();
        for us in (1..40).map(|n| n * 997) {
            taking.run_until(Time::from_us(us));
            if taking.finished_rows() > 50 {
                let taken = taking.take_finished();
                flows.extend(taken.flows);
                suppressions.extend(taken.suppressions);
                latencies.extend(taken.latencies);
                times += 1;
            }
        }
        taking.run_until(END);
        let rest = taking.into_outcome();
        assert!(
            times > 5 && rest.flows.len() < 400,
            "{times} times, {} left",
            rest.flows.len()
        );
        flows.extend(rest.flows);
        suppressions.extend(rest.suppressions);
        let left = rest.latencies.len();
        latencies.extend(rest.latencies);
        latencies.sort_by_key(|record| (record.flow, record.chunk));
        assert!(left < latencies.len() / 2, "{left} of {} left", latencies.len());
        assert_eq!(latencies, whole.latencies);
        flows.sort_by_key(|record| record.flow);
        suppressions.sort_by_key(|episode| (episode.flow, episode.start));
        assert_eq!(flows, whole.flows);
        assert_eq!(suppressions, whole.suppressions);
        assert_eq!((rest.links, rest.trace_hash), (whole.links, whole.trace_hash));
    }
}
