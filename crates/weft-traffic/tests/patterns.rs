//! Traffic patterns: their flows, and the errors of invalid fields.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use weft_spec::{Size, SpecError, Time, find};
use weft_traffic::{Flow, PatternContext, TRAFFIC};

fn names(n: usize) -> Vec<String> {
    (0..n)
        .map(|i| {
            if i + 1 == n {
                "r0".to_owned()
            } else {
                format!("h{i}")
            }
        })
        .collect()
}

fn flows(kind: &str, fields: &str, hosts: usize, seed: u64) -> Result<Vec<Flow>, SpecError> {
    let names = names(hosts);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let loaded = (find(TRAFFIC, "kind", kind)?.parse)(&fields.parse().unwrap())?;
    loaded.value.flows(&PatternContext::new(&names, 3, 5, seed))
}

fn ends(flows: &[Flow]) -> Vec<(u32, u32)> {
    flows.iter().map(|flow| (flow.from, flow.to)).collect()
}

#[test]
fn incast_is_rounds_of_flows_a_gap_apart() {
    let fields =
        "flows = 3\nsize = \"128KB\"\ngap = \"50us\"\ninterval = \"1s\"\nrounds = 2\nstart = \"1ms\"";
    let flows = flows("incast", fields, 4, 1).unwrap();
    let starts: Vec<_> = flows.iter().map(|flow| flow.start).collect();
    let at = |round: u64, i: u64| Time::from_us(1_000 + round * 1_000_000 + i * 50);
    assert_eq!(
        starts,
        [at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2)]
    );
    assert_eq!(ends(&flows), [(0, 3), (1, 3), (2, 3), (0, 3), (1, 3), (2, 3)]);
    assert_eq!(
        flows.iter().map(|flow| flow.round).collect::<Vec<_>>(),
        [0, 0, 0, 1, 1, 1]
    );
    assert!(
        flows
            .iter()
            .all(|flow| flow.size == Some(Size(128_000)) && flow.stop.is_none())
    );
    assert!(flows.iter().all(|flow| (flow.transport, flow.traffic) == (3, 5)));
}

#[test]
fn incast_senders_are_spread_over_the_hosts() {
    let few = flows("incast", "flows = 4\nsize = \"1KB\"\nto = 0", 17, 1).unwrap();
    assert_eq!(ends(&few), [(1, 0), (5, 0), (9, 0), (13, 0)]);
    let many = flows("incast", "flows = 7\nsize = \"1KB\"", 4, 1).unwrap();
    assert_eq!(
        ends(&many),
        [(0, 3), (1, 3), (2, 3), (0, 3), (1, 3), (2, 3), (0, 3)]
    );
    let chosen = flows(
        "incast",
        "flows = 2\nsize = \"1KB\"\nto = \"h1\"\nfrom = [\"h0\", \"2..4\"]",
        5,
        1,
    )
    .unwrap();
    assert_eq!(ends(&chosen), [(0, 1), (2, 1)]);
}

#[test]
fn bulk_pairs_hosts_by_from_and_to() {
    let ends = |fields: &str| ends(&flows("bulk", fields, 5, 1).unwrap());
    assert_eq!(ends("from = \"0..3\"\nto = \"r0\""), [(0, 4), (1, 4), (2, 4)]);
    assert_eq!(ends("from = \"h0\"\nto = [1, \"h3\"]"), [(0, 1), (0, 3)]);
    assert_eq!(ends("from = [0, 1]\nto = [\"h2\", \"h3\"]"), [(0, 2), (1, 3)]);
    assert_eq!(ends("from = 0\nto = 4\ncount = 3"), [(0, 4), (0, 4), (0, 4)]);
    assert_eq!(ends("pairs = [[\"h1\", \"h0\"], [2, \"r0\"]]"), [(1, 0), (2, 4)]);
}

#[test]
fn bulk_lasts_until_stop_or_is_of_a_size() {
    let lasting = flows("bulk", "from = 0\nto = 1\nstart = \"1s\"\nstop = \"2s\"", 2, 1).unwrap();
    assert_eq!(
        (lasting[0].size, lasting[0].start, lasting[0].stop),
        (None, Time::from_ms(1_000), Some(Time::from_ms(2_000)))
    );
    let sized = flows("bulk", "from = 0\nto = 1\nsize = \"1MB\"", 2, 1).unwrap();
    assert_eq!((sized[0].size, sized[0].stop), (Some(Size(1_000_000)), None));
}

