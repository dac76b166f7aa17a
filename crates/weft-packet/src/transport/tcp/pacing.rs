//! Pacing: a subflow's packets leave at a rate instead of all at once, as under Linux's fq.

use weft_cc::Algorithm;

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::gate::BlockReasons;
use super::rate::rate;
use super::subflow::SubflowSender;
use super::timer_keys::{TcpTimer, timer_key};

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
