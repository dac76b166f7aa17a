//! Undoing recoveries that proved spurious: Eifel (RFC 3522, RFC 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

use weft_cc::Window;

/// Whether a recovery may still prove spurious, and the retransmissions since it began. The window before it is saved in
/// [`Window`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// True if there is a reduction to undo.
    pub armed: bool,
    /// Next byte to send when the recovery began: segments sent before that were sent before any
    /// retransmission.
    pub end: u64,
    /// Time of the first transmission of the first segment, which timed out; `u64::MAX` if it had
    /// been retransmitted before.
    pub head_sent_at: u64,
    /// Retransmissions that the receiver has not reported as duplicates (`undo_retrans`).
    pub retrans: u32,
    /// True if there was a retransmission.
    pub sent: bool,
}

impl Undo {
    /// Prepares the undo of a recovery that begins, and saves the window before it.
    pub fn arm(window: &mut Window, end: u64) -> Self {
        window.save_prior();
        Self {
            armed: true,
            end,
            head_sent_at: u64::MAX,
            retrans: 0,
            sent: false,
        }
    }

    /// Counts a retransmission.
    pub fn on_retransmit(&mut self) {
        self.retrans += 1;
        self.sent = true;
    }

    /// Handles a D-SACK. Returns whether all retransmissions were needless.
    pub fn on_dsack(&mut self) -> bool {
        self.retrans = self.retrans.saturating_sub(1);
        self.armed && self.sent && self.retrans == 0
    }
}
