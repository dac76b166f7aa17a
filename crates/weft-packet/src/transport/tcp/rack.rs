//! RACK's reordering window (RFC 8985, section 6.2, steps 3 and 4): the time for which an overtaken
//! segment counts as late and not as lost.

/// Number of recoveries without a reported duplicate after which the window is reset.
const REO_WND_PERSIST: u32 = 16;

/// Maximum of the window, in quarters of the minimum RTT.
const MAX_REO_WND_MULT: u32 = 255;

/// The reordering that one subflow has observed on its path.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// The window in quarters of the minimum RTT (`RACK.reo_wnd_mult`).
    reo_wnd_mult: u32,
    /// Value of `reo_wnd_mult` at the beginning.
    min_mult: u32,
    /// Number of recoveries for which the window stays this wide (`RACK.reo_wnd_persist`).
    reo_wnd_persist: u32,
    /// The window does not grow until this byte is acknowledged (`RACK.dsack_round`).
    dsack_round: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            reo_wnd_mult: 1,
            min_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: 0,
        }
    }
}

impl Rack {
    /// Returns the state of a subflow whose packets overtake each other from the beginning: the
    /// window always has its maximum.
    pub fn for_scattered() -> Self {
        Self {
            reo_wnd_mult: MAX_REO_WND_MULT,
            min_mult: MAX_REO_WND_MULT,
            ..Self::default()
        }
    }

    /// Returns true if a segment is lost only after as many packets have overtaken it as the
    /// duplicate threshold says.
    pub fn is_scattered(&self) -> bool {
        self.min_mult == MAX_REO_WND_MULT
    }

    /// Handles a D-SACK (RFC 8985, section 6.2, step 4): a segment was retransmitted needlessly. "Grow the reordering window per
    /// round that sees DSACK."
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if una >= self.dsack_round {
            self.dsack_round = nxt;
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MAX_REO_WND_MULT);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Handles the end of a recovery (RFC 8985, section 6.2, step 4). "Reset the window after 16 DSACK-free recoveries."
    pub fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = self.min_mult;
        }
    }

    /// Returns the window (RFC 8985, section 6.2, step 4), in the unit of the RTTs. `certain` is true during a recovery, or if as
    /// many segments are sacked as the duplicate threshold says.
    pub fn window(&self, reordered: bool, certain: bool, min_rtt: u64, srtt: u64) -> u64 {
        if !reordered && certain && !self.is_scattered() {
            return 0;
        }
        (min_rtt / 4).saturating_mul(self.reo_wnd_mult.into()).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_a_quarter_of_the_minimum_rtt_or_nothing() {
        let rack = Rack::default();
        let table = [
            // reordered, certain, window
            (false, false, 25),
            (false, true, 0),
            (true, false, 25),
            (true, true, 25),
        ];
        for (reordered, certain, window) in table {
            assert_eq!(
                rack.window(reordered, certain, 100, 400),
                window,
                "{reordered}, {certain}"
            );
        }
    }

    #[test]
    fn duplicates_widen_it_once_a_round_up_to_the_smoothed_rtt() {
        let mut rack = Rack::default();
        rack.on_dsack(10, 50);
        rack.on_dsack(20, 60);
        assert_eq!(rack.window(true, true, 100, 400), 50);
        rack.on_dsack(50, 90);
        assert_eq!(rack.window(true, true, 100, 400), 75);
        assert_eq!(rack.window(true, true, 100, 60), 60);
    }

    #[test]
    fn what_is_scattered_has_a_smoothed_rtt_of_time() {
        let mut rack = Rack::for_scattered();
        for _ in 0..20 {
            for (reordered, certain) in [(false, false), (false, true), (true, true)] {
                assert_eq!(rack.window(reordered, certain, 100, 400), 400);
            }
            rack.on_recovered();
        }
    }

    #[test]
    fn sixteen_recoveries_without_duplicates_narrow_it() {
        let mut rack = Rack::default();
        rack.on_dsack(0, 50);
        for recoveries in 1..=16 {
            assert_eq!(
                rack.window(true, true, 100, 400),
                50,
                "after {} recoveries",
                recoveries - 1
            );
            rack.on_recovered();
        }
        assert_eq!(rack.window(true, true, 100, 400), 25);
    }
}
