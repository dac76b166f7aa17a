//! A second transport, which tests the contract. It sends packets of one size at a constant rate,
//! repeats nothing, and a single packet of the receiver says that all have arrived.

use std::collections::HashMap;
use std::sync::Arc;

use weft_cc::Algorithm;
use weft_fabric::{ManyToOne, PortQueues, QueueConfig, Topology};
use weft_paths::{Ecmp, SubflowDirection};
use weft_run::{FlowRecord, Outcome, Scheduler, SubflowRecord, TransportConfig};
use weft_spec::{Profile, QueueSize, Rate, Size, Time};
use weft_traffic::Flow;

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};
use crate::{Jitter, Offload, PacketSimulation, Probe, SimulationConfig};

use super::TRANSPORTS;
use super::contract::{OTHER, ReceivedFlow, SentFlow, Transport, TransportKind};
use super::shared::Shared;
use super::state::HostContext;
use super::timer_keys::other_timer;

const PAYLOAD: u32 = 1_000;
const HEADER: u32 = 40;
/// Time between two packets: 10 us.
const INTERVAL: u64 = 10_000_000;

struct ConstantRate;

impl TransportKind for ConstantRate {
    fn name(&self) -> &'static str {
        "constant-rate"
    }

    fn about(&self) -> &'static str {
        "packets at a constant rate, for tests"
    }

    fn packet_sizes(&self, _: &TransportConfig) -> (u32, u32) {
        (HEADER, PAYLOAD + HEADER)
    }

    fn packets(&self, _: &TransportConfig, bytes: u64) -> u64 {
        bytes.div_ceil(PAYLOAD.into())
    }

    fn open_flow_bytes(&self, _: &TransportConfig) -> u64 {
        (size_of::<Sender>() + size_of::<Receiver>()) as u64
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(Part {
            shared: Arc::clone(shared),
            host,
            kind,
            senders: Vec::new(),
            receivers: HashMap::new(),
        })
    }
}

struct Sender {
    flow: u32,
    route: Route,
    opened: u64,
    next: u32,
    chunks: u32,
    acked: Option<Time>,
}

#[derive(Default)]
struct Receiver {
    packets: u32,
    last: u64,
    notify_at: u64,
}

struct Part {
    shared: Arc<Shared>,
    host: u32,
    kind: usize,
    senders: Vec<Sender>,
    receivers: HashMap<u32, Receiver>,
}

impl Part {
    fn route(&self, flow: u32, reverse: bool) -> Route {
        let spec = self.shared.flow(flow);
        let direction = SubflowDirection {
            flow: spec.id,
            subflow: 0,
            subflows: 1,
            reverse,
        };
        let there = if reverse { spec.from } else { spec.to };
        let [from, to] = [self.host, there].map(|host| self.shared.fabric.hosts[host as usize]);
        self.shared.route(spec.transport, direction, from, to).unwrap()
    }

    fn chunks(&self, flow: u32) -> u32 {
        self.shared.flow(flow).size.unwrap().0.div_ceil(PAYLOAD.into()) as u32
    }
}

impl Transport for Part {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        cx.set_timer(now, other_timer(self.kind, self.senders.len() as u32));
        self.senders.push(Sender {
            flow,
            route: self.route(flow, false),
            opened: now,
            next: 0,
            chunks: self.chunks(flow),
            acked: None,
        });
    }

    fn stop(&mut self, flow: u32, _: &mut HostContext<'_, '_>) {
        for sender in self.senders.iter_mut().filter(|sender| sender.flow == flow) {
            sender.chunks = sender.next;
        }
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let flow = packet.lo;
        if packet.flags & DATA == 0 {
            let now = cx.now;
            for sender in self.senders.iter_mut().filter(|sender| sender.flow == flow) {
                sender.acked = Some(Time(now));
            }
            cx.on_acked(flow);
            return;
        }
        let receiver = self.receivers.entry(flow).or_insert_with(|| {
            let notify_at = self.shared.notify_at(flow, &self.shared.flow(flow));
            Receiver {
                notify_at: cx.host.track_receiver(flow, notify_at),
                ..Receiver::default()
            }
        });
        receiver.packets += 1;
        receiver.last = packet.time;
        let (packets, bytes) = (receiver.packets, u64::from(receiver.packets * PAYLOAD));
        if bytes >= receiver.notify_at {
            cx.on_delivered_data(flow, packets, bytes, &mut receiver.notify_at);
        }
        if packets == self.chunks(flow) {
            cx.send(&Packet {
                route: self.route(flow, true),
                lo: flow,
                size: HEADER as u16,
                flags: OTHER,
                ..Packet::default()
            });
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[key as u32 as usize];
        if sender.next == sender.chunks {
            return;
        }
        cx.send(&Packet {
            route: sender.route,
            chunk: sender.next,
            lo: sender.flow,
            size: (PAYLOAD + HEADER) as u16,
            flags: DATA | OTHER,
            ..Packet::default()
        });
        sender.next += 1;
        let time = cx.now + INTERVAL;
        cx.set_timer(time, key);
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &Sender| SentFlow {
            record: FlowRecord {
                acked: sender.acked,
                established: Some(Time(sender.opened)),
                subflows: vec![SubflowRecord {
                    packets_sent: sender.next.into(),
                    ..SubflowRecord::default()
                }],
                ..FlowRecord::unopened(sender.flow)
            },
            opened: Time(sender.opened),
            chunks: sender.chunks,
            suppressions: Vec::new(),
        };
        self.senders.iter().map(record).collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let receiver = self.receivers.get(&flow)?;
        Some(ReceivedFlow {
            bytes: u64::from(receiver.packets * PAYLOAD),
            finish: (receiver.packets == chunks).then_some(Time(receiver.last)),
            packets: vec![receiver.packets.into()],
        })
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let bytes = |(&flow, receiver): (&u32, &Receiver)| (flow, u64::from(receiver.packets * PAYLOAD));
        self.receivers.iter().map(bytes).collect()
    }
}

