//! The equilibrium of a congestion control: rates at which every link's loss (or marking) is what makes connections send
//! at just these rates. The flow-level simulator of Raiciu et al., "Data Center Networking with Multipath TCP" (2010),
//! section 3.1, iterates between the two; this is that iteration with steps that adapt to each link.
//!
//! A link has a *price*, the share of packets that it drops or marks. A connection responds to the prices of
//! its paths with windows. At the equilibrium a link either carries its capacity or has a negligible price.
//! Each iteration changes the logarithm of a price by a gain times the logarithm of the link's load over its
//! capacity. The gain grows while the price moves in one direction and halves when the direction changes
//! (Riedmiller and Braun, "`RPROP`", 1993), so that steep responses are damped and flat ones converge fast.
//!
//! Where responses jump, as OLIA's does from one best path to another, prices swing and nothing rests. A search that is given up
//! therefore returns the mean of what was sent in its second half, less what links cannot carry. The mean of such
//! iterations approaches the optimum where single ones do not (Nedic and Ozdaglar, "Approximate Primal Solutions and Rate
//! Analysis for Dual Subgradient Methods", 2009).
//!
//! A link with a price may also have a queue, which is part of the round-trip times: packets are marked only where others wait
//! already. How many is for the caller to say.

use weft_cc::{Path, Response};

use crate::Instance;

/// A link whose price has fallen so low is free.
const FREE_PRICE: f64 = 1e-7;
/// A link with so much more than that has half of its queue. Before anything is marked or dropped a queue grows, and slows down
/// those who wait in it. A price that small marks next to nothing, so that this is what it does.
const QUEUEING_PRICE: f64 = 1e-6;
/// No price falls below this, so that every path has one.
const MIN_PRICE: f64 = 1e-8;
/// Its logarithm.
const LN_MIN_PRICE: f64 = -18.420_680_743_952_367;
/// No link loses more.
const MAX_PRICE: f64 = 0.9;
/// Its logarithm.
const LN_MAX_PRICE: f64 = -0.105_360_515_657_826_3;
/// The price of every link before the first iteration.
const INITIAL_PRICE: f64 = 1e-3;
/// Bounds of a link's gain.
const GAINS: std::ops::RangeInclusive<f64> = 1e-3..=64.0;
/// A price changes by a factor of e at the most in one iteration.
const MAX_LOG_STEP: f64 = 1.0;

/// How to look for an equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bits of a packet.
    pub packet_bits: f64,
    /// Are packets marked, so that what is sent arrives, or lost?
    pub marks: bool,
    /// The equilibrium is converged when no link with a price is further than this from its capacity, relatively.
    pub tolerance: f64,
    /// Iterations after which to give up.
    pub max_iterations: u32,
    /// Threads, at least 1. They change nothing but the time it takes.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            packet_bits: 12_000.0,
            marks: false,
            tolerance: 1e-3,
            max_iterations: 5_000,
            threads: 1,
        }
    }
}

/// How long packets are under way, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Delays<'a> {
    /// Round-trip time of each subflow without queues, above 0.
    pub base_rtts: &'a [f64],
    /// How long a packet waits at each link if that has a price, 0 or more.
    pub queueing: &'a [f64],
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// Goodput of each subflow in bit/s: what is sent, less what its path loses.
    pub goodputs: Vec<f64>,
    /// Share of packets that each link loses or marks.
    pub prices: Vec<f64>,
    /// What each link is offered, in bit/s.
    pub loads: Vec<f64>,
    /// Iterations that were made.
    pub iterations: u32,
    /// How far the worst link is from its capacity, relatively.
    pub residual: f64,
    /// Is that within the tolerance?
    pub converged: bool,
}

/// A link while the solver runs.
#[derive(Clone, Copy, Debug)]
struct Link {
    capacity: f64,
    /// Seconds that a packet waits if the link has a price.
    wait: f64,
    price: f64,
    log_price: f64,
    gain: f64,
    /// The last step; its sign says which way the price went.
    step: f64,
    load: f64,
}

impl Link {
    /// What becomes of packets there.
    fn transfer(&self) -> LinkTransfer {
        let above = (self.price - FREE_PRICE).max(0.0);
        LinkTransfer {
            passed: 1.0 - self.price,
            wait: self.wait * above / (above + QUEUEING_PRICE),
        }
    }

