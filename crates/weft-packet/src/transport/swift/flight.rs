//! The packets of a sender that are not known to have arrived. A path keeps the order of packets, so one that was sent
//! before another one that has arrived is lost. (RFC 8985 with a reordering window of 0.)

use std::collections::{BTreeSet, VecDeque};

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Sent at this time, and not known to be lost or to have arrived.
    Sent(u64),
    Lost,
    Arrived,
}

/// The packets from the first one on that is not known to have arrived.
#[derive(Default)]
pub struct Flight {
    una: u32,
    packets: VecDeque<State>,
    /// Transmissions by time. Those that a later event made obsolete are skipped.
    order: VecDeque<(u64, u32)>,
    lost: BTreeSet<u32>,
    /// Number of packets that are on their way.
    count: u32,
}

impl Flight {
    /// Returns the first packet that is not known to have arrived.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Returns the next packet that was never sent.
    pub fn next(&self) -> u32 {
        self.una + self.packets.len() as u32
    }

    /// Returns the number of packets that are on their way.
    pub fn in_flight(&self) -> u32 {
        self.count
    }

    /// Returns true if all packets that were sent are known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the first lost packet.
    pub fn first_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// Records that a packet is sent now, the next new one or a lost one.
    pub fn send(&mut self, psn: u32, now: u64) {
        match self.state_mut(psn) {
            Some(state) => *state = State::Sent(now),
            None => self.packets.push_back(State::Sent(now)),
        }
        self.lost.remove(&psn);
        self.order.push_back((now, psn));
        self.count += 1;
    }

    fn state_mut(&mut self, psn: u32) -> Option<&mut State> {
        self.packets.get_mut(psn.checked_sub(self.una)? as usize)
    }

    /// Records the arrival of all packets before `expected` and of `trigger`. Returns the number of those of which it was
    /// not known.
    pub fn acknowledge(&mut self, expected: u32, trigger: u32) -> u32 {
        let mut new = 0;
        while self.una < expected
            && let Some(state) = self.packets.pop_front()
        {
            new += self.arrive(self.una, state);
            self.una += 1;
        }
        if let Some(state) = self.state_mut(trigger) {
            let before = std::mem::replace(state, State::Arrived);
            new += self.arrive(trigger, before);
        }
        new
    }

    /// Returns 1 if it was not known that a packet in this state has arrived, otherwise 0.
    fn arrive(&mut self, psn: u32, before: State) -> u32 {
        match before {
            State::Sent(_) => self.count -= 1,
            State::Lost => {
                self.lost.remove(&psn);
            }
            State::Arrived => return 0,
        }
        1
    }

    /// Finds the packets that are lost because one that was sent at `time` has arrived. Returns true if there are any.
    pub fn lose_before(&mut self, time: u64) -> bool {
        let mut found = false;
        while let Some(&(sent, psn)) = self.order.front().filter(|(sent, _)| *sent < time) {
            self.order.pop_front();
            found |= self.lose(psn, sent);
        }
        found
    }

    /// Makes a transmission lost. Returns false if it is obsolete.
    fn lose(&mut self, psn: u32, sent: u64) -> bool {
        let Some(state) = self.state_mut(psn).filter(|state| **state == State::Sent(sent)) else {
            return false;
        };
        *state = State::Lost;
        self.lost.insert(psn);
        self.count -= 1;
        true
    }

    /// Makes all packets lost that are on their way.
    pub fn lose_all(&mut self) {
        self.lose_before(u64::MAX);
    }

    /// Releases the memory.
    pub fn clear(&mut self) {
        *self = Self {
            una: self.una,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(packets: u32) -> Flight {
        let mut flight = Flight::default();
        for psn in 0..packets {
            flight.send(psn, 10 * u64::from(psn));
        }
        flight
    }

    #[test]
    fn packets_sent_before_one_that_has_arrived_are_lost() {
        let mut flight = sent(6);
        assert_eq!(flight.acknowledge(1, 0), 1);
        assert!(!flight.lose_before(0));
        assert_eq!(flight.acknowledge(1, 3), 1);
        assert!(flight.lose_before(30));
        assert_eq!((flight.first_lost(), flight.in_flight()), (Some(1), 2));
        flight.send(1, 100);
        assert_eq!(flight.first_lost(), Some(2));
        flight.send(2, 110);
        // The first retransmission is lost, too.
        assert_eq!(flight.acknowledge(1, 4), 1);
        assert!(!flight.lose_before(40));
        assert_eq!(flight.acknowledge(1, 2), 1);
        assert!(flight.lose_before(110));
        // Packet 5 was sent before packet 2 was repeated.
        assert_eq!((flight.first_lost(), flight.in_flight()), (Some(1), 0));
        assert_eq!(flight.acknowledge(6, 1), 2);
        assert!(flight.is_empty() && flight.first_lost().is_none());
        assert_eq!(flight.una(), 6);
    }

    #[test]
    fn an_acknowledgement_that_repeats_another_one_adds_nothing() {
        let mut flight = sent(3);
        assert_eq!(flight.acknowledge(2, 1), 2);
        assert_eq!(flight.acknowledge(2, 1), 0);
        flight.lose_all();
        assert_eq!((flight.first_lost(), flight.in_flight()), (Some(2), 0));
        assert_eq!(flight.acknowledge(3, 2), 1);
        assert!(flight.is_empty());
    }
}
