//! The kinds of traffic.

use std::collections::HashMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Loaded, SpecError, from_table, to_table};

use crate::{Bulk, Flow, Incast, random};

/// All kinds of traffic.
pub const TRAFFIC: &[Entry<dyn Pattern>] = &[
    entry::<Bulk>(
        "bulk",
        "long-lived flows between given pairs or a random permutation, with start and stop or of a size",
    ),
    entry::<Incast>(
        "incast",
        "rounds of flows from many senders to one receiver, opened one shortly after the other",
    ),
];

/// Most flows that one entry may make.
pub const MAX_FLOWS: u64 = 10_000_000;

/// A kind of traffic with its fields set.
pub trait Pattern {
    /// All flows, in the order in which tables number them: a pure function of the fields and the context.
    ///
    /// # Errors
    /// The field that is out of range or names a host that does not exist, by its path among the pattern's own.
    fn flows(&self, context: &Context<'_>) -> Result<Vec<Flow>, SpecError>;
}

/// What a pattern knows beside its own fields.
pub struct Context<'a> {
    /// Names of the fabric's hosts, in its order.
    pub hosts: &'a [&'a str],
    /// Index of the transport.
    pub transport: u32,
    /// Index of the traffic entry.
    pub traffic: u32,
    by_name: HashMap<&'a str, u32>,
    seed: u64,
}

impl<'a> Context<'a> {
    /// For traffic entry `traffic` of an experiment with this seed.
    pub fn new(hosts: &'a [&'a str], transport: u32, traffic: u32, seed: u64) -> Self {
        let by_name = hosts
            .iter()
            .enumerate()
            .map(|(i, name)| (*name, i as u32))
            .collect();
        Self {
            hosts,
            transport,
            traffic,
            by_name,
            seed,
        }
    }

    /// Index of the host of this name.
    pub fn host(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The entry's own stream of random numbers.
    pub(crate) fn random(&self) -> Xoshiro256PlusPlus {
        random::stream(self.seed, self.traffic)
    }
}

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<dyn Pattern>
where
    T: Pattern + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        load: |table| {
            let pattern: T = from_table(table)?;
            Ok(Loaded {
                params: to_table(&pattern),
                it: Box::new(pattern),
            })
        },
    }
}
