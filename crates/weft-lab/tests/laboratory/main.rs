//! The laboratory as its users call it: one binary, as each more would be linked with everything again.

mod architecture;
mod combinations;
mod events;
mod flow_level;
mod kernel;
mod layers;
mod measuring;
mod output;
mod reacting;
mod resolving;
mod running;
mod tracing;