#[test]
fn the_seed_draws_permutations_and_jitter() {
    let fields = "pairs = \"permutation\"\njitter = \"1ms\"";
    let first = flows("bulk", fields, 128, 1).unwrap();
    assert_eq!(first, flows("bulk", fields, 128, 1).unwrap());
    let second = flows("bulk", fields, 128, 2).unwrap();
    assert_ne!(ends(&first), ends(&second));
    let starts: HashSet<_> = first.iter().map(|flow| flow.start).collect();
    assert!(starts.len() > 100 && first.iter().all(|flow| flow.start <= Time::from_us(1_000)));
    let still = flows("bulk", "pairs = \"permutation\"", 128, 1).unwrap();
    assert_eq!(
        ends(&first),
        ends(&still),
        "jitter does not change who sends to whom"
    );
}

/// All 9 derangements of 4 hosts occur about equally often: expected 400 of 3600 each, standard
/// deviation 19.
#[test]
fn permutations_are_uniform() {
    let mut seen: HashMap<Vec<(u32, u32)>, u32> = HashMap::new();
    for seed in 0..3_600 {
        *seen
            .entry(ends(&flows("bulk", "pairs = \"permutation\"", 4, seed).unwrap()))
            .or_default() += 1;
    }
    assert_eq!(seen.len(), 9);
    assert!(
        seen.values().all(|&n| (305..495).contains(&n)),
        "{:?}",
        seen.values()
    );
}

/// Kind, fields ("+": in addition to an incast's flows and size), and the start of the error, with
/// four hosts.
const REFUSALS: &[(&str, &str, &str)] = &[
    (
        "incast",
        "size = \"1KB\"",
        "flows: required field is missing; add it: Flows per round",
    ),
    (
        "incast",
        "flows = 0\nsize = \"1KB\"",
        "flows: 0; allowed: at least 1",
    ),
    (
        "incast",
        "flows = 3\nsize = 128",
        "size: 128 is a bare number without a unit; allowed: a size",
    ),
    (
        "incast",
        "flows = 3\nsize = \"0B\"",
        "size: 0B; allowed: a size above 0",
    ),
    (
        "incast",
        "+rounds = 2",
        "interval: required field is missing with 2 rounds; add it, for example \"1s\", or use one round",
    ),
    ("incast", "+rounds = 0", "rounds: 0; allowed: at least 1"),
    (
        "incast",
        "+rounds = 2\ninterval = \"0s\"",
        "interval: 0s with 2 rounds; allowed: a time above 0",
    ),
    (
        "incast",
        "+rounds = 4000000000\ninterval = \"1ps\"",
        "rounds: 4000000000 rounds of 3 flows make 12000000000; allowed: at most 10000000 flows",
    ),
    (
        "incast",
        "+rounds = 1000\ninterval = \"1000000s\"",
        "rounds: the last flow opens after",
    ),
    (
        "incast",
        "+to = \"h9\"",
        "to: host \"h9\" does not exist; allowed: 4 hosts, by index 0 to 3 or by name \"h0\" to \"r0\"",
    ),
    ("incast", "+to = -1", "to: -1; allowed: a host by name or index"),
    (
        "incast",
        "+from = [0, \"r0\"]",
        "from: \"r0\" is the receiver; allowed: hosts other than the receiver",
    ),
    (
        "incast",
        "+from = []",
        "from: no hosts; allowed: at least one host other than the receiver",
    ),
    (
        "incast",
        "+from = [0, [1, 7]]",
        "from[1][1]: host 7 does not exist; allowed: 4 hosts",
    ),
    (
        "incast",
        "+from = \"2..9\"",
        "from: \"2..9\" goes beyond the last host; allowed: 4 hosts",
    ),
    (
        "incast",
        "+from = \"2..2\"",
        "from: \"2..2\" is empty; allowed: 4 hosts",
    ),
    (
        "incast",
        "+round = 2",
        "round: unknown field; did you mean \"rounds\"? allowed: flows, size, gap, interval, rounds, start, jitter, from, to",
    ),
    (
        "bulk",
        "",
        "from: required field is missing; set from and to, or pairs",
    ),
    (
        "bulk",
        "from = 0",
        "to: required field is missing; set from and to, or pairs",
    ),
    (
        "bulk",
        "pairs = \"permutation\"\nto = 1",
        "to: given together with pairs; remove one of the two",
    ),
    (
        "bulk",
        "pairs = \"all\"",
        "pairs: \"all\"; allowed: \"permutation\", \"random\", staggered probabilities { tor, pod }, or a list of pairs",
    ),
    (
        "bulk",
        "pairs = [[0]]",
        "pairs[0]: a list of 1; allowed: an array of length 2",
    ),
    (
        "bulk",
        "pairs = [[0, \"x\"]]",
        "pairs[0][1]: host \"x\" does not exist; allowed: 4 hosts",
    ),
    (
        "bulk",
        "pairs = [[0, 1.5]]",
        "pairs[0][1]: 1.5; allowed: a host by name or index",
    ),
    (
        "bulk",
        "pairs = [[0, 1], [2, 2]]",
        "pairs[1]: \"h2\" would send to itself; allowed: two different hosts",
    ),
    (
        "bulk",
        "pairs = []",
        "count: 1 for 0 pairs makes 0 flows; allowed: 1 to 10000000 flows in all",
    ),
    (
        "bulk",
        "from = \"all\"\nto = 0",
        "to: \"h0\" would send to itself; allowed: two different hosts",
    ),
    (
        "bulk",
        "from = [0, 1]\nto = [1, 2, 3]",
        "to: 3 receivers for 2 senders; use one receiver, one sender, or as many of both",
    ),
    (
        "bulk",
        "from = 0\nto = 1\ncount = 0",
        "count: 0; allowed: at least 1",
    ),
    (
        "bulk",
        "from = 0\nto = 1\nsize = \"1KB\"\nstop = \"1s\"",
        "stop: given together with size; remove one of the two",
    ),
    (
        "bulk",
        "from = 0\nto = 1\nstart = \"1s\"\nstop = \"1s\"",
        "stop: 1s is not after start and jitter; allowed: a time above 1s",
    ),
    (
        "bulk",
        "from = 0\nto = 1\nsize = \"0B\"",
        "size: 0B; allowed: a size above 0",
    ),
    (
        "gossip",
        "",
        "kind: \"gossip\" does not exist; allowed: \"bulk\", \"incast\", \"poisson\", \"closed-loop\", \"jobs\", \
         \"all-to-all\", \"shuffle\", \"one-to-many\", \"stride\", \"hot-spot\", \"collective\", \"training\", \
         \"trace\", \"flow-list\"",
    ),
];

