//! Subflows whose packets change their path.

use std::sync::Arc;

use weft_fabric::NodeId;
use weft_paths::{Changes, PathPolicy, Way};

use crate::engine::route::Route;

use super::host::Shared;

/// One direction of a subflow on its way from path to path.
pub struct Wandering {
    shared: Arc<Shared>,
    transport: u32,
    way: Way,
    ends: [NodeId; 2],
    changes: Changes,
    /// Changes so far.
    n: u64,
    /// When the last packet was sent.
    last: u64,
}

impl Wandering {
    /// None with a policy by which each direction of a subflow keeps its path.
    pub fn new(
        shared: &Arc<Shared>,
        transport: u32,
        way: Way,
        from: NodeId,
        to: NodeId,
    ) -> Option<Box<Self>> {
        let changes = shared.transports[transport as usize].paths.changes(way.back);
        let wanders = changes != Changes::Never;
        wanders.then(|| {
            Box::new(Self {
                shared: Arc::clone(shared),
                transport,
                way,
                ends: [from, to],
                changes,
                n: 0,
                last: u64::MAX,
            })
        })
    }

    /// The route of a packet sent at `now`, if it is another than that of the one before.
    #[cold]
    pub fn next(&mut self, now: u64) -> Option<Route> {
        let last = std::mem::replace(&mut self.last, now);
        let change = match self.changes {
            Changes::Never => false,
            Changes::EveryPacket => true,
            Changes::AfterGap(gap) => last != u64::MAX && now.saturating_sub(last) > gap.0,
        };
        if !change {
            return None;
        }
        self.n += 1;
        self.route()
    }

    /// The route as it stands.
    pub fn route(&self) -> Option<Route> {
        let [from, to] = self.ends;
        self.shared
            .route_after(self.transport, self.way, self.n, from, to)
            .ok()
    }
}