    /// Is offered `load` and moves its price. Returns how far it is from rest.
    fn update(&mut self, load: f64, marks: bool) -> f64 {
        self.load = load;
        let carried = if marks { load } else { load * (1.0 - self.price) };
        let excess = carried / self.capacity;
        let off = if self.price <= FREE_PRICE {
            (excess - 1.0).max(0.0)
        } else {
            (excess - 1.0).abs()
        };
        let direction = excess.max(f64::MIN_POSITIVE).ln();
        let turned = direction * self.step < 0.0;
        self.gain = (self.gain * if turned { 0.5 } else { 1.2 }).clamp(*GAINS.start(), *GAINS.end());
        self.step = (self.gain * direction).clamp(-MAX_LOG_STEP, MAX_LOG_STEP);
        let moved = (self.log_price + self.step).clamp(LN_MIN_PRICE, LN_MAX_PRICE);
        if moved != self.log_price {
            self.log_price = moved;
            self.price = moved.exp();
        }
        off
    }
}

/// What becomes of packets at a link.
#[derive(Clone, Copy, Debug)]
struct LinkTransfer {
    /// Share of them that it lets pass.
    passed: f64,
    /// Seconds that they wait.
    wait: f64,
}

/// Looks for the rates at which connections that answer prices by `response` rest.
///
/// Where no equilibrium is converged, means over the second half of the iterations are returned with `converged` false.
///
/// # Panics
/// With another number of round-trip times than subflows, or of waits than links, or one out of its range.
pub fn equilibrium(
    instance: &mut Instance,
    delays: Delays<'_>,
    response: &dyn Response,
    settings: Settings,
) -> Equilibrium {
    let mut search = EquilibriumSolver::new(instance, delays, None, settings);
    while !search.is_done() {
        search.step(instance, delays.base_rtts, response);
    }
    search.solution(instance)
}

/// A search for the equilibrium, an iteration at a time.
#[derive(Clone, Debug)]
pub struct EquilibriumSolver {
    settings: Settings,
    links: Vec<Link>,
    sent: Vec<f64>,
    /// The sum of what was sent, over the second half of the iterations.
    sum: Vec<f64>,
    /// By link.
    transfers: Vec<LinkTransfer>,
    work: WorkSplit,
    iterations: u32,
    residual: f64,
}

