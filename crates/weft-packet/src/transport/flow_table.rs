//! The senders or receivers of a host, by flow and by index. Indices key timers and queues.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Items of flows, in the order in which they were added.
pub struct FlowTable<T> {
    items: Vec<T>,
    indices: HashMap<u32, u32, BuildHasherDefault<FlowHasher>>,
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            indices: HashMap::default(),
        }
    }
}

impl<T> FlowTable<T> {
    /// Adds the item of a flow that has none. Returns its index.
    pub fn add(&mut self, flow: u32, item: T) -> u32 {
        let index = self.items.len() as u32;
        self.items.push(item);
        self.indices.insert(flow, index);
        index
    }

    /// Returns the index of the item of a flow.
    #[inline]
    pub fn index_of(&self, flow: u32) -> Option<u32> {
        self.indices.get(&flow).copied()
    }

    /// Returns the item of a flow.
    pub fn find(&self, flow: u32) -> Option<&T> {
        Some(&self[self.index_of(flow)?])
    }

    /// Returns the item of a flow.
    pub fn find_mut(&mut self, flow: u32) -> Option<&mut T> {
        let index = self.index_of(flow)?;
        Some(&mut self[index])
    }
}

/// All items by index.
impl<T> Deref for FlowTable<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for FlowTable<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T> Index<u32> for FlowTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}

impl<T> IndexMut<u32> for FlowTable<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}

/// A hash of the number of a flow by one multiplication.
#[derive(Default)]
pub struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}
