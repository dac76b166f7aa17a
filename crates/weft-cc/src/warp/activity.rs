//! Activity of Warp's subflows: room, trials and crowded paths (rules 4 to 6 of the law).

use super::{ALPHA, MARKED_ROUNDS, MIN_CONNECTION_WINDOW, MIN_MEAN_WINDOW, SHARE, SSTHRESH_AFTER_SLOW_START};
use super::{TIMEOUTS, Trial, Warp, is_alive, is_sending, sending_total};
use crate::{Round, Window};

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

/// Returns true if subflow `r` may be tried.
fn may_try(r: &Window) -> bool {
    r.established && !r.active && r.state[TIMEOUTS] == 0.0
}

/// Returns true if W has room for another subflow besides the m that send.
pub(super) fn has_room(m: f64, total: f64) -> bool {
    total >= (m + 1.0) * 2.0 * MIN_MEAN_WINDOW
}

impl Warp {
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
    pub(super) fn activate(&mut self, w: &mut [Window], s: usize) {
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
    pub(super) fn adjust_active(&mut self, w: &mut [Window], s: usize, round: Round) {
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

    /// Activates a subflow if none sends.
    pub(super) fn ensure_one_active(w: &mut [Window]) {
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
