//! A FIFO whose link loses packets at random or periodically, such as the error models of ns-3
//! (`RateErrorModel`) and the option `loss` of Linux's `netem`. The engine loses the packets, in
//! `losses.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::SpecError;

use crate::buffer::Buffers;
use crate::contract::{Build, QueueParameters, Site};
use crate::fifo::Plain;

/// A FIFO that drops above `limit` and marks from `mark` on, and whose link loses packets of all sorts.
/// A lost packet has waited and has taken its time on the link. Packets that a profile exempts from drops
/// are never lost. Set `loss` or `every`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossy {
    /// Probability that a packet is lost, independently of other packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// Distance between two lost packets: the link loses each packet whose number is a multiple of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u32>,
}

impl Lossy {
    pub(crate) const ABOUT: &str = "a FIFO per port whose link loses packets at random, or every n-th packet";
}

impl QueueParameters for Lossy {
    fn check(&self) -> Result<(), SpecError> {
        match (self.loss, self.every) {
            (None, None) => Err(SpecError::conflict(
                "",
                "the rule of the losses is missing",
                "set loss or every",
            )),
            (Some(_), Some(_)) => Err(SpecError::conflict(
                "every",
                "loss is given too",
                "remove one of the two",
            )),
            (Some(loss), _) if !(0.0..=1.0).contains(&loss) => {
                Err(SpecError::new("loss", loss.to_string(), "0 to 1"))
            }
            (_, Some(0)) => Err(SpecError::new("every", "0", "1 or more")),
            _ => Ok(()),
        }
    }
}

impl Build for Lossy {
    type Queue = Plain;

    fn build(&self, _: &Site, _: &mut Buffers) -> Plain {
        Plain
    }
}
