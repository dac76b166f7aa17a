//! Least-allocated path: the scheduler that htsim calls first fit. The authors of Raiciu et al.,
//! "Data Center Networking with Multipath TCP" (2010), used it in their simulator.
//!
//! The rule counts flows, not demands. A large flow without a path of its own gets the path whose
//! fullest link carries the fewest such flows, and always gets one. The first path by number wins
//! a tie. A large flow keeps its path. A flow that is no longer large does not count.
//!
//! In htsim a flow that was small for an interval gets a new path once it is large. Here it returns
//! to its last path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::Fabric;
use weft_spec::{SpecError, Time};

use crate::large_flows::{
    MAX_PATHS, PathLinks, check_interval, default_threshold, host_rates, large_subflows,
};
use crate::{Controller, SubflowObservation};

/// Each large flow goes to the path whose fullest link has the fewest large flows, as in htsim's
/// first fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeastAllocated {
    /// Time between two assignments of paths, at least 1us.
    pub interval: Time,
    /// Fraction of its host's link rate above which a subflow is large. Its rate is the
    /// acknowledged rate, averaged over the interval.
    #[serde(default = "default_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
}

impl Controller for LeastAllocated {
    fn check(&self) -> Result<(), SpecError> {
        check_interval(self.interval)
    }

    fn interval(&self) -> Time {
        self.interval
    }

    fn assign_paths(
        &self,
        fabric: &Fabric,
        is_down: &dyn Fn(usize) -> bool,
        subflows: &[SubflowObservation],
    ) -> Vec<(usize, u64)> {
        let mut counts = vec![0_u32; fabric.links.len()];
        let mut path_links = PathLinks::default();
        let mut unassigned = Vec::new();
        for i in large_subflows(subflows, self.threshold, &host_rates(fabric)) {
            let subflow = &subflows[i];
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
                if !path_links.keep_interfaces(fabric, subflow, path) {
                    return None;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large_flows::samples::{fabric, observation};

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
        let flows = [(0, 15), (1, 14), (2, 13), (3, 12)]
            .map(|(from, to)| observation(&fabric, (from, to), 0.11, None));
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
            observation(&fabric, (0, 15), 0.1, Some(0)),
            observation(&fabric, (0, 15), 0.2, Some(1)),
            observation(&fabric, (1, 14), 0.2, None),
        ];
        assert_eq!(assign(&fabric, &|_| false, &flows), [(2, 2)]);
    }

    /// Hedera's first fit leaves the fifth flow where it is.
    #[test]
    fn where_all_paths_are_full_a_flow_is_placed_on_the_least_allocated() {
        let fabric = fabric();
        let flows = [(4, 12, 0), (5, 13, 2), (6, 14, 1), (7, 15, 3)];
        let mut flows = flows
            .map(|(from, to, path)| observation(&fabric, (from, to), 1.0, Some(path)))
            .to_vec();
        flows.push(observation(&fabric, (0, 12), 1.0, None));
        flows.push(observation(&fabric, (1, 13), 1.0, None));
        // All four links from the core to pod 3 carry a flow, so path 0 is no worse than others; then it is.
        assert_eq!(assign(&fabric, &|_| false, &flows), [(4, 0), (5, 2)]);
    }

    #[test]
    fn links_that_are_down_are_avoided() {
        let fabric = fabric();
        let kept = observation(&fabric, (0, 15), 0.9, Some(0));
        let down = PathLinks::default().collect(&fabric, &kept, 0)[1];
        assert_eq!(assign(&fabric, &|link| link == down, &[kept]), [(0, 2)]);
    }
}
