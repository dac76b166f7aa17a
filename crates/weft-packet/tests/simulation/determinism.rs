//! A run is a function of its configuration and seed: not of threads, of slices, or of the run before.

use crate::experiment::{
    GBPS, TcpTransport, cc, config, everywhere, fat_tree, flow, queue, sized, transport,
};
use weft_fabric::{PortQueues, QueueConfig};
use weft_packet::{Jitter, Outcome, PacketSimulation, Probe, ProbedFlows, SimulationConfig, Threads};
use weft_spec::{QueueSize, Rate, Time, find};
use weft_traffic::{Flow, PatternContext, TRAFFIC};
use weft_transports::{Profile, Scheduler};

/// A seed's experiment.
type Experiment = fn(u64) -> SimulationConfig;

const END: Time = Time::from_us(4_000);

/// A stock sender whose timeouts fit into a few milliseconds.
fn hasty() -> Profile {
    Profile::linux().with(|p| {
        p.rto.initial_rto = Time::from_us(900);
        p.rto.min_rto = Time::from_us(700);
        p.acks.delayed_ack_timeout = Time::from_us(300);
        p.joins.join_delay = Time::from_us(49);
    })
}

/// A fat-tree on which everything happens at once: losses, marks, timeouts, joins, delayed acknowledgements,
/// both schedulers, three echoes, queues limited in bytes.
fn mixed(seed: u64) -> SimulationConfig {
    let fabric = fat_tree(
        4,
        Rate(10 * GBPS),
        Time::from_us(1),
        &PortQueues {
            switch: QueueConfig {
                limit: QueueSize::Bytes(45_000),
                mark: Some(QueueSize::Packets(10)),
            },
            host: queue(200, None),
        },
    );
    let transports = vec![
        transport(cc("lia", &[]), 8, hasty()),
        transport(cc("dctcp", &[]), 1, hasty()),
        transport(
            cc("amp", &[]),
            4,
            Profile::amp_2019().with(|p| {
                p.rto.initial_rto = Time::from_us(1_500);
                p.rto.min_rto = Time::from_us(800);
            }),
        ),
        TcpTransport {
            scheduler: Scheduler::LowestRtt,
            ..transport(cc("xmp", &[]), 4, hasty())
        },
        TcpTransport {
            scheduler: Scheduler::LowestRtt,
            ..transport(cc("dcm", &[]), 2, hasty())
        },
    ];
    let mut flows = Vec::new();
    for i in 0..16 {
        let to = (i * 7 + 5) % 16;
        flows.push(Flow {
            transport: i % 5,
            stop: (i % 3 == 0).then_some(Time::from_us(2_900)),
            start: Time(u64::from(i) * 12_345_677),
            ..flow(i, if to == i { 0 } else { to })
        });
        // Everyone also answers host 3, and again when the queue to it is full.
        if i != 3 {
            flows.extend([1_000, 1_300].map(|us| Flow {
                transport: (i + 1) % 5,
                start: Time::from_us(us),
                ..sized(i, 3, 60_001)
            }));
        }
    }
    SimulationConfig {
        probes: vec![
            Probe::Queue { link: 20 },
            Probe::QueueTrace {
                link: 20,
                interval: Time(7_654_321),
            },
            Probe::Flow {
                flows: ProbedFlows::One(0),
                interval: Some(Time::from_us(20)),
            },
            Probe::Flow {
                flows: ProbedFlows::One(1),
                interval: None,
            },
            Probe::Latency {
                flows: ProbedFlows::One(1),
            },
            Probe::Latency {
                flows: ProbedFlows::One(2),
            },
        ],
        jitter: Jitter {
            time: 500_001,
            packet: 0,
        },
        seed,
        trace_hash: true,
        ..config(fabric, transports, flows)
    }
}

/// Thirty hosts answer one, three rounds: suppression, and timeouts of whole windows.
fn incast(seed: u64) -> SimulationConfig {
    let fabric = crate::experiment::many_to_one(30, Time::from_us(2), queue(100, Some(10)));
    let profile = Profile::amp_2019().with(|p| {
        p.rto.initial_rto = Time::from_us(600);
        p.rto.min_rto = Time::from_us(300);
    });
    let flows = (0..90).map(|i| Flow {
        start: Time::from_us(u64::from(i / 30) * 1_100 + u64::from(i % 30)),
        round: i / 30,
        transport: u32::from(i % 3 == 0),
        ..sized(i % 30, 30, 128_000)
    });
    let transports = ["amp", "xmp"].map(|name| transport(cc(name, &[]), 4, profile.clone()));
    SimulationConfig {
        seed,
        trace_hash: true,
        ..config(fabric, transports.to_vec(), flows.collect())
    }
}

