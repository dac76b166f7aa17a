//! One-way latency of a flow's data: from a record's first transmission until the receiver's application has read it in order.
//!
//! A record is the data of one packet. A byte stream has one order at both ends, so the position in the stream identifies
//! a record. Packets of the sender contain positions, and the receiver counts the bytes that it reads.

use std::collections::VecDeque;
use std::time::Instant;

use weft_run::LatencyRecord;
use weft_spec::Time;

use super::tap::{CapturedPacket, StreamPosition};

/// A flow's data in records.
#[derive(Debug)]
pub struct LatencyRecorder {
    /// Bytes of a record; the last of a flow may be shorter.
    length: u64,
    /// Where the byte stream begins, by the numbers in packets.
    first: Option<StreamPosition>,
    /// Number of the first record that has not been read whole.
    next: u32,
    /// Times at which the next unread record and those after it were sent first.
    sent: VecDeque<Option<Instant>>,
    /// Records that have been read: number, time of sending, time of reading.
    read: Vec<(u32, Instant, Instant)>,
    /// Number of read records whose sending was not captured.
    uncaptured: u64,
}

impl LatencyRecorder {
    /// Creates the records of a flow that has sent nothing.
    pub fn new(length: u64) -> Self {
        Self {
            length,
            first: None,
            next: 0,
            sent: VecDeque::new(),
            read: Vec::new(),
            uncaptured: 0,
        }
    }

    /// A packet of the flow left.
    pub fn on_sent(&mut self, packet: &CapturedPacket, at: Instant) {
        let begin = match (packet.position, self.first) {
            (StreamPosition::Syn(_), _) => {
                self.first = Some(packet.position);
                return;
            }
            (StreamPosition::TcpSeq(position), Some(StreamPosition::Syn(first))) => {
                u64::from(position.wrapping_sub(first))
            }
            (StreamPosition::DataSeq(position), Some(StreamPosition::DataSeq(first))) => {
                position.wrapping_sub(first)
            }
            // The first data is the first to be sent.
            (StreamPosition::DataSeq(_), _) => {
                self.first = Some(packet.position);
                0
            }
            _ => return,
        };
        if begin > MAX_AHEAD {
            return; // of another connection
        }
        // Records that begin within the packet.
        let end = (begin + u64::from(packet.length)).div_ceil(self.length);
        for record in begin.div_ceil(self.length)..end {
            let Some(position) = record.checked_sub(u64::from(self.next)) else {
                continue;
            };
            let position = position as usize;
            if self.sent.len() <= position {
                self.sent.resize(position + 1, None);
            }
            self.sent[position].get_or_insert(at);
        }
    }

    /// Whether a packet belongs to this connection, by its address and its position in the stream.
    pub fn matches(&self, packet: &CapturedPacket) -> bool {
        match (packet.position, self.first) {
            (StreamPosition::DataSeq(position), Some(StreamPosition::DataSeq(first))) => {
                position.wrapping_sub(first) <= MAX_AHEAD
            }
            _ => false,
        }
    }

    /// `delivered` bytes have been read in all, the last of them now; the flow has no more than `size`.
    pub fn on_read(&mut self, delivered: u64, size: Option<u64>, at: Instant) {
        let whole = if Some(delivered) == size {
            delivered.div_ceil(self.length)
        } else {
            delivered / self.length
        };
        while u64::from(self.next) < whole {
            match self.sent.pop_front().flatten() {
                Some(sent) => self.read.push((self.next, sent, at)),
                None => self.uncaptured += 1,
            }
            self.next += 1;
        }
    }

    /// Number of records that were read and whose packets were not captured.
    pub fn uncaptured(&self) -> u64 {
        self.uncaptured
    }

    /// Returns the rows of the table of latencies.
    pub fn latencies(&self, flow: u32, began: Instant) -> impl Iterator<Item = LatencyRecord> {
        let time = move |at: Instant| Time::from_ns(at.saturating_duration_since(began).as_nanos() as u64);
        self.read.iter().map(move |&(chunk, sent, read)| LatencyRecord {
            flow,
            chunk,
            sent: time(sent),
            delivered: time(read),
        })
    }
}

/// Bytes of a flow, as far as TCP's sequence numbers show: an MPTCP connection's begin somewhere in 64 bits.
const MAX_AHEAD: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::time::Duration;

    use super::*;

    fn captured(position: StreamPosition, length: u32) -> CapturedPacket {
        let from = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        CapturedPacket {
            from,
            position,
            length,
        }
    }

    /// Number, when sent and when delivered, in ms.
    fn known(recorder: &LatencyRecorder, began: Instant) -> Vec<(u32, u64, u64)> {
        let ms = |time: Time| time.0 / 1_000_000_000;
        let rows = recorder.latencies(0, began);
        rows.map(|row| (row.chunk, ms(row.sent), ms(row.delivered)))
            .collect()
    }

    #[test]
    fn the_first_transmission_counts() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut recorder = LatencyRecorder::new(1000);
        recorder.on_sent(&captured(StreamPosition::Syn(u32::MAX), 0), at(0));
        // Over the end of the numbers: bytes 0 to 999, 1000 to 2199, a repetition, 2200 to 2499.
        for (position, length, ms) in [
            (u32::MAX, 1000, 1),
            (999, 1200, 2),
            (u32::MAX, 1000, 3),
            (2199, 300, 4),
        ] {
            recorder.on_sent(&captured(StreamPosition::TcpSeq(position), length), at(ms));
        }
        recorder.on_read(999, Some(2500), at(5));
        recorder.on_read(2499, Some(2500), at(6));
        assert_eq!(known(&recorder, began), [(0, 1, 6), (1, 2, 6)]);
        recorder.on_read(2500, Some(2500), at(7));
        assert_eq!(known(&recorder, began)[2..], [(2, 2, 7)]);
        assert_eq!(recorder.uncaptured(), 0);
    }

    #[test]
    fn subflows_send_out_of_order() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut recorder = LatencyRecorder::new(1000);
        let base = u64::MAX - 500;
        let packet = |n: u64| captured(StreamPosition::DataSeq(base.wrapping_add(n * 1000)), 1000);
        for (n, ms) in [(0, 1), (2, 2), (1, 3), (4, 4)] {
            recorder.on_sent(&packet(n), at(ms));
        }
        assert!(recorder.matches(&packet(3)));
        assert!(!recorder.matches(&captured(StreamPosition::DataSeq(base - 1), 1000)));
        recorder.on_read(5000, None, at(9));
        assert_eq!(
            known(&recorder, began),
            [(0, 1, 9), (1, 3, 9), (2, 2, 9), (4, 4, 9)]
        );
        assert_eq!(recorder.uncaptured(), 1);
    }
}
