//! What there is to choose from, and the schema of a spec composed from it.

/// A choice and its one line.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Listing {
    /// Name in a spec.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// Everything that can be chosen in a spec.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Registry {
    /// Congestion control: `transports.NAME.cc`.
    pub algorithms: Vec<Listing>,
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
}

/// Everything that can be chosen in a spec, in the order in which it is shown.
pub fn registry() -> Registry {
    Registry {
        algorithms: Vec::new(),
        schedulers: Vec::new(),
        profiles: Vec::new(),
        topologies: Vec::new(),
        traffic: Vec::new(),
        probes: Vec::new(),
    }
}

/// The JSON Schema (draft 2020-12) of a spec, with the fields of every registered kind.
pub fn schema() -> serde_json::Value {
    serde_json::json!({})
}
