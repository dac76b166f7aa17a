//! What every home of an experiment has in common.
//!
//! A [`Home`] is a level at which an experiment runs. It gets a [`Plan`], in which names have become indices,
//! and returns an [`Outcome`]: records of flows, jobs, links and queues. This crate makes tables and the
//! manifest of an outcome and checks conservation, in the same way for every level.

mod conservation;
mod error;
mod folder;
mod handover;
mod home;
mod manifest;
mod measuring;
mod outcome;
mod plan;
mod reacting;
mod run;
mod tables;

pub use arrow_array::RecordBatch;
pub use error::Error;
pub use folder::Folder;
pub use handover::Handover;
pub use home::{Found, Home, MAX_THREADS, Options, Progress, Running};
pub use manifest::{Ended, Rows, manifest};
pub use measuring::{Counted, Measured, Measuring};
pub use outcome::{
    Counters, FlowRecord, JobRecord, LatencyRecord, LinkRecord, Outcome, PacketKind, PacketRecord,
    QueueRecord, Sample, SubflowRecord, SuppressionRecord,
};
pub use plan::{Change, LinkEvent, Plan, Probe, Scheduler, Transport, learned};
pub use reacting::{Next, Reacting, What};
pub use run::{Run, Written};
pub use tables::{Names, TABLES, Tables, Unfinished, Untold};
