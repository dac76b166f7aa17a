//! Buffers that ports of a node share.
//!
//! As long as no port holds more than a *fair share*, all of them together are below every threshold, and nothing is counted.
//! Once a packet would exceed its port's share, the packets of all ports are counted, until few are left. Departures are known
//! when packets are accepted, so each port then has the times at which its waiting packets leave the buffer, in order. They
//! are removed only when the buffer might be full without that: as long as packets that have left may count, a packet that
//! fits is accepted.

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
    /// Adds a port of a node, with its number in the partition. Its threshold is `alpha` times the free space of a buffer of
    /// `size` bytes, including reserves. The ports of a node are added one after the other.
    pub fn add_port(
        &mut self,
        [node, number]: [u32; 2],
        size: u64,
        alpha: f64,
        reserve: u64,
        max_packet: u32,
    ) -> BufferPort {
        if self.node.replace(node) != Some(node) {
            self.pools.push(Pool {
                size,
                alpha,
                max_packet: max_packet.into(),
                is_counted: true,
                ..Pool::default()
            });
        }
        let pool = self.pools.len() - 1;
        BufferPort {
            pool: pool as u32,
            port: self.pools[pool].add_port(number, alpha, reserve),
        }
    }

    /// Returns how many bytes may wait at a port as long as packets are not counted; `None` if they are.
    #[inline]
    pub fn uncounted(&self, port: BufferPort) -> Option<u64> {
        let pool = &self.pools[port.pool as usize];
        (!pool.is_counted).then(|| pool.share + pool.ports[port.port as usize].reserve)
    }

    /// Begins to count the packets of the buffer of a port. Returns its ports, whose packets are to be
    /// [added](Self::add).
    pub fn count(&mut self, port: BufferPort) -> Vec<u32> {
        let pool = &mut self.pools[port.pool as usize];
        pool.is_counted = true;
        pool.ports.iter().map(|waiting| waiting.number).collect()
    }

    /// Returns true if a port may store another packet of `size` bytes at `now`: what exceeds its reserve is
    /// below `alpha` times the free space.
    pub fn accepts(&mut self, port: BufferPort, now: u64, alpha: f64, size: u16) -> bool {
        let (pool, port) = (&mut self.pools[port.pool as usize], port.port as usize);
        if !pool.is_counted {
            return true;
        }
        pool.advance(port, now);
        pool.decisions += 1;
        if pool.decisions.is_multiple_of(DECISIONS) || !pool.accepts(port, alpha, size) {
            pool.advance_all(now);
        }
        pool.accepts(port, alpha, size)
    }

    /// Adds a packet that leaves the buffer at `start`, if packets are counted.
    #[inline]
    pub fn add(&mut self, port: BufferPort, start: u64, size: u16) {
        let pool = &mut self.pools[port.pool as usize];
        if pool.is_counted {
            pool.add(port.port as usize, start, size);
        }
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
    /// The smallest factor of the free space of all ports.
    alpha: f64,
    /// Size of the largest packet in bytes.
    max_packet: u64,
    /// Bytes of this part that each port may use before packets are counted; 0 if they always are.
    share: u64,
    /// Whether packets are counted.
    is_counted: bool,
    /// Number of decisions with packets that are counted.
    decisions: u64,
    /// Bytes of this part in use, if packets are counted.
    used: u64,
    ports: Vec<Waiting>,
}

/// Number of decisions after which the packets of all ports that have left are removed: chosen so that a buffer of 64 ports
/// costs each decision one port.
const DECISIONS: u64 = 64;

/// The packets of a port of a pool that wait, and some that have left.
#[derive(Clone, Default)]
struct Waiting {
    /// Number of the port in its partition.
    number: u32,
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
    fn add_port(&mut self, number: u32, alpha: f64, reserve: u64) -> u32 {
        self.size = self.size.saturating_sub(reserve);
        self.alpha = self.alpha.min(alpha);
        self.ports.push(Waiting {
            number,
            reserve,
            ..Waiting::default()
        });
        self.share = self.fair_share();
        self.ports.len() as u32 - 1
    }

    /// Returns the bytes that all ports may use at the same time without reaching a threshold, less a packet. A count of the
    /// packets takes a step for each port, so a share of fewer packets than ports does not pay.
    fn fair_share(&self) -> u64 {
        let ports = self.ports.len() as u64;
        let below_threshold = self.alpha * self.size as f64 / (1.0 + self.alpha * ports as f64);
        let fitting = self.size / (ports + 1);
        let share = (below_threshold as u64)
            .min(fitting)
            .saturating_sub(self.max_packet);
        if share < ports * self.max_packet { 0 } else { share }
    }

    /// Removes the packets that have begun to be sent by `now`, and stops counting if few are left.
    fn advance_all(&mut self, now: u64) {
        for port in 0..self.ports.len() {
            self.advance(port, now);
        }
        let few = self.share / 2;
        if self.ports.iter().all(|port| port.beyond_reserve() < few) {
            self.is_counted = false;
            for port in 0..self.ports.len() {
                self.advance(port, u64::MAX);
            }
        }
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
