//! Large flows: the fields, rates and paths that all controllers of large flows need.

use std::collections::HashMap;

use weft_fabric::{Fabric, NodeId};
use weft_spec::{SpecError, Time, refuse};

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
/// Returns an error if the interval of a controller is too short.
pub(crate) fn check_interval(interval: Time) -> Result<(), SpecError> {
    if interval < MIN_INTERVAL {
        return refuse("interval", interval, format!("at least {MIN_INTERVAL}"));
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

    /// Returns true if the subflow may take a path: if it is bound to the interfaces of another one,
    /// both must have the same first and last link.
    pub(crate) fn keep_interfaces(
        &mut self,
        fabric: &Fabric,
        subflow: &SubflowObservation,
        path: u64,
    ) -> bool {
        let ends = |links: &[usize]| (links.first().copied(), links.last().copied());
        subflow.bound_path.is_none_or(|bound| {
            let kept = ends(self.collect(fabric, subflow, bound));
            ends(self.collect(fabric, subflow, path)) == kept
        })
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
            bound_path: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_fabric::{MultiHomedFatTree, PortQueues, QueueConfig, Topology};
    use weft_spec::{QueueSize, Rate};

    use super::*;
    use crate::{Controller, FirstFit, LeastAllocated};

    /// Between hosts with two cables each, controllers choose among all paths, or among those with
    /// the interfaces of the subflow.
    #[test]
    fn a_bound_subflow_keeps_its_interfaces() {
        let queue = QueueConfig {
            limit: QueueSize::Packets(100),
            mark: None,
        };
        let fabric = MultiHomedFatTree {
            k: 4,
            homes: 2,
            rate: Rate(1_000_000_000),
            delay: Time::from_us(1),
        }
        .build(&PortQueues {
            switch: queue,
            host: queue,
        })
        .unwrap();
        let (from, to) = (fabric.hosts[0], *fabric.hosts.last().unwrap());
        let interval = Time::from_ms(100);
        let controllers: [&dyn Controller; 2] = [
            &FirstFit {
                interval,
                threshold: 0.1,
            },
            &LeastAllocated {
                interval,
                threshold: 0.1,
            },
        ];
        let observed = |bound_path| SubflowObservation {
            from,
            to,
            rate: 0.4e9,
            assigned_path: None,
            bound_path,
        };
        let path_of = |controller: &dyn Controller, is_down: &dyn Fn(usize) -> bool, bound_path| {
            // Each of two flows could fill a cable.
            let other = SubflowObservation {
                to: fabric.hosts[1],
                ..observed(None)
            };
            let subflows = [observed(bound_path), other];
            let assigned = controller.assign_paths(&fabric, is_down, &subflows);
            assigned.iter().find(|(i, _)| *i == 0).map(|&(_, path)| path)
        };
        let ends = |path| {
            let mut links = PathLinks::default();
            let links = links.collect(&fabric, &observed(None), path);
            (links[0], links[links.len() - 1])
        };
        for controller in controllers {
            let mut interfaces = std::collections::HashSet::new();
            for bound in 0..fabric.routing.path_count(from, to) {
                assert_eq!(path_of(controller, &|_| false, None), Some(0));
                let assigned = path_of(controller, &|_| false, Some(bound));
                assert_eq!(assigned.map(ends), Some(ends(bound)));
                let is_down = |link| link == ends(bound).0;
                assert_eq!(path_of(controller, &is_down, Some(bound)), None);
                interfaces.insert(ends(bound));
            }
            assert_eq!(interfaces.len(), 4, "two at each end");
        }
    }
}
