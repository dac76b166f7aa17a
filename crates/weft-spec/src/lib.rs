//! What an experiment is.

mod error;
mod profile;
mod units;

pub use error::SpecError;
pub use profile::{FctFrom, Profile, Recovery};
pub use units::{Amount, Rate, Size, Time};
