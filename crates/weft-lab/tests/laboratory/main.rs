//! The laboratory as its users call it. It is one binary, because each further one would be linked with everything again.

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
