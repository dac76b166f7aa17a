//! A buffer that the ports of a node share, with dynamic thresholds: Choudhury and Hahne, "Dynamic
//! Queue Length Thresholds for Shared-Memory Packet Switches" (1998).
//!
//! Departures are known when packets are accepted, so the buffer keeps a heap of the times at which
//! waiting packets leave it, over all ports of the node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Decision;
use crate::port::Port;

/// The shared buffer of a node.
#[derive(Clone, Default)]
pub struct Pool {
    /// Size in bytes of the part that no port reserves.
    size: u64,
    /// Bytes of this part in use.
    used: u64,
    /// Bytes that wait, and the reserve in bytes, by port of the pool.
    ports: Vec<(u64, u64)>,
    /// The waiting packets: time at which the packet begins to be sent, port of the pool, size.
    waiting: BinaryHeap<Reverse<(u64, u32, u16)>>,
}

impl Pool {
    /// Creates an empty buffer of `bytes` bytes, including reserves.
    pub fn new(bytes: u64) -> Self {
        Self {
            size: bytes,
            ..Self::default()
        }
    }

    /// Adds a port. Returns its number in the pool.
    fn add_port(&mut self, reserve: u64) -> u32 {
        self.size = self.size.saturating_sub(reserve);
        self.ports.push((0, reserve));
        self.ports.len() as u32 - 1
    }

    /// Removes the packets that have begun to be sent by `now`.
    fn advance(&mut self, now: u64) {
        while let Some(&Reverse((start, port, size))) = self.waiting.peek() {
            if start > now {
                break;
            }
            self.waiting.pop();
            self.change(port, |waiting| waiting - u64::from(size));
        }
    }

    fn add(&mut self, start: u64, port: u32, size: u16) {
        self.waiting.push(Reverse((start, port, size)));
        self.change(port, |waiting| waiting + u64::from(size));
    }

    fn change(&mut self, port: u32, change: impl FnOnce(u64) -> u64) {
        let (waiting, reserve) = &mut self.ports[port as usize];
        self.used -= waiting.saturating_sub(*reserve);
        *waiting = change(*waiting);
        self.used += waiting.saturating_sub(*reserve);
    }
}

/// A port of a pool.
#[derive(Clone, Copy)]
pub struct SharedPort {
    /// The pool in the partition.
    pool: u32,
    /// The port's number in the pool.
    port: u32,
    /// Factor of the free space.
    alpha: f64,
    /// Whether packets that are not ECN-capable are dropped at the marking threshold.
    pub drops_not_ect: bool,
}

impl SharedPort {
    /// Adds a port to the pool with the index `pool`.
    pub fn new(pools: &mut [Pool], pool: usize, config: weft_fabric::Shared) -> Self {
        Self {
            pool: pool as u32,
            port: pools[pool].add_port(config.reserve.0),
            alpha: config.alpha,
            drops_not_ect: config.drop_not_ect,
        }
    }

    /// See [`Discipline::decide`](super::Discipline::decide).
    pub fn decide(self, pools: &mut [Pool], port: &Port, now: u64, size: u16) -> Decision {
        let pool = &mut pools[self.pool as usize];
        pool.advance(now);
        let (waiting, reserve) = pool.ports[self.port as usize];
        let after = waiting + u64::from(size);
        // A packet that need not wait takes no space.
        if port.is_idle(now) || after <= reserve {
            return Decision::Accept;
        }
        let before = waiting.saturating_sub(reserve);
        let free = pool.size.saturating_sub(pool.used);
        if (before as f64) < self.alpha * free as f64 && after - reserve - before <= free {
            Decision::Accept
        } else {
            Decision::Drop
        }
    }

    /// See [`Discipline::accepted`](super::Discipline::accepted).
    pub fn accepted(self, pools: &mut [Pool], port: &Port, now: u64, size: u16) {
        if !port.is_idle(now) {
            let pool = &mut pools[self.pool as usize];
            pool.advance(now);
            pool.add(port.busy_until, self.port, size);
        }
    }

    /// See [`Discipline::rescheduled`](super::Discipline::rescheduled).
    pub fn rescheduled(self, pools: &mut [Pool], port: &Port) {
        let pool = &mut pools[self.pool as usize];
        pool.waiting.retain(|&Reverse((_, of, _))| of != self.port);
        pool.change(self.port, |_| 0);
        for (start, size) in port.waiting_starts() {
            pool.add(start, self.port, size);
        }
    }
}
