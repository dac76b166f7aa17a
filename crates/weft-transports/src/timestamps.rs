//! Errors of the timestamps of NICs, for transports that read delays.

use weft_spec::{SpecError, Time, refuse};

/// Largest step and noise.
const MAX_TIMESTAMP_ERROR: Time = Time::from_ms(1);

/// The errors of timestamps; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimestampErrors {
    /// Unit of the clock; 0 for exact times.
    pub step: Time,
    /// Standard deviation of the random error of each timestamp, which is normally distributed.
    pub noise: Time,
    /// Largest rate error of a clock in parts per million.
    pub clock_error: u32,
}

impl TimestampErrors {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        for (field, time) in [("timestamp_step", self.step), ("timestamp_noise", self.noise)] {
            if time > MAX_TIMESTAMP_ERROR {
                let allowed = format!("at most {MAX_TIMESTAMP_ERROR}");
                return refuse(field, time, allowed);
            }
        }
        Ok(())
    }
}
