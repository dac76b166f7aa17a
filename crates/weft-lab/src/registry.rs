//! The names that a spec can choose from.

use weft_fabric::{QUEUES, TOPOLOGIES};
use weft_paths::{CONTROLLERS, POLICIES};
use weft_run::Level;
use weft_spec::Entry;
use weft_traffic::TRAFFIC;
use weft_transports::{PROFILES, SCHEDULERS};

use crate::backends::BACKENDS;
use crate::probes::PROBES;
use crate::transports::algorithms;

/// A name and its description.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Listing {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
}

/// All names that a spec can choose from.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Registry {
    /// Kinds of transport: `transports.NAME.kind`.
    pub transports: Vec<Listing>,
    /// Congestion control: `transports.NAME.cc`.
    pub algorithms: Vec<Listing>,
    /// Path policies: `transports.NAME.paths`.
    pub paths: Vec<Listing>,
    /// Controllers: `controller.kind`.
    pub controllers: Vec<Listing>,
    /// Packet schedulers: `transports.NAME.scheduler`.
    pub schedulers: Vec<Listing>,
    /// Transport profiles: `transports.NAME.profile`.
    pub profiles: Vec<Listing>,
    /// Kinds of queues: `queues.kind` and `layers.NAME.queue`.
    pub queues: Vec<Listing>,
    /// Topologies: `topology.kind`.
    pub topologies: Vec<Listing>,
    /// Traffic: `traffic[].kind`.
    pub traffic: Vec<Listing>,
    /// Probes: `probes[].kind`.
    pub probes: Vec<Listing>,
    /// Levels: `level`.
    pub levels: Vec<&'static Level>,
}

/// Returns all names that a spec can choose from, in the order in which they are shown.
pub fn registry() -> Registry {
    fn kinds<C: ?Sized>(entries: &[Entry<C>]) -> Vec<Listing> {
        listings(entries.iter().map(|entry| (entry.name, entry.about)))
    }
    Registry {
        transports: listings(
            weft_transports::kinds()
                .iter()
                .map(|kind| (kind.name(), kind.about())),
        ),
        algorithms: listings(algorithms().map(|(name, entry)| (name, entry.about))),
        paths: kinds(POLICIES),
        controllers: kinds(CONTROLLERS),
        schedulers: listings(SCHEDULERS.iter().map(|named| (named.name, named.about))),
        profiles: listings(PROFILES.iter().map(|named| (named.name, named.about))),
        queues: kinds(QUEUES),
        topologies: kinds(TOPOLOGIES),
        traffic: kinds(TRAFFIC),
        probes: kinds(PROBES),
        levels: BACKENDS.iter().map(|backend| backend.level()).collect(),
    }
}

fn listings(entries: impl Iterator<Item = (&'static str, &'static str)>) -> Vec<Listing> {
    entries.map(|(name, about)| Listing { name, about }).collect()
}
