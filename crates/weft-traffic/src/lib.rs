//! Traffic: the flows between hosts and their times. Each kind of traffic is a file and a line of
//! [`TRAFFIC`], each distribution of sizes a line of [`SIZES`].

mod all_to_all;
mod bulk;
mod closed_loop;
mod collective;
mod empirical;
mod flow;
mod flow_list;
mod generator;
mod hosts;
mod hot_spot;
mod incast;
mod jobs;
mod matrix;
mod one_to_many;
mod pattern;
mod poisson;
mod random;
mod shuffle;
mod sizes;
mod stride;
mod tasks;
mod template;
mod trace;
mod training_step;

pub use all_to_all::AllToAll;
pub use bulk::Bulk;
pub use closed_loop::ClosedLoop;
pub use collective::{Collective, Operation};
pub use empirical::WORKLOADS;
pub use flow::{Flow, FlowClass, FlowClasses};
pub use flow_list::{FlowList, Format};
pub use generator::{
    Action, FlowGenerator, HostEvent, HostProgress, Job, OnDelivered, OperationFacts, OperationRecord,
    PossiblePairs, RankRecord, RankTasks, RankedJobs, Step, TaskTimes,
};
pub use hosts::{HostRef, HostSet};
pub use hot_spot::HotSpot;
pub use incast::Incast;
pub use jobs::Jobs;
pub use matrix::{Pairs, Staggered};
pub use one_to_many::OneToMany;
pub use pattern::{MAX_FLOWS, Pattern, PatternContext, TRAFFIC};
pub use poisson::Poisson;
pub use shuffle::Shuffle;
pub use sizes::{SIZES, SizeDistribution, SizeSampler};
pub use stride::Stride;
pub use tasks::{Connections, SendDone};
pub use trace::{Trace, TraceFormat};
pub use training_step::{Schedule, Training};
