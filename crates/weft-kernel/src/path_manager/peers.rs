//! The number of subflows per connection that each peer accepts.
//!
//! Linux with its default limits accepts two in addition to the first. It rejects a third one only after this end has seen
//! it established. A peer's limit is therefore learned by a few joins that it rejects, and tested again once a minute.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Token;

/// A peer as one of the path manager's namespaces sees it.
pub type Peer = (usize, IpAddr);

/// Records of all peers. Times are nanoseconds.
#[derive(Debug)]
pub struct Peers {
    all: HashMap<Peer, PeerRecord>,
    max_probes: usize,
}

#[derive(Debug, Default)]
struct PeerRecord {
    /// Most subflows of one connection that were established for some time.
    accepted: usize,
    /// Number of subflows above which a join was rejected, and the time before which no connection asks for more.
    limit: Option<(usize, u64)>,
    /// Connections that requested more subflows than the peer is known to accept, and the times of the requests.
    probing: HashMap<Token, u64>,
}

impl Peers {
    /// Creates empty records. At most `max_probes` connections at a time request subflows of a peer whose limit is unknown.
    pub fn new(max_probes: usize) -> Self {
        Self {
            all: HashMap::new(),
            max_probes,
        }
    }

    /// Returns how many of the additional subflows that a connection wants it may request now, and the time of the next
    /// request if these are not all.
    pub fn allow(
        &mut self,
        peer: Peer,
        token: Token,
        [has, wants]: [usize; 2],
        now: u64,
    ) -> (usize, Option<u64>) {
        let known = self.all.entry(peer).or_default();
        let (max, again) = match known.limit {
            Some((limit, until)) if now < until => (limit, until),
            Some((limit, _)) => {
                if has + wants > limit {
                    known.limit = Some((limit, now + LEARNED));
                }
                (limit + 1, now + LEARNED)
            }
            None => {
                known.probing.retain(|_, since| *since + PROBE_TIMEOUT > now);
                let others = known.probing.keys().filter(|other| **other != token).count();
                if has + wants <= known.accepted || others < self.max_probes {
                    if has + wants > known.accepted {
                        known.probing.insert(token, now);
                    }
                    return (wants, None);
                }
                (known.accepted, now + PROBATION)
            }
        };
        let allowed = wants.min(max.saturating_sub(has));
        (allowed, (allowed < wants).then_some(again))
    }

    /// Records that `subflows` subflows of a connection have been established for some time.
    pub fn on_joins_survived(&mut self, peer: Peer, token: Token, subflows: usize) {
        let known = self.all.entry(peer).or_default();
        known.accepted = known.accepted.max(subflows);
        known.probing.remove(&token);
        if known.limit.is_some_and(|(limit, _)| subflows > limit) {
            known.limit = None;
        }
    }

    /// Records that the peer rejected a join, which left the connection with `subflows` subflows.
    pub fn on_rejected(&mut self, peer: Peer, token: Token, subflows: usize, now: u64) {
        let known = self.all.entry(peer).or_default();
        let subflows = subflows.max(1);
        known.accepted = known.accepted.min(subflows);
        known.probing.remove(&token);
        let limit = match known.limit {
            Some((limit, until)) if now < until => limit.min(subflows),
            _ => subflows,
        };
        known.limit = Some((limit, now + LEARNED));
    }

    /// Drops records of peers without a current limit if there are too many.
    pub fn forget(&mut self, now: u64) {
        if self.all.len() > MAX_PEERS {
            self.all
                .retain(|_, known| known.limit.is_some_and(|(_, until)| now < until));
        }
    }
}

/// Time after which an established join was not rejected.
pub const PROBATION: u64 = 1_000_000_000;
/// Time after which a request no longer prevents requests of other connections.
const PROBE_TIMEOUT: u64 = 5 * PROBATION;
/// Time for which a learned limit is valid.
pub const LEARNED: u64 = 60_000_000_000;
/// Maximum number of recorded peers.
const MAX_PEERS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = (0, IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn few_connections_find_out_what_an_unknown_peer_takes_and_the_others_follow() {
        let mut peers = Peers::new(2);
        assert_eq!(peers.allow(PEER, 1, [1, 3], 0), (3, None));
        assert_eq!(peers.allow(PEER, 2, [1, 3], 0), (3, None));
        assert_eq!(peers.allow(PEER, 3, [1, 3], 0), (0, Some(PROBATION)));
        peers.on_joins_survived(PEER, 1, 4);
        assert_eq!(peers.allow(PEER, 3, [1, 3], SECOND), (3, None));
        assert_eq!(peers.allow(PEER, 4, [1, 3], SECOND), (3, None));
    }

    #[test]
    fn a_limit_is_kept_and_asked_about_once_a_minute_by_one_connection() {
        let mut peers = Peers::new(2);
        peers.allow(PEER, 1, [1, 3], 0);
        peers.on_rejected(PEER, 1, 3, SECOND);
        let again = SECOND + LEARNED;
        assert_eq!(peers.allow(PEER, 2, [1, 3], 2 * SECOND), (2, Some(again)));
        assert_eq!(peers.allow(PEER, 1, [3, 1], 2 * SECOND), (0, Some(again)));
        assert_eq!(peers.allow(PEER, 1, [3, 1], again), (1, None));
        assert_eq!(peers.allow(PEER, 2, [3, 1], again), (0, Some(again + LEARNED)));
        // It takes more now.
        peers.on_joins_survived(PEER, 1, 4);
        assert_eq!(peers.allow(PEER, 2, [3, 1], again + SECOND), (1, None));
    }

    #[test]
    fn a_peer_that_takes_none_is_asked_ten_times_in_the_first_minute_and_once_a_minute_then() {
        const FEW: usize = 3;
        let mut peers = Peers::new(FEW);
        let mut rejected = Vec::new();
        for second in 0..300 {
            let now = second * SECOND;
            for token in 0..50 {
                let (asked, _) = peers.allow(PEER, token, [1, 3], now);
                // All of what was asked comes back.
                for left in (0..asked).rev() {
                    peers.on_rejected(PEER, token, 1 + left, now);
                    rejected.push(second);
                }
            }
        }
        let within = |from: u64| {
            rejected
                .iter()
                .filter(|at| (from..from + 60).contains(*at))
                .count()
        };
        assert!(within(0) <= 10, "{rejected:?}");
        assert!((60..240).all(|from| within(from) <= 1), "{rejected:?}");
    }
}
