//! Warp: one DCTCP window for a whole connection, spread over its subflows.
//!
//! `W`, the sum of the shares `f_r` of the subflows that send, obeys DCTCP's law (RFC 8257, section 3.3), so that a
//! connection is one DCTCP flow wherever its subflows meet one bottleneck, at any number of subflows:
//!
//! 1. *Growth*: a round adds one packet to `W`, in equal parts: `f_s += 1 / (m f_s)` for a packet acknowledged, with m
//!    subflows sending.
//! 2. *Cut*: the first mark, on any subflow, of a packet that was sent after all subflows had heard of the last cut, cuts every
//!    `f_r` by `alpha_r / 2`. Windows of few packets are marked in different rounds, so that cuts subflow by subflow would
//!    take less than DCTCP's from the sum. A subflow hears of a cut with its next acknowledgement; until then it sends what the
//!    window before allows, whose marks say nothing about the one after.
//! 3. *Shift*: at the end of a subflow's round its share moves to the others, where its marks exceed the connection's: it
//!    loses the part `kappa (F_s - F)`, F being the mean of the last rounds weighted by shares. It moves nothing where all
//!    paths are marked alike, and the sum stays as it is.
//! 4. *Rest*: m falls until each subflow that sends has four packets on average: of fewer, delayed acknowledgements and
//!    whole packets leave too large a part unused. The subflow with the most marks rests, and its share goes to the others. One
//!    more sends again once there has been room for twice as much at the end of `tau` rounds in a row.
//! 5. *Joins*: a subflow that opens takes its share from the others.
//!
//! Windows are whole packets: `floor(W)` packets are apportioned by largest remainder, because rounding down each share alone
//! would send less than a DCTCP flow. A loss halves the share of its own path. A timeout is Reno's. A subflow that times out twice
//! with no round between rests.

mod response;

use crate::dctcp::estimate;
use crate::parameters::parameters;
use crate::{Ack, CongestionControl, Echo, Elapsed, ParameterRange, Response, Round, Window, slow_start};

parameters! {
    /// alpha of a new subflow
    alpha0: f64 = 1.0, ParameterRange::Float(0.0, 1.0);
    /// weight of the newest round in alpha
    g: f64 = 1.0 / 16.0, ParameterRange::Float(0.001, 1.0);
    /// part of a share that moves away at each round per unit of marks in excess
    kappa: f64 = 0.5, ParameterRange::Float(0.0, 1.0);
    /// rounds in a row with room for one more subflow until it sends again
    tau: u32 = 8.0, ParameterRange::Integer(1, 1_000_000);
}

/// Least packets of the connection: the receiver delays the acknowledgement of a lone one.
const MIN_CONNECTION_WINDOW: f64 = 2.0;
/// Least packets of a subflow that sends beside others, on average.
const MIN_MEAN_WINDOW: f64 = 4.0;

/// The slow-start threshold where slow start is over: no window is below it.
const SSTHRESH_AFTER_SLOW_START: f64 = 1.0;

/// State: the share of the connection's window, in packets; 0 while the subflow rests.
const SHARE: usize = 0;
/// State: the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 1;
/// State: the fraction of marked packets in the last round.
const MARKED: usize = 2;
/// State: timeouts since the subflow last ended a round.
const TIMEOUTS: usize = 3;

/// Warp.
#[derive(Clone, Debug)]
pub struct Warp {
    params: Parameters,
    /// Has the connection had its first mark or loss?
    left_slow_start: bool,
    /// Time of the newest acknowledgement, and when what it acknowledges was sent.
    now: Elapsed,
    sent: Elapsed,
    /// Time of the last cut. What was sent before lets no window grow; of one that sends alone the transport reports no such thing.
    cut: Elapsed,
    was_single: bool,
    /// Bit r: subflow r sends and has not heard of the cut.
    unacked_since_cut: u64,
    /// When all had heard of it. What was sent before does not cut again.
    all_acked_at: Elapsed,
    /// Consecutive rounds of the first sending subflow with room for one more.
    rounds_with_room: u32,
}

/// May the subflow send?
fn is_sending(r: &Window) -> bool {
    r.established && r.active
}

