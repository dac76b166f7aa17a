//! Segmentation and receive offload: data leaves in bursts, and what arrives in a row is acknowledged once.
//!
//! Linux hands its card up to 64 KB of a socket at once (TSO) and waits a little for that much (`tcp_tso_autosize`,
//! `tcp_tso_should_defer`, `net/ipv4/tcp_output.c`); its receivers merge what a card's interrupt finds (GRO), which TCP answers with
//! one acknowledgement. Here an interrupt comes a stated time after the last packet. Packets on links stay packets.

use weft_spec::Time;

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{TimerKind, timer_key};
use super::pacing;
use super::receiver::SubflowReceiver;
use super::subflow::{State, SubflowSender};

/// Bytes that a card takes of a socket at once (`GSO_LEGACY_MAX_SIZE`), and that a receiver merges at most.
const GSO_MAX_SIZE: u32 = 65_536;
/// A window that has room for this part of itself waits no longer (`tcp_tso_win_divisor`).
const TSO_WIN_DIVISOR: u32 = 3;
/// A socket that has been silent so long waits no longer: 1 ms.
const TSO_MAX_IDLE: u64 = 1_000_000_000;

impl ConnectionSender {
    /// Packets that `subflow`, whose window has room, hands its card now; none: it waits for more room.
    pub fn burst(&self, subflow: &SubflowSender, now: u64) -> Option<u32> {
        // What is repaired goes at once, packet by packet.
        if subflow.state != State::Open || subflow.prr_active {
            return Some(1);
        }
        let window = &self.windows[subflow.index as usize];
        let free = self.free_window(subflow);
        let max = self
            .tso_autosize(subflow)
            .min(self.sendable_packets(subflow.index as usize));
        let sent = subflow.segments.head_sent_at().min(now);
        let defer = free < max
            && f64::from(free * TSO_WIN_DIVISOR) < window.cwnd
            // Nobody waits for an acknowledgement that will not come, or not for long.
            && !subflow.segments.is_empty()
            && now - subflow.segments.tail_sent_at() < TSO_MAX_IDLE
            && (now - sent) as f64 * 1e-12 >= window.srtt / 2.0;
        (!defer).then_some(free.min(max).max(1))
    }

    /// Packets for which the window has room.
    fn free_window(&self, subflow: &SubflowSender) -> u32 {
        (self.windows[subflow.index as usize].cwnd as u32).saturating_sub(subflow.pipe())
    }

    /// Packets that subflow `s` could be sending.
    fn sendable_packets(&self, s: usize) -> u32 {
        if self.send_queues.is_some() {
            return self.queued(s);
        }
        let window = self.receive_window.saturating_sub(self.next - self.una);
        (self.written - self.next).min(window) + self.reinject.len() as u32
    }

    /// The longest burst (`tcp_tso_autosize`): what the pacing rate sends in a millisecond, and more on short ways.
    fn tso_autosize(&self, subflow: &SubflowSender) -> u32 {
        let window = &self.windows[subflow.index as usize];
        let mss = f64::from(self.mss);
        let by_rate = pacing::rate(window, subflow.segments.len()) * mss / 1024.0;
        let near = GSO_MAX_SIZE
            .checked_shr((window.min_rtt * 1e6) as u32 >> 9)
            .unwrap_or(0);
        let bytes = (by_rate + f64::from(near)).min(f64::from(GSO_MAX_SIZE));
        ((bytes / mss) as u32).max(2)
    }
}

impl SubflowReceiver {
    /// May what has arrived be acknowledged with what comes right behind it?
    #[inline(always)]
    pub fn merges(&self, within: Time, mss: u32) -> bool {
        within.0 > 0 && self.unacked < GSO_MAX_SIZE / mss
    }

    /// An acknowledgement is due by then.
    #[inline(always)]
    pub fn acknowledge_by(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        self.deadline = deadline;
        if self.timer > deadline {
            self.second_timer = self.timer;
            self.timer = deadline;
            cx.set_timer(deadline, timer_key(TimerKind::DelayedAck, slot));
        }
    }
}
