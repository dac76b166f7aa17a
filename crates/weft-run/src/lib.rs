//! The common parts of the backends of all levels.
//!
//! A [`Backend`] is the code behind a level: it runs experiments. It gets a [`Plan`], in which
//! names have become indices, and returns an [`Outcome`]: records of flows, jobs, links and queues.
//! This crate builds the tables and the manifest from an outcome and checks conservation, in the
//! same way for every level.

mod backend;
mod conservation;
mod error;
mod folder;
mod generators;
mod ideal;
mod manifest;
mod measurement;
mod outcome;
mod plan;
mod result_writer;
mod run;
mod tables;
mod wire_format;

pub use arrow_array::RecordBatch;
pub use backend::{ActiveRun, Backend, Feature, Level, MAX_THREADS, Progress, RunOptions, RunOutput};
pub use error::Error;
pub use folder::Folder;
pub use generators::{
    GeneratorAction, GeneratorDriver, GeneratorRecords, Performed, records_steps, steps_and_operations,
};
pub use manifest::{Rows, RunSummary, manifest};
pub use measurement::{CounterSnapshot, MeasuredWindow, MeasurementWindow};
pub use outcome::{
    ClassRecord, ControlCounters, Counters, DropRecord, FlowRecord, GeneratorOperation, GeneratorRank,
    GeneratorStep, JobRecord, LINK_RESULT_BYTES, LatencyRecord, LinkRecord, Outcome, PacketKind,
    PacketRecord, PauseFrameRecord, QueueRecord, Sample, SubflowRecord, SuppressionRecord, ThroughputRecord,
};
pub use plan::{LinkEvent, Plan, Probe, ProbedFlows, detection_times};
pub use result_writer::ResultWriter;
pub use run::{RunResult, UnsavedRun};
pub use tables::{Provided, ProvidedTables, TABLES, TableContext, Tables, Unfinished};
pub use weft_fabric::LinkChange;
pub use wire_format::{Timing, WireFormat};
