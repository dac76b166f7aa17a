//! Parts of transports that spray the packets of a flow over paths: records of packets, and routes.

mod records;
mod routes;

pub use records::{NextPacket, Records, State};
pub use routes::{PathRoutes, path_in_part};

/// Bytes of all headers, and of each packet without payload.
pub const HEADER: u32 = 64;