impl EquilibriumSolver {
    /// Before the first iteration. `prices` are those of an equilibrium nearby, if one is known.
    ///
    /// # Panics
    /// With another number of round-trip times than subflows, or of waits or prices than links; with a time out of its range.
    pub fn new(
        instance: &mut Instance,
        delays: Delays<'_>,
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Self {
        let Delays { base_rtts, queueing } = delays;
        assert_eq!(
            base_rtts.len(),
            instance.subflows(),
            "a round-trip time for each subflow"
        );
        assert!(base_rtts.iter().all(|&rtt| rtt > 0.0), "round-trip times above 0");
        assert_eq!(
            queueing.len(),
            instance.capacities().len(),
            "a wait for each link"
        );
        assert!(queueing.iter().all(|&wait| wait >= 0.0), "no wait below 0");
        assert!(
            prices.is_none_or(|prices| prices.len() == instance.capacities().len()),
            "a price for each link"
        );
        instance.index();
        let price =
            |link: usize| prices.map_or(INITIAL_PRICE, |prices| prices[link].clamp(MIN_PRICE, MAX_PRICE));
        let link = |(link, &capacity): (usize, &f64)| Link {
            capacity,
            wait: queueing[link],
            price: price(link),
            log_price: price(link).ln(),
            gain: 0.5,
            step: 0.0,
            load: 0.0,
        };
        let links: Vec<Link> = instance.capacities().iter().enumerate().map(link).collect();
        Self {
            settings,
            sent: vec![0.0; instance.subflows()],
            sum: Vec::new(),
            transfers: links.iter().map(Link::transfer).collect(),
            links,
            work: WorkSplit::new(instance, settings.threads.max(1)),
            iterations: 0,
            residual: f64::INFINITY,
        }
    }

    /// Is the equilibrium converged, or given up?
    pub fn is_done(&self) -> bool {
        self.residual <= self.settings.tolerance || self.iterations >= self.settings.max_iterations
    }

    /// One iteration, on what the search began with.
    pub fn step(&mut self, instance: &Instance, rtts: &[f64], response: &dyn Response) {
        for (transfer, link) in self.transfers.iter_mut().zip(&self.links) {
            *transfer = link.transfer();
        }
        let bits = self.settings.packet_bits;
        self.work
            .send(instance, rtts, response, bits, &self.transfers, &mut self.sent);
        self.residual = self
            .work
            .load(instance, &self.sent, self.settings.marks, &mut self.links);
        if self.iterations >= self.settings.max_iterations / 2 {
            self.sum.resize(self.sent.len(), 0.0);
            for (sum, sent) in self.sum.iter_mut().zip(&self.sent) {
                *sum += sent;
            }
        }
        self.iterations += 1;
    }

    /// What was found by now.
    pub fn solution(&self, instance: &Instance) -> Equilibrium {
        let converged = self.residual <= self.settings.tolerance;
        let (goodputs, loads) = if converged || self.sum.is_empty() {
            self.last_iterate(instance)
        } else {
            self.mean_iterate(instance)
        };
        Equilibrium {
            goodputs,
            prices: self
                .transfers
                .iter()
                .map(|transfer| 1.0 - transfer.passed)
                .collect(),
            loads,
            iterations: self.iterations,
            residual: self.residual,
            converged,
        }
    }

    /// Goodputs and loads of the last iteration.
    fn last_iterate(&self, instance: &Instance) -> (Vec<f64>, Vec<f64>) {
        let arrives = |s| {
            if self.settings.marks {
                1.0
            } else {
                path_transfer(instance.path(s), &self.transfers).passed
            }
        };
        let goodput = |(s, &sent): (usize, &f64)| sent * arrives(s);
        let goodputs = self.sent.iter().enumerate().map(goodput).collect();
        (goodputs, self.links.iter().map(|link| link.load).collect())
    }

    /// Mean loads of the second half of the iterations, and the goodputs that links which are offered more than they carry leave.
    fn mean_iterate(&self, instance: &Instance) -> (Vec<f64>, Vec<f64>) {
        let iterations = f64::from(self.iterations - self.settings.max_iterations / 2);
        let sent: Vec<f64> = self.sum.iter().map(|sum| sum / iterations).collect();
        let load = |link: usize| -> f64 { instance.users(link).iter().map(|&s| sent[s as usize]).sum() };
        let loads: Vec<f64> = (0..self.links.len()).map(load).collect();
        let carried = |&link: &u32| (self.links[link as usize].capacity / loads[link as usize]).min(1.0);
        let goodput =
            |(s, sent): (usize, &f64)| sent * instance.path(s).iter().map(carried).fold(1.0, f64::min);
        (sent.iter().enumerate().map(goodput).collect(), loads)
    }
}

/// What becomes of packets on a path.
#[inline]
fn path_transfer(path: &[u32], transfers: &[LinkTransfer]) -> LinkTransfer {
    let nothing = LinkTransfer {
        passed: 1.0,
        wait: 0.0,
    };
    path.iter().fold(nothing, |so_far, &link| {
        let link = transfers[link as usize];
        LinkTransfer {
            passed: so_far.passed * link.passed,
            wait: so_far.wait + link.wait,
        }
    })
}

/// Which thread does what: ranges of connections, and of links.
#[derive(Clone, Debug)]
struct WorkSplit {
    /// First connection of each thread, and one past the last.
    connections: Vec<usize>,
    /// First link of each thread, and one past the last.
    links: Vec<usize>,
}

impl WorkSplit {
    fn new(instance: &Instance, threads: usize) -> Self {
        let cut = |n: usize| (0..=threads).map(|t| n * t / threads).collect();
        Self {
            connections: cut(instance.connections()),
            links: cut(instance.capacities().len()),
        }
    }

