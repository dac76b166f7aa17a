//! Subflows whose packets change their path.

use std::sync::Arc;

use weft_fabric::NodeId;
use weft_paths::{Granularity, PathPolicy, Paths, SubflowDirection};

use crate::engine::route::Route;

use super::host::Shared;

/// One direction of a subflow on its way from path to path.
pub struct PathSelector {
    shared: Arc<Shared>,
    transport: u32,
    direction: SubflowDirection,
    ends: [NodeId; 2],
    paths: Paths,
    /// Room for the ports of a path.
    ports: Vec<u16>,
    granularity: Granularity,
    /// Changes so far.
    switches: u64,
    /// When the last packet was sent.
    last: u64,
}

impl PathSelector {
    /// None with a policy by which each direction of a subflow keeps its path.
    pub fn new(
        shared: &Arc<Shared>,
        transport: u32,
        direction: SubflowDirection,
        from: NodeId,
        to: NodeId,
    ) -> Option<Box<Self>> {
        let changes = shared.transports[transport as usize]
            .paths
            .granularity(direction.subflow, direction.reverse);
        if changes == Granularity::Subflow {
            return None;
        }
        // Whether paths lead there was checked when the run was set up.
        let paths = shared.paths_between(from, to).ok()?;
        Some(Box::new(Self {
            shared: Arc::clone(shared),
            transport,
            direction,
            ends: [from, to],
            paths,
            ports: Vec::with_capacity(8),
            granularity: changes,
            switches: 0,
            last: u64::MAX,
        }))
    }

    /// Turns to the path after `n` changes in all, by a policy that has it told. Returns its route.
    pub fn switch_to(&mut self, n: u64) -> Option<Route> {
        self.switches = n;
        self.route()
    }

    /// What the other end needs to turn as well: 0 if its policy tells.
    pub fn switches_for_peer(&self) -> u32 {
        if self.granularity == Granularity::OnRequest {
            self.switches as u32
        } else {
            0
        }
    }

    /// The number of the path, as the policy has it.
    pub fn path_number(&self) -> u64 {
        let policy = &self.shared.transports[self.transport as usize].paths;
        policy.nth_path(self.paths, self.shared.seed, self.direction, self.switches)
    }

    /// The paths that there are.
    pub fn paths(&self) -> Paths {
        self.paths
    }

    /// The route of a packet sent at `now`, if it is another than that of the one before.
    pub fn next_route(&mut self, now: u64) -> Option<Route> {
        let last = std::mem::replace(&mut self.last, now);
        let change = match self.granularity {
            Granularity::Subflow | Granularity::OnRequest => false,
            Granularity::Packet => true,
            Granularity::Flowlet(gap) => last != u64::MAX && now.saturating_sub(last) > gap.0,
        };
        if !change {
            return None;
        }
        self.switches += 1;
        self.route()
    }

    /// The route as it stands.
    #[cold]
    pub fn route(&mut self) -> Option<Route> {
        let number = self.path_number();
        self.shared
            .route_along_path(
                number,
                self.paths,
                self.direction,
                self.switches,
                self.ends,
                &mut self.ports,
            )
            .ok()
    }
}
