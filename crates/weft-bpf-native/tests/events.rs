//! Compares the native build of the BPF programs with `weft-cc`, event by event.

mod pair;

use pair::{End, Pair};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_bpf_native::NativeFactory;
use weft_bpf_native::abi::SUBFLOWS;
use weft_cc::{Ack, Algorithm, ParameterRange, Round};

/// Number of random sequences per algorithm; 200,000 in total.
const SEQUENCES: u64 = 20_000;
/// Maximum number of sequences that end at a tie, where rounding decides: see [`pair`].
const TIES: u64 = SEQUENCES / 50;
/// Rounding may apportion Warp's packets after at most one of this many events.
const SETTLED: u64 = 100;

#[test]
fn random_sequences_of_events_give_the_same_windows() {
    for (name, entry) in NativeFactory::all() {
        let (mut ties, mut events, mut settled, mut worst) = (0, 0, 0, 0.0_f64);
        for seed in 0..SEQUENCES {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let parameters = parameters(entry.parameters, &mut rng);
            let mut pair = Pair::new(name, &parameters);
            let length = rng.random_range(10..150);
            for _ in 0..length {
                match step(&mut pair, &mut rng) {
                    Ok(()) => events += 1,
                    Err(End::Tie) => {
                        ties += 1;
                        break;
                    }
                    Err(End::Different(why)) => panic!("{name} {parameters:?}, seed {seed}: {why}"),
                }
            }
            settled += pair.settled;
            worst = worst.max(pair.worst);
        }
        println!("{name}: {events} events, {ties} of {SEQUENCES} sequences ended at a tie");
        if name == "bpf:warp" {
            println!("{name}: shares differ by {worst:e} at most; {settled} times rounding gave out packets");
        }
        assert!(
            settled <= events / SETTLED,
            "{name}: {settled} times rounding decided"
        );
        assert!(ties <= TIES, "{name}: {ties} ties hide too much");
        assert!(events > SEQUENCES * 50);
    }
}

/// Returns the defaults for half of the sequences and random values for the other half.
fn parameters(all: &[weft_cc::Parameter], rng: &mut impl Rng) -> Vec<(String, f64)> {
    if rng.random() {
        return Vec::new();
    }
    all.iter()
        // The programs refuse it.
        .filter(|p| p.name != "weight_ratio")
        .map(|p| {
            let value = match p.allowed {
                ParameterRange::Float(min, max) if p.name == "beta" => rng.random_range(min..=max.min(16.0)),
                ParameterRange::Float(min, max) => rng.random_range(min..=max),
                ParameterRange::Integer(min, max) => f64::from(rng.random_range(min..=max.min(10))),
                ParameterRange::ZeroOrFloat(min, max) if rng.random() => rng.random_range(min..=max),
                ParameterRange::ZeroOrFloat(..) => 0.0,
                ParameterRange::Bool => f64::from(rng.random_range(0..=1)),
            };
            (p.name.to_owned(), value)
        })
        .collect()
}

/// Reports one random event that a transport could report.
fn step(pair: &mut Pair, rng: &mut impl Rng) -> Result<(), End> {
    let open = pair.open();
    if pair.len() < SUBFLOWS && (open.is_empty() || rng.random_bool(0.05)) {
        let ssthresh = match rng.random_range(0..3) {
            0 => f64::INFINITY,
            _ => f64::from(rng.random_range(4..200)) / 2.0,
        };
        return pair.open_one(f64::from(rng.random_range(1..20)), ssthresh);
    }
    if open.is_empty() {
        return Ok(());
    }
    let s = open[rng.random_range(0..open.len())];
    pair.recover(s, rng.random_bool(0.1));
    match rng.random_range(0..100) {
        0..60 => {
            // From 25 us to 2.5 ms, in units of 1/8 us.
            pair.round_trip_time(s, rng.random_range(200..20_000));
            // Acknowledgements of no packet are duplicates.
            let acked = match rng.random_range(0..20) {
                0 => rng.random_range(1..100),
                1 => 0,
                _ => rng.random_range(1..4),
            };
            let marked = rng.random_range(0..=acked.max(1));
            let may_grow = acked > 0 && rng.random_bool(0.9);
            // Usually less than a round-trip time.
            let later = rng.random_range(0..1_000);
            // Whole microseconds, and none if a retransmission is acknowledged.
            let rtt = match rng.random_range(0..10) {
                0 => 0.0,
                1 => f64::from(rng.random_range(25..2_500)) * 1e-6,
                _ => f64::from(rng.random_range(100..130)) * 1e-6,
            };
            pair.ack(
                s,
                later,
                Ack {
                    acked,
                    marked,
                    may_grow,
                    rtt,
                    ..Ack::default()
                },
            )
        }
        60..80 => {
            let acked = rng.random_range(0..50);
            let marked = if rng.random() {
                0
            } else {
                rng.random_range(0..=acked)
            };
            pair.round(s, Round { acked, marked })
        }
        80..92 => pair.mark(s, rng.random_range(25..2_500)),
        92..96 => pair.fast_retransmit(s),
        96..98 => pair.timeout(s, rng.random_bool(0.8)),
        98 => pair.undo(s),
        _ => pair.close(s),
    }
}

#[test]
fn every_algorithm_that_the_kernel_has_is_weft_ccs() {
    let names: Vec<_> = NativeFactory::all()
        .map(|(name, entry)| (name, entry.name))
        .collect();
    assert_eq!(names.len(), 10);
    for (name, algorithm) in names {
        assert_eq!(name, format!("bpf:{algorithm}"));
        assert!(NativeFactory::factory(name, &[]).is_ok());
        assert!(Algorithm::build(algorithm, &[]).is_ok());
    }
    assert!(NativeFactory::factory("bpf:reno", &[]).is_err());
    assert!(NativeFactory::factory("amp", &[]).is_err());
    assert!(NativeFactory::factory("bpf:amp", &[("gamma".to_owned(), 0.0)]).is_err());
}
