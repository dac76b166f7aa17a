//! The senders or receivers of a host, by flow and by index. Queues refer to an item by its index, which a later
//! item may get once the item is freed. Timers, which may outlive it, refer to it by its number, which is never used again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

type FlowMap = HashMap<u32, u32, BuildHasherDefault<FlowHasher>>;

/// The number of a free index.
const FREE: u32 = u32::MAX;

/// Items of flows.
pub struct FlowTable<T> {
    items: Vec<T>,
    /// For each index, the number of its item, which is that of items added before it, or [`FREE`].
    numbers: Vec<u32>,
    /// The free indices.
    free: Vec<u32>,
    added: u32,
    /// Indices by flow, and by number where the two differ.
    by_flow: FlowMap,
    by_number: FlowMap,
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            numbers: Vec::new(),
            free: Vec::new(),
            added: 0,
            by_flow: HashMap::default(),
            by_number: HashMap::default(),
        }
    }
}

impl<T> FlowTable<T> {
    /// Adds the item of a flow that has none. Returns its index.
    pub fn add(&mut self, flow: u32, item: T) -> u32 {
        let index = self.add_further(item);
        self.by_flow.insert(flow, index);
        index
    }

    /// Adds a further item of a flow, which is found by its index and its number alone. Returns its index.
    pub fn add_further(&mut self, item: T) -> u32 {
        let number = self.added;
        self.added += 1;
        let index = if let Some(index) = self.free.pop() {
            self.items[index as usize] = item;
            self.numbers[index as usize] = number;
            index
        } else {
            self.items.push(item);
            self.numbers.push(number);
            self.items.len() as u32 - 1
        };
        if index != number {
            self.by_number.insert(number, index);
        }
        index
    }

    /// Frees the index of a flow's item. Returns it.
    pub fn free(&mut self, flow: u32) -> Option<u32> {
        let index = self.by_flow.remove(&flow)?;
        self.free_further(index);
        Some(index)
    }

    /// Frees the index of a [further item](Self::add_further).
    pub fn free_further(&mut self, index: u32) {
        let number = std::mem::replace(&mut self.numbers[index as usize], FREE);
        self.by_number.remove(&number);
        self.free.push(index);
    }

    /// Returns the two items at different indices.
    pub fn pair_mut(&mut self, one: u32, other: u32) -> Option<[&mut T; 2]> {
        self.items.get_disjoint_mut([one as usize, other as usize]).ok()
    }

    /// Returns the number of flows that have items.
    pub fn count(&self) -> usize {
        self.by_flow.len()
    }

    /// Returns the indices of flows in any order.
    pub fn flows(&self) -> impl Iterator<Item = u32> {
        self.by_flow.values().copied()
    }

    /// Returns the items in any order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let items = self.items.iter().zip(&self.numbers);
        items.filter_map(|(item, &number)| (number != FREE).then_some(item))
    }

    /// Returns the items in any order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let items = self.items.iter_mut().zip(&self.numbers);
        items.filter_map(|(item, &number)| (number != FREE).then_some(item))
    }

    /// Returns the number of the item at an index.
    #[inline]
    pub fn number(&self, index: u32) -> u32 {
        self.numbers[index as usize]
    }

    /// Returns the index of the item with this number; `None` if it has been freed.
    #[inline]
    pub fn index_of_number(&self, number: u32) -> Option<u32> {
        if self.numbers.get(number as usize) == Some(&number) {
            return Some(number);
        }
        self.by_number.get(&number).copied()
    }

    /// Returns the index of the item of a flow.
    #[inline]
    pub fn index_of(&self, flow: u32) -> Option<u32> {
        self.by_flow.get(&flow).copied()
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

    /// Returns the number of indices, the free ones included.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.items.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_that_of_another_item() {
        let mut table = FlowTable::default();
        assert_eq!([table.add(7, 'a'), table.add(8, 'b')], [0, 1]);
        assert_eq!(table.free(7), Some(0));
        assert_eq!((table.free(7), table.count()), (None, 1));
        assert_eq!(table.index_of_number(0), None);
        assert_eq!((table.add(9, 'c'), table.number(0)), (0, 2));
        assert_eq!(table.index_of_number(2), Some(0));
        assert_eq!(table.add(10, 'd'), 2);
        // Index 2 has number 3, and number 2 is at index 0.
        assert_eq!(
            [2, 3].map(|number| table.index_of_number(number)),
            [Some(0), Some(2)]
        );
        assert_eq!(table.iter().collect::<String>(), "cbd");
        assert_eq!((table.find(7), table.find(9)), (None, Some(&'c')));
        assert_eq!((table.add_further('e'), table.count()), (3, 3));
        table.free_further(3);
        assert_eq!((table.index_of_number(4), table.add(11, 'f')), (None, 3));
    }
}
