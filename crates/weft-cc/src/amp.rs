//! AMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks" (text of
//! October 2020), section 4.2, Algorithm 1. Comments below cite its line numbers.
//!
//! Where the paper is silent, the authors' simulator decides:
//!
//! - Suppression and release are decided at the end of a round of the initial subflow.
//! - A round counts towards suppression if every subflow is established, has `floor(cwnd)` equal to
//!   `cwnd_min`, and is not in recovery.
//! - A round counts towards release if it had no mark, `floor(cwnd)` is above `cwnd_min`, and the
//!   initial subflow is not in recovery.
//! - `w_total` is the sum over active subflows only.
//! - Slow start ends at the first mark, with the cut of line 29.
//! - A timeout is Reno's.
//!
//! Where both are silent:
//!
//! - A suppressed subflow keeps its window while its data in flight is acknowledged; marks and
//!   losses still lower it.
//! - A subflow that joins suppressed ones is suppressed too.
//! - A closed subflow neither counts nor blocks. If the initial one closes, the others are released
//!   and the first established one becomes initial.
//! - A subflow that times out twice without a round between counts as failed until it ends a round:
//!   it neither counts nor blocks. If it is the initial one, the others are released.
//! - Release restarts both counts.
//!
//! The parameter `dctcp_cut` is an extension of the paper, off by default. A subflow that sends
//! alone (all others are suppressed, or there are none) is then cut by DCTCP's alpha / 2 instead of
//! 1 / beta. A single subflow grows as a DCTCP flow, so it needs the same cuts to get the same
//! share of a bottleneck. Alpha starts at 1 and has DCTCP's default weight of the newest round. It
//! is updated in every round, so that it is right when the subflow begins to send alone.

use crate::dctcp::{cut, estimate};
use crate::parameters::parameters;
use crate::reno::{collapse, congestion_avoidance};
use crate::response::pull;
use crate::{Ack, CongestionControl, Echo, ParameterRange, Path, Response, Round, Window, dctcp};

parameters! {
    /// rounds with all windows at the floor until subflows are suppressed
    gamma: u32 = 2.0, ParameterRange::Integer(1, 1_000_000);
    /// rounds without a mark until suppressed subflows are released
    tau: u32 = 8.0, ParameterRange::Integer(1, 1_000_000);
    /// a mark cuts the window by 1 / beta
    beta: f64 = 4.0, ParameterRange::Float(2.0, 1000.0);
    /// floor of a cut by a mark or a fast retransmit, in packets
    cwnd_min: f64 = 2.0, ParameterRange::Integer(1, 100);
    /// 0 switches subflow suppression and release off
    ssr: bool = 1.0, ParameterRange::Bool;
    /// 1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper
    dctcp_cut: bool = 0.0, ParameterRange::Bool;
}

/// State: 1 once the subflow has closed, else 0.
const CLOSED: usize = 0;
/// State: timeouts since the last end of a round of this subflow.
const TIMEOUTS: usize = 1;
/// State: with `dctcp_cut`, the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 2;

/// AMP.
#[derive(Clone, Debug)]
pub struct Amp {
    params: Parameters,
    /// Sum of the windows of established, active subflows.
    w_total: f64,
    /// The subflow that is never suppressed.
    initial: usize,
    suppressed: bool,
    /// Consecutive rounds of the initial subflow that count towards suppression or, while
    /// suppressed, towards release.
    n_round: u32,
}

