//! The admission of a subflow's packet to a link: by bursts, by pacing, and by the NIC, which all
//! flows of the host share.
//!
//! Linux hands its NIC up to 64 KB of a socket at a time (TSO) and waits a short time to fill such
//! a burst (`tcp_tso_autosize`, `tcp_tso_should_defer`, `net/ipv4/tcp_output.c`). The last packet of
//! a burst of several carries PSH (`__tcp_transmit_skb`), so that since 6.6 its acknowledgement is
//! not delayed. Its receivers merge the packets that an interrupt of the NIC finds (GRO), which TCP
//! answers with one acknowledgement. Here an interrupt comes a configured time after the last packet.
//! Packets on links stay packets.

use weft_cc::Algorithm;
use weft_spec::Time;

use crate::engine::Context;
use crate::transport::nic::{Feed, NicFlow, Nics, Request, WINDOW};
use crate::transport::shared::Shared;

use super::INDEX;
use super::congestion::rate;
use super::connection::ConnectionSender;
use super::receiver::SubflowReceiver;
use super::subflow::{BlockReasons, SubflowSender};
use super::timers::{TcpTimer, timer_key};

/// The causes that may hold packets back in a run.
#[derive(Clone, Copy)]
pub struct Admission {
    /// True if any subflow may be paced.
    paces: bool,
    /// True if data is sent in bursts.
    tso: bool,
    /// True if any cause exists, which may be the NIC alone.
    enabled: bool,
}

impl Admission {
    /// Determines the causes.
    pub fn new(shared: &Shared) -> Self {
        let mut transports = shared.tcp.iter().flatten();
        let paces = transports.any(|tcp| may_pace(tcp.profile.window.pacing, &tcp.cc));
        let tso = shared.offload.tso;
        Self {
            paces,
            tso,
            enabled: paces || tso || shared.nic.is_some(),
        }
    }

    /// Returns true if `subflow`, in slot `slot`, may hand a packet to its port now. Otherwise the
    /// subflow waits and is served when it may. A data packet has this many header bytes.
    #[inline(always)]
    pub fn admit(
        self,
        nics: &mut Nics,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        (slot, header): (u32, u32),
        cx: &mut Context<'_>,
    ) -> bool {
        if !self.enabled {
            true
        } else if self.tso || self.paces {
            self.admit_burst(nics, connection, subflow, (slot, header), cx)
        } else {
            nic_admits(nics, connection, subflow, (slot, header), 1, cx)
        }
    }

    /// Returns the answer of [`admit`](Self::admit) if data is paced or sent in bursts.
    fn admit_burst(
        self,
        nics: &mut Nics,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        (slot, header): (u32, u32),
        cx: &mut Context<'_>,
    ) -> bool {
        if subflow.gate.take_from_burst() {
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
            return true;
        }
        let burst = if self.tso {
            connection.burst(subflow, cx.now)
        } else {
            Some(1)
        };
        let Some(burst) = burst else {
            subflow.gate.block(BlockReasons::TSO_DEFERRED);
            return false;
        };
        if self.paces && !subflow.pacing_allows(slot, cx) {
            return false;
        }
        let passes = nic_admits(nics, connection, subflow, (slot, header), burst, cx);
        if passes {
            subflow.gate.start_burst(burst - 1);
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
        }
        passes
    }

    /// Handles an acknowledgement of `subflow`.
    #[inline(always)]
    pub fn on_ack(self, subflow: &mut SubflowSender) {
        if self.tso {
            if subflow.gate.is_blocked_by(BlockReasons::TSO_DEFERRED) {
                // The window limits a sender that waits for a longer burst (`tcp_tso_should_defer`).
                subflow.usage.set_limited(subflow.seq.nxt());
            }
            subflow.gate.on_ack();
        }
    }
}

/// Returns true if the NIC takes a burst of `subflow` now. Otherwise the subflow waits for its turn.
#[inline(always)]
fn nic_admits(
    nics: &mut Nics,
    connection: &ConnectionSender,
    subflow: &mut SubflowSender,
    (slot, header): (u32, u32),
    burst: u32,
    cx: &mut Context<'_>,
) -> bool {
    if subflow.gate.is_blocked_by(BlockReasons::THROTTLED) {
        return false;
    }
    let flow = NicFlow {
        kind: INDEX as u32,
        index: slot,
    };
    let request = || Request {
        flow,
        feed: Feed::Ring,
        class: connection.options.data_flags,
        size: connection.data.mss() + header,
        backlog: WINDOW,
    };
    let port = cx.port_of(subflow.path.route());
    let admitted = nics.admit(flow, port, burst, request, cx);
    if !admitted {
        subflow.gate.block(BlockReasons::THROTTLED);
    }
    admitted
}

/// Number of packets that are not paced: "Original `sch_fq` does not pace first 10 MSS", and
/// neither does TCP (`tcp_update_skb_after_send`).
const UNPACED_PACKETS: u64 = 10;

/// Returns true if a subflow of such a connection may be paced. Of the algorithms, only a
/// user-defined one can ask for it.
pub fn may_pace(pacing: bool, cc: &Algorithm) -> bool {
    pacing || matches!(cc, Algorithm::Custom(_))
}

