//! Runs an experiment in one of the homes and hands back its tables.
//!
//! ```
//! use std::ops::ControlFlow;
//! use weft_lab::{Experiment, RunOptions};
//!
//! let text = r#"
//!     name = "one flow"
//!     duration = "1ms"
//!     topology = { kind = "many-to-one", senders = 1, rate = "10Gbps", delay = "2us" }
//!     queues = { limit = "100 packets" }
//!     transports.reno.cc = "reno"
//!     traffic = [{ kind = "bulk", transport = "reno", from = "h0", to = "r0", size = "10KB" }]
//! "#;
//! let experiment = Experiment::parse(text, &["traffic[0].size=20KB".to_owned()])?;
//! let run = experiment.run(RunOptions::default(), |progress| {
//!     eprintln!("{:.0} %", 100.0 * progress.fraction);
//!     ControlFlow::Continue(())
//! })?;
//! for (name, table) in &run.tables {
//!     println!("{name}: {} rows", table.num_rows());
//! }
//! # Ok::<(), weft_lab::Error>(())
//! ```

mod classes;
mod conservation;
mod elsewhere;
mod error;
mod events;
mod experiment;
mod folder;
mod handover;
mod manifest;
pub mod measured;
mod memory;
mod probes;
mod registry;
mod resolve;
mod run;
mod schema;
mod slices;
mod tables;
mod threads;
mod transports;

pub use arrow_array::RecordBatch;
pub use error::Error;
pub use experiment::{Experiment, Progress, Reading, RunOptions};
pub use registry::{Listing, Registry, registry};
pub use run::{Run, Written};
pub use schema::schema;
pub use weft_spec::SpecError;
