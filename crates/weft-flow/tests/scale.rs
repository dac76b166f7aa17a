//! How long a permutation on a fat-tree takes: `cargo test --release -p weft-flow --test scale -- --ignored --nocapture`.

use std::time::Instant;

use weft_flow::{Instance, Path, Settings, certify, equilibrium, max_min};

/// A small generator of its own, so that the instance never changes.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// The links of a fat-tree of `k` ports, by arithmetic: hosts' up and down, racks' up and down, pods' up and down.
struct FatTree {
    half: u32,
    hosts: u32,
}

impl FatTree {
    fn new(k: u32) -> Self {
        Self {
            half: k / 2,
            hosts: k * k * k / 4,
        }
    }

    /// Path `n` of `(k/2)^2` between hosts of different pods.
    fn path(&self, from: u32, to: u32, n: u32) -> [u32; 6] {
        let (half, all) = (self.half, self.hosts);
        let (rack, pod) = (|host| host / half, |host| host / half / half);
        let (agg, core) = (n / half, n % half);
        [
            from,
            2 * all + rack(from) * half + agg,
            4 * all + (pod(from) * half + agg) * half + core,
            5 * all + (pod(to) * half + agg) * half + core,
            3 * all + rack(to) * half + agg,
            all + to,
        ]
    }

    fn permutation(&self, subflows: u32) -> Instance {
        let mut draws = Draws(1);
        let mut receivers: Vec<u32> = (0..self.hosts).collect();
        for i in (1..self.hosts).rev() {
            receivers.swap(i as usize, draws.below(i + 1) as usize);
        }
        let mut instance = Instance::new(vec![1e9; 6 * self.hosts as usize]).unwrap();
        for (from, &to) in receivers.iter().enumerate() {
            let paths: Vec<[u32; 6]> = (0..subflows)
                .map(|_| self.path(from as u32, to, draws.below(self.half * self.half)))
                .collect();
            instance.connect(paths.iter().map(|p| &p[..])).unwrap();
        }
        instance
    }
}

/// LIA at equal round-trip times.
fn lia(paths: &[Path], windows: &mut [f64]) {
    let best = paths.iter().map(|p| p.price).fold(1.0, f64::min);
    let total: f64 = paths.iter().map(|p| 1.0 / p.price).sum();
    for (path, window) in paths.iter().zip(windows) {
        *window = (2.0 / best).sqrt() / path.price / total;
    }
}

#[test]
#[ignore = "a measurement"]
fn equilibrium_of_a_permutation() {
    for (k, subflows, threads) in [
        (8, 1, 1),
        (8, 8, 1),
        (32, 1, 1),
        (32, 8, 1),
        (64, 8, 1),
        (64, 8, 2),
    ] {
        let tree = FatTree::new(k);
        let start = Instant::now();
        let mut instance = tree.permutation(subflows);
        let built = start.elapsed().as_secs_f64();
        let rtts = vec![1e-3; instance.subflows()];
        let start = Instant::now();
        let settings = Settings {
            threads,
            ..Settings::default()
        };
        let found = equilibrium(&mut instance, &rtts, &lia, settings);
        let total: f64 = found.goodputs.iter().sum();
        println!(
            "k = {k}, {} hosts x {subflows}, {threads} threads: built in {built:.2} s, {} iterations in {:.2} s, residual {:.1e}, {:.1} % of capacity",
            tree.hosts,
            found.iterations,
            start.elapsed().as_secs_f64(),
            found.residual,
            total / f64::from(tree.hosts) / 1e7
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn max_min_of_a_permutation() {
    for k in [16, 32, 64] {
        let tree = FatTree::new(k);
        let mut instance = tree.permutation(1);
        let start = Instant::now();
        let rates = max_min(&mut instance, None).unwrap();
        println!(
            "k = {k}, {} hosts: {:.4} s",
            tree.hosts,
            start.elapsed().as_secs_f64()
        );
        certify(&instance, None, &rates, 1e-9).unwrap();
    }
}
