//! The receiver of a flow: what has arrived, the packets that it answers with, and the notification point of
//! DCQCN (Zhu et al., SIGCOMM 2015, section 3.1).

use weft_transports::{RoceControl, RoceRetransmission};

use crate::packet::Packet;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::flows::ReceiverFlow;

use super::protocol::RoceProtocol;
use super::wire::{Ack, Data, Nak};

/// The receiver of a flow.
pub type Receiver = ReceiverFlow<RoceProtocol>;

/// The state of a receiver.
#[derive(Default)]
pub struct RoceReceiver {
    pub arrivals: Arrivals,
    /// Packets that arrived in order, or again, since the last acknowledgement.
    unacked: u32,
    /// True if the missing packet has been reported. Go-back-N reports it once.
    is_reported: bool,
    /// End of the time in which no further congestion notification is sent, and whether a marked packet arrived
    /// in it.
    quiet_until: u64,
    pub is_marked: bool,
}

/// An answer to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    None,
    Ack(Ack),
    Nak(Nak),
}

impl Answer {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Option<Packet> {
        match self {
            Self::None => None,
            Self::Ack(ack) => Some(ack.packet(flow, class)),
            Self::Nak(nak) => Some(nak.packet(flow, class)),
        }
    }
}

impl Receiver {
    /// Handles a packet of this size. Returns the answer.
    pub fn on_data(&mut self, data: Data, size: u16, now: u64) -> Answer {
        self.packets += 1;
        let expected = self.state.arrivals.next();
        if self.state.arrivals.has(data.psn) {
            return self.acknowledge(data);
        }
        let is_next = data.psn == expected;
        if is_next || self.params.config.retransmission == RoceRetransmission::SelectiveRepeat {
            self.state.arrivals.insert(data.psn);
            self.accept(u64::from(size) - u64::from(self.params.header), now);
        }
        if is_next {
            self.state.is_reported = false;
            return self.acknowledge(data);
        }
        let reports_once = self.params.config.retransmission == RoceRetransmission::GoBackN;
        if reports_once && self.state.is_reported {
            return Answer::None;
        }
        self.state.is_reported = true;
        self.state.unacked = 0;
        Answer::Nak(Nak {
            expected,
            trigger: data.psn,
        })
    }

    fn acknowledge(&mut self, data: Data) -> Answer {
        self.state.unacked += 1;
        if !data.ack_at_once && !data.retransmission && self.state.unacked < self.params.config.ack_every {
            return Answer::None;
        }
        self.state.unacked = 0;
        Answer::Ack(Ack {
            expected: self.state.arrivals.next(),
            note: data.note,
            telemetry: self.params.config.control.telemetry(),
        })
    }

    /// Handles a marked packet. Returns the time at which a congestion notification is sent because of it. That is
    /// now, or the end of the interval that began with the last notification.
    pub fn on_mark(&mut self, now: u64) -> Option<u64> {
        if self.params.config.control != RoceControl::Dcqcn || self.state.is_marked {
            return None;
        }
        if now < self.state.quiet_until {
            self.state.is_marked = true;
            return Some(self.state.quiet_until);
        }
        Some(now)
    }

    /// Records that a congestion notification is sent.
    pub fn on_notification(&mut self, now: u64) {
        self.state.quiet_until = now + self.params.config.cnp_interval.0;
        self.state.is_marked = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_transports::RoceConfig;

    use super::*;
    use crate::engine::route::Route;
    use crate::transport::endpoint::flows::FlowParams;
    use crate::transport::test_runs;

    const US: u64 = 1_000_000;

    fn receiver(retransmission: RoceRetransmission) -> Receiver {
        let config = RoceConfig {
            retransmission,
            ..RoceConfig::default()
        };
        let params = FlowParams::new(&test_runs::transport("roce", config)).unwrap();
        let state = RoceReceiver::default();
        Receiver::new(0, Arc::new(params), Route::default(), u64::MAX, state)
    }

    /// The first mark causes a notification, and later ones within 50 us together cause another one at the end.
    #[test]
    fn marks_within_an_interval_cause_one_notification_at_its_end() {
        let mut receiver = receiver(RoceRetransmission::GoBackN);
        assert_eq!(receiver.on_mark(7 * US), Some(7 * US));
        receiver.on_notification(7 * US);
        assert_eq!(receiver.on_mark(20 * US), Some(57 * US));
        assert_eq!(receiver.on_mark(30 * US), None);
        assert_eq!(receiver.on_mark(57 * US), None);
        receiver.on_notification(57 * US);
        // No mark in the next interval, so the mark after it is reported at once.
        assert_eq!(receiver.on_mark(107 * US), Some(107 * US));
    }

    #[test]
    fn a_missing_packet_is_reported_once_or_by_each_later_packet() {
        let data = |psn| Data {
            psn,
            ack_at_once: false,
            retransmission: false,
            ce: false,
            note: 0,
        };
        let ack = |expected| {
            Answer::Ack(Ack {
                expected,
                note: 0,
                telemetry: 0,
            })
        };
        let nak = |expected, trigger| Answer::Nak(Nak { expected, trigger });
        let mut go_back_n = receiver(RoceRetransmission::GoBackN);
        let mut answer = |psn| go_back_n.on_data(data(psn), 1086, 0);
        assert_eq!(answer(0), ack(1));
        assert_eq!((answer(2), answer(3)), (nak(1, 2), Answer::None));
        assert_eq!((answer(1), answer(2)), (ack(2), ack(3)));
        assert_eq!((answer(4), answer(1)), (nak(3, 4), ack(3)));
        assert_eq!(
            (go_back_n.chunks, go_back_n.bytes, go_back_n.packets),
            (3, 3 * 1024, 7)
        );
        let mut selective = receiver(RoceRetransmission::SelectiveRepeat);
        let mut answer = |psn| selective.on_data(data(psn), 1086, 0);
        assert_eq!((answer(1), answer(2)), (nak(0, 1), nak(0, 2)));
        assert_eq!((answer(0), answer(4)), (ack(3), nak(3, 4)));
        assert_eq!((selective.chunks, selective.packets), (4, 4));
    }
}
