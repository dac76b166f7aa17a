//! Runs an experiment at one of the levels and returns its tables.
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

mod backends;
mod classes;
mod constant_windows;
mod equilibrium;
mod events;
mod experiment;
pub mod external;
mod files;
mod hints;
mod linux;
mod lossless;
mod max_min;
mod memory;
mod ports;
mod probes;
mod queues;
mod registry;
mod resolve;
mod run_loop;
mod schema;
mod slices;
mod throughput;
mod transports;

pub use constant_windows::EngineSpeed;
pub use equilibrium::equilibrium;
pub use experiment::{Experiment, ReadOptions};
pub use max_min::{MaxMin, max_min};
pub use registry::{Listing, Registry, registry};
pub use schema::schema;
pub use weft_packet::add_transport;
pub use weft_run::{Error, Progress, RecordBatch, RunOptions, RunResult, UnsavedRun};
pub use weft_spec::SpecError;
