//! The coupled algorithms where multipath and single-path connections share links: the goals of RFC 6356, and scenarios A to C of
//! Khalili et al., "MPTCP is not Pareto-optimal", CoNEXT 2012. `make test-coupling`.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::sleep;
use std::time::{Duration, Instant};

use socket2::Protocol;
use weft_kernel::path_manager::{Namespace, mptcp_subflows};

use crate::links::{Link, Network, Queue};
use crate::scene::{Load, NO_DEFAULT, Scene, load, missing, until, wait_for_names};
use crate::{number, scene_or_skip};

/// Round-trip time without queues, as in the paper's testbed (section 3).
const RTT: Duration = Duration::from_millis(80);
/// Rate per user in Mbit/s where the links of a scenario are equal. The equations hold for windows of many packets.
const PER_USER: f64 = 4.0;
/// Users of each kind.
const USERS: usize = 5;
/// Allowed relative difference from the rate that the equations predict.
const BAND: f64 = 0.05;
/// Time after the start that is not measured: slow start, and OLIA's and BALIA's way to the better path.
const WARM_UP: Duration = Duration::from_secs(20);

/// Users of one kind, each with a connection over these paths, which lists the links of each.
struct Users {
    number: usize,
    paths: &'static [&'static [usize]],
}

const fn users(number: usize, paths: &'static [&'static [usize]]) -> Users {
    Users { number, paths }
}

/// Rates in Mbit/s of a user of each kind on each path, headers of IP included.
type Rates = Vec<Vec<f64>>;

/// Runs users until their rates have been measured for `SECONDS`. A user with one path has TCP with `single`.
fn rates(scene: &Scene, algorithm: &str, single: &str, links: &[Link], kinds: &[Users]) -> Rates {
    let paths = |kind: &Users| kind.paths.iter().map(|path| path.to_vec()).collect();
    let network = Network::new(links, &kinds.iter().map(paths).collect::<Vec<_>>(), RTT);
    let namespaces: Vec<&str> = network
        .clients
        .iter()
        .chain([&network.server])
        .map(String::as_str)
        .collect();
    let more = std::env::var("SETTINGS").unwrap_or_default();
    let settings = format!(
        "{NO_DEFAULT}{more}\ncongestion.default = \"{algorithm}\"\nsubflows.policy = \"fullmesh\"\nsubflows.count = 2\n\
         subflows.join_after = \"0B\"\nsubflows.addresses = {:?}\n",
        network.addresses()
    );
    wait_for_names();
    let daemon = scene.daemon_of_these(&namespaces, &settings);
    let server = Scene::serve_in(&Namespace::named(&network.server), Ipv4Addr::UNSPECIFIED.into());
    let mut loads: Vec<Load> = Vec::new();
    for (n, kind) in kinds.iter().enumerate() {
        let namespace = Namespace::named(&network.clients[n]);
        let to = Ipv4Addr::new(10, 78, 10 * n as u8, 2);
        let to = SocketAddr::from((to, server.address.port()));
        for _ in 0..kind.number {
            let (protocol, cc) = match kind.paths {
                [_] => (Protocol::TCP, Some(single)),
                _ => (Protocol::MPTCP, None),
            };
            loads.push(load(Scene::connect_from(&namespace, to, protocol, cc)));
        }
        let expected = if kind.paths.len() == 1 { 0 } else { 2 * kind.number };
        until("a subflow per path", || {
            let seen = mptcp_subflows(&namespace).expect("subflows");
            seen.iter().filter(|seen| seen.established).count() == expected
        });
    }
    sleep(WARM_UP);
    let (began, before) = (Instant::now(), network.carried());
    sleep(Duration::from_secs(number("SECONDS", 100)));
    let (seconds, after) = (began.elapsed().as_secs_f64(), network.carried());
    drop(loads);
    daemon.stop();
    let of_kind = |((kind, before), after): ((&Users, &Vec<u64>), &Vec<u64>)| {
        let each = before.iter().zip(after);
        each.map(|(before, after)| 8e-6 * (after - before) as f64 / seconds / kind.number as f64)
            .collect()
    };
    kinds.iter().zip(&before).zip(&after).map(of_kind).collect()
}

