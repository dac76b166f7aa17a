//! Pacing: a subflow's packets leave at a rate instead of all at once, as under Linux's fq.

use weft_cc::{Algorithm, CongestionControl, Window};

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{Host, TimerKind, timer_key};
use super::subflow::{BlockReasons, SubflowSender};

/// "Original `sch_fq` does not pace first 10 MSS", and so TCP does not (`tcp_update_skb_after_send`).
const UNPACED_PACKETS: u64 = 10;

/// `sk_pacing_rate` in packets per second (`tcp_update_pacing_rate`): window over smoothed RTT, doubled in slow start, else by 1.2.
pub fn rate(window: &Window, outstanding: u32) -> f64 {
    let gain = if window.cwnd < window.ssthresh / 2.0 {
        2.0
    } else {
        1.2
    };
    gain * window.cwnd.max(outstanding.into()) / window.srtt.max(125e-9)
}

/// Might a subflow of such a connection be paced? Of the algorithms only a user's own may ask for it.
pub fn may_pace(pacing: bool, cc: &Algorithm) -> bool {
    pacing || matches!(cc, Algorithm::Custom(_))
}

impl ConnectionSender {
    /// A packet of `subflow` leaves now: when the next one may. Half of what a packet comes too late is made up for
    /// (`tcp_update_skb_after_send`).
    pub fn on_paced_send(&self, subflow: &mut SubflowSender, now: u64) {
        let s = subflow.index as usize;
        let asked = self.cc.pacing_rate(&self.windows, s);
        let own = || rate(&self.windows[s], subflow.segments.len());
        let Some(rate) = asked.or_else(|| self.paced.then(own)) else {
            return;
        };
        // This one counts, too.
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
    /// Does its pace let a packet leave? If not, it waits for the time when it does.
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
    /// The next packet of a paced subflow may leave.
    pub(super) fn on_pacing_timer(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.blocked.contains_any(BlockReasons::THROTTLED) && subflow.earliest_departure == cx.now {
            subflow.blocked.remove(BlockReasons::THROTTLED);
            let connection = subflow.connection;
            self.transmit_pending(connection, slot, cx);
        }
    }
}
