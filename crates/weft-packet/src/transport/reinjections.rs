//! What slow paths' subflows have outstanding and other subflows were given, too: once an acknowledgement covers it, a subflow's or the
//! connection's own, no copy of it is sent any more.
//!
//! The connection's own, `DATA_ACK`, does not tell enough, as it stops at the first chunk that is missing. If copies were sent
//! until then, paths whose RTT is longer than what counts as slow would hand each other the same few chunks for ever, and the one that is
//! missing would not get its turn.

use super::subflow::SubflowSender;

/// The copies of a connection's chunks.
#[derive(Default)]
pub struct ReinjectionTracker {
    /// The subflow on which a chunk was outstanding when others were given it, and the chunk.
    outstanding: Vec<(u32, u32)>,
    /// Those that a subflow's acknowledgement has covered since, in order.
    arrived: Vec<u32>,
}

impl ReinjectionTracker {
    /// Looks what has arrived since the last look; `una` is the first chunk that the connection's own acknowledgement does not cover.
    /// If there is anything new, returns the chunks from `una` on, in order, of which no copy is needed; none of the earlier ones is.
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

    /// What `subflow` has sent from byte `from` on, is outstanding, and is not known to have arrived: it is given to others.
    pub fn track(&mut self, subflow: &SubflowSender, from: u64, una: u32) -> Vec<u32> {
        let sent = subflow
            .segments
            .unsacked_chunks_from(from.max(subflow.una) as u32);
        let arrived = &self.arrived;
        let copied: Vec<u32> = sent
            .filter(|chunk| *chunk >= una && arrived.binary_search(chunk).is_err())
            .collect();
        let outstanding = copied.iter().map(|&chunk| (subflow.index, chunk));
        self.outstanding.extend(outstanding);
        copied
    }
}
