//! The subflows of a connection in rotation, and which of them may be able to send.

/// The subflows that may get the next packet.
#[derive(Clone, Copy, Debug)]
pub enum Candidates {
    /// One subflow: no other one can have become able to send.
    One(usize),
    /// All subflows of the connection.
    All,
}

/// Whether a subflow can send new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The subflow can send new data.
    Ready,
    /// The subflow cannot send, and round robin continues with the next one.
    Skipped,
    /// The SYN/ACK of the subflow has not arrived, and new data waits for it.
    Awaited,
    /// The subflow is closed or not opened, and round robin restarts at subflow 0.
    Unopened,
}

/// The state of round robin.
#[derive(Default)]
pub struct Rotation {
    /// The subflow with which round robin continues.
    next_subflow: u32,
    /// True if subflows other than the one just acknowledged may be able to send.
    checks_all: bool,
}

impl Rotation {
    /// Selects the first of `n` subflows that can send, from `next_subflow` on, and continues after it
    /// the next time. Returns `None` if no subflow can send, or if a subflow before it is awaited; the
    /// next selection then starts there.
    pub fn next(&mut self, n: usize, readiness: impl Fn(usize) -> Readiness) -> Option<usize> {
        let start = self.next_subflow as usize;
        let selectable = |s: &usize| matches!(readiness(*s), Readiness::Ready | Readiness::Awaited);
        let s = (start..n).chain(0..start).find(selectable)?;
        if readiness(s) == Readiness::Awaited {
            self.next_subflow = s as u32;
            return None;
        }
        self.continue_after(s, n);
        if readiness(self.next_subflow as usize) == Readiness::Unopened {
            self.next_subflow = 0;
        }
        Some(s)
    }

    /// Continues after the subflow, of `n`, that sends as the only candidate. Among all candidates, the
    /// selection has done so, even if the host then refuses the packet.
    #[inline(always)]
    pub fn on_send(&mut self, candidates: Candidates, n: usize) {
        if let Candidates::One(s) = candidates {
            self.continue_after(s, n);
        }
    }

    #[inline(always)]
    fn continue_after(&mut self, s: usize, n: usize) {
        self.next_subflow = if s + 1 == n { 0 } else { s as u32 + 1 };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_passes_to_the_subflow_after_the_one_that_sends() {
        let mut rotation = Rotation::default();
        let ready = |s: usize| {
            if s == 1 {
                Readiness::Skipped
            } else {
                Readiness::Ready
            }
        };
        let served: Vec<_> = (0..5).map(|_| rotation.next(3, ready)).collect();
        assert_eq!(served, [0, 2, 0, 2, 0].map(Some));
        rotation.on_send(Candidates::All, 3);
        assert_eq!(rotation.next_subflow, 1);
        rotation.on_send(Candidates::One(2), 3);
        assert_eq!(rotation.next_subflow, 0);
    }

    #[test]
    fn new_data_waits_for_a_subflow_that_joins_and_not_for_an_unopened_one() {
        let mut rotation = Rotation::default();
        let turns = |turns: [Readiness; 3]| move |s: usize| turns[s];
        let joining = turns([Readiness::Ready, Readiness::Awaited, Readiness::Ready]);
        assert_eq!(rotation.next(3, joining), Some(0));
        assert_eq!(rotation.next(3, joining), None);
        assert_eq!(rotation.next(3, turns([Readiness::Ready; 3])), Some(1));
        let mut rotation = Rotation::default();
        let unopened = turns([Readiness::Ready, Readiness::Unopened, Readiness::Unopened]);
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, turns([Readiness::Skipped; 3])), None);
    }
}