/// Established and not taken for dead?
fn is_alive(r: &Window) -> bool {
    r.established && r.state[TIMEOUTS] < 2.0
}

/// The least window: one packet after a timeout, else two.
fn min_window(r: &Window) -> f64 {
    if r.state[TIMEOUTS] > 0.0 {
        1.0
    } else {
        MIN_CONNECTION_WINDOW
    }
}

/// How many subflows send, and the sum of their shares.
fn sending_total(w: &[Window]) -> (f64, f64) {
    w.iter()
        .filter(|r| is_sending(r))
        .fold((0.0, 0.0), |(m, total), r| (m + 1.0, total + r.state[SHARE]))
}

impl Warp {
    /// One line about it.
    pub const ABOUT: &str = "Warp: one DCTCP window for a whole connection, spread over its subflows";

    /// The state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            left_slow_start: false,
            now: Elapsed(0),
            sent: Elapsed(0),
            cut: Elapsed(0),
            was_single: true,
            unacked_since_cut: 0,
            all_acked_at: Elapsed(0),
            rounds_with_room: 0,
        }
    }

    /// Gives out `floor(W)` packets by largest remainder.
    fn apportion(w: &mut [Window]) {
        let mut left = sending_total(w).1.floor();
        for r in w.iter_mut().filter(|r| is_sending(r)) {
            r.cwnd = min_window(r).max(r.state[SHARE].floor());
            left -= r.cwnd;
        }
        while left > 0.0 {
            let remainder = |r: &Window| r.state[SHARE] - r.cwnd;
            let Some(next) = w
                .iter_mut()
                .filter(|r| is_sending(r) && remainder(r) > 0.0)
                .max_by(|a, b| remainder(a).total_cmp(&remainder(b)))
            else {
                break;
            };
            next.cwnd += 1.0;
            left -= 1.0;
        }
    }

    /// The same where the window of `s` must not rise.
    fn apportion_without_raising(w: &mut [Window], s: usize) {
        let before = w[s].cwnd;
        Self::apportion(w);
        w[s].cwnd = w[s].cwnd.min(before);
    }

    /// Ends slow start everywhere. Only a timeout brings it back: a shift, which lowers a share, does not.
    fn leave_slow_start(&mut self, w: &mut [Window]) {
        self.left_slow_start = true;
        for r in w {
            r.ssthresh = SSTHRESH_AFTER_SLOW_START;
        }
    }

    /// Multiplies the shares of those that send.
    fn scale(w: &mut [Window], by: f64) {
        for r in w.iter_mut().filter(|r| is_sending(r)) {
            r.state[SHARE] *= by;
        }
    }

    /// Lets `s` rest, whose share goes to the others.
    fn deactivate(w: &mut [Window], s: usize) {
        let total = sending_total(w).1;
        w[s].active = false;
        w[s].state[SHARE] = 0.0;
        let left = sending_total(w).1;
        if left > 0.0 {
            Self::scale(w, total / left);
        }
    }

    /// Lets `s` send, with an equal part of the whole.
    fn activate(w: &mut [Window], s: usize) {
        let (m, total) = sending_total(w);
        Self::scale(w, m / (m + 1.0));
        w[s].active = true;
        w[s].state[SHARE] = total / (m + 1.0);
    }

    /// Makes `m` fit `W`.
    fn adjust_active(&mut self, w: &mut [Window], s: usize) {
        let (mut m, total) = sending_total(w);
        while m > 1.0 && total < m * MIN_MEAN_WINDOW {
            let worst = (0..w.len())
                .filter(|&r| is_sending(&w[r]))
                .max_by(|&a, &b| w[a].state[ALPHA].total_cmp(&w[b].state[ALPHA]));
            Self::deactivate(w, worst.expect("m subflows send"));
            m -= 1.0;
            self.rounds_with_room = 0;
        }
        if w.iter().position(is_sending) != Some(s) {
            return;
        }
        let resting = (0..w.len())
            .filter(|&r| is_alive(&w[r]) && !w[r].active)
            .min_by(|&a, &b| w[a].state[ALPHA].total_cmp(&w[b].state[ALPHA]));
        if let Some(best) = resting
            && total >= (m + 1.0) * 2.0 * MIN_MEAN_WINDOW
        {
            self.rounds_with_room += 1;
            if self.rounds_with_room >= self.params.tau {
                Self::activate(w, best);
                self.rounds_with_room = 0;
            }
        } else {
            self.rounds_with_room = 0;
        }
    }

    /// Moves a part of the share of `s` to the others, or to it from them.
    fn shift(&self, w: &mut [Window], s: usize) {
        let (m, total) = sending_total(w);
        if m < 2.0 || !is_sending(&w[s]) || !self.left_slow_start {
            return;
        }
        let mean = w
            .iter()
            .filter(|r| is_sending(r))
            .map(|r| r.state[SHARE] * r.state[MARKED])
            .sum::<f64>()
            / total;
        let share = w[s].state[SHARE];
        let moved = self.params.kappa * share * (w[s].state[MARKED] - mean).max(0.0);
        w[s].state[SHARE] -= moved;
        let others = total - share;
        if others > 0.0 {
            for (r, window) in w.iter_mut().enumerate() {
                if r != s && is_sending(window) {
                    window.state[SHARE] *= 1.0 + moved / others;
                }
            }
        }
    }

    /// Keeps `W` at its floor.
    fn apply_min_window(w: &mut [Window]) {
        let total = sending_total(w).1;
        if total > 0.0 && total < MIN_CONNECTION_WINDOW {
            Self::scale(w, MIN_CONNECTION_WINDOW / total);
        }
    }

    /// Was what the newest acknowledgement acknowledges sent after the last cut?
    fn after_cut(&self) -> bool {
        self.was_single || self.sent >= self.cut
    }

    /// And after all had heard of it?
    fn sent_after_all_acked(&self) -> bool {
        self.unacked_since_cut == 0 && (self.was_single || self.sent >= self.all_acked_at)
    }

    /// Subflow `s` hears of the last cut. For one that has nothing in flight nobody waits longer than a round-trip time.
    fn on_ack_after_cut(&mut self, w: &[Window], s: usize) {
        self.unacked_since_cut &= !(1 << s);
        let waited = self.now.0.saturating_sub(self.cut.0);
        if self.unacked_since_cut == 0 || waited > (w[s].srtt * 1e12).round() as u64 {
            (self.unacked_since_cut, self.all_acked_at) = (0, self.now);
        }
    }

    /// Someone must send.
    fn ensure_one_active(w: &mut [Window]) {
        if !w.iter().any(is_sending)
            && let Some(s) = w
                .iter()
                .position(is_alive)
                .or_else(|| w.iter().position(|r| r.established))
        {
            w[s].active = true;
            w[s].state[SHARE] = w[s].cwnd;
        }
    }
}

