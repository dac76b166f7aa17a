//! Steps of training against closed forms and against the times of another evaluator, on links of one switch.

mod links;

use std::collections::HashMap;
use std::sync::Arc;

use links::{Evaluation, Links};
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

const LATENCY: u64 = 1_000;

/// 1 byte per nanosecond, and a latency of 1,000 ns.
const LINKS: Links = Links {
    latency: LATENCY * 1_000,
    gap: 1_000,
    done_at_departure: true,
};

fn training(fields: &str, hosts: usize, seed: u64) -> Result<Arc<dyn FlowGenerator>, SpecError> {
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let fields = format!("send_done = \"started\"\n{fields}");
    let loaded = (find(TRAFFIC, "kind", "training")?.parse)(&fields.parse().unwrap())?;
    let context = PatternContext::new(&names, 0, 0, seed).with_duration(Time::from_ms(100_000));
    Ok(loaded.value.generator(&context)?.unwrap())
}

fn run(fields: &str, hosts: usize) -> Evaluation {
    LINKS.run(training(fields, hosts, 1).unwrap().as_ref())
}

/// Returns the nanosecond at which the last rank ends.
fn end(fields: &str, hosts: usize) -> u64 {
    run(fields, hosts).end().unwrap() / 1_000
}

/// Nanoseconds of a message of this many bytes.
fn message(bytes: u64) -> u64 {
    LATENCY + bytes - 1
}

#[test]
fn gradients_are_reduced_while_earlier_layers_compute() {
    let fields = |more: &str| {
        format!(
            "layers = 3\nforward = \"10us\"\nbackward = \"20us\"\nupdate = \"5us\"\ngradient_size = \"40KB\"\n{more}"
        )
    };
    let all_reduce = 6 * message(10_000);
    // The all-reduces follow one another, from the end of the last layer backwards.
    assert_eq!(end(&fields(""), 4), 30_000 + 20_000 + 3 * all_reduce + 5_000);
    let apart = fields("overlap = false");
    assert_eq!(end(&apart, 4), 30_000 + 60_000 + 3 * all_reduce + 5_000);
    // Computing hides all of them but the last.
    let slow = fields("overlap = true").replace("20us", "100us");
    assert_eq!(end(&slow, 4), 30_000 + 300_000 + all_reduce + 5_000);
    let again = fields("steps = 3");
    assert_eq!(end(&again, 4), 3 * end(&fields(""), 4));
}

#[test]
fn tensor_parallel_ranks_wait_for_each_other() {
    let fields =
        "layers = 2\nforward = \"10us\"\nbackward = \"20us\"\ntensor_ranks = 4\ntensor_size = \"40KB\"";
    let all_reduce = 6 * message(10_000);
    // Twice per layer and direction.
    assert_eq!(end(fields, 8), 2 * (10_000 + 20_000 + 4 * all_reduce));
    let found = run(fields, 8);
    assert_eq!(found.flows.len() as u64, 2 * 8 * 24);
    // Rank 5 computes three times as long, and its group waits.
    let slow = format!("{fields}\nstragglers = [5]\nstraggler_factor = 3");
    let found = run(&slow, 8);
    let ends: Vec<u64> = found
        .ranks
        .iter()
        .map(|rank| rank.end.unwrap().0 / 1_000)
        .collect();
    assert_eq!(ends[0], 2 * (30_000 + 4 * all_reduce));
    // Messages of the others have arrived meanwhile, so that rank 5 waits for four of six latencies.
    assert_eq!(ends[5], 2 * (90_000 + 4 * (all_reduce - 2 * LATENCY)));
}

/// The times are those of another evaluator for traces in GOAL text.
#[test]
fn pipelines_take_the_times_of_another_evaluator() {
    let fields = |schedule: &str| {
        format!(
            "layers = 4\nstages = 4\nforward = \"100us\"\nbackward = \"200us\"\nmicro_batches = 8\nactivation_size = \"65536B\"\nschedule = \"{schedule}\""
        )
    };
    for (schedule, expected) in [
        ("all-forward", [3_699_210, 3_432_675, 3_166_140, 2_899_605]),
        (
            "one-forward-one-backward",
            [4_364_560, 4_098_025, 3_831_490, 3_564_955],
        ),
    ] {
        let found = run(&fields(schedule), 4);
        let ends: Vec<u64> = found
            .ranks
            .iter()
            .map(|rank| rank.end.unwrap().0 / 1_000)
            .collect();
        // A rank of the trace ends with its last computing, and a rank of a step when it has handed over its last message.
        assert_eq!(ends, expected, "{schedule}");
    }
    // (m + p - 1)(f + b) + 2 (p - 1)(alpha + beta a).
    let closed = (8 + 4 - 1) * 300_000 + 2 * 3 * message(65_536);
    assert_eq!(end(&fields("all-forward"), 4), closed);
}

/// The trace all-reduces all layers at the same time; here they follow one another, and leave gaps of a latency.
#[test]
fn a_data_parallel_step_takes_the_time_of_a_trace() {
    let fields = "layers = 6\nforward = \"30us\"\nbackward = \"60us\"\ngradient_size = \"1048576B\"";
    let found = end(fields, 8);
    assert_eq!(found, 6 * 30_000 + 60_000 + 6 * 14 * message(131_072));
    let trace = 11_250_964_f64;
    assert!((found as f64 / trace - 1.0).abs() < 0.01, "{found}");
}

fn pair_bytes(generator: &dyn FlowGenerator) -> HashMap<(u32, u32), u64> {
    let found = LINKS.run(generator);
    let mut bytes = HashMap::new();
    for &n in found.flows.keys() {
        let flow = generator.flow(n);
        *bytes.entry((flow.from, flow.to)).or_default() += flow.size.unwrap().0;
    }
    bytes
}

