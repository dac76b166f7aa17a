//! Traces: operations of ranks and their order, from a file. Each format is a file here.

mod chakra;
mod errors;
mod goal;
mod lines;
#[cfg(test)]
mod loggops;
mod simai;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time, refuse};

use self::errors::{Place, TraceError};
use crate::closed_loop::check_start_before_stop;
use crate::collective::{Algorithm, Operation, Placement, place};
use crate::tasks::{DependentFlows, JobOptions, JobSummary, TaskGraph};
use crate::{Connections, FlowGenerator, HostSet, Pattern, PatternContext, SendDone};

/// Maximum number of ranks.
const MAX_RANKS: u32 = 1 << 24;

/// Maximum number of tasks.
const MAX_TASKS: u32 = 1 << 28;

/// Messages and computing of ranks, in the order that a file prescribes. Each message is a flow of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Path of the file, relative to the spec's folder. With `chakra` it is the common beginning of the paths of all ranks' files,
    /// which end in `.0.et`, `.1.et` and so on. Files may be compressed by gzip.
    pub file: String,
    /// Format of the file.
    pub format: TraceFormat,
    /// Algorithm of all-reduces, for `chakra` and `simai`; by default "ring".
    pub algorithm: Option<Algorithm>,
    /// Ranks of groups by name, for `chakra`. They have precedence over the groups of the trace's own metadata.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<u32>>,
    /// Hosts on which the ranks run, one rank per host.
    #[serde(default)]
    pub hosts: HostSet,
    /// Assignment of ranks to `hosts`.
    #[serde(default)]
    pub placement: Placement,
    /// Event at which a message counts as sent, for tasks that wait.
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
    /// Execution traces of `MLCommons` Chakra, a file per rank. A node starts when all its `data_deps` are done; `ctrl_deps` have no
    /// effect. Computing takes the recorded duration. It occupies the accelerator of its rank, or the processor of the host if
    /// `is_cpu_op`. Messages and collective operations of a rank run next to each other.
    Chakra,
    /// The table of layers that `SimAI` reads. All ranks run all layers forwards, and then backwards. Computing waits for the
    /// operations of the first two kinds, and those of weight gradients run next to it.
    Simai,
}

impl Trace {
    fn read(&self) -> Result<TaskGraph, SpecError> {
        let only_with = |field: &str, formats: &str| {
            let given = "given with another format".to_owned();
            refuse(field, given, formats.to_owned())
        };
        if self.algorithm.is_some() && self.format == TraceFormat::Goal {
            return only_with("algorithm", "format \"chakra\" or \"simai\"");
        }
        if !self.groups.is_empty() && self.format != TraceFormat::Chakra {
            return only_with("groups", "format \"chakra\"");
        }
        let all_reduce = Operation::AllReduce.algorithm(self.algorithm)?;
        let graph = match self.format {
            TraceFormat::Goal => open(&self.file).and_then(goal::read),
            TraceFormat::Chakra => chakra::read(&self.file, all_reduce, &self.groups),
            TraceFormat::Simai => open(&self.file).and_then(|input| simai::read(input, all_reduce)),
        };
        graph.map_err(|error| error.within(&self.file))
    }
}

/// Opens a file, which may be compressed by gzip.
fn open(path: &str) -> Result<Box<dyn BufRead>, TraceError> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let refuse = |error: std::io::Error| Place::File.wrong(error.to_string(), "a file of a trace");
    let mut file = BufReader::new(File::open(path).map_err(refuse)?);
    let is_compressed = file.fill_buf().map_err(refuse)?.starts_with(&GZIP);
    Ok(if is_compressed {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}

impl Pattern for Trace {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let graph = self.read()?;
        let hosts = place(graph.ranks(), &self.hosts, self.placement, context)?;
        if context.hosts.len() < 2 {
            return refuse("hosts", "1 host in the network", "at least 2");
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
