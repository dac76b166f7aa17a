//! Undoing recoveries that proved spurious: Eifel (RFC 3522, RFC 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

/// Whether a recovery may still prove spurious, and the retransmissions since it began. The window before it is saved in
/// [`Window`](weft_cc::Window).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "the kernel's name")]
pub struct Undo {
    /// True if there is a reduction to undo.
    armed: bool,
    /// Next byte to send when the recovery began: segments sent before that were sent before any
    /// retransmission.
    end: u64,
    /// Time of the first transmission of the first segment, which timed out; `None` if it had
    /// been retransmitted before.
    head_sent_at: Option<u64>,
    /// Retransmissions that the receiver has not reported as duplicates (`undo_retrans`).
    undo_retrans: u32,
    /// True if there was a retransmission.
    sent: bool,
}

impl Undo {
    /// Prepares the undo of a recovery that begins. `end` is the next byte to send, `head_sent_at`
    /// the time at which the first segment was sent if it timed out and was sent only once. The
    /// caller saves the window.
    pub fn arm(end: u64, head_sent_at: Option<u64>) -> Self {
        Self {
            armed: true,
            end,
            head_sent_at,
            undo_retrans: 0,
            sent: false,
        }
    }

    /// Drops what was to be undone.
    pub fn disarm(&mut self) {
        self.armed = false;
    }

    /// Returns the byte before which data was sent before any retransmission; `None` if there is
    /// nothing to undo.
    pub fn end(&self) -> Option<u64> {
        self.armed.then_some(self.end)
    }

    /// Returns the time of the first transmission of the first segment, if it timed out and was
    /// sent only once.
    pub fn head_sent_at(&self) -> Option<u64> {
        self.head_sent_at
    }

    /// Counts a retransmission.
    pub fn on_retransmit(&mut self) {
        self.undo_retrans += 1;
        self.sent = true;
    }

    /// Handles a D-SACK. Returns whether all retransmissions were needless.
    pub fn on_dsack(&mut self) -> bool {
        self.undo_retrans = self.undo_retrans.saturating_sub(1);
        self.armed && self.sent && self.undo_retrans == 0
    }
}
