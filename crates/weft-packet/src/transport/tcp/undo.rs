//! Undoing recoveries that proved spurious: Eifel (RFC 3522, RFC 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

/// Time between two ticks of the clock of Linux's timestamps, in picoseconds.
const TICK: u64 = 1_000_000_000;

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
    /// Time of the first transmission of the first segment; `None` if it had been retransmitted
    /// before.
    head_sent_at: Option<u64>,
    /// Retransmissions that the receiver has not reported as duplicates (`undo_retrans`).
    undo_retrans: u32,
    /// Time of the first retransmission; `None` if there was none (`retrans_stamp`).
    first_retransmit_at: Option<u64>,
}

impl Undo {
    /// Prepares the undo of a recovery that begins. `end` is the next byte to send, `head_sent_at`
    /// the time at which the first segment was sent if it was sent only once. The caller saves the
    /// window.
    pub fn arm(end: u64, head_sent_at: Option<u64>) -> Self {
        Self {
            armed: true,
            end,
            head_sent_at,
            undo_retrans: 0,
            first_retransmit_at: None,
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

    /// Returns the time of the first transmission of the first segment, if it was sent only once.
    pub fn head_sent_at(&self) -> Option<u64> {
        self.head_sent_at
    }

    /// Returns true if the timestamps of the first segment and of the first retransmission differ, so
    /// that an echo shows which one has arrived (`tcp_tsopt_ecr_before`).
    pub fn timestamps_differ(&self) -> bool {
        self.head_sent_at
            .zip(self.first_retransmit_at)
            .is_some_and(|(first, again)| first / TICK < again / TICK)
    }

    /// Counts a retransmission at `now`.
    pub fn on_retransmit(&mut self, now: u64) {
        self.undo_retrans += 1;
        self.first_retransmit_at.get_or_insert(now);
    }

    /// Handles a D-SACK. Returns whether all retransmissions were needless.
    pub fn on_dsack(&mut self) -> bool {
        self.undo_retrans = self.undo_retrans.saturating_sub(1);
        self.armed && self.first_retransmit_at.is_some() && self.undo_retrans == 0
    }
}
