//! A map from flows to the indices of their senders or receivers at a host.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Indices by flow.
pub type FlowMap = HashMap<u32, u32, BuildHasherDefault<FlowHasher>>;

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
