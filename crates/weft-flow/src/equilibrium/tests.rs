//! Tests of the equilibrium solver against closed forms.

use weft_cc::{Algorithm, CongestionControl};

use super::link::FREE_PRICE;
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

/// LIA over two links, one Reno flow on the first link and two on the second. LIA has the rate of a Reno flow on its better path,
/// in proportion to 1 / loss (RFC 6356, section 2).
#[test]
fn algorithms_that_respond_to_one_signal_may_be_mixed() {
    let (reno, lia) = (built("reno"), built("lia"));
    let responses = [reno.response().unwrap(), lia.response().unwrap()];
    let mut instance = Instance::new(vec![GBPS; 2]).unwrap();
    for paths in [&[&[0][..]][..], &[&[1]], &[&[1]], &[&[0], &[1]]] {
        instance.connect(paths.iter().copied()).unwrap();
    }
    let delays = Delays {
        base_rtts: &[RTT; 5],
        queueing: &[0.0; 2],
    };
    let settings = Settings {
        tolerance: 1e-9,
        ..Settings::default()
    };
    let search = EquilibriumSolver::new(&mut instance, delays, None, settings);
    let mut search = search.with_responses(vec![0, 0, 0, 1]);
    while !search.is_done() {
        search.step(&instance, &responses);
    }
    let found = search.solution(&instance);
    assert!(found.converged, "{found:?}");
    let [first, second] = [found.prices[0], found.prices[1]];
    let sent = |price: f64| (1.5 / price).sqrt() * 12_000.0 / RTT;
    let best = sent(first);
    assert!(best > 1.2 * sent(second));
    let of_lia = |price: f64| best * price.recip() / (first.recip() + second.recip()) * (1.0 - price);
    near(found.goodputs[0], best * (1.0 - first));
    near(found.goodputs[1], sent(second) * (1.0 - second));
    near(found.goodputs[2], found.goodputs[1]);
    near(found.goodputs[3], of_lia(first));
    near(found.goodputs[4], of_lia(second));
    near(found.goodputs[0] + found.goodputs[3], GBPS);
    near(found.goodputs[1] + found.goodputs[2] + found.goodputs[4], GBPS);
}

