//! Least-allocated path: the scheduler that htsim calls first fit. The authors of Raiciu et al.,
//! "Data Center Networking with Multipath TCP" (2010), used it in their simulator.
//!
//! The rule counts flows, not demands. A large flow without a path of its own gets the path whose
//! fullest link carries the fewest such flows, and always gets one. The first path by number wins
//! a tie. A large flow keeps its path. A flow that is no longer large does not count.
//!
//! In htsim a flow that was small for an interval gets a new path once it is large. Here it returns
//! to its last path.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::{Fabric, NodeId};
use weft_spec::{Rate, SpecError, Time};

use crate::controller::Validate;
use crate::first_fit::{MAX_PATHS, check_fields, default_threshold};
use crate::path_links::PathLinks;
use crate::{Controller, SubflowObservation};

/// Gives each large flow the path whose fullest link carries the fewest large flows, as htsim's first fit does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeastAllocated {
    /// Time between two placements, at least 1 us.
    pub interval: Time,
    /// A subflow is large if its acknowledged rate, averaged over the interval, is above this part of its
    /// host's link rate.
    #[serde(default = "default_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
}

impl Validate for LeastAllocated {
    fn check(&self) -> Result<(), SpecError> {
        check_fields(self.interval, self.threshold)
    }
}

impl Controller for LeastAllocated {
    fn interval(&self) -> Time {
        self.interval
    }

    fn assign_paths(
        &self,
        fabric: &Fabric,
        is_down: &dyn Fn(usize) -> bool,
        subflows: &[SubflowObservation],
    ) -> Vec<(usize, u64)> {
        let rates = fastest_links(fabric);
        let is_large =
            |subflow: &SubflowObservation| subflow.rate > self.threshold * rates[&subflow.from].0 as f64;
        let mut counts = vec![0_u32; fabric.links.len()];
        let mut path_links = PathLinks::default();
        let mut unassigned = Vec::new();
        for (i, subflow) in subflows.iter().enumerate().filter(|(_, s)| is_large(s)) {
            let kept = subflow
                .assigned_path
                .map(|path| path_links.collect(fabric, subflow, path));
            match kept {
                Some(links) if !links.iter().any(|&link| is_down(link)) => {
                    for &link in links {
                        counts[link] += 1;
                    }
                }
                _ => unassigned.push(i),
            }
        }
        let mut assigned = Vec::new();
        for i in unassigned {
            let subflow = &subflows[i];
            let paths = fabric.routing.path_count(subflow.from, subflow.to).min(MAX_PATHS);
            let mut cost = |path| {
                let links = path_links.collect(fabric, subflow, path);
                let is_up = !links.iter().any(|&link| is_down(link));
                is_up.then(|| links.iter().map(|&link| counts[link]).max())
            };
            let best = (0..paths).filter_map(|path| Some((cost(path)?, path))).min();
            if let Some((_, path)) = best {
                for &link in path_links.collect(fabric, subflow, path) {
                    counts[link] += 1;
                }
                assigned.push((i, path));
            }
        }
        assigned
    }
}

/// The rate of each host's fastest link.
fn fastest_links(fabric: &Fabric) -> HashMap<NodeId, Rate> {
    let mut rates: HashMap<NodeId, Rate> = fabric.hosts.iter().map(|&host| (host, Rate(0))).collect();
    for link in &fabric.links {
        if let Some(rate) = rates.get_mut(&link.from) {
            *rate = (*rate).max(link.rate);
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use weft_fabric::{FatTree, PortQueues, QueueConfig, Topology};
    use weft_spec::QueueSize;

    use super::*;

    /// Returns a fabric with 16 hosts and 4 paths between pods. Paths 0 and 1 use one uplink of a rack, 2 and 3 the other.
    fn fabric() -> Fabric {
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

    fn seen(
        fabric: &Fabric,
        from: usize,
        to: usize,
        part: f64,
        assigned_path: Option<u64>,
    ) -> SubflowObservation {
        SubflowObservation {
            from: fabric.hosts[from],
            to: fabric.hosts[to],
            rate: part * 1e9,
            assigned_path,
        }
    }

    fn assign(
        fabric: &Fabric,
        is_down: &dyn Fn(usize) -> bool,
        subflows: &[SubflowObservation],
    ) -> Vec<(usize, u64)> {
        let controller = LeastAllocated {
            interval: Time::from_ms(100),
            threshold: 0.1,
        };
        controller.assign_paths(fabric, is_down, subflows)
    }

    #[test]
    fn flows_are_spread_by_their_number() {
        let fabric = fabric();
        let flows =
            [(0, 15), (1, 14), (2, 13), (3, 12)].map(|(from, to)| seen(&fabric, from, to, 0.11, None));
        // The other rack of the pod shares no link with the first one below the core. Its first flow must not
        // take path 0, on whose last links the first flow counts.
        assert_eq!(
            assign(&fabric, &|_| false, &flows),
            [(0, 0), (1, 2), (2, 1), (3, 3)]
        );
    }

    #[test]
    fn small_flows_do_not_count_and_a_path_is_kept() {
        let fabric = fabric();
        let flows = [
            seen(&fabric, 0, 15, 0.1, Some(0)),
            seen(&fabric, 0, 15, 0.2, Some(1)),
            seen(&fabric, 1, 14, 0.2, None),
        ];
        assert_eq!(assign(&fabric, &|_| false, &flows), [(2, 2)]);
    }

    /// Hedera's first fit leaves the fifth flow where it is.
    #[test]
    fn where_all_paths_are_full_a_flow_is_placed_on_the_least_allocated() {
        let fabric = fabric();
        let flows = [(4, 12, 0), (5, 13, 2), (6, 14, 1), (7, 15, 3)];
        let mut flows = flows
            .map(|(from, to, path)| seen(&fabric, from, to, 1.0, Some(path)))
            .to_vec();
        flows.push(seen(&fabric, 0, 12, 1.0, None));
        flows.push(seen(&fabric, 1, 13, 1.0, None));
        // All four links from the core to pod 3 carry a flow, so path 0 is no worse than others; then it is.
        assert_eq!(assign(&fabric, &|_| false, &flows), [(4, 0), (5, 2)]);
    }

    #[test]
    fn links_that_are_down_are_avoided() {
        let fabric = fabric();
        let kept = seen(&fabric, 0, 15, 0.9, Some(0));
        let down = PathLinks::default().collect(&fabric, &kept, 0)[1];
        assert_eq!(assign(&fabric, &|link| link == down, &[kept]), [(0, 2)]);
    }
}
