//! Compares AMP-FG's alpha in fixed point with equations (3) to (5) in floating point.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_bpf_native::NativeAlgorithm;
use weft_cc::{Ack, CongestionControl, Round, Window};

/// Maximum difference of alpha: powers are within 2^-30, and alpha is rounded to 2^-30.
const ERROR: f64 = 1.0 / (1 << 29) as f64;
/// Maximum number of packets of a round after which all marks of the next one are stored:
/// `AMP_FG_POSITIONS / 2`.
const ALL_KEPT: usize = 1024;

/// A subflow that runs the C code of AMP-FG.
struct Subflow {
    native: NativeAlgorithm,
    w: Vec<Window>,
    before: Vec<bool>,
}

impl Subflow {
    fn open() -> Self {
        let mut subflow = Self {
            native: NativeAlgorithm::new("bpf:amp-fg", &[("cwnd_min".to_owned(), 1.0)]).expect("it exists"),
            w: vec![Window {
                established: true,
                ..Window::new(10.0, 10.0)
            }],
            before: Vec::new(),
        };
        subflow.native.on_open(&mut subflow.w, 0);
        subflow
    }

    /// Acknowledges a round with these marks, one acknowledgement per run of equal marks. Returns
    /// alpha of the C code and of the equations.
    fn round(&mut self, marks: Vec<bool>) -> (f64, f64) {
        for piece in marks.chunk_by(|a, b| a == b) {
            let acked = piece.len() as u32;
            let ack = Ack {
                acked,
                marked: if piece[0] { acked } else { 0 },
                ..Ack::default()
            };
            self.native.on_ack(&mut self.w, 0, ack);
        }
        self.native.on_round(&mut self.w, 0, Round::default());
        let alpha = self.native.connection().w[0].state[0] as f64 / f64::from(1 << 30);
        let exact = equations(&self.before, &marks);
        self.before = marks;
        (alpha, exact)
    }
}

/// Computes alpha by equations (3) to (5).
fn equations(before: &[bool], marks: &[bool]) -> f64 {
    let cw = marks.len() as f64;
    let other = |j: usize| before.get(j).copied().unwrap_or(false);
    let changes = (0..marks.len()).filter(|&j| marks[j] != other(j)).count();
    let beta = changes as f64 / cw;
    let marked = (0..marks.len()).filter(|&j| marks[j]);
    marked.map(|j| ((j + 1) as f64 / cw).powf(beta)).sum::<f64>() / cw
}

fn at_random(length: usize, rng: &mut impl Rng) -> Vec<bool> {
    let share = rng.random_range(0.0..1.0_f64).powi(2);
    (0..length).map(|_| rng.random_bool(share)).collect()
}

/// Returns unmarked, then marked, then unmarked packets.
fn one_run(length: usize, rng: &mut impl Rng) -> Vec<bool> {
    let first = rng.random_range(0..length);
    let last = rng.random_range(first..length);
    (0..length).map(|j| (first..=last).contains(&j)).collect()
}

#[test]
fn alpha_of_rounds_of_every_length_is_that_of_the_equations() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut subflow, mut worst) = (Subflow::open(), 0.0_f64);
    for length in (1..=ALL_KEPT).cycle().take(8 * ALL_KEPT) {
        // Rounds of any two lengths follow one another.
        let length = if rng.random() {
            length
        } else {
            rng.random_range(1..=length)
        };
        let (alpha, exact) = subflow.round(at_random(length, &mut rng));
        worst = worst.max((alpha - exact).abs());
    }
    println!("alpha: {worst:e} of {ERROR:e}");
    assert!(worst <= ERROR, "{worst:e}");
}

#[test]
fn one_round_may_have_twice_the_packets_of_the_one_before() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut subflow = Subflow::open();
    for _ in 0..20 {
        let _ = subflow.round(at_random(ALL_KEPT, &mut rng));
        let (alpha, exact) = subflow.round(at_random(2 * ALL_KEPT, &mut rng));
        assert!((alpha - exact).abs() <= ERROR, "{alpha}, exactly {exact}");
        // The next round stores every second mark; the round after that stores all marks.
        let _ = subflow.round(at_random(ALL_KEPT, &mut rng));
        let _ = subflow.round(at_random(ALL_KEPT, &mut rng));
    }
}

/// Rounding affects only the ends of runs of marks: each end changes the sums of equations (3) and
/// (5) by at most one stored mark.
#[test]
fn longer_rounds_keep_enough_marks_of_runs() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut subflow = Subflow::open();
    let (mut worst, mut lengths) = (0.0_f64, [ALL_KEPT; 3]);
    for _ in 0..2_000 {
        let [_, before, last] = lengths;
        let length = rng.random_range(last / 4..=2 * last).clamp(100, 300_000);
        lengths = [before, last, length];
        let (alpha, exact) = subflow.round(one_run(length, &mut rng));
        // Packets per stored mark, in this round and in the previous one.
        let kept = before.max(last).div_ceil(ALL_KEPT).next_power_of_two() as f64;
        let ends = 5.0 * kept / length as f64;
        worst = worst.max((alpha - exact).abs() / ends);
        assert!(
            (alpha - exact).abs() <= ends,
            "{length} packets: {alpha}, exactly {exact}"
        );
    }
    println!("alpha: {worst} of what the ends of runs may make");
}

#[test]
fn all_marked_twice_takes_the_whole_window() {
    for length in [1, 2, 3, 64, 65, 1000] {
        let mut subflow = Subflow::open();
        let _ = subflow.round(vec![true; length]);
        let (alpha, exact) = subflow.round(vec![true; length]);
        assert_eq!((alpha, exact), (1.0, 1.0));
        assert_eq!(subflow.w[0].cwnd, 1.0);
    }
}