impl Amp {
    /// One-line description for the registry.
    pub const ABOUT: &str = "AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            w_total: 0.0,
            initial: 0,
            suppressed: false,
            n_round: 0,
        }
    }

    /// Algorithm 1, lines 2 to 13.
    fn suppress_subflows(&mut self, w: &mut [Window]) {
        let (mut n, mut n_sf) = (0, 0);
        for r in w.iter().filter(|r| is_alive(r)) {
            n += 1;
            n_sf += u32::from(r.cwnd.floor() == self.params.cwnd_min && r.established && !r.in_recovery);
        }
        self.n_round = if n_sf == n && n > 1 { self.n_round + 1 } else { 0 };
        if self.n_round >= self.params.gamma {
            self.set_active(w, false);
        }
    }

    /// Algorithm 1, lines 14 to 21.
    fn release_subflows(&mut self, w: &mut [Window], round: Round) {
        let r = &w[self.initial];
        let clear = round.marked == 0 && r.cwnd.floor() > self.params.cwnd_min && !r.in_recovery;
        self.n_round = if clear { self.n_round + 1 } else { 0 };
        if self.n_round >= self.params.tau {
            self.set_active(w, true);
        }
    }

    /// Sets `active` of all subflows; the initial one is always active.
    fn set_active(&mut self, w: &mut [Window], active: bool) {
        for (s, r) in w.iter_mut().enumerate() {
            r.active = active || s == self.initial;
        }
        self.suppressed = !active;
        self.n_round = 0;
    }

    fn update_total(&mut self, w: &[Window]) {
        self.w_total = w
            .iter()
            .filter(|r| r.established && r.active)
            .map(|r| r.cwnd)
            .sum();
    }
}

/// Returns true if `s` is the only subflow that may send new data.
fn is_only_alive(w: &[Window], s: usize) -> bool {
    w[s].active && w.iter().filter(|r| r.established && r.active).count() == 1
}

/// Returns true if the subflow has neither closed nor timed out twice.
fn is_alive(r: &Window) -> bool {
    r.state[CLOSED] == 0.0 && r.state[TIMEOUTS] < 2.0
}

impl CongestionControl for Amp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state = [0.0; 4];
        w[s].state[ALPHA] = dctcp::Parameters::default().alpha0;
        if !w[self.initial].established {
            self.initial = s;
        }
        w[s].active = !self.suppressed || s == self.initial;
        self.update_total(w);
    }

    /// Algorithm 1, lines 23 to 25.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        let w = &mut w[s];
        if w.active && ack.may_grow {
            let before = w.cwnd;
            let left = congestion_avoidance(w, ack);
            self.w_total += w.cwnd - before;
            let growth = left / self.w_total.max(w.cwnd);
            self.w_total += growth;
            w.cwnd += growth;
        }
    }

    /// Algorithm 1, lines 27 to 29. With `dctcp_cut` and one active subflow: equation (2) of DCTCP.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        let part = if self.params.dctcp_cut && is_only_alive(w, s) {
            w[s].state[ALPHA] / 2.0
        } else {
            1.0 / self.params.beta
        };
        cut(&mut w[s], part, self.params.cwnd_min);
        self.update_total(w);
    }

    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        w[s].state[TIMEOUTS] = 0.0;
        if self.params.dctcp_cut {
            estimate(&mut w[s].state[ALPHA], dctcp::Parameters::default().g, round);
        }
        if s == self.initial {
            match (self.params.ssr, self.suppressed) {
                (true, false) => self.suppress_subflows(w),
                (true, true) => self.release_subflows(w, round),
                (false, _) => {}
            }
            self.update_total(w);
        }
    }

    /// Algorithm 1, lines 31 and 32.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        w[s].cwnd = (w[s].cwnd / 2.0).max(self.params.cwnd_min);
        w[s].ssthresh = w[s].cwnd;
        self.update_total(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        collapse(&mut w[s], first);
        w[s].state[TIMEOUTS] += 1.0;
        if s == self.initial && !is_alive(&w[s]) {
            self.set_active(w, true);
        }
        self.update_total(w);
    }

    /// Suppression and release are not undone: other subflows have acted on them in the meantime.
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
        w[s].state[TIMEOUTS] = 0.0;
        self.update_total(w);
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        w[s].state[CLOSED] = 1.0;
        if s == self.initial {
            self.initial = w.iter().position(|r| r.established).unwrap_or(s);
            self.set_active(w, true);
        }
        self.update_total(w);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

