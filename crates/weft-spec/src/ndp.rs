//! Settings of NDP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Size, Time};

/// Settings of a transport of kind "ndp". Defaults are those of the paper: Handley et al., "Re-architecting datacenter
/// networks and stacks for low latency and high performance", SIGCOMM 2017.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ndp")]
#[serde(deny_unknown_fields)]
pub struct NdpSpec {
    /// Number of packets that a flow sends at the rate of its host's link without being asked. The default is 30
    /// (section 6.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub initial_window: Option<u32>,
    /// Size of a full packet with its header of 64 bytes. The default is "9064B", which carries the 9000 bytes of the
    /// paper's packets (section 6.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Size>,
    /// Rate of pulls as a share of the rate at which the receiver's link carries full packets. The default is 1
    /// (section 3.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_rate: Option<f64>,
    /// Time after which a packet of whose fate nothing is known is sent again. The default is 2.5 times the longest
    /// round-trip time with full queues, and the time that a full queue of headers takes. The paper has a round-trip time
    /// of 400 us and a timeout of 1 ms (section 3.2.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<Time>,
    /// Maximum number of paths that a flow uses. The default is 256; up to this number, a flow uses all paths
    /// (section 3.1.1). With 1, a flow has one path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub paths: Option<u32>,
}
