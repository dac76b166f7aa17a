//! Congestion control of a connection: the algorithm, the windows of its subflows, and the rounds,
//! rates and limits that go with a window.
//!
//! A window that does not limit its sender says nothing about the network, and does not grow
//! (`tcp_cwnd_validate`, `net/ipv4/tcp_output.c`, and `tcp_is_cwnd_limited`, `include/net/tcp.h`,
//! kernel 6.x). After a time without data, it decays (RFC 2861; `tcp_slow_start_after_idle`).

use weft_cc::{Ack, Algorithm, CongestionControl, Echo, Round, Window};
use weft_run::SuppressionRecord;
use weft_spec::Time;

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

/// The current round, and the data in which marks cause no other cut. Positions are bytes of the
/// subflow's data.
#[derive(Default)]
pub struct Rounds {
    /// The round ends when this byte is acknowledged.
    end: u64,
    /// Time at which the round started.
    started: u64,
    /// Marks cause no other cut until all bytes before this one are acknowledged: one byte more than
    /// was sent before the last cut. 0 before the first one.
    uncut_from: u64,
    /// The round so far.
    current: Round,
    /// True if the next data packet carries CWR (RFC 3168).
    owes_cwr: bool,
}

impl Rounds {
    /// Counts packets that were acknowledged, and those of them that were marked.
    #[inline(always)]
    pub fn count(&mut self, acked: u32, marked: u32) {
        self.current.acked += acked;
        self.current.marked += marked;
    }

    /// Returns true if an acknowledgement of all bytes before `ack` ends the round. With `beyond`,
    /// it must also cover a byte after the round (RFC 8257, section 3.3).
    #[inline(always)]
    pub fn is_ended_by(&self, ack: u64, beyond: bool) -> bool {
        ack >= self.end + u64::from(beyond)
    }

    /// Returns the time at which the round started.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Ends the round and starts one at `now` that ends at `nxt`, the next byte to send.
    pub fn start_next(&mut self, nxt: u64, now: u64) -> Round {
        self.end = nxt;
        self.started = now;
        std::mem::take(&mut self.current)
    }

    /// Returns true if `ack` acknowledges data that was sent after the last cut.
    #[inline(always)]
    pub fn is_after_cut(&self, ack: u64) -> bool {
        ack >= self.uncut_from
    }

    /// Records a cut. `nxt` is the next byte to send.
    pub fn on_cut(&mut self, nxt: u64) {
        self.uncut_from = nxt + 1;
        self.owes_cwr = true;
    }

    /// Returns true if the packet that is sent carries CWR.
    #[inline(always)]
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.owes_cwr)
    }
}

/// The use of a subflow's window within the last window of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndUsage {
    /// Whether the window limited the sender (`is_cwnd_limited`).
    is_cwnd_limited: bool,
    /// If it did not, the maximum number of outstanding packets (`max_packets_out`).
    max_packets_out: u32,
    /// Next byte to send when the fields above were set (`cwnd_usage_seq`).
    round_end: u64,
    /// Next byte to send at the last call of [`validate`](Self::validate) that found the window not
    /// full.
    validated_until: u64,
}

/// The data that a subflow has outstanding.
pub struct Outstanding {
    /// First byte that is not acknowledged.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// Segments that are not acknowledged, including those that are sacked or lost (`packets_out`).
    pub packets: u32,
}

impl CwndUsage {
    /// Records whether the window is full. Linux does so after every attempt to send. Between two
    /// acknowledgements only transmissions change the answer, and they only fill the window, so that
    /// it is sufficient to look when the next acknowledgement arrives, before it is applied.
    #[inline(always)]
    pub fn validate(&mut self, is_full: bool, outstanding: &Outstanding) {
        if is_full {
            self.set_limited(outstanding.nxt);
        } else {
            self.validate_unused(outstanding);
        }
    }

    /// Records that the window limits the sender, whose next byte to send is `nxt`.
    #[inline(always)]
    pub fn set_limited(&mut self, nxt: u64) {
        self.is_cwnd_limited = true;
        self.round_end = nxt;
    }

    /// Records that data was sent, if any was, and that the window still has space.
    fn validate_unused(&mut self, outstanding: &Outstanding) {
        let Outstanding { una, nxt, packets } = *outstanding;
        if nxt == self.validated_until {
            return; // Nothing was sent.
        }
        self.validated_until = nxt;
        if una >= self.round_end || !self.is_cwnd_limited && packets > self.max_packets_out {
            self.is_cwnd_limited = false;
            self.max_packets_out = packets;
            self.round_end = nxt;
        }
    }

    /// Returns true if the window may grow: it limited the sender, or slow start has not reached
    /// twice the packets that were outstanding.
    #[inline(always)]
    pub fn is_cwnd_limited(&self, window: &Window) -> bool {
        self.is_cwnd_limited
            || window.cwnd < window.ssthresh && window.cwnd < f64::from(2 * self.max_packets_out)
    }
}

/// Halves the window for each RTO of an idle time, down to the restart window (RFC 5681, section 4.1;
/// `tcp_cwnd_restart`).
pub fn restart_after_idle(window: &mut Window, idle: u64, rto: u64, restart_window: f64) {
    if idle <= rto {
        return;
    }
    // `tcp_current_ssthresh`.
    let remembered = (window.cwnd / 2.0).floor() + (window.cwnd / 4.0).floor();
    window.ssthresh = window.ssthresh.max(remembered);
    let restart_window = restart_window.min(window.cwnd);
    let halvings = (idle - 1) / rto;
    for _ in 0..halvings {
        if window.cwnd <= restart_window {
            break;
        }
        window.cwnd = (window.cwnd / 2.0).floor();
    }
    window.cwnd = window.cwnd.max(restart_window);
}

