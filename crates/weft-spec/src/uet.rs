//! Settings of the Ultra Ethernet transport.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Size, Time};

/// Settings of a transport of kind "uet". Defaults are those of the UEC's simulator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Uet")]
pub struct UetSpec {
    /// Congestion control: a window of the sender, credit of the receiver, or both.
    #[serde(default)]
    pub control: UetControl,
    /// Load balancing, which chooses the entropy value of each packet.
    #[serde(default)]
    pub load_balancing: UetLoadBalancing,
    /// Number of entropy values of a flow: a power of two up to 65536. With 1, a flow has one path. The default
    /// is 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub entropies: Option<u32>,
    /// Size of a full packet with its header of 64 bytes. The default is "4150B".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
    /// Size of the messages that a flow sends one after another. A packet carries data of one message only.
    /// By default, all data of a flow is one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_size: Option<Size>,
    /// Bytes on the wire after which a receiver acknowledges. The default is "16384B", which the fourth full packet
    /// reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_bytes: Option<Size>,
    /// Initial window. The default is the maximum window, 1.5 bandwidth-delay products of `network_rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Size>,
    /// Longest unloaded round-trip time, which all constants derive from. The default is that of a full packet
    /// and a header on the longest path. Up to 16 paths per pair are searched, from the first 64 hosts to the last 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_rtt: Option<Time>,
    /// Queueing delay that the window aims at. The default is 0.75 `network_rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_delay: Option<Time>,
    /// Timeout. The default is 15 us and the time that six full queues of a switch take to empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<Time>,
    /// Factor by which the hosts of a switch can exceed its other links. Above 1, control "receiver" lowers the
    /// rate of pulls when packets are marked or trimmed inside the network. The default is that of the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub oversubscription: Option<f64>,
    /// Whether four quirks of the UEC's simulator are reproduced. Reports of trimmed packets lower the base
    /// round-trip time, entropy value 0 is blamed for timeouts, and requests to send have no minimum distance if
    /// only credit limits a flow. A repeated request does not ask the receiver for credit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulator_quirks: bool,
}

/// Congestion control of the Ultra Ethernet transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UetControl {
    /// A window of the sender (NSCC).
    #[default]
    Sender,
    /// Credit of the receiver (RCCC).
    Receiver,
    /// A window and credit.
    Both,
}

impl UetControl {
    /// Returns true if a window limits flows.
    pub fn has_window(self) -> bool {
        self != Self::Receiver
    }

    /// Returns true if credit limits flows.
    pub fn has_credit(self) -> bool {
        self != Self::Sender
    }
}

/// Load balancing of the Ultra Ethernet transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UetLoadBalancing {
    /// All entropy values in turn, without feedback.
    Oblivious,
    /// All entropy values in turn; those whose packets were marked, trimmed or lost are skipped.
    Bitmap,
    /// Entropy values whose packets arrived without a mark are used again, from a ring of eight; otherwise
    /// random ones.
    Reps,
    /// Entropy values whose packets arrived without a mark are used again, without a limit; otherwise those of
    /// "bitmap".
    #[default]
    Mixed,
}
