//! Packet trimming: a packet that does not fit is cut to its header. Handley et al., "Re-architecting
//! datacenter networks and stacks for low latency and high performance" (NDP, SIGCOMM 2017), and Ultra
//! Ethernet 1.0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{QueueSize, Size, SpecError};

use super::red::{check_ramp, ramp};
use super::{QueueParameters, Red, RedAt};
use crate::QueueConfig;

/// A FIFO of data and a FIFO of headers per port. Data that does not fit is cut to its header, which
/// informs the receiver or the sender of the loss. Packets without payload join the headers. `limit` is the
/// capacity for data; an Ultra Ethernet network has that of one bandwidth-delay product. TCP discards headers,
/// so that packets which are cut count as lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trimming {
    /// Size of a header that is left of a packet. Packets up to this size join the headers as they are.
    /// The default is that of NDP and of the UEC's simulator.
    #[serde(default = "default_size")]
    pub size: Size,
    /// Capacity for headers. By default it is twice the `limit` of the port, as in the UEC's simulator, but at
    /// least what the transports of the experiment need. Kind `ndp` needs as many bytes of headers as of
    /// data: 1,125 headers next to 8 packets of 9 KB (section 3.2.4 of the paper).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<QueueSize>,
    /// Number of headers that are sent per data packet while both wait; NDP has 10. By default, headers
    /// are always sent first. The UEC's simulator has 100,000, which is as good as always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ratio: Option<u32>,
    /// The packet that is cut. The default is that of NDP and of the UEC's simulator.
    #[serde(default)]
    pub victim: Victim,
    /// The destination of headers. The default is that of NDP and of Ultra Ethernet.
    #[serde(default)]
    pub to: TrimTo,
    /// The fate of a header for which there is no room. `to = "sender"` returns every header, so it excludes "return".
    #[serde(default)]
    pub overflow: Overflow,
    /// Data left behind, up to which no data packet is marked when its transmission begins. From there to
    /// `mark_max`, the probability rises from 0 to 1. The UEC's simulator has a fifth of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_min: Option<QueueSize>,
    /// Data left behind, from which every data packet is marked, in the unit of `mark_min`. The UEC's
    /// simulator has four fifths of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_max: Option<QueueSize>,
}

/// The packet that is cut if a packet does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// With equal probability, the packet that arrives or the last one that waits. Packets of a flow that
    /// arrives in step with another are then not always the ones that are cut.
    #[default]
    Random,
    /// The packet that arrives.
    Arriving,
}

/// The destination of headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrimTo {
    /// The receiver of the packet.
    #[default]
    Receiver,
    /// The sender of the packet, on a shortest path from the switch. A host's own port still sends headers
    /// to the receiver.
    Sender,
}

/// The fate of a header for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The header is dropped.
    #[default]
    Drop,
    /// The header goes to the sender of the packet, on a shortest path from the switch, as in NDP. On its way, queues
    /// have room for it. Hosts' own ports drop it.
    Return,
}

const fn default_size() -> Size {
    Size(64)
}

/// Minimum of `size`: an Ethernet frame.
const MIN_SIZE: u64 = 64;

impl Trimming {
    pub(crate) const ABOUT: &str =
        "a FIFO of data per port that cuts packets to headers, which a second FIFO sends before data";

    /// Returns the capacity for headers of a port.
    pub fn header_limit(&self, port: QueueConfig) -> QueueSize {
        self.headers.unwrap_or(match port.limit {
            QueueSize::Packets(limit) => QueueSize::Packets(limit.saturating_mul(2)),
            QueueSize::Bytes(limit) => QueueSize::Bytes(limit.saturating_mul(2)),
        })
    }

    /// Returns the ramp of marks, if there is one.
    pub fn ramp(&self) -> Option<Red> {
        ramp([self.mark_min, self.mark_max], 1.0, RedAt::Dequeue)
    }
}

impl QueueParameters for Trimming {
    fn check(&self) -> Result<(), SpecError> {
        if !(MIN_SIZE..=u64::from(u16::MAX)).contains(&self.size.0) {
            let allowed = format!("{MIN_SIZE}B to {}B", u16::MAX);
            return Err(SpecError::new("size", self.size.to_string(), allowed));
        }
        if let Some(limit @ (QueueSize::Packets(0) | QueueSize::Bytes(0))) = self.headers {
            let given = format!("{limit} drops every header");
            return Err(SpecError::new("headers", given, "packets or bytes above 0"));
        }
        if let Some(limit) = self
            .headers
            .filter(|&limit| limit < QueueSize::Bytes(self.size.0))
        {
            let given = format!("{limit} is less than a header of {}", self.size);
            return Err(SpecError::new(
                "headers",
                given,
                format!("at least {}", self.size),
            ));
        }
        if self.to == TrimTo::Sender && self.overflow == Overflow::Return {
            let problem = "\"return\" has no effect with to = \"sender\"";
            return Err(SpecError::conflict("overflow", problem, "remove one of them"));
        }
        if self.ratio == Some(0) {
            return Err(SpecError::new("ratio", "0", "at least 1"));
        }
        check_ramp([self.mark_min, self.mark_max])
    }

    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        let limit = port.limit;
        match self.mark_min {
            Some(min) if min > limit => {
                let given = format!("{min} is above the limit of {limit}");
                Err(SpecError::new("mark_min", given, format!("at most {limit}")))
            }
            _ => Ok(()),
        }
    }

    fn marks(&self) -> bool {
        self.mark_min.is_some()
    }

    fn trims_to(&self) -> Option<u32> {
        Some(self.size.0 as u32)
    }
}
