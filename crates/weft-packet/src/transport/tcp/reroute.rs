//! New routes of a host's subflows: after routing has detected a link event, and when a controller
//! assigns one.

use std::sync::Arc;

use weft_paths::SubflowDirection;

use crate::engine::route::Route;

use super::endpoint::TcpEndpoint;
use super::subflow::SubflowSender;

impl TcpEndpoint {
    /// Returns the established subflows of connections that have not finished, each with the bytes
    /// acknowledged on it, in no order.
    pub fn established_subflows(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let open = self
            .connections()
            .filter(|connection| !connection.lifetime.is_finished());
        open.flat_map(|connection| {
            let established = |s: &&SubflowSender| s.stats().established.is_some();
            let subflows = self.subflows_of(connection).iter().filter(established);
            subflows.map(|s| (connection.flow, s.index(), s.seq.una()))
        })
    }

    /// Sets the route of a subflow from its next packet on. Returns false if the connection does
    /// not exist any more.
    pub fn set_subflow_route(&mut self, flow: u32, subflow: u32, route: Route) -> bool {
        let Some(&index) = self.slots.senders.get(&flow) else {
            return false;
        };
        let first = self.connections[index as usize].first_subflow;
        self.subflows[(first + subflow) as usize].path.set_route(route);
        true
    }

    /// Chooses new routes after routing has detected a link event.
    pub fn choose_new_routes(&mut self) {
        let shared = Arc::clone(&self.shared);
        let node = |host: u32| shared.fabric.hosts[host as usize];
        let route = |flow: u32, subflow: u32, reverse: bool| {
            let spec = shared.flow(flow);
            let [from, to] = if reverse {
                [spec.to, spec.from]
            } else {
                [spec.from, spec.to]
            };
            let direction = SubflowDirection {
                flow: spec.id,
                subflow,
                subflows: shared.tcp(spec.transport).subflows,
                reverse,
            };
            shared.route(spec.transport, direction, node(from), node(to))
        };
        for (&flow, &index) in &self.slots.senders {
            let connection = &self.connections[index as usize];
            let first = connection.first_subflow as usize;
            for (s, subflow) in (0..).zip(&mut self.subflows[first..][..connection.windows().len()]) {
                subflow.path.reroute(|| route(flow, s, false).ok());
            }
        }
        for (&(flow, subflow), &slot) in &self.slots.subflow_receivers {
            let receiver = &mut self.subflow_receivers[slot as usize];
            receiver.path.reroute(|| route(flow, subflow, true).ok());
        }
    }
}
