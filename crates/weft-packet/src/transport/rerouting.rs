//! Hosts choose their paths anew when routing has learnt of a change.

use std::sync::Arc;

use weft_paths::Way;

use super::host::Host;

impl Host {
    /// Chooses all paths anew, after routing has learnt of a change.
    pub fn reroute(&mut self) {
        let shared = Arc::clone(&self.shared);
        let node = |host: u32| shared.fabric.hosts[host as usize];
        let route = |flow: u32, subflow: u32, back: bool| {
            let spec = shared.flow(flow);
            let [from, to] = if back {
                [spec.to, spec.from]
            } else {
                [spec.from, spec.to]
            };
            let way = Way {
                flow,
                subflow,
                subflows: shared.transports[spec.transport as usize].subflows,
                back,
            };
            shared.route(spec.transport, way, node(from), node(to))
        };
        for (&flow, &index) in &self.sent {
            let connection = &self.connections[index as usize];
            let first = connection.first as usize;
            for (s, subflow) in (0..).zip(&mut self.subflows[first..][..connection.windows.len()]) {
                let wandering = subflow.wandering.as_ref().and_then(|it| it.route());
                let kept = || route(flow, s, false).unwrap_or(subflow.route);
                subflow.route = wandering.unwrap_or_else(kept);
            }
        }
        for (&(flow, subflow), &place) in &self.accepted {
            let receiver = &mut self.receivers[place as usize];
            let wandering = receiver.wandering.as_ref().and_then(|it| it.route());
            let kept = || route(flow, subflow, true).unwrap_or(receiver.route);
            receiver.route = wandering.unwrap_or_else(kept);
        }
    }
}
