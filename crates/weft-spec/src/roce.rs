//! Settings of RDMA over converged Ethernet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Rate, Size, Time};

/// Settings of a transport of kind "roce". Those of DCQCN have the defaults of its paper (Zhu et al., SIGCOMM
/// 2015) if it names one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Roce")]
pub struct RoceSpec {
    /// Retransmission of lost packets.
    #[serde(default)]
    pub retransmission: RoceRetransmission,
    /// Congestion control.
    #[serde(default)]
    pub control: RoceControlName,
    /// Size of a full packet with its headers of 62 bytes. The default is "1086B": 1024 bytes are the largest
    /// payload of InfiniBand that fits into an Ethernet frame of 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
    /// Number of packets in order per acknowledgement. The default is 1, as in the simulators of HPCC and IRN. The
    /// last packet that a flow may send is always acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ack_every: Option<u32>,
    /// Limit of the bytes that are not acknowledged, such as the bandwidth-delay product of IRN. There is none by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// Timeout since the last progress. The default is "67108864ns", 4.096 us x 2^14: the exponent of InfiniBand
    /// that is usual. IRN has 320 us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<Time>,
    /// DCQCN: minimum time between two congestion notifications of a flow. The default is "50us" (section 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Time>,
    /// DCQCN: time without a notification after which the reduction factor decays. The default is "55us" (section
    /// 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha_interval: Option<Time>,
    /// DCQCN: weight g of a notification in the reduction factor, above 0, up to 1. The default is 1/256 (section
    /// 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gain: Option<f64>,
    /// DCQCN: period of the timer that increases the rate. The default is "55us" (section 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increase_interval: Option<Time>,
    /// DCQCN: bytes after which the byte counter increases the rate. The default is "10MB" (section 5.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Size>,
    /// DCQCN: number F of increases in fast recovery, by timer or byte counter. The default is 5 (section 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub fast_recovery: Option<u32>,
    /// DCQCN: step of the target rate after fast recovery. The default is "40Mbps" (section 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increase: Option<Rate>,
    /// DCQCN: step of the target rate once timer and byte counter are beyond fast recovery. The default is
    /// "400Mbps": ten times `increase`, as in QCN (IEEE 802.1Qau), because the paper has no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyper_increase: Option<Rate>,
    /// DCQCN: smallest rate of a flow. The default is "10Mbps", that of QCN, because the paper has no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// DCQCN: first rate of a flow. The default is the rate of the host's link (section 3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rate: Option<Rate>,
}

/// Retransmission of RDMA over converged Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoceRetransmission {
    /// The receiver discards packets that are out of order, and the sender repeats all from the missing one on.
    #[default]
    GoBackN,
    /// The receiver keeps packets that are out of order, and the sender repeats the missing ones (IRN, Mittal et
    /// al., SIGCOMM 2018).
    SelectiveRepeat,
}

/// Congestion control of RDMA over converged Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoceControlName {
    /// DCQCN: marks of switches reduce the rate of a flow.
    #[default]
    Dcqcn,
    /// Flows send at the rate of the host's link.
    None,
}
