//! Warp: one DCTCP window for a whole connection, spread over its subflows.
//!
//! `W` is the sum of the shares `f_r` of the subflows that send. It follows DCTCP's law (RFC 8257,
//! section 3.3), so a connection is one DCTCP flow wherever its subflows meet one bottleneck, at
//! any number of subflows. Growth for each acknowledged packet with m subflows, the cut at a mark,
//! and the shift at the end of a round are
//!
//! ```math
//! f_s \leftarrow f_s + \frac{1}{m f_s}
//! f_r \leftarrow f_r \left(1 - \frac{\alpha_r}{2}\right)
//! f_s \leftarrow f_s - \kappa f_s (F_s - F)
//! ```
//!
//! in detail:
//!
//! 1. *Growth*: a round adds one packet to `W`, in equal parts: `f_s += 1 / (m f_s)` per packet
//!    acknowledged, with m subflows sending. Each path has its own slow start: the first mark or
//!    loss on a subflow ends it there. After a mark, the subflow grows on its own until its fifth
//!    mark, by one packet per round: slow start leaves less than an idle path needs. Only its own
//!    marks cut it meanwhile, and it takes part in no shift.
//! 2. *Cut*: the first mark, on any subflow, of a packet that was sent after all subflows had an
//!    acknowledgement since the last cut, cuts every `f_r` by `alpha_r / 2`. Windows of few packets
//!    are marked in different rounds, so cuts subflow by subflow would reduce the sum by less than
//!    DCTCP does. A subflow applies a cut with its next acknowledgement; until then it sends what
//!    the previous window allows, and marks of these packets say nothing about the new window.
//! 3. *Shift*: at the end of a subflow's round a part of its share moves to the others if it has
//!    more marks than the connection. It loses the part `kappa (F_s - F)`, where F is the mean of
//!    the last rounds weighted by shares. Nothing moves if all paths are marked alike, and the sum
//!    does not change. Only working subflows get a share: those that are not in recovery, have not
//!    timed out since their last round, and had an acknowledgement within two round-trip times.
//! 4. *Activity*: m falls until each sending subflow has four packets on average: with fewer,
//!    delayed acknowledgements and whole packets leave too much of the window unused. A subflow
//!    that does not work is deactivated first, then the one with the most marks; its share goes to
//!    the others. A subflow is activated if there is room for twice as much: at once before the
//!    first mark or loss of the connection, afterwards after `tau` consecutive rounds.
//! 5. *Trial*: if there is no room, an inactive subflow is tried `8 tau` rounds and 2,000 packets
//!    after the last trial or activation. It gets two packets of `W`, or half of it if there are
//!    fewer than four. After `tau` of its rounds the subflow with more marks is deactivated. A
//!    subflow with less than half the alpha of every sending one is tried after `8 tau` rounds: data
//!    that it still had to send showed few marks.
//! 6. *Crowded paths*: a path is crowded if the share of its subflow is below four packets and the
//!    others have 16 on average. Its alpha must also be above twice that of every other working
//!    subflow. The subflow on it is deactivated. Room does not activate it; a trial has to show
//!    fewer marks. With room, such a trial begins after 16,000 packets, and at once if half of the
//!    packets were marked in two rounds in a row on all sending subflows.
//! 7. *Joins*: a subflow that opens is inactive; if there is room, it is activated and takes its
//!    share from the others.
//!
//! Windows are whole packets: `floor(W)` packets are apportioned by largest remainder, because
//! rounding down each share separately would send less than a DCTCP flow. A loss halves the share
//! of its own path. A timeout is Reno's. A subflow that times out twice without a round between is
//! deactivated.

mod activity;
mod response;

use activity::has_room;

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

/// Minimum window of the connection in packets: the receiver delays the acknowledgement of a lone
/// packet.
const MIN_CONNECTION_WINDOW: f64 = 2.0;
/// Minimum mean window in packets of several subflows that send.
const MIN_MEAN_WINDOW: f64 = 4.0;
/// The threshold after slow start; every window is at least this large.
const SSTHRESH_AFTER_SLOW_START: f64 = 1.0;
/// A subflow grows on its own from the mark that ends its slow start until this many marks, that one
/// included.
const OWN_MARKS: u8 = 5;
/// A subflow with no acknowledgement for this many round-trip times does not work.
const MAX_SILENCE_RTTS: u64 = 2;
/// Number of rounds in a row with half of the packets marked which begin a trial.
const MARKED_ROUNDS: u8 = 2;

/// State: the share of the connection's window, in packets; 0 while the subflow is inactive.
const SHARE: usize = 0;
/// State: the estimated fraction of marked packets, 0 to 1.
const ALPHA: usize = 1;
/// State: the fraction of marked packets in the last round.
const MARKED: usize = 2;
/// State: timeouts since the last end of a round of this subflow.
const TIMEOUTS: usize = 3;

