//! Runs of short flows, whose senders and receivers are freed.

use weft_fabric::{
    FatTree, Lossless, Overflow, PortQueues, QueueConfig, QueueKind, Topology, TrimTo, Trimming, Victim,
};
use weft_run::{ActiveRun, Outcome};
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{NdpConfig, RoceConfig, SwiftConfig, TransportConfig, UetConfig, UetControl};

use crate::transport::{Host, test_runs};
use crate::{PacketSimulation, SimulationConfig};

const HOSTS: u32 = 16;
const RATE: Rate = Rate(100_000_000_000);

/// The transports, each with the queues of its network. The last one is UET with credit.
fn kinds() -> [(TransportConfig, QueueKind); 5] {
    let trimming = || Trimming {
        size: Size(64),
        headers: Some(QueueSize::Packets(20)),
        ratio: None,
        victim: Victim::Random,
        to: TrimTo::Receiver,
        overflow: Overflow::Drop,
        mark_min: None,
        mark_max: None,
    };
    let lossless = Lossless {
        headroom: None,
        headroom_pool: None,
        xoff: None,
        xon: None,
        reaction: Time(0),
        watchdog: None,
        classes: 1,
        mark_min: Some(QueueSize::Packets(2)),
        mark_max: Some(QueueSize::Packets(40)),
        mark_probability: None,
    };
    let uet = |control| UetConfig {
        control,
        network_rtt: Time::from_us(14),
        target_delay: Time::from_us(10),
        rto: Time::from_us(100),
        rate: RATE,
        oversubscription: 1.0,
        ..UetConfig::default()
    };
    let ndp = NdpConfig {
        rto: Time::from_us(200),
        rate: RATE,
        ..NdpConfig::default()
    };
    let roce = RoceConfig {
        rto: Time::from_us(200),
        ..RoceConfig::default()
    };
    let swift = SwiftConfig {
        subflows: 3,
        base_target: Time::from_us(20),
        endpoint_target: Some(Time::from_us(20)),
        min_rto: Time::from_us(200),
        ..SwiftConfig::default()
    };
    let uet = |control| (test_runs::transport("uet", uet(control)), trimming().into());
    [
        (test_runs::transport("swift", swift), QueueKind::default()),
        uet(UetControl::Sender),
        (test_runs::transport("ndp", ndp), trimming().into()),
        (test_runs::transport("roce", roce), lossless.into()),
        uet(UetControl::Receiver),
    ]
}

/// Returns a run of this many flows, the first half of the hosts to the second, one every `interval`.
fn simulation(
    (transport, queue): (TransportConfig, QueueKind),
    flows: u32,
    interval: Time,
    threads: usize,
) -> PacketSimulation {
    let limit = match queue {
        QueueKind::Lossless(_) => 200,
        _ => 8,
    };
    let port = QueueConfig {
        limit: QueueSize::Packets(limit),
        mark: None,
    };
    let topology = FatTree {
        k: 4,
        oversubscription: 1,
        host_rate: None,
        rate: RATE,
        delay: Time::from_us(1),
    };
    let queues = PortQueues {
        switch: port,
        host: port,
    };
    let mut fabric = topology.build(&queues).unwrap();
    for link in &mut fabric.links {
        link.kind = queue.clone();
    }
    let flow = |i: u32| Flow {
        start: Time(u64::from(i) * interval.0),
        ..test_runs::flow(
            i,
            i % (HOSTS / 2),
            HOSTS / 2 + i * 5 % (HOSTS / 2 - 1),
            1 + u64::from(i) * 7_919 % 20_000,
        )
    };
    let flows = (0..flows).map(flow).collect();
    let config = SimulationConfig {
        seed: 5,
        ..test_runs::config(fabric, vec![transport], flows, threads)
    };
    PacketSimulation::new(config).unwrap()
}

/// The number of flows that have a sender, those of them that have not ended included, and the latter.
fn held(simulation: &PacketSimulation) -> (usize, usize) {
    let endpoints = simulation.hosts().flat_map(Host::endpoints);
    endpoints.fold((0, 0), |(held, open), (_, endpoint)| {
        let (ended_here, open_here) = endpoint.ended_and_open();
        (held + ended_here + open_here, open + open_here)
    })
}

/// Packets of flows that have ended are on their way, headers are trimmed and dropped, and packets time out. Even so, each
/// record and each event is that of a run in which nothing is freed.
#[test]
fn freed_flows_change_nothing() {
    const FLOWS: u32 = 4_000;
    let end = Time::from_ms(30);
    let interval = Time(150_000);
    for (transport, queue) in kinds() {
        let name = transport.kind;
        let run = |keeps: bool, threads| -> (Outcome, usize) {
            let mut simulation = simulation((transport.clone(), queue.clone()), FLOWS, interval, threads);
            if keeps {
                simulation.reclaim_schedule.next = u64::MAX;
            }
            simulation.run_until(end);
            let (held, _) = held(&simulation);
            (simulation.into_outcome(), held)
        };
        let (mut kept, all) = run(true, 1);
        assert_eq!(all as u32, FLOWS, "{name}");
        assert!(
            kept.counters.trims + kept.counters.pauses + kept.counters.marks + kept.counters.drops > 0,
            "{name}"
        );
        for threads in [1, 3] {
            let (freed, held) = run(false, threads);
            assert!(held < all / 4, "{name}: {held} of {all}");
            kept.counters.windows = freed.counters.windows;
            assert_eq!(freed, kept, "{name}");
        }
    }
}

/// Memory follows the open flows, not all flows. With credit of the receiver, a flow is kept until the pacer of its receiver
/// has sent the last pull. The pacer sends it only while no other flow asks for credit.
#[test]
fn a_hundred_thousand_short_flows_need_the_memory_of_those_that_are_open() {
    const FLOWS: u32 = 100_000;
    let interval = Time(500_000);
    for kind in kinds().into_iter().take(4) {
        let name = kind.0.kind;
        let mut simulation = simulation(kind, FLOWS, interval, 1);
        let (mut most, mut most_open) = (0, 0);
        for step in 1..=110 {
            simulation.run_until(Time(u64::from(FLOWS) * interval.0 / 100 * step));
            let (held, open) = held(&simulation);
            (most, most_open) = (most.max(held), most_open.max(open));
            simulation.take_finished();
        }
        // Those of the last millisecond or two have ended and wait for the search.
        let per_search = (Time::from_ms(1).0 / interval.0) as usize;
        assert!(
            most <= 2 * most_open + 2 * per_search,
            "{name}: {most}, {most_open} open"
        );
        assert_eq!(held(&simulation), (0, 0), "{name}");
    }
}
