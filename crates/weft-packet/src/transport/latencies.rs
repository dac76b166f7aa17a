//! Records of one-way latency: from the first transmission of a chunk until the receiving
//! application has it in order.
//!
//! Hosts share only the network, so each end records its own times. The simulation combines them
//! between slices.

use std::collections::{HashMap, VecDeque};

use weft_run::LatencyRecord;
use weft_spec::Time;

/// Times at which the chunks of a connection were sent or delivered, in picoseconds, in the order
/// of the chunks.
#[derive(Clone, Debug, Default)]
struct ChunkTimes {
    /// The chunk to which the first time belongs.
    first: u32,
    times: VecDeque<u64>,
}

impl ChunkTimes {
    /// Sets the time of all chunks before `next` that have none yet to `now`.
    fn record_until(&mut self, next: u32, now: u64) {
        self.times.resize((next - self.first) as usize, now);
    }

    /// Sets the time of one chunk to `now`, unless the chunk has a time.
    fn record_one(&mut self, chunk: u32, now: u64) {
        let Some(position) = chunk.checked_sub(self.first) else {
            return;
        };
        let position = position as usize;
        if self.times.len() <= position {
            self.times.resize(position + 1, u64::MAX);
        }
        self.times[position] = self.times[position].min(now);
    }

    /// Drops the times of the first `chunks`.
    fn drop_first(&mut self, chunks: usize) {
        self.times.drain(..chunks);
        self.first += chunks as u32;
    }
}

/// The delivery times of a flow whose latencies are recorded.
#[derive(Debug)]
struct DeliveryTimes {
    /// Times at which the application had each chunk.
    times: ChunkTimes,
    /// Bytes at which the flow's generator is notified, as it would be without a record; `u64::MAX`
    /// if it is not notified, or was.
    notify_at: u64,
}

/// The latencies that one host records.
#[derive(Debug, Default)]
pub struct Latencies {
    /// Times of first transmissions, by flow that this host sends.
    sent: HashMap<u32, ChunkTimes>,
    /// Times of deliveries, by flow that this host receives.
    delivered: HashMap<u32, DeliveryTimes>,
}

impl Latencies {
    /// Starts to record the first transmissions of a flow.
    pub fn track_sender(&mut self, flow: u32) {
        self.sent.insert(flow, ChunkTimes::default());
    }

    /// Records that all chunks of a flow before `next` have been sent.
    pub fn record_sent_until(&mut self, flow: u32, next: u32, now: u64) {
        if let Some(times) = self.sent.get_mut(&flow) {
            times.record_until(next, now);
        }
    }

    /// Records that a chunk of a flow has been sent, on any subflow.
    pub fn record_chunk_sent(&mut self, flow: u32, chunk: u32, now: u64) {
        if let Some(times) = self.sent.get_mut(&flow) {
            times.record_one(chunk, now);
        }
    }

    /// Starts to record the deliveries of a flow, whose generator is notified at `notify_at` bytes.
    pub fn track_receiver(&mut self, flow: u32, notify_at: u64) {
        let times = ChunkTimes::default();
        self.delivered.insert(flow, DeliveryTimes { times, notify_at });
    }

    /// Records that all chunks of a flow before `next` have been delivered. Returns the bytes at
    /// which the flow's generator is notified; `None` if no latencies of the flow are recorded.
    pub fn record_delivered(&mut self, flow: u32, next: u32, now: u64) -> Option<&mut u64> {
        let delivered = self.delivered.get_mut(&flow)?;
        delivered.times.record_until(next, now);
        Some(&mut delivered.notify_at)
    }

    /// Returns the number of chunks that were delivered to this host and whose latencies were not
    /// taken yet.
    pub fn count(&self) -> usize {
        let delivered = self.delivered.values();
        delivered.map(|delivered| delivered.times.times.len()).sum()
    }

    /// Returns the flows whose latencies this host records as receiver.
    pub fn received_flows(&self) -> impl Iterator<Item = u32> {
        self.delivered.keys().copied()
    }

    /// Returns the latencies, in order, of the chunks of a flow that `sender` sends and this host
    /// has received, except those that were taken before.
    pub fn of_flow(&self, flow: u32, sender: &Self) -> impl Iterator<Item = LatencyRecord> {
        let delivered = self.delivered.get(&flow).map(|delivered| &delivered.times);
        let sent = sender.sent.get(&flow);
        let both = delivered.zip(sent).into_iter();
        both.flat_map(move |(delivered, sent)| {
            let times = sent.times.iter().zip(&delivered.times);
            times
                .zip(delivered.first..)
                .map(move |((&sent, &delivered), chunk)| LatencyRecord {
                    flow,
                    chunk,
                    sent: Time(sent),
                    delivered: Time(delivered),
                })
        })
    }

    /// Drops the recorded latencies of flows that this host receives, and the flows for which
    /// `is_known` is false because they have been reclaimed. Returns for each flow how many chunks
    /// the sender has to [drop](Self::drop_sent).
    pub fn drop_delivered(&mut self, is_known: impl Fn(u32) -> bool) -> Vec<(u32, usize)> {
        let mut dropped = Vec::new();
        self.delivered.retain(|flow, delivered| {
            let chunks = delivered.times.times.len();
            delivered.times.drop_first(chunks);
            dropped.push((*flow, chunks));
            is_known(*flow)
        });
        dropped
    }

    /// Drops the times of chunks of a flow that this host sends; all times if the flow has been
    /// reclaimed, so that it is not `known`.
    pub fn drop_sent(&mut self, flow: u32, chunks: usize, known: bool) {
        if let Some(times) = self.sent.get_mut(&flow) {
            times.drop_first(chunks);
            if !known {
                self.sent.remove(&flow);
            }
        }
    }
}
