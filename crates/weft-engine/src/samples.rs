//! Samples of queues and of buffers, which timers of the engine take.

use crate::network::PartitionNetwork;
use crate::timers::Timer;

/// Bit of the keys of engine timers, which take samples. Keys of endpoints leave it clear.
pub const SAMPLE: u64 = 1 << 63;

/// The target of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleTarget {
    /// The queue of a link.
    Queue {
        /// The link.
        link: u32,
    },
    /// The buffer of a node.
    Buffer {
        /// The node.
        node: u32,
    },
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// Simulated time in picoseconds.
    pub time: u64,
    /// The values at that time.
    pub reading: Reading,
}

/// The values of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// The values of a queue.
    Queue {
        /// The link.
        link: u32,
        /// Number of packets waiting.
        length: u32,
        /// Number of packets marked so far.
        marks: u64,
        /// Number of packets dropped so far.
        drops: u64,
    },
    /// The values of a buffer.
    Buffer {
        /// The node.
        node: u32,
        /// Number of bytes waiting.
        bytes: u64,
    },
}

/// A target that is sampled at an interval.
struct Sampled {
    target: SampleTarget,
    /// The port of the queue in the partition, or all ports of the node that use the buffer.
    ports: Vec<usize>,
    /// Interval in picoseconds.
    interval: u64,
}

/// The samples of a partition.
#[derive(Default)]
pub struct Samples {
    sampled: Vec<Sampled>,
    /// All samples so far, in order of time.
    pub taken: Vec<Sample>,
}

impl Samples {
    /// Adds a target at `node`, which has these ports. Returns the first timer.
    pub fn add(&mut self, node: u32, target: SampleTarget, ports: Vec<usize>, interval: u64) -> Timer {
        let key = SAMPLE | self.sampled.len() as u64;
        self.sampled.push(Sampled {
            target,
            ports,
            interval,
        });
        Timer {
            time: interval,
            node,
            key,
        }
    }

    /// Takes the sample of `timer`, whose key has the bit [`SAMPLE`]. Returns the next timer.
    #[must_use]
    pub fn take(&mut self, network: &PartitionNetwork, timer: Timer) -> Timer {
        let (time, index) = (timer.time, (timer.key & !SAMPLE) as usize);
        let sampled = &self.sampled[index];
        let reading = match sampled.target {
            SampleTarget::Queue { link } => {
                let port = sampled.ports[0];
                Reading::Queue {
                    link,
                    length: network.queue_length(port, time),
                    marks: network.states.ports[port].marks,
                    drops: network.states.ports[port].drops,
                }
            }
            SampleTarget::Buffer { node } => {
                let bytes = sampled.ports.iter().map(|&port| network.queue_bytes(port, time));
                Reading::Buffer {
                    node,
                    bytes: bytes.sum(),
                }
            }
        };
        self.taken.push(Sample { time, reading });
        Timer {
            time: time + sampled.interval,
            ..timer
        }
    }
}
