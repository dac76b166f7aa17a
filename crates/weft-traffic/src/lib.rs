//! Who sends what when.

mod flow;

pub use flow::Flow;
