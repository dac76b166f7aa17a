//! Mean windows if every packet is marked or lost at random, compared with theory, and as a
//! snapshot table that is reviewed when it changes.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_cc::{Ack, Algorithm, CongestionControl, Echo, Elapsed, Path, Round, Window};

/// Paths with an RTT in seconds, on which each packet is marked with probability `mark`, if it is
/// ECN-capable, and lost with probability `loss`, at any window.
#[derive(Clone, Copy)]
struct Paths {
    subflows: usize,
    mark: f64,
    loss: f64,
    rtt: f64,
}

/// Means over all rounds.
struct Settled {
    /// Sum over all active subflows, in packets.
    total: f64,
    /// Root mean square of subflow 0's window.
    rms: f64,
    /// Fraction of rounds in which a subflow was suppressed.
    suppressed: f64,
}

impl Paths {
    /// Simulates a connection in congestion avoidance, from 10 packets, for `rounds` round-trip
    /// times.
    fn run(self, algorithm: &str, parameters: &[(&str, f64)], rounds: u32) -> Settled {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect();
        let mut cc = Algorithm::build(algorithm, &parameters).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let window = Window {
            established: true,
            srtt: self.rtt,
            min_rtt: self.rtt,
            ..Window::new(10.0, 10.0)
        };
        let mut w = vec![window; self.subflows];
        for s in 0..w.len() {
            cc.on_open(&mut w, s);
        }
        let mut last = vec![Round::default(); self.subflows];
        let (mut total, mut squares, mut suppressed) = (0.0, 0.0, 0.0);
        for at in 0..rounds {
            let now = Elapsed((f64::from(at) * self.rtt * 1e12) as u64);
            let active = || w.iter().filter(|r| r.active);
            total += active().map(|r| r.cwnd).sum::<f64>();
            squares += w[0].cwnd * w[0].cwnd;
            suppressed += f64::from(u8::from(active().count() < self.subflows));
            // The first subflow rotates, so that none has an advantage if one mark stops the growth
            // of all.
            for nth in 0..last.len() {
                let s = if at % 2 == 0 { nth } else { last.len() - 1 - nth };
                if last[s].acked > 0 {
                    cc.on_round(&mut w, s, last[s]);
                }
                last[s] = self.round(&mut cc, &mut w, s, now, &mut rng);
            }
        }
        let rounds = f64::from(rounds);
        Settled {
            total: total / rounds,
            rms: (squares / rounds).sqrt(),
            suppressed: suppressed / rounds,
        }
    }

