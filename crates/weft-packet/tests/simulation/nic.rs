//! A host's card that pushes back on its sockets: nothing is lost or marked there, little waits, and sockets share it.

use crate::experiment::{
    GBPS, assert_conserved, assert_within, cc, config, flow, many_to_one, queue, transport,
};
use weft_fabric::{Fabric, QueueConfig};
use weft_packet::{Jitter, NicConfig, Outcome, PacketSimulation, Probe, SimulationConfig};
use weft_spec::{QueueSize, Rate, Time};
use weft_traffic::Flow;
use weft_transports::Profile;

const LIMIT: u32 = 16_000;

/// Host 3 of four is slow, so that its own port is what limits it; no host's queue drops or marks by itself.
fn slow_host() -> (Fabric, usize) {
    let mut fabric = many_to_one(3, Time::from_us(5), queue(100, Some(10)));
    let port = fabric
        .links
        .iter()
        .position(|link| link.from == fabric.hosts[3])
        .unwrap();
    fabric.links[port].rate = Rate(GBPS);
    for link in &mut fabric.links {
        if fabric.hosts.contains(&link.from) {
            link.queue = QueueConfig {
                limit: QueueSize::Packets(u32::MAX),
                mark: None,
            };
        }
    }
    (fabric, port)
}

/// Outcomes after 20 ms and after 100 ms of flows from host 3, the first of them with four subflows.
fn outcomes(nic: NicConfig, algorithm: &str, receivers: u32) -> ([Outcome; 2], usize) {
    let (fabric, port) = slow_host();
    let flows = (0..receivers).map(|to| Flow {
        start: Time::from_us(u64::from(to) * 37),
        transport: u32::from(to == 0),
        ..flow(3, to)
    });
    let transports = [1, 4].map(|subflows| transport(cc(algorithm, &[]), subflows, Profile::linux()));
    let config = SimulationConfig {
        nic: Some(nic),
        jitter: Jitter {
            time: 500_000,
            packet: 0,
        },
        probes: vec![Probe::Queue { link: port as u32 }],
        ..config(fabric, transports.to_vec(), flows.collect())
    };
    let mut simulation = PacketSimulation::new(config).unwrap();
    let outcomes = [20, 100].map(|ms| {
        simulation.run_until(Time::from_ms(ms));
        let outcome = simulation.outcome();
        assert_conserved(&outcome);
        outcome
    });
    (outcomes, port)
}

#[test]
fn a_card_is_kept_busy_and_holds_little() {
    for (algorithm, fair) in [("dctcp", true), ("dctcp", false), ("lia", true), ("lia", false)] {
        let nic = NicConfig {
            bql_limit: LIMIT,
            fair,
        };
        let ([before, after], port) = outcomes(nic, algorithm, 3);
        let what = format!("{algorithm}, in turn: {fair}");
        assert_eq!((after.counters.drops, after.counters.marks), (0, 0), "{what}");
        let bytes = after.links[port].bytes - before.links[port].bytes;
        assert_within(
            &format!("{what}: utilisation"),
            bytes as f64 * 8.0 / 8e7,
            0.999,
            1.001,
        );
        // The last packet may exceed the limit, and the six SYNs are not held back.
        let longest = after.queues[0].time_at_length.len() - 1;
        let max = LIMIT as usize / 1514 + 1 + 6;
        assert!(longest <= max, "{what}: {longest} packets waited");
    }
}

/// Six subflows, four of them of one connection, get a sixth each.
#[test]
fn those_that_wait_take_turns() {
    let nic = NicConfig {
        bql_limit: LIMIT,
        fair: true,
    };
    let ([before, after], _) = outcomes(nic, "dctcp", 3);
    let subflows = |outcome: &Outcome| -> Vec<u64> {
        let all = outcome.flows.iter().flat_map(|flow| &flow.subflows);
        all.map(|subflow| subflow.packets_sent).collect()
    };
    let sent: Vec<u64> = subflows(&after)
        .iter()
        .zip(subflows(&before))
        .map(|(a, b)| a - b)
        .collect();
    let mean = sent.iter().sum::<u64>() as f64 / 6.0;
    for &packets in &sent {
        assert_within(
            &format!("of {sent:?}, over the mean"),
            packets as f64 / mean,
            0.97,
            1.03,
        );
    }
}
