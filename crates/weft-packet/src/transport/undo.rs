//! Undoing recoveries that proved spurious: Eifel (RFC 3522, RFC 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

use weft_cc::Window;

/// The window before a recovery, and what was sent again since.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// Is there anything to take back?
    pub armed: bool,
    cwnd: f64,
    ssthresh: f64,
    /// Next byte to send when it began: what was sent by then was sent before anything was sent again.
    pub end: u64,
    /// When the first segment, which timed out, was sent first; `u64::MAX` if it had been sent again before.
    pub head_sent_at: u64,
    /// Copies sent that the receiver has not reported as duplicates.
    pub undo_retrans: u32,
    /// Has one been sent?
    pub sent: bool,
}

impl Undo {
    /// A recovery begins. The window is as before it.
    pub fn arm(window: &Window, end: u64) -> Self {
        Self {
            armed: true,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            end,
            head_sent_at: u64::MAX,
            undo_retrans: 0,
            sent: false,
        }
    }

    /// A segment is sent again.
    pub fn on_retransmit(&mut self) {
        self.undo_retrans += 1;
        self.sent = true;
    }

    /// The receiver reported a duplicate. Returns whether all retransmissions were needless.
    pub fn on_dsack(&mut self) -> bool {
        self.undo_retrans = self.undo_retrans.saturating_sub(1);
        self.armed && self.sent && self.undo_retrans == 0
    }

    /// Takes the reduction back.
    pub fn restore(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
        window.ssthresh = window.ssthresh.max(self.ssthresh);
        self.armed = false;
    }
}
