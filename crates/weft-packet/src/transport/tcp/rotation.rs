//! The subflows of a connection in rotation, and which of them may be able to send.

/// The subflows that may get the next packet.
#[derive(Clone, Copy, Debug)]
pub enum Candidates {
    /// One subflow: no other one can have become able to send.
    One(usize),
    /// All subflows of the connection.
    All,
}

/// The state of a subflow at its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It can send new data.
    Ready,
    /// It cannot, and the next one has its turn.
    Skipped,
    /// It cannot yet, and new data waits for it: its SYN/ACK has not arrived.
    Awaited,
    /// It and all after it have not been opened.
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
    /// Selects the first of `n` subflows that can send, from the one whose turn it is, and passes the
    /// turn to the subflow after it. Returns `None` if no subflow can send, or if one before it is
    /// awaited, whose turn it stays. Unopened subflows have no turn.
    pub fn next(&mut self, n: usize, turn_of: impl Fn(usize) -> Turn) -> Option<usize> {
        let start = self.next_subflow as usize;
        let selectable = |s: &usize| matches!(turn_of(*s), Turn::Ready | Turn::Awaited);
        let s = (start..n).chain(0..start).find(selectable)?;
        if turn_of(s) == Turn::Awaited {
            self.next_subflow = s as u32;
            return None;
        }
        self.pass_turn(s, n);
        if turn_of(self.next_subflow as usize) == Turn::Unopened {
            self.next_subflow = 0;
        }
        Some(s)
    }

    /// Passes the turn when one of `n` subflows sends that was the only candidate. Among all
    /// candidates, the turn has passed at the selection, even if the host then refuses the packet.
    #[inline(always)]
    pub fn on_send(&mut self, candidates: Candidates, n: usize) {
        if let Candidates::One(s) = candidates {
            self.pass_turn(s, n);
        }
    }

    #[inline(always)]
    fn pass_turn(&mut self, s: usize, n: usize) {
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
        let ready = |s: usize| if s == 1 { Turn::Skipped } else { Turn::Ready };
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
        let turns = |turns: [Turn; 3]| move |s: usize| turns[s];
        let joining = turns([Turn::Ready, Turn::Awaited, Turn::Ready]);
        assert_eq!(rotation.next(3, joining), Some(0));
        assert_eq!(rotation.next(3, joining), None);
        assert_eq!(rotation.next(3, turns([Turn::Ready; 3])), Some(1));
        let mut rotation = Rotation::default();
        let unopened = turns([Turn::Ready, Turn::Unopened, Turn::Unopened]);
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, turns([Turn::Skipped; 3])), None);
    }
}