const KINDS: &[&dyn TransportKind] = &[TRANSPORTS[0], &ConstantRate];

/// Runs two flows of these kinds, of 100 packets or so, to one receiver behind a port of this many
/// packets. Returns the number of completed flows, too.
fn run(kinds: [&'static str; 2], limit: u32, threads: usize) -> (Outcome, u64) {
    let queue = QueueConfig {
        limit: QueueSize::Packets(limit),
        mark: None,
    };
    let topology = ManyToOne {
        senders: 2,
        rate: Rate(1_000_000_000),
        delay: Time::from_us(2),
        sender_rate: None,
    };
    let transport = |kind| TransportConfig {
        kind,
        cc: Algorithm::build("reno", &[]).unwrap(),
        subflows: 1,
        paths: Ecmp {}.into(),
        join_after: Size(0),
        scheduler: Scheduler::RoundRobin,
        class: 0,
        ack_class: 0,
        profile: Profile::linux(),
    };
    let flow = |n: u32| Flow {
        id: n.into(),
        from: n,
        to: 2,
        size: Some(Size(100_000)),
        start: Time(0),
        stop: None,
        transport: n,
        traffic: 0,
        class: n,
        round: 0,
        rate: None,
    };
    let config = SimulationConfig {
        fabric: topology
            .build(&PortQueues {
                switch: queue,
                host: queue,
                nic: false,
            })
            .unwrap(),
        kinds: KINDS,
        transports: kinds.map(transport).to_vec(),
        flows: vec![flow(0), flow(1)],
        generators: Vec::new(),
        probes: vec![Probe::Latency { flow: 1 }],
        jitter: Jitter::default(),
        clock_ppm: 0,
        nic: None,
        offload: Offload::default(),
        events: Vec::new(),
        controller: None,
        seed: 1,
        threads,
        trace_hash: true,
    };
    let mut simulation = PacketSimulation::new(config).unwrap();
    simulation.run_until(Time::from_ms(5));
    let completed = (0..2).map(|class| simulation.completed_flows(class)).sum();
    (simulation.into_outcome(), completed)
}

#[test]
fn both_kinds_finish_in_one_network() {
    let (outcome, completed) = run(["tcp", "constant-rate"], 1_000, 1);
    assert_eq!(completed, 2);
    let [tcp, constant] = &outcome.flows[..] else {
        panic!("two flows: {:?}", outcome.flows);
    };
    assert_eq!(
        (tcp.delivered_bytes, constant.delivered_bytes),
        (100_000, 100_000)
    );
    // The last packet leaves after 99 intervals, and takes at least 2 hops of 8.32 us and 2 us. All
    // 70 packets of the other flow, of 12.3 us each, may be served before it.
    let least = 99 * INTERVAL + 2 * (8_320_000 + 2_000_000);
    let finish = constant.finish.unwrap().0;
    assert!(finish >= least && finish < least + 900_000_000, "{finish}");
    assert!(constant.acked.unwrap().0 > finish && tcp.finish.is_some());
    let subflow = &constant.subflows[0];
    assert_eq!((subflow.packets_sent, subflow.packets_received), (100, 100));
}

/// Two flows of 0.83 Gbps share a link of 1 Gbps. It serves at most 124 of their 200 packets while
/// they send, and its queue holds two.
#[test]
fn lost_packets_are_counted_and_threads_change_nothing() {
    let (outcome, completed) = run(["constant-rate"; 2], 2, 1);
    let subflows = outcome.flows.iter().map(|flow| &flow.subflows[0]);
    let dropped: u64 = subflows.clone().map(|subflow| subflow.packets_dropped).sum();
    assert!(dropped >= 70 && completed < 2, "{dropped}, {completed}");
    for subflow in subflows {
        let elsewhere = subflow.packets_dropped + subflow.packets_in_flight;
        assert_eq!(subflow.packets_sent, subflow.packets_received + elsewhere);
    }
    let (other, _) = run(["constant-rate"; 2], 2, 3);
    assert_eq!(
        (outcome.trace_hash, outcome.flows),
        (other.trace_hash, other.flows)
    );
}

#[test]
fn an_unknown_kind_is_refused() {
    let transports = [TransportConfig {
        kind: "carrier-pigeon",
        cc: Algorithm::build("reno", &[]).unwrap(),
        subflows: 1,
        paths: Ecmp {}.into(),
        join_after: Size(0),
        scheduler: Scheduler::RoundRobin,
        class: 0,
        ack_class: 0,
        profile: Profile::linux(),
    }];
    let error = crate::simulation::kind_numbers(&transports, KINDS).unwrap_err();
    assert_eq!(
        error,
        "transport of kind carrier-pigeon; allowed: tcp, constant-rate"
    );
}
