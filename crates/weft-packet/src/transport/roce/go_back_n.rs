//! Go-back-N: the sender repeats the missing packet and all later ones. (InfiniBand Architecture
//! Specification, section 9.7.5; the receiver discards packets that are out of order.)

use super::recovery::{Flight, LossRecovery};
use super::wire::Nak;

/// The packets that are repeated.
#[derive(Default)]
pub struct GoBackN {
    next: u32,
    end: u32,
}

impl LossRecovery for GoBackN {
    fn next(&mut self, flight: Flight) -> Option<u32> {
        self.next = self.next.max(flight.una);
        (self.next < self.end).then_some(self.next)
    }

    fn on_resent(&mut self, psn: u32) {
        self.next = psn + 1;
    }

    fn on_ack(&mut self, _: u32) {}

    fn on_nak(&mut self, _: Nak, flight: Flight) {
        (self.next, self.end) = (flight.una, flight.sent);
    }

    fn on_timeout(&mut self, flight: Flight) {
        (self.next, self.end) = (flight.una, flight.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resent(recovery: &mut GoBackN, flight: Flight) -> Vec<u32> {
        let mut sent = Vec::new();
        while let Some(psn) = recovery.next(flight) {
            recovery.on_resent(psn);
            sent.push(psn);
        }
        sent
    }

    #[test]
    fn all_packets_from_the_missing_one_on_are_repeated() {
        let mut recovery = GoBackN::default();
        let flight = Flight { una: 3, sent: 7 };
        assert_eq!(recovery.next(flight), None);
        recovery.on_nak(
            Nak {
                expected: 3,
                trigger: 5,
            },
            flight,
        );
        assert_eq!(recovery.next(flight), Some(3));
        recovery.on_resent(3);
        // An acknowledgement makes repetitions superfluous.
        assert_eq!(resent(&mut recovery, Flight { una: 5, sent: 7 }), [5, 6]);
        recovery.on_timeout(Flight { una: 5, sent: 7 });
        assert_eq!(resent(&mut recovery, Flight { una: 5, sent: 7 }), [5, 6]);
    }
}
