//! The route of a packet: the ports that it still has to take, packed into one word.

/// The encoding of a network's routes. Each hop takes as many bits as the largest number of ports
/// at a node needs.
#[derive(Clone, Copy, Debug)]
pub struct HopBits {
    bits: u32,
    mask: u64,
}

impl HopBits {
    /// Creates the encoding for a network whose nodes have up to `max_ports` ports.
    pub fn new(max_ports: u32) -> Self {
        let bits = u32::BITS - max_ports.leading_zeros();
        Self {
            bits,
            mask: (1 << bits) - 1,
        }
    }

    /// Number of bits of each hop.
    pub fn bits(self) -> u32 {
        self.bits
    }
}

/// The ports that a packet still has to take, the next one in the lowest bits. A hop is stored as
/// port + 1, so that 0 means that the packet is at its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route(u64);

impl Route {
    /// Creates the route over these ports; `None` if it takes more than 64 bits.
    pub fn from_ports(ports: &[u16], hops: HopBits) -> Option<Self> {
        ports
            .iter()
            .rev()
            .try_fold(Self::default(), |route, &port| route.with_hop(port, hops))
    }

    /// Returns this route with a hop over `port` before it; `None` if that takes more than 64 bits.
    pub fn with_hop(self, port: u16, hops: HopBits) -> Option<Self> {
        let fits = (self.len(hops) + 1) * hops.bits <= u64::BITS;
        fits.then(|| Self(self.0 << hops.bits | (u64::from(port) + 1)))
    }

    /// Returns the next port and the route after it. The route must not be [at its
    /// destination](Self::is_at_destination).
    #[inline(always)]
    pub fn next(self, hops: HopBits) -> (u32, Self) {
        let hop = self.0 & hops.mask;
        ((hop as u32).wrapping_sub(1), Self(self.0 >> hops.bits))
    }

    /// Returns true if no hop is left.
    #[inline(always)]
    pub fn is_at_destination(self) -> bool {
        self.0 == 0
    }

    /// Number of hops left.
    #[inline]
    pub fn len(self, hops: HopBits) -> u32 {
        (u64::BITS - self.0.leading_zeros()).div_ceil(hops.bits)
    }

    /// The packed word, for hashes of events.
    pub fn word(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hops(bits: u32) -> HopBits {
        HopBits {
            bits,
            mask: (1 << bits) - 1,
        }
    }

    proptest! {
        #[test]
        fn a_route_yields_its_ports_in_order(bits in 1_u32..17, ports: Vec<u16>) {
            let hops = hops(bits);
            let ports: Vec<u16> = ports.into_iter().map(|port| port % hops.mask as u16).collect();
            let route = Route::from_ports(&ports, hops);
            prop_assert_eq!(route.is_some(), ports.len() as u32 * bits <= 64);
            if let Some(mut route) = route {
                prop_assert_eq!(route.len(hops), ports.len() as u32);
                for &port in &ports {
                    let (next, rest) = route.next(hops);
                    prop_assert_eq!(next, u32::from(port));
                    route = rest;
                }
                prop_assert!(route.is_at_destination());
            }
        }
    }
}
