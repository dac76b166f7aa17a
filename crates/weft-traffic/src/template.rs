//! The common fields of flows that open at about the same time.

use rand::Rng;
use weft_spec::{Size, SpecError, Time, conflict};

use crate::{Flow, PatternContext, random};

/// A template of flows of one size that open at a time or slightly later.
pub(crate) struct FlowTemplate {
    size: Option<Size>,
    start: Time,
    jitter: Time,
}

impl FlowTemplate {
    /// # Errors
    /// Returns an error at `size` if it is 0, and at `jitter` if it overflows.
    pub fn new(size: Option<Size>, start: Time, jitter: Time) -> Result<Self, SpecError> {
        size.map_or(Ok(()), |size| size.above_zero("size"))?;
        if start.0.checked_add(jitter.0).is_none() {
            let problem = "the sum of start and jitter is too large";
            return conflict("jitter", problem, "use smaller times");
        }
        Ok(Self { size, start, jitter })
    }

    /// Returns the next flow, which opens later than the start by a random time.
    pub fn flow(&self, context: &PatternContext<'_>, from: u32, to: u32, rng: &mut impl Rng) -> Flow {
        let start = Time(self.start.0 + random::uniform_up_to(self.jitter, rng).0);
        context.flow(from, to, self.size, start)
    }
}