/// The state of a connection that runs Warp.
#[derive(Clone, Debug)]
pub struct Warp {
    params: Parameters,
    /// True once the connection has had a mark or a loss.
    left_slow_start: bool,
    /// Time of the newest acknowledgement.
    now: Elapsed,
    /// Time at which the newest acknowledged packet was sent.
    sent: Elapsed,
    /// Time of the last cut. Acknowledgements of data that was sent earlier let no window grow. The
    /// transport does not report those of a subflow that sends alone.
    cut: Elapsed,
    /// True if only one subflow was sending at the last cut.
    was_single: bool,
    /// Bit r: subflow r sends and has had no acknowledgement since the last cut.
    unacked_since_cut: u64,
    activity: Box<Activity>,
}

/// State that is not needed at every acknowledgement.
#[derive(Clone, Debug, Default)]
struct Activity {
    /// Time at which the last sending subflow had an acknowledgement after the cut. Marks of data
    /// that was sent earlier do not cut again.
    all_acked_at: Elapsed,
    /// Consecutive rounds of the first sending subflow with room for another subflow.
    rounds_with_room: u32,
    /// Rounds of the first sending subflow since the last trial or activation, while a subflow is
    /// inactive.
    rounds_since_trial: u32,
    /// The sum of `floor(W)` over these rounds.
    packets_since_trial: u32,
    /// Time of each subflow's last acknowledgement.
    last_ack: Vec<Elapsed>,
    /// Number of marks until the subflow no longer grows on its own, by subflow.
    own_marks: Vec<u8>,
    trial: Option<Trial>,
    /// The subflow of the last trial.
    last_tried: u8,
    /// Bit r: subflow r was deactivated because its path is crowded.
    crowded: u64,
    /// Rounds in a row in which half of the packets were marked, up to `MARKED_ROUNDS + 1`, by
    /// subflow.
    marked_rounds: Vec<u8>,
}

impl Activity {
    fn is_crowded(&self, r: usize) -> bool {
        self.crowded >> r & 1 == 1
    }

    fn restart_since_trial(&mut self) {
        (self.rounds_since_trial, self.packets_since_trial) = (0, 0);
    }
}

/// An inactive subflow on trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    subflow: u8,
    /// The subflow that had the most marks when the trial began.
    rival: u8,
    /// Rounds of the subflow, and of the first sending subflow, since the trial began.
    rounds: u32,
    rounds_of_first: u32,
    acked: u32,
    marked: u32,
}

/// Returns true if the subflow may send.
fn is_sending(r: &Window) -> bool {
    r.established && r.active
}

/// Returns true if the subflow is established and has not timed out twice.
fn is_alive(r: &Window) -> bool {
    r.established && r.state[TIMEOUTS] < 2.0
}

fn in_slow_start(r: &Window) -> bool {
    r.cwnd < r.ssthresh
}

/// Returns the minimum window: one packet after a timeout, else two.
fn min_window(r: &Window) -> f64 {
    if r.state[TIMEOUTS] > 0.0 {
        1.0
    } else {
        MIN_CONNECTION_WINDOW
    }
}

/// Returns the number of sending subflows, and the sum of their shares.
fn sending_total(w: &[Window]) -> (f64, f64) {
    w.iter()
        .filter(|r| is_sending(r))
        .fold((0.0, 0.0), |(m, total), r| (m + 1.0, total + r.state[SHARE]))
}

