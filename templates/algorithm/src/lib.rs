//! Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks" (CCR 33(2), 2003).
//!
//! Per acknowledgement cwnd := cwnd + a, and per loss cwnd := cwnd - b cwnd, with a = 0.01 and b = 0.125. The time to recover
//! from a loss is then the same number of rounds at any rate. Windows up to the *legacy window* follow TCP (RFC 5681).
//!
//! Where the paper is silent: a timeout is handled as in RFC 5681, and each subflow is on its own.

use weft_cc::{Ack, CongestionControl, Echo, AlgorithmFactory, Window, slow_start};

/// The parameters. A connection needs no other state.
#[derive(Clone, Copy, Debug)]
pub struct Scalable {
    /// Packets added per packet acknowledged.
    pub a: f64,
    /// Share of the window that a loss takes.
    pub b: f64,
    /// Windows up to so many packets follow TCP.
    pub legacy_window: f64,
}

impl Default for Scalable {
    fn default() -> Self {
        Self {
            a: 0.01,
            b: 0.125,
            legacy_window: 16.0,
        }
    }
}

impl Scalable {
    fn cut(self, w: &mut Window) {
        let share = if w.cwnd > self.legacy_window { self.b } else { 0.5 };
        w.ssthresh = ((1.0 - share) * w.cwnd).max(2.0);
        w.cwnd = w.ssthresh;
    }
}

impl CongestionControl for Scalable {
    fn echo(&self) -> Echo {
        Echo::Off
    }

    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        if !ack.may_grow {
            return;
        }
        let w = &mut w[s];
        let acked = f64::from(slow_start(w, ack.acked)).min(w.cwnd);
        w.cwnd += if w.cwnd > self.legacy_window {
            self.a * acked
        } else {
            acked / w.cwnd
        };
    }

    /// Never happens without ECN; RFC 3168, section 6.1.2, treats it as a loss.
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.cut(&mut w[s]);
    }

    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.cut(&mut w[s]);
    }

    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        let w = &mut w[s];
        if first {
            w.ssthresh = (w.cwnd / 2.0).max(2.0);
        }
        w.cwnd = 1.0;
    }
}

impl AlgorithmFactory for Scalable {
    fn name(&self) -> &str {
        "scalable"
    }

    fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn avoiding(cwnd: f64) -> Vec<Window> {
        vec![Window::new(cwnd, 2.0)]
    }

    fn ack(acked: u32) -> Ack {
        Ack {
            acked,
            may_grow: true,
            ..Ack::default()
        }
    }

    #[test]
    fn a_packet_adds_a_hundredth_above_the_legacy_window() {
        let mut w = avoiding(100.0);
        Scalable::default().on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 100.02);
    }

    #[test]
    fn a_loss_takes_an_eighth_above_the_legacy_window_and_half_below() {
        for (before, after) in [(160.0, 140.0), (16.0, 8.0), (3.0, 2.0)] {
            let mut w = avoiding(before);
            Scalable::default().on_fast_retransmit(&mut w, 0);
            assert_eq!((w[0].cwnd, w[0].ssthresh), (after, after));
        }
    }

    #[test]
    fn small_windows_grow_by_a_packet_a_round() {
        let mut w = avoiding(10.0);
        Scalable::default().on_ack(&mut w, 0, ack(2));
        assert_eq!(w[0].cwnd, 10.2);
    }
}
