//! Response functions: the mean windows of an algorithm on paths with given probabilities of a mark
//! or a loss, for models of flows without packets.
//!
//! They are means over a regular sawtooth (Mathis, Semke, Mahdavi and Ott, ACM SIGCOMM
//! Computer Communication Review 27(3), 1997). A window that gains a packet per
//! round, and loses the part b of its size once per 1 / p packets, has the mean `sqrt((1 - b / 2) /
//! (p b))`. For b = 1/2 this is Reno's `sqrt(3 / (2 p))`. As a balance: if each packet acknowledged
//! adds i, the mean window w satisfies `i = w p b / (1 - b / 2)`. The factor of w on the right is
//! called the *pull* in this crate. In coupled algorithms, i follows from their equations and all
//! windows.
//!
//! The functions exclude slow start, timeouts and rounding to whole packets, so they hold for
//! windows of many packets.

/// A path in a model of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Probability above 0 that a packet is lost, or marked if the algorithm uses ECN.
    pub signal: f64,
    /// Round-trip time in seconds, above 0.
    pub rtt: f64,
}

/// The response function of an algorithm.
pub trait Response: Sync {
    /// Writes to `cwnd`, in packets, the mean windows of a connection with a subflow on each of
    /// `paths`.
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]);

    /// Whether windows jump where another path becomes the best.
    fn jumps(&self) -> bool {
        false
    }

    /// Writes windows that change gradually where those of [`windows`](Self::windows) jump. Each
    /// path is the best one for a part of the time, which goes as its rate alone to the power of 1
    /// / `width`. As `width` falls to 0, these windows approach those that jump.
    fn smoothed_windows(&self, paths: &[Path], _width: f64, cwnd: &mut [f64]) {
        self.windows(paths, cwnd);
    }

    /// The smallest mean window in packets for which the function holds. Below four packets, a loss
    /// leaves too few segments for three duplicate acknowledgements (RFC 5681, section 3.2).
    /// Timeouts then dominate, which no response function includes.
    fn min_window(&self) -> f64 {
        4.0
    }
}

/// Returns the pull of cuts by the part `cut`, one per 1 / `signal` packets.
pub(crate) fn pull(signal: f64, cut: f64) -> f64 {
    signal * cut / (1.0 - cut / 2.0)
}

/// Returns the pull of DCTCP's cuts.
///
/// A round is cut by alpha / 2 if any of its w packets is marked; alpha is `signal` on average.
/// Growth pauses from the first mark to the end of its window. So a round adds for `(1 - (1 - p)^w)
/// / p` packets on average and takes `(1 - (1 - p)^w) w p / 2`: the bracket cancels, and `i = w p^2
/// / 2`. (A window that grows without pause has about 2 / p packets instead of `sqrt(2) / p`: De
/// Schepper et al., "PI2", 2016.)
pub(crate) fn dctcp_pull(signal: f64) -> f64 {
    signal * signal / 2.0
}

/// Subflows that grow as Reno, without coupling: `1 / w = pull w`.
pub(crate) fn independent_windows(paths: &[Path], cwnd: &mut [f64], pull: impl Fn(f64) -> f64) {
    for (path, w) in paths.iter().zip(cwnd) {
        *w = pull(path.signal).sqrt().recip();
    }
}

/// LIA's increase (RFC 6356, equations (1) and (2)): `i = max_r(w_r / rtt_r^2) / (sum_r w_r /
/// rtt_r)^2`, capped at 1 / w.
///
/// So `w_r = min(i / pull_r, 1 / sqrt(pull_r))`, and i is where the equation returns it. If no cap
/// acts, that is `i = sqrt(max_r(1 / (pull_r rtt_r^2))) / sum_r(1 / (pull_r rtt_r))`. Otherwise the
/// search begins there. The logarithm of the equation's value less that of i falls by 1 (all
/// windows capped) to 2 (none) for each unit of the latter. The search is therefore a secant's
/// within these slopes.
pub(crate) fn coupled_windows(paths: &[Path], cwnd: &mut [f64], pull: impl Fn(f64) -> f64) {
    const SLOPES: (f64, f64) = (-2.0, -1.0);
    // 1 / pull, the square of the cap.
    let (mut best, mut rate, mut largest) = (0.0_f64, 0.0, 0.0_f64);
    for (path, square) in paths.iter().zip(&mut *cwnd) {
        *square = pull(path.signal).recip();
        let per_second = *square / path.rtt;
        best = best.max(per_second / path.rtt);
        rate += per_second;
        largest = largest.max(*square);
    }
    let mut increase = best.sqrt() / rate;
    if increase * increase * largest <= 1.0 {
        for w in cwnd {
            *w *= increase;
        }
        return;
    }
    for w in &mut *cwnd {
        *w = w.sqrt();
    }
    let (mut log, mut slope) = (increase.ln(), SLOPES.1);
    let mut before: Option<(f64, f64)> = None;
    for _ in 0..100 {
        let (mut best, mut rate) = (0.0_f64, 0.0);
        for (path, &cap) in paths.iter().zip(&*cwnd) {
            let per_second = (increase * cap * cap).min(cap) / path.rtt;
            best = best.max(per_second / path.rtt);
            rate += per_second;
        }
        let off = (best / (rate * rate)).ln() - log;
        if off.abs() <= 1e-13 {
            break;
        }
        if let Some((log_before, off_before)) = before {
            slope = ((off - off_before) / (log - log_before)).clamp(SLOPES.0, SLOPES.1);
        }
        before = Some((log, off));
        log -= off / slope;
        increase = log.exp();
    }
    for w in cwnd {
        *w = (increase * *w * *w).min(*w);
    }
}

