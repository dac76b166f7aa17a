//! Warp: one DCTCP window for a whole connection, spread over its subflows.
//!
//! `W` is the sum of the shares `f_r` of the subflows that send. It follows DCTCP's law (RFC 8257,
//! section 3.3), so a connection is one DCTCP flow wherever its subflows meet one bottleneck, at
//! any number of subflows:
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
//!    subflow. The subflow on it is deactivated. Room does not activate it; a trial has to show fewer marks. With room,
//!    such a trial begins after 16,000 packets, and at once if half of the packets were marked in
//!    two rounds in a row on all sending subflows.
//! 7. *Joins*: a subflow that opens is inactive; if there is room, it is activated and takes its
//!    share from the others.
//!
//! Windows are whole packets: `floor(W)` packets are apportioned by largest remainder, because
//! rounding down each share separately would send less than a DCTCP flow. A loss halves the share
//! of its own path. A timeout is Reno's. A subflow that times out twice without a round between is
//! deactivated.

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
/// A trial begins after at least this many times `tau` rounds since the last one, and lasts at most
/// as long.
const TRIAL_INTERVAL_TAUS: u32 = 8;
/// A trial begins after at least this many packets since the last one. Meanwhile Linux's packet
/// scheduler assigns bursts of 64 KB to the tried subflow. The rest of these, up to some 180
/// packets, leaves after the trial in addition to W.
const TRIAL_INTERVAL_PACKETS: u32 = 2000;
/// The same where there is room, for subflows on crowded paths. Without a trial, such a connection
/// loses nothing but the other path, and the rest of a burst keeps other subflows waiting.
const TRIAL_INTERVAL_PACKETS_WITH_ROOM: u32 = 16_000;
/// A path is crowded if its alpha is above this many times that of every other working subflow.
const CROWDED_RATIO: f64 = 2.0;
/// A path is crowded only if the other sending subflows have this many packets on average.
const MIN_OTHERS_WINDOW: f64 = 16.0;
/// Minimum alpha for such comparisons, which a round without marks must not decide.
const MIN_CROWDED_ALPHA: f64 = 1.0 / 16.0;
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

/// Returns true if subflow `r` may be tried.
fn may_try(r: &Window) -> bool {
    r.established && !r.active && r.state[TIMEOUTS] == 0.0
}