#[test]
fn tokens_go_to_experts_and_back() {
    let fields = |top_k: &str| {
        format!(
            "layers = 1\nforward = \"10us\"\nbackward = \"20us\"\nexpert_ranks = 4\nexpert_size = \"64KB\"\ntokens = 64\n{top_k}"
        )
    };
    // By default each rank sends a quarter of its tokens to each, there and back, forwards and backwards.
    let equal = pair_bytes(training(&fields(""), 8, 1).unwrap().as_ref());
    assert_eq!(equal.len(), 2 * 4 * 3);
    assert!(equal.values().all(|&bytes| bytes == 4 * 16_000));
    let all = pair_bytes(training(&fields("top_k = 4"), 8, 1).unwrap().as_ref());
    assert!(all.values().all(|&bytes| bytes == 4 * 64_000));
    let drawn = pair_bytes(training(&fields("top_k = 2"), 8, 1).unwrap().as_ref());
    let other = pair_bytes(training(&fields("top_k = 2"), 8, 2).unwrap().as_ref());
    assert_ne!(drawn, other);
    for (&(from, to), &bytes) in &drawn {
        assert_eq!(from / 4, to / 4, "a group of neighbours");
        assert_eq!(bytes, drawn[&(to, from)], "what goes to an expert comes back");
    }
    // A token goes to an expert with a probability of a half.
    let mean = drawn.values().sum::<u64>() as f64 / drawn.len() as f64;
    assert!((mean / (4.0 * 32_000.0) - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn computing_times_have_the_mean_and_the_deviation() {
    let fields = "layers = 500\nforward = \"100us\"\nbackward = \"100us\"\ncompute_deviation = 0.3";
    let found = run(fields, 4);
    let times: Vec<f64> = found.ranks.iter().map(|rank| rank.computed.seconds()).collect();
    for time in times {
        // 2,000 halves of 50 us: the deviation of the sum is 0.3 / sqrt(2,000) = 0.7 %.
        assert!((time / 0.1 - 1.0).abs() < 0.03 && time != 0.1, "{time}");
    }
}

#[test]
fn groups_combine() {
    let fields = "layers = 4\nforward = \"10us\"\nbackward = \"20us\"\nmicro_batches = 2\nsteps = 2\ntensor_ranks = 2\ntensor_size = \"1KB\"\nstages = 2\nactivation_size = \"2KB\"\nexpert_ranks = 2\nexpert_size = \"3KB\"\ngradient_size = \"4KB\"\nalgorithm = \"halving-doubling\"";
    let generator = training(fields, 16, 1).unwrap();
    let found = LINKS.run(generator.as_ref());
    assert!(found.end().is_some());
    assert_eq!(found.ranks.len(), 32);
    let count = |bytes: &[u64]| {
        let sizes = found.flows.keys().map(|&n| generator.flow(n).size.unwrap().0);
        sizes.filter(|size| bytes.contains(size)).count()
    };
    // By step: 16 ranks, 2 layers per stage, 2 micro-batches, 2 directions.
    let passes = 2 * 16 * 2 * 2 * 2;
    // Two all-reduces of two messages per rank, each of a half.
    assert_eq!(count(&[500]), passes * 2 * 2);
    assert_eq!(count(&[1_500]), passes * 2);
    assert_eq!(count(&[2_000, 1_000]), 2 * 8 * 2 * 2 + 2 * 16 * 2 * 4);
}

#[test]
fn wrong_fields_are_refused_in_one_line() {
    for (fields, expected) in [
        ("layers = 0", "layers: 0; allowed: at least 1"),
        (
            "layers = 3\nstages = 2\nactivation_size = \"1KB\"",
            "layers: 3 with 2 stages; allowed: a multiple of the stages",
        ),
        (
            "layers = 1\ntensor_ranks = 3",
            "ranks: 8 with 3 x 1; allowed: a multiple of tensor_ranks x stages",
        ),
        (
            "layers = 1\ntensor_ranks = 2",
            "tensor_size: none with 2 tensor_ranks; allowed: a size",
        ),
        (
            "layers = 1\nexpert_ranks = 3",
            "expert_ranks: 3 with 8 data-parallel ranks; allowed: a divisor of these",
        ),
        (
            "layers = 1\nexpert_ranks = 2\nexpert_size = \"1KB\"\ntop_k = 3",
            "top_k: 3; allowed: 1 to 2, the expert_ranks",
        ),
        (
            "layers = 1\ngradient_size = \"7B\"",
            "gradient_size: 7 bytes for 8 ranks; allowed: at least a byte per rank",
        ),
        (
            "layers = 1\nstragglers = [8]",
            "stragglers: rank 8; allowed: 0 to 7",
        ),
        (
            "layers = 1\nstraggler_factor = 0.5",
            "straggler_factor: 0.5; allowed: 1 to 1000",
        ),
        (
            "layers = 1\nalgorithm = \"shift\"",
            "algorithm: \"shift\" with this operation; allowed: \"ring\", \"halving-doubling\", \"recursive-doubling\", \"binomial-tree\", \"double-binary-tree\"",
        ),
        (
            "layers = 4000000000",
            "layers: 4000000000 x 1 micro_batches x 1 steps x 8 ranks; allowed: at most 16777216 in all",
        ),
        (
            "layers = 200000\ngradient_size = \"1KB\"",
            "layers: 22400000 messages; allowed: at most 10000000 messages",
        ),
        (
            "layers = 1\nranks = 9",
            "hosts: 8 hosts for 9 ranks; allowed: a host per rank",
        ),
    ] {
        let all = format!("forward = \"1us\"\nbackward = \"1us\"\n{fields}");
        assert_eq!(training(&all, 8, 1).unwrap_err().to_string(), expected);
    }
}
