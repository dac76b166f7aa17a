//! The times at which a connection opened, was established, finished and closed (RFC 8684, section
//! 3.3.3).

/// The times of a connection.
pub struct Lifetime {
    opened: u64,
    established: Option<u64>,
    finished: Option<u64>,
    closing: Closing,
}

/// Whether the subflows of a connection close when all data is sent (`full_handshakes`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// No subflow closes.
    Never,
    /// Data is left to send.
    NotYet,
    /// The last subflow closes at this time.
    Until(u64),
}

impl Lifetime {
    /// Creates the times of a connection that opens at `now`. `closes` is true if its subflows close
    /// when all data is sent.
    pub fn new(now: u64, closes: bool) -> Self {
        Self {
            opened: now,
            established: None,
            finished: None,
            closing: if closes { Closing::NotYet } else { Closing::Never },
        }
    }

    /// Returns the time at which the connection was opened.
    #[inline(always)]
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Returns the time at which subflow 0 was established.
    pub fn established(&self) -> Option<u64> {
        self.established
    }

    /// Returns the time at which the last chunk was acknowledged.
    pub fn finished(&self) -> Option<u64> {
        self.finished
    }

    /// Returns true if the last chunk was acknowledged.
    pub fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// Returns the time for which the connection was open until `now`.
    pub fn open_time(&self, now: u64) -> u64 {
        let end = self.finished.map_or(now, |finished| finished.min(now));
        end.saturating_sub(self.opened)
    }

    /// Records that subflow 0 is established.
    pub fn on_established(&mut self, now: u64) {
        self.established = Some(now);
    }

    /// Records that the last chunk is acknowledged.
    pub fn on_finished(&mut self, now: u64) {
        self.finished = Some(now);
    }

    /// Begins to close the subflows. Returns false if they do not close, or close already.
    pub fn begin_close(&mut self, now: u64) -> bool {
        let begins = self.closing == Closing::NotYet;
        if begins {
            self.closing = Closing::Until(now);
        }
        begins
    }

    /// Sets the time at which the last subflow closes.
    pub fn close_until(&mut self, time: u64) {
        self.closing = Closing::Until(time);
    }

    /// Returns true if all subflows that close have closed before `now`.
    pub fn is_closed(&self, now: u64) -> bool {
        match self.closing {
            Closing::Never => now > 0,
            Closing::NotYet => false,
            Closing::Until(time) => now > time,
        }
    }
}
