//! Global first fit: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks"
//! (NSDI 2010), sections 4.1 and 4.2.1. Raiciu et al., "Data Center Networking with Multipath TCP"
//! (2010), section 4, compare multipath with it. They describe its rule as follows. "If, during a
//! scheduling period, a flow's average throughput is greater than 10% of the interface speed, it is
//! explicitly scheduled."
//!
//! A large flow goes to the first path, by number, all of whose links have room for its natural
//! demand, which is reserved there. It keeps the path as long as the path has room for it. If no
//! path has room, the flow keeps its path. Small flows are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::Fabric;
use weft_spec::{SpecError, Time};

use crate::demand::natural_demands;
use crate::large_flows::{
    MAX_PATHS, PathLinks, check_interval, default_threshold, host_rates, large_subflows,
};
use crate::{Controller, SubflowObservation};

/// Large flows go to the first path with room. The controller uses the rates of the topology,
/// because it does not observe rates that events change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstFit {
    /// Time between two assignments of paths, at least 1us; Hedera has 5 s.
    pub interval: Time,
    /// Fraction of its host's link rate above which a subflow is large. Its rate is the
    /// acknowledged rate, averaged over the interval.
    #[serde(default = "default_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
}

impl Controller for FirstFit {
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
        let hosts = host_rates(fabric);
        let large = large_subflows(subflows, self.threshold, &hosts);
        let ends: Vec<_> = large
            .iter()
            .map(|&i| (subflows[i].from, subflows[i].to))
            .collect();
        let demands = natural_demands(&ends, |host| hosts[&host].send, |host| hosts[&host].receive);
        let mut reserved = Reserved {
            fabric,
            is_down,
            rates: vec![0.0; fabric.links.len()],
            path_links: PathLinks::default(),
        };
        let mut unassigned = Vec::new();
        for (&i, &demand) in large.iter().zip(&demands) {
            match subflows[i].assigned_path {
                Some(path) if reserved.try_reserve(&subflows[i], path, demand) => {}
                _ => unassigned.push((i, demand)),
            }
        }
        let mut assigned = Vec::new();
        for (i, demand) in unassigned {
            let paths = fabric
                .routing
                .path_count(subflows[i].from, subflows[i].to)
                .min(MAX_PATHS);
            let found = (0..paths).find(|&path| reserved.try_reserve(&subflows[i], path, demand));
            assigned.extend(found.map(|path| (i, path)));
        }
        assigned
    }
}

/// The reserved rate of each link, in bits per second.
struct Reserved<'a> {
    fabric: &'a Fabric,
    is_down: &'a dyn Fn(usize) -> bool,
    rates: Vec<f64>,
    path_links: PathLinks,
}

