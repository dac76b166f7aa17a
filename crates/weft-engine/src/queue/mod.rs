//! Kinds of queues: how a port decides about packets when they arrive or when their transmission begins.
//! A kind that decides at arrival is a file and a variant of [`Discipline`]. A kind whose packets wait
//! in the port is a file and a variant of [`ServedQueue`]. Each has a line in the methods of its enum.
//! The losses of links are in [`losses`](crate::losses).
//!
//! A port with a plain FIFO never calls these methods for a packet that finds a short queue.

mod dequeue;
mod lossless;
mod packets;
mod priority;
mod red;
mod served;
mod shared;
mod trims;

use weft_fabric::{QueueConfig, QueueKind, RedAt};

use crate::packet::ECT;
use crate::port::Port;
use dequeue::DequeueRed;
pub use lossless::{LosslessQueue, NO_RING, Waiting, WakeUp};
use packets::PacketQueue;
pub use priority::PriorityQueue;
pub use red::Red;
pub use served::{Arrival, Fate, ServedQueue};
pub use shared::{Pool, SharedPort};
pub use trims::TrimmingQueue;

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is accepted.
    Accept,
    /// The packet is accepted, and marked if it is ECN-capable.
    Mark,
    /// The packet is accepted and marked if it is ECN-capable, and dropped otherwise.
    MarkOrDrop,
    /// The packet is dropped.
    Drop,
}

impl Decision {
    /// Returns the decision at a marking threshold.
    pub fn at_mark(drops_not_ect: bool) -> Self {
        if drops_not_ect {
            Self::MarkOrDrop
        } else {
            Self::Mark
        }
    }

    /// Returns the decision about a packet with these flags: all but [`MarkOrDrop`](Self::MarkOrDrop).
    pub fn for_flags(self, flags: u16) -> Self {
        match self {
            Self::MarkOrDrop if flags & ECT != 0 => Self::Mark,
            Self::MarkOrDrop => Self::Drop,
            decision => decision,
        }
    }
}

/// The state of a port's queue that depends on its kind.
#[derive(Clone)]
pub enum Discipline {
    Fifo,
    Red(Box<Red>),
    Shared(SharedPort),
    /// The port is [served](crate::served): its number among the served ports of the partition.
    Served(u32),
}

impl Discipline {
    /// Creates the state of a port with the limit and threshold `port`. `stream` is the port's stream of
    /// random numbers, and `max_packet` the size of the largest packet on the wire in bytes. The port
    /// is that of a switch if `is_switch`. `pool` adds the port to its node's buffer, and `serve` to the
    /// served ports.
    pub fn new(
        kind: &QueueKind,
        port: QueueConfig,
        stream: u64,
        max_packet: u32,
        is_switch: bool,
        pool: impl FnOnce(weft_fabric::Shared) -> SharedPort,
        serve: impl FnOnce(ServedQueue) -> u32,
    ) -> Self {
        match *kind {
            QueueKind::Fifo(_) | QueueKind::Lossy(_) => Self::Fifo,
            QueueKind::Lossless(ref lossless) => {
                let queue = LosslessQueue::new(lossless, port, stream, max_packet);
                Self::Served(serve(ServedQueue::Lossless(queue)))
            }
            QueueKind::Priority(ref priority) => {
                let queue = PriorityQueue::new(priority, port, max_packet);
                Self::Served(serve(ServedQueue::Priority(queue)))
            }
            QueueKind::Red(red) => {
                let state = Red::new(red, stream, max_packet);
                match red.at {
                    RedAt::Enqueue => Self::Red(Box::new(state)),
                    RedAt::Dequeue => Self::Served(serve(ServedQueue::Red(DequeueRed::new(state)))),
                }
            }
            QueueKind::Shared(shared) => Self::Shared(pool(shared)),
            QueueKind::Trimming(ref trimming) => {
                let queue = TrimmingQueue::new(trimming, port, stream, max_packet, is_switch);
                Self::Served(serve(ServedQueue::Trimming(queue)))
            }
        }
    }

    /// Returns the smallest number of packets in the port at which the kind may refuse or mark a packet;
    /// `None` if it never does.
    pub fn decides_from(&self, max_packet: u32) -> Option<u32> {
        match self {
            Self::Fifo => None,
            Self::Red(red) => Some(red.decides_from(max_packet)),
            Self::Shared(_) | Self::Served(_) => Some(0),
        }
    }

    /// Returns the decision about a packet that finds the port's marking threshold.
    pub fn at_mark(&self) -> Decision {
        match self {
            Self::Shared(shared) => Decision::at_mark(shared.drops_not_ect),
            Self::Fifo | Self::Red(_) | Self::Served(_) => Decision::Mark,
        }
    }

    /// Decides about a packet of `size` bytes that arrives at `port` at `now`. The port holds only
    /// packets that have not left.
    pub fn decide(&mut self, pools: &mut [Pool], port: &Port, now: u64, size: u16) -> Decision {
        match self {
            Self::Fifo | Self::Served(_) => Decision::Accept,
            Self::Red(red) => red.decide_at_enqueue(port, now),
            Self::Shared(shared) => shared.decide(pools, port, now, size),
        }
    }

    /// Records that a packet of `size` bytes was accepted.
    pub fn accepted(&mut self, pools: &mut [Pool], port: &Port, now: u64, size: u16) {
        match self {
            Self::Fifo | Self::Red(_) | Self::Served(_) => {}
            Self::Shared(shared) => shared.accepted(pools, port, now, size),
        }
    }

    /// Records that the packets of `port` have been lost or leave at other times.
    pub fn rescheduled(&mut self, pools: &mut [Pool], port: &Port) {
        match self {
            Self::Fifo | Self::Red(_) | Self::Served(_) => {}
            Self::Shared(shared) => shared.rescheduled(pools, port),
        }
    }
}
