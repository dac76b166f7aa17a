//! AMP-FG: Ye, Feng, Xie, Huang and Li, "Fine-Grained Congestion Control for Multipath TCP in Data
//! Center Networks", IEEE Access 7, 2019, section IV, equations (1) to (7). The paper calls it AMP,
//! "advanced MPTCP".
//!
//! For each subflow, with `m_j` 1 if the j-th packet of this round was marked, and `m'_j` of the
//! previous round:
//!
//! ```math
//! \beta = \frac{1}{w} \sum_j (m_j \oplus m'_j)
//! g_j = \left(\frac{j}{w}\right)^{\beta}
//! \alpha = \frac{1}{w} \sum_j g_j m_j
//! w \leftarrow w + \frac{1 - \alpha}{w}
//! w \leftarrow (1 - \alpha) w
//! ```
//!
//! These are equations (3) to (7). Equation (6) is for each ACK of an RTT without marks.
//!
//! Where the paper contradicts itself: Algorithm 1 compares neighbours of one round, that is,
//! `M[j] xor M[j-1]`, instead of the two rounds of equation (3); `neighbours = 1` does that, with
//! `M[0] = 0`.
//! The text calls alpha the "weight ratio of ACK packets with ECN-marked", which is the sum of
//! `g_j m_j` divided by that of `g_j`, not equation (5); `weight_ratio = 1` does that. Two of the
//! three scenarios of Figure 4 need it.
//! Equation (7) is for "packet loss" in the text and Algorithm 1, but Figure 4 applies it to marks.
//! This file applies it once, at the end of a round with a mark. The numbers of Figure 4 (a window
//! of 4 goes to 2, 4 and 1) do not follow from the equations, which give 3, 3.3 and 2.1.
//!
//! Where it is silent: `cw` is the number of packets acknowledged in the round, and packets that
//! the previous round did not have count as unmarked. A round is the acknowledgements from the end
//! of one, that one included, to the end of the next. Equation (6) takes alpha of the last complete
//! round, and stops at the first mark of a round. Unless a profile has `grow_after_mark`, growth also
//! pauses until the data that was outstanding at that mark is acknowledged, so within the next round.
//! Algorithm 1 has "For each ACK" instead. A duplicate takes the next position with its own mark. A
//! loss takes half of the window or the part alpha, whichever is larger, down to two
//! packets; in recovery the end of a round does not cut. Slow start is Reno's and ends at the first
//! mark; a timeout is Reno's.

use crate::parameters::parameters;
use crate::reno::{collapse, congestion_avoidance};
use crate::{Ack, CongestionControl, Echo, ParameterRange, Round, Window};

parameters! {
    /// floor of a cut by marks, in packets; the paper has 1, which waits for delayed ACKs
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
    /// 1 compares neighbours within a round (Algorithm 1), 0 two rounds (equation (3))
    neighbours: bool = 0.0, ParameterRange::Bool;
    /// 1: weights of marks by the sum of all weights (text), 0: by the window (equation (5))
    weight_ratio: bool = 0.0, ParameterRange::Bool;
}

/// Advanced MPTCP.
#[derive(Clone, Debug)]
pub struct AmpFg {
    params: Parameters,
    subflows: Vec<State>,
}

/// A row of the matrix of equation (1) for a subflow, and alpha.
#[derive(Clone, Debug, Default)]
struct State {
    /// `m`.
    marks: MarkBitmap,
    /// `m'`.
    previous_marks: MarkBitmap,
    alpha: f64,
    /// Packets that got a position from a duplicate acknowledgement and are not yet acknowledged.
    counted_by_dupacks: u32,
    /// Value of `counted_by_dupacks` before the last timeout, less the packets acknowledged since.
    prior_counted_by_dupacks: u32,
}

/// The marks of the packets of a round, in the order of acknowledgements.
#[derive(Clone, Debug, Default)]
struct MarkBitmap {
    /// Words of 64 packets each.
    bits: Vec<u64>,
    packets: usize,
    marked: u32,
}

impl MarkBitmap {
    fn push(&mut self, marked: bool) {
        if self.packets.is_multiple_of(64) {
            self.bits.push(0);
        }
        self.bits[self.packets / 64] |= u64::from(marked) << (self.packets % 64);
        self.packets += 1;
        self.marked += u32::from(marked);
    }

