//! The times at which the additional subflows of a connection join (RFC 8684, section 3.2).

/// The joins of a connection.
pub struct JoinSchedule {
    /// Number of acknowledged chunks after which the additional subflows join.
    after: u32,
    /// Time at which the additional subflows started to join.
    started: Option<u64>,
    /// True if a join in progress may hold back new data (`round_robin_waits_for_join`).
    holds_back: bool,
}

impl JoinSchedule {
    /// Creates the schedule of a connection whose additional subflows join after this many
    /// acknowledged chunks.
    pub fn new(after: u32) -> Self {
        Self {
            after,
            started: None,
            holds_back: false,
        }
    }

    /// Returns true if the joins start when all chunks before `una` are acknowledged.
    #[inline(always)]
    pub fn starts_at(&self, una: u32) -> bool {
        self.started.is_none() && una >= self.after
    }

    /// Records that the joins start.
    pub fn start(&mut self, now: u64) {
        self.started = Some(now);
    }

    /// Returns the time at which the joins started.
    pub fn started(&self) -> Option<u64> {
        self.started
    }

    /// Returns true if a join in progress may hold back new data.
    #[inline(always)]
    pub fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Sets whether a join in progress may hold back new data.
    pub fn set_holds_back(&mut self, holds_back: bool) {
        self.holds_back = holds_back;
    }
}