/// Distributes the window over the best paths only, in equal parts. The best paths are those on
/// which a single Reno flow would have the largest rate. The other paths get one packet, as a
/// probe.
pub(crate) fn best_paths(paths: &[Path], cwnd: &mut [f64]) {
    let best = paths.iter().map(reno_rate).fold(0.0, f64::max);
    let is_best = |path: &Path| reno_rate(path) >= best * (1.0 - 1e-9);
    // Windows equal, rates together the best one.
    let per_window: f64 = paths
        .iter()
        .filter(|path| is_best(path))
        .map(|path| path.rtt.recip())
        .sum();
    for (path, w) in paths.iter().zip(cwnd) {
        *w = if is_best(path) { best / per_window } else { 1.0 };
    }
}

/// Reno's window on each path for the part of the time in which it is the best, and a packet
/// otherwise.
pub(crate) fn smoothed_best_paths(paths: &[Path], width: f64, cwnd: &mut [f64]) {
    parts_as_best(paths, width, cwnd);
    for (path, w) in paths.iter().zip(cwnd) {
        *w = *w * reno_rate(path) * path.rtt + (1.0 - *w);
    }
}

/// Writes the part of the time in which each path is the best. It goes as the rate of a Reno flow
/// to the power of 1 / `width`.
pub(crate) fn parts_as_best(paths: &[Path], width: f64, parts: &mut [f64]) {
    let best = paths.iter().map(reno_rate).fold(0.0, f64::max);
    let mut sum = 0.0;
    for (path, part) in paths.iter().zip(&mut *parts) {
        *part = (reno_rate(path) / best).powf(width.recip());
        sum += *part;
    }
    for part in parts {
        *part /= sum;
    }
}

/// The rate of a Reno flow on a path, in packets per second.
fn reno_rate(path: &Path) -> f64 {
    pull(path.signal, 0.5).sqrt().recip() / path.rtt
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::test_windows::assert_near;
    use crate::{Algorithm, CongestionControl};

    /// Returns the windows of an algorithm with its defaults on paths of (signal, RTT).
    pub fn windows_of(name: &str, paths: &[(f64, f64)]) -> Vec<f64> {
        let cc = Algorithm::build(name, &[]).unwrap();
        let paths: Vec<_> = paths.iter().map(|&(signal, rtt)| Path { signal, rtt }).collect();
        let mut cwnd = vec![0.0; paths.len()];
        cc.response().unwrap().windows(&paths, &mut cwnd);
        cwnd
    }

    #[test]
    fn one_path_is_the_square_root_law_for_all_that_halve_at_a_loss() {
        // sqrt(3 / (2 * 0.0006)) = 50
        for name in ["reno", "uncoupled", "fully-coupled", "lia", "olia", "balia"] {
            assert_near(windows_of(name, &[(0.0006, 0.1)])[0], 50.0);
        }
    }

    /// RFC 6356, section 2, goals 1 and 3: the rate of a single flow on the best path, with windows
    /// in proportion to 1 / loss.
    #[test]
    fn two_paths_of_lia_take_what_the_better_one_alone_would() {
        let w = windows_of("lia", &[(0.0006, 0.1), (0.0024, 0.1)]);
        assert_near(w[0] / w[1], 4.0);
        assert_near(w[0] + w[1], 50.0);
        // Unequal RTTs: rates add up to the larger of 50 / 0.1 and 25 / 0.04.
        let w = windows_of("lia", &[(0.0006, 0.1), (0.0024, 0.04)]);
        assert_near(w[0] / 0.1 + w[1] / 0.04, 625.0);
        assert_near(w[0] / w[1], 4.0);
    }

    /// Narrow choices are the jump's, wide ones share a connection's rate.
    #[test]
    fn smoothed_windows_approach_those_that_jump() {
        let paths = [(0.0006, 0.1), (0.0007, 0.1), (0.0006, 0.2)].map(|(signal, rtt)| Path { signal, rtt });
        for name in ["fully-coupled", "olia", "balia"] {
            let cc = Algorithm::build(name, &[]).unwrap();
            let response = cc.response().unwrap();
            assert!(response.jumps());
            let (mut exact, mut narrow, mut wide) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            response.windows(&paths, &mut exact);
            response.smoothed_windows(&paths, 1e-3, &mut narrow);
            response.smoothed_windows(&paths, 0.3, &mut wide);
            for (narrow, exact) in narrow.into_iter().zip(exact) {
                assert_near(narrow, exact);
            }
            assert!(
                wide[0] < 0.9 * exact[0] && wide[1] > 1.1 * exact[1],
                "{name}: {wide:?}"
            );
        }
    }

    /// The cap: on a long path with little loss LIA's window is Reno's.
    #[test]
    fn no_path_of_lia_exceeds_reno() {
        let paths = [(0.006, 0.001), (0.0006, 0.02)];
        let w = windows_of("lia", &paths);
        assert_near(w[1], 50.0);
        // The equation gives the increase on the path that is not capped: w_0 pull_0.
        let increase = w[0] * pull(paths[0].0, 0.5);
        let (best, rate) = ((w[0] / 1e-6).max(w[1] / 4e-4), w[0] / 1e-3 + w[1] / 0.02);
        assert!((increase / (best / (rate * rate)) - 1.0).abs() < 1e-9);
    }

    /// Khalili et al., section 4: only the best paths are used, for the rate of a single flow on
    /// the best one.
    #[test]
    fn olia_and_fully_coupled_use_the_best_paths_only() {
        for name in ["olia", "fully-coupled"] {
            assert_eq!(windows_of(name, &[(0.0006, 0.1), (0.0012, 0.1)])[1], 1.0);
            let equal = windows_of(name, &[(0.0006, 0.1), (0.0006, 0.1)]);
            assert_near(equal[0], 25.0);
            assert_near(equal[1], 25.0);
        }
    }
}
