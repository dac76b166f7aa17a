//! The subflows of a connection in rotation, and which of them may be able to send.

/// The state of round robin.
#[derive(Default)]
pub struct Rotation {
    /// The subflow with which round robin continues.
    next_subflow: u32,
    /// True if subflows other than the one just acknowledged may be able to send.
    checks_all: bool,
}

impl Rotation {
    /// Returns the subflow with which round robin continues.
    pub fn next_subflow(&self) -> usize {
        self.next_subflow as usize
    }

    /// Continues with subflow `s`.
    #[inline(always)]
    pub fn continue_with(&mut self, s: usize) {
        self.next_subflow = s as u32;
    }

    /// Continues with the subflow after `s`, of `n`.
    #[inline(always)]
    pub fn continue_after(&mut self, s: usize, n: usize) {
        self.continue_with(if s + 1 == n { 0 } else { s + 1 });
    }

    /// Returns true if all subflows are checked at the next transmission.
    #[inline(always)]
    pub fn checks_all(&self) -> bool {
        self.checks_all
    }

    /// Sets whether all subflows are checked at the next transmission.
    #[inline(always)]
    pub fn set_checks_all(&mut self, checks_all: bool) {
        self.checks_all = checks_all;
    }

    /// Checks all subflows at the next transmission if `any` is true.
    #[inline(always)]
    pub fn check_all_if(&mut self, any: bool) {
        self.checks_all |= any;
    }
}