    /// Returns `m_j`, where j counts from 0; false beyond the end.
    fn get(&self, j: usize) -> bool {
        self.bits
            .get(j / 64)
            .is_some_and(|bits| bits >> (j % 64) & 1 == 1)
    }

    fn clear(&mut self) {
        self.bits.clear();
        (self.packets, self.marked) = (0, 0);
    }
}

impl State {
    /// Equations (3) to (5).
    fn estimate(&mut self, params: &Parameters) {
        let cw = self.marks.packets;
        let other = |j: usize| {
            if params.neighbours {
                j > 0 && self.marks.get(j - 1)
            } else {
                self.previous_marks.get(j)
            }
        };
        let changes = (0..cw).filter(|&j| self.marks.get(j) != other(j)).count();
        let beta = changes as f64 / cw as f64;
        let weight = |j: usize| ((j + 1) as f64 / cw as f64).powf(beta);
        let weights: f64 = (0..cw).filter(|&j| self.marks.get(j)).map(weight).sum();
        let all = if params.weight_ratio {
            (0..cw).map(weight).sum()
        } else {
            cw as f64
        };
        self.alpha = weights / all;
    }
}

impl AmpFg {
    /// One-line description for the registry.
    pub const ABOUT: &str =
        "AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            subflows: Vec::new(),
        }
    }
}

