//! Slots of connections and subflows that may be reused.

use std::collections::HashMap;

/// Free slots of one host.
#[derive(Default)]
pub struct FreeSlots {
    pub connections: Vec<u32>,
    /// First slots of runs of subflows, by the length of the run.
    runs: HashMap<u32, Vec<u32>>,
    pub connection_receivers: Vec<u32>,
    pub subflow_receivers: Vec<u32>,
}

impl FreeSlots {
    /// Takes the first of `n` adjacent free slots for subflows, if there are any.
    pub fn take_run(&mut self, n: u32) -> Option<u32> {
        self.runs.get_mut(&n)?.pop()
    }

    /// Adds `n` adjacent free slots for subflows from `first` on.
    pub fn add_run(&mut self, first: u32, n: u32) {
        self.runs.entry(n).or_default().push(first);
    }
}

/// Inserts `item` into a free slot, or else a new one. Returns the slot.
pub fn insert<T>(slots: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    if let Some(slot) = free.pop() {
        slots[slot as usize] = item;
        return slot;
    }
    slots.push(item);
    slots.len() as u32 - 1
}