/// No two links are alike, some of them far longer than the lookahead, and a host's own queue drops.
fn unequal(seed: u64) -> SimulationConfig {
    let mut fabric = crate::experiment::many_to_one(6, Time::from_us(1), queue(30, Some(8)));
    for (i, link) in (0..).zip(&mut fabric.links) {
        link.delay = Time(400_000 + i * i * 1_234_567);
        link.rate = Rate([10, 25, 40, 7, 3][i as usize % 5] * GBPS);
        link.queue.limit = QueueSize::Packets(5 + 3 * (i as u32 % 7));
    }
    let flows = (0..12).map(|i| Flow {
        transport: i % 3,
        start: Time(u64::from(i) * 50_000_017),
        // Half of them go the other way.
        ..if i < 6 {
            flow(i, 6)
        } else {
            sized(6, i - 6, 400_000)
        }
    });
    let transports = vec![
        transport(cc("reno", &[]), 1, hasty()),
        transport(cc("lia", &[("beta", 4.0)]), 3, hasty()),
        transport(cc("amp", &[]), 4, hasty()),
    ];
    SimulationConfig {
        seed,
        trace_hash: true,
        ..config(fabric, transports, flows.collect())
    }
}

/// Flows that open when others end: jobs and a closed loop.
fn closed_loops(seed: u64) -> SimulationConfig {
    let fabric = fat_tree(
        4,
        Rate(10 * GBPS),
        Time::from_us(1),
        &everywhere(queue(40, Some(10))),
    );
    let names: Vec<&str> = fabric.nodes.iter().map(|node| node.name.as_str()).collect();
    let hosts: Vec<&str> = fabric.hosts.iter().map(|&node| names[node as usize]).collect();
    let generator = |traffic, kind, fields: &str| {
        let context = PatternContext::new(&hosts, traffic, traffic, seed);
        let table = fields.parse().unwrap();
        let pattern = (find(TRAFFIC, "kind", kind).unwrap().parse)(&table)
            .unwrap()
            .value;
        pattern.generator(&context).unwrap().unwrap()
    };
    let jobs = "servers = 5\nrequest = \"2KB\"\nblock = \"20KB\"\nslots = 8\njitter = \"50us\"";
    let size =
        "size = { kind = \"pareto\", shape = 1.5, mean = \"50KB\", max = \"1MB\" }\npairs = \"random\"";
    let generators = vec![generator(0, "jobs", jobs), generator(1, "closed-loop", size)];
    let transports = ["dctcp", "amp"].map(|name| transport(cc(name, &[]), 2, hasty()));
    SimulationConfig {
        generators,
        probes: vec![Probe::Latency {
            flows: ProbedFlows::Generated(0),
        }],
        seed,
        trace_hash: true,
        ..config(fabric, transports.to_vec(), vec![flow(3, 7)])
    }
}

const EXPERIMENTS: [(&str, Experiment); 4] = [
    ("mixed", mixed),
    ("incast", incast),
    ("unequal", unequal),
    ("closed_loops", closed_loops),
];

fn run(config: SimulationConfig) -> Outcome {
    crate::experiment::run(config, END)
}

/// The counter of windows starts at 0 in each slice; everything else must be equal.
fn without_windows(mut outcome: Outcome) -> Outcome {
    outcome.counters.windows = 0;
    outcome
}

