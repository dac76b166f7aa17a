//! An experiment: a spec that was checked in full, ready to run.

use std::ops::ControlFlow;

use weft_spec::{SpecError, Time};

use crate::{Error, Run};

/// A checked experiment. It can be run any number of times; every run yields the same tables.
#[derive(Clone, Debug)]
pub struct Experiment {
    spec: serde_json::Value,
}

/// How to run; nothing here changes the tables.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Hash every event in order at each node (costs a little); the hash is in the manifest.
    pub trace_hash: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            trace_hash: false,
        }
    }
}

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

impl Experiment {
    /// Reads a spec in TOML, or the same in JSON (a text whose first character is `{`), applies the overrides
    /// (`"a.b[0].c=value"`, in order) and checks everything: types, ranges, names, the topology, hosts and links.
    ///
    /// # Errors
    /// The first thing found wrong: field path, what was given, what is allowed.
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self, SpecError> {
        let _ = (text, overrides);
        Err(SpecError::new("", "no experiment can be read yet", "nothing"))
    }

    /// The spec's name.
    pub fn name(&self) -> &str {
        self.spec["name"].as_str().unwrap_or_default()
    }

    /// The resolved spec: every default filled in. Parsed again, it gives the same experiment.
    pub fn spec(&self) -> &serde_json::Value {
        &self.spec
    }

    /// Runs the experiment. `on_progress` is called about every 50 to 100 ms of wall-clock time and at the end; when it
    /// breaks, the run stops and its tables so far are marked partial.
    ///
    /// # Errors
    /// [`Error::Option`], [`Error::Refused`], and [`Error::Internal`] when conservation does not hold.
    pub fn run(
        &self,
        options: RunOptions,
        on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Run, Error> {
        let _ = (options, on_progress);
        Err(Error::Refused("the laboratory is being built".into()))
    }
}
