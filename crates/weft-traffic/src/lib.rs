//! Who sends what when. A kind of traffic is one file and one line of [`TRAFFIC`].

mod bulk;
mod flow;
mod hosts;
mod incast;
mod pattern;
mod random;

pub use bulk::{Bulk, Pairs};
pub use flow::Flow;
pub use hosts::{HostRef, HostSet};
pub use incast::Incast;
pub use pattern::{Context, MAX_FLOWS, Pattern, TRAFFIC};
