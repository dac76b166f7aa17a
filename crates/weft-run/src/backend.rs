//! The trait of a backend: the code behind a level, which runs experiments.

use weft_fabric::NetworkSize;
use weft_spec::{Spec, SpecError, Time};

use crate::{Counters, Error, Omissions, Outcome, Plan, RunResult, TransportConfig};

/// The code behind a level. `weft-lab` knows backends by this trait and one line of a registry.
pub trait Backend: Sync {
    /// The name of its level in a spec: `level`.
    fn name(&self) -> &'static str;
    /// One line about it.
    fn about(&self) -> &'static str;
    /// Returns true if a spec and a seed always give the same tables.
    fn deterministic(&self) -> bool;
    /// Returns true if a run needs the machine to itself.
    fn exclusive(&self) -> bool;
    /// Returns true if controllers can assign paths to subflows.
    fn supports_controllers(&self) -> bool {
        false
    }
    /// Returns true if applications can write at a rate of their own.
    fn supports_write_rates(&self) -> bool {
        false
    }
    /// Returns true if a spec can choose how rates are shared (`sharing`).
    fn supports_sharing(&self) -> bool {
        false
    }
    /// Tables and columns that its level does not provide.
    fn omissions(&self) -> Omissions {
        Omissions::default()
    }

    /// Fills in fields whose defaults depend on the level.
    ///
    /// # Errors
    /// Fields that contradict each other, by their paths in the spec.
    fn fill_defaults(&self, _spec: &mut Spec) -> Result<(), SpecError> {
        Ok(())
    }
    /// Refuses what this level cannot do, by the field's path.
    ///
    /// # Errors
    /// The first field that asks for something that this level does not have, by its path in the spec.
    fn check(&self, _plan: &Plan) -> Result<(), SpecError> {
        Ok(())
    }

    /// Estimated bytes of memory of an idle network.
    fn network_bytes(&self, size: NetworkSize) -> u64;
    /// Estimated bytes of memory of an open flow.
    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64;
    /// Estimated bytes of memory of a run. The estimate may be rough if the run easily
    /// fits into `available_bytes`. Without `streaming`, rows stay in memory until the end.
    fn estimate_run_bytes(&self, plan: &Plan, streaming: bool, available_bytes: u64) -> u64;

    /// Begins a run.
    ///
    /// # Errors
    /// [`Error::CannotRun`]: a problem that only the whole run shows. [`Error::Option`]: an option that this
    /// level does not have. [`Error::MissingRequirement`]: this machine lacks something that the level needs.
    fn start(&self, plan: Plan, options: Options) -> Result<Box<dyn ActiveRun>, Error>;
}

/// A run in progress.
pub trait ActiveRun {
    /// The granularity of slices: slices that end at its multiples cost nothing.
    fn slice_granularity(&self) -> Time;
    /// Continues up to `end`, or as far as it gets in a moment. Returns the time reached. The results do not
    /// depend on where a run is cut.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn run_until(&mut self, end: Time) -> Result<Time, Error>;
    /// The totals so far.
    fn counters(&self) -> Counters;
    /// Number of threads that would have work if the run started again.
    fn useful_threads(&self) -> usize {
        1
    }
    /// Rows of traces and latencies so far.
    fn sample_rows(&self) -> usize {
        0
    }
    /// Number of rows that [`take_finished`](Self::take_finished) would return, without those of subflows.
    fn finished_rows(&self) -> usize {
        0
    }
    /// Returns the records of flows and jobs that have finished, and drops them from memory. Links and queues
    /// are not included.
    fn take_finished(&mut self) -> Outcome {
        Outcome::default()
    }
    /// Flows of this class that are complete.
    fn completed_flows(&self, class: u32) -> u64;
    /// When the `n`-th flow of this class (from 1) was complete, if that many are.
    fn nth_completion(&self, class: u32, n: u64) -> Option<Time>;
    /// Lines for a reader of the manifest.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// Further entries of the manifest.
    fn manifest_entries(&self) -> Vec<(String, serde_json::Value)> {
        Vec::new()
    }
    /// The results so far, without those already taken by [`take_finished`](Self::take_finished).
    ///
    /// # Errors
    /// Whatever prevents that.
    fn finish(self: Box<Self>) -> Result<RunOutput, Error>;
}

/// The output of a run.
pub enum RunOutput {
    /// Records, from which `weft-lab` builds tables.
    Records(Box<Outcome>),
    /// Tables and manifest that a separate process has built.
    Tables(RunResult),
}

/// How to run; nothing here changes the tables.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Worker threads, 1 to [`MAX_THREADS`].
    pub threads: usize,
    /// Hash every event in order at each node (costs a little); the hash is in the manifest.
    pub trace_hash: bool,
}

/// More threads than any machine this runs on has cores.
pub const MAX_THREADS: usize = 1024;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time over the experiment's duration, 0 to 1.
    pub fraction: f64,
    /// Simulated time.
    pub simulated: Time,
    /// Packet-hops so far: one packet (data or ACK) over one link.
    pub packet_hops: u64,
    /// Wall-clock seconds so far.
    pub wall_seconds: f64,
}
