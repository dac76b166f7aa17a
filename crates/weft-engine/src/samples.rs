//! Samples of queues and of buffers, which timers of the engine take.

use crate::network::PartitionNetwork;
use crate::timers::Timer;

/// Bit of the keys of engine timers, which take samples. Keys of endpoints leave it clear.
pub const SAMPLE: u64 = 1 << 63;

/// Bit of the keys of timers that sample a buffer.
const BUFFER: u64 = 1 << 62;

/// One sample of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Simulated time in picoseconds.
    pub time: u64,
    /// Index of the probe.
    pub probe: u32,
    /// Number of packets waiting.
    pub length: u32,
    /// Number of packets marked so far.
    pub marks: u64,
    /// Number of packets dropped so far.
    pub drops: u64,
}

/// One sample of the buffer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSample {
    /// Simulated time in picoseconds.
    pub time: u64,
    /// Index of the probe.
    pub probe: u32,
    /// Number of bytes waiting.
    pub bytes: u64,
}

/// A queue or a buffer that is sampled at an interval.
struct Sampled {
    /// The port in the partition, or all ports of the node that use the buffer.
    ports: Vec<usize>,
    /// Index of the probe in the configuration.
    probe: u32,
    /// Interval in picoseconds.
    interval: u64,
}

/// The samples of a partition.
#[derive(Default)]
pub struct Samples {
    sampled_queues: Vec<Sampled>,
    sampled_buffers: Vec<Sampled>,
    /// Samples of queues.
    pub queues: Vec<QueueSample>,
    /// Samples of buffers.
    pub buffers: Vec<BufferSample>,
}

impl Samples {
    /// Adds the queue of `port`, a port of `node`. Returns the first timer.
    pub fn add_queue(&mut self, node: u32, port: usize, probe: u32, interval: u64) -> Timer {
        let ports = vec![port];
        add(
            &mut self.sampled_queues,
            0,
            node,
            Sampled {
                ports,
                probe,
                interval,
            },
        )
    }

    /// Adds the buffer of `node`, which `ports` use. Returns the first timer.
    pub fn add_buffer(&mut self, node: u32, ports: Vec<usize>, probe: u32, interval: u64) -> Timer {
        add(
            &mut self.sampled_buffers,
            BUFFER,
            node,
            Sampled {
                ports,
                probe,
                interval,
            },
        )
    }

    /// Takes the sample of `timer`, whose key has the bit [`SAMPLE`]. Returns the next timer.
    #[must_use]
    pub fn take(&mut self, network: &PartitionNetwork, timer: Timer) -> Timer {
        let (time, index) = (timer.time, (timer.key & !(SAMPLE | BUFFER)) as usize);
        let sampled = if timer.key & BUFFER == 0 {
            let sampled = &self.sampled_queues[index];
            for &port in &sampled.ports {
                self.queues.push(QueueSample {
                    time,
                    probe: sampled.probe,
                    length: network.queue_length(port, time),
                    marks: network.states.ports[port].marks,
                    drops: network.states.ports[port].drops,
                });
            }
            sampled
        } else {
            let sampled = &self.sampled_buffers[index];
            let bytes = sampled.ports.iter().map(|&port| network.queue_bytes(port, time));
            self.buffers.push(BufferSample {
                time,
                probe: sampled.probe,
                bytes: bytes.sum(),
            });
            sampled
        };
        Timer {
            time: time + sampled.interval,
            ..timer
        }
    }

    /// Discards the samples so far.
    pub fn clear(&mut self) {
        self.queues = Vec::new();
        self.buffers = Vec::new();
    }
}

/// Adds what is sampled at `node`, with the bits of `kind` in the key of its timer. Returns the first timer.
fn add(all: &mut Vec<Sampled>, kind: u64, node: u32, sampled: Sampled) -> Timer {
    let key = SAMPLE | kind | all.len() as u64;
    let time = sampled.interval;
    all.push(sampled);
    Timer { time, node, key }
}