impl CongestionControl for Warp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        w[s].state = [0.0; 4];
        w[s].state[ALPHA] = self.params.alpha0;
        w[s].active = false;
        let (m, total) = sending_total(w);
        if m == 0.0 {
            w[s].active = true;
            w[s].state[SHARE] = w[s].cwnd;
        } else if total >= (m + 1.0) * MIN_MEAN_WINDOW {
            Self::activate(w, s);
            Self::apportion_without_raising(w, s);
        }
        if self.left_slow_start {
            w[s].ssthresh = SSTHRESH_AFTER_SLOW_START;
        }
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.now = ack.now;
        let rtt = if ack.rtt > 0.0 { ack.rtt } else { w[s].srtt };
        self.sent = Elapsed(self.now.0.saturating_sub((rtt * 1e12).round() as u64));
        if self.unacked_since_cut != 0 && ack.acked > 0 {
            self.on_ack_after_cut(w, s);
        }
        if !ack.may_grow || !w[s].active || !self.after_cut() {
            return;
        }
        let m = sending_total(w).0;
        let r = &mut w[s];
        // Slow start works on the share, of which the window is the whole part.
        let whole = r.cwnd;
        r.cwnd = r.state[SHARE];
        let left = if whole < r.ssthresh {
            slow_start(r, ack.acked)
        } else {
            ack.acked
        };
        let left = f64::from(left).min(r.cwnd);
        r.state[SHARE] = r.cwnd + left / (m * r.cwnd);
        r.cwnd = whole;
        if m == 1.0 {
            r.cwnd = min_window(r).max(r.state[SHARE].floor());
        } else {
            Self::apportion(w);
        }
        // After a cut a window may be further below its share.
        w[s].cwnd = w[s].cwnd.min(whole + f64::from(ack.acked));
    }

    fn reacts_to_mark(&self, _: usize) -> bool {
        self.sent_after_all_acked()
    }

    fn extra_sndbuf_bursts(&self) -> u32 {
        1
    }

    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        if !self.sent_after_all_acked() {
            return;
        }
        let others = (0..w.len()).filter(|&r| r != s && is_sending(&w[r]));
        self.unacked_since_cut = others.fold(0, |bits, r| bits | 1 << r);
        (self.cut, self.was_single) = (self.now, self.unacked_since_cut == 0);
        for r in w.iter_mut().filter(|r| is_sending(r)) {
            r.state[SHARE] *= 1.0 - r.state[ALPHA] / 2.0;
        }
        Self::apply_min_window(w);
        Self::apportion_without_raising(w, s);
        self.leave_slow_start(w);
    }

    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        w[s].state[TIMEOUTS] = 0.0;
        estimate(&mut w[s].state[ALPHA], self.params.g, round);
        if round.acked > 0 {
            w[s].state[MARKED] = f64::from(round.marked) / f64::from(round.acked);
        }
        self.shift(w, s);
        self.adjust_active(w, s);
        Self::apportion(w);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        if is_sending(&w[s]) {
            w[s].state[SHARE] /= 2.0;
            Self::apply_min_window(w);
            Self::apportion_without_raising(w, s);
        } else {
            w[s].cwnd = min_window(&w[s]).max((w[s].cwnd / 2.0).floor());
        }
        self.leave_slow_start(w);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        let half = (w[s].cwnd / 2.0).max(2.0);
        let held = w[s].ssthresh;
        self.leave_slow_start(w);
        w[s].cwnd = 1.0;
        w[s].state[TIMEOUTS] += 1.0;
        w[s].ssthresh = if first { half } else { held };
        if w[s].active {
            w[s].state[SHARE] = 1.0;
            if w[s].state[TIMEOUTS] >= 2.0 && w.iter().enumerate().any(|(r, other)| r != s && is_alive(other))
            {
                w[s].active = false;
                w[s].state[SHARE] = 0.0;
                Self::ensure_one_active(w);
            }
        }
    }

    /// A subflow that two timeouts deactivated sends again.
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        let share = w[s].prior_state[SHARE];
        if share > 0.0 && w[s].state[TIMEOUTS] >= 2.0 && w[s].established {
            w[s].active = true;
        }
        w[s].state[TIMEOUTS] = 0.0;
        w[s].undo();
        if is_sending(&w[s]) {
            w[s].state[SHARE] = w[s].state[SHARE].max(share);
            Self::apportion(w);
        }
    }

    fn on_close(&mut self, w: &mut [Window], s: usize) {
        w[s].active = false;
        w[s].state[SHARE] = 0.0;
        Self::ensure_one_active(w);
    }

    fn response(&self) -> Option<&dyn Response> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dctcp::{self, Dctcp};
    use crate::test_windows::{ack, cwnds, in_avoidance, round};

    /// A connection in congestion avoidance whose subflows all send, with these shares, and alpha of 1/2 on each.
    fn sending(shares: &[f64]) -> (Warp, Vec<Window>) {
        let mut w = in_avoidance(shares);
        for r in &mut w {
            r.state = [r.cwnd, 0.5, 0.0, 0.0];
        }
        Warp::apportion(&mut w);
        let mut cc = Warp::new(Parameters::default());
        cc.left_slow_start = true;
        (cc, w)
    }

    fn shares(w: &[Window]) -> Vec<f64> {
        w.iter().map(|r| r.state[SHARE]).collect()
    }

    fn at(seconds: f64, acked: u32) -> Ack {
        let now = Elapsed((seconds * 1e12) as u64);
        Ack { now, ..ack(acked) }
    }

    #[test]
    fn one_subflow_is_dctcp() {
        let mut warp = Warp::new(Parameters::default());
        let mut dctcp = Dctcp::new(dctcp::Parameters::default());
        let mut w = [in_avoidance(&[10.0]), in_avoidance(&[10.0])];
        for window in &mut w {
            window[0].ssthresh = f64::INFINITY;
        }
        warp.on_open(&mut w[0], 0);
        dctcp.on_open(&mut w[1], 0);
        let both: [&mut dyn CongestionControl; 2] = [&mut warp, &mut dctcp];
        let mut cuts = 0;
        for (cc, w) in both.into_iter().zip(&mut w) {
            for n in 0..400_u32 {
                cc.on_round(w, 0, round(7, n % 5));
                cc.on_ack(w, 0, at(f64::from(n), 1 + n % 2));
                if n % 11 == 3 {
                    cc.on_mark(w, 0);
                    cuts += 1;
                }
                if n % 97 == 50 {
                    cc.on_fast_retransmit(w, 0);
                }
            }
        }
        assert!(cuts > 50);
        assert_eq!(w[0][0].state[SHARE], w[1][0].cwnd);
        assert_eq!(w[0][0].cwnd, w[1][0].cwnd.floor());
    }

    #[test]
    fn a_round_of_all_subflows_adds_one_packet_in_equal_parts() {
        let (mut cc, mut w) = sending(&[8.0, 4.0]);
        cc.on_ack(&mut w, 0, ack(8)); // 8 / (2 x 8)
        cc.on_ack(&mut w, 1, ack(4)); // 4 / (2 x 4)
        assert_eq!(shares(&w), [8.5, 4.5]);
        assert_eq!(cwnds(&w).iter().sum::<f64>(), 13.0);
    }

    #[test]
    fn a_mark_cuts_each_by_its_alpha_and_what_others_sent_before_neither_cuts_nor_grows() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        w[1].state[ALPHA] = 0.0;
        cc.on_ack(&mut w, 0, at(5.0, 0));
        cc.on_mark(&mut w, 0); // 8 (1 - 1/4)
        assert_eq!(shares(&w), [6.0, 8.0]);
        // The smoothed RTT is 1 s, the sample's is what counts.
        let sampled = |seconds: f64, rtt: f64| Ack {
            rtt,
            ..at(seconds, 6)
        };
        for ack in [at(5.5, 6), sampled(6.5, 1.6)] {
            cc.on_ack(&mut w, 1, ack);
            assert!(!cc.reacts_to_mark(1));
            cc.on_mark(&mut w, 1);
            assert_eq!(shares(&w), [6.0, 8.0], "sent before the cut");
        }
        cc.on_ack(&mut w, 1, sampled(6.5, 1.0)); // 6 / (2 x 8)
        assert!(cc.reacts_to_mark(1));
        cc.on_mark(&mut w, 1);
        assert_eq!(w[0].state[SHARE], 4.5);
    }

    #[test]
    fn what_was_sent_before_all_had_heard_of_a_cut_does_not_cut_again() {
        let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
        let reacts_to_mark = |cc: &mut Warp, w: &mut [Window], s, seconds, sent| {
            let rtt = seconds - sent;
            cc.on_ack(
                w,
                s,
                Ack {
                    rtt,
                    ..at(seconds, 1)
                },
            );
            cc.reacts_to_mark(s)
        };
        cc.on_ack(&mut w, 0, at(5.0, 0));
        cc.on_mark(&mut w, 0);
        assert!(
            !reacts_to_mark(&mut cc, &mut w, 1, 5.25, 5.0),
            "2 has not heard of it"
        );
        assert!(
            !reacts_to_mark(&mut cc, &mut w, 2, 5.5, 5.25),
            "nobody had when it was sent"
        );
        assert!(
            !reacts_to_mark(&mut cc, &mut w, 0, 5.75, 5.25),
            "the cutter's own as well"
        );
        assert!(reacts_to_mark(&mut cc, &mut w, 0, 6.0, 5.5));
        // One that has nothing in flight is waited for during a round-trip time, of 1 s.
        cc.on_mark(&mut w, 0);
        assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.0, 6.5));
        assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.5, 6.5));
        assert!(reacts_to_mark(&mut cc, &mut w, 1, 8.0, 7.5));
    }

    #[test]
    fn slow_start_ends_with_the_first_mark_and_only_a_timeout_brings_it_back() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        cc.on_mark(&mut w, 0);
        // A shift leaves less than there was after the cut. A round adds half a packet all the same.
        w[0].state[SHARE] = 4.0;
        cc.on_ack(&mut w, 0, at(2.0, 4));
        assert_eq!(w[0].state[SHARE], 4.5);
        cc.on_timeout(&mut w, 0, true);
        cc.on_ack(&mut w, 0, at(3.0, 1));
        assert_eq!((w[0].state[SHARE], w[0].ssthresh), (2.0, 2.0));
        cc.on_ack(&mut w, 0, at(4.0, 2));
        assert_eq!(w[0].state[SHARE], 2.5);
    }

    #[test]
    fn a_share_moves_to_where_fewer_packets_are_marked() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        // All marked here, none there: the mean is 1/2, and 8 x 1/2 x 1/2 moves.
        cc.on_round(&mut w, 0, round(8, 8));
        assert_eq!(shares(&w), [6.0, 10.0]);
        // Marked alike, nothing moves.
        cc.on_round(&mut w, 1, round(9, 9));
        assert_eq!(shares(&w), [6.0, 10.0]);
    }

    #[test]
    fn the_most_marked_rests_below_four_packets_each_and_wakes_after_tau_rounds_with_room() {
        let (mut cc, mut w) = sending(&[4.0, 3.5, 4.0]);
        w[1].state[ALPHA] = 0.9;
        cc.on_round(&mut w, 0, round(2, 0));
        assert!(!w[1].active && w[0].active && w[2].active);
        assert_eq!(sending_total(&w), (2.0, 11.5), "its share went to the others");
        // Room for three is 2 x 4 packets each.
        w[0].state[SHARE] = 20.0;
        let mut rounds = 0;
        while !w[1].active {
            cc.on_round(&mut w, 0, round(10, 0));
            rounds += 1;
        }
        assert_eq!(rounds, cc.params.tau);
        let (m, total) = sending_total(&w);
        assert_eq!(m, 3.0);
        assert!((w[1].state[SHARE] - total / 3.0).abs() < 1e-12 && (total - 25.75).abs() < 1e-12);
    }

    #[test]
    fn a_subflow_that_joins_takes_its_share_from_the_others() {
        let mut cc = Warp::new(Parameters::default());
        let mut w = vec![Window::new(10.0, f64::INFINITY); 2];
        w[0].established = true;
        cc.on_open(&mut w, 0);
        w[1].established = true;
        cc.on_open(&mut w, 1);
        assert_eq!(cwnds(&w), [5.0, 5.0]);
        // Too little for two: it rests.
        let (mut cc, mut w) = sending(&[3.0, 10.0]);
        w[1].state[SHARE] = 0.0;
        cc.on_open(&mut w, 1);
        assert!(!w[1].active);
    }

    #[test]
    fn packets_are_apportioned_by_largest_remainder() {
        let (_, w) = sending(&[2.9, 2.5, 2.7]); // 8.1
        assert_eq!(cwnds(&w), [3.0, 2.0, 3.0]);
    }

    #[test]
    fn a_loss_halves_its_own_path_and_two_timeouts_let_it_rest() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        cc.on_fast_retransmit(&mut w, 0);
        assert_eq!(shares(&w), [4.0, 8.0]);
        cc.on_timeout(&mut w, 1, true);
        assert_eq!((w[1].cwnd, w[1].ssthresh, w[1].active), (1.0, 4.0, true));
        cc.on_timeout(&mut w, 1, false);
        assert!(!w[1].active && w[0].active);
    }

    #[test]
    fn its_laws_hold_whatever_is_reported() {
        crate::events::obeys("warp", |step| {
            // Whole packets, no more than the sum of the shares but for those of which the least window is more.
            for r in step.after {
                assert_eq!(r.cwnd, r.cwnd.floor(), "{step:?}");
                assert!(
                    r.state[SHARE] >= 0.0 && (r.active || r.state[SHARE] == 0.0),
                    "{step:?}"
                );
            }
        });
    }
}
