//! Large flows: the fields, rates and paths that all controllers of large flows need.

use std::collections::HashMap;

use weft_fabric::{Fabric, NodeId};
use weft_spec::{SpecError, Time};

use crate::SubflowObservation;

/// Maximum number of paths that are tried, so that a search among millions ends.
pub(crate) const MAX_PATHS: u64 = 4096;

/// Minimum interval; below it, a run would consist of searches.
const MIN_INTERVAL: Time = Time::from_us(1);

/// Returns the default of the threshold, which Hedera and the data-centre study have.
pub(crate) fn default_threshold() -> f64 {
    0.1
}

/// # Errors
/// Returns an error if a field of a controller is out of range.
pub(crate) fn check_fields(interval: Time, threshold: f64) -> Result<(), SpecError> {
    if interval < MIN_INTERVAL {
        return Err(SpecError::new(
            "interval",
            interval.to_string(),
            format!("at least {MIN_INTERVAL}"),
        ));
    }
    if !(0.0..=1.0).contains(&threshold) {
        return Err(SpecError::new("threshold", threshold.to_string(), "0 to 1"));
    }
    Ok(())
}

/// The rates of a host's links, in bits per second.
#[derive(Clone, Copy, Default)]
pub(crate) struct HostRates {
    /// Sum of the rates at which it can send.
    pub(crate) send: f64,
    /// Sum of the rates at which it can receive.
    pub(crate) receive: f64,
    /// Rate of the fastest link on which it sends.
    pub(crate) fastest: f64,
}

/// Returns the rates of all hosts.
pub(crate) fn host_rates(fabric: &Fabric) -> HashMap<NodeId, HostRates> {
    let mut rates: HashMap<_, _> = fabric
        .hosts
        .iter()
        .map(|&host| (host, HostRates::default()))
        .collect();
    for link in &fabric.links {
        let rate = link.rate.0 as f64;
        if let Some(from) = rates.get_mut(&link.from) {
            from.send += rate;
            from.fastest = from.fastest.max(rate);
        }
        if let Some(to) = rates.get_mut(&link.to) {
            to.receive += rate;
        }
    }
    rates
}

/// Returns the indices of the subflows that are faster than this fraction of their host's link.
pub(crate) fn large_subflows(
    subflows: &[SubflowObservation],
    threshold: f64,
    hosts: &HashMap<NodeId, HostRates>,
) -> Vec<usize> {
    let is_large = |subflow: &SubflowObservation| subflow.rate > threshold * hosts[&subflow.from].fastest;
    (0..subflows.len()).filter(|&i| is_large(&subflows[i])).collect()
}

/// Buffers for the links of one path at a time.
#[derive(Default)]
pub(crate) struct PathLinks {
    ports: Vec<u16>,
    links: Vec<usize>,
}

impl PathLinks {
    /// Returns the indices of the links of a subflow's path, from the sender on.
    pub(crate) fn collect(&mut self, fabric: &Fabric, subflow: &SubflowObservation, path: u64) -> &[usize] {
        self.ports.clear();
        self.links.clear();
        fabric
            .routing
            .append_ports(subflow.from, subflow.to, path, &mut self.ports);
        let mut at = subflow.from;
        for &port in &self.ports {
            let link = fabric.first_link(at) + usize::from(port);
            at = fabric.links[link].to;
            self.links.push(link);
        }
        &self.links
    }
}

/// A fabric and subflows for the tests of controllers.
#[cfg(test)]
pub(crate) mod samples {
    use weft_fabric::{FatTree, PortQueues, QueueConfig, Topology};
    use weft_spec::{QueueSize, Rate};

    use super::*;

    /// Returns a fabric with 16 hosts, links of 1 Gbps and 4 paths between pods. Paths 0 and 1 use one
    /// uplink of a rack, 2 and 3 the other.
    pub(crate) fn fabric() -> Fabric {
        let queue = QueueConfig {
            limit: QueueSize::Packets(100),
            mark: None,
        };
        FatTree {
            k: 4,
            rate: Rate(1_000_000_000),
            delay: Time::from_us(1),
            oversubscription: 1,
            host_rate: None,
        }
        .build(&PortQueues {
            switch: queue,
            host: queue,
            nic: false,
        })
        .unwrap()
    }

    /// Returns a subflow between two hosts whose rate is `share` of a link's.
    pub(crate) fn observation(
        fabric: &Fabric,
        (from, to): (usize, usize),
        share: f64,
        assigned_path: Option<u64>,
    ) -> SubflowObservation {
        SubflowObservation {
            from: fabric.hosts[from],
            to: fabric.hosts[to],
            rate: share * 1e9,
            assigned_path,
        }
    }
}