/// Returns true if W has room for another subflow besides the m that send.
fn has_room(m: f64, total: f64) -> bool {
    total >= (m + 1.0) * 2.0 * MIN_MEAN_WINDOW
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

    /// Deactivates `victim` at an event of subflow `s`. Its share goes to the other working
    /// subflows, or to all sending subflows if none works.
    fn deactivate(&self, w: &mut [Window], victim: usize, s: usize) {
        let moved = std::mem::take(&mut w[victim].state[SHARE]);
        w[victim].active = false;
        let any = (0..w.len()).any(|r| self.is_working(w, r, s));
        let gets: Vec<usize> = (0..w.len())
            .filter(|&r| {
                if any {
                    self.is_working(w, r, s)
                } else {
                    is_sending(&w[r])
                }
            })
            .collect();
        let left: f64 = gets.iter().map(|&r| w[r].state[SHARE]).sum();
        if left > 0.0 {
            for r in gets {
                w[r].state[SHARE] *= 1.0 + moved / left;
            }
        }
    }

    /// Activates `s` with the share W / (m + 1), which the sending subflows give up in proportion.
    fn activate(&mut self, w: &mut [Window], s: usize) {
        let (m, total) = sending_total(w);
        Self::scale(w, m / (m + 1.0));
        w[s].active = true;
        w[s].state[SHARE] = total / (m + 1.0);
        self.activity.last_ack[s] = self.now;
        if self.left_slow_start {
            w[s].ssthresh = SSTHRESH_AFTER_SLOW_START;
        }
    }

    /// Returns a sending subflow other than `not` that does not work, if there is one; otherwise
    /// the one with the most marks.
    fn worst(&self, w: &[Window], s: usize, not: Option<usize>) -> Option<usize> {
        let key = |r: usize| (!self.is_working(w, r, s), w[r].state[ALPHA]);
        (0..w.len())
            .filter(|&r| is_sending(&w[r]) && Some(r) != not)
            .max_by(|&a, &b| {
                let (a, b) = (key(a), key(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })
    }

    /// Returns true if the path of `s` is crowded, and another subflow works.
    fn is_crowding(&self, w: &[Window], s: usize) -> bool {
        let (alpha, share) = (w[s].state[ALPHA], w[s].state[SHARE]);
        let (m, total) = sending_total(w);
        let mut others = (0..w.len())
            .filter(|&r| r != s && self.is_working(w, r, s))
            .peekable();
        is_sending(&w[s])
            && share < MIN_MEAN_WINDOW
            && total - share >= (m - 1.0) * MIN_OTHERS_WINDOW
            && alpha >= MIN_CROWDED_ALPHA
            && !self.is_on_its_own(w, s)
            && others.peek().is_some()
            && others.all(|r| alpha > CROWDED_RATIO * w[r].state[ALPHA])
    }

    /// Returns the first inactive subflow with less than half the alpha of every sending subflow.
    fn clear_path(w: &[Window]) -> Option<usize> {
        let least = w
            .iter()
            .filter(|r| is_sending(r))
            .map(|r| r.state[ALPHA])
            .fold(f64::INFINITY, f64::min);
        w.iter()
            .position(|r| may_try(r) && CROWDED_RATIO * r.state[ALPHA] < least)
            .filter(|_| least >= MIN_CROWDED_ALPHA)
    }

    /// Returns true if marks have just risen on all sending subflows, at the end of a round of `s`.
    fn marks_rise(&self, w: &[Window], s: usize) -> bool {
        let rounds = |r: usize| self.activity.marked_rounds[r];
        rounds(s) == MARKED_ROUNDS
            && (0..w.len())
                .filter(|&r| is_sending(&w[r]))
                .all(|r| rounds(r) >= MARKED_ROUNDS)
    }

    /// Adapts the number of sending subflows to `W`, at the end of a round of `s`.
    fn adjust_active(&mut self, w: &mut [Window], s: usize, round: Round) {
        let is_first = w.iter().position(is_sending) == Some(s);
        if self.activity.trial.is_some() {
            self.continue_trial(w, s, is_first, round);
            return;
        }
        let (mut m, total) = sending_total(w);
        if self.is_crowding(w, s) {
            self.deactivate(w, s, s);
            self.activity.crowded |= 1 << s;
            m -= 1.0;
        }
        while m > 1.0 && total < m * MIN_MEAN_WINDOW {
            let victim = self.worst(w, s, None).expect("m subflows send");
            self.deactivate(w, victim, s);
            m -= 1.0;
            self.activity.rounds_with_room = 0;
        }
        if is_first {
            self.activate_or_try(w, s, m, total);
        }
    }

    /// Activates an inactive subflow if there is room, or starts a trial, at the end of a round of
    /// the first sending subflow.
    fn activate_or_try(&mut self, w: &mut [Window], s: usize, m: f64, total: f64) {
        let inactive = |&r: &usize| is_alive(&w[r]) && !w[r].active;
        let any_crowded = (0..w.len()).filter(inactive).any(|r| self.activity.is_crowded(r));
        let best = (0..w.len())
            .filter(|r| inactive(r) && !self.activity.is_crowded(*r))
            .min_by(|&a, &b| w[a].state[ALPHA].total_cmp(&w[b].state[ALPHA]));
        if best.is_none() && !any_crowded {
            self.activity.rounds_with_room = 0;
            self.activity.restart_since_trial();
            return;
        }
        self.activity.rounds_since_trial = self.activity.rounds_since_trial.saturating_add(1);
        self.activity.packets_since_trial = self.activity.packets_since_trial.saturating_add(total as u32);
        let has_room = has_room(m, total);
        if has_room && let Some(best) = best {
            self.activity.rounds_with_room += 1;
            if !self.left_slow_start || self.activity.rounds_with_room >= self.params.tau {
                self.activate(w, best);
                self.activity.rounds_with_room = 0;
                self.activity.restart_since_trial();
                return;
            }
        } else {
            self.activity.rounds_with_room = 0;
        }
        let waited = self.activity.rounds_since_trial >= TRIAL_INTERVAL_TAUS * self.params.tau;
        if waited && let Some(clear) = Self::clear_path(w) {
            self.start_trial(w, s, Some(clear));
            return;
        }
        let packets = match (has_room, any_crowded) {
            (false, _) => TRIAL_INTERVAL_PACKETS,
            (true, true) => TRIAL_INTERVAL_PACKETS_WITH_ROOM,
            (true, false) => return,
        };
        let rises = has_room && self.marks_rise(w, s);
        if rises || waited && self.activity.packets_since_trial >= packets {
            self.start_trial(w, s, None);
        }
    }

    /// Starts a trial of a subflow, by default of the next inactive one without a timeout, in
    /// circular order.
    fn start_trial(&mut self, w: &mut [Window], s: usize, subflow: Option<usize>) {
        let next = subflow
            .or_else(|| (usize::from(self.activity.last_tried) + 1..w.len()).find(|&r| may_try(&w[r])))
            .or_else(|| (0..w.len()).find(|&r| may_try(&w[r])));
        let (Some(subflow), Some(rival)) = (next, self.worst(w, s, None)) else {
            return;
        };
        let total = sending_total(w).1;
        if total <= 0.0 {
            return;
        }
        self.activity.restart_since_trial();
        self.activity.last_tried = subflow as u8;
        let share = MIN_CONNECTION_WINDOW.min(total / 2.0);
        Self::scale(w, (total - share) / total);
        w[subflow].state[SHARE] = share;
        w[subflow].active = true;
        w[subflow].ssthresh = SSTHRESH_AFTER_SLOW_START;
        w[subflow].state[ALPHA] = w[rival].state[ALPHA];
        self.activity.last_ack[subflow] = self.now;
        self.activity.trial = Some(Trial {
            subflow: subflow as u8,
            rival: rival as u8,
            rounds: 0,
            rounds_of_first: 0,
            acked: 0,
            marked: 0,
        });
    }

    /// Counts a round of `s`. Ends the trial after `tau` rounds of the tried subflow, or after
    /// `TRIAL_INTERVAL_TAUS * tau` rounds of the first sending subflow if it has fewer.
    fn continue_trial(&mut self, w: &mut [Window], s: usize, is_first: bool, round: Round) {
        let Some(trial) = &mut self.activity.trial else {
            return;
        };
        if s == usize::from(trial.subflow) {
            trial.rounds += 1;
            trial.acked += round.acked;
            trial.marked += round.marked;
        }
        trial.rounds_of_first += u32::from(is_first);
        let Trial {
            subflow,
            rival,
            rounds,
            rounds_of_first,
            acked,
            marked,
        } = *trial;
        let (subflow, rival) = (usize::from(subflow), usize::from(rival));
        let tau = self.params.tau;
        let sends = is_sending(&w[subflow]);
        if sends && rounds < tau && rounds_of_first < TRIAL_INTERVAL_TAUS * tau {
            return;
        }
        self.activity.trial = None;
        if !sends {
            return;
        }
        let better = acked > 0 && f64::from(marked) < w[rival].state[ALPHA] * f64::from(acked);
        if better {
            w[subflow].state[ALPHA] = f64::from(marked) / f64::from(acked);
        }
        let stays_crowded = self.activity.is_crowded(subflow) && !better;
        self.activity.crowded &= !(u64::from(better) << subflow);
        let (m, total) = sending_total(w);
        if is_sending(&w[rival]) && (stays_crowded || total < m * MIN_MEAN_WINDOW) {
            self.deactivate(w, if better { rival } else { subflow }, s);
        }
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

    /// Activates a subflow if none sends.
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
mod tests {
    use super::*;
    use crate::dctcp::{self, Dctcp};
    use crate::test_windows::{ack, cwnds, in_avoidance, round};

    /// Returns a connection in congestion avoidance whose subflows all send, with these shares, and
    /// alpha of 1/2 on each.
    fn sending(shares: &[f64]) -> (Warp, Vec<Window>) {
        let mut w = in_avoidance(shares);
        for r in &mut w {
            r.state = [r.cwnd, 0.5, 0.0, 0.0];
        }
        Warp::apportion(&mut w);
        let mut cc = Warp::new(Parameters::default());
        cc.left_slow_start = true;
        cc.activity.last_ack = vec![Elapsed(0); w.len()];
        cc.activity.own_marks = vec![0; w.len()];
        cc.activity.marked_rounds = vec![0; w.len()];
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
        // The smoothed RTT is 1 s; the RTT of the sample decides.
        let sampled = |seconds: f64, rtt: f64| Ack {
            rtt,
            ..at(seconds, 6)
        };
        for ack in [at(5.5, 6), sampled(6.5, 1.6)] {
            cc.on_ack(&mut w, 1, ack);
            assert!(!cc.reacts_to_mark(&w, 1));
            cc.on_mark(&mut w, 1);
            assert_eq!(shares(&w), [6.0, 8.0], "sent before the cut");
        }
        cc.on_ack(&mut w, 1, sampled(6.5, 1.0)); // 6 / (2 x 8)
        assert!(cc.reacts_to_mark(&w, 1));
        cc.on_mark(&mut w, 1);
        assert_eq!(w[0].state[SHARE], 4.5);
    }

    #[test]
    fn what_was_sent_before_all_had_an_acknowledgement_since_a_cut_does_not_cut_again() {
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
            cc.reacts_to_mark(w, s)
        };
        cc.on_ack(&mut w, 0, at(5.0, 0));
        cc.on_mark(&mut w, 0);
        assert!(!reacts_to_mark(&mut cc, &mut w, 1, 5.25, 5.0), "2 has had none");
        assert!(
            !reacts_to_mark(&mut cc, &mut w, 2, 5.5, 5.25),
            "none had one when it was sent"
        );
        assert!(
            !reacts_to_mark(&mut cc, &mut w, 0, 5.75, 5.25),
            "the cutter's own as well"
        );
        assert!(reacts_to_mark(&mut cc, &mut w, 0, 6.0, 5.5));
        // A subflow that has nothing in flight is waited for during one round-trip time, 1 s.
        cc.on_mark(&mut w, 0);
        assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.0, 6.5));
        assert!(!reacts_to_mark(&mut cc, &mut w, 1, 7.5, 6.5));
        assert!(reacts_to_mark(&mut cc, &mut w, 1, 8.0, 7.5));
    }

    #[test]
    fn slow_start_ends_with_the_first_mark_and_only_a_timeout_brings_it_back() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        cc.on_mark(&mut w, 0);
        // A shift leaves less than there was after the cut. A round still adds half a packet.
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
        // All packets marked on one, none on the other: the mean is 1/2, and 8 x 1/2 x 1/2 moves.
        cc.on_round(&mut w, 0, round(8, 8));
        assert_eq!(shares(&w), [6.0, 10.0]);
        // Equal marks: nothing moves.
        cc.on_round(&mut w, 1, round(9, 9));
        assert_eq!(shares(&w), [6.0, 10.0]);
    }

    #[test]
    fn the_most_marked_is_deactivated_below_four_packets_each_and_activated_after_tau_rounds_with_room() {
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
        let mut w = vec![Window::new(16.0, f64::INFINITY); 2];
        w[0].established = true;
        cc.on_open(&mut w, 0);
        w[1].established = true;
        cc.on_open(&mut w, 1);
        assert_eq!(cwnds(&w), [8.0, 8.0]);
        // No room for two.
        let (mut cc, mut w) = sending(&[15.0, 10.0]);
        w[1].state[SHARE] = 0.0;
        cc.on_open(&mut w, 1);
        assert!(!w[1].active);
    }

    #[test]
    fn a_share_moves_to_working_subflows_only() {
        let cases: [fn(&mut Window); 2] = [|r| r.in_recovery = true, |r| r.state[TIMEOUTS] = 1.0];
        for spoil in cases {
            let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
            spoil(&mut w[2]);
            cc.on_round(&mut w, 0, round(8, 8)); // the mean of 0 and 1 is 1/2
            assert_eq!(shares(&w), [6.0, 10.0, 8.0]);
        }
        // A subflow without an acknowledgement for two round-trip times of 1 s.
        let (mut cc, mut w) = sending(&[8.0, 8.0, 8.0]);
        cc.on_ack(&mut w, 1, at(1.0, 0));
        cc.on_ack(&mut w, 0, at(2.5, 0));
        cc.on_round(&mut w, 0, round(8, 8));
        assert_eq!(shares(&w), [6.0, 10.0, 8.0]);
    }

    #[test]
    fn a_mark_in_slow_start_ends_it_and_cuts_on_its_own_path_only() {
        let (mut cc, mut w) = sending(&[16.0, 16.0, 16.0]);
        for r in &mut w[..2] {
            r.ssthresh = f64::INFINITY;
        }
        cc.on_ack(&mut w, 0, at(1.0, 0));
        cc.on_mark(&mut w, 0); // 16 (1 - 1/4)
        assert_eq!(shares(&w), [12.0, 16.0, 16.0]);
        assert_eq!((w[0].ssthresh, w[1].ssthresh), (1.0, f64::INFINITY));
        // Marks of every subflow count, at any time of sending.
        assert!((0..3).all(|s| cc.reacts_to_mark(&w, s)));
        // A mark on a path in congestion avoidance cuts no subflow that is on its own.
        cc.on_mark(&mut w, 2);
        assert_eq!(shares(&w), [12.0, 16.0, 12.0]);
    }

    #[test]
    fn after_slow_start_a_subflow_grows_on_its_own_until_its_fifth_mark() {
        let (mut cc, mut w) = sending(&[16.0, 16.0]);
        w[0].ssthresh = f64::INFINITY;
        cc.on_mark(&mut w, 0);
        for n in 1..OWN_MARKS {
            // A whole packet per round, and a mark that cuts only this subflow.
            w[0].state[SHARE] = 16.0;
            cc.on_ack(&mut w, 0, ack(16));
            assert_eq!(shares(&w), [17.0, 16.0], "{n}");
            cc.on_round(&mut w, 1, round(8, 8));
            assert_eq!(shares(&w), [17.0, 16.0], "no shift: {n}");
            w[1].state = [16.0, 0.5, 0.0, 0.0];
            cc.on_mark(&mut w, 0);
            assert_eq!(shares(&w), [17.0 * 0.75, 16.0], "{n}");
        }
        w[0].state[SHARE] = 16.0;
        cc.on_ack(&mut w, 0, ack(16));
        assert_eq!(shares(&w), [16.5, 16.0]);
        cc.on_mark(&mut w, 0);
        assert_eq!(shares(&w), [16.5 * 0.75, 12.0]);
    }

    #[test]
    fn a_loss_ends_growth_of_its_own() {
        let (mut cc, mut w) = sending(&[16.0, 16.0]);
        w[0].ssthresh = f64::INFINITY;
        cc.on_mark(&mut w, 0);
        cc.on_fast_retransmit(&mut w, 0);
        let before = w[0].state[SHARE];
        cc.on_ack(&mut w, 0, ack(1000)); // at most one window
        assert_eq!(w[0].state[SHARE], before + 0.5);
    }

    #[test]
    fn after_a_timeout_and_a_round_an_inactive_subflow_has_two_packets() {
        let (mut cc, mut w) = sending(&[3.0, 4.0]);
        // A repeated timeout keeps the threshold.
        w[0].ssthresh = SSTHRESH_AFTER_SLOW_START;
        cc.on_timeout(&mut w, 0, false);
        assert_eq!(cwnds(&w), [1.0, 4.0]);
        cc.on_round(&mut w, 0, round(1, 1));
        assert_eq!((w[0].active, w[0].cwnd), (false, 2.0));
    }

    #[test]
    fn short_times_with_room_do_not_delay_a_trial() {
        let (mut cc, mut w) = sending(&[6.0, 6.0]);
        (w[1].active, w[1].state[SHARE]) = (false, 0.0);
        for n in 0..140 {
            assert!(!w[1].active, "{n}");
            // Room for two subflows in every second round.
            w[0].state[SHARE] = if n % 2 == 0 { 12.0 } else { 20.0 };
            cc.on_round(&mut w, 0, round(8, 4));
            if w[1].active {
                return;
            }
        }
        panic!("no trial");
    }

    #[test]
    fn before_the_first_mark_a_subflow_is_activated_as_soon_as_there_is_room() {
        let mut cc = Warp::new(Parameters::default());
        let mut w = in_avoidance(&[10.0; 3]);
        for r in &mut w {
            (r.ssthresh, r.established) = (f64::INFINITY, false);
        }
        for s in 0..3 {
            w[s].established = true;
            cc.on_open(&mut w, s);
        }
        assert_eq!(shares(&w), [10.0, 0.0, 0.0]);
        cc.on_ack(&mut w, 0, at(1.0, 6));
        cc.on_round(&mut w, 0, round(10, 0));
        assert_eq!(shares(&w), [8.0, 8.0, 0.0]);
        assert_eq!(w[1].ssthresh, f64::INFINITY);
    }

    /// Returns two paths with W = 6, after rounds on the first one with this part of marks until
    /// subflow 1 is on trial.
    fn on_trial(marks: u32) -> (Warp, Vec<Window>) {
        let (mut cc, mut w) = sending(&[6.0, 6.0]);
        (w[1].active, w[1].state[SHARE]) = (false, 0.0);
        // 2,004 packets.
        for n in 0..334 {
            assert!(!w[1].active, "{n}");
            cc.on_round(&mut w, 0, round(8, marks));
        }
        assert_eq!(shares(&w), [4.0, 2.0]);
        (cc, w)
    }

    #[test]
    fn where_there_is_no_room_an_inactive_subflow_is_tried_and_exchanged_if_it_has_fewer_marks() {
        for (marks, active) in [(0, [false, true]), (1, [false, true]), (8, [true, false])] {
            let (mut cc, mut w) = on_trial(4);
            for n in 0..8 {
                assert!(w[0].active && w[1].active, "{n}");
                w[1].state[MARKED] = 0.5; // no shift
                cc.on_round(&mut w, 0, round(8, 4));
                w[0].state[MARKED] = f64::from(marks) / 8.0;
                cc.on_round(&mut w, 1, round(8, marks));
            }
            assert_eq!([w[0].active, w[1].active], active, "{marks}");
            assert!((sending_total(&w).1 - 6.0).abs() < 1e-9);
        }
    }

    #[test]
    fn of_less_than_four_packets_a_trial_takes_half() {
        let (mut cc, mut w) = sending(&[3.0, 3.0]);
        (w[1].active, w[1].state[SHARE]) = (false, 0.0);
        // 2,001 packets.
        for _ in 0..666 {
            cc.on_round(&mut w, 0, round(8, 4));
        }
        assert_eq!(shares(&w), [3.0, 0.0]);
        cc.on_round(&mut w, 0, round(8, 4));
        assert_eq!((shares(&w), cwnds(&w)), (vec![1.5, 1.5], vec![2.0, 2.0]));
        for _ in 0..8 {
            w[1].state[MARKED] = 0.5; // no shift
            cc.on_round(&mut w, 1, round(2, 2));
        }
        assert_eq!(shares(&w), [3.0, 0.0]);
    }

    /// Returns a connection whose subflow 1 was deactivated because its path is crowded.
    fn crowded() -> (Warp, Vec<Window>) {
        let (mut cc, mut w) = sending(&[30.0, 3.0]);
        w[0].state[ALPHA] = 0.125;
        cc.on_round(&mut w, 1, round(8, 4));
        assert_eq!((w[1].active, shares(&w)), (false, vec![33.0, 0.0]));
        (cc, w)
    }

    #[test]
    fn a_subflow_on_a_crowded_path_is_deactivated() {
        crowded();
        let cases: [(f64, f64, f64); 4] = [
            (30.0, 4.5, 0.125), // four packets
            (15.0, 3.0, 0.125), // the other one has fewer than 16
            (30.0, 3.0, 0.3),   // less than twice the marks
            (30.0, 3.0, 0.5),
        ];
        for (other, share, alpha) in cases {
            let (mut cc, mut w) = sending(&[other, share]);
            w[0].state[ALPHA] = alpha;
            w[0].state[MARKED] = 0.5; // no shift
            cc.on_round(&mut w, 1, round(8, 4));
            assert!(w[1].active, "{other} {share} {alpha}");
        }
    }

    #[test]
    fn room_does_not_activate_a_subflow_on_a_crowded_path() {
        let (mut cc, mut w) = crowded();
        let mut packets = 0.0;
        while !w[1].active {
            packets += sending_total(&w).1;
            cc.on_round(&mut w, 0, round(30, 3));
        }
        assert!((16_000.0..16_034.0).contains(&packets), "{packets}");
        assert_eq!(w[1].state[SHARE], 2.0);
        // As many marks as on the other path: it stays crowded. With fewer it is kept.
        for (marks, active) in [(4, false), (0, true)] {
            let (mut cc, mut w) = (cc.clone(), w.clone());
            for _ in 0..8 {
                w[0].state[MARKED] = 1.0; // no shift
                cc.on_round(&mut w, 1, round(8, marks));
            }
            assert_eq!((w[0].active, w[1].active), (true, active), "{marks}");
        }
    }

    #[test]
    fn a_rise_of_marks_begins_a_trial_of_a_crowded_path() {
        let (mut cc, mut w) = crowded();
        for marked in [15, 3, 14, 15, 15] {
            assert!(!w[1].active, "{marked}");
            cc.on_round(&mut w, 0, round(30, marked));
        }
        assert!(w[1].active);
    }

    #[test]
    fn a_path_on_which_the_rest_of_a_burst_had_few_marks_is_tried_soon() {
        let (mut cc, mut w) = sending(&[6.0, 6.0]);
        (w[1].active, w[1].state[SHARE]) = (false, 0.0);
        w[1].state[ALPHA] = 0.2;
        for n in 0..64 {
            assert!(!w[1].active, "{n}");
            cc.on_round(&mut w, 0, round(8, 4));
        }
        assert_eq!(shares(&w), [4.0, 2.0]);
    }

    #[test]
    fn a_subflow_that_has_timed_out_is_not_tried() {
        let (mut cc, mut w) = sending(&[6.0, 6.0]);
        (w[1].active, w[1].state[SHARE]) = (false, 0.0);
        w[1].state[TIMEOUTS] = 1.0;
        for _ in 0..400 {
            cc.on_round(&mut w, 0, round(8, 4));
        }
        assert!(!w[1].active);
    }

    #[test]
    fn an_undone_timeout_gives_the_share_back() {
        let (mut cc, mut w) = sending(&[8.0, 8.0]);
        w[0].save_prior();
        cc.on_timeout(&mut w, 0, true);
        cc.on_timeout(&mut w, 0, false);
        assert_eq!(shares(&w), [0.0, 8.0]);
        cc.on_undo(&mut w, 0);
        assert_eq!((shares(&w), cwnds(&w)), (vec![8.0, 8.0], vec![8.0, 8.0]));
        assert!(w[0].active);
    }

    #[test]
    fn packets_are_apportioned_by_largest_remainder() {
        let (_, w) = sending(&[2.9, 2.5, 2.7]); // 8.1
        assert_eq!(cwnds(&w), [3.0, 2.0, 3.0]);
    }

    #[test]
    fn a_loss_halves_its_own_path_and_two_timeouts_deactivate_it() {
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
            // Whole packets, and no more than the sum of the shares except where the minimum window
            // is larger.
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
