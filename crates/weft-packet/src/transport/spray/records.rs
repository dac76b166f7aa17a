//! The packets that a sender has sent and that are not known to have arrived.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::transport::flow_data::FlowData;

/// A packet by its sequence number (PSN).
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Time of the last transmission.
    pub sent: u64,
    /// Size on the wire.
    pub size: u16,
    /// Number of transmissions.
    pub sends: u8,
    pub state: State,
    pub is_rts: bool,
}

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The packet is on its way, or its acknowledgement.
    Sent,
    /// The packet waits to be sent again.
    Queued,
    /// The packet has arrived, and packets before it have not.
    Acked,
}

/// A packet that may be sent.
#[derive(Clone, Copy)]
pub struct NextPacket {
    /// The packet, if it was sent before.
    pub again: Option<u32>,
    /// Its size on the wire.
    pub size: u16,
    pub is_rts: bool,
}

/// The records of a sender.
pub struct Records {
    /// The first PSN that is not known to have arrived.
    una: u32,
    /// The packets from `una` on.
    missing: VecDeque<Record>,
    /// Transmissions in their order. Those that a later event made obsolete are skipped.
    order: VecDeque<(u64, u32)>,
    /// The entropy values of the last packets by PSN, as many as a power of two.
    evs: Box<[u16]>,
    /// Packets that wait to be sent again, the first PSN first; others are skipped.
    resend: BinaryHeap<Reverse<u32>>,
    queued: u32,
    queued_bytes: i64,
}

impl Records {
    /// Creates an empty list that remembers the entropy values of this many packets.
    pub fn new(remembered: usize) -> Self {
        Self {
            una: 0,
            missing: VecDeque::new(),
            order: VecDeque::new(),
            evs: vec![0; remembered.next_power_of_two()].into(),
            resend: BinaryHeap::new(),
            queued: 0,
            queued_bytes: 0,
        }
    }

    /// Returns the first PSN that is not known to have arrived.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Returns the next PSN.
    pub fn next(&self) -> u32 {
        self.una + self.missing.len() as u32
    }

    /// Returns true if all packets are known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns the number and the bytes of packets that wait to be sent again.
    pub fn queued(&self) -> (u32, i64) {
        (self.queued, self.queued_bytes)
    }

    /// Returns the record of a PSN; `None` if it is not known to be missing.
    pub fn get(&self, psn: u32) -> Option<&Record> {
        self.missing.get(psn.checked_sub(self.una)? as usize)
    }

    /// Returns the entropy value of the last transmission of a PSN; `None` if that is too long ago.
    pub fn ev(&self, psn: u32) -> Option<u16> {
        let age = self.next().checked_sub(psn)? as usize;
        (1..=self.evs.len())
            .contains(&age)
            .then(|| self.evs[psn as usize & (self.evs.len() - 1)])
    }

    fn set_ev(&mut self, psn: u32, ev: u16) {
        let mask = self.evs.len() - 1;
        self.evs[psn as usize & mask] = ev;
    }

    /// Adds a packet that is sent now, and returns its PSN.
    pub fn push(&mut self, size: u16, is_rts: bool, ev: u16, now: u64) -> u32 {
        let psn = self.next();
        self.missing.push_back(Record {
            sent: now,
            size,
            sends: 1,
            state: State::Sent,
            is_rts,
        });
        self.order.push_back((now, psn));
        self.set_ev(psn, ev);
        psn
    }

    /// Returns the packet that is sent next: the first one that waits to be sent again, or a new one.
    #[inline]
    pub fn next_packet(&mut self, data: &FlowData) -> Option<NextPacket> {
        if let Some((psn, record)) = self.first_queued() {
            return Some(NextPacket {
                again: Some(psn),
                size: record.size,
                is_rts: record.is_rts,
            });
        }
        Some(NextPacket {
            again: None,
            size: data.next_size()?,
            is_rts: false,
        })
    }

    /// Records that the next packet is sent now on a path. Returns its PSN.
    #[inline]
    pub fn send(&mut self, next: NextPacket, data: &mut FlowData, path: u16, now: u64) -> u32 {
        if let Some(psn) = next.again {
            self.resend_first(psn, path, now);
            return psn;
        }
        data.count();
        self.push(next.size, false, path, now)
    }

    /// Returns the packet that is sent again next.
    #[inline]
    fn first_queued(&mut self) -> Option<(u32, Record)> {
        if self.queued == 0 {
            if !self.resend.is_empty() {
                self.resend.clear();
            }
            return None;
        }
        while let Some(&Reverse(psn)) = self.resend.peek() {
            match self.get(psn) {
                Some(record) if record.state == State::Queued => return Some((psn, *record)),
                _ => {
                    self.resend.pop();
                }
            }
        }
        None
    }