#[test]
fn refusals_name_the_field_what_was_given_and_what_is_allowed() {
    for (kind, fields, expected) in REFUSALS {
        let fields = fields.replace('+', "flows = 3\nsize = \"1KB\"\n");
        let got = flows(kind, &fields, 4, 1).unwrap_err().to_string();
        assert!(
            got.starts_with(expected),
            "{kind} {fields} gives\n  {got}\nnot\n  {expected}"
        );
    }
    let alone = flows("bulk", "pairs = \"permutation\"", 1, 1)
        .unwrap_err()
        .to_string();
    assert_eq!(
        alone,
        "pairs: a permutation of 1 hosts; allowed: at least 2 hosts"
    );
}

proptest! {
    /// In a permutation every host sends once, receives once, and never sends to itself.
    #[test]
    fn permutations_move_every_host(hosts in 2usize..200, seed: u64) {
        let ends = ends(&flows("bulk", "pairs = \"permutation\"", hosts, seed).unwrap());
        let senders: HashSet<_> = ends.iter().map(|(from, _)| from).collect();
        let receivers: HashSet<_> = ends.iter().map(|(_, to)| to).collect();
        prop_assert_eq!((ends.len(), senders.len(), receivers.len()), (hosts, hosts, hosts));
        prop_assert!(ends.iter().all(|(from, to)| from != to));
    }

    /// For any number of flows, the senders' loads differ by at most one, and no flow begins too
    /// early.
    #[test]
    fn incast_loads_are_even(flows_in_round in 1u32..60, hosts in 2usize..40, rounds in 1u32..4, jitter in 0u64..100) {
        let fields = format!(
            "flows = {flows_in_round}\nsize = \"1KB\"\ngap = \"1us\"\ninterval = \"1s\"\nrounds = {rounds}\njitter = \"{jitter}ns\""
        );
        let flows = flows("incast", &fields, hosts, 1).unwrap();
        prop_assert_eq!(flows.len() as u32, flows_in_round * rounds);
        let mut load = vec![0u32; hosts - 1];
        for (i, flow) in flows.iter().filter(|flow| flow.round == 0).enumerate() {
            load[flow.from as usize] += 1;
            let late = flow.start.0 - Time::from_us(i as u64).0;
            prop_assert!(late <= Time::from_ns(jitter).0);
        }
        prop_assert!(load.iter().max().unwrap() - load.iter().min().unwrap() <= 1);
    }

    /// Host sets are equal after they are written and read.
    #[test]
    fn resolved_fields_give_the_same_flows(from in prop::sample::select(vec!["0", "\"h1\"", "\"0..3\"", "\"all\"", "[0, \"h2\", \"1..2\"]"]), seed: u64) {
        let loaded = (find(TRAFFIC, "", "bulk").unwrap().parse)(&format!("from = {from}\nto = 3").parse().unwrap()).unwrap();
        let again = (find(TRAFFIC, "", "bulk").unwrap().parse)(&loaded.params).unwrap();
        prop_assert_eq!(&loaded.params, &again.params);
        let names = names(5);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let context = PatternContext::new(&names, 0, 0, seed);
        prop_assert_eq!(loaded.value.flows(&context), again.value.flows(&context));
    }

    /// Any value in any field gives flows or an error.
    #[test]
    fn any_field_is_answered(kind in "bulk|incast", field in "[a-z]{2,6}|from|to|pairs|count|size|stop|interval|rounds|gap", value in "[0-9]{1,20}|-[0-9]|\"[ -~&&[^\"\\\\]]{0,9}\"|true|\\[\\]|\\[\\[0, 1\\]\\]|\"[0-9]{1,3}(us|s|KB)\"") {
        let base = if kind == "bulk" { "from = 0\nto = 1\n" } else { "flows = 2\nsize = \"1KB\"\n" };
        let mut table: toml::Table = base.parse().unwrap();
        if let Ok(value) = value.parse::<toml::Value>() {
            table.insert(field, value);
            if let Err(error) = flows(&kind, &table.to_string(), 4, 1) {
                prop_assert!(!error.path.is_empty() && !error.allowed.is_empty() && !error.to_string().contains('\n'));
            }
        }
    }
}

