//! Signs of loss and of reordering on a subflow: duplicate acknowledgements (RFC 5681, section 3.2;
//! RFC 6675, section 2) and RACK's reordering window (RFC 8985, section 6.2).

use weft_transports::Profile;

use super::rack::Rack;

/// The duplicate acknowledgements of a subflow, and the reordering that its path has shown.
pub struct Reordering {
    /// Number of consecutive duplicate acknowledgements.
    dupacks: u32,
    /// Number of duplicate acknowledgements that indicates a loss (`DupThresh`).
    threshold: u32,
    /// Segments that have left the network according to duplicate acknowledgements, without SACK
    /// (Linux's `tcp_add_reno_sack`).
    reno_sacked: u32,
    /// RACK's reordering window.
    pub rack: Rack,
}

impl Reordering {
    /// Creates the state of a subflow with this profile.
    pub fn from_profile(profile: &Profile) -> Self {
        Self {
            dupacks: 0,
            threshold: profile.loss.dupack_threshold,
            reno_sacked: 0,
            rack: Rack::default(),
        }
    }

    /// Expects packets to overtake each other from the beginning: only this many duplicate
    /// acknowledgements indicate a loss.
    pub fn expect_scattering(&mut self, threshold: u32) {
        self.threshold = threshold;
        self.rack = Rack::for_scattered();
    }

    /// Returns the number of consecutive duplicate acknowledgements.
    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// Returns the number of duplicate acknowledgements that indicates a loss.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns true if duplicate acknowledgements indicate a loss.
    pub fn indicates_loss(&self) -> bool {
        self.dupacks >= self.threshold
    }

    /// Returns the segments that have left the network according to duplicate acknowledgements.
    #[inline(always)]
    pub fn reno_sacked(&self) -> u32 {
        self.reno_sacked
    }

    /// Handles an acknowledgement that advances by this many segments and leaves `outstanding`.
    /// Returns the segments that had left the network according to duplicates before.
    #[inline(always)]
    pub fn on_advance(&mut self, packets: u32, outstanding: u32) -> u32 {
        let before = self.reno_sacked;
        self.dupacks = 0;
        self.reno_sacked = before.saturating_sub(packets - 1).min(outstanding);
        before
    }

    /// Counts a duplicate acknowledgement, if it counts.
    pub fn on_duplicate(&mut self, counts: bool) {
        self.dupacks += u32::from(counts);
    }

    /// Counts the duplicates that made the first segment count as lost, except the last one, as
    /// segments that have left the network.
    pub fn on_head_lost(&mut self) {
        self.reno_sacked = self.threshold - 1;
    }

    /// Counts a segment that has left the network, of those outstanding. They are subtracted from
    /// the pipe instead of inflating the window (RFC 5681, section 3.2, steps 3 and 4).
    pub fn on_segment_left(&mut self, outstanding: u32) {
        self.reno_sacked = (self.reno_sacked + 1).min(outstanding);
    }

    /// Handles the end of a recovery.
    pub fn on_recovered(&mut self) {
        self.reno_sacked = 0;
        self.rack.on_recovered();
    }

    /// Handles a timeout.
    pub fn on_timeout(&mut self) {
        self.dupacks = 0;
        self.reno_sacked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Duplicates before a timeout say nothing about what is sent after it.
    #[test]
    fn a_timeout_ends_the_count_of_duplicates() {
        let mut reordering = Reordering::from_profile(&Profile::linux());
        reordering.on_duplicate(true);
        reordering.on_segment_left(3);
        assert_eq!((reordering.dupacks(), reordering.reno_sacked()), (1, 1));
        reordering.on_timeout();
        assert_eq!((reordering.dupacks(), reordering.reno_sacked()), (0, 0));
    }
}
