//! The registry of traffic.

use std::collections::HashMap;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use weft_spec::{Entry, Rate, Size, SpecError, Time, entries};

use crate::flow::FlowSource;
use crate::random::{RngStreams, StreamId};
use crate::{
    AllToAll, Bulk, ClosedLoop, Collective, Flow, FlowClass, FlowClasses, FlowGenerator, FlowList, HotSpot,
    Incast, Jobs, OneToMany, Poisson, Shuffle, Stride, Trace, Training, random,
};

/// All kinds of traffic.
pub const TRAFFIC: &[Entry<dyn Pattern>] = entries! {
    "bulk" => Bulk, "flows between listed or drawn pairs of hosts, until a time or of a size";
    "incast" => Incast, "rounds of flows from many senders to one receiver, which open at short intervals";
    "poisson" => Poisson,
        "open loop: every host opens flows at random times, whether or not earlier ones have ended";
    "closed-loop" => ClosedLoop, "closed loop: when a flow ends, its sender opens the next one";
    "jobs" => Jobs,
        "a client sends requests to servers, and each replies with a block; after the last block, the next job begins";
    "all-to-all" => AllToAll, "a flow from every host to every other host at the same time";
    "shuffle" => Shuffle, "transfers from every host to every other host, one after another in random order";
    "one-to-many" => OneToMany, "a flow from each sender to each of several receivers drawn for it";
    "stride" => Stride, "a flow from every host to the host whose index is larger by a constant";
    "hot-spot" => HotSpot, "flows from every host, some of which go to a few busy hosts";
    "collective" => Collective,
        "an operation of ranks, such as an all-reduce: messages that start when others have arrived";
    "training" => Training,
        "steps of training a model: computing, and operations of tensor, data, pipeline and expert groups";
    "trace" => Trace, "messages and computing of ranks, in the order that a file prescribes: GOAL text";
    "flow-list" => FlowList, "flows from a file: htsim's .cm, a flow list of HPCC's simulation, or CSV";
};

/// Maximum number of flows per entry.
pub const MAX_FLOWS: u64 = 10_000_000;

/// A kind of traffic with its fields set.
pub trait Pattern {
    /// Returns all static flows, in the order in which tables number them. They are a pure function
    /// of the fields and the context.
    ///
    /// # Errors
    /// Returns an error if a field is out of range or names a host that does not exist; its path is
    /// relative to the pattern.
    fn flows(&self, _context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        Ok(Vec::new())
    }

    /// Returns a lower bound of the number of concurrent flows, without creating them. Implement
    /// this if a number in a spec can lead to more flows than fit into memory.
    fn min_concurrent_flows(&self) -> u64 {
        0
    }

    /// Returns true if the number of static flows, or their sizes, depend on the seed.
    fn draws_flows(&self) -> bool {
        false
    }

    /// Returns true if the jitter of static flows decides whether some of them open before `end`, so
    /// that their number depends on the seed. Implement this if the pattern has a jitter.
    fn draws_openings(&self, _end: Time) -> bool {
        false
    }

    /// Returns the generator that opens flows during the run, if the pattern has one.
    ///
    /// # Errors
    /// Returns the errors of [`flows`](Self::flows).
    fn generator(&self, _context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        Ok(None)
    }
}

/// The inputs of a pattern in addition to its own fields.
pub struct PatternContext<'a> {
    /// Names of the fabric's hosts, in its order.
    pub hosts: &'a [&'a str],
    /// End of the experiment.
    pub duration: Time,
    pub(crate) source: FlowSource,
    /// Function that returns the number of links between two hosts; 0 if there is no path.
    pub(crate) distance: Option<&'a dyn Fn(u32, u32) -> u32>,
    /// Capacity of each host's links into the network, in the order of `hosts`.
    pub(crate) capacities: &'a [Rate],
    by_name: HashMap<&'a str, u32>,
    seed: u64,
}

impl<'a> PatternContext<'a> {
    /// Creates a context for traffic entry `traffic` of an experiment with this seed and without an
    /// end, with a single class 0. The entry has no name.
    pub fn new(hosts: &'a [&'a str], transport: u32, traffic: u32, seed: u64) -> Self {
        let by_name = hosts
            .iter()
            .enumerate()
            .map(|(i, name)| (*name, i as u32))
            .collect();
        Self {
            hosts,
            duration: Time::MAX,
            source: FlowSource {
                stream: StreamId::of_name(""),
                traffic,
                classes: FlowClasses {
                    below: Vec::new(),
                    default: FlowClass { transport, class: 0 },
                },
            },
            distance: None,
            capacities: &[],
            by_name,
            seed,
        }
    }

    /// Sets the name of the entry, to which its random streams belong.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.source.stream = StreamId::of_name(name);
        self
    }

    /// Sets the end of the experiment.
    #[must_use]
    pub fn with_duration(self, duration: Time) -> Self {
        Self { duration, ..self }
    }

    /// Sets the classes, which determine the transport of each flow.
    #[must_use]
    pub fn with_classes(mut self, classes: FlowClasses) -> Self {
        self.source.classes = classes;
        self
    }

    /// Sets the function that returns the number of links on a shortest path between two hosts; 0
    /// if there is none.
    #[must_use]
    pub fn with_distance(self, distance: &'a dyn Fn(u32, u32) -> u32) -> Self {
        Self {
            distance: Some(distance),
            ..self
        }
    }

    /// Sets the capacity of each host's links into the network, summed over its links.
    #[must_use]
    pub fn with_capacities(self, capacities: &'a [Rate]) -> Self {
        Self { capacities, ..self }
    }

    /// Returns a flow of this entry that lasts until its data is sent.
    pub(crate) fn flow(&self, from: u32, to: u32, size: Option<Size>, start: Time) -> Flow {
        self.source.flow(0, [from, to], size, start)
    }

    /// Gives the entry's flows their identities, by their order.
    pub fn identify(&self, flows: &mut [Flow]) {
        for (n, flow) in (0..).zip(flows) {
            flow.id = self.source.stream.flow_id(n);
        }
    }

    /// Streams of random numbers for what the entry makes while the experiment runs.
    pub(crate) fn streams(&self) -> RngStreams {
        RngStreams::new(self.seed, self.source.stream)
    }

    /// Returns the index of the host of this name.
    pub fn host(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Returns the random stream of the entry.
    pub(crate) fn rng(&self) -> Xoshiro256PlusPlus {
        random::stream(self.seed, self.source.stream)
    }
}
