//! Runs an experiment in one of the homes and hands back its tables.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use weft_lab::{Experiment, RunOptions};
//!
//! let text = std::fs::read_to_string("incast.toml").unwrap();
//! let experiment = Experiment::parse(&text, &["topology.senders=40".to_owned()])?;
//! let run = experiment.run(RunOptions::default(), |progress| {
//!     eprintln!("{:.0} %", 100.0 * progress.fraction);
//!     ControlFlow::Continue(())
//! })?;
//! run.write("results".as_ref())?;
//! # Ok::<(), weft_lab::Error>(())
//! ```

mod error;
mod experiment;
mod registry;
mod run;

pub use arrow_array::RecordBatch;
pub use error::Error;
pub use experiment::{Experiment, Progress, RunOptions};
pub use registry::{Listing, Registry, registry, schema};
pub use run::Run;
pub use weft_spec::SpecError;
