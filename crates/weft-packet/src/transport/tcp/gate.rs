//! The gate of a subflow: the reasons that block its new data, its burst (`tcp_tso_should_defer`)
//! and its departure time (`tcp_update_skb_after_send`).

/// The reasons for which a subflow may send no new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReasons(u8);

impl BlockReasons {
    /// The subflow waits for the NIC of its host or for pacing, as a flow that Linux calls throttled.
    pub const THROTTLED: Self = Self(1);
    /// Other subflows have replaced this one, which closes when all that it has sent is acknowledged.
    pub const DRAINING: Self = Self(2);
    /// The subflow waits until its window allows a longer burst (`tcp_tso_should_defer`).
    pub const TSO_DEFERRED: Self = Self(4);
    /// The path monitor has not selected the subflow, because its path is slow or other subflows suffice.
    pub const NOT_SELECTED: Self = Self(8);

    /// The union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The reasons that block new data of a subflow, its burst (TSO) and its departure time (fq).
#[derive(Default)]
pub struct SendGate {
    reasons: BlockReasons,
    /// Packets that are left of the burst which was handed to the NIC.
    burst_left: u32,
    /// True if the packet that was admitted last ends a burst of several packets.
    ends_burst: bool,
    /// Earliest time at which pacing allows the next packet; 0 if the subflow is not paced.
    earliest_departure: u64,
}

impl SendGate {
    /// Returns true if nothing blocks the subflow.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.reasons.0 == 0
    }

    /// Returns true if any of the reasons holds.
    #[inline(always)]
    pub fn is_blocked_by(&self, reasons: BlockReasons) -> bool {
        self.reasons.0 & reasons.0 != 0
    }

    /// Adds a reason.
    #[inline(always)]
    pub fn block(&mut self, reason: BlockReasons) {
        self.reasons.0 |= reason.0;
    }

    /// Removes a reason. Returns whether it held.
    #[inline(always)]
    pub fn unblock(&mut self, reason: BlockReasons) -> bool {
        let held = self.is_blocked_by(reason);
        self.reasons.0 &= !reason.0;
        held
    }

    /// Takes a packet of the burst that was handed over whole. Returns false if none is left.
    #[inline(always)]
    pub fn take_from_burst(&mut self) -> bool {
        if self.burst_left == 0 {
            return false;
        }
        self.burst_left -= 1;
        self.ends_burst = self.burst_left == 0;
        true
    }

    /// Returns true if the packet that was admitted last ends a burst of several packets.
    #[inline(always)]
    pub fn ends_burst(&self) -> bool {
        self.ends_burst
    }

    /// Starts a burst, of which `left` packets follow the first one.
    #[inline(always)]
    pub fn start_burst(&mut self, left: u32) {
        (self.burst_left, self.ends_burst) = (left, false);
    }

    /// Handles an acknowledgement if data leaves in bursts: the window may now allow a longer one.
    #[inline(always)]
    pub fn on_ack(&mut self) {
        self.reasons.0 &= !BlockReasons::TSO_DEFERRED.0;
        self.burst_left = 0;
    }

    /// Returns the earliest time at which pacing allows the next packet.
    #[inline(always)]
    pub fn earliest_departure(&self) -> u64 {
        self.earliest_departure
    }

    /// Lets the next packet leave at `now`: the packet that is sent is not paced.
    pub fn skip_pacing(&mut self, now: u64) {
        self.earliest_departure = now;
    }

    /// Updates the departure time of the next packet when a packet is sent at `now`, which takes
    /// this interval. Half of a packet's delay beyond its departure time is made up for
    /// (`tcp_update_skb_after_send`).
    pub fn pace(&mut self, interval: u64, now: u64) {
        let due = self.earliest_departure.max(now);
        let late = due - self.earliest_departure;
        self.earliest_departure = due.saturating_add(interval - late.min(interval / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_packet_of_several_ends_a_burst() {
        let mut gate = SendGate::default();
        for packets in [1, 3, 1, 2] {
            gate.start_burst(packets - 1);
            assert!(!gate.ends_burst(), "the first of {packets}");
            for left in (0..packets - 1).rev() {
                assert!(gate.take_from_burst());
                assert_eq!(gate.ends_burst(), left == 0, "{left} of {packets} are left");
            }
            assert!(!gate.take_from_burst());
        }
    }
}
