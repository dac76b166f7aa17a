//! Links that routing knows to be down.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Links that routing knows to be down. They change only between two calls of the engine.
#[derive(Default)]
pub struct DownLinks {
    count: AtomicU32,
    links: Box<[AtomicBool]>,
}

impl DownLinks {
    /// Creates the set for a network with this many links, all up. 0 is enough for a run without
    /// link failures.
    pub fn new(links: usize) -> Self {
        Self {
            count: AtomicU32::new(0),
            links: (0..links).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Records that a link is down or up.
    pub fn set(&self, link: u32, down: bool) {
        if self.links[link as usize].swap(down, Ordering::Relaxed) != down {
            let change = if down { 1 } else { u32::MAX };
            self.count.fetch_add(change, Ordering::Relaxed); // u32::MAX is -1, wrapping around
        }
    }

    /// Returns true if this link of the fabric is known to be down.
    pub fn contains(&self, link: usize) -> bool {
        self.any() && self.has(link)
    }

    /// Returns true if any link is known to be down.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Returns true if routing knows that this link is down. Call it only if [`any`](Self::any) returns true.
    pub fn has(&self, link: usize) -> bool {
        self.links[link].load(Ordering::Relaxed)
    }
}
