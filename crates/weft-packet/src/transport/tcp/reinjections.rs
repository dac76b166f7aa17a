//! Tracker of reinjected chunks: chunks that are outstanding on a slow subflow and were also
//! reinjected on others. When either copy is acknowledged, on the subflow or by a `DATA_ACK`, the
//! reinjection is cancelled.
//!
//! The `DATA_ACK` alone does not suffice, because it stops at the first missing chunk. Chunks
//! beyond it that have already arrived would be reinjected until it covers them. If all paths have
//! RTTs above the limit for a slow path, subflows would then reinject each other's first few chunks
//! for ever. The missing chunk would never be sent.
//!
//! A *chunk* is numbered in the connection's data. In this module, `una` is the first chunk that
//! the `DATA_ACK` does not cover; `una` of `SubflowSender::seq` is a position in the subflow's own data.

use super::subflow::SubflowSender;

/// The reinjected chunks of a connection.
#[derive(Default)]
pub struct ReinjectionTracker {
    /// The subflow on which a chunk was outstanding when it was reinjected on others, and the
    /// chunk.
    outstanding: Vec<(u32, u32)>,
    /// Chunks that an acknowledgement of a subflow has covered since they were reinjected, sorted.
    arrived: Vec<u32>,
}

impl ReinjectionTracker {
    /// Determines which chunks have arrived since the last call. If there are any, returns the
    /// chunks from `una` on that have arrived and need no reinjection, sorted; chunks before `una`
    /// never need one.
    pub fn update(&mut self, una: u32, subflows: &[SubflowSender]) -> Option<&[u32]> {
        let before = self.outstanding.len();
        self.outstanding.retain(|&(_, chunk)| chunk >= una);
        self.arrived.retain(|&chunk| chunk >= una);
        for (s, subflow) in (0..).zip(subflows) {
            if !self.outstanding.iter().any(|&(of, _)| of == s) {
                continue;
            }
            let mut still: Vec<u32> = subflow.segments.unsacked_chunks().collect();
            still.sort_unstable();
            let arrived = &mut self.arrived;
            self.outstanding.retain(|&(of, chunk)| {
                let stays = of != s || still.binary_search(&chunk).is_ok();
                if !stays {
                    arrived.push(chunk);
                }
                stays
            });
        }
        self.arrived.sort_unstable();
        self.arrived.dedup();
        (self.outstanding.len() < before).then_some(&*self.arrived)
    }

    /// Returns the chunks that `subflow` has sent from byte `from` on, which are outstanding and
    /// not known to have arrived, and tracks them as reinjected.
    pub fn track(&mut self, subflow: &SubflowSender, from: u64, una: u32) -> Vec<u32> {
        let sent = subflow
            .segments
            .unsacked_chunks_from(from.max(subflow.seq.una()) as u32);
        let arrived = &self.arrived;
        let copied: Vec<u32> = sent
            .filter(|chunk| *chunk >= una && arrived.binary_search(chunk).is_err())
            .collect();
        let outstanding = copied.iter().map(|&chunk| (subflow.index(), chunk));
        self.outstanding.extend(outstanding);
        copied
    }
}
