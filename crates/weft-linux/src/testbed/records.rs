//! One-way latency of a flow's data: from a record's first transmission until the receiver's application has read it in order.
//!
//! A record is what a packet carries. A byte stream has one order at both ends, so that a record is known by its place
//! in the stream: the sender's packets contain theirs, and the receiver has read so many bytes.

use std::collections::VecDeque;
use std::time::Instant;

use weft_run::LatencyRecord;
use weft_spec::Time;

use super::tap::{Place, Seen};

/// A flow's data in records.
#[derive(Debug)]
pub struct Records {
    /// Bytes of a record; the last of a flow may be shorter.
    length: u64,
    /// Where the byte stream begins, by the numbers in packets.
    first: Option<Place>,
    /// Number of the first record that has not been read whole.
    next: u32,
    /// When it and those after it were sent first.
    sent: VecDeque<Option<Instant>>,
    /// Those that have been read: number, when sent, when read.
    read: Vec<(u32, Instant, Instant)>,
    /// Those of them that nobody saw being sent.
    unseen: u64,
}

impl Records {
    /// Of a flow of which nothing has been sent.
    pub fn new(length: u64) -> Self {
        Self {
            length,
            first: None,
            next: 0,
            sent: VecDeque::new(),
            read: Vec::new(),
            unseen: 0,
        }
    }

    /// A packet of the flow left.
    pub fn on_sent(&mut self, seen: &Seen, at: Instant) {
        let begin = match (seen.place, self.first) {
            (Place::Opens(_), _) => {
                self.first = Some(seen.place);
                return;
            }
            (Place::Tcp(place), Some(Place::Opens(first))) => u64::from(place.wrapping_sub(first)),
            (Place::Mptcp(place), Some(Place::Mptcp(first))) => place.wrapping_sub(first),
            // The first data is the first to be sent.
            (Place::Mptcp(_), _) => {
                self.first = Some(seen.place);
                0
            }
            _ => return,
        };
        if begin > MOST_AHEAD {
            return; // of another connection
        }
        // Records that begin within the packet.
        let end = (begin + u64::from(seen.length)).div_ceil(self.length);
        for record in begin.div_ceil(self.length)..end {
            let Some(place) = record.checked_sub(u64::from(self.next)) else {
                continue;
            };
            let place = place as usize;
            if self.sent.len() <= place {
                self.sent.resize(place + 1, None);
            }
            self.sent[place].get_or_insert(at);
        }
    }

    /// Is a packet from elsewhere than the flow's first address of this connection, by its place?
    pub fn may_be(&self, seen: &Seen) -> bool {
        match (seen.place, self.first) {
            (Place::Mptcp(place), Some(Place::Mptcp(first))) => place.wrapping_sub(first) <= MOST_AHEAD,
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
                None => self.unseen += 1,
            }
            self.next += 1;
        }
    }

    /// Records that were read and that nobody saw being sent.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// As the tables have them.
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
const MOST_AHEAD: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::time::Duration;

    use super::*;

    fn seen(place: Place, length: u32) -> Seen {
        let from = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        Seen { from, place, length }
    }

    /// Number, when sent and when delivered, in ms.
    fn known(it: &Records, began: Instant) -> Vec<(u32, u64, u64)> {
        let ms = |time: Time| time.0 / 1_000_000_000;
        let rows = it.latencies(0, began);
        rows.map(|row| (row.chunk, ms(row.sent), ms(row.delivered)))
            .collect()
    }

    #[test]
    fn the_first_transmission_counts() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut it = Records::new(1000);
        it.on_sent(&seen(Place::Opens(u32::MAX), 0), at(0));
        // Over the end of the numbers: bytes 0 to 999, 1000 to 2199, a repetition, 2200 to 2499.
        for (place, length, ms) in [
            (u32::MAX, 1000, 1),
            (999, 1200, 2),
            (u32::MAX, 1000, 3),
            (2199, 300, 4),
        ] {
            it.on_sent(&seen(Place::Tcp(place), length), at(ms));
        }
        it.on_read(999, Some(2500), at(5));
        it.on_read(2499, Some(2500), at(6));
        assert_eq!(known(&it, began), [(0, 1, 6), (1, 2, 6)]);
        it.on_read(2500, Some(2500), at(7));
        assert_eq!(known(&it, began)[2..], [(2, 2, 7)]);
        assert_eq!(it.unseen(), 0);
    }

    #[test]
    fn subflows_send_out_of_order() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut it = Records::new(1000);
        let base = u64::MAX - 500;
        let packet = |n: u64| seen(Place::Mptcp(base.wrapping_add(n * 1000)), 1000);
        for (n, ms) in [(0, 1), (2, 2), (1, 3), (4, 4)] {
            it.on_sent(&packet(n), at(ms));
        }
        assert!(it.may_be(&packet(3)));
        assert!(!it.may_be(&seen(Place::Mptcp(base - 1), 1000)));
        it.on_read(5000, None, at(9));
        assert_eq!(known(&it, began), [(0, 1, 9), (1, 3, 9), (2, 2, 9), (4, 4, 9)]);
        assert_eq!(it.unseen(), 1);
    }
}