#[test]
fn the_experiments_hold_what_they_are_for() {
    let outcome = run(mixed(1));
    let flows = &outcome.flows;
    let any = |of: fn(&weft_packet::SubflowRecord) -> u64| {
        flows.iter().flat_map(|f| &f.subflows).any(|s| of(s) > 0)
    };
    assert!(outcome.counters.drops > 100 && outcome.counters.marks > 100);
    assert!(
        any(|s| s.timeouts)
            && any(|s| s.fast_retransmits.unwrap())
            && any(|s| s.marked.unwrap())
            && any(|s| s.syn_timeouts.unwrap())
    );
    assert!(flows.iter().any(|f| f.reinjected > 0), "no reinjection");
    assert!(flows.iter().any(|f| f.finish.is_some()) && flows.iter().any(|f| f.finish.is_none()));
    assert!(
        flows
            .iter()
            .any(|f| f.subflows.len() == 8 && f.subflows.iter().all(|s| s.acked_bytes > Some(0)))
    );
    assert!(outcome.samples.len() > 500 && outcome.queues[0].time_at_length.len() > 10);

    let outcome = run(incast(1));
    assert!(outcome.counters.drops > 100 && outcome.counters.timeouts > 10);
    assert!(outcome.flows.iter().any(|f| f.suppressions > 0), "no suppression");

    let outcome = run(unequal(1));
    let of_hosts = outcome.links.iter().take(7).map(|link| link.drops).sum::<u64>();
    assert!(of_hosts > 0, "no host's own queue dropped");

    let outcome = run(closed_loops(1));
    let ended = outcome.jobs.iter().filter(|job| job.end.is_some()).count();
    assert!(ended > 50, "{ended} jobs ended");
    assert!(outcome.opened.values().filter(|flow| flow.transport == 1).count() > 50);
    assert!(outcome.latencies.len() > 1_000);
    let unprobed = SimulationConfig {
        probes: Vec::new(),
        ..closed_loops(1)
    };
    assert_eq!(
        run(unprobed).trace_hash,
        outcome.trace_hash,
        "a record changes a job"
    );
}

#[test]
fn threads_change_nothing() {
    for (name, experiment) in EXPERIMENTS {
        let one = run(experiment(1));
        assert!(one.trace_hash.is_some_and(|hash| hash != 0));
        for threads in [2, 3, 4, 64] {
            let config = SimulationConfig {
                threads: Threads::Exactly(threads),
                ..experiment(1)
            };
            // Field by field, so that a failure tells which table differs.
            let many = run(config);
            assert_eq!(many.trace_hash, one.trace_hash, "{name}, {threads} threads");
            assert_eq!(many, one, "{name}, {threads} threads");
        }
    }
}

#[test]
fn runs_repeat() {
    for (name, experiment) in EXPERIMENTS {
        assert_eq!(run(experiment(2)), run(experiment(2)), "{name}");
    }
}

#[test]
fn seeds_differ() {
    for (name, experiment) in EXPERIMENTS {
        let hashes = [1, 2, 3].map(|seed| run(experiment(seed)).trace_hash);
        assert!(
            hashes[0] != hashes[1] && hashes[1] != hashes[2],
            "{name}: {hashes:x?}"
        );
    }
}

/// The trace hash is not a part of the result that a run could change: without it the tables are the same.
#[test]
fn tracing_changes_nothing() {
    for (name, experiment) in EXPERIMENTS {
        let traced = run(experiment(1));
        let untraced = run(SimulationConfig {
            trace_hash: false,
            ..experiment(1)
        });
        assert_eq!(untraced.trace_hash, None);
        let traced = Outcome {
            trace_hash: None,
            ..traced
        };
        assert_eq!(untraced, traced, "{name}");
    }
}

/// Slices of a picosecond, of part of a window, of many windows; some end where the last one did or before it.
#[test]
fn slices_change_nothing() {
    for (name, experiment) in EXPERIMENTS {
        let whole = without_windows(run(experiment(1)));
        for threads in [1, 3] {
            let mut simulation = PacketSimulation::new(SimulationConfig {
                threads: Threads::Exactly(threads),
                ..experiment(1)
            })
            .unwrap();
            let lengths = [
                1, 0, 99_991, 1_070_403, 1_068_801, 7, 31_415_927, 2_000_000, 450_007,
            ];
            let mut end = 0;
            for length in lengths.iter().cycle() {
                end += length;
                if end >= END.0 {
                    break;
                }
                simulation.run_until(Time(end));
                simulation.run_until(Time(end / 2));
            }
            simulation.run_until(END);
            let sliced = without_windows(simulation.outcome());
            assert_eq!(sliced.trace_hash, whole.trace_hash, "{name}, {threads} threads");
            assert_eq!(sliced, whole, "{name}, {threads} threads");
        }
    }
}

/// The tables of an unfinished run are those of a run that was to end there, and asking for them does no harm.
#[test]
fn tables_on_the_way_are_those_of_a_shorter_run() {
    for (name, experiment) in EXPERIMENTS {
        let mut simulation = PacketSimulation::new(experiment(1)).unwrap();
        for end in [Time(1), Time(900_000_001), Time(2_345_678_901), END] {
            simulation.run_until(end);
            let mut shorter = PacketSimulation::new(experiment(1)).unwrap();
            shorter.run_until(end);
            let (so_far, shorter) = (simulation.outcome(), shorter.outcome());
            assert_eq!(
                without_windows(so_far),
                without_windows(shorter),
                "{name} at {end}"
            );
        }
    }
}
