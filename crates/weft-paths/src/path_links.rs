//! The links of a path, for controllers that count or reserve per link.

use weft_fabric::Fabric;

use crate::SubflowObservation;

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
        let links = &fabric.links;
        let mut at = subflow.from;
        for &port in &self.ports {
            let link = links.partition_point(|link| link.from < at) + usize::from(port);
            at = links[link].to;
            self.links.push(link);
        }
        &self.links
    }
}
