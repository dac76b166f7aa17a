//! The pacing rate of a subflow, which pacing, the packet scheduler and offload use.

use weft_cc::Window;

/// Returns `sk_pacing_rate` in packets per second (`tcp_update_pacing_rate`): the window over the
/// smoothed RTT, doubled in slow start, else multiplied by 1.2.
pub fn rate(window: &Window, outstanding: u32) -> f64 {
    let gain = if window.cwnd < window.ssthresh / 2.0 {
        2.0
    } else {
        1.2
    };
    gain * window.cwnd.max(outstanding.into()) / window.srtt.max(125e-9)
}