    /// Sends a window of packets on `s`, which are acknowledged one by one. The window does not
    /// grow after its first mark or loss. A loss is found at the end, by duplicate acknowledgements
    /// if three packets arrived, else by a timeout.
    fn round(
        self,
        cc: &mut Algorithm,
        w: &mut [Window],
        s: usize,
        now: Elapsed,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Round {
        if !w[s].active {
            return Round::default();
        }
        let mark = if cc.echo() == Echo::Off { 0.0 } else { self.mark };
        let mut round = Round::default();
        let mut lost = false;
        for _ in 0..w[s].cwnd as u32 {
            if rng.random_bool(self.loss) {
                lost = true;
                continue;
            }
            let marked = u32::from(rng.random_bool(mark));
            let ack = Ack {
                acked: 1,
                marked,
                may_grow: !lost && round.marked == 0,
                rtt: self.rtt,
                now,
            };
            cc.on_ack(w, s, ack);
            if marked == 1 && round.marked == 0 {
                cc.on_mark(w, s);
            }
            round.acked += 1;
            round.marked += marked;
        }
        if lost && round.acked >= 3 {
            cc.on_fast_retransmit(w, s);
        } else if lost {
            cc.on_timeout(w, s, true);
        }
        round
    }
}

#[track_caller]
fn assert_within(found: f64, least: f64, most: f64) {
    assert!(
        (least..=most).contains(&found),
        "{found} is not within {least} to {most}"
    );
}

/// A window gains one packet per round and loses the fraction b of its size at each of the `p w`
/// events per round. In equilibrium, `1 = p E[w^2] b`, so its root mean square is `sqrt(1 / (p
/// b))`. A round has at most one cut and sends whole packets, which at p = 0.001 shifts the mean by
/// a few percent.
#[test]
fn single_paths_follow_the_square_root_law() {
    let lossy = Paths {
        subflows: 1,
        mark: 0.0,
        loss: 0.001,
        rtt: 1.0,
    };
    for algorithm in ["reno", "lia", "dctcp", "dcm", "xmp", "amp"] {
        let law = (1.0_f64 / (0.001 * 0.5)).sqrt();
        assert_within(lossy.run(algorithm, &[], 200_000).rms / law, 0.97, 1.05);
    }
    let marking = Paths {
        subflows: 1,
        mark: 0.001,
        loss: 0.0,
        rtt: 1.0,
    };
    for beta in [2.0, 4.0, 8.0] {
        for algorithm in ["amp", "lia"] {
            let law = (beta / 0.001_f64).sqrt();
            assert_within(
                marking.run(algorithm, &[("beta", beta)], 200_000).rms / law,
                0.97,
                1.05,
            );
        }
    }
}

/// RFC 6356, section 2, goals 1 and 2: as much as a single-path TCP on the best path, and no more
/// than one on a shared path. Coupling by the larger of two windows that vary independently makes
/// it slightly more.
#[test]
fn two_lia_subflows_take_what_one_reno_takes() {
    let paths = |subflows| Paths {
        subflows,
        mark: 0.0,
        loss: 0.001,
        rtt: 1.0,
    };
    let lia = paths(2).run("lia", &[], 200_000).total;
    let reno = paths(1).run("reno", &[], 200_000).total;
    assert_within(lia / reno, 1.0, 1.15);
    // Without coupling, they take two shares.
    assert_within(paths(2).run("reno", &[], 200_000).total / reno, 1.98, 2.02);
}

/// AMP's paper, section 4.2: `DCM_inc <= AMP_inc ~ XMP_inc` if round-trip times are equal.
#[test]
fn amp_without_suppression_settles_where_xmp_does_and_grows_more_than_linked_increases() {
    let paths = Paths {
        subflows: 4,
        mark: 0.002,
        loss: 0.0,
        rtt: 1.0,
    };
    let amp = paths.run("amp", &[("ssr", 0.0)], 200_000).total;
    assert_within(paths.run("xmp", &[], 200_000).total / amp, 0.9, 1.1);
    assert_within(paths.run("lia", &[("beta", 4.0)], 200_000).total / amp, 0.5, 0.9);
}

/// AMP's paper, section 4.2: if all packets are marked, all windows are at the minimum and all
/// subflows but one are suppressed; if few are marked, none is ever suppressed.
#[test]
fn amp_suppresses_under_persistent_marks_only() {
    let marked = |mark| Paths {
        subflows: 4,
        mark,
        loss: 0.0,
        rtt: 1.0,
    };
    // Four windows at the minimum of 2 before suppression, one after; some ten rounds until then.
    let always = marked(1.0).run("amp", &[], 20_000);
    assert_within(always.suppressed, 0.999, 1.0);
    assert_within(always.total, 2.0, 2.02);
    assert_within(marked(1.0).run("amp", &[("ssr", 0.0)], 20_000).total, 8.0, 8.02);
    assert_eq!(marked(0.001).run("amp", &[], 20_000).suppressed, 0.0);
}

#[test]
fn mean_window_by_marks_and_losses() {
    let cases = [
        ("reno", 1, None),
        ("dctcp", 1, None),
        ("dctcp", 1, Some(("cwnd_min", 1.0))),
        ("dctcp", 1, Some(("alpha0", 0.0))),
        ("lia", 4, None),
        ("lia", 4, Some(("beta", 4.0))),
        ("dcm", 4, None),
        ("xmp", 4, None),
        ("amp", 4, None),
        ("amp", 4, Some(("ssr", 0.0))),
        ("amp", 1, None),
    ];
    let losses = [0.0, 0.001, 0.01, 0.1];
    let mut table = String::from("Mean packets of all active subflows over 5,000 rounds\n");
    for (algorithm, subflows, parameter) in cases {
        let set = parameter
            .map(|(name, value)| format!(", {name} = {value}"))
            .unwrap_or_default();
        write!(table, "\n{algorithm}{set}, subflows = {subflows}\n mark \\ loss").unwrap();
        for loss in losses {
            write!(table, "{loss:>9}").unwrap();
        }
        let ecn = Algorithm::build(algorithm, &[]).unwrap().echo() != Echo::Off || parameter.is_some();
        for mark in [0.0, 0.01, 0.1, 0.5, 1.0]
            .into_iter()
            .take(if ecn { 5 } else { 1 })
        {
            write!(table, "\n{mark:>12}").unwrap();
            for loss in losses {
                // Without marks and losses, a window grows without bound.
                if mark + loss == 0.0 {
                    table.push_str("        -");
                } else {
                    let settled = Paths {
                        subflows,
                        mark,
                        loss,
                        rtt: 1.0,
                    }
                    .run(algorithm, parameter.as_slice(), 5_000);
                    write!(table, "{:>9.2}", settled.total).unwrap();
                }
            }
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

/// If windows are large, every response function of the registry predicts them: within 10 % on one
/// path, and within 20 % for the sum on two equal ones. Coupling by the larger of two windows that
/// vary at random makes them larger (LIA, BALIA and fully coupled are 11 to 16 % above).
#[test]
fn windows_settle_where_response_functions_say() {
    for entry in Algorithm::BUILT_IN {
        let cc = Algorithm::build(entry.name, &[]).unwrap();
        let Some(response) = cc.response() else {
            continue;
        };
        let (mark, loss) = match cc.echo() {
            Echo::Off => (0.0, 0.001),
            _ => (0.004, 0.0),
        };
        for (subflows, most) in [(1, 1.1), (2, 1.2)] {
            let mut cwnd = vec![0.0; subflows];
            let path = Path {
                signal: mark + loss,
                rtt: 1.0,
            };
            response.windows(&vec![path; subflows], &mut cwnd);
            // Response functions follow the equations of the sources.
            let mut by_source = entry.parameters.iter().map(|parameter| parameter.name);
            let by_source = by_source
                .find(|&name| name == "rfc_growth")
                .map(|name| (name, 1.0));
            let paths = Paths {
                subflows,
                mark,
                loss,
                rtt: 1.0,
            };
            let settled = paths.run(entry.name, by_source.as_slice(), 50_000).total;
            let found = settled / cwnd.iter().sum::<f64>();
            assert!(
                (0.95..most).contains(&found),
                "{} x {subflows}: {found}",
                entry.name
            );
        }
    }
}

/// Linux's CUBIC in the Reno-friendly region, with one to a thousand RTTs between two evaluations
/// of its divisor, compared with Reno under the same losses. `CUBIC_TABLE=1` prints the table of
/// the response function instead, which takes minutes.
#[test]
fn cubic_of_linux_settles_where_its_response_function_says() {
    let windows = |algorithm, parameters: &[(&str, f64)], loss: f64, rtt| {
        let (subflows, mark) = (1, 0.0);
        let paths = Paths {
            subflows,
            mark,
            loss,
            rtt,
        };
        let found = paths.run(algorithm, parameters, (1000.0 / loss.sqrt()) as u32);
        let cc = Algorithm::build(algorithm, &[]).unwrap();
        let mut cwnd = [0.0];
        let path = Path { signal: loss, rtt };
        cc.response().unwrap().windows(&[path], &mut cwnd);
        (found.total, cwnd[0])
    };
    let (flat, smooth) = ([("c", 0.001)], [("rfc_growth", 1.0)]);
    if std::env::var_os("CUBIC_TABLE").is_some() {
        for rtt in [1e-5, 3e-5, 1e-4, 2e-4, 3e-4, 4e-4, 7e-4, 1e-3, 2e-3, 4e-3, 16e-3] {
            let losses = [0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5];
            let parts = losses
                .map(|loss| windows("cubic", &flat, loss, rtt).0 / windows("reno", &smooth, loss, rtt).0);
            println!("{parts:.2?},");
        }
    }
    // Between the points of the table. Below a millisecond, the window depends on the phase of the
    // jiffies.
    for (rtt, loss, most) in [
        (6e-5, 5e-3, 1.3),
        (2.5e-4, 5e-4, 1.3),
        (1.5e-3, 5e-4, 1.1),
        (0.01, 2e-2, 1.1),
        (0.05, 2e-3, 1.1),
    ] {
        let (reno, reno_expected) = windows("reno", &smooth, loss, rtt);
        let (cubic, expected) = windows("cubic", &flat, loss, rtt);
        let found = (cubic / reno) / (expected / reno_expected);
        assert!(
            (1.0 / most..most).contains(&found),
            "RTT {rtt}, loss {loss}: {found}"
        );
    }
    // With the cubic function, at the points of longer round trips.
    for (rtt, loss) in [(3e-4, 1e-4), (1e-3, 1e-4), (1e-3, 1e-3), (0.02, 1e-3)] {
        let (found, expected) = windows("cubic", &[], loss, rtt);
        let found = found / expected;
        assert!((0.95..1.1).contains(&found), "RTT {rtt}, loss {loss}: {found}");
    }
}
