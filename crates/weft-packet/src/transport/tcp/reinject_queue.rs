//! Chunks that wait for reinjection on another subflow than the one that sent them.

use std::collections::VecDeque;

/// The chunks to reinject.
#[derive(Default)]
pub struct ReinjectQueue {
    /// Chunks, each with the subflow that timed out on it, which does not send the chunk again.
    waiting: VecDeque<(u32, u32)>,
    /// Number of reinjected chunks.
    count: u64,
}

impl ReinjectQueue {
    /// Returns true if no chunk waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of waiting chunks.
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Returns the number of chunks that were taken for reinjection.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes the next chunk to reinject on subflow `s`. Chunks on which `s` itself timed out stay
    /// in the queue. Chunks before `una` are acknowledged and are dropped.
    #[inline(always)]
    pub fn pop(&mut self, s: u32, una: u32) -> Option<u32> {
        while let Some(&(chunk, from)) = self.waiting.front() {
            if chunk < una {
                self.waiting.pop_front();
            } else if from == s {
                break;
            } else {
                self.waiting.pop_front();
                self.count += 1;
                return Some(chunk);
            }
        }
        None
    }

    /// Adds the chunks `sent` by subflow `s`, unless they are acknowledged or wait already.
    pub fn extend(&mut self, s: u32, una: u32, sent: impl Iterator<Item = u32>) {
        for chunk in sent.filter(|&chunk| chunk >= una) {
            if !self.waiting.iter().any(|&(waiting, _)| waiting == chunk) {
                self.waiting.push_back((chunk, s));
            }
        }
    }

    /// Replaces all waiting chunks by `chunks`, which subflow `s` has sent.
    pub fn replace(&mut self, s: u32, chunks: impl Iterator<Item = u32>) {
        self.waiting.clear();
        self.waiting.extend(chunks.map(|chunk| (chunk, s)));
    }

    /// Drops the chunks before `una` and those in `arrived`, which is sorted.
    pub fn drop_acked(&mut self, una: u32, arrived: &[u32]) {
        self.waiting
            .retain(|(chunk, _)| *chunk >= una && arrived.binary_search(chunk).is_err());
    }

    /// Drops all waiting chunks and frees their memory.
    pub fn free(&mut self) {
        self.waiting = VecDeque::new();
    }
}