fn ticks(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

impl Warp {
    /// One-line description for the registry.
    pub const ABOUT: &str = "Warp: one DCTCP window for a whole connection, spread over its subflows";

    /// Creates the state of a new connection.
    pub fn new(params: Parameters) -> Self {
        Self {
            params,
            left_slow_start: false,
            now: Elapsed(0),
            sent: Elapsed(0),
            cut: Elapsed(0),
            was_single: true,
            unacked_since_cut: 0,
            activity: Box::default(),
        }
    }

    /// Apportions `floor(W)` packets by largest remainder.
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

    /// Apportions packets without increasing the window of `s`.
    fn apportion_without_raising(w: &mut [Window], s: usize) {
        let before = w[s].cwnd;
        Self::apportion(w);
        w[s].cwnd = w[s].cwnd.min(before);
    }

    /// Ends slow start of `s`. Only a timeout restarts slow start; a smaller share after a shift
    /// does not.
    fn leave_slow_start(&mut self, w: &mut [Window], s: usize) {
        self.left_slow_start = true;
        w[s].ssthresh = SSTHRESH_AFTER_SLOW_START;
    }

    /// Returns true if subflow `s` has left slow start and grows on its own.
    fn grows_on_its_own(&self, s: usize) -> bool {
        self.activity.own_marks[s] > 0
    }

    /// Returns true if subflow `s` is in slow start or grows on its own. Marks of other subflows do
    /// not cut it, and its own marks cut no other subflow.
    fn is_on_its_own(&self, w: &[Window], s: usize) -> bool {
        in_slow_start(&w[s]) || self.grows_on_its_own(s)
    }

    /// Multiplies the shares of the subflows that send.
    fn scale(w: &mut [Window], factor: f64) {
        for r in w.iter_mut().filter(|r| is_sending(r)) {
            r.state[SHARE] *= factor;
        }
    }

    /// Returns true if subflow `r` works, at an event of subflow `s`.
    fn is_working(&self, w: &[Window], r: usize, s: usize) -> bool {
        let silence = self.now.0.saturating_sub(self.activity.last_ack[r].0);
        let rtt = ticks(w[r].srtt).max(ticks(w[s].srtt));
        let recovers = w[r].in_recovery || w[r].state[TIMEOUTS] > 0.0;
        is_sending(&w[r]) && !recovers && silence <= MAX_SILENCE_RTTS * rtt
    }

    /// Moves a part of the share of `s` to the other working subflows.
    fn shift(&self, w: &mut [Window], s: usize) {
        if !is_sending(&w[s]) || self.is_on_its_own(w, s) {
            return;
        }
        let gets: u64 = (0..w.len())
            .filter(|&r| r != s && self.is_working(w, r, s) && !self.is_on_its_own(w, r))
            .fold(0, |bits, r| bits | 1 << r);
        let counts = |r: usize| r == s || gets >> r & 1 == 1;
        let (mut total, mut marked) = (0.0, 0.0);
        for (_, r) in w.iter().enumerate().filter(|&(r, _)| counts(r)) {
            total += r.state[SHARE];
            marked += r.state[SHARE] * r.state[MARKED];
        }
        let share = w[s].state[SHARE];
        let others = total - share;
        if others <= 0.0 {
            return;
        }
        w[s].ssthresh = SSTHRESH_AFTER_SLOW_START;
        let moved = self.params.kappa * share * (w[s].state[MARKED] - marked / total).max(0.0);
        w[s].state[SHARE] -= moved;
        for (r, window) in w.iter_mut().enumerate() {
            if gets >> r & 1 == 1 {
                window.state[SHARE] *= 1.0 + moved / others;
            }
        }
    }

    /// Scales the shares up so that `W` is at least its minimum.
    fn apply_min_window(w: &mut [Window]) {
        let total = sending_total(w).1;
        if total > 0.0 && total < MIN_CONNECTION_WINDOW {
            Self::scale(w, MIN_CONNECTION_WINDOW / total);
        }
    }

    /// Returns true if the newest acknowledged packet was sent after the last cut.
    fn after_cut(&self) -> bool {
        self.was_single || self.sent >= self.cut
    }

    /// Returns true if that packet was also sent after every sending subflow had an acknowledgement
    /// since the cut.
    fn sent_after_all_acked(&self) -> bool {
        self.unacked_since_cut == 0 && (self.was_single || self.sent >= self.activity.all_acked_at)
    }

    /// Records that subflow `s` had an acknowledgement since the last cut. Other subflows that have
    /// nothing in flight are waited for at most one round-trip time.
    fn on_ack_after_cut(&mut self, w: &[Window], s: usize) {
        self.unacked_since_cut &= !(1 << s);
        let waited = self.now.0.saturating_sub(self.cut.0);
        if self.unacked_since_cut == 0 || waited > ticks(w[s].srtt) {
            (self.unacked_since_cut, self.activity.all_acked_at) = (0, self.now);
        }
    }

    /// Cuts subflow `s` alone, which is on its own.
    fn cut_on_its_own(&mut self, w: &mut [Window], s: usize) {
        self.activity.own_marks[s] = if in_slow_start(&w[s]) {
            OWN_MARKS - 1
        } else {
            self.activity.own_marks[s] - 1
        };
        if is_sending(&w[s]) {
            w[s].state[SHARE] *= 1.0 - w[s].state[ALPHA] / 2.0;
        }
    }

    /// Cuts all subflows that are not on their own, at a mark on `s`.
    fn cut_all(&mut self, w: &mut [Window], s: usize) {
        let others = (0..w.len()).filter(|&r| r != s && is_sending(&w[r]));
        self.unacked_since_cut = others.fold(0, |bits, r| bits | 1 << r);
        (self.cut, self.was_single) = (self.now, self.unacked_since_cut == 0);
        for r in 0..w.len() {
            if is_sending(&w[r]) && !self.is_on_its_own(w, r) {
                w[r].state[SHARE] *= 1.0 - w[r].state[ALPHA] / 2.0;
                w[r].ssthresh = SSTHRESH_AFTER_SLOW_START;
            }
        }
    }
}

impl CongestionControl for Warp {
    fn echo(&self) -> Echo {
        Echo::Dctcp
    }

    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.activity.last_ack.resize(w.len(), Elapsed(0));
        self.activity.last_ack[s] = self.now;
        self.activity.own_marks.resize(w.len(), 0);
        self.activity.own_marks[s] = 0;
        self.activity.marked_rounds.resize(w.len(), 0);
        self.activity.marked_rounds[s] = 0;
        self.activity.crowded &= !(1 << s);
        w[s].state = [0.0; 4];
        w[s].state[ALPHA] = self.params.alpha0;
        w[s].active = false;
        let (m, total) = sending_total(w);
        if m == 0.0 {
            w[s].active = true;
            w[s].state[SHARE] = w[s].cwnd;
        } else if self.activity.trial.is_none() && has_room(m, total) {
            self.activate(w, s);
            Self::apportion_without_raising(w, s);
        }
        if self.left_slow_start {
            w[s].ssthresh = SSTHRESH_AFTER_SLOW_START;
        }
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.now = ack.now;
        self.activity.last_ack[s] = ack.now;
        let rtt = if ack.rtt > 0.0 { ack.rtt } else { w[s].srtt };
        self.sent = Elapsed(self.now.0.saturating_sub(ticks(rtt)));
        if self.unacked_since_cut != 0 && ack.acked > 0 {
            self.on_ack_after_cut(w, s);
        }
        let alone = self.is_on_its_own(w, s);
        if !ack.may_grow || !w[s].active || !(alone || self.after_cut()) {
            return;
        }
        let m = sending_total(w).0;
        // The part of the connection's growth that a subflow gets, as a divisor.
        let parts = if self.grows_on_its_own(s) { 1.0 } else { m };
        let r = &mut w[s];
        // Slow start works on the share; the window is its integer part.
        let whole = r.cwnd;
        r.cwnd = r.state[SHARE];
        let left = if whole < r.ssthresh {
            slow_start(r, ack.acked)
        } else {
            r.ssthresh = SSTHRESH_AFTER_SLOW_START;
            ack.acked
        };
        let left = f64::from(left).min(r.cwnd);
        r.state[SHARE] = r.cwnd + left / (parts * r.cwnd);
        r.cwnd = whole;
        if m == 1.0 {
            r.cwnd = min_window(r).max(r.state[SHARE].floor());
        } else {
            Self::apportion(w);
        }
        // After a cut a window may be more than one packet below its share.
        w[s].cwnd = w[s].cwnd.min(whole + f64::from(ack.acked));
    }

    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        if self.is_on_its_own(w, s) {
            self.cut_on_its_own(w, s);
        } else if self.sent_after_all_acked() {
            self.cut_all(w, s);
        } else {
            return;
        }
        Self::apply_min_window(w);
        Self::apportion_without_raising(w, s);
        self.leave_slow_start(w, s);
    }

    fn reacts_to_mark(&self, w: &[Window], s: usize) -> bool {
        self.is_on_its_own(w, s) || self.sent_after_all_acked()
    }

    fn extra_sndbuf_bursts(&self) -> u32 {
        1
    }

    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        w[s].state[TIMEOUTS] = 0.0;
        estimate(&mut w[s].state[ALPHA], self.params.g, round);
        if round.acked > 0 {
            w[s].state[MARKED] = f64::from(round.marked) / f64::from(round.acked);
            let rounds = &mut self.activity.marked_rounds[s];
            *rounds = if 2 * u64::from(round.marked) >= u64::from(round.acked) {
                (*rounds + 1).min(MARKED_ROUNDS + 1)
            } else {
                0
            };
        }
        self.shift(w, s);
        self.adjust_active(w, s, round);
        Self::apportion(w);
        // Acknowledgements of an inactive subflow do not grow its window, so it would keep the one
        // packet that a timeout left.
        if !w[s].active {
            w[s].cwnd = w[s].cwnd.max(MIN_CONNECTION_WINDOW);
        }
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.activity.own_marks[s] = 0;
        if is_sending(&w[s]) {
            w[s].state[SHARE] /= 2.0;
            Self::apply_min_window(w);
            Self::apportion_without_raising(w, s);
        } else {
            w[s].cwnd = min_window(&w[s]).max((w[s].cwnd / 2.0).floor());
        }
        self.leave_slow_start(w, s);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        let half = (w[s].cwnd / 2.0).max(2.0);
        self.left_slow_start = true;
        self.activity.own_marks[s] = 0;
        w[s].cwnd = 1.0;
        w[s].state[TIMEOUTS] += 1.0;
        if first {
            w[s].ssthresh = half;
        }
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

    /// Restores the share. A subflow that was deactivated after two timeouts is activated.
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
mod tests;
