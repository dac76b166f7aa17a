//! The receiver of a flow: what has arrived, and the packets that it pulls.

use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::flows::ReceiverFlow;
use crate::transport::spray::HEADER;

use super::paths::Paths;
use super::protocol::NdpProtocol;
use super::wire::{Data, Report};

/// Maximum number of times that the time until a pull is repeated doubles.
const MAX_DOUBLINGS: u32 = 20;

/// The receiver of a flow.
pub type Receiver = ReceiverFlow<NdpProtocol>;

/// The state of a receiver.
pub struct NdpReceiver {
    /// Paths of answers.
    pub paths: Paths,
    pub arrivals: Arrivals,
    /// Number of packets of the flow, once its last one has arrived.
    pub total: Option<u32>,
    pub pulls: Pulls,
}

/// The pulls of a flow.
#[derive(Default)]
pub struct Pulls {
    /// The round of the flow, by which the pull queue is ordered; 0 for all flows if they send pulls in turn.
    pub round: u32,
    /// Number of packets that were pulled.
    pub sent: u32,
    /// Number of pulls that wait.
    pub waiting: u32,
    /// True if the flow is in the pull queue of the host.
    pub is_queued: bool,
    /// True if the timer of repeated pulls is set.
    pub has_timer: bool,
    /// Time of the last pull or arrival.
    pub last: u64,
    /// Number of times that the last pull was repeated.
    repeated: u32,
}

impl Pulls {
    /// Creates the pulls of a flow of this round that has pulled nothing.
    pub fn new(round: u32) -> Self {
        Self {
            round,
            ..Self::default()
        }
    }
}

impl Receiver {
    /// Returns the number of packets before the first missing one.
    pub fn next(&self) -> u32 {
        self.state.arrivals.next()
    }

    /// Returns true if all packets of the flow have arrived.
    pub fn is_complete(&self) -> bool {
        self.state.total.is_some_and(|total| self.next() >= total)
    }

    /// Handles a packet of this size. Returns the answer, and whether it is the report of a trimmed packet. Once the
    /// flow is complete, no pull of it waits any more.
    pub fn on_data(&mut self, data: &Data, size: u16, now: u64) -> (Report, bool) {
        (self.state.pulls.last, self.state.pulls.repeated) = (now, 0);
        if data.last {
            self.state.total = Some(data.psn + 1);
        }
        let has_arrived = self.state.arrivals.has(data.psn);
        if !data.trimmed {
            self.packets += 1;
            if !has_arrived {
                self.accept(u64::from(u32::from(size) - HEADER), now);
                self.state.arrivals.insert(data.psn);
            }
        }
        if self.is_complete() {
            self.state.pulls.waiting = 0;
        }
        (self.report(data), data.trimmed && !has_arrived)
    }

    fn report(&self, data: &Data) -> Report {
        Report {
            psn: data.psn,
            path: data.path,
            pulls: self.state.pulls.sent,
            next: self.next(),
        }
    }

    /// Returns the time at which the last pull is repeated unless something arrives.
    pub fn repeats_at(&self) -> u64 {
        let wait = self
            .params
            .config
            .rto
            .0
            .saturating_mul(1 << self.state.pulls.repeated);
        self.state.pulls.last.saturating_add(wait)
    }

    /// Records that the last pull is repeated now.
    pub fn repeat(&mut self, now: u64) {
        self.state.pulls.last = now;
        self.state.pulls.repeated = MAX_DOUBLINGS.min(self.state.pulls.repeated + 1);
    }
}