impl CongestionControl for AmpFg {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.subflows.resize_with(w.len(), State::default);
        self.subflows[s] = State::default();
    }

    /// Equation (6).
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let state = &mut self.subflows[s];
        if ack.acked == 0 {
            state.marks.push(ack.marked > 0);
            state.counted_by_dupacks += 1;
            return;
        }
        let new = ack.acked.saturating_sub(state.counted_by_dupacks);
        state.counted_by_dupacks = state.counted_by_dupacks.saturating_sub(ack.acked);
        state.prior_counted_by_dupacks = state.prior_counted_by_dupacks.saturating_sub(ack.acked);
        for j in 0..new {
            state.marks.push(j < ack.marked);
        }
        if ack.may_grow && state.marks.marked == 0 {
            let left = congestion_avoidance(&mut w[s], ack);
            w[s].cwnd += left * (1.0 - state.alpha) / w[s].cwnd;
        }
    }

    /// Ends slow start. The window is cut at the end of the round.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        w[s].ssthresh = w[s].ssthresh.min(w[s].cwnd);
    }

    /// Equation (7), if the round had a mark.
    fn on_round(&mut self, w: &mut [Window], s: usize, _: Round) {
        let (w, state) = (&mut w[s], &mut self.subflows[s]);
        if state.marks.packets == 0 {
            return;
        }
        state.estimate(&self.params);
        if state.marks.marked > 0 && !w.in_recovery {
            w.cwnd = (w.cwnd * (1.0 - state.alpha)).max(self.params.cwnd_min.min(w.cwnd));
            w.ssthresh = w.cwnd;
        }
        std::mem::swap(&mut state.marks, &mut state.previous_marks);
        state.marks.clear();
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        let part = self.subflows[s].alpha.max(0.5);
        self.subflows[s].prior_counted_by_dupacks = 0;
        w[s].cwnd = (w[s].cwnd * (1.0 - part)).max(2.0);
        w[s].ssthresh = w[s].cwnd;
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
        let state = &mut self.subflows[s];
        if first {
            state.prior_counted_by_dupacks = state.counted_by_dupacks;
        }
        state.counted_by_dupacks = 0;
    }

    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        let state = &mut self.subflows[s];
        state.counted_by_dupacks = state.counted_by_dupacks.max(state.prior_counted_by_dupacks);
        state.prior_counted_by_dupacks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, in_avoidance, round};

    fn open(neighbours: bool, cwnd: f64) -> (AmpFg, Vec<Window>) {
        let params = Parameters {
            neighbours,
            ..Parameters::default()
        };
        let (mut cc, mut w) = (AmpFg::new(params), in_avoidance(&[cwnd]));
        cc.on_open(&mut w, 0);
        (cc, w)
    }

    /// Reports a round of packets that are acknowledged one by one and do not let the window grow.
    fn report(cc: &mut AmpFg, w: &mut [Window], marks: &[u32]) {
        for &marked in marks {
            let may_grow = false;
            cc.on_ack(
                w,
                0,
                Ack {
                    marked,
                    may_grow,
                    ..ack(1)
                },
            );
        }
        cc.on_round(w, 0, round(marks.len() as u32, marks.iter().sum()));
    }

    /// Figure 4: a round of three packets without marks, then four packets.
    fn figure_4(neighbours: bool, marks: [u32; 4]) -> f64 {
        let (mut cc, mut w) = open(neighbours, 3.0);
        report(&mut cc, &mut w, &[0, 0, 0]);
        w[0].cwnd = 4.0;
        report(&mut cc, &mut w, &marks);
        w[0].cwnd
    }

    #[test]
    fn scenario_1_of_figure_4_is_3_by_the_equations_and_2_in_the_text() {
        // The last packet is marked. beta = 1/4, w_4 = 1, alpha = 1/4: 4 (1 - 1/4).
        assert_near(figure_4(false, [0, 0, 0, 1]), 3.0);
        // Neighbours: 0 0 0 1 has one change as well.
        assert_near(figure_4(true, [0, 0, 0, 1]), 3.0);
    }

    #[test]
    fn scenario_2_of_figure_4_is_3_3_by_the_equations_and_4_in_the_text() {
        // The first packet is marked. beta = 1/4, w_1 = (1/4)^(1/4) = 0.7071, alpha = 0.1768: 4 -
        // 0.7071.
        assert_near(figure_4(false, [1, 0, 0, 0]), 4.0 - 0.5_f64.sqrt());
        // Neighbours: two changes, beta = 1/2, w_1 = 1/2, alpha = 1/8.
        assert_near(figure_4(true, [1, 0, 0, 0]), 3.5);
    }

    #[test]
    fn scenario_3_of_figure_4_is_2_1_by_the_equations_and_1_in_the_text() {
        // The last two packets are marked. beta = 1/2, w_3 = sqrt(3/4) = 0.866, w_4 = 1, alpha =
        // 0.4665.
        assert_near(figure_4(false, [0, 0, 1, 1]), 3.0 - 0.75_f64.sqrt());
        // Neighbours: one change, beta = 1/4, w_3 = (3/4)^(1/4) = 0.9306: 3 - 0.9306.
        assert_near(figure_4(true, [0, 0, 1, 1]), 3.0 - 0.75_f64.powf(0.25));
    }

    /// "the weight ratio of ACK packets with ECN-marked". Scenario 1: 1 / (1/4^(1/4) + 2/4^(1/4) +
    /// 3/4^(1/4) + 1) = 0.2875. Scenario 3: (0.866 + 1) / (0.5 + 0.7071 + 0.866 + 1) = 0.6072.
    #[test]
    fn the_weight_ratio_gives_scenarios_1_and_3_of_figure_4_in_whole_packets() {
        let after = |marks: [u32; 4]| {
            let (mut cc, mut w) = open(false, 3.0);
            cc.params.weight_ratio = true;
            cc.params.cwnd_min = 1.0;
            report(&mut cc, &mut w, &[0, 0, 0]);
            w[0].cwnd = 4.0;
            report(&mut cc, &mut w, &marks);
            w[0].cwnd
        };
        let root = |x: f64, beta: f64| x.powf(beta);
        let all = |beta| [0.25, 0.5, 0.75, 1.0].map(|x| root(x, beta)).iter().sum::<f64>();
        assert_near(after([0, 0, 0, 1]), 4.0 - 4.0 / all(0.25));
        assert_near(
            after([0, 0, 1, 1]),
            4.0 - 4.0 * (root(0.75, 0.5) + 1.0) / all(0.5),
        );
        assert_eq!(
            [after([0, 0, 0, 1]), after([0, 0, 1, 1])].map(f64::floor),
            [2.0, 1.0]
        );
        // All packets are marked: the window falls to its floor.
        assert_eq!(after([1, 1, 1, 1]), 1.0);
    }

    #[test]
    fn equation_3_compares_with_the_round_before() {
        let (mut cc, mut w) = open(false, 8.0);
        report(&mut cc, &mut w, &[0, 1, 0, 1]);
        // A round like the previous one: beta = 0, all weights 1, alpha = 2/4.
        w[0].cwnd = 8.0;
        report(&mut cc, &mut w, &[0, 1, 0, 1]);
        assert_eq!((cc.subflows[0].alpha, w[0].cwnd), (0.5, 4.0));
        // The opposite: beta = 1, weights j/4, alpha = (1/4 + 3/4) / 4.
        report(&mut cc, &mut w, &[1, 0, 1, 0]);
        assert_eq!((cc.subflows[0].alpha, w[0].cwnd), (0.25, 3.0));
        // A longer round: 1 0 1 0 against 1 0 1 0 1 1; beta = 2/6.
        report(&mut cc, &mut w, &[1, 0, 1, 0, 1, 1]);
        let weights: f64 = [1.0, 3.0, 5.0, 6.0_f64]
            .iter()
            .map(|j| (j / 6.0).powf(1.0 / 3.0))
            .sum();
        assert_near(cc.subflows[0].alpha, weights / 6.0);
    }

    #[test]
    fn equation_6_grows_by_what_the_last_round_leaves_until_a_mark() {
        let (mut cc, mut w) = open(false, 8.0);
        report(&mut cc, &mut w, &[0, 1, 0, 1]);
        report(&mut cc, &mut w, &[0, 1, 0, 1]); // alpha 1/2
        w[0].cwnd = 4.0;
        cc.on_ack(&mut w, 0, ack(1)); // 4 + (1 - 1/2) / 4
        assert_eq!(w[0].cwnd, 4.125);
        cc.on_ack(&mut w, 0, Ack { marked: 1, ..ack(1) });
        cc.on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 4.125);
        // After a round without a mark, alpha is 0 and the window is not cut.
        let (mut cc, mut w) = open(false, 4.0);
        cc.subflows[0].alpha = 0.5;
        report(&mut cc, &mut w, &[0; 4]);
        assert_eq!((cc.subflows[0].alpha, w[0].cwnd), (0.0, 4.0));
    }

    #[test]
    fn a_duplicate_has_a_position_of_its_own() {
        let (mut cc, mut w) = open(false, 8.0);
        cc.on_ack(&mut w, 0, ack(1));
        for marked in [0, 1] {
            cc.on_ack(
                &mut w,
                0,
                Ack {
                    acked: 0,
                    marked,
                    ..Ack::default()
                },
            );
        }
        // The hole is filled: two of three packets were reported before.
        cc.on_ack(&mut w, 0, ack(3));
        let marks = &cc.subflows[0].marks;
        let reported: Vec<bool> = (0..marks.packets).map(|j| marks.get(j)).collect();
        assert_eq!(reported, [false, false, true, false]);
    }

    #[test]
    fn losses_halve_at_least() {
        let (mut cc, mut w) = open(false, 20.0);
        cc.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (10.0, 10.0));
        report(&mut cc, &mut w, &[1; 8]); // beta = 1, alpha = 36/64
        w[0].cwnd = 16.0;
        cc.on_fast_retransmit(&mut w, 0);
        assert_eq!(w[0].cwnd, 7.0);
        cc.on_timeout(&mut w, 0, true);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, 3.5));
    }

    #[test]
    fn slow_start_ends_at_a_mark_and_the_cut_comes_with_the_round() {
        let (mut cc, mut w) = open(false, 8.0);
        w[0].ssthresh = f64::INFINITY;
        cc.on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 10.0);
        cc.on_ack(&mut w, 0, Ack { marked: 1, ..ack(1) });
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (10.0, 10.0));
        cc.on_round(&mut w, 0, round(3, 1)); // beta = 1/3, w_3 = 1, alpha = 1/3
        assert_near(w[0].cwnd, 10.0 * 2.0 / 3.0);
    }

    #[test]
    fn a_window_of_hundreds_has_all_its_positions() {
        let (mut cc, mut w) = open(false, 400.0);
        let marks: Vec<u32> = (0..300).map(|j| u32::from(j == 299)).collect();
        report(&mut cc, &mut w, &marks); // beta = 1/300, w_300 = 1
        assert_near(cc.subflows[0].alpha, 1.0 / 300.0);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("amp-fg", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
        });
    }
}
