//! Parts of transports that spray the packets of a flow over paths: its data, records of packets, and routes.

mod flow_data;
mod paths_ahead;
mod records;
mod routes;
mod segments;

pub use flow_data::FlowData;
pub use paths_ahead::PathsAhead;
pub use records::{Records, State};
pub use routes::{PathRoutes, path_in_part};
pub use segments::Segments;

/// Bytes of all headers, and of each packet without payload.
pub const HEADER: u32 = 64;
