//! Parts of transports that spray the packets of a flow over paths: the data of a flow, what has been sent, the routes, and
//! the network card.

mod flow_data;
mod nic;
mod records;
mod routes;
mod segments;

pub use flow_data::FlowData;
pub use nic::{Nic, NicSender, NicUser};
pub use records::{Records, State};
pub use routes::PathRoutes;
pub use segments::Segments;

/// Bytes of all headers, and of each packet without payload.
pub const HEADER: u32 = 64;
