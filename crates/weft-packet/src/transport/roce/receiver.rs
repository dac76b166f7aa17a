//! The receiver of a flow: what has arrived, the packets that it answers with, and the notification point of
//! DCQCN (Zhu et al., SIGCOMM 2015, section 3.1).

use std::sync::Arc;

use weft_transports::{RoceControl, RoceRetransmission};

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::FlowReceiver;
use crate::transport::flow_progress::ReceiverProgress;
use crate::transport::shared::Shared;

use super::params::Params;
use super::sender::Sender;
use super::wire::{Data, Nak, ack_packet};

/// The receiver of a flow.
pub struct Receiver {
    pub params: Arc<Params>,
    /// Route of answers.
    pub route: Route,
    arrivals: Arrivals,
    /// Packets that arrived in order, or again, since the last acknowledgement.
    unacked: u32,
    /// True if the missing packet has been reported. Go-back-N reports it once.
    is_reported: bool,
    /// End of the time in which no further congestion notification is sent, and whether a marked packet arrived
    /// in it.
    quiet_until: u64,
    is_marked: bool,
    pub progress: ReceiverProgress,
}

/// An answer to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    None,
    /// All packets before this PSN have arrived.
    Ack(u32),
    Nak(Nak),
}

impl Answer {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Option<Packet> {
        match self {
            Self::None => None,
            Self::Ack(expected) => Some(ack_packet(expected, flow, class)),
            Self::Nak(nak) => Some(nak.packet(flow, class)),
        }
    }
}

impl Receiver {
    /// Creates the receiver of a flow.
    pub fn new(params: Arc<Params>, route: Route, progress: ReceiverProgress) -> Self {
        Self {
            params,
            route,
            arrivals: Arrivals::default(),
            unacked: 0,
            is_reported: false,
            quiet_until: 0,
            is_marked: false,
            progress,
        }
    }

    /// Handles a packet of this size. Returns the answer.
    pub fn on_data(&mut self, data: Data, size: u16, now: u64) -> Answer {
        self.progress.packets += 1;
        let expected = self.arrivals.next();
        if self.arrivals.has(data.psn) {
            return self.acknowledge(data);
        }
        let is_next = data.psn == expected;
        if is_next || self.params.config.retransmission == RoceRetransmission::SelectiveRepeat {
            self.arrivals.insert(data.psn);
            self.progress.accept(Sender::payload(size), now);
        }
        if is_next {
            self.is_reported = false;
            return self.acknowledge(data);
        }
        let reports_once = self.params.config.retransmission == RoceRetransmission::GoBackN;
        if reports_once && self.is_reported {
            return Answer::None;
        }
        self.is_reported = true;
        self.unacked = 0;
        Answer::Nak(Nak {
            expected,
            trigger: data.psn,
        })
    }

    fn acknowledge(&mut self, data: Data) -> Answer {
        self.unacked += 1;
        if !data.ack_at_once && !data.retransmission && self.unacked < self.params.config.ack_every {
            return Answer::None;
        }
        self.unacked = 0;
        Answer::Ack(self.arrivals.next())
    }

    /// Handles a marked packet. Returns the time at which a congestion notification is sent because of it. That is
    /// now, or the end of the interval that began with the last notification.
    pub fn on_mark(&mut self, now: u64) -> Option<u64> {
        if self.params.config.control == RoceControl::None || self.is_marked {
            return None;
        }
        if now < self.quiet_until {
            self.is_marked = true;
            return Some(self.quiet_until);
        }
        Some(now)
    }

    /// Records that a congestion notification is sent.
    pub fn on_notification(&mut self, now: u64) {
        self.quiet_until = now + self.params.config.cnp_interval.0;
        self.is_marked = false;
    }
}

impl FlowReceiver for Receiver {
    fn progress(&self) -> &ReceiverProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut ReceiverProgress {
        &mut self.progress
    }

    fn next_chunk(&self) -> u32 {
        self.arrivals.next()
    }

    fn reroute(&mut self, shared: &Shared) {
        self.route = shared.route_of_flow(self.progress.flow, true);
    }
}

#[cfg(test)]
mod tests {
    use weft_transports::RoceConfig;

    use super::*;

    const US: u64 = 1_000_000;

    fn receiver(retransmission: RoceRetransmission) -> Receiver {
        let config = RoceConfig {
            retransmission,
            ..RoceConfig::default()
        };
        let params = Params::for_tests(config);
        Receiver::new(
            Arc::new(params),
            Route::default(),
            ReceiverProgress::new(0, u64::MAX),
        )
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
        };
        let nak = |expected, trigger| Answer::Nak(Nak { expected, trigger });
        let mut go_back_n = receiver(RoceRetransmission::GoBackN);
        let mut answer = |psn| go_back_n.on_data(data(psn), 1086, 0);
        assert_eq!(answer(0), Answer::Ack(1));
        assert_eq!((answer(2), answer(3)), (nak(1, 2), Answer::None));
        assert_eq!((answer(1), answer(2)), (Answer::Ack(2), Answer::Ack(3)));
        assert_eq!((answer(4), answer(1)), (nak(3, 4), Answer::Ack(3)));
        assert_eq!(
            (
                go_back_n.progress.chunks,
                go_back_n.progress.bytes,
                go_back_n.progress.packets
            ),
            (3, 3 * 1024, 7)
        );
        let mut selective = receiver(RoceRetransmission::SelectiveRepeat);
        let mut answer = |psn| selective.on_data(data(psn), 1086, 0);
        assert_eq!((answer(1), answer(2)), (nak(0, 1), nak(0, 2)));
        assert_eq!((answer(0), answer(4)), (Answer::Ack(3), nak(3, 4)));
        assert_eq!((selective.progress.chunks, selective.progress.packets), (4, 4));
    }
}