/// A flow over two links and one on each. With Reno, prices add up, so that the long flow has 1 / sqrt(2) of a short one.
#[test]
fn two_links_in_a_row() {
    let found = solve(&[100.0 * GBPS; 2], &[&[&[0, 1]], &[&[0]], &[&[1]]], "reno");
    let ratio = found.goodputs[0] / found.goodputs[1];
    assert!((ratio - 0.5_f64.sqrt()).abs() < 1e-3, "{ratio}");
    close(found.goodputs[1], found.goodputs[2]);
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

/// Khalili et al., CoNEXT 2012, section 3.2 (scenario C). Each of n connections has a path over their own link and a path over the link
/// of n flows with one path. Their shares in these links are a and b. LIA's windows go as 1 / p and add up to
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

/// Scenario C with OLIA, section 4: nothing but a packet of probes on the worse path.
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
    // Reno's rates go as 1 / sqrt(p), and s is the ratio of the two. In rates of a flow on the better link, the links carry
    // 3 + 1 / (1 + s^2) and 9 s + s^2 / (1 + s^2).
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
/// also crosses an empty link, where no packet waits.
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

/// Eight Reno flows over two links in a row, whose prices are above 1/2. A link that loses packets leaves the next one no more than
/// it carries itself, so that all of the capacity arrives.
#[test]
fn losses_reduce_the_load_of_later_links() {
    let mut instance = Instance::new(vec![0.1 * GBPS; 2]).unwrap();
    for _ in 0..8 {
        instance.connect([&[0, 1][..]]).unwrap();
    }
    let delays = Delays {
        base_rtts: &[320e-6; 8],
        queueing: &[0.0; 2],
    };
    let response = built("reno");
    let found = equilibrium(
        &mut instance,
        delays,
        response.response().unwrap(),
        Settings::default(),
    );
    assert!(found.converged && found.prices[0] > 0.5, "{found:?}");
    let sum: f64 = found.goodputs.iter().sum();
    assert!((0.998..=1.0 + 1e-12).contains(&(sum / 1e8)), "{sum}");
}

/// Marks take nothing away: both links carry all that is sent.
#[test]
fn marks_reduce_no_load() {
    let mut instance = Instance::new(vec![GBPS, 2.0 * GBPS]).unwrap();
    instance.connect([&[0, 1][..]]).unwrap();
    let delays = Delays {
        base_rtts: &[RTT],
        queueing: &[0.0; 2],
    };
    let settings = Settings {
        marks: true,
        ..Settings::default()
    };
    let found = equilibrium(
        &mut instance,
        delays,
        built("dctcp").response().unwrap(),
        settings,
    );
    assert!(found.converged && found.prices[0] > 1e-3, "{found:?}");
    assert!((found.loads[1] / found.loads[0] - 1.0).abs() < 1e-12, "{found:?}");
}

/// Wischik et al., NSDI 2011, section 2.3: links of 5, 12, 10 and 3 Mbps, and three flows over neighbouring pairs, which a coupled
/// algorithm gives 10 Mbps each.
#[test]
fn four_links_give_three_coupled_flows_the_same() {
    for cc in ["fully-coupled", "olia"] {
        let mut instance = Instance::new([5e6, 12e6, 10e6, 3e6].to_vec()).unwrap();
        for first in 0..3 {
            instance.connect([&[first][..], &[first + 1]]).unwrap();
        }
        let delays = Delays {
            base_rtts: &[0.1; 6],
            queueing: &[0.0; 4],
        };
        let found = equilibrium(
            &mut instance,
            delays,
            built(cc).response().unwrap(),
            Settings::default(),
        );
        assert!(found.converged, "{cc}: {found:?}");
        for pair in found.goodputs.chunks(2) {
            let rate = (pair[0] + pair[1]) / 1e7;
            assert!((rate - 1.0).abs() < 0.01, "{cc}: {rate}");
        }
    }
}

/// A result that is a tolerance above a capacity is reduced to it.
#[test]
fn no_link_carries_more_than_its_capacity() {
    let mut instance = Instance::new(vec![1.0, 2.0]).unwrap();
    instance.connect([&[0][..], &[0, 1]]).unwrap();
    instance.connect([&[1][..]]).unwrap();
    let mut goodputs = [1.0, 1.0, 0.5];
    fit_to_capacities(&instance, &mut goodputs);
    assert_eq!(goodputs, [0.5, 0.5, 0.5]);
}

/// A search ends only if what arrives fills the links with a price. On these links a utilisation was within its tolerance, but
/// the load of the iteration before had limited what links forward.
#[test]
fn links_with_a_price_are_full() {
    let capacities = [47.06e6, 34.33e6, 41.41e6, 39.64e6];
    let mut instance = Instance::new(capacities.to_vec()).unwrap();
    instance.connect([&[2][..], &[3, 0], &[0]]).unwrap();
    instance
        .connect([&[1, 3, 0][..], &[0, 3, 2], &[2, 3, 1]])
        .unwrap();
    instance.connect([&[0][..], &[2, 3], &[1, 2]]).unwrap();
    let delays = Delays {
        base_rtts: &[0.1; 9],
        queueing: &[0.0; 4],
    };
    let response = built("olia");
    let settings = Settings::default();
    let found = equilibrium(&mut instance, delays, response.response().unwrap(), settings);
    assert!(found.converged, "{found:?}");
    let mut carried = [0.0; 4];
    for (s, goodput) in found.goodputs.iter().enumerate() {
        for &link in instance.path(s) {
            carried[link as usize] += goodput;
        }
    }
    for (link, carried) in carried.iter().enumerate() {
        let full = *carried > (1.0 - 3.0 * settings.tolerance) * capacities[link];
        assert!(full || found.prices[link] <= FREE_PRICE, "{link}: {found:?}");
    }
}
