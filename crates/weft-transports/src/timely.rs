//! Parameters of TIMELY, a congestion control of RDMA over converged Ethernet (Mittal et al., SIGCOMM 2015), and of its
//! rule with one fixed point (Zhu et al., "ECN or Delay", CoNEXT 2016).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, Size, SpecError, Time, conflict};

/// Factors of a decrease in the paper, and with the rule that has one fixed point.
const BETA: f64 = 0.8;
const PATCHED_BETA: f64 = 0.008;

/// Settings of TIMELY (SIGCOMM 2015), and of its rule with one fixed point (CoNEXT 2016). Defaults are those of the second paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Timely")]
pub struct TimelyConfig {
    /// Events that change the rate.
    pub updates: TimelyUpdates,
    /// Bytes of a segment, whole packets of `mtu` rounded up. The acknowledgement of a segment changes the rate.
    pub segment: Size,
    /// Weight of the newest difference of round-trip times in their average.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub gain: f64,
    /// Factor of a decrease. The default is 0.8, and 0.008 for "patched-timely".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub beta: Option<f64>,
    /// Round-trip time below which the rate increases.
    pub low: Time,
    /// Round-trip time above which the rate decreases whatever its gradient.
    pub high: Time,
    /// Round-trip time by which differences are divided to give the gradient.
    pub min_rtt: Time,
    /// Step of an increase.
    pub increase: Rate,
    /// Number of increases in a row after which one has `hyper_steps` steps.
    pub hyper_after: u32,
    /// Number of steps of a hyperactive increase.
    #[schemars(range(min = 1))]
    pub hyper_steps: u32,
}

/// Events that change the rate of a flow under TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyUpdates {
    /// The acknowledgement of a segment, as in the papers. Increases below `low` have one step and end a row.
    Segment,
    /// The first acknowledgement of a packet that was sent after the last change, as in the simulator of HPCC's authors.
    /// All increases count, also those below `low`.
    RoundTrip,
}

impl Default for TimelyConfig {
    fn default() -> Self {
        Self {
            updates: TimelyUpdates::Segment,
            segment: Size(16_000),
            gain: 0.875,
            beta: None,
            low: Time::from_us(50),
            high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            increase: Rate(10_000_000),
            hyper_after: 5,
            hyper_steps: 5,
        }
    }
}

impl TimelyConfig {
    /// Returns the factor of a decrease.
    pub fn beta(&self, is_patched: bool) -> f64 {
        self.beta.unwrap_or(if is_patched { PATCHED_BETA } else { BETA })
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        self.segment.above_zero("segment")?;
        self.low.above_zero("low")?;
        self.min_rtt.above_zero("min_rtt")?;
        if self.high < self.low {
            let problem = format!("{} and low = {}", self.high, self.low);
            return conflict("high", problem, "set high to low or above");
        }
        Ok(())
    }
}
