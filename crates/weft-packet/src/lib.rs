//! The exact packet-level simulator.

mod outcome;
mod setup;

pub use outcome::{Counters, FlowRecord, LinkRecord, Outcome, QueueRecord, Sample, SubflowRecord};
pub use setup::{Probe, Scheduler, Setup, Transport};
use weft_spec::Time;

/// A packet-level run in progress.
pub struct Simulation {}

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// What cannot be simulated, in words: a path longer than a packet's route field, a flow between unknown hosts.
    pub fn new(setup: Setup) -> Result<Self, String> {
        let _ = setup;
        Ok(Self {})
    }
    /// Simulates up to `end` (all events before it).
    pub fn run_until(&mut self, end: Time) {
        let _ = end;
    }
    /// The totals as they stand; cheap, so that progress can be told after every slice.
    pub fn counters(&self) -> Counters {
        unimplemented!("weft-packet's engine is being written")
    }
    /// The tables as they stand.
    pub fn outcome(&self) -> Outcome {
        unimplemented!("weft-packet's engine is being written")
    }
}