#[test]
fn stride_goes_so_many_hosts_further() {
    let fields = "stride = 3\nsize = \"1MB\"\nstart = \"2ms\"";
    let made = flows("stride", fields, 4, 1).unwrap();
    assert_eq!(ends(&made), [(0, 3), (1, 0), (2, 1), (3, 2)]);
    assert!(made.iter().all(|flow| flow.start == Time::from_ms(2)));
    let refused = flows("stride", "stride = 8", 4, 1).unwrap_err().to_string();
    assert_eq!(
        refused,
        "stride: with 8 of 4 hosts, each sends to itself; use a number that the number of hosts does not divide"
    );
}

#[test]
fn one_to_many_draws_different_receivers() {
    let made = flows("one-to-many", "receivers = 5", 9, 1).unwrap();
    assert_eq!(made.len(), 45);
    for from in 0..9 {
        let to: HashSet<u32> = (made.iter().filter(|flow| flow.from == from))
            .map(|flow| flow.to)
            .collect();
        assert!(to.len() == 5 && !to.contains(&from));
    }
    assert_eq!(made, flows("one-to-many", "receivers = 5", 9, 1).unwrap());
    assert_ne!(made, flows("one-to-many", "receivers = 5", 9, 2).unwrap());
    for (fields, allowed) in [("receivers = 0", "at least 1"), ("receivers = 9", "1 to 8")] {
        let refused = flows("one-to-many", fields, 9, 1).unwrap_err().to_string();
        assert!(
            refused.starts_with("receivers: ") && refused.contains(allowed),
            "{refused}"
        );
    }
}

#[test]
fn hot_spots_get_their_share() {
    let made = flows("hot-spot", "spots = [0, 1]\nshare = 0.4\ncount = 100", 20, 1).unwrap();
    assert!(made.len() == 2_000 && made.iter().all(|flow| flow.from != flow.to));
    let hot = made.iter().filter(|flow| flow.to < 2).count() as f64;
    // 800 expected, standard deviation 22.
    assert!((hot - 800.0).abs() < 88.0, "{hot}");
    for (fields, path) in [
        ("spots = 0\nshare = 1.5", "share: "),
        ("spots = \"all\"\nshare = 0.5", "spots: "),
        ("spots = 0\nshare = 0.5\ncount = 0", "count: "),
        (
            "spots = [1, \"h1\"]\nshare = 0.5",
            "spots: \"h1\" is given twice; allowed: each host once",
        ),
        (
            "spots = [\"0..2\", 1]\nshare = 0.5",
            "spots: \"h1\" is given twice; allowed: each host once",
        ),
    ] {
        let refused = flows("hot-spot", fields, 4, 1).unwrap_err().to_string();
        assert!(refused.starts_with(path), "{refused}");
    }
}

#[test]
fn rates_reach_the_flows() {
    let made = flows("bulk", "pairs = \"permutation\"\nrate = \"50Mbps\"", 4, 1).unwrap();
    assert!(
        made.iter()
            .all(|flow| flow.rate.map(|rate| rate.0) == Some(50_000_000))
    );
}
