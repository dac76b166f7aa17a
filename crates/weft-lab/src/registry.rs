//! The names that a spec can choose from.

use weft_fabric::{QUEUES, TOPOLOGIES};
use weft_paths::{CONTROLLERS, POLICIES};
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

/// A level at which experiments run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Level {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// True if a spec and a seed always give the same tables.
    pub deterministic: bool,
    /// True if only one run at a time may use the machine.
    pub exclusive: bool,
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
    pub levels: Vec<Level>,
}

/// Returns all names that a spec can choose from, in the order in which they are shown.
pub fn registry() -> Registry {
    fn kinds<C: ?Sized>(entries: &[Entry<C>]) -> Vec<Listing> {
        entries
            .iter()
            .map(|entry| Listing {
                name: entry.name,
                about: entry.about,
            })
            .collect()
    }
    Registry {
        transports: weft_transports::kinds()
            .iter()
            .map(|kind| Listing {
                name: kind.name(),
                about: kind.about(),
            })
            .collect(),
        algorithms: algorithms()
            .map(|(name, entry)| Listing {
                name,
                about: entry.about,
            })
            .collect(),
        paths: kinds(POLICIES),
        controllers: kinds(CONTROLLERS),
        schedulers: SCHEDULERS
            .iter()
            .map(|named| Listing {
                name: named.name,
                about: named.about,
            })
            .collect(),
        profiles: PROFILES
            .iter()
            .map(|named| Listing {
                name: named.name,
                about: named.about,
            })
            .collect(),
        queues: kinds(QUEUES),
        topologies: kinds(TOPOLOGIES),
        traffic: kinds(TRAFFIC),
        probes: kinds(PROBES),
        levels: BACKENDS
            .iter()
            .map(|backend| Level {
                name: backend.name(),
                about: backend.about(),
                deterministic: backend.deterministic(),
                exclusive: backend.exclusive(),
            })
            .collect(),
    }
}
