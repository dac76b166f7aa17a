//! Permutations on large fabrics: what they reach and how long the solvers take. Measurements, by name:
//! `cargo test --release -p weft-flow --test scale -- --ignored --nocapture --test-threads 1`.

use std::time::Instant;

use weft_cc::{Algorithm, CongestionControl};
use weft_fabric::{Fabric, PortQueues, QueueConfig, TOPOLOGIES};
use weft_flow::{
    ConnectionSpec, Delays, Placement, Settings, certify, certify_coupled, coupled_max_min, equilibrium,
    max_min, place_connections,
};
use weft_paths::{Policy, draw};
use weft_spec::QueueSize;

fn fabric(topology: &str) -> Fabric {
    let mut fields: toml::Table = topology.parse().unwrap();
    let kind = fields.remove("kind").unwrap();
    let entry = weft_spec::find(TOPOLOGIES, "kind", kind.as_str().unwrap()).unwrap();
    let queue = QueueConfig {
        limit: QueueSize::Packets(100),
        mark: None,
    };
    let queues = PortQueues {
        switch: queue,
        host: queue,
    };
    (entry.parse)(&fields).unwrap().value.build(&queues).unwrap()
}

/// Every host sends to another, and receives from one.
fn permutation(fabric: &Fabric, subflows: u32, seed: u64) -> Placement {
    let hosts = fabric.hosts.len() as u64;
    let mut order: Vec<u32> = (0..hosts as u32).collect();
    for i in (1..hosts).rev() {
        order.swap(i as usize, (draw(&[seed, i]) % (i + 1)) as usize);
    }
    let pairs = (0..order.len()).map(|i| ConnectionSpec {
        from: order[i],
        to: order[(i + 1) % order.len()],
        subflows,
    });
    place_connections(fabric, &Policy::by_name("ecmp").unwrap(), seed, pairs).unwrap()
}

/// 100 packets at every link.
fn waits(fabric: &Fabric) -> Vec<f64> {
    let rates = fabric.links.iter().map(|link| link.rate.0 as f64);
    rates.map(|rate| 100.0 * 12_000.0 / rate).collect()
}

fn report(topology: &str, subflows: u32, threads: usize) {
    let start = Instant::now();
    let fabric = fabric(topology);
    let mut placement = permutation(&fabric, subflows, 1);
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let settings = Settings {
        threads,
        ..Settings::default()
    };
    let lia = Algorithm::build("lia", &[]).unwrap();
    let delays = Delays {
        base_rtts: &placement.rtts,
        queueing: &waits(&fabric),
    };
    let found = equilibrium(&mut placement.instance, delays, lia.response().unwrap(), settings);
    let seconds = start.elapsed().as_secs_f64();
    // A host cannot send more than over its own links.
    let host = |node: u32| fabric.links.iter().filter(move |l| l.from == node);
    let host_rate: f64 = host(fabric.hosts[0]).map(|l| l.rate.0 as f64).sum();
    let rates: Vec<f64> = (0..placement.instance.connections())
        .map(|c| {
            found.goodputs[placement.instance.subflows_of(c)]
                .iter()
                .sum::<f64>()
                / host_rate
        })
        .collect();
    let n = rates.len() as f64;
    let (sum, squares) = (
        rates.iter().sum::<f64>(),
        rates.iter().map(|r| r * r).sum::<f64>(),
    );
    println!(
        "{topology}: {n} hosts x {subflows}, {threads} threads: built in {built:.2} s, {} iterations in {seconds:.2} s, residual \
         {:.1e}; mean {:.1} % of a host's links, slowest {:.1} %, Jain's index {:.3}",
        found.iterations,
        found.residual,
        100.0 * sum / n,
        100.0 * rates.iter().copied().fold(f64::INFINITY, f64::min),
        sum * sum / (n * squares),
    );
    assert!(found.converged);
}

