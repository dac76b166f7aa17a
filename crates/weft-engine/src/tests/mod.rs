//! Tests of the engine: against a plain simulator of the same model, event by event, and against the laws of
//! queueing theory, of buffers and of pauses.

mod class_laws;
mod exactness;
mod networks;
mod pause_laws;
mod port_exactness;
mod queue_laws;
mod random_networks;
mod reference;
mod telemetry_laws;
