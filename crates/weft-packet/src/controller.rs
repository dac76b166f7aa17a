//! Calls a controller, which assigns paths to subflows, at fixed simulated times. Its observations
//! and actions therefore depend neither on threads nor on the ends of slices.

use std::collections::HashMap;
use std::sync::Arc;

use weft_paths::{Controller, SubflowObservation};

use crate::simulation::PacketSimulation;

/// A flow, and the number of its subflow.
type Subflow = (u32, u32);

/// The controller of a run and its state.
pub(crate) struct ControllerState {
    controller: Arc<dyn Controller>,
    interval: u64,
    /// Time of the next call in picoseconds.
    pub next: u64,
    /// Bytes acknowledged at the last call.
    last_acked: HashMap<Subflow, u64>,
    /// Paths that the controller assigned.
    assigned: HashMap<Subflow, u64>,
}

impl ControllerState {
    pub fn new(controller: Arc<dyn Controller>) -> Self {
        let interval = controller.interval().0.max(1);
        Self {
            controller,
            interval,
            next: interval,
            last_acked: HashMap::new(),
            assigned: HashMap::new(),
        }
    }
}

impl PacketSimulation {
    /// Returns the time of the controller's next call; `u64::MAX` if there is no controller.
    pub(crate) fn next_control_time(&self) -> u64 {
        self.controller.as_ref().map_or(u64::MAX, |state| state.next)
    }

    /// Calls the controller and sets the routes that it assigns.
    pub(crate) fn run_controller(&mut self) {
        let Some(mut state) = self.controller.take() else {
            return;
        };
        let seconds = state.interval as f64 * 1e-12;
        let hosts = &self.shared.fabric.hosts;
        let (mut observations, mut acked, mut assigned) = (Vec::new(), HashMap::new(), HashMap::new());
        for host in self.hosts() {
            for (flow, subflow, bytes) in host.movable_subflows() {
                let spec = self.shared.flow(flow);
                let id = (flow, subflow);
                acked.insert(id, bytes);
                let before = state.last_acked.get(&id).copied().unwrap_or(0);
                let path = state.assigned.get(&id).copied();
                assigned.extend(path.map(|path| (id, path)));
                let observation = SubflowObservation {
                    from: hosts[spec.from as usize],
                    to: hosts[spec.to as usize],
                    rate: (bytes - before) as f64 * 8.0 / seconds,
                    assigned_path: path,
                };
                observations.push((id, observation));
            }
        }
        // Without active subflows, the controller is not needed before the next event.
        let busy = if observations.is_empty() {
            self.engine.next_window_start()
        } else {
            state.next
        };
        state.next = (busy.max(state.next) / state.interval)
            .saturating_add(1)
            .saturating_mul(state.interval);
        state.last_acked = acked;
        state.assigned = assigned;
        observations.sort_unstable_by_key(|&(id, _)| id);
        let (ids, observations): (Vec<Subflow>, Vec<SubflowObservation>) = observations.into_iter().unzip();
        let is_down = |link| self.shared.down_links.contains(link);
        for (i, path) in state
            .controller
            .assign_paths(&self.shared.fabric, &is_down, &observations)
        {
            state.assigned.insert(ids[i], path);
            self.set_route(ids[i], path);
        }
        self.controller = Some(state);
    }

    /// Sets the assigned paths again after all hosts have chosen new ones. An assignment ends
    /// if its path is down.
    pub(crate) fn reapply_assignments(&mut self) {
        let Some(mut state) = self.controller.take() else {
            return;
        };
        state.assigned.retain(|&id, &mut path| self.set_route(id, path));
        self.controller = Some(state);
    }

    /// Sets the path of a subflow from its next packet on. Returns false if the subflow no longer
    /// sends or a link of the path is known to be down.
    fn set_route(&mut self, (flow, subflow): Subflow, path: u64) -> bool {
        let spec = self.shared.flow(flow);
        let [from, to] = [spec.from, spec.to].map(|host| self.shared.fabric.hosts[host as usize]);
        let Some(route) = self.shared.live_route(path, from, to) else {
            return false;
        };
        self.engine
            .endpoint_mut(spec.from)
            .set_route(flow, subflow, route)
    }
}