#[test]
#[ignore = "a measurement"]
fn subflows_on_the_fabrics_of_the_paper() {
    for topology in [
        "kind = \"fat-tree\"\nk = 8\nrate = \"1Gbps\"\ndelay = \"20us\"",
        "kind = \"fat-tree\"\nk = 32\nrate = \"1Gbps\"\ndelay = \"20us\"",
        "kind = \"vl2\"\naggregation_ports = 48\nintermediate_ports = 48\nrate = \"1Gbps\"\ndelay = \"20us\"",
        "kind = \"bcube\"\nn = 8\nk = 3\nrate = \"1Gbps\"\ndelay = \"20us\"",
    ] {
        for subflows in [1, 2, 4, 8] {
            report(topology, subflows, 1);
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn equilibria_of_8_192_hosts() {
    report(
        "kind = \"fat-tree\"\nk = 32\nrate = \"1Gbps\"\ndelay = \"20us\"",
        8,
        1,
    );
}

#[test]
#[ignore = "a measurement"]
fn equilibria_of_65_536_hosts() {
    for threads in [1, 2] {
        report(
            "kind = \"fat-tree\"\nk = 64\nrate = \"1Gbps\"\ndelay = \"20us\"",
            8,
            threads,
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn max_min_of_a_permutation() {
    for k in [16, 32, 64] {
        let fabric = fabric(&format!(
            "kind = \"fat-tree\"\nk = {k}\nrate = \"1Gbps\"\ndelay = \"20us\""
        ));
        let placement = permutation(&fabric, 1, 1);
        let start = Instant::now();
        let rates = max_min(&placement.instance, None).unwrap();
        println!(
            "k = {k}, {} hosts: {:.4} s",
            rates.len(),
            start.elapsed().as_secs_f64()
        );
        certify(&placement.instance, None, &rates, 1e-9).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn coupled_max_min_of_a_permutation() {
    for k in [8, 12, 16] {
        let fabric = fabric(&format!(
            "kind = \"fat-tree\"\nk = {k}\nrate = \"1Gbps\"\ndelay = \"20us\""
        ));
        let placement = permutation(&fabric, 8, 1);
        let start = Instant::now();
        let found = coupled_max_min(&placement.instance);
        println!(
            "k = {k}, {} hosts x 8: {} events, {} bottlenecks in {:.3} s",
            placement.instance.connections(),
            found.events,
            found.bottlenecks.len(),
            start.elapsed().as_secs_f64()
        );
        assert!(found.converged);
        certify_coupled(&placement.instance, &found.rates, &found.bottlenecks, 1e-9).unwrap();
    }
}

#[test]
fn several_paths_on_a_fat_tree_get_their_certificate() {
    let fabric = fabric("kind = \"fat-tree\"\nk = 4\nrate = \"1Gbps\"\ndelay = \"20us\"");
    for seed in 1..=20 {
        for subflows in [2, 4] {
            let placement = permutation(&fabric, subflows, seed);
            let found = coupled_max_min(&placement.instance);
            assert!(found.converged);
            certify_coupled(&placement.instance, &found.rates, &found.bottlenecks, 1e-9).unwrap();
        }
    }
}

/// A small one in every run: each of four subflows more is worth something, and the slowest gains most.
#[test]
fn subflows_fill_a_fat_tree() {
    let fabric = fabric("kind = \"fat-tree\"\nk = 8\nrate = \"1Gbps\"\ndelay = \"20us\"");
    let lia = Algorithm::build("lia", &[]).unwrap();
    let reached: Vec<(f64, f64)> = [1, 2, 4, 8]
        .into_iter()
        .map(|subflows| {
            let mut placement = permutation(&fabric, subflows, 3);
            let delays = Delays {
                base_rtts: &placement.rtts,
                queueing: &waits(&fabric),
            };
            let response = lia.response().unwrap();
            let found = equilibrium(&mut placement.instance, delays, response, Settings::default());
            assert!(found.converged);
            let rate = |c| {
                found.goodputs[placement.instance.subflows_of(c)]
                    .iter()
                    .sum::<f64>()
                    / 1e9
            };
            let rates: Vec<f64> = (0..placement.instance.connections()).map(rate).collect();
            let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
            (rates.iter().sum::<f64>() / rates.len() as f64, slowest)
        })
        .collect();
    assert!(reached.windows(2).all(|pair| pair[1] > pair[0]), "{reached:?}");
    assert!(reached[0].0 < 0.6 && reached[3].0 > 0.85, "{reached:?}");
    assert!(reached[0].1 < 0.3 && reached[3].1 > 0.5, "{reached:?}");
}

/// No link of any permutation carries more than its capacity, and every solution has its certificate. `CASES` is the number of
/// seeds.
#[test]
fn coupled_rates_exceed_no_capacity() {
    let cases = std::env::var("CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(3);
    let fabric = fabric("kind = \"fat-tree\"\nk = 8\nrate = \"1Gbps\"\ndelay = \"20us\"");
    for seed in 1..=cases {
        let placement = permutation(&fabric, 8, seed);
        let found = coupled_max_min(&placement.instance);
        assert!(found.converged, "seed {seed}");
        let certificate = certify_coupled(&placement.instance, &found.rates, &found.bottlenecks, 1e-7);
        assert_eq!(certificate, Ok(()), "seed {seed}");
    }
}