    /// What every subflow sends in bit/s with such links.
    fn send(
        &self,
        instance: &Instance,
        rtts: &[f64],
        response: &dyn Response,
        packet_bits: f64,
        transfers: &[LinkTransfer],
        sent: &mut [f64],
    ) {
        let answer = |connections: std::ops::Range<usize>, sent: &mut [f64]| {
            let (mut paths, mut at) = (Vec::new(), 0);
            for c in connections {
                let subflows = instance.subflows_of(c);
                paths.clear();
                paths.extend(subflows.clone().map(|s| {
                    let LinkTransfer { passed, wait } = path_transfer(instance.path(s), transfers);
                    Path {
                        signal: 1.0 - passed,
                        rtt: rtts[s] + wait,
                    }
                }));
                let windows = &mut sent[at..at + subflows.len()];
                response.windows(&paths, windows);
                for (window, path) in windows.iter_mut().zip(&paths) {
                    *window *= packet_bits / path.rtt;
                }
                at += subflows.len();
            }
        };
        std::thread::scope(|scope| {
            let mut rest = sent;
            for pair in self.connections.windows(2) {
                let range = pair[0]..pair[1];
                let subflows = if range.is_empty() {
                    0
                } else {
                    instance.subflows_of(pair[1] - 1).end - instance.subflows_of(pair[0]).start
                };
                let (mine, others) = rest.split_at_mut(subflows);
                rest = others;
                if self.connections.len() == 2 {
                    answer(range, mine);
                } else {
                    scope.spawn(move || answer(range, mine));
                }
            }
        });
    }

    /// Offers every link what its subflows send, in ascending order whatever the threads. Returns the worst residual.
    fn load(&self, instance: &Instance, sent: &[f64], marks: bool, links: &mut [Link]) -> f64 {
        let offer = |first: usize, links: &mut [Link]| {
            let mut worst = 0.0_f64;
            for (i, link) in links.iter_mut().enumerate() {
                let load = instance.users(first + i).iter().map(|&s| sent[s as usize]).sum();
                worst = worst.max(link.update(load, marks));
            }
            worst
        };
        if self.links.len() == 2 {
            return offer(0, links);
        }
        std::thread::scope(|scope| {
            let mut rest = links;
            let threads: Vec<_> = self
                .links
                .windows(2)
                .map(|pair| {
                    let (mine, others) = std::mem::take(&mut rest).split_at_mut(pair[1] - pair[0]);
                    rest = others;
                    let first = pair[0];
                    scope.spawn(move || offer(first, mine))
                })
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or(f64::INFINITY))
                .fold(0.0, f64::max)
        })
    }
}

#[cfg(test)]
mod tests {
    use weft_cc::{Algorithm, CongestionControl};

    use super::*;

    const RTT: f64 = 1e-4;
    const GBPS: f64 = 1e9;

    fn built(name: &str) -> Algorithm {
        Algorithm::build(name, &[]).unwrap()
    }

