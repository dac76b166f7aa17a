//! The equilibrium of Warp's shares, derived from its law and the model of `response.rs`: marks
//! come one by one at random.
//!
//! With m subflows sending, path s has the probability `p_s` of a mark and the round-trip time
//! `T_s`. Marks come at the rate `M = sum_s f_s p_s / T_s`. A cut pauses the growth of all subflows
//! for a round-trip time. With n cuts per second, 1 / M seconds of growth precede each cut: the
//! part n / M of the time is growth. A round of `x = sum_s f_s p_s` marks brings a cut with the
//! probability `1 - exp(-x)`, so that `n = (1 - exp(-x)) M / x`. The shift moves `kappa f_s (F_s -
//! F)` per round. Its positive part need not be taken in this model. With two subflows, and
//! wherever only one of them is marked in a round, the loss and the gain of s average to this term
//! with either sign. So shares are in equilibrium if growth equals cuts plus shifts:
//!
//! `n / (M m T_s) = f_s (n p_s / 2 + kappa (p_s - P) / T_s)`, with `P = sum_s f_s p_s / W`.
//!
//! Summed over subflows with equal round-trip times, `x = sqrt(2)` and `W = sqrt(2) / P`: DCTCP's
//! window at the mean of the marks. Without the shift `f_s = sqrt(2) / (m p_s)`, the m-th part of a
//! DCTCP flow on each path.
//!
//! Activity is discrete, but the flow level needs a mean over time. Between `W = 4 (m - 1)` and `W
//! = 4 m`, the subflow with the most marks is therefore inactive for a fraction of time that falls
//! from one to zero. The model leaves out that an inactive subflow waits for twice as much room,
//! and for `tau` rounds.

use super::{MIN_CONNECTION_WINDOW, MIN_MEAN_WINDOW, Warp};
use crate::{Path, Response};

/// Relative precision of searches.
const PRECISION: f64 = 1e-13;
/// Maximum number of steps of a search.
const MAX_ITERATIONS: u32 = 60;

impl Response for Warp {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        let mut sending = paths.to_vec();
        let mut subflows: Vec<usize> = (0..paths.len()).collect();
        let mut time = 1.0;
        cwnd.fill(0.0);
        while time > 0.0 && !sending.is_empty() {
            let m = sending.len() as f64;
            let shares = shares(self.params.kappa, &sending);
            let free = shares.iter().sum::<f64>() / MIN_MEAN_WINDOW - (m - 1.0);
            let part = if m > 1.0 { free.clamp(0.0, 1.0) } else { 1.0 };
            for (&s, share) in subflows.iter().zip(&shares) {
                cwnd[s] += time * part * share.max(MIN_CONNECTION_WINDOW);
            }
            time *= 1.0 - part;
            let worst = most_marked(&sending);
            sending.remove(worst);
            subflows.remove(worst);
        }
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

/// Returns the path with the most marks, the last one of equals, as the algorithm does.
fn most_marked(paths: &[Path]) -> usize {
    let by_signal = paths.iter().map(|path| path.signal).enumerate();
    by_signal.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(s, _)| s)
}

/// Returns the shares if all subflows send.
fn shares(kappa: f64, paths: &[Path]) -> Vec<f64> {
    let m = paths.len() as f64;
    // Without the shift, f_s p_s is proportional to 1 / T_s.
    let mut marks = (2.0 / m * sum(paths, |path| path.rtt.powi(-2))).sqrt();
    let mut in_a_round = 2.0 / (m * marks) * sum(paths, |path| path.rtt.recip());
    let (mut cuts, mut mean) = (0.0, 0.0);
    for _ in 0..MAX_ITERATIONS {
        let before = std::mem::replace(&mut cuts, -(-in_a_round).exp_m1() * marks / in_a_round);
        if (before / cuts - 1.0_f64).abs() <= PRECISION {
            break;
        }
        mean = mean_signal(kappa, cuts, paths);
        let weight = |path: &Path| weight(kappa, cuts, mean, path);
        marks = (cuts / m * sum(paths, |path| path.signal / path.rtt * weight(path))).sqrt();
        in_a_round = cuts / (m * marks) * sum(paths, |path| path.signal * weight(path));
    }
    let share = |path: &Path| cuts / (m * marks) * weight(kappa, cuts, mean, path);
    paths.iter().map(share).collect()
}

