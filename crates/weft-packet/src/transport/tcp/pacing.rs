//! Pacing: a subflow's packets leave at a rate instead of all at once, as under Linux's fq.

use weft_cc::{Algorithm, CongestionControl, Window};

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{Host, TimerKind, timer_key};
use super::subflow::{BlockReasons, SubflowSender};

/// Number of packets that are not paced: "Original `sch_fq` does not pace first 10 MSS", and
/// neither does TCP (`tcp_update_skb_after_send`).
const UNPACED_PACKETS: u64 = 10;

/// Returns `sk_pacing_rate` in packets per second (`tcp_update_pacing_rate`): the window over the
/// smoothed RTT, doubled in slow start, else multiplied by 1.2.
pub fn rate(window: &Window, outstanding: u32) -> f64 {
    let gain = if window.cwnd < window.ssthresh / 2.0 {
        2.0
    } else {
        1.2
    };
    gain * window.cwnd.max(outstanding.into()) / window.srtt.max(125e-9)
}

/// Returns true if a subflow of such a connection may be paced. Of the algorithms, only a
/// user-defined one can ask for it.
pub fn may_pace(pacing: bool, cc: &Algorithm) -> bool {
    pacing || matches!(cc, Algorithm::Custom(_))
}

impl ConnectionSender {
    /// Updates the departure time of the next packet when a packet of `subflow` is sent at `now`.
    /// Half of a packet's delay beyond its departure time is made up for
    /// (`tcp_update_skb_after_send`).
    pub fn on_paced_send(&self, subflow: &mut SubflowSender, now: u64) {
        let s = subflow.index as usize;
        let asked = self.cc.pacing_rate(&self.windows, s);
        let own = || rate(&self.windows[s], subflow.segments.len());
        let Some(rate) = asked.or_else(|| self.paced.then(own)) else {
            return;
        };
        // The packet that is being sent counts, too.
        if subflow.stats.packets_sent + 1 < UNPACED_PACKETS || rate.is_nan() || rate <= 0.0 {
            subflow.earliest_departure = now;
            return;
        }
        let interval = (1e12 / rate) as u64;
        let due = subflow.earliest_departure.max(now);
        let late = due - subflow.earliest_departure;
        subflow.earliest_departure = due.saturating_add(interval - late.min(interval / 2));
    }
}

impl SubflowSender {
    /// Returns true if pacing allows a packet now. Otherwise the subflow waits until it does.
    pub fn pacing_allows(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        if self.blocked.contains_any(BlockReasons::THROTTLED) {
            return false;
        }
        if self.earliest_departure <= cx.now {
            return true;
        }
        self.blocked.insert(BlockReasons::THROTTLED);
        cx.set_timer(self.earliest_departure, timer_key(TimerKind::Pace, slot));
        false
    }
}

impl Host {
    /// Handles the timer of a paced subflow: its next packet may be sent.
    pub(super) fn on_pacing_timer(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.blocked.contains_any(BlockReasons::THROTTLED) && subflow.earliest_departure == cx.now {
            subflow.blocked.remove(BlockReasons::THROTTLED);
            let connection = subflow.connection;
            self.transmit_pending(connection, slot, cx);
        }
    }
}
