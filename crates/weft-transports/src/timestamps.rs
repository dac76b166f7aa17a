//! Errors of the timestamps of NICs, for transports that read delays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time};

/// Largest rate error of a clock in parts per million, larger than that of any real clock.
const MAX_CLOCK_ERROR: u32 = 1_000;
/// Largest step and noise.
const MAX_TIMESTAMP_ERROR: Time = Time::from_ms(1);

/// The errors of timestamps; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimestampErrors {
    /// Unit of the clock; 0 for exact times.
    pub step: Time,
    /// Standard deviation of the random error of each timestamp.
    pub noise: Time,
    /// Distribution of that error.
    pub distribution: NoiseDistribution,
    /// Largest rate error of a clock in parts per million.
    pub clock_error: u32,
}

/// Distribution of the random error of a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoiseDistribution {
    /// The normal distribution.
    #[default]
    Normal,
    /// The uniform distribution, up to 1.73 standard deviations.
    Uniform,
}

impl TimestampErrors {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        for (field, time) in [("timestamp_step", self.step), ("timestamp_noise", self.noise)] {
            if time > MAX_TIMESTAMP_ERROR {
                let allowed = format!("at most {MAX_TIMESTAMP_ERROR}");
                return Err(SpecError::new(field, time.to_string(), allowed));
            }
        }
        if self.clock_error > MAX_CLOCK_ERROR {
            let allowed = format!("0 to {MAX_CLOCK_ERROR}");
            return Err(SpecError::new(
                "clock_error",
                self.clock_error.to_string(),
                allowed,
            ));
        }
        Ok(())
    }
}
