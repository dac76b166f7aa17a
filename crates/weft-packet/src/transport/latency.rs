//! Records of one-way latency: from a chunk's first transmission until the receiving application has it in
//! order.
//!
//! Hosts share only the network, so each end records the times that it knows. The simulation combines them
//! between slices.

use std::collections::{HashMap, VecDeque};

use weft_run::LatencyRecord;
use weft_spec::Time;

use crate::engine::Context;

use super::host::{Host, Shared};

/// When something happened to the chunks of a connection, in picoseconds, in their order.
#[derive(Clone, Debug, Default)]
struct ChunkTimes {
    /// The chunk whose time is at the front.
    first: u32,
    times: VecDeque<u64>,
}

impl ChunkTimes {
    /// It happened now to all chunks before `next` to which it had not.
    fn record_until(&mut self, next: u32, now: u64) {
        self.times.resize((next - self.first) as usize, now);
    }

    /// It happened now to one chunk, unless it had.
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

    /// Forgets the first `chunks`.
    fn drop_first(&mut self, chunks: usize) {
        self.times.drain(..chunks);
        self.first += chunks as u32;
    }
}

/// The receiving half of a flow on record.
#[derive(Debug)]
struct DeliveryTimes {
    /// When the application had each chunk.
    times: ChunkTimes,
    /// Bytes at which the flow's program is notified, as it would be without a record; `u64::MAX` if it is not, or was.
    notify_at: u64,
}

/// What one host has on record.
#[derive(Debug, Default)]
pub struct Latencies {
    /// First transmissions, by flow that this host sends.
    sent: HashMap<u32, ChunkTimes>,
    /// By flow that this host receives.
    delivered: HashMap<u32, DeliveryTimes>,
}

impl Host {
    /// Puts the sending half of a flow on record.
    pub(super) fn track_sender(&mut self, flow: u32) {
        self.latencies.sent.insert(flow, ChunkTimes::default());
    }

    /// All chunks of a flow before `next` have been sent.
    pub(super) fn record_sent_until(&mut self, flow: u32, next: u32, now: u64) {
        if let Some(times) = self.latencies.sent.get_mut(&flow) {
            times.record_until(next, now);
        }
    }

    /// A chunk of a flow has been sent, by whichever subflow.
    pub(super) fn record_chunk_sent(&mut self, flow: u32, chunk: u32, now: u64) {
        if let Some(times) = self.latencies.sent.get_mut(&flow) {
            times.record_one(chunk, now);
        }
    }

    /// Puts the receiving half of a flow on record, if it is to be. Returns the bytes from which on
    /// [`at_due`](Self::at_due) looks at its data packets: all of them, if so.
    pub(super) fn track_receiver(&mut self, flow: u32, notify_at: u64) -> u64 {
        if !self.shared.has_latencies(flow) {
            return notify_at;
        }
        let times = ChunkTimes::default();
        self.latencies
            .delivered
            .insert(flow, DeliveryTimes { times, notify_at });
        0
    }

    /// A data packet arrived at a receiving half that has the bytes that were due.
    #[cold]
    pub(super) fn on_tracked_data(&mut self, index: u32, cx: &mut Context<'_>) {
        let connection = &mut self.connection_receivers[index as usize];
        let flow = connection.flow;
        let notify_at = match self.latencies.delivered.get_mut(&flow) {
            Some(delivered) => {
                delivered.times.record_until(connection.chunks.next(), cx.now);
                &mut delivered.notify_at
            }
            None => &mut connection.notify_at,
        };
        if connection.bytes >= *notify_at {
            *notify_at = u64::MAX;
            self.on_delivered(flow, cx);
        }
    }

    /// How many chunks have been delivered to this host whose latencies nobody took.
    pub fn latencies(&self) -> usize {
        let delivered = self.latencies.delivered.values();
        delivered.map(|delivered| delivered.times.times.len()).sum()
    }

    /// Flows on record that this host receives.
    pub fn flows_with_latencies(&self) -> impl Iterator<Item = u32> {
        self.latencies.delivered.keys().copied()
    }

    /// The latencies of a flow that `sender` sends and this host receives, as far as it has been delivered and nobody
    /// took them, in order.
    pub fn latencies_of(&self, flow: u32, sender: &Host) -> impl Iterator<Item = LatencyRecord> {
        let delivered = self
            .latencies
            .delivered
            .get(&flow)
            .map(|delivered| &delivered.times);
        let sent = sender.latencies.sent.get(&flow);
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

    /// Forgets the latencies of flows that this host receives, and the flows of which nothing is left. Returns how many chunks
    /// of which flow the sender is to [forget](Self::forget_sent).
    pub fn drop_delivered(&mut self) -> Vec<(u32, usize)> {
        let mut forgotten = Vec::new();
        let received = &self.receiver_of_flow;
        self.latencies.delivered.retain(|flow, delivered| {
            let chunks = delivered.times.times.len();
            delivered.times.drop_first(chunks);
            forgotten.push((*flow, chunks));
            received.contains_key(flow)
        });
        forgotten
    }

    /// Forgets chunks of a flow that this host sends.
    pub fn drop_sent(&mut self, flow: u32, chunks: usize) {
        if let Some(times) = self.latencies.sent.get_mut(&flow) {
            times.drop_first(chunks);
            if !self.sender_of_flow.contains_key(&flow) {
                self.latencies.sent.remove(&flow);
            }
        }
    }
}

impl Shared {
    /// Are the latencies of a flow on record?
    pub(super) fn has_latencies(&self, flow: u32) -> bool {
        let program = self.generator_of(flow).map(|(program, _)| program);
        self.probes.latencies_of(flow, program)
    }
}
