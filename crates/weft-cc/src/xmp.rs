//! XMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
//! October 2020), section 2.2, equation (3). That section follows Cao et al., "Explicit Multipath
//! Congestion Control for Data Center Networks" (2013, "XMP's paper" below).
//!
//! A round without a mark grows the window by equation (3), and the first mark of a round cuts it.
//! The rate `x_s = w_s / T_s` is that of the end of a subflow's last round:
//!
//! ```math
//! \delta_s = \frac{T_s}{T_{\min}} \cdot \frac{x_s}{\sum_r x_r}
//! w_s \leftarrow w_s + \delta_s
//! w_s \leftarrow w_s - \frac{w_s}{\beta}
//! ```
//!
//! Where section 2.2 is silent, Algorithm 1 of XMP's paper and the simulator of AMP's authors
//! decide:
//!
//! - The window moves in whole packets. The fraction of delta is saved for later rounds, and a cut
//!   takes at least one packet.
//! - The rate of a round with a mark is that of the window before the cut (`m_refWin`).
//! - A round with a mark does not grow the window. In slow start a marked acknowledgement does not
//!   either: the mark is handled first and only ends slow start (`ssthresh = cwnd`).
//! - `rtt_min` is the smallest smoothed RTT of a subflow.
//!
//! A round grows the window only if an acknowledgement of that round may do so: a window that the
//! application leaves unused does not grow, as with every other algorithm. Losses are Reno's,
//! rounded down, and the rate of the subflow falls with them at once. A subflow counts once it is
//! established and has ended a round with an RTT.

use crate::parameters::parameters;
use crate::reno::{collapse, halve};
use crate::response::pull;
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window, slow_start};

parameters! {
    /// a mark cuts the window by 1 / beta
    beta: f64 = 4.0, ParameterRange::Float(2.0, 1000.0);
    /// floor of a cut by a mark, in packets
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
}

/// State: rate at the end of the last round, packets per second; 0 before the first.
const RATE: usize = 0;
/// State: the remainder of delta, below one packet.
const ADDER: usize = 1;
/// State: the window before the cut if a mark came in the current round, else 0.
const REDUCED: usize = 2;
/// State: 1 if an acknowledgement in the current round allowed the window to grow, else 0.
const MAY_GROW: usize = 3;

/// XMP.
#[derive(Clone, Debug)]
pub struct Xmp {
    params: Parameters,
}

impl Xmp {
    /// One-line description for the registry.
    pub const ABOUT: &str =
        "XMP: constant cuts, rate-balanced growth once per round (AMP's paper, section 2.2)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self { params }
    }

    /// Equation (3), in packets per round of `s`. The sum includes `s`.
    fn delta(w: &[Window], s: usize) -> f64 {
        let (mut total, mut rtt_min) = (0.0, f64::INFINITY);
        for r in w.iter().filter(|r| r.established && r.state[RATE] > 0.0) {
            total += r.state[RATE];
            rtt_min = r.srtt.min(rtt_min);
        }
        w[s].srtt / rtt_min * (w[s].state[RATE] / total)
    }
}

impl CongestionControl for Xmp {
    fn echo(&self) -> Echo {
        Echo::Count
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state = [0.0; 4];
    }

