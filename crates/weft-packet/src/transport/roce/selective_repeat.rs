//! Selective repeat: the sender repeats only packets before the last one that is known to have arrived.
//! (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3.1.) A repeated packet that is
//! lost again waits for the timeout, after which all missing packets are repeated.

use crate::transport::arrivals::Arrivals;

use super::recovery::{Flight, LossRecovery};
use super::wire::Nak;

/// The packets that are known to have arrived, and those that are repeated.
#[derive(Default)]
pub struct SelectiveRepeat {
    arrivals: Arrivals,
    /// Packets before this one have been repeated if they were missing.
    next: u32,
    /// Missing packets before this one are lost.
    lost_before: u32,
}

impl LossRecovery for SelectiveRepeat {
    fn next(&mut self, flight: Flight) -> Option<u32> {
        self.next = self.next.max(flight.una);
        while self.next < self.lost_before {
            if !self.arrivals.has(self.next) {
                return Some(self.next);
            }
            self.next += 1;
        }
        None
    }

    fn on_resent(&mut self, psn: u32) {
        self.next = psn + 1;
    }

    fn on_ack(&mut self, una: u32) {
        while self.arrivals.next() < una {
            let next = self.arrivals.next();
            self.arrivals.insert(next);
        }
    }

    fn on_nak(&mut self, nak: Nak, _: Flight) {
        if !self.arrivals.has(nak.trigger) {
            self.arrivals.insert(nak.trigger);
        }
        self.lost_before = self.lost_before.max(nak.trigger);
    }

    fn on_timeout(&mut self, flight: Flight) {
        (self.next, self.lost_before) = (flight.una, flight.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_packets_are_repeated_and_only_once() {
        let mut recovery = SelectiveRepeat::default();
        let flight = Flight { una: 1, sent: 9 };
        let nak = |trigger| Nak { expected: 1, trigger };
        recovery.on_ack(1);
        recovery.on_nak(nak(2), flight);
        recovery.on_nak(nak(5), flight);
        for psn in [1, 3, 4] {
            assert_eq!(recovery.next(flight), Some(psn));
            recovery.on_resent(psn);
        }
        assert_eq!(recovery.next(flight), None);
        recovery.on_nak(nak(6), flight);
        assert_eq!(recovery.next(flight), None);
        // Packets 1 and 3 have arrived, and packet 4 is lost again.
        recovery.on_ack(4);
        let flight = Flight { una: 4, sent: 9 };
        assert_eq!(recovery.next(flight), None);
        recovery.on_timeout(flight);
        for psn in [4, 7, 8] {
            assert_eq!(recovery.next(flight), Some(psn));
            recovery.on_resent(psn);
        }
        assert_eq!(recovery.next(flight), None);
    }
}
