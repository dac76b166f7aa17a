//! Traces: operations of ranks and their order, from a file.

mod goal;
#[cfg(test)]
mod loggops;

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time};

use crate::closed_loop::check_start_before_stop;
use crate::collective::{Placement, place};
use crate::tasks::{DependentFlows, JobOptions, JobSummary, TaskGraph};
use crate::{Connections, FlowGenerator, HostSet, Pattern, PatternContext, SendDone};

/// Messages and computing of ranks, in the order that a file prescribes. Each message is a flow of its own, which opens when
/// the operations before it are done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Path of the file, relative to the spec's folder.
    pub file: String,
    /// Format of the file.
    pub format: TraceFormat,
    /// Hosts on which the ranks run, one rank per host.
    #[serde(default)]
    pub hosts: HostSet,
    /// Assignment of ranks to `hosts`.
    #[serde(default)]
    pub placement: Placement,
    /// Event at which a message counts as sent, for operations that wait for it.
    #[serde(default)]
    pub send_done: SendDone,
    /// Use of connections by messages.
    #[serde(default)]
    pub connections: Connections,
    /// Time at which the ranks begin.
    #[serde(default)]
    pub start: Time,
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum TraceFormat {
    /// Text of the Group Operation Assembly Language, as `LogGOPSim` reads it. A `calc` is in nanoseconds, and occupies its `cpu`.
    /// Receiving takes no time of a `cpu`; a `nic` other than 0 is refused. A message of 0 bytes is sent as one of 1 byte.
    Goal,
}

impl Trace {
    fn read(&self) -> Result<TaskGraph, SpecError> {
        let refuse = |line: Option<u32>, given: String, allowed: String| {
            let position = line.map_or(String::new(), |line| format!("line {line}: "));
            SpecError::new("file", format!("{}: {position}{given}", self.file), allowed)
        };
        let file = File::open(&self.file)
            .map_err(|error| refuse(None, error.to_string(), "a file of a trace".to_owned()))?;
        let graph = match self.format {
            TraceFormat::Goal => goal::read(BufReader::new(file)),
        };
        graph.map_err(|error| refuse(error.line, error.given, error.allowed))
    }
}

impl Pattern for Trace {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let graph = self.read()?;
        let hosts = place(graph.ranks(), &self.hosts, self.placement, context)?;
        if context.hosts.len() < 2 {
            return Err(SpecError::new("hosts", "1 host in the network", "at least 2"));
        }
        check_start_before_stop(self.start, None, context)?;
        let summary = JobSummary::default();
        let options = JobOptions {
            send_done: self.send_done,
            connections: self.connections,
            start: self.start,
            summary,
        };
        let flows = DependentFlows::new(graph, hosts, options, context);
        Ok(Some(Arc::new(flows)))
    }
}
