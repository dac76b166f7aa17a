//! Tests of the public interface. They are one binary, because each additional binary would link
//! all dependencies once more.

mod experiment;

mod architecture;
mod buffer_probes;
mod combinations;
mod constant_rate;
mod defaults;
mod events;
mod files;
mod flow_level;
mod flow_probes;
mod generators;
mod hystart;
mod kernel;
mod layers;
mod lossless;
mod measurement;
mod output;
mod queue_probes;
mod queues;
mod resolution;
mod runs;
mod undo;
mod warp;
