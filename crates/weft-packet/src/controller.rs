//! Calls a controller, which gives subflows their paths, at fixed simulated times. What the controller sees
//! and does therefore depends neither on threads nor on where a run is cut.

use std::collections::HashMap;
use std::sync::Arc;

use weft_paths::{Controller, SubflowObservation};

use crate::simulation::PacketSimulation;

/// A flow and which of its subflows.
type Subflow = (u32, u32);

/// A controller at work.
pub(crate) struct Controlling {
    controller: Arc<dyn Controller>,
    every: u64,
    /// When it acts next.
    pub next: u64,
    /// What was acknowledged when it last acted, in bytes.
    acked: HashMap<Subflow, u64>,
    /// The paths that it has given.
    placed: HashMap<Subflow, u64>,
}

impl Controlling {
    pub fn new(controller: Arc<dyn Controller>) -> Self {
        let every = controller.interval().0.max(1);
        Self {
            controller,
            every,
            next: every,
            acked: HashMap::new(),
            placed: HashMap::new(),
        }
    }
}

impl PacketSimulation {
    /// When the controller acts next; `u64::MAX` if there is none.
    pub(crate) fn control_due(&self) -> u64 {
        self.controlling.as_ref().map_or(u64::MAX, |it| it.next)
    }

    /// Lets the controller act.
    pub(crate) fn control(&mut self) {
        let Some(mut it) = self.controlling.take() else {
            return;
        };
        let seconds = it.every as f64 * 1e-12;
        let hosts = &self.shared.fabric.hosts;
        let (mut seen, mut acked, mut placed) = (Vec::new(), HashMap::new(), HashMap::new());
        for host in self.hosts() {
            for (flow, subflow, bytes) in host.established_subflows() {
                let spec = self.shared.flow(flow);
                let which = (flow, subflow);
                acked.insert(which, bytes);
                let before = it.acked.get(&which).copied().unwrap_or(0);
                let path = it.placed.get(&which).copied();
                placed.extend(path.map(|path| (which, path)));
                let one = SubflowObservation {
                    from: hosts[spec.from as usize],
                    to: hosts[spec.to as usize],
                    rate: (bytes - before) as f64 * 8.0 / seconds,
                    assigned_path: path,
                };
                seen.push((which, one));
            }
        }
        // Silence needs no controller.
        let busy = if seen.is_empty() {
            self.engine.next()
        } else {
            it.next
        };
        it.next = (busy.max(it.next) / it.every)
            .saturating_add(1)
            .saturating_mul(it.every);
        it.acked = acked;
        it.placed = placed;
        seen.sort_unstable_by_key(|&(which, _)| which);
        let (which, seen): (Vec<Subflow>, Vec<SubflowObservation>) = seen.into_iter().unzip();
        let dead = |link| self.shared.down_links.contains(link);
        for (i, path) in it.controller.assign_paths(&self.shared.fabric, &dead, &seen) {
            it.placed.insert(which[i], path);
            self.lead(which[i], path);
        }
        self.controlling = Some(it);
    }

    /// Puts subflows back on the controller's paths after all hosts have chosen new ones, unless their path is dead.
    pub(crate) fn keep_placed(&mut self) {
        let Some(mut it) = self.controlling.take() else {
            return;
        };
        it.placed.retain(|&which, &mut path| self.lead(which, path));
        self.controlling = Some(it);
    }

    /// Leads a subflow along a path from its next packet on, if it sends still and no link of it is known to be dead.
    fn lead(&mut self, (flow, subflow): Subflow, path: u64) -> bool {
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