fn sum(paths: &[Path], term: impl Fn(&Path) -> f64) -> f64 {
    paths.iter().map(term).sum()
}

/// Returns the relative share of a path if the mean of the signals is `mean`.
fn weight(kappa: f64, cuts: f64, mean: f64, path: &Path) -> f64 {
    (cuts * path.rtt * path.signal / 2.0 + kappa * (path.signal - mean)).recip()
}

/// Returns the mean P of the signals weighted by shares, at which `sum_s (p_s - P) weight_s(P)` is
/// 0. The sum falls and is concave from the smallest signal up to where a weight is infinite, so
/// that Newton's method converges to its root from above.
fn mean_signal(kappa: f64, cuts: f64, paths: &[Path]) -> f64 {
    let infinite = |path: &Path| path.signal * (1.0 + cuts * path.rtt / (2.0 * kappa));
    let smallest = |value: &dyn Fn(&Path) -> f64| paths.iter().map(value).fold(f64::INFINITY, f64::min);
    let (low, mut high) = (smallest(&|path| path.signal), smallest(&infinite));
    let mut mean = low;
    for _ in 0..MAX_ITERATIONS {
        let weight = |path: &Path| weight(kappa, cuts, mean, path);
        let off = sum(paths, |path| (path.signal - mean) * weight(path));
        let slope = cuts / 2.0 * sum(paths, |path| path.signal * path.rtt * weight(path).powi(2));
        if off <= 0.0 {
            high = mean;
        }
        let newton = mean + off / slope;
        let next = if newton < high {
            newton.max(low)
        } else {
            f64::midpoint(mean, high)
        };
        let moved = (next - mean).abs();
        mean = next;
        if moved <= PRECISION * mean {
            break;
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_windows::assert_near;
    use crate::{Algorithm, CongestionControl};

    const KAPPA: f64 = 0.25;
    /// Cuts per round, with equal round-trip times.
    const CUTS: f64 = 0.756_883;

    fn windows(kappa: f64, paths: &[(f64, f64)]) -> Vec<f64> {
        let cc = Algorithm::build("warp", &[("kappa".to_owned(), kappa)]).unwrap();
        let paths: Vec<_> = paths.iter().map(|&(signal, rtt)| Path { signal, rtt }).collect();
        let mut cwnd = vec![0.0; paths.len()];
        cc.response().unwrap().windows(&paths, &mut cwnd);
        cwnd
    }

    #[track_caller]
    fn within(found: f64, expected: f64, part: f64) {
        assert!((found / expected - 1.0).abs() <= part, "{found}, not {expected}");
    }

    #[test]
    fn on_equal_paths_it_is_one_dctcp_flow_in_equal_parts() {
        for m in 1..=8 {
            let w = windows(KAPPA, &vec![(0.01, 1e-4); m]);
            // sqrt(2) / 0.01
            assert_near(w.iter().sum(), 100.0 * 2.0_f64.sqrt());
            assert_near(w[0], w[m - 1]);
        }
        assert_eq!(windows(KAPPA, &[(1.0, 1e-4)]), [2.0], "the floor");
    }

    #[test]
    fn without_the_shift_it_is_a_part_of_a_dctcp_flow_on_each_path() {
        let w = windows(0.0, &[(0.01, 1.0), (0.02, 1.0), (0.005, 1.0)]);
        for (w, signal) in w.iter().zip([0.01, 0.02, 0.005]) {
            assert_near(*w, 2.0_f64.sqrt() / 3.0 / signal);
        }
        // f_s = sqrt(2) / (m p_s T_s) / sqrt(mean of 1 / T^2): 1 and 1/9, whose mean is 5/9.
        let w = windows(0.0, &[(0.01, 1.0), (0.02, 3.0)]);
        let mean = (5.0_f64 / 9.0).sqrt();
        within(w[0], 100.0 / 2.0_f64.sqrt() / mean, 1e-12);
        within(w[1], 50.0 / 2.0_f64.sqrt() / mean / 3.0, 1e-12);
    }

    /// With k = kappa / n T, S the sum of two signals and Q their product:
    /// `4 k P^2 - S (1 + 4 k) P + 2 (1 + 2 k) Q = 0`.
    #[test]
    fn two_paths_are_a_quadratic_equation() {
        for (kappa, other) in [
            (0.05, 0.02),
            (KAPPA, 0.02),
            (KAPPA, 0.05),
            (1.0, 0.011),
            (1.0, 0.1),
        ] {
            let w = windows(kappa, &[(0.01, 1e-4), (other, 1e-4)]);
            let (k, sum, product) = (kappa / CUTS, 0.01 + other, 0.01 * other);
            let half = sum * (1.0 + 4.0 * k) / (8.0 * k);
            let mean = half - (half * half - (1.0 + 2.0 * k) * product / (2.0 * k)).sqrt();
            within(w[0] + w[1], 2.0_f64.sqrt() / mean, 1e-6);
            within((w[0] * 0.01 + w[1] * other) / (w[0] + w[1]), mean, 1e-6);
            // More than the cuts alone would move.
            assert!(w[0] / w[1] > other / 0.01, "{w:?}");
        }
    }

    proptest! {
        /// Growth equals cuts plus shifts on each path.
        #[test]
        fn all_shares_rest(
            kappa in prop_oneof![Just(0.0), 0.001..1.0_f64],
            paths in prop::collection::vec((1e-6..1e-3_f64, 1e-5..1e-2_f64), 1..9),
        ) {
            let w = windows(kappa, &paths);
            prop_assume!(w.iter().all(|&w| w > MIN_MEAN_WINDOW));
            let (m, total) = (w.len() as f64, w.iter().sum::<f64>());
            let all = || w.iter().zip(&paths).map(|(w, &(signal, rtt))| (w, signal, rtt));
            let marks: f64 = all().map(|(w, signal, rtt)| w * signal / rtt).sum();
            let in_a_round: f64 = all().map(|(w, signal, _)| w * signal).sum();
            let cuts = (1.0 - (-in_a_round).exp()) * marks / in_a_round;
            for (w, signal, rtt) in all() {
                let taken = w * (cuts * signal / 2.0 + kappa * (signal - in_a_round / total) / rtt);
                let grown = cuts / (marks * m * rtt);
                prop_assert!((taken / grown - 1.0).abs() < 1e-6, "{taken}, {grown}: {w:?}");
            }
        }
    }

    #[test]
    fn below_four_packets_each_the_most_marked_rest() {
        // W = 9.8: the last of three is inactive for a part of the time. W = 7: two are.
        let w = windows(KAPPA, &[(0.14, 1.0), (0.1425, 1.0), (0.145, 1.0), (0.15, 1.0)]);
        assert!(w[0] > w[1] && w[1] > w[2] && w[2] > 0.0 && w[3] == 0.0, "{w:?}");
        let w = windows(KAPPA, &[(0.195, 1.0), (0.25, 1.0), (0.2, 1.0), (0.25, 1.0)]);
        assert!(w[0] > 0.0 && w[2] > 0.0 && w[1] == 0.0 && w[3] == 0.0, "{w:?}");
        // All packets marked.
        assert_eq!(windows(KAPPA, &[(1.0, 1.0); 4]), [2.0, 0.0, 0.0, 0.0]);
    }

    /// A step would keep the flow level from converging if one subflow more or less is too much.
    #[test]
    fn rest_comes_without_a_step() {
        let at = |signal: f64| windows(KAPPA, &[(signal, 1.0), (1.1 * signal, 1.0), (1.2 * signal, 1.0)]);
        let mut signal = 0.05;
        while signal < 0.8 {
            let next = signal * 1.0001;
            for (before, after) in at(signal).iter().zip(at(next)) {
                assert!((after - before).abs() < 5e-3, "{before} to {after} at {signal}");
            }
            signal = next;
        }
    }
}
