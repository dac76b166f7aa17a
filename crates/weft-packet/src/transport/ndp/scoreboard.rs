//! The scores of paths: paths with more trimmed or lost packets than others are left out for some rounds (section
//! 3.2.3).

/// Bytes of the score of a path.
pub const BYTES_PER_PATH: usize = size_of::<Score>();

/// Number of reports of a path from which on it may be an outlier.
const MIN_REPORTS: u64 = 100;

/// The scores of all paths of a flow.
#[derive(Default)]
pub struct Scoreboard {
    scores: Vec<Score>,
    sum: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    acks: u64,
    nacks: u64,
    losses: u64,
}

/// The score of a path.
#[derive(Clone, Copy, Default)]
struct Score {
    counts: Counts,
    /// Number of rounds for which the path is left out after each use.
    penalty: u32,
    /// Number of rounds for which it is left out from now on.
    rounds_left: u32,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The packet was trimmed.
    Trimmed,
    /// Nothing is known of the packet, and it has timed out.
    Lost,
}

impl Scoreboard {
    /// Creates the scores of this many paths.
    pub fn new(paths: usize) -> Self {
        Self {
            scores: vec![Score::default(); paths],
            sum: Counts::default(),
        }
    }

    /// Records the fate of a packet. The penalty of the path grows if it is an outlier, and shrinks otherwise.
    pub fn record(&mut self, path: u16, fate: Fate) {
        let paths = self.scores.len() as u64;
        let Some(score) = self.scores.get_mut(usize::from(path)) else {
            return;
        };
        for counts in [&mut score.counts, &mut self.sum] {
            match fate {
                Fate::Arrived => counts.acks += 1,
                Fate::Trimmed => counts.nacks += 1,
                Fate::Lost => counts.losses += 1,
            }
        }
        let is_outlier = if fate == Fate::Lost {
            score.counts.has_more_losses(&self.sum, paths)
        } else {
            score.counts.has_more_nacks(&self.sum)
        };
        score.penalty = if is_outlier {
            score.penalty + 1
        } else {
            score.penalty.saturating_sub(1)
        };
    }

    /// Returns true if the path is left out of this round. Each call is one for a round.
    pub fn is_left_out(&mut self, path: u16) -> bool {
        let Some(score) = self.scores.get_mut(usize::from(path)) else {
            return false;
        };
        if score.rounds_left == 0 {
            score.rounds_left = score.penalty;
            return false;
        }
        score.rounds_left -= 1;
        true
    }
}

impl Counts {
    /// Returns true if the ratio of trimmed packets to others is above 0.3, and above 1.25 times the ratio
    /// of all paths.
    fn has_more_nacks(&self, all: &Self) -> bool {
        self.acks + self.nacks > MIN_REPORTS
            && 10 * self.nacks > 3 * self.acks
            && 4 * self.nacks * all.acks > 5 * all.nacks * self.acks
    }

    /// Returns true if more packets were lost than 1.25 times the mean of all paths.
    fn has_more_losses(&self, all: &Self, paths: u64) -> bool {
        4 * self.losses * paths > 5 * all.losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often each path is used in this many rounds, in which the packets of path 0 have the fate `fate`.
    fn uses(paths: u16, rounds: u32, fate: Fate) -> Vec<u32> {
        let mut scores = Scoreboard::new(paths.into());
        let mut uses = vec![0; paths.into()];
        for _ in 0..rounds {
            for path in (0..paths)
                .filter(|&path| !scores.is_left_out(path))
                .collect::<Vec<_>>()
            {
                uses[usize::from(path)] += 1;
                scores.record(path, if path == 0 { fate } else { Fate::Arrived });
            }
        }
        uses
    }

    #[test]
    fn outliers_are_left_out_for_longer_and_longer() {
        // After 101 reports, a path that trims every packet is used in rounds 102, 104, 107, 111 and so on.
        let trimmed = uses(4, 101 + 14, Fate::Trimmed);
        assert_eq!(trimmed, [105, 115, 115, 115]);
        let lost = uses(4, 15, Fate::Lost);
        assert_eq!(lost, [5, 15, 15, 15]);
        assert_eq!(uses(4, 500, Fate::Arrived), [500; 4]);
    }

    #[test]
    fn equal_paths_are_not_outliers() {
        let mut scores = Scoreboard::new(8);
        for n in 0..10_000_u32 {
            let path = (n % 8) as u16;
            let fate = if n / 8 % 2 == 0 {
                Fate::Trimmed
            } else {
                Fate::Arrived
            };
            scores.record(path, fate);
            assert!(!scores.is_left_out(path));
        }
    }
}