    /// Records that the packet that waits first is sent again now.
    fn resend_first(&mut self, psn: u32, ev: u16, now: u64) {
        self.resend.pop();
        let record = &mut self.missing[(psn - self.una) as usize];
        record.sent = now;
        record.sends = record.sends.saturating_add(1);
        record.state = State::Sent;
        self.queued -= 1;
        self.queued_bytes -= i64::from(record.size);
        self.order.push_back((now, psn));
        self.set_ev(psn, ev);
    }

    /// Makes a packet wait to be sent again.
    pub fn queue(&mut self, psn: u32) {
        let record = &mut self.missing[(psn - self.una) as usize];
        record.state = State::Queued;
        self.queued += 1;
        self.queued_bytes += i64::from(record.size);
        self.resend.push(Reverse(psn));
    }

    /// Returns the bytes of a packet that has arrived if it waited to be sent again.
    #[inline]
    fn stop_waiting(&mut self, record: Record) -> i64 {
        if record.state != State::Queued {
            return 0;
        }
        self.queued -= 1;
        self.queued_bytes -= i64::from(record.size);
        if record.is_rts { 0 } else { record.size.into() }
    }

    /// Records the arrival of all packets before `cumulative`, and of those in the bitmap from `reference`
    /// on. Returns the bytes of packets that waited to be sent again.
    pub fn acknowledge_all(&mut self, cumulative: u32, reference: u32, mut bitmap: u64) -> i64 {
        let mut waited = 0;
        let first = cumulative.min(self.next());
        if first > self.una {
            let arrived = (first - self.una) as usize;
            for index in 0..if self.queued == 0 { 0 } else { arrived } {
                waited += self.stop_waiting(self.missing[index]);
            }
            self.missing.drain(..arrived);
            self.una = first;
        }
        while bitmap != 0 {
            let psn = reference + bitmap.trailing_zeros();
            bitmap &= bitmap - 1;
            let index = psn.checked_sub(self.una).map(|index| index as usize);
            if let Some(record) = index.and_then(|index| self.missing.get_mut(index)) {
                let before = *record;
                record.state = State::Acked;
                waited += self.stop_waiting(before);
            }
        }
        waited
    }

    /// Returns time and PSN of the oldest transmission whose packet is on its way.
    pub fn oldest(&mut self) -> Option<(u64, u32)> {
        while let Some(&(sent, psn)) = self.order.front() {
            match self.get(psn) {
                Some(record) if record.state == State::Sent && record.sent == sent => {
                    return Some((sent, psn));
                }
                _ => {
                    self.order.pop_front();
                }
            }
        }
        None
    }

    /// Releases the memory.
    pub fn clear(&mut self) {
        self.una = self.next();
        (self.missing, self.order) = (VecDeque::new(), VecDeque::new());
        (self.resend, self.evs) = (BinaryHeap::new(), Box::new([0]));
        (self.queued, self.queued_bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(packets: u32) -> Records {
        let mut records = Records::new(8);
        for psn in 0..packets {
            let size = 100 + psn as u16;
            assert_eq!(
                records.push(size, false, psn as u16 * 2, u64::from(psn) * 10),
                psn
            );
        }
        records
    }

    #[test]
    fn packets_wait_in_the_order_of_their_numbers() {
        let mut records = sent(6);
        for psn in [4, 1, 3] {
            records.queue(psn);
        }
        assert_eq!(records.queued(), (3, 104 + 101 + 103));
        assert_eq!(records.first_queued().unwrap().0, 1);
        // The bitmap says that 3 has arrived, and 2, which does not wait.
        assert_eq!(records.acknowledge_all(0, 2, 0b11), 103);
        records.resend_first(1, 7, 500);
        assert_eq!(records.ev(1), Some(7));
        assert_eq!(records.first_queued().unwrap().0, 4);
        assert_eq!(records.acknowledge_all(5, 6, 0), 104);
        assert_eq!((records.queued(), records.next()), ((0, 0), 6));
        assert!(records.get(4).is_none() && records.get(5).is_some());
    }

    #[test]
    fn the_oldest_transmission_is_one_on_its_way() {
        let mut records = sent(3);
        assert_eq!(records.oldest(), Some((0, 0)));
        records.queue(0);
        assert_eq!(records.oldest(), Some((10, 1)));
        let (psn, _) = records.first_queued().unwrap();
        records.resend_first(psn, 0, 30);
        records.acknowledge_all(0, 1, 0b1);
        assert_eq!(records.oldest(), Some((20, 2)));
        records.acknowledge_all(0, 2, 0b1);
        assert_eq!(records.oldest(), Some((30, 0)));
        assert_eq!(records.get(0).unwrap().sends, 2);
    }

    #[test]
    fn entropy_values_are_remembered_for_a_while() {
        let records = sent(20);
        assert_eq!((records.ev(19), records.ev(12)), (Some(38), Some(24)));
        assert_eq!((records.ev(11), records.ev(20)), (None, None));
    }
}
