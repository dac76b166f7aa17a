//! Everything that a spec can choose from.

use weft_fabric::TOPOLOGIES;
use weft_paths::{CONTROLLERS, POLICIES};
use weft_spec::{Entry, PROFILES};
use weft_traffic::TRAFFIC;

use crate::backends::BACKENDS;
use crate::probes::PROBES;
use crate::transports::{SCHEDULERS, algorithms};

/// A choice and its one line.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Listing {
    /// Name in a spec.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// A level at which experiments run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Level {
    /// Name in a spec.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Do a spec and a seed always give the same tables?
    pub deterministic: bool,
    /// Must a run have the machine to itself?
    pub exclusive: bool,
}

/// Everything that can be chosen in a spec.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Registry {
    /// Congestion control: `transports.NAME.cc`.
    pub algorithms: Vec<Listing>,
    /// Path policies: `transports.NAME.paths`.
    pub paths: Vec<Listing>,
    /// `controller.kind`.
    pub controllers: Vec<Listing>,
    /// Packet schedulers: `transports.NAME.scheduler`.
    pub schedulers: Vec<Listing>,
    /// Transport profiles: `transports.NAME.profile`.
    pub profiles: Vec<Listing>,
    /// `topology.kind`.
    pub topologies: Vec<Listing>,
    /// `traffic[].kind`.
    pub traffic: Vec<Listing>,
    /// `probes[].kind`.
    pub probes: Vec<Listing>,
    /// `level`.
    pub levels: Vec<Level>,
}

/// Everything that can be chosen in a spec, in the order in which it is shown.
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
