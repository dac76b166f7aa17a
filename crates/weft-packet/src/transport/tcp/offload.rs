//! Segmentation and receive offload: data is sent in bursts, and packets that arrive back to back
//! are acknowledged once.
//!
//! Linux hands its NIC up to 64 KB of a socket at a time (TSO) and waits a short time to fill such
//! a burst (`tcp_tso_autosize`, `tcp_tso_should_defer`, `net/ipv4/tcp_output.c`). The last packet of
//! a burst of several carries PSH (`__tcp_transmit_skb`), so that since 6.6 its acknowledgement is
//! not delayed. Its receivers merge the packets that an interrupt of the NIC finds (GRO), which TCP
//! answers with one acknowledgement. Here an interrupt comes a configured time after the last packet.
//! Packets on links stay packets.

use weft_spec::Time;

use super::connection::ConnectionSender;
use super::rate::rate;
use super::receiver::SubflowReceiver;
use super::subflow::SubflowSender;

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
