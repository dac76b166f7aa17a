//! Congestion control of a connection: the algorithm and the windows of its subflows.

use weft_cc::{Ack, Algorithm, CongestionControl, Echo, Window};

use super::suppression_log::SuppressionLog;

/// The algorithm of a connection and the windows of its subflows.
pub struct Congestion {
    cc: Algorithm,
    windows: Vec<Window>,
    /// The ECN echo that the algorithm asks for.
    echo: Echo,
    /// True if the algorithm also suppresses and releases subflows at acknowledgements, not only at
    /// the ends of rounds.
    may_suppress_on_ack: bool,
    /// True if a round lasts until data that was sent after its end is acknowledged.
    rounds_end_beyond: bool,
    /// True if the algorithm is notified of idle times.
    sees_idle_times: bool,
    /// The window to which an idle time reduces a window, if it does.
    restart_window: Option<f64>,
    suppressions: SuppressionLog,
}

impl Congestion {
    /// Creates the state of this many subflows that begin with this window. With
    /// `slow_start_after_idle`, their windows decay while nothing is sent, if the algorithm allows
    /// it.
    pub fn new(cc: Algorithm, window: Window, subflows: u32, slow_start_after_idle: bool) -> Self {
        let sees_idle_times = cc.restarts_after_idle();
        Self {
            sees_idle_times,
            restart_window: (slow_start_after_idle && sees_idle_times).then_some(window.cwnd),
            echo: cc.echo(),
            may_suppress_on_ack: cc.may_suppress_on_ack(),
            rounds_end_beyond: cc.rounds_end_beyond(),
            cc,
            windows: vec![window; subflows as usize],
            suppressions: SuppressionLog::default(),
        }
    }

    /// Returns the windows, by subflow.
    #[inline(always)]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Returns the ECN echo that the algorithm asks for.
    #[inline(always)]
    pub fn echo(&self) -> Echo {
        self.echo
    }

    /// Returns true if the algorithm also suppresses and releases subflows at acknowledgements.
    #[inline(always)]
    pub fn may_suppress_on_ack(&self) -> bool {
        self.may_suppress_on_ack
    }

    /// Returns true if a round lasts until data that was sent after its end is acknowledged, whatever
    /// the profile.
    #[inline(always)]
    pub fn rounds_end_beyond(&self) -> bool {
        self.rounds_end_beyond
    }

    /// Returns true if the algorithm is notified of idle times.
    #[inline(always)]
    pub fn sees_idle_times(&self) -> bool {
        self.sees_idle_times
    }

    /// Returns the window of subflow `s` and that to which an idle time reduces it, if it does.
    pub fn idle_window(&mut self, s: usize) -> Option<(&mut Window, f64)> {
        self.restart_window.map(|least| (&mut self.windows[s], least))
    }

    /// Returns the number of subflows that the algorithm has not suppressed.
    pub fn active_count(&self) -> usize {
        self.windows.iter().filter(|window| window.active).count()
    }

    /// Returns the suppressions of subflows so far.
    pub fn suppressions(&self) -> &SuppressionLog {
        &self.suppressions
    }

    /// Records the beginning or end of a suppression. A connection that has finished suppresses no
    /// subflow.
    pub fn record_suppression(&mut self, is_finished: bool, now: u64) {
        let is_suppressed = !is_finished && self.windows.iter().any(|window| !window.active);
        self.suppressions.record(is_suppressed, now);
    }

    /// Returns true if a subflow is not established.
    pub fn any_joining(&self) -> bool {
        self.windows.iter().any(|window| !window.established)
    }

    /// Notifies the algorithm of an acknowledgement on subflow `s`.
    #[inline(always)]
    pub fn on_ack(&mut self, s: usize, report: Ack) {
        self.cc.on_ack(&mut self.windows, s, report);
    }

    /// Notifies the algorithm of another event.
    #[inline(always)]
    pub fn notify(&mut self, event: impl FnOnce(&mut Algorithm, &mut [Window])) {
        event(&mut self.cc, &mut self.windows);
    }

    /// Notifies the algorithm of an event, and counts it if fewer subflows are active afterwards.
    /// Returns true if the number of active subflows has changed.
    pub fn notify_and_count(&mut self, event: impl FnOnce(&mut Algorithm, &mut [Window])) -> bool {
        let before = self.active_count();
        self.notify(event);
        let after = self.active_count();
        self.suppressions.count_event(before, after);
        after != before
    }

    /// Returns true if the algorithm reacts to a mark on subflow `s`.
    #[inline(always)]
    pub fn reacts_to_mark(&self, s: usize) -> bool {
        self.cc.reacts_to_mark(&self.windows, s)
    }

    /// Returns the rate in packets per second at which the algorithm paces subflow `s`.
    pub fn pacing_rate(&self, s: usize) -> Option<f64> {
        self.cc.pacing_rate(&self.windows, s)
    }

    /// Sets the smoothed and the smallest RTT of subflow `s`, in seconds.
    #[inline(always)]
    pub fn set_rtt(&mut self, s: usize, srtt: f64, min_rtt: f64) {
        let window = &mut self.windows[s];
        window.srtt = srtt;
        window.min_rtt = min_rtt;
    }

    /// Limits the window of subflow `s` to one packet.
    pub fn limit_to_one_packet(&mut self, s: usize) {
        self.windows[s].cwnd = 1.0;
    }

    /// Saves the window of subflow `s`, so that a reduction can be undone.
    pub fn save_prior(&mut self, s: usize) {
        self.windows[s].save_prior();
    }

    /// Sets whether subflow `s` recovers from a loss.
    pub fn set_in_recovery(&mut self, s: usize, in_recovery: bool) {
        self.windows[s].in_recovery = in_recovery;
    }

    /// Records that subflow `s` is established.
    pub fn open(&mut self, s: usize) {
        self.windows[s].established = true;
        self.cc.on_open(&mut self.windows, s);
    }

    /// Records that subflow `s` is closed.
    pub fn close(&mut self, s: usize) {
        self.windows[s].established = false;
        self.cc.on_close(&mut self.windows, s);
    }

    /// Frees the windows and the suppressions. Returns the number of windows.
    pub fn free(&mut self) -> u32 {
        self.suppressions.free();
        std::mem::take(&mut self.windows).len() as u32
    }
}
