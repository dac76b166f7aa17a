//! Constructors of windows and events for unit tests.

use crate::{Ack, Round, Window};

/// Returns established subflows in congestion avoidance, all with an RTT of 1 s, so that rates
/// equal windows.
pub fn in_avoidance(cwnd: &[f64]) -> Vec<Window> {
    let rtt = vec![1.0; cwnd.len()];
    in_avoidance_at(cwnd, &rtt)
}

/// Returns established subflows in congestion avoidance with these RTTs in seconds.
pub fn in_avoidance_at(cwnd: &[f64], rtt: &[f64]) -> Vec<Window> {
    let window = |(&cwnd, &rtt)| Window {
        established: true,
        srtt: rtt,
        min_rtt: rtt,
        ..Window::new(cwnd, cwnd)
    };
    cwnd.iter().zip(rtt).map(window).collect()
}

/// Returns the sizes of the windows.
pub fn cwnds(w: &[Window]) -> Vec<f64> {
    w.iter().map(|r| r.cwnd).collect()
}

/// Returns an acknowledgement without marks that lets the window grow.
pub fn ack(acked: u32) -> Ack {
    Ack {
        acked,
        may_grow: true,
        ..Ack::default()
    }
}

/// Returns a round.
pub fn round(acked: u32, marked: u32) -> Round {
    Round { acked, marked }
}

/// Asserts that the two are equal within rounding.
#[track_caller]
pub fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
        "found {found}, expected {expected}"
    );
}
