//! The trait of a backend: the code behind a level, which runs experiments.

use weft_fabric::NetworkSize;
use weft_spec::{Spec, SpecError, Time};
use weft_transports::TransportConfig;

use crate::{Counters, Error, Outcome, Plan, ProvidedTables, RunResult, WireFormat};

/// A level at which experiments run, and what specs may have there.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Level {
    /// Name in a spec: `level`.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// True if a spec and a seed always give the same tables.
    pub deterministic: bool,
    /// True if only one run at a time may use the machine.
    pub exclusive: bool,
    /// The features that its specs may use.
    #[serde(skip)]
    pub features: &'static [Feature],
}

/// A part of a spec that not all levels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Controllers, which assign paths to subflows.
    Controllers,
    /// Applications that write at a rate of their own.
    WriteRates,
    /// The choice of how rates are shared (`sharing`).
    Sharing,
    /// Queues of other kinds than "fifo".
    QueueKinds,
}

/// The code behind a level. `weft-lab` uses backends only through this trait and a line of a
/// registry.
pub trait Backend: Sync {
    /// Returns the level.
    fn level(&self) -> &'static Level;
    /// Returns true if specs of the level may use a feature.
    fn has(&self, feature: Feature) -> bool {
        self.level().features.contains(&feature)
    }
    /// Returns the names of the kinds of transport that the level has.
    fn transport_kinds(&self) -> Vec<&'static str> {
        vec!["tcp"]
    }
    /// Returns the tables and columns that the level provides.
    fn provides(&self) -> ProvidedTables {
        ProvidedTables::All
    }

    /// Fills in fields whose defaults depend on the level.
    ///
    /// # Errors
    /// Returns an error if fields contradict each other, with a path in the spec.
    fn fill_defaults(&self, _spec: &mut Spec) -> Result<(), SpecError> {
        Ok(())
    }
    /// Checks that the level supports every field of the plan.
    ///
    /// # Errors
    /// Returns an error for the first field that the level does not support, with its path in the
    /// spec.
    fn check(&self, _plan: &Plan) -> Result<(), SpecError> {
        Ok(())
    }

    /// Returns the estimated bytes of memory of an idle network.
    fn network_bytes(&self, size: NetworkSize) -> u64 {
        size.fabric_bytes()
    }
    /// Returns the estimated bytes of memory of an open flow.
    fn open_flow_bytes(&self, _transport: &TransportConfig) -> u64 {
        0
    }
    /// Returns the estimated bytes of memory of a run. The estimate may be rough if the run easily
    /// fits into `available_bytes`. Without `streaming`, rows stay in memory until the end.
    fn estimate_run_bytes(&self, _plan: &Plan, _streaming: bool, _available_bytes: u64) -> u64 {
        0
    }

    /// Returns the packets of a transport on the wire, from which the FCT of a flow that is alone follows; `None` if
    /// the level does not determine them.
    fn wire_format(&self, _transport: &TransportConfig) -> Option<WireFormat> {
        None
    }

    /// Starts a run.
    ///
    /// # Errors
    /// Returns [`Error::CannotRun`] for a problem that shows only in the whole run, and
    /// [`Error::Option`] for an option that this level does not have. Returns
    /// [`Error::MissingRequirement`] if this machine lacks something that the level needs.
    fn start(&self, plan: Plan, options: RunOptions) -> Result<Box<dyn ActiveRun>, Error>;
}

/// A run in progress.
pub trait ActiveRun {
    /// Returns the granularity of slices: slices that end at its multiples cost nothing.
    fn slice_granularity(&self) -> Time;
    /// Continues up to `end`, or as far as the run gets in a short time. Returns the time reached.
    /// The results do not depend on the ends of slices.
    ///
    /// # Errors
    /// Returns an error if the run cannot continue.
    fn run_until(&mut self, end: Time) -> Result<Time, Error>;
    /// Returns the totals so far.
    fn counters(&self) -> Counters;
    /// Returns the number of packet-hops so far, for reports of progress.
    fn packet_hops(&self) -> u64 {
        self.counters().packet_hops
    }
    /// Returns the maximum number of threads that the run uses.
    fn threads(&self) -> usize {
        1
    }
    /// Returns the application bytes that have been delivered, each counted once, by flow, without flows that were
    /// taken by [`take_finished`](Self::take_finished).
    fn delivered_bytes(&self) -> Vec<(u32, u64)> {
        Vec::new()
    }
    /// Returns the number of rows of traces and latencies so far.
    fn sample_rows(&self) -> usize {
        0
    }
    /// Returns the number of rows that [`take_finished`](Self::take_finished) would return, without
    /// those of subflows.
    fn finished_rows(&self) -> usize {
        0
    }
    /// Returns the records of flows and jobs that have finished, and drops them from memory. Links
    /// and queues are not included.
    fn take_finished(&mut self) -> Outcome {
        Outcome::default()
    }
    /// Returns the number of flows of this class that are complete.
    fn completed_flows(&self, class: u32) -> u64;
    /// Returns the time at which the `n`-th flow of this class (from 1) was complete; `None` if
    /// fewer flows are.
    fn nth_completion(&self, class: u32, n: u64) -> Option<Time>;
    /// Returns lines for a reader of the manifest.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// Returns additional entries of the manifest.
    fn manifest_entries(&self) -> Vec<(String, serde_json::Value)> {
        Vec::new()
    }
    /// Returns the results so far, without those already taken by
    /// [`take_finished`](Self::take_finished).
    ///
    /// # Errors
    /// Returns an error if the results cannot be collected.
    fn finish(self: Box<Self>) -> Result<RunOutput, Error>;
}

/// The output of a run.
pub enum RunOutput {
    /// Records, from which `weft-lab` builds tables.
    Records(Box<Outcome>),
    /// Tables and manifest that a separate process has built.
    Tables(RunResult),
}

/// Options of a run; none of them changes the tables.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Maximum number of worker threads, 1 to [`MAX_THREADS`]. The run starts with one thread and uses more
    /// while that is faster. By default, a packet-level run may use all cores.
    pub threads: Option<usize>,
    /// Hash all events at each node, in order (at a small cost); the hash is part of the manifest.
    pub trace_hash: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: Some(1),
            trace_hash: false,
        }
    }
}

/// Maximum number of threads, above the number of cores of any machine.
pub const MAX_THREADS: usize = 1024;

/// The progress of a run.
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