/// The suppressions of a connection.
#[derive(Default)]
pub struct SuppressionLog {
    /// Number of times that subflows were suppressed.
    count: u64,
    /// Time since which a subflow has been suppressed; `None` if none is.
    since: Option<u64>,
    /// Beginnings and ends of earlier suppressions.
    episodes: Vec<(u64, u64)>,
}

impl SuppressionLog {
    /// Returns the number of times that subflows were suppressed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Counts an event at which fewer subflows are active `after` than `before`.
    pub fn count_event(&mut self, before: usize, after: usize) {
        self.count += u64::from(after < before);
    }

    /// Records at `now` whether a subflow is suppressed.
    pub fn record(&mut self, is_suppressed: bool, now: u64) {
        match self.since {
            None if is_suppressed => self.since = Some(now),
            Some(since) if !is_suppressed => {
                // A suppression that ends when it begins, as when the connection ends with the
                // round, has kept no data back.
                if since < now {
                    self.episodes.push((since, now));
                }
                self.since = None;
            }
            _ => {}
        }
    }

    /// Returns the episodes of suppression of `flow` so far, in order.
    pub fn episodes(&self, flow: u32) -> impl Iterator<Item = SuppressionRecord> {
        let ended = self.episodes.iter().map(|&(start, end)| (start, Some(Time(end))));
        let lasting = self.since.map(|since| (since, None));
        ended.chain(lasting).map(move |(start, end)| SuppressionRecord {
            flow,
            start: Time(start),
            end,
        })
    }

    /// Frees the memory of earlier suppressions.
    pub fn free(&mut self) {
        self.episodes = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(una: u64, nxt: u64) -> Outstanding {
        Outstanding {
            una,
            nxt,
            packets: (nxt - una) as u32,
        }
    }

    /// Returns a window in congestion avoidance.
    fn avoiding(cwnd: f64) -> Window {
        Window::new(cwnd, 2.0)
    }

    #[test]
    fn a_full_window_counts_until_what_was_sent_then_is_acknowledged() {
        let mut usage = CwndUsage::default();
        assert!(!usage.is_cwnd_limited(&avoiding(10.0)), "nothing is sent yet");
        usage.validate(true, &out(0, 10));
        assert!(usage.is_cwnd_limited(&avoiding(10.0)));
        // Packets 10 and 11 follow, and the window is not full any more.
        usage.validate(false, &out(5, 12));
        assert!(
            usage.is_cwnd_limited(&avoiding(10.0)),
            "within the window of data"
        );
        usage.validate(false, &out(10, 13));
        assert!(!usage.is_cwnd_limited(&avoiding(10.0)));
    }

    #[test]
    fn acknowledgements_alone_change_nothing() {
        let mut usage = CwndUsage::default();
        usage.validate(true, &out(0, 10));
        usage.validate(false, &out(5, 12));
        for una in 6..12 {
            usage.validate(false, &out(una, 12));
            assert!(usage.is_cwnd_limited(&avoiding(10.0)), "{una}");
        }
    }

    #[test]
    fn slow_start_reaches_twice_what_was_outstanding() {
        let mut usage = CwndUsage::default();
        usage.validate(false, &out(0, 6));
        for (cwnd, expected) in [(11.0, true), (11.9, true), (12.0, false)] {
            assert_eq!(usage.is_cwnd_limited(&Window::new(cwnd, f64::INFINITY)), expected);
            assert!(!usage.is_cwnd_limited(&avoiding(cwnd)));
        }
        // The maximum counts, within a window of data.
        usage.validate(false, &out(5, 7));
        assert!(usage.is_cwnd_limited(&Window::new(11.0, f64::INFINITY)));
        usage.validate(false, &out(6, 8));
        assert!(!usage.is_cwnd_limited(&Window::new(11.0, f64::INFINITY)));
    }

    /// Windows and thresholds of sockets on Linux 6.18 before and after idle times, whose RTO was 204 ms
    /// and whose initial window was 10.
    #[test]
    fn an_idle_time_halves_the_window_as_in_linux() {
        for (idle, before, ssthresh, expected) in [
            (120, 463.0, f64::INFINITY, 463.0),
            (320, 395.0, f64::INFINITY, 197.0),
            (520, 395.0, f64::INFINITY, 98.0),
            (516, 454.0, f64::INFINITY, 113.0),
            (716, 301.0, f64::INFINITY, 37.0),
            (1108, 219.0, 207.0, 10.0),
            (2008, 482.0, f64::INFINITY, 10.0),
        ] {
            let mut window = Window::new(before, ssthresh);
            restart_after_idle(&mut window, idle, 204, 10.0);
            assert_eq!((window.cwnd, window.ssthresh), (expected, ssthresh), "{idle} ms");
        }
    }

    /// The threshold keeps three quarters of the window (`tcp_current_ssthresh`).
    #[test]
    fn slow_start_after_an_idle_time_ends_near_the_last_window() {
        let mut window = avoiding(101.0);
        restart_after_idle(&mut window, 10_000, 204, 10.0);
        assert_eq!((window.cwnd, window.ssthresh), (10.0, 75.0));
        // A window below the initial one stays.
        let mut window = avoiding(4.0);
        restart_after_idle(&mut window, 10_000, 204, 10.0);
        assert_eq!((window.cwnd, window.ssthresh), (4.0, 3.0));
    }
}