/// A link of this rate per user, with the queue of the paper's testbed.
fn red(mbps: f64) -> Link {
    Link {
        mbps,
        queue: Queue::Red,
    }
}

/// Vegas keeps some packets of each flow in a queue, which must not drop them.
fn queue_for(algorithm: &str, mbps: f64) -> Link {
    match algorithm {
        "weft_wvegas" => Link {
            mbps,
            queue: Queue::DropTail(400.0),
        },
        _ => red(mbps),
    }
}

/// The algorithm of the users with one path.
fn single_path(algorithm: &str) -> &str {
    match algorithm {
        "weft_wvegas" => algorithm,
        _ => "reno",
    }
}

/// All algorithms, or those that contain `ALGORITHM`.
fn algorithms() -> impl Iterator<Item = &'static str> {
    let chosen = std::env::var("ALGORITHM").unwrap_or_default();
    let all = ["weft_lia", "weft_olia", "weft_balia", "weft_wvegas"];
    all.into_iter().filter(move |name| name.contains(&chosen))
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").expect("the load");
    text.split(' ').next().unwrap_or_default().to_owned()
}

const A: &[Users] = &[users(USERS, &[&[0], &[0, 1]]), users(USERS, &[&[1]])];
const B_SINGLE: &[Users] = &[users(USERS, &[&[0], &[1]]), users(USERS, &[&[1]])];
const B: &[Users] = &[users(USERS, &[&[0], &[1]]), users(USERS, &[&[1], &[0, 1]])];
const C: &[Users] = &[users(USERS, &[&[0], &[1]]), users(USERS, &[&[1]])];

