//! Tests of the public interface. They are one binary, because each additional binary would link
//! all dependencies once more.

mod experiment;

mod architecture;
mod combinations;
mod defaults;
mod events;
mod files;
mod flow_level;
mod hystart;
mod kernel;
mod layers;
mod measuring;
mod output;
mod reacting;
mod resolving;
mod running;
mod tracing;
mod undo;
mod warp;