impl ConnectionSender {
    /// Updates the departure time of the next packet when a packet of `subflow` is sent at `now`. A
    /// window below 1 is a packet every `srtt / cwnd` (Kumar et al., "Swift", SIGCOMM 2020, section
    /// 3.1), or at the rate that the algorithm asks for if that is lower.
    pub fn on_paced_send(&self, subflow: &mut SubflowSender, now: u64) {
        let s = subflow.index() as usize;
        let window = &self.windows()[s];
        let asked = self.congestion.pacing_rate(s);
        let own = || rate(window, subflow.segments.len());
        let mut pace = asked.or_else(|| self.options.paced.then(own));
        let is_small = window.cwnd < 1.0;
        if is_small {
            let slowest = window.cwnd / window.srtt.max(125e-9);
            pace = Some(pace.map_or(slowest, |rate| rate.min(slowest)));
        }
        let Some(rate) = pace else {
            return;
        };
        // The packet that is being sent counts, too.
        let is_unpaced = subflow.stats().packets_sent + 1 < UNPACED_PACKETS && !is_small;
        if is_unpaced || rate.is_nan() || rate <= 0.0 {
            subflow.gate.skip_pacing(now);
            return;
        }
        subflow.gate.pace((1e12 / rate) as u64, now);
    }
}

impl SubflowSender {
    /// Returns true if pacing allows a packet now. Otherwise the subflow waits until it does.
    pub fn pacing_allows(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        if self.gate.is_blocked_by(BlockReasons::THROTTLED) {
            return false;
        }
        let departure = self.gate.earliest_departure();
        if departure <= cx.now {
            return true;
        }
        self.gate.block(BlockReasons::THROTTLED);
        cx.set_timer(departure, timer_key(TcpTimer::Pace, slot));
        false
    }
}

/// Bytes that a NIC takes of a socket at a time (`GSO_LEGACY_MAX_SIZE`), and that a receiver
/// merges at most.
const GSO_MAX_SIZE: u32 = 65_536;
/// Divisor of the window: a sender that may send this part of its window does not wait
/// (`tcp_tso_win_divisor`).
const TSO_WIN_DIVISOR: u32 = 3;
/// Time since the last transmission after which a socket does not wait: 1 ms.
const TSO_MAX_IDLE: u64 = 1_000_000_000;

impl ConnectionSender {
    /// Returns the number of packets that `subflow`, whose window allows one, hands to its NIC
    /// now, or `None` if it waits until its window allows a longer burst.
    pub fn burst(&self, subflow: &SubflowSender, now: u64) -> Option<u32> {
        // Retransmissions are sent packet by packet, without waiting.
        if !subflow.state.is_open() {
            return Some(1);
        }
        let window = &self.windows()[subflow.index() as usize];
        let free = self.free_window(subflow);
        let max = self
            .tso_autosize(subflow)
            .min(self.sendable_packets(subflow.index() as usize));
        let sent = subflow.segments.head_sent_at().min(now);
        let defer = free < max
            && f64::from(free * TSO_WIN_DIVISOR) < window.cwnd
            // No wait for an acknowledgement that will not come, and no long wait.
            && !subflow.segments.is_empty()
            && now - subflow.segments.tail_sent_at() < TSO_MAX_IDLE
            && (now - sent) as f64 * 1e-12 >= window.srtt / 2.0;
        (!defer).then_some(free.min(max).max(1))
    }

    /// Returns the number of packets that the window still allows.
    fn free_window(&self, subflow: &SubflowSender) -> u32 {
        (self.windows()[subflow.index() as usize].cwnd as u32).saturating_sub(subflow.pipe())
    }

    /// Returns the number of packets that subflow `s` could send.
    fn sendable_packets(&self, s: usize) -> u32 {
        if self.send_queues.is_some() {
            return self.queued(s);
        }
        let new = (self.data.written() - self.data.nxt()).min(self.data.window_left());
        new + self.reinject.len()
    }

    /// Returns the longest burst (`tcp_tso_autosize`): what the pacing rate sends in a millisecond,
    /// and more on paths with a small RTT.
    fn tso_autosize(&self, subflow: &SubflowSender) -> u32 {
        let window = &self.windows()[subflow.index() as usize];
        let mss = f64::from(self.data.mss());
        let by_rate = rate(window, subflow.segments.len()) * mss / 1024.0;
        let near = GSO_MAX_SIZE
            .checked_shr((window.min_rtt * 1e6) as u32 >> 9)
            .unwrap_or(0);
        let bytes = (by_rate + f64::from(near)).min(f64::from(GSO_MAX_SIZE));
        ((bytes / mss) as u32).max(2)
    }
}

impl SubflowReceiver {
    /// Returns true if the data that has arrived may be acknowledged together with data that
    /// arrives `within` this time.
    #[inline(always)]
    pub fn merges(&self, within: Time, mss: u32) -> bool {
        within.0 > 0 && self.unacked() < GSO_MAX_SIZE / mss
    }
}
