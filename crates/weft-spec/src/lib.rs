//! What an experiment is.

mod profile;
mod units;

pub use profile::{FctFrom, Profile, Recovery};
pub use units::{Amount, Rate, Size, Time};
