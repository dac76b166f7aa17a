//! The ECN echo of a receiver: ECE until CWR arrives (RFC 3168, section 6.1.3), the mark of the last
//! segment (RFC 8257, section 3.2), or XMP's number of marks.

use weft_cc::Echo;

use super::wire::{COUNT_MASK, COUNT_SHIFT, ECE};

/// The state of a subflow's echo.
pub struct EcnEcho {
    /// The echo that the sender's congestion control asks for.
    kind: Echo,
    /// DCTCP: true if the last segment was marked. Classic ECN: true if ECE is latched.
    ce: bool,
    /// Marks not echoed yet.
    marks: u32,
}

/// The effect of a segment's mark on its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoEffect {
    /// True if the segment is acknowledged immediately.
    pub immediate: bool,
    /// True if ECE was latched.
    pub latched: bool,
}

impl EcnEcho {
    /// Creates the state before any segment has arrived.
    pub fn new(kind: Echo) -> Self {
        Self {
            kind,
            ce: false,
            marks: 0,
        }
    }

    /// Returns true if DCTCP's state changes with a segment that is marked or not.
    #[inline(always)]
    pub fn is_changed_by(&self, marked: bool) -> bool {
        self.kind == Echo::Dctcp && marked != self.ce
    }

    /// Handles a segment that is marked or not, and that carries CWR or not.
    #[inline(always)]
    pub fn on_segment(&mut self, marked: bool, cwr: bool) -> EchoEffect {
        match self.kind {
            Echo::Off => EchoEffect::default(),
            Echo::Dctcp => EchoEffect {
                immediate: std::mem::replace(&mut self.ce, marked) != marked,
                latched: false,
            },
            Echo::Classic => {
                let latched = marked && !self.ce;
                self.ce = marked || (self.ce && !cwr);
                EchoEffect {
                    // Linux: the window is small, or will be.
                    immediate: cwr,
                    latched,
                }
            }
            Echo::Count => {
                self.marks += u32::from(marked);
                EchoEffect::default()
            }
        }
    }

    /// Returns the flags of an acknowledgement that echo the marks.
    #[inline(always)]
    pub fn take_flags(&mut self) -> u16 {
        match self.kind {
            Echo::Off => 0,
            Echo::Dctcp | Echo::Classic => {
                if self.ce {
                    ECE
                } else {
                    0
                }
            }
            Echo::Count => {
                let count = self.marks.min(u32::from(COUNT_MASK));
                self.marks -= count;
                (count as u16) << COUNT_SHIFT | if count > 0 { ECE } else { 0 }
            }
        }
    }
}
