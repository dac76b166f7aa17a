//! Buffers that ports of a node share.
//!
//! Departures are known when packets are accepted, so each port has the times at which its waiting packets
//! leave the buffer, in order. They are removed only when the buffer might be full without that: as long as
//! packets that have left may count, a packet that fits is accepted.

use std::collections::VecDeque;

/// The buffers of a partition.
#[derive(Clone, Default)]
pub struct Buffers {
    pools: Vec<Pool>,
    /// The node of the last buffer.
    node: Option<u32>,
}

/// A port in a buffer: the buffer, and the port's number in it.
#[derive(Clone, Copy)]
pub struct BufferPort {
    pool: u32,
    port: u32,
}

impl Buffers {
    /// Adds a port of `node`, with a buffer of `size` bytes including reserves. The ports of a node are added
    /// one after the other.
    pub fn add_port(&mut self, node: u32, size: u64, reserve: u64) -> BufferPort {
        if self.node.replace(node) != Some(node) {
            self.pools.push(Pool {
                size,
                ..Pool::default()
            });
        }
        let pool = self.pools.len() - 1;
        BufferPort {
            pool: pool as u32,
            port: self.pools[pool].add_port(reserve),
        }
    }

    /// Returns true if a port may store another packet of `size` bytes at `now`: what exceeds its reserve is
    /// below `alpha` times the free space.
    pub fn accepts(&mut self, port: BufferPort, now: u64, alpha: f64, size: u16) -> bool {
        let (pool, port) = (&mut self.pools[port.pool as usize], port.port as usize);
        pool.advance(port, now);
        if pool.accepts(port, alpha, size) {
            return true;
        }
        for other in 0..pool.ports.len() {
            pool.advance(other, now);
        }
        pool.accepts(port, alpha, size)
    }

    /// Adds a packet that leaves the buffer at `start`.
    #[inline]
    pub fn add(&mut self, port: BufferPort, start: u64, size: u16) {
        self.pools[port.pool as usize].add(port.port as usize, start, size);
    }

    /// Removes all packets of a port.
    pub fn clear(&mut self, port: BufferPort) {
        self.pools[port.pool as usize].advance(port.port as usize, u64::MAX);
    }
}

/// The shared buffer of a node.
#[derive(Clone, Default)]
struct Pool {
    /// Size in bytes of the part that no port reserves.
    size: u64,
    /// Bytes of this part in use.
    used: u64,
    ports: Vec<Waiting>,
}

/// The packets of a port of a pool that wait, and some that have left.
#[derive(Clone, Default)]
struct Waiting {
    bytes: u64,
    reserve: u64,
    /// Start of the transmission and size of each packet.
    packets: VecDeque<(u64, u16)>,
}

impl Waiting {
    /// Returns the bytes that exceed the reserve.
    fn beyond_reserve(&self) -> u64 {
        self.bytes.saturating_sub(self.reserve)
    }
}

impl Pool {
    fn add_port(&mut self, reserve: u64) -> u32 {
        self.size = self.size.saturating_sub(reserve);
        self.ports.push(Waiting {
            reserve,
            ..Waiting::default()
        });
        self.ports.len() as u32 - 1
    }

    /// Removes the packets of a port that have begun to be sent by `now`.
    fn advance(&mut self, port: usize, now: u64) {
        let waiting = &mut self.ports[port];
        let before = waiting.beyond_reserve();
        while let Some(&(start, size)) = waiting.packets.front()
            && start <= now
        {
            waiting.packets.pop_front();
            waiting.bytes -= u64::from(size);
        }
        self.used -= before - waiting.beyond_reserve();
    }

    #[inline]
    fn add(&mut self, port: usize, start: u64, size: u16) {
        let waiting = &mut self.ports[port];
        let before = waiting.beyond_reserve();
        waiting.packets.push_back((start, size));
        waiting.bytes += u64::from(size);
        self.used += waiting.beyond_reserve() - before;
    }

    /// Returns true if a port may store another packet of `size` bytes.
    fn accepts(&self, port: usize, alpha: f64, size: u16) -> bool {
        let Waiting { bytes, reserve, .. } = self.ports[port];
        let after = bytes + u64::from(size);
        if after <= reserve {
            return true;
        }
        let before = bytes.saturating_sub(reserve);
        let free = self.size.saturating_sub(self.used);
        (before as f64) < alpha * free as f64 && after - reserve - before <= free
    }
}