/// Line 25 adds 1 / `w_total` per packet, so that `w_r = 1 / (pull_r w_total)` and, summed,
/// `w_total^2 = sum_r 1 / pull_r`. If all windows are at the minimum, all subflows but the initial
/// one are suppressed, and their windows are 0.
impl Response for Amp {
    fn windows(&self, paths: &[Path], cwnd: &mut [f64]) {
        let Parameters {
            beta, cwnd_min, ssr, ..
        } = self.params;
        let pull = |path: &Path| pull(path.signal, 1.0 / beta);
        let total = paths.iter().map(|path| 1.0 / pull(path)).sum::<f64>().sqrt();
        for (path, w) in paths.iter().zip(&mut *cwnd) {
            *w = (1.0 / (pull(path) * total)).max(cwnd_min);
        }
        let at_floor = |w: &f64| w.floor() == cwnd_min;
        if let [initial, others @ ..] = cwnd
            && ssr
            && !others.is_empty()
            && at_floor(initial)
            && others.iter().all(at_floor)
        {
            *initial = pull(&paths[0]).sqrt().recip().max(cwnd_min);
            others.fill(0.0);
        }
    }

    /// A cut leaves at least two packets, and marks cause no timeouts.
    fn min_window(&self) -> f64 {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_windows::{ack, assert_near, cwnds, in_avoidance};

    const AT_FLOOR: [f64; 4] = [2.0, 2.9, 2.5, 2.0];
    const CLEAR: Round = Round { acked: 3, marked: 0 };
    const MARKED: Round = Round { acked: 3, marked: 1 };

    fn amp(gamma: u32, tau: u32) -> Amp {
        Amp::new(Parameters {
            gamma,
            tau,
            ..Parameters::default()
        })
    }

    fn active(w: &[Window]) -> Vec<bool> {
        w.iter().map(|r| r.active).collect()
    }

    fn open(cc: &mut Amp, w: &mut [Window]) {
        for s in 0..w.len() {
            cc.on_open(w, s);
        }
    }

    /// Returns a connection of four subflows that has just been suppressed, all windows 2.
    fn suppressed() -> (Amp, Vec<Window>) {
        let (mut cc, mut w) = (amp(1, 3), in_avoidance(&[2.0; 4]));
        open(&mut cc, &mut w);
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!(active(&w), [true, false, false, false]);
        (cc, w)
    }

    #[test]
    fn line_25_couples_by_the_sum_of_windows_whatever_the_round_trip_times() {
        let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[6.0, 4.0]));
        w[1].srtt = 9.0;
        open(&mut cc, &mut w);
        cc.on_ack(&mut w, 0, ack(1)); // 1/10
        assert_near(w[0].cwnd, 6.1);
        cc.on_ack(&mut w, 1, ack(2)); // 2/10.1
        assert_near(w[1].cwnd, 4.0 + 2.0 / 10.1);
        assert_near(cc.w_total, 10.1 + 2.0 / 10.1);
    }

    #[test]
    fn one_subflow_is_reno_in_growth_and_is_never_suppressed() {
        let (mut cc, mut w) = (amp(1, 1), in_avoidance(&[4.0]));
        open(&mut cc, &mut w);
        cc.on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 4.25);
        w[0].cwnd = 2.0;
        for _ in 0..10 {
            cc.on_round(&mut w, 0, MARKED);
            assert!(w[0].active && !cc.suppressed);
        }
        cc.on_timeout(&mut w, 0, true);
        cc.on_timeout(&mut w, 0, true);
        assert!(w[0].active);
    }

    #[test]
    fn slow_start_is_renos_and_ends_at_the_first_mark_with_the_cut_of_line_29() {
        let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[8.0, 2.0]));
        w[0].ssthresh = f64::INFINITY;
        open(&mut cc, &mut w);
        cc.on_ack(&mut w, 0, ack(2));
        assert_eq!((w[0].cwnd, cc.w_total), (10.0, 12.0));
        cc.on_mark(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh, cc.w_total), (7.5, 7.5, 9.5));
        cc.on_ack(&mut w, 0, ack(1));
        assert_near(w[0].cwnd, 7.5 + 1.0 / 9.5);
    }

    #[test]
    fn lines_29_and_32_have_the_floor_and_timeouts_do_not() {
        let (mut cc, mut w) = (amp(2, 8), in_avoidance(&[5.0, 5.0, 3.0]));
        open(&mut cc, &mut w);
        for expected in [3.75, 2.8125, 2.109_375, 2.0, 2.0] {
            cc.on_mark(&mut w, 0);
            assert_eq!((w[0].cwnd, w[0].ssthresh), (expected, expected));
        }
        cc.on_fast_retransmit(&mut w, 1);
        cc.on_fast_retransmit(&mut w, 2);
        assert_eq!((w[1].cwnd, w[1].ssthresh), (2.5, 2.5));
        assert_eq!((w[2].cwnd, w[2].ssthresh), (2.0, 2.0));
        cc.on_timeout(&mut w, 1, true);
        assert_eq!((w[1].cwnd, w[1].ssthresh, cc.w_total), (1.0, 2.0, 5.0));
        let mut cc = Amp::new(Parameters {
            cwnd_min: 1.0,
            ..Parameters::default()
        });
        cc.on_fast_retransmit(&mut w, 2);
        cc.on_fast_retransmit(&mut w, 2);
        assert_eq!(w[2].cwnd, 1.0);
    }

    #[test]
    fn gamma_rounds_of_the_initial_subflow_suppress_all_others() {
        let (mut cc, mut w) = (amp(3, 8), in_avoidance(&AT_FLOOR));
        open(&mut cc, &mut w);
        for n_round in 1..=2 {
            cc.on_round(&mut w, 0, MARKED);
            assert_eq!((cc.n_round, active(&w)), (n_round, vec![true; 4]));
            // Rounds of other subflows do not count.
            cc.on_round(&mut w, 1, MARKED);
            assert_eq!(cc.n_round, n_round);
        }
        cc.on_round(&mut w, 0, MARKED);
        assert_eq!(active(&w), [true, false, false, false]);
        assert_eq!(cwnds(&w), AT_FLOOR);
    }

    #[test]
    fn one_round_that_does_not_fit_starts_the_count_anew() {
        let spoilers: [fn(&mut Window); 4] = [
            |r| r.cwnd = 3.0,
            |r| r.cwnd = 1.0,
            |r| r.in_recovery = true,
            |r| r.established = false, // not yet: a closed one would not matter
        ];
        for spoil in spoilers {
            let (mut cc, mut w) = (amp(2, 8), in_avoidance(&AT_FLOOR));
            open(&mut cc, &mut w);
            cc.on_round(&mut w, 0, MARKED);
            let good = w[2].clone();
            spoil(&mut w[2]);
            cc.on_round(&mut w, 0, MARKED);
            assert_eq!(cc.n_round, 0);
            w[2] = good;
            cc.on_round(&mut w, 0, MARKED);
            assert_eq!((cc.n_round, cc.suppressed), (1, false));
            cc.on_round(&mut w, 0, MARKED);
            assert!(cc.suppressed);
        }
    }

    #[test]
    fn suppressed_subflows_keep_their_windows_and_leave_the_sum() {
        let (mut cc, mut w) = suppressed();
        assert_eq!(cc.w_total, 2.0);
        cc.on_ack(&mut w, 3, ack(2));
        assert_eq!(w[3].cwnd, 2.0);
        cc.on_ack(&mut w, 0, ack(1)); // 1/2: alone it grows as one TCP does
        assert_eq!(w[0].cwnd, 2.5);
        w[3].cwnd = 4.0;
        cc.on_mark(&mut w, 3);
        assert_eq!((w[3].cwnd, cc.w_total), (3.0, 2.5));
    }

    #[test]
    fn tau_clear_rounds_release() {
        let (mut cc, mut w) = suppressed();
        w[0].cwnd = 3.0;
        for n_round in 1..=2 {
            cc.on_round(&mut w, 0, CLEAR);
            assert_eq!(
                (cc.n_round, active(&w)),
                (n_round, vec![true, false, false, false])
            );
            // Rounds of other subflows, which still drain, do not count.
            cc.on_round(&mut w, 2, CLEAR);
            assert_eq!(cc.n_round, n_round);
        }
        cc.on_round(&mut w, 0, CLEAR);
        assert_eq!((active(&w), cwnds(&w)), (vec![true; 4], vec![3.0, 2.0, 2.0, 2.0]));
        assert_eq!((cc.n_round, cc.w_total), (0, 9.0));
        // The cycle can start again.
        w[0].cwnd = 2.0;
        cc.on_round(&mut w, 0, MARKED);
        assert!(cc.suppressed);
    }

    #[test]
    fn a_mark_the_floor_or_a_recovery_starts_the_count_to_release_anew() {
        let spoilers: [fn(&mut Window); 3] = [|_| (), |r| r.cwnd = 2.9, |r| r.in_recovery = true];
        for (spoil, round) in spoilers.into_iter().zip([MARKED, CLEAR, CLEAR]) {
            let (mut cc, mut w) = suppressed();
            w[0].cwnd = 5.0;
            cc.on_round(&mut w, 0, CLEAR);
            cc.on_round(&mut w, 0, CLEAR);
            let good = w[0].clone();
            spoil(&mut w[0]);
            cc.on_round(&mut w, 0, round);
            assert_eq!((cc.n_round, cc.suppressed), (0, true));
            w[0] = good;
            cc.on_round(&mut w, 0, CLEAR);
            cc.on_round(&mut w, 0, CLEAR);
            assert!(cc.suppressed);
            cc.on_round(&mut w, 0, CLEAR);
            assert!(!cc.suppressed);
        }
    }

    #[test]
    fn a_subflow_on_its_way_blocks_suppression_and_joins_suppressed_ones_suppressed() {
        let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 2.0]));
        w[2].established = false;
        cc.on_open(&mut w, 0);
        cc.on_open(&mut w, 1);
        cc.on_round(&mut w, 0, MARKED);
        assert!(!cc.suppressed);
        w[2].established = true;
        cc.on_open(&mut w, 2);
        cc.on_round(&mut w, 0, MARKED);
        assert!(cc.suppressed);
        // A fourth subflow that the connection did not have before.
        w.extend(in_avoidance(&[10.0]));
        cc.on_open(&mut w, 3);
        assert_eq!((active(&w), cc.w_total), (vec![true, false, false, false], 2.0));
        w[0].cwnd = 3.0;
        cc.on_round(&mut w, 0, CLEAR);
        cc.on_round(&mut w, 0, CLEAR);
        assert_eq!((active(&w), cc.w_total), (vec![true; 4], 17.0));
    }

    #[test]
    fn a_closed_subflow_neither_counts_nor_blocks() {
        let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 7.0]));
        open(&mut cc, &mut w);
        w[2].established = false;
        cc.on_close(&mut w, 2);
        assert_eq!(cc.w_total, 4.0);
        cc.on_round(&mut w, 0, MARKED);
        assert!(cc.suppressed);
        // The last suppressed subflow closes: none is left to suppress, and the initial one
        // continues.
        w[1].established = false;
        cc.on_close(&mut w, 1);
        assert_eq!((w[0].active, cc.w_total), (true, 2.0));
    }

    #[test]
    fn when_the_initial_subflow_closes_the_others_are_released_and_the_next_takes_its_place() {
        let (mut cc, mut w) = suppressed();
        w[0].established = false;
        cc.on_close(&mut w, 0);
        assert_eq!((active(&w), cc.w_total), (vec![true; 4], 6.0));
        // Rounds of subflow 1 count now.
        cc.on_round(&mut w, 2, MARKED);
        assert!(!cc.suppressed);
        cc.on_round(&mut w, 1, MARKED);
        assert_eq!(active(&w)[1..], [true, false, false]);
        // All subflows have closed, and one opens.
        for s in 1..4 {
            w[s].established = false;
            cc.on_close(&mut w, s);
        }
        assert_eq!(cc.w_total, 0.0);
        w[2].established = true;
        cc.on_open(&mut w, 2);
        cc.on_ack(&mut w, 2, ack(1));
        assert_eq!((w[2].active, w[2].cwnd), (true, 2.5));
        w[3].established = true;
        cc.on_open(&mut w, 3);
        cc.on_round(&mut w, 2, MARKED);
        assert_eq!(active(&w)[2..], [true, false]);
    }

    #[test]
    fn two_timeouts_without_a_round_are_taken_for_a_dead_path() {
        // The initial subflow: the others are released at its second timeout.
        let (mut cc, mut w) = suppressed();
        cc.on_timeout(&mut w, 0, true);
        cc.on_round(&mut w, 0, CLEAR);
        cc.on_timeout(&mut w, 0, true);
        assert!(cc.suppressed, "a round lies between the two");
        cc.on_timeout(&mut w, 0, true);
        assert_eq!(active(&w), [true; 4]);

        // Another subflow: it blocks after one timeout, does not after two, and counts again after
        // a round.
        let (mut cc, mut w) = (amp(1, 2), in_avoidance(&[2.0, 2.0, 2.0]));
        open(&mut cc, &mut w);
        cc.on_timeout(&mut w, 2, true);
        cc.on_round(&mut w, 0, MARKED);
        assert!(!cc.suppressed);
        cc.on_timeout(&mut w, 2, true);
        cc.on_round(&mut w, 2, CLEAR);
        cc.on_round(&mut w, 0, MARKED);
        assert!(!cc.suppressed);
        cc.on_timeout(&mut w, 2, true);
        cc.on_timeout(&mut w, 2, true);
        cc.on_round(&mut w, 0, MARKED);
        assert!(cc.suppressed);
        // A failure while suppressed releases no subflow.
        cc.on_timeout(&mut w, 2, true);
        assert!(cc.suppressed);
    }

    #[test]
    fn without_ssr_nothing_is_ever_suppressed() {
        let (mut cc, mut w) = (
            Amp::new(Parameters {
                gamma: 1,
                ssr: false,
                ..Parameters::default()
            }),
            in_avoidance(&[2.0; 4]),
        );
        open(&mut cc, &mut w);
        for _ in 0..20 {
            cc.on_round(&mut w, 0, MARKED);
            assert_eq!((active(&w), cc.n_round), (vec![true; 4], 0));
        }
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("amp", |step| {
            step.moves_no_other_window();
            step.grows_at_acknowledgements_only();
            step.adds_at_most_a_packet_a_round();
            let total: f64 = step.live().map(|r| r.cwnd).sum();
            step.adds_for_each_packet(if step.own().0.active { 1.0 / total } else { 0.0 });
            step.halves_at_a_loss(step.parameter("cwnd_min").unwrap());
            let suppresses = step.parameter("ssr") == Some(1.0);
            assert!(suppresses || step.after.iter().all(|r| r.active), "{step:?}");
        });
    }

    #[test]
    fn its_response_is_the_sum_of_windows_and_suppression_at_the_floor() {
        let windows = |paths: &[_]| crate::response::tests::windows_of("amp", paths);
        // pull = 0.01 * 2 / 7: one path sqrt(350), two sqrt(700) together.
        assert_near(windows(&[(0.01, 1e-4)])[0], 350.0_f64.sqrt());
        let w = windows(&[(0.01, 1e-4), (0.01, 5e-4)]);
        assert_eq!(w[0], w[1]);
        assert_near(w[0] + w[1], 700.0_f64.sqrt());
        // All packets marked: 3.5 = w^2 for one; four would have 0.94 each, below the minimum:
        // suppression.
        let w = windows(&[(1.0, 1e-4); 4]);
        assert_eq!(w, [2.0, 0.0, 0.0, 0.0]);
    }
}
