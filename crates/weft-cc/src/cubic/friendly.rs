//! Mean window of Linux's CUBIC in the Reno-friendly region, as a part of Reno's.
//!
//! RFC 9438, section 4.3, makes the two windows equal. Linux evaluates the Reno-friendly window once
//! per 1/32 s while the window does not change, and raises the divisor at most once per jiffy. At
//! RTTs of more than a jiffy, that costs some percent of the window. At shorter ones, the window
//! stays where a loss has left it for many round trips, and then overshoots for a jiffy; there is no
//! formula for its mean.

use crate::Path;

/// Probabilities that a packet is lost.
const LOSSES: [f64; 9] = [0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5];
/// Round-trip times in seconds.
const RTTS: [f64; 11] = [1e-5, 3e-5, 1e-4, 2e-4, 3e-4, 4e-4, 7e-4, 1e-3, 2e-3, 4e-3, 16e-3];
/// Mean window as a part of Reno's, by round-trip time and loss. Measured by the test
/// `cubic_of_linux_settles_where_its_response_function_says`, over `1000 / sqrt(loss)` round trips,
/// without the cubic function (`c = 0.001`).
const OF_RENO: [[f64; LOSSES.len()]; RTTS.len()] = [
    [0.75, 1.48, 1.51, 1.50, 1.52, 1.55, 1.65, 1.85, 2.03],
    [0.75, 1.46, 1.48, 1.45, 1.45, 1.47, 1.67, 2.21, 2.79],
    [0.72, 1.45, 1.41, 1.34, 1.20, 1.43, 2.27, 3.22, 3.06],
    [0.73, 1.38, 1.29, 1.09, 0.96, 1.49, 2.30, 3.04, 3.07],
    [0.73, 1.29, 1.14, 0.88, 0.81, 1.27, 1.90, 2.07, 1.82],
    [0.67, 1.20, 1.02, 0.78, 1.10, 1.74, 2.59, 2.54, 2.19],
    [0.67, 0.93, 0.75, 0.85, 1.26, 1.80, 1.81, 1.53, 1.21],
    [0.63, 0.80, 0.71, 0.89, 1.33, 1.47, 1.31, 1.12, 1.04],
    [0.60, 0.66, 0.75, 0.94, 1.00, 0.98, 0.97, 0.97, 0.98],
    [0.63, 0.72, 0.79, 0.85, 0.88, 0.93, 0.95, 0.96, 0.97],
    [0.76, 0.80, 0.86, 0.91, 0.93, 0.95, 0.96, 0.97, 0.97],
];

/// Returns the part of Reno's window. Between the measured points it is interpolated linearly in
/// the logarithms; beyond them it is that of the nearest.
pub fn part_of_reno(path: Path) -> f64 {
    // Losses fall along their axis.
    let (i, x) = place(&LOSSES.map(f64::recip), path.signal.recip());
    let (j, y) = place(&RTTS, path.rtt);
    let row = |j: usize| OF_RENO[j][i].ln() * (1.0 - x) + OF_RENO[j][i + 1].ln() * x;
    (row(j) * (1.0 - y) + row(j + 1) * y).exp()
}

/// Returns the interval of an axis in which a value is, and the place in it, from 0 to 1.
fn place(axis: &[f64], value: f64) -> (usize, f64) {
    let i = axis.partition_point(|&at| at <= value).clamp(1, axis.len() - 1) - 1;
    let place = (value / axis[i]).ln() / (axis[i + 1] / axis[i]).ln();
    (i, place.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(signal: f64, rtt: f64) -> f64 {
        part_of_reno(Path { signal, rtt })
    }

    #[test]
    fn measured_points_are_met_and_the_nearest_holds_beyond() {
        for (i, &loss) in LOSSES.iter().enumerate() {
            for (j, &rtt) in RTTS.iter().enumerate() {
                assert!((part(loss, rtt) / OF_RENO[j][i] - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(part(1e-9, 10.0), part(1e-5, 16e-3));
        assert_eq!(part(1.0, 1e-9), part(0.1, 1e-5));
        let between = (OF_RENO[0][0] * OF_RENO[1][0]).sqrt();
        assert!((part(0.1, (1e-5 * 3e-5_f64).sqrt()) - between).abs() < 1e-9);
    }

    /// Solvers need windows that fall as losses rise.
    #[test]
    fn more_losses_make_a_smaller_window() {
        for &rtt in &RTTS {
            let windows = (0..600).map(|n| {
                let loss = 0.2 * 0.98_f64.powi(n);
                part(loss, rtt) / loss.sqrt()
            });
            assert!(windows.is_sorted_by(|a, b| a < b), "{rtt}");
        }
    }
}