    /// Slow start only: congestion avoidance grows at the end of a round.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if ack.may_grow {
            w[s].state[MAY_GROW] = 1.0;
            if ack.marked == 0 {
                slow_start(&mut w[s], ack.acked);
            }
        }
    }

    /// The decrease for the first marked ACK in a window: `w_s <- w_s (1 - 1 / beta)`.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let w = &mut w[s];
        w.state[REDUCED] = w.cwnd;
        if w.cwnd >= w.ssthresh {
            let cut = (w.cwnd / self.params.beta).floor().max(1.0);
            w.cwnd = (w.cwnd - cut).max(self.params.cwnd_min);
        }
        w.ssthresh = w.ssthresh.min(w.cwnd);
    }

    /// The increase for every window of data on subflow s: `w_s <- w_s + delta_s`.
    fn on_round(&mut self, w: &mut [Window], s: usize, _: Round) {
        let before_cut = std::mem::take(&mut w[s].state[REDUCED]);
        let may_grow = std::mem::take(&mut w[s].state[MAY_GROW]) == 1.0;
        if w[s].srtt == 0.0 {
            return;
        }
        let reduced = before_cut > 0.0;
        w[s].state[RATE] = if reduced { before_cut } else { w[s].cwnd } / w[s].srtt;
        if reduced || !may_grow || w[s].in_recovery || w[s].cwnd < w[s].ssthresh {
            return;
        }
        let saved = w[s].state[ADDER] + Self::delta(w, s);
        w[s].state[ADDER] = saved.fract();
        w[s].cwnd += saved.floor();
    }

    /// The decrease for each loss: `w_s <- w_s / 2`.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        halve(&mut w[s]);
        on_loss(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        let held = w[s].ssthresh;
        collapse(&mut w[s], first);
        on_loss(&mut w[s]);
        if !first {
            w[s].ssthresh = held;
        }
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        w[s].state[RATE] = w[s].state[RATE].max(w[s].prior_state[RATE]);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// Equation (3) makes the increase per packet `delta_r / w_r = 1 / (rtt_min x)` with the total rate
/// x, on every path. So `w_r = 1 / (pull_r rtt_min x)` and, summed, `x^2 = sum_r 1 / (pull_r rtt_r)
/// / rtt_min`.
impl Response for Xmp {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        let pull = |path: &Path| pull(path.signal, 1.0 / self.params.beta);
        let rtt_min = paths.iter().map(|path| path.rtt).fold(f64::INFINITY, f64::min);
        let sum: f64 = paths.iter().map(|path| 1.0 / (pull(path) * path.rtt)).sum();
        let total = (sum / rtt_min).sqrt();
        for (path, w) in paths.iter().zip(cwnd) {
            *w = (1.0 / (pull(path) * rtt_min * total)).max(self.params.cwnd_min);
        }
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

/// Rounds the window after a loss to whole packets, and adapts the rate to it.
fn on_loss(w: &mut Window) {
    w.cwnd = w.cwnd.floor();
    w.ssthresh = w.ssthresh.floor();
    if w.state[REDUCED] > 0.0 {
        w.state[REDUCED] = w.cwnd;
    }
    if w.state[RATE] > 0.0 {
        w.state[RATE] = w.cwnd / w.srtt;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::{Event, obeys};
    use crate::test_windows::{ack, assert_near, cwnds, in_avoidance, in_avoidance_at, round};

    fn xmp() -> Xmp {
        Xmp::new(Parameters::default())
    }

    /// Reports an acknowledgement that may grow the window, then the end of the round.
    fn grow(cc: &mut Xmp, w: &mut [Window], s: usize) {
        cc.on_ack(w, s, ack(1));
        cc.on_round(w, s, round(1, 0));
    }

    /// Ends a round of every subflow in recovery, which sets its rate and does not grow its window.
    fn take_rates(cc: &mut Xmp, w: &mut [Window]) {
        for s in 0..w.len() {
            w[s].in_recovery = true;
            cc.on_round(w, s, round(1, 0));
            w[s].in_recovery = false;
        }
    }

    #[test]
    fn one_subflow_grows_a_packet_a_round() {
        let (mut cc, mut w) = (xmp(), in_avoidance_at(&[10.0], &[0.02]));
        for expected in [11.0, 12.0, 13.0] {
            grow(&mut cc, &mut w, 0);
            assert_eq!(w[0].cwnd, expected);
        }
    }

    #[test]
    fn delta_is_the_subflows_share_of_the_rate_and_its_fraction_is_saved() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[6.0, 2.0]));
        take_rates(&mut cc, &mut w);
        // delta_0 = 6/8: saved 0.75, then 1.5, so one whole packet and 0.5 left.
        grow(&mut cc, &mut w, 0);
        assert_eq!((w[0].cwnd, w[0].state[ADDER]), (6.0, 0.75));
        grow(&mut cc, &mut w, 0);
        assert_eq!((w[0].cwnd, w[0].state[ADDER]), (7.0, 0.5));
        // delta_1 = 2/8: the rate of subflow 0 is that of its last round, 6.
        grow(&mut cc, &mut w, 1);
        assert_eq!((w[1].cwnd, w[1].state[ADDER]), (2.0, 0.25));
    }

    #[test]
    fn delta_grows_with_the_round_trip_time_against_the_smallest() {
        let (mut cc, mut w) = (xmp(), in_avoidance_at(&[12.0, 12.0], &[1.0, 4.0]));
        take_rates(&mut cc, &mut w);
        // Rates 12 and 3. delta_0 = 1/1 * 12/15 = 0.8; delta_1 = 4/1 * 3/15 = 0.8.
        grow(&mut cc, &mut w, 0);
        grow(&mut cc, &mut w, 1);
        assert_eq!((w[0].state[ADDER], w[1].state[ADDER]), (0.8, 0.8));
        assert_eq!(cwnds(&w), [12.0, 12.0]);
    }

    #[test]
    fn the_acknowledgement_that_ends_slow_start_does_not_grow_the_window() {
        let (mut cc, mut w) = (xmp(), vec![Window::new(4.0, 100.0)]);
        cc.on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 5.0);
        cc.on_ack(&mut w, 0, Ack { marked: 1, ..ack(1) });
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (5.0, 5.0));
    }

    #[test]
    fn a_mark_cuts_whole_packets_at_least_one_down_to_the_floor() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[13.0]));
        // 13 - floor(13/4) = 10, 10 - 2, 8 - 2, 6 - 1, 5 - 1, 4 - 1, 3 - 1, floor.
        for expected in [10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 2.0] {
            cc.on_mark(&mut w, 0);
            assert_eq!((w[0].cwnd, w[0].ssthresh), (expected, expected));
        }
        let mut cc = Xmp::new(Parameters {
            cwnd_min: 1.0,
            ..Parameters::default()
        });
        cc.on_mark(&mut w, 0);
        cc.on_mark(&mut w, 0);
        assert_eq!(w[0].cwnd, 1.0);
    }

    #[test]
    fn the_first_mark_in_slow_start_ends_it_without_a_cut() {
        let (mut cc, mut w) = (xmp(), vec![Window::new(8.0, 50.5)]);
        w[0].established = true;
        w[0].srtt = 1.0;
        cc.on_ack(&mut w, 0, ack(2));
        cc.on_round(&mut w, 0, round(8, 0));
        assert_eq!(
            w[0].cwnd, 10.0,
            "slow start grows by acknowledgements, not by rounds"
        );
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (10.0, 10.0));
        cc.on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 10.0);
        cc.on_mark(&mut w, 0);
        assert_eq!(w[0].cwnd, 8.0);
    }

    #[test]
    fn rounds_with_a_mark_and_recoveries_do_not_grow() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[8.0]));
        cc.on_mark(&mut w, 0); // 6
        cc.on_round(&mut w, 0, round(8, 1));
        assert_eq!(w[0].cwnd, 6.0);
        w[0].in_recovery = true;
        grow(&mut cc, &mut w, 0);
        assert_eq!(w[0].cwnd, 6.0);
        w[0].in_recovery = false;
        grow(&mut cc, &mut w, 0);
        assert_eq!(w[0].cwnd, 7.0);
    }

    #[test]
    fn subflows_that_are_not_open_or_have_no_round_yet_do_not_count() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[4.0, 4.0, 4.0]));
        take_rates(&mut cc, &mut w);
        w[1].established = false;
        cc.on_open(&mut w, 2);
        grow(&mut cc, &mut w, 0); // delta = 4/4
        assert_eq!(cwnds(&w), [5.0, 4.0, 4.0]);
        // Without an RTT there is no rate and no growth.
        w[2].srtt = 0.0;
        grow(&mut cc, &mut w, 2);
        assert_eq!(w[2].cwnd, 4.0);
    }

    #[test]
    fn losses_round_down_and_lower_the_rate_at_once() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[7.0, 9.0]));
        take_rates(&mut cc, &mut w);
        cc.on_fast_retransmit(&mut w, 0); // 7/2 = 3.5
        assert_eq!((w[0].cwnd, w[0].ssthresh, w[0].state[RATE]), (3.0, 3.0, 3.0));
        cc.on_timeout(&mut w, 1, true); // 9/2 = 4.5
        assert_eq!((w[1].cwnd, w[1].ssthresh, w[1].state[RATE]), (1.0, 4.0, 1.0));
        grow(&mut cc, &mut w, 0); // delta = 3/4
        assert_eq!(w[0].state[ADDER], 0.75);
    }

    /// The `m_refWin` of the simulator of AMP's authors.
    #[test]
    fn the_rate_of_a_round_with_a_mark_is_that_of_the_window_before_the_cut() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[8.0, 4.0]));
        take_rates(&mut cc, &mut w);
        cc.on_mark(&mut w, 0);
        grow(&mut cc, &mut w, 0);
        assert_eq!((w[0].cwnd, w[0].state[RATE]), (6.0, 8.0));
        grow(&mut cc, &mut w, 0); // delta = 6/10
        assert_eq!((w[0].state[RATE], w[0].state[ADDER]), (6.0, 0.6));
        // A loss after the mark leaves the rate of the smaller window.
        cc.on_mark(&mut w, 0); // 5
        cc.on_fast_retransmit(&mut w, 0);
        grow(&mut cc, &mut w, 0);
        assert_eq!((w[0].cwnd, w[0].state[RATE]), (2.0, 2.0));
    }

    #[test]
    fn a_round_whose_window_is_not_used_does_not_grow() {
        let (mut cc, mut w) = (xmp(), in_avoidance(&[8.0]));
        let unused = Ack {
            may_grow: false,
            ..ack(2)
        };
        cc.on_ack(&mut w, 0, unused);
        cc.on_round(&mut w, 0, round(2, 0));
        assert_eq!(w[0].cwnd, 8.0);
        // One acknowledgement of a window in use is enough.
        cc.on_ack(&mut w, 0, ack(1));
        cc.on_ack(&mut w, 0, unused);
        cc.on_round(&mut w, 0, round(3, 0));
        assert_eq!(w[0].cwnd, 9.0);
    }

    proptest! {
        /// Equation (3) summed: in the time of `rtt_min`, in which subflow s ends `rtt_min / rtt_s`
        /// rounds, all subflows together grow by one packet.
        #[test]
        fn all_subflows_together_grow_a_packet_in_the_smallest_round_trip_time(
            subflows in prop::collection::vec((2_u32..500, 1e-6..1e-2_f64), 1..20),
        ) {
            let (cwnd, rtt): (Vec<f64>, Vec<f64>) =
                subflows.iter().map(|&(w, rtt)| (f64::from(w), rtt)).unzip();
            let (mut cc, mut w) = (xmp(), in_avoidance_at(&cwnd, &rtt));
            take_rates(&mut cc, &mut w);
            let rtt_min = rtt.iter().copied().fold(f64::INFINITY, f64::min);
            let mut growth = 0.0;
            for s in 0..w.len() {
                grow(&mut cc, &mut w, s);
                growth += (w[s].cwnd - cwnd[s] + w[s].state[ADDER]) * rtt_min / rtt[s];
                prop_assert!(w[s].cwnd.fract() == 0.0 && (0.0..1.0).contains(&w[s].state[ADDER]));
            }
            assert_near(growth, 1.0);
        }
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        obeys("xmp", |step| {
            step.moves_no_other_window();
            step.adds_for_each_packet(0.0);
            let (before, after) = step.own();
            assert!(
                step.after.iter().all(|r| r.cwnd.fract() == 0.0),
                "a broken packet: {step:?}"
            );
            match step.event {
                Event::FastRetransmit => assert_eq!(after.cwnd, (before.cwnd / 2.0).max(2.0).floor()),
                Event::Round(_) => assert!(after.cwnd >= before.cwnd),
                Event::Mark => assert!(after.cwnd >= after.ssthresh, "slow start went on after a mark"),
                _ => {}
            }
        });
    }

    #[test]
    fn its_response_balances_rates() {
        let windows = |paths: &[_]| crate::response::tests::windows_of("xmp", paths);
        // pull = 0.01 * 2 / 7; one path: sqrt(350), the mean of a sawtooth from 3/4 to 1.
        assert_near(windows(&[(0.01, 1e-4)])[0], 350.0_f64.sqrt());
        // Two equal paths are a flow of sqrt(2) times the rate: each grows by a part of one packet
        // per round.
        let w = windows(&[(0.01, 1e-4), (0.01, 1e-4)]);
        assert_near(w[0] + w[1], 700.0_f64.sqrt());
        // Windows in proportion to 1 / p, at any RTTs.
        let w = windows(&[(0.001, 1e-4), (0.004, 3e-4)]);
        assert_near(w[0] / w[1], 4.0);
    }
}
