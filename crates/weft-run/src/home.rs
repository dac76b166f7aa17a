//! The trait of a home: a level at which experiments run.

use weft_fabric::NetworkSize;
use weft_spec::{Spec, SpecError, Time};

use crate::{Counters, Error, Outcome, Plan, Run, Transport, Untold};

/// A level at which experiments run. The laboratory knows homes by this trait and one line of a registry.
pub trait Home: Sync {
    /// Its name in a spec: `level`.
    fn name(&self) -> &'static str;
    /// One line about it.
    fn about(&self) -> &'static str;
    /// Do a spec and a seed always give the same tables?
    fn exact(&self) -> bool;
    /// Must a run have the machine to itself?
    fn exclusive(&self) -> bool;
    /// Does it let controllers give subflows their paths?
    fn has_controllers(&self) -> bool {
        false
    }
    /// Can applications write at a rate of their own?
    fn has_rates(&self) -> bool {
        false
    }
    /// Can a spec choose how rates are shared (`sharing`)?
    fn shares_rates(&self) -> bool {
        false
    }
    /// Tables and columns that it cannot provide.
    fn untold(&self) -> Untold {
        Untold::default()
    }

    /// Fills in fields whose defaults depend on the level.
    ///
    /// # Errors
    /// Fields that contradict each other, by their paths in the spec.
    fn complete(&self, _spec: &mut Spec) -> Result<(), SpecError> {
        Ok(())
    }
    /// Refuses what this level cannot do, by the field's path.
    ///
    /// # Errors
    /// The first field that asks for something that this level does not have, by its path in the spec.
    fn check(&self, _plan: &Plan) -> Result<(), SpecError> {
        Ok(())
    }

    /// Bytes that a network takes.
    fn bytes_of_network(&self, size: NetworkSize) -> u64;
    /// Bytes that an open flow takes.
    fn bytes_of_flow(&self, transport: &Transport) -> u64;
    /// Estimated bytes that a run takes. `room` is the available memory: the estimate may be rough if the run
    /// fits easily. Without `streaming`, rows stay in memory until the end.
    fn bytes_of_run(&self, plan: &Plan, streaming: bool, room: u64) -> u64;

    /// Begins a run.
    ///
    /// # Errors
    /// [`Error::Refused`]: a problem that only the whole run shows. [`Error::Option`]: an option that this
    /// level does not have. [`Error::Missing`]: this machine lacks something that the level needs.
    fn start(&self, plan: Plan, options: Options) -> Result<Box<dyn Running>, Error>;
}

/// A run in progress.
pub trait Running {
    /// The unit in which time advances: slices that end at its multiples cost nothing.
    fn window(&self) -> Time;
    /// Continues up to `end`, or as far as it gets in a moment. Returns the time reached. The results do not
    /// depend on where a run is cut.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn run_until(&mut self, end: Time) -> Result<Time, Error>;
    /// The totals so far.
    fn counters(&self) -> Counters;
    /// How many threads would have work if the run started again with them.
    fn worthwhile_threads(&self) -> usize {
        1
    }
    /// Rows of traces and latencies so far.
    fn samples(&self) -> usize {
        0
    }
    /// How many rows [`take_ended`](Self::take_ended) would return, without those of subflows.
    fn ended(&self) -> usize {
        0
    }
    /// Returns the records of flows and jobs that have ended, and drops them from memory. Links and queues
    /// are not included.
    fn take_ended(&mut self) -> Outcome {
        Outcome::default()
    }
    /// Flows of this class that are complete.
    fn completed(&self, class: u32) -> u64;
    /// When the `n`-th flow of this class (from 1) was complete, if that many are.
    fn completion(&self, class: u32, n: u64) -> Option<Time>;
    /// Lines for a reader of the manifest.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// What the manifest says of this level in addition to what it says of all.
    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        Vec::new()
    }
    /// The results so far, without those already taken by [`take_ended`](Self::take_ended).
    ///
    /// # Errors
    /// Whatever prevents that.
    fn finish(self: Box<Self>) -> Result<Found, Error>;
}

/// What a run found.
pub enum Found {
    /// Records, of which the laboratory makes tables.
    Records(Box<Outcome>),
    /// Tables and manifest, made by a process of its own.
    Tables(Run),
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
