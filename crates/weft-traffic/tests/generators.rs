//! Poisson arrivals, traffic matrices, closed loops and jobs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weft_spec::{Rate, Size, SpecError, Time, find};
use weft_traffic::{
    Action, Flow, FlowClass, FlowClasses, FlowGenerator, OnDelivered, PatternContext, TRAFFIC,
};

/// Runs a closure with a context of this many hosts in racks of 4 and pods of 8, for an experiment
/// of 10 s.
fn with<T>(
    kind: &str,
    fields: &str,
    hosts: usize,
    seed: u64,
    use_it: impl FnOnce(&dyn weft_traffic::Pattern, &PatternContext<'_>) -> T,
) -> Result<T, SpecError> {
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let distance = |a: u32, b: u32| {
        if a / 4 == b / 4 {
            2
        } else if a / 8 == b / 8 {
            4
        } else {
            6
        }
    };
    let short = FlowClass {
        transport: 9,
        class: 4,
    };
    let classes = FlowClasses {
        below: vec![(Size(100_000), short)],
        default: FlowClass {
            transport: 3,
            class: 5,
        },
    };
    // The first host has a link of ten times the rate of the others.
    let capacities: Vec<_> = (0..hosts)
        .map(|i| Rate(if i == 0 { 10 } else { 1 } * 1_000_000))
        .collect();
    let loaded = (find(TRAFFIC, "kind", kind)?.parse)(&fields.parse().unwrap())?;
    let context = PatternContext::new(&names, 0, 5, seed)
        .with_duration(Time::from_ms(10_000))
        .with_classes(classes)
        .with_distance(&distance)
        .with_capacities(&capacities);
    Ok(use_it(loaded.value.as_ref(), &context))
}

fn flows(kind: &str, fields: &str, hosts: usize, seed: u64) -> Result<Vec<Flow>, SpecError> {
    with(kind, fields, hosts, seed, |pattern, context| {
        pattern.flows(context)
    })?
}

fn generator(kind: &str, fields: &str, hosts: usize, seed: u64) -> Result<Arc<dyn FlowGenerator>, SpecError> {
    with(kind, fields, hosts, seed, |pattern, context| {
        pattern.generator(context)
    })?
    .map(Option::unwrap)
}

/// 64 hosts, 10 s, 1 ms: 640,000 flows, standard deviation 800; gaps have a coefficient of
/// variation of 1.
#[test]
fn poisson_arrivals_have_rate_and_variance() {
    let fields = "interval = \"1ms\"\npairs = \"random\"\nsize = { kind = \"uniform\", min = \"1KB\", max = \"200KB\" }";
    let made = flows("poisson", fields, 64, 1).unwrap();
    assert!((636_800..643_200).contains(&made.len()), "{}", made.len());
    assert!(made.windows(2).all(|pair| pair[0].start <= pair[1].start));
    let mut gaps = Vec::new();
    let mut last: HashMap<u32, Time> = HashMap::new();
    for flow in &made {
        let before = last.insert(flow.from, flow.start).unwrap_or(Time(0));
        gaps.push((flow.start.0 - before.0) as f64 * 1e-9);
        assert!(flow.from != flow.to);
        let below = flow.size.unwrap() < Size(100_000);
        assert_eq!((flow.transport, flow.class), if below { (9, 4) } else { (3, 5) });
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!(
        (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.02,
        "{mean} {variance}"
    );
    let by_rate = flows(
        "poisson",
        &fields.replace("interval = \"1ms\"", "rate = 1000"),
        64,
        1,
    )
    .unwrap();
    assert_eq!(made, by_rate);
    assert_ne!(made, flows("poisson", fields, 64, 2).unwrap());
}

/// Links of 1 Mbps, the first of 10 Mbps: half of their capacity in 10 s is 625 kB, or 6.25 MB. For
/// 1,250 flows of 500 B on average, with a coefficient of variation of 0.58, the standard deviation
/// of the sum is below 4 %.
#[test]
fn load_is_the_share_of_the_senders_links() {
    let fields =
        "load = 0.5\npairs = \"random\"\nsize = { kind = \"uniform\", min = \"1B\", max = \"999B\" }";
    let bytes = |made: &[Flow], from: u32| -> u64 {
        let own = made.iter().filter(|flow| flow.from == from);
        own.map(|flow| flow.size.unwrap().0).sum()
    };
    let near = |bytes: u64, expected: f64| assert!((bytes as f64 / expected - 1.0).abs() < 0.12, "{bytes}");
    let made = flows("poisson", fields, 16, 1).unwrap();
    near(bytes(&made, 0), 6_250_000.0);
    (1..16).for_each(|host| near(bytes(&made, host), 625_000.0));
    // Two pairs with one sender share its link.
    let listed = fields.replace("\"random\"", "[[1, 2], [1, 3], [2, 3]]");
    let made = flows("poisson", &listed, 16, 1).unwrap();
    (1..3).for_each(|host| near(bytes(&made, host), 625_000.0));
    // The load is equal to the rate that follows from it.
    let by_rate = fields
        .replace("load = 0.5", "rate = 125")
        .replace("\"random\"", "[[1, 2]]");
    let by_load = fields.replace("\"random\"", "[[1, 2]]");
    assert_eq!(
        flows("poisson", &by_rate, 16, 1).unwrap(),
        flows("poisson", &by_load, 16, 1).unwrap()
    );
}

#[test]
fn random_matrices_reach_all_others_equally() {
    let made = flows("bulk", "pairs = \"random\"\ncount = 6300", 64, 1).unwrap();
    let mut seen: HashMap<(u32, u32), u32> = HashMap::new();
    for flow in &made {
        *seen.entry((flow.from, flow.to)).or_default() += 1;
    }
    // 100 flows of each of the 4032 pairs, standard deviation 10.
    assert_eq!(seen.len(), 64 * 63);
    assert!(seen.values().all(|&n| (50..150).contains(&n)));
    assert!(seen.keys().all(|(from, to)| from != to));
}

/// 64,000 flows: the standard deviation of a fraction of 0.5 is 0.002.
#[test]
fn staggered_matrices_have_their_shares() {
    let made = flows("bulk", "pairs = { tor = 0.5, pod = 0.3 }\ncount = 1000", 64, 1).unwrap();
    let share = |is_counted: fn(&Flow) -> bool| {
        made.iter().filter(|flow| is_counted(flow)).count() as f64 / made.len() as f64
    };
    let tor = share(|flow| flow.from / 4 == flow.to / 4);
    let pod = share(|flow| flow.from / 8 == flow.to / 8) - tor;
    assert!(
        (tor - 0.5).abs() < 0.008 && (pod - 0.3).abs() < 0.008,
        "{tor} {pod}"
    );
    assert!(made.iter().all(|flow| flow.from != flow.to));
}

#[test]
fn a_loop_keeps_its_sender_and_goes_on_until_it_is_stopped() {
    let fields = "pairs = \"random\"\nsize = { kind = \"exponential\", mean = \"1MB\" }\ncount = 2\nstart = \"1ms\"\nthink_time = \"1us\"\nstop = \"2s\"";
    let loops = generator("closed-loop", fields, 16, 3).unwrap();
    let first = loops.timed_actions();
    assert_eq!(first.len(), 32);
    assert!(first.iter().all(|(time, ..)| *time == Time::from_us(1_000)));
    let from: Vec<_> = first.iter().map(|(_, host, _)| *host).collect();
    assert_eq!(
        &from[..17],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0]
    );
    let next = loops.on_acked(5, Time::from_ms(7));
    assert_eq!(next, Some((Time::from_us(7_001), Action::OpenFlow(37))));
    assert_eq!(loops.flow(5).from, loops.flow(37).from);
    assert_eq!(loops.on_acked(5, Time::from_ms(2_000)), None);
    let drawn: HashSet<_> = (0..100).map(|i| loops.flow(5 + 32 * i).to).collect();
    assert!(
        drawn.len() > 10 && !drawn.contains(&5),
        "each flow's receiver is drawn anew: {drawn:?}"
    );
    let again = generator("closed-loop", fields, 16, 3).unwrap();
    assert!((0..1000).all(|n| loops.flow(n) == again.flow(n)));
    let fixed = generator("closed-loop", "pairs = \"permutation\"\nsize = \"1MB\"", 16, 3).unwrap();
    assert!((0..16).all(|n| fixed.flow(n).to == fixed.flow(n + 160).to));
}

/// Neither clients nor servers send to each other.
#[test]
fn flows_of_jobs_are_between_clients_and_servers() {
    let pairs = |fields: &str| -> HashSet<(u32, u32)> {
        let fields = format!("servers = 1\nrequest = \"2KB\"\nblock = \"64KB\"\n{fields}");
        let jobs = generator("jobs", &fields, 6, 3).unwrap();
        let pairs = jobs.pairs();
        assert!(pairs.every(1).count() <= pairs.count());
        pairs.every(1).collect()
    };
    let both_ways = |one_way: &[(u32, u32)]| -> HashSet<(u32, u32)> {
        one_way
            .iter()
            .flat_map(|&(from, to)| [(from, to), (to, from)])
            .collect()
    };
    assert_eq!(
        pairs("client_hosts = [0, 1]\nserver_hosts = [3, 4]"),
        both_ways(&[(0, 3), (0, 4), (1, 3), (1, 4)])
    );
    // A host may be a client and a server, but not of one job.
    assert_eq!(
        pairs("client_hosts = [0, 1]\nserver_hosts = [1, 2]"),
        both_ways(&[(0, 1), (0, 2), (1, 2)])
    );
    assert_eq!(pairs("").len(), 6 * 5);
}

#[test]
fn jobs_ask_distinct_servers_and_end_with_the_last_block() {
    let fields = "servers = 10\nrequest = \"2KB\"\nblock = \"64KB\"\nslots = 8\nstop = \"1s\"";
    let jobs = generator("jobs", fields, 16, 3).unwrap();
    assert_eq!(jobs.timed_actions().len(), 8);
    let mut clients = HashMap::new();
    for number in 0..4_000 {
        let job = jobs.job(number).unwrap();
        let distinct: HashSet<_> = job.servers.iter().collect();
        assert!(distinct.len() == 10 && !distinct.contains(&job.client));
        assert_eq!((job.slot, job.first_request), (number % 8, number * 20));
        *clients.entry(job.client).or_insert(0) += 1;
        for (i, &server) in (0..).zip(&job.servers) {
            let (request, block) = (jobs.flow(number * 20 + i), jobs.flow(number * 20 + 10 + i));
            assert_eq!(
                (request.from, request.to, request.size),
                (job.client, server, Some(Size(2_000)))
            );
            assert_eq!(
                (block.from, block.to, block.size),
                (server, job.client, Some(Size(64_000)))
            );
            assert_eq!(
                jobs.on_delivered(number * 20 + i),
                OnDelivered::Reply(number * 20 + 10 + i)
            );
            assert_eq!(
                jobs.on_delivered(number * 20 + 10 + i),
                OnDelivered::JobBlock(number)
            );
        }
    }
    // 250 of each, standard deviation 15.
    assert!(
        clients.len() == 16 && clients.values().all(|n| (180..320).contains(n)),
        "{clients:?}"
    );
    assert_eq!(jobs.next_job(3, Time::from_ms(999)), Some(11));
    assert_eq!(jobs.next_job(3, Time::from_ms(1_000)), None);
}

/// Jitter of 1 s before a stop after half of it: about 32 of 64 loops or jobs begin, standard
/// deviation 4.
#[test]
fn what_jitter_moves_past_the_stop_does_not_begin() {
    let times = "start = \"1s\"\njitter = \"1s\"\nstop = \"1.5s\"";
    for (kind, fields) in [
        ("closed-loop", "pairs = \"random\"\nsize = \"1MB\"\ncount = 4"),
        (
            "jobs",
            "servers = 2\nrequest = \"2KB\"\nblock = \"64KB\"\nslots = 64",
        ),
    ] {
        let first = |times: &str| {
            generator(kind, &format!("{fields}\n{times}"), 16, 3)
                .unwrap()
                .timed_actions()
        };
        let begun = first(times);
        assert!((16..48).contains(&begun.len()), "{kind}: {}", begun.len());
        assert!(begun.iter().all(|(time, ..)| *time < Time::from_ms(1_500)));
        let all = first(&times.replace("1.5s", "3s"));
        assert_eq!(all.len(), 64);
        assert!(
            begun.iter().all(|action| all.contains(action)),
            "{kind}: the others are as without"
        );
    }
}

/// Kind, fields, and the start of the error, with 16 hosts in two pods.
const REFUSALS: &[(&str, &str, &str)] = &[
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"",
        "interval: required field is missing; set interval, rate or load",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nrate = 0",
        "rate: 0; allowed: above 0, up to 1000000000000",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\ninterval = \"0s\"",
        "interval: 0s; allowed: a time above 0",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nrate = 1\ninterval = \"1s\"",
        "rate: given together with interval; remove one of the two",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nrate = 1\nload = 0.5",
        "load: given together with rate; remove one of",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nload = 1.01",
        "load: 1.01; allowed: above 0, up to 1",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nload = nan",
        "load: NaN; allowed: above 0, up to 1",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1B\"\nload = 1",
        "load: about 31250000 flows before 10s; allowed: at most",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\ninterval = \"1ns\"",
        "interval: about 160000000000 flows before 10s; allowed: at most",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = 5\nrate = 1",
        "size: 5 is a bare number without a unit; allowed: a size with a unit, such as",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"0B\"\nrate = 1",
        "size: 0B; allowed: a size above 0",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"5\"\nrate = 1",
        "size: \"5\" is a bare number without a unit; allowed:",
    ),
    (
        "poisson",
        "pairs = \"random\"\nrate = 1\nsize = { mean = \"1KB\" }",
        "size.kind: required field is missing; add it: \"constant\", \"uniform\"",
    ),
    (
        "poisson",
        "pairs = \"random\"\nrate = 1\nsize = { kind = \"pareto\", shape = 1.5 }",
        "size.mean: required field is missing; add it: Mean size",
    ),
    (
        "poisson",
        "pairs = \"random\"\nrate = 1\nsize = { kind = \"pareto\", shape = 1.5, mean = \"1\" }",
        "size.mean: \"1\" is a bare number",
    ),
    (
        "poisson",
        "pairs = \"permutation\"\nto = 1\nsize = \"1KB\"\nrate = 1",
        "to: not used with these pairs; remove it or use pairs = \"random\"",
    ),
    (
        "poisson",
        "pairs = \"random\"\nto = 1\nsize = \"1KB\"\nrate = 1",
        "to: \"h1\" would send to itself; allowed: two",
    ),
    (
        "poisson",
        "pairs = [[0, 1]]\nfrom = 1\nsize = \"1KB\"\nrate = 1",
        "from: given together with a list of pairs; remove one",
    ),
    (
        "poisson",
        "pairs = \"random\"\nfrom = []\nsize = \"1KB\"\nrate = 1",
        "from: no hosts; allowed: at least one host",
    ),
    (
        "poisson",
        "pairs = \"random\"\nsize = \"1KB\"\nrate = 1\nstart = \"10s\"",
        "stop: 10s is not after the start; allowed: a time above",
    ),
    (
        "bulk",
        "pairs = { tor = 0.5 }",
        "pairs.pod: required field is missing; add it: Probability of a host of the same pod",
    ),
    (
        "bulk",
        "pairs = { tor = 0.5, pod = 0.6 }",
        "pairs.pod: 0.6 with tor = 0.5; allowed: at most 0.5",
    ),
    (
        "bulk",
        "pairs = { tor = 1.5, pod = 0 }",
        "pairs.tor: 1.5; allowed: 0 to 1",
    ),
    (
        "closed-loop",
        "pairs = \"random\"\nsize = \"1KB\"\ncount = 0",
        "count: 0; allowed: at least 1",
    ),
    (
        "closed-loop",
        "pairs = \"random\"\nsize = \"1KB\"\nstart = \"2s\"\nstop = \"1s\"",
        "stop: 1s is not after the start; allowed:",
    ),
    (
        "closed-loop",
        "pairs = \"random\"\nsize = \"1KB\"\nstart = \"10s\"",
        "start: 10s is not before the end of the experiment; allowed: a time before 10s",
    ),
    (
        "jobs",
        "servers = 16\nrequest = \"2KB\"\nblock = \"64KB\"",
        "servers: 16; allowed: 1 to 15",
    ),
    (
        "jobs",
        "servers = 0\nrequest = \"2KB\"\nblock = \"64KB\"",
        "servers: 0; allowed: at least 1",
    ),
    (
        "jobs",
        "servers = 4\nrequest = \"2KB\"\nblock = \"64KB\"\nserver_hosts = \"0..3\"\nclient_hosts = 9",
        "servers: 4; allowed: 1 to 3",
    ),
    (
        "jobs",
        "servers = 1\nrequest = \"2KB\"\nblock = \"64KB\"\nserver_hosts = 9\nclient_hosts = 9",
        "servers: no host other than the client exists; add hosts",
    ),
    (
        "jobs",
        "servers = 1\nrequest = \"0B\"\nblock = \"64KB\"",
        "request: 0B; allowed: a size above 0",
    ),
    (
        "jobs",
        "servers = 1\nrequest = \"2KB\"\nblock = \"64KB\"\nslots = 0",
        "slots: 0; allowed: 1 to 1000000",
    ),
];

#[test]
fn refusals_name_the_field_what_was_given_and_what_is_allowed() {
    for (kind, fields, expected) in REFUSALS {
        let got = flows(kind, fields, 16, 1).and_then(|_| generator(kind, fields, 16, 1).map(|_| ()));
        let got = got.unwrap_err().to_string();
        assert!(
            got.starts_with(expected),
            "{kind} {fields} gives\n  {got}\nnot\n  {expected}"
        );
    }
    let one_pod = flows("bulk", "pairs = { tor = 0.5, pod = 0.3 }", 8, 1)
        .unwrap_err()
        .to_string();
    assert_eq!(
        one_pod,
        "pairs.pod: 0.200 for hosts outside its pod, of which \"h0\" has none; allowed: 0"
    );
}

/// Every sender reaches every other host once, in an order of its own, and opens a transfer when one
/// is acknowledged.
#[test]
fn a_shuffle_sends_to_each_other_host_in_random_order() {
    let fields = "size = \"1MB\"\njitter = \"1ms\"";
    let shuffle = generator("shuffle", fields, 6, 1).unwrap();
    let first = shuffle.timed_actions();
    assert_eq!(first.len(), 6);
    let mut orders: HashMap<u32, Vec<u32>> = HashMap::new();
    for (start, host, action) in first {
        assert!(start <= Time::from_ms(1));
        let mut next = Some(action);
        let mut now = start;
        while let Some(Action::OpenFlow(n)) = next {
            let flow = shuffle.flow(n);
            assert_eq!((flow.from, flow.size), (host, Some(Size(1_000_000))));
            assert_eq!((flow.transport, flow.class), (3, 5));
            orders.entry(host).or_default().push(flow.to);
            now = Time(now.0 + 1);
            next = shuffle.on_acked(n, now).map(|(at, action)| {
                assert_eq!(at, now);
                action
            });
        }
    }
    for (&from, order) in &orders {
        let distinct: HashSet<u32> = order.iter().copied().collect();
        assert_eq!((order.len(), distinct.len()), (5, 5));
        assert!(!distinct.contains(&from));
    }
    let steps: HashSet<Vec<u32>> = (orders.iter())
        .map(|(from, order)| order.iter().map(|to| (to + 6 - from) % 6).collect())
        .collect();
    assert!(steps.len() > 1, "not all senders have one order");
    let others = generator("shuffle", fields, 6, 2).unwrap();
    assert_ne!(
        (0..30).map(|n| shuffle.flow(n).to).collect::<Vec<_>>(),
        (0..30).map(|n| others.flow(n).to).collect::<Vec<_>>()
    );
    // Two concurrent transfers per sender.
    let two = generator("shuffle", &format!("{fields}\ncount = 2"), 6, 1).unwrap();
    assert_eq!(two.timed_actions().len(), 12);
    assert_eq!(two.on_acked(0, Time(7)), Some((Time(7), Action::OpenFlow(12))));
    assert_eq!(two.on_acked(18, Time(7)), None);
    for (fields, complaint) in [
        ("size = \"0B\"", "size: 0B; allowed: a size above 0"),
        ("size = \"1B\"\ncount = 0", "count: 0; allowed: at least 1"),
        ("size = \"1B\"\ncount = 6", "count: 6; allowed: 1 to 5"),
        (
            "size = \"1B\"\nhosts = [1, 1]",
            "hosts: \"h1\" is given twice; allowed: each host once",
        ),
        (
            "size = \"1B\"\nhosts = 1",
            "hosts: 1 hosts; allowed: at least 2 hosts, and at most 10000000 transfers",
        ),
        (
            "size = \"1B\"\nstart = \"10s\"",
            "start: 10s is not before the end of the experiment; allowed: a time before 10s",
        ),
    ] {
        assert_eq!(
            generator("shuffle", fields, 6, 1).unwrap_err().to_string(),
            complaint
        );
    }
}
