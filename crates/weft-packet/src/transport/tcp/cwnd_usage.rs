//! Whether a sender uses its congestion window: a window that does not limit it says nothing about
//! the network, and does not grow (`tcp_cwnd_validate`, `net/ipv4/tcp_output.c`, and
//! `tcp_is_cwnd_limited`, `include/net/tcp.h`, kernel 6.x). After a time
//! without data, it decays (RFC 2861; `tcp_slow_start_after_idle`).

use weft_cc::Window;

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