/// Rates per user of the two links, the users, and the rates in Mbit/s of a user of each kind that the equations of an algorithm
/// give: `tests/published/scenarios.py`, at 33 packets per round-trip time. A user of the other path sends two packets in each.
struct Case {
    name: &'static str,
    rates: [f64; 2],
    kinds: &'static [Users],
    expected: [(&'static str, [f64; 2]); 3],
}

const CASES: [Case; 6] = [
    Case {
        name: "A, C2 = C1",
        rates: [PER_USER, PER_USER],
        kinds: A,
        expected: [
            ("weft_lia", [4.0, 2.96]),
            ("weft_olia", [4.0, 3.88]),
            ("weft_balia", [4.0, 3.26]),
        ],
    },
    Case {
        name: "B, the second users have one path",
        rates: [0.75 * PER_USER, PER_USER],
        kinds: B_SINGLE,
        expected: [
            ("weft_lia", [4.25, 2.75]),
            ("weft_olia", [3.56, 3.44]),
            ("weft_balia", [3.94, 3.06]),
        ],
    },
    Case {
        name: "B, all users have two paths",
        rates: [0.75 * PER_USER, PER_USER],
        kinds: B,
        expected: [
            ("weft_lia", [3.30, 2.69]),
            ("weft_olia", [3.44, 3.44]),
            ("weft_balia", [3.30, 3.02]),
        ],
    },
    Case {
        name: "C, C2 = C1 / 2",
        rates: [PER_USER, 0.5 * PER_USER],
        kinds: C,
        expected: [
            ("weft_lia", [4.47, 1.53]),
            ("weft_olia", [4.12, 1.88]),
            ("weft_balia", [4.42, 1.58]),
        ],
    },
    Case {
        name: "C, C2 = C1",
        rates: [PER_USER, PER_USER],
        kinds: C,
        expected: [
            ("weft_lia", [5.18, 2.82]),
            ("weft_olia", [4.12, 3.88]),
            ("weft_balia", [4.91, 3.09]),
        ],
    },
    Case {
        name: "C, C2 = 2 C1",
        rates: [PER_USER, 2.0 * PER_USER],
        kinds: C,
        expected: [
            ("weft_lia", [6.63, 5.37]),
            ("weft_olia", [6.06, 5.94]),
            ("weft_balia", [6.01, 5.99]),
        ],
    },
];

/// The rates of users in scenarios A to C. Those of scenario C must be within [`BAND`] of the paper's equations.
#[test]
#[ignore = "a measurement: make test-coupling"]
fn users_have_the_rates_of_conext_2012() {
    let scene = scene_or_skip!("users_have_the_rates_of_conext_2012");
    let chosen = std::env::var("CASE").unwrap_or_default();
    let mut failed = Vec::new();
    eprintln!(
        "| scenario | algorithm | a user with two paths (Mbit/s) | equations | a user of the second kind | equations \
         | load |\n|---|---|---|---|---|---|---|"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&chosen)) {
        for algorithm in algorithms() {
            let links = case.rates.map(|mbps| queue_for(algorithm, mbps * USERS as f64));
            let rates = rates(&scene, algorithm, single_path(algorithm), &links, case.kinds);
            let rate = |kind: usize| rates[kind].iter().sum::<f64>();
            let expected = case.expected.iter().find(|(name, _)| *name == algorithm);
            let text =
                |kind: usize| expected.map_or_else(String::new, |(_, rates)| format!("{:.2}", rates[kind]));
            eprintln!(
                "| {} | `{algorithm}` | {:.2} | {} | {:.2} | {} | {} |",
                case.name,
                rate(0),
                text(0),
                rate(1),
                text(1),
                load_average()
            );
            if let Some((_, expected)) = expected.filter(|_| case.name.starts_with('C')) {
                let off = (0..2).map(|kind| rate(kind) / expected[kind] - 1.0);
                failed.extend(
                    off.filter(|off| off.abs() > BAND)
                        .map(|off| (case.name, algorithm, off)),
                );
            }
        }
    }
    assert!(failed.is_empty(), "{failed:.3?}");
}

/// Three single-path users on the first link and nine on the second, of the same rate, and multipath users over both.
const GOALS: &[Users] = &[users(2, &[&[0], &[1]]), users(6, &[&[0]]), users(18, &[&[1]])];

/// RFC 6356, section 1.1: a multipath connection has at least what a single-path one has on the best of its paths (goal 1), no more
/// on any path than a single-path one there (goal 2), and moves its data off the path with more congestion (goal 3).
#[test]
#[ignore = "a measurement: make test-coupling"]
fn coupled_algorithms_reach_the_goals_of_rfc_6356() {
    let scene = scene_or_skip!("coupled_algorithms_reach_the_goals_of_rfc_6356");
    let mut failed = Vec::new();
    eprintln!(
        "| algorithm | both paths by a single-path user of the better one (goal 1) | better path by such a user (goal 2) \
         | worse path by one there (goal 2) | part on the better path (goal 3) | load |\n|---|---|---|---|---|---|"
    );
    for algorithm in algorithms() {
        let links = [24.0; 2].map(|mbps| queue_for(algorithm, mbps));
        let rates = rates(&scene, algorithm, single_path(algorithm), &links, GOALS);
        let ([first, second], better, worse) = ([rates[0][0], rates[0][1]], rates[1][0], rates[2][0]);
        let goals = [
            (first + second) / better,
            first / better,
            second / worse,
            first / (first + second),
        ];
        eprintln!(
            "| `{algorithm}` | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
            goals[0],
            goals[1],
            goals[2],
            goals[3],
            load_average()
        );
        // Without coupling, the part on the better path would be that of the single-path users' rates.
        let uncoupled = better / (better + worse);
        let reached = goals[0] > 0.85 && goals[1] < 1.15 && goals[2] < 1.15 && goals[3] > uncoupled;
        if !reached {
            failed.push((algorithm, goals));
        }
    }
    assert!(failed.is_empty(), "{failed:.2?}");
}