    fn solve(capacities: &[f64], connections: &[&[&[u32]]], cc: &str) -> Equilibrium {
        let cc = built(cc);
        let response = cc.response().unwrap();
        let mut instance = Instance::new(capacities.to_vec()).unwrap();
        for paths in connections {
            instance.connect(paths.iter().copied()).unwrap();
        }
        let delays = Delays {
            base_rtts: &vec![RTT; instance.subflows()],
            queueing: &vec![0.0; capacities.len()],
        };
        let settings = Settings {
            tolerance: 1e-9,
            ..Settings::default()
        };
        let found = equilibrium(&mut instance, delays, response, settings);
        assert!(found.converged, "{found:?}");
        for threads in [2, 3] {
            let again = equilibrium(&mut instance, delays, response, Settings { threads, ..settings });
            assert_eq!(again, found, "with {threads} threads");
        }
        found
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-6, "{value}, not {expected}");
    }

    #[test]
    fn n_flows_share_one_link() {
        for n in [1, 2, 10, 100] {
            // A gigabit for each, so that a window is more than a packet.
            let capacity = GBPS * n as f64;
            let paths: Vec<&[&[u32]]> = vec![&[&[0]]; n];
            let found = solve(&[capacity], &paths, "reno");
            for goodput in &found.goodputs {
                near(*goodput, GBPS);
            }
            // sqrt(1.5 / p) packets of 12,000 bits an RTT, less what is lost, make the share.
            let p = found.prices[0];
            near((1.5 / p).sqrt() * 12_000.0 / RTT * (1.0 - p), GBPS);
        }
    }

    /// A flow over two links and one on each. With Reno, prices add up, so that the long flow has 1 / sqrt(2) of a short one.
    #[test]
    fn two_links_in_a_row() {
        let found = solve(&[100.0 * GBPS; 2], &[&[&[0, 1]], &[&[0]], &[&[1]]], "reno");
        let ratio = found.goodputs[0] / found.goodputs[1];
        assert!((ratio - 0.5_f64.sqrt()).abs() < 1e-3, "{ratio}");
        near(found.goodputs[1], found.goodputs[2]);
    }

    /// Three links and three connections, each with a path over one link and one over the other two (Wischik et al., NSDI
    /// 2011, section 2.2). By symmetry all prices are p; long paths cost 2 p, so that LIA puts a third of each window there, and
    /// a link carries 2/3 + 2 * 1/3 of one.
    #[test]
    fn the_triangle() {
        let connections: [&[&[u32]]; 3] = [&[&[0], &[1, 2]], &[&[1], &[2, 0]], &[&[2], &[0, 1]]];
        let found = solve(&[100.0 * GBPS; 3], &connections, "lia");
        for pair in found.goodputs.chunks(2) {
            assert!((pair[1] / pair[0] - 0.5).abs() < 1e-2, "{pair:?}");
            assert!(((pair[0] + pair[1]) / GBPS - 75.0).abs() < 0.1, "{pair:?}");
        }
    }

    /// Khalili et al., CoNEXT 2012, section 3.2 (scenario C): n connections with a path over a link of their own and one over a
    /// link where n flows of one path are, with shares of a and b in these links. LIA's windows go as 1 / p and add up to
    /// those of a Reno flow on the better path. So with z^2 the ratio of the prices, their second path carries z^2 of the
    /// first one's a, the others have a (z + z^3), and z + z^2 + z^3 = b / a.
    #[test]
    fn lia_takes_from_flows_of_one_path_though_it_has_a_better_one() {
        for (a, b) in [(200.0, 100.0), (100.0, 100.0), (100.0, 200.0), (100.0, 400.0)] {
            let found = scenario_c("lia", a, b);
            if b <= 3.0 * a {
                let z = root(|z| z + z * z + z * z * z - b / a);
                close(found.0, a * (1.0 + z * z));
                close(found.1, a * (z + z * z * z));
            } else {
                // The shared link is the better one, so that all have as much as a flow there.
                close(found.0, f64::midpoint(a, b));
                close(found.1, f64::midpoint(a, b));
            }
        }
    }

    /// The same with OLIA, section 4: nothing but a packet of probes on the worse path.
    #[test]
    fn olia_leaves_the_worse_path_to_flows_of_one_path() {
        let found = scenario_c("olia", 200.0, 100.0);
        close(found.0, 200.0);
        close(found.1, 100.0);
    }

    /// Goodputs in Gbit/s of a connection with two paths, and of one with one, in scenario C with 2 of each.
    fn scenario_c(cc: &str, own: f64, shared: f64) -> (f64, f64) {
        let connections: [&[&[u32]]; 4] = [&[&[0], &[1]], &[&[0], &[1]], &[&[1]], &[&[1]]];
        let found = solve(&[2.0 * own * GBPS, 2.0 * shared * GBPS], &connections, cc);
        (
            (found.goodputs[0] + found.goodputs[1]) / GBPS,
            found.goodputs[4] / GBPS,
        )
    }

    /// Two links on which 3 and 9 Reno flows are (LIA's with one path are Reno's), and a connection over both. It takes as much
    /// as a Reno flow on the better link (RFC 6356, goals 1 and 2), more of it on that link, as 1 / p goes.
    #[test]
    fn lia_takes_as_much_as_a_flow_on_the_better_link() {
        let capacity = 600.0 * GBPS;
        let [better, worse]: [&[&[u32]]; 2] = [&[&[0]], &[&[1]]];
        let mut connections: Vec<&[&[u32]]> = vec![&[&[0], &[1]]];
        connections.extend([better; 3]);
        connections.extend([worse; 9]);
        let found = solve(&[capacity; 2], &connections, "lia");
        let [better, worse] = [found.goodputs[2], found.goodputs[5]];
        close(found.goodputs[0] + found.goodputs[1], better);
        // Reno's rates go as 1 / sqrt(p): with s the ratio of the two, the links carry 3 + 1 / (1 + s^2) and 9 s + s^2 / (1 + s^2)
        // of a flow on the better one.
        let s = root(|s| 9.0 * s + (s * s - 1.0) / (1.0 + s * s) - 3.0);
        close(worse / better, s);
        close(better, capacity / (3.0 + 1.0 / (1.0 + s * s)));
    }

    /// DCTCP's window at the mean of the marks, whatever the number of subflows: on one link all have the same.
    #[test]
    fn warp_takes_a_flows_share_of_a_link_with_any_number_of_subflows() {
        let link: &[u32] = &[0];
        let connections: [&[&[u32]]; 4] = [&[link], &[link; 2], &[link; 4], &[link; 8]];
        let found = solve(&[100.0 * GBPS], &connections, "warp");
        let mut at = 0;
        for paths in connections {
            near(found.goodputs[at..at + paths.len()].iter().sum(), 25.0 * GBPS);
            at += paths.len();
        }
    }

    /// Two links on which 3 and 9 flows of one path are, and a connection over both. `sum f p = sqrt(2)` where a flow has
    /// `w p = sqrt(2)`, so that the parts of a flow's share which it takes on either link add up to one. Cuts alone would make
    /// them a half each; the shift takes more on the better link.
    #[test]
    fn warp_takes_parts_of_a_flows_share_on_two_links_that_add_up_to_one() {
        let capacity = 600.0 * GBPS;
        let [better, worse]: [&[&[u32]]; 2] = [&[&[0]], &[&[1]]];
        let mut connections: Vec<&[&[u32]]> = vec![&[&[0], &[1]]];
        connections.extend([better; 3]);
        connections.extend([worse; 9]);
        let found = solve(&[capacity; 2], &connections, "warp");
        let [better, worse] = [0, 1].map(|link| found.goodputs[link] / found.goodputs[2 + 3 * link]);
        near(better + worse, 1.0);
        assert!(better > 0.6 && worse > 0.1, "{better} and {worse}");
        near(found.goodputs[2], capacity / (3.0 + better));
        near(found.goodputs[5], capacity / (9.0 + worse));
    }

    /// Prices are small but not 0, which closed forms leave out.
    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 2e-3, "{value}, not {expected}");
    }

    /// Where a function that rises is 0, from 0 to 1.
    fn root(f: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if f(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[test]
    fn a_connection_takes_both_idle_paths() {
        let found = solve(&[GBPS, 2.0 * GBPS], &[&[&[0], &[1]]], "lia");
        near(found.goodputs[0], GBPS);
        near(found.goodputs[1], 2.0 * GBPS);
    }

    #[test]
    fn a_link_that_nobody_fills_has_no_price() {
        let found = solve(&[GBPS, 10.0 * GBPS], &[&[&[0, 1]]], "reno");
        near(found.goodputs[0], GBPS);
        assert!(found.prices[1] <= FREE_PRICE);
    }

    #[test]
    fn who_does_not_get_there_says_so() {
        let mut instance = Instance::new(vec![GBPS]).unwrap();
        instance.connect([&[0][..]]).unwrap();
        let settings = Settings {
            max_iterations: 3,
            ..Settings::default()
        };
        let delays = Delays {
            base_rtts: &[RTT],
            queueing: &[0.0],
        };
        let found = equilibrium(&mut instance, delays, built("reno").response().unwrap(), settings);
        assert!(!found.converged && found.residual > 1e-3 && found.iterations == 3);
    }

    /// Reno's windows are equal on a link whatever the round-trip times, so that rates go as the inverse of these. One flow
    /// also crosses an empty link, where nobody waits.
    #[test]
    fn who_crosses_a_full_link_waits_there() {
        let mut instance = Instance::new(vec![GBPS, 10.0 * GBPS]).unwrap();
        instance.connect([&[0][..]]).unwrap();
        instance.connect([&[0, 1][..]]).unwrap();
        let delays = Delays {
            base_rtts: &[RTT, 3.0 * RTT],
            queueing: &[2.0 * RTT, 5.0 * RTT],
        };
        let settings = Settings {
            tolerance: 1e-9,
            ..Settings::default()
        };
        let found = equilibrium(&mut instance, delays, built("reno").response().unwrap(), settings);
        assert!(found.converged && found.prices[1] <= FREE_PRICE);
        // 2 RTT more each: 3 to 5, instead of 1 to 3.
        let ratio = found.goodputs[0] / found.goodputs[1];
        assert!((ratio - 5.0 / 3.0).abs() < 1e-3, "{ratio}");
    }
}
