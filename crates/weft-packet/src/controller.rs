//! Calls a controller, which assigns paths to subflows, at fixed simulated times. Its observations
//! and actions are therefore independent of the number of threads and of where slices end.

use std::collections::HashMap;
use std::sync::Arc;

use weft_paths::{Controller, SubflowObservation};

use crate::simulation::PacketSimulation;

/// The index of a flow, and that of the subflow within the flow.
type Subflow = (u32, u32);

/// The controller of a run and its state.
pub(crate) struct ControllerState {
    controller: Arc<dyn Controller>,
    interval: u64,
    /// Time of the next call in picoseconds.
    pub next: u64,
    /// Bytes of each subflow that were acknowledged up to the last call.
    last_acked: HashMap<Subflow, u64>,
    /// Number of the path that is assigned to each subflow; none if its host chooses.
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

    /// Calls the controller with the rates of all subflows whose path can change, and applies the paths
    /// that it assigns.
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
                    bound_path: self.shared.bound_path(&spec, subflow),
                };
                observations.push((id, observation));
            }
        }
        // Without such subflows nothing can change before the engine's next event.
        let idle_until = if observations.is_empty() {
            self.engine.next_window_start()
        } else {
            state.next
        };
        state.next = (idle_until.max(state.next) / state.interval)
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

    /// Restores the assigned paths after all hosts have chosen their own again. An assignment ends if
    /// its path is known to be down or its subflow no longer sends.
    pub(crate) fn reapply_assignments(&mut self) {
        let Some(mut state) = self.controller.take() else {
            return;
        };
        state.assigned.retain(|&id, &mut path| self.set_route(id, path));
        self.controller = Some(state);
    }

    /// Moves a subflow to a path, starting with its next packet. Returns false if the subflow no longer
    /// sends, or if a link of the path is known to be down.
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