impl Reserved<'_> {
    /// Reserves `demand` along a path if the subflow may take it and all its links have room for it.
    fn try_reserve(&mut self, subflow: &SubflowObservation, path: u64, demand: f64) -> bool {
        if !self.path_links.keep_interfaces(self.fabric, subflow, path) {
            return false;
        }
        let path_links = self.path_links.collect(self.fabric, subflow, path);
        let links = &self.fabric.links;
        let has_room = |&link: &usize| {
            let free = links[link].rate.0 as f64 * (1.0 + 1e-9) - self.rates[link];
            demand <= free && !(self.is_down)(link)
        };
        let fits = path_links.iter().all(has_room);
        if fits {
            for &link in path_links {
                self.rates[link] += demand;
            }
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large_flows::samples::{fabric, observation};

    fn controller() -> FirstFit {
        FirstFit {
            interval: Time::from_ms(100),
            threshold: 0.1,
        }
    }

    fn seen(fabric: &Fabric, from: usize, to: usize, rate: f64) -> SubflowObservation {
        observation(fabric, (from, to), rate, None)
    }

    fn assign_paths(fabric: &Fabric, subflows: &[SubflowObservation]) -> Vec<(usize, u64)> {
        controller().assign_paths(fabric, &|_| false, subflows)
    }

    #[test]
    fn small_flows_are_left_alone() {
        let fabric = fabric();
        let flows = [seen(&fabric, 0, 15, 0.1), seen(&fabric, 1, 14, 0.11)];
        assert_eq!(assign_paths(&fabric, &flows), [(1, 0)]);
    }

    /// A flow that could fill a link gets a path of its own, however little it has sent. The second
    /// flow of a rack cannot share the first one's uplink, which paths 0 and 1 use.
    #[test]
    fn each_gets_the_first_path_with_room_for_its_demand() {
        let fabric = fabric();
        let flows = [seen(&fabric, 0, 15, 0.9), seen(&fabric, 1, 14, 0.2)];
        assert_eq!(assign_paths(&fabric, &flows), [(0, 0), (1, 2)]);
    }

    /// Two flows of a host could send half each, so they fit on one path.
    #[test]
    fn flows_of_a_host_share_a_path() {
        let fabric = fabric();
        let flows = [seen(&fabric, 0, 15, 0.5), seen(&fabric, 0, 14, 0.5)];
        assert_eq!(assign_paths(&fabric, &flows), [(0, 0), (1, 0)]);
    }

    #[test]
    fn a_path_is_kept_while_it_has_room_and_lives() {
        let fabric = fabric();
        let kept = SubflowObservation {
            assigned_path: Some(3),
            ..seen(&fabric, 0, 15, 0.9)
        };
        let flows = [kept, seen(&fabric, 1, 14, 0.9)];
        // A path that is kept is reserved first, in any order of the flows.
        assert_eq!(assign_paths(&fabric, &flows), [(1, 0)]);
        assert_eq!(assign_paths(&fabric, &[flows[1], flows[0]]), [(0, 0)]);
        let mut ports = Vec::new();
        fabric
            .routing
            .append_ports(fabric.hosts[0], fabric.hosts[15], 3, &mut ports);
        let first = fabric.first_link(kept.from);
        let tor = fabric.links[first].to;
        let up = fabric.first_link(tor) + usize::from(ports[1]);
        let is_down = |link: usize| link == up;
        assert_eq!(controller().assign_paths(&fabric, &is_down, &[kept]), [(0, 0)]);
    }

    #[test]
    fn where_no_path_has_room_a_flow_stays() {
        let fabric = fabric();
        let held = |from, to, path| SubflowObservation {
            assigned_path: Some(path),
            ..seen(&fabric, from, to, 1.0)
        };
        // Pod 3 is reached from pod 0 over both its aggregation switches, each with two links from
        // the core. Two racks of two hosts in pod 1 take all four links down.
        let flows = [
            held(4, 12, 0),
            held(5, 13, 2),
            held(6, 14, 1),
            held(7, 15, 3),
            seen(&fabric, 0, 12, 1.0),
        ];
        // The fifth flow shares its receiver with the first: each gets half. The only link down
        // with half of its capacity left is the first one's.
        let assigned = assign_paths(&fabric, &flows);
        assert_eq!(assigned, [(4, 0)]);
        let mut flows = flows;
        flows[4] = seen(&fabric, 0, 12, 1.0);
        flows[0] = SubflowObservation {
            assigned_path: Some(0),
            ..seen(&fabric, 4, 12, 0.05)
        };
        // Flows that are now small have no reservation.
        assert_eq!(assign_paths(&fabric, &flows), [(4, 0)]);
    }

    #[test]
    fn fields_out_of_range_are_named() {
        let entry = weft_spec::find(crate::CONTROLLERS, "kind", "first-fit").unwrap();
        let refused = |fields: &str| (entry.parse)(&fields.parse().unwrap()).err().unwrap().to_string();
        assert!(refused("interval = \"1ps\"").starts_with("interval: "));
        assert_eq!(
            refused("interval = \"1ms\"\nthreshold = 1.5"),
            "threshold: 1.5; allowed: 0 to 1"
        );
        assert!(refused("interval = \"1ms\"\nthreshold = nan").starts_with("threshold: "));
    }
}
