//! A FIFO with a limit and a marking threshold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::Buffers;
use crate::contract::{Build, Decision, FifoView, QueueParameters, Rule, Site};

/// A FIFO that drops above `limit` and marks from `mark` on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {}

impl Fifo {
    pub(crate) const ABOUT: &str = "a FIFO per port with a limit and a marking threshold (default)";
}

impl QueueParameters for Fifo {}

impl Build for Fifo {
    type Queue = Plain;

    fn build(&self, _: &Site, _: &mut Buffers) -> Plain {
        Plain
    }
}

/// A FIFO with no other rule than its limit and threshold.
#[derive(Clone, Copy)]
pub struct Plain;

impl Rule for Plain {
    fn decides_from(&self, _: u32) -> u32 {
        u32::MAX
    }

    #[inline]
    fn enqueue(&mut self, _: &FifoView<'_>, _: u16, _: &mut Buffers) -> Decision {
        Decision::Accept
    }
}
