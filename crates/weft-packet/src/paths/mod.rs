//! Path policies: which of the equal-cost paths a subflow's packets take.

use weft_fabric::{Fabric, NodeId};

use crate::engine::{hop_bits, mix};

/// ECMP: a hash of the subflow's identity, as of a five-tuple, selects one path for each direction.
pub struct Ecmp {
    seed: u64,
    /// Bits of a route that one hop takes.
    pub hop_bits: u32,
}

impl Ecmp {
    /// Hash functions of the whole fabric, drawn by `seed`.
    pub fn new(fabric: &Fabric, seed: u64) -> Self {
        Self {
            seed,
            hop_bits: hop_bits(fabric),
        }
    }

    /// The route from `from` to `to` of subflow `subflow` of `flow`, ready for a packet; `back` is the receiver's
    /// direction.
    ///
    /// # Errors
    /// The path has more hops than a route can hold.
    pub fn route(
        &self,
        fabric: &Fabric,
        from: NodeId,
        to: NodeId,
        flow: u32,
        subflow: u32,
        back: bool,
    ) -> Result<u64, String> {
        let mut hash = self.seed;
        mix(
            &mut hash,
            u64::from(flow) << 32 | u64::from(subflow) << 1 | u64::from(back),
        );
        let mut ports = Vec::with_capacity(8);
        fabric
            .routing
            .subflow_path(from, to, subflow, finish(hash), &mut ports);
        if ports.len() as u32 * self.hop_bits > u64::BITS {
            return Err(format!(
                "a path of {} hops over nodes of up to {} ports; allowed: hops times bits of a port number at most 64",
                ports.len(),
                (1_u64 << self.hop_bits) - 1
            ));
        }
        Ok(ports
            .iter()
            .rev()
            .fold(0, |route, &port| route << self.hop_bits | (u64::from(port) + 1)))
    }
}

/// Spreads a mixed hash over all 64 bits.
pub fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 30;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ hash >> 31
}
