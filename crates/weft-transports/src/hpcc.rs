//! Parameters of HPCC, a congestion control of RDMA over converged Ethernet (Li et al., "HPCC: High Precision Congestion
//! Control", SIGCOMM 2019).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::Fabric;
use weft_spec::{Rate, SpecError, Time, conflict};

use crate::fields;
use crate::network::{most_switches, network_rtt};

/// Bytes of telemetry in each packet with data and in each acknowledgement: 2 and 8 per switch (Li et al., SIGCOMM 2019,
/// section 4.1).
pub const TELEMETRY_BYTES: u32 = 2 + 8 * MAX_SWITCHES;
/// Maximum number of switches on a path.
const MAX_SWITCHES: u32 = 5;

/// Additive increase of the window in bytes, that of the paper's simulations (section 5.1).
const INCREASE: u64 = 80;

/// Settings of HPCC. Defaults are those of its authors' simulator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Hpcc")]
pub struct HpccConfig {
    /// Base round-trip time T. The default is the longest round-trip time of the network without queues.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub rtt: Time,
    /// Target utilisation eta of links.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub utilisation: f64,
    /// Maximum number `maxStage` of additive increases in a row, after which the window follows the utilisation.
    pub max_stage: u32,
    /// Additive increase as a rate, `W_AI` / T. The default is that of 80 bytes per `rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase: Option<Rate>,
    /// Whether telemetry has the units of the paper's header: times in ns, bytes sent in units of 128 bytes and queues in units
    /// of 80 bytes per 25 Gbps of a link, all rounded down. By default all values are exact.
    pub quantised: bool,
}

impl Default for HpccConfig {
    fn default() -> Self {
        Self {
            rtt: Time(0),
            utilisation: 0.95,
            max_stage: 5,
            increase: None,
            quantised: false,
        }
    }
}

impl HpccConfig {
    /// Fills in the defaults that follow from the network.
    pub(crate) fn fill_in(&mut self, is_given: impl Fn(&str) -> bool, fabric: &Fabric, mtu: u32) {
        if !is_given("rtt") {
            self.rtt = network_rtt(fabric, mtu);
        }
        let per_rtt = u128::from(INCREASE) * 8_000_000_000_000 / u128::from(self.rtt.0.max(1));
        self.increase.get_or_insert(Rate(per_rtt as u64));
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        self.rtt.above_zero("rtt")
    }

    /// Returns an error if paths have more switches than packets have room for.
    pub(crate) fn check_paths(fabric: &Fabric) -> Result<(), SpecError> {
        let switches = most_switches(fabric);
        if switches <= u64::from(MAX_SWITCHES) {
            return Ok(());
        }
        let problem =
            format!("\"hpcc\" on paths of {switches} switches; packets have room for {MAX_SWITCHES}");
        conflict("control", problem, "use a smaller topology or another control")
    }
}
