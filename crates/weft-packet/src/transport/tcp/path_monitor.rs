//! Monitoring of the paths of a connection (OPN): no new data is sent on slow paths, and data
//! outstanding on them is also sent on fast ones.
//!
//! Acknowledgements cause no additional work: a timer of each connection checks what they have
//! changed.

use std::collections::{HashMap, HashSet};

use weft_paths::{PathMonitorConfig, Paths, draw};
use weft_transports::Profile;

use super::subflow::{SubflowMask, SubflowSender};

/// A path: the number of paths to the other host, and the path's number. Among equal numbers of
/// paths, equal path numbers begin alike.
type Path = (u64, u64);

/// Observations of paths and losses, by one connection or by all connections of a host that use one
/// transport.
#[derive(Default)]
pub struct PathStats {
    slow: HashSet<Path>,
    /// Time of the last check that found new acknowledgements, of any connection.
    last_ack_at: HashMap<Path, u64>,
    /// Time at which `slow` was last cleared, in multiples of the configured reset interval.
    epoch: u64,
    /// Data packets of the current period, and retransmissions among them.
    sent: u64,
    lost: u64,
    /// Number of the period, in multiples of the configured loss interval.
    period: u64,
    /// Loss rate of the previous period.
    loss: f64,
}

impl PathStats {
    /// Advances to time `now`: clears old observations and starts new periods.
    fn advance_to(&mut self, config: &PathMonitorConfig, now: u64) {
        let epoch = now / config.reset_interval.0;
        if epoch != self.epoch {
            self.epoch = epoch;
            self.slow.clear();
        }
        let period = now / config.loss_interval.0;
        if period != self.period {
            let measured = period == self.period + 1 && self.sent > 0;
            self.loss = if measured {
                self.lost as f64 / self.sent as f64
            } else {
                0.0
            };
            (self.sent, self.lost, self.period) = (0, 0, period);
        }
    }

    /// Classifies the paths of a connection at time `now`. A path is slow if an acknowledgement has
    /// been owed for the timeout and none has come over the path from any connection. If all paths
    /// of a connection are slow, those with a recent acknowledgement count as fast again.
    fn classify(&mut self, observations: &[Observation], now: u64) {
        for observation in observations.iter().filter(|o| o.is_acknowledged) {
            self.last_ack_at.insert(observation.path, now);
        }
        let last_ack_at = &self.last_ack_at;
        let has_recent_ack = |o: &&Observation| {
            let at = last_ack_at.get(&o.path);
            at.is_some_and(|at| now < at.saturating_add(o.timeout))
        };
        let is_overdue = |o: &Observation| o.owed_since.is_some_and(|at| now >= at.saturating_add(o.timeout));
        let silent = observations
            .iter()
            .filter(|o| is_overdue(o) && !has_recent_ack(o));
        self.slow.extend(silent.map(|o| o.path));
        if observations.iter().all(|o| self.slow.contains(&o.path)) {
            for observation in observations.iter().filter(has_recent_ack) {
                self.slow.remove(&observation.path);
            }
        }
    }
}

/// A subflow at a check, and its path.
struct Observation {
    path: Path,
    /// True if the subflow received an acknowledgement since its last check.
    is_acknowledged: bool,
    /// Time since which an acknowledgement is owed; `None` if none is.
    owed_since: Option<u64>,
    /// Time without an acknowledgement after which the path is slow.
    timeout: u64,
}

/// The subflows that a check selects.
pub struct Selection {
    /// The subflows to use: the first ones, in the order of preference, on fast paths.
    pub wanted: SubflowMask,
    /// The subflows on slow paths.
    pub slow: SubflowMask,
    /// True if any path is fast.
    pub any_fast: bool,
}

/// The path monitors of the connections that a host sends.
#[derive(Default)]
pub struct PathMonitors {
    /// The monitor of each open connection, by the slot of the connection.
    pub of_connections: HashMap<u32, PathMonitor>,
    /// Observations that monitors share, by transport.
    pub shared: HashMap<u32, PathStats>,
}

/// The path monitor of a connection.
pub struct PathMonitor {
    /// Time of the next check.
    next_check: u64,
    /// The subflows in the order of preference.
    subflows: Box<[MonitoredSubflow]>,
    /// Data packets, and retransmissions among them, that have been counted.
    counted: (u64, u64),
    /// The connection's own observations, if they are not shared by the host.
    private_stats: Option<PathStats>,
    /// Chunks outstanding on slow paths that were reinjected.
    reinjections: ReinjectionTracker,
}

/// The state of a subflow at the last check.
struct MonitoredSubflow {
    index: u32,
    path: Path,
    una: u64,
    dupacks: u32,
    sacked: u32,
    /// Data sent before this byte was reinjected on other subflows.
    reinjected_to: u64,
}

impl MonitoredSubflow {
    /// Compares the subflow with its state at the last check. A receiver that acknowledges every
    /// other segment need not acknowledge the first one, and may delay the acknowledgement of a
    /// single one (as RFC 8985 allows for it).
    fn observe(
        &mut self,
        subflow: &SubflowSender,
        config: &PathMonitorConfig,
        profile: &Profile,
    ) -> Observation {
        let sacked = subflow.segments.sacked();
        let dupacks = subflow.reordering.dupacks();
        let is_acknowledged =
            subflow.seq.una() != self.una || dupacks > self.dupacks || sacked != self.sacked;
        (self.una, self.dupacks, self.sacked) = (subflow.seq.una(), dupacks, sacked);
        let is_outstanding = !subflow.segments.is_empty() && !subflow.state.is_closed();
        let delayed = || subflow.segments.head_sent_at() + profile.acks.delayed_ack_timeout.0;
        let owed = || subflow.segments.first_sent_at(profile.acks.ack_every);
        let rtts = (config.timeout_rtts * subflow.rtt.srtt() as f64) as u64;
        Observation {
            path: self.path,
            is_acknowledged,
            owed_since: is_outstanding.then(|| owed().unwrap_or_else(delayed)),
            timeout: config.timeout.0.max(rtts),
        }
    }
}

/// Returns the bytes of the path monitor of a connection with `subflows` subflows.
pub fn bytes(subflows: u32) -> usize {
    size_of::<PathMonitor>() + subflows as usize * size_of::<MonitoredSubflow>()
}

impl PathMonitor {
    /// Creates the monitor of a connection that opens. Its subflows are not known yet.
    pub fn new(config: &PathMonitorConfig) -> Self {
        Self {
            next_check: 0,
            subflows: Box::default(),
            counted: (0, 0),
            private_stats: (!config.per_host).then(PathStats::default),
            reinjections: ReinjectionTracker::default(),
        }
    }

    /// Sets the subflows of the connection, in a random order of preference after the first one.
    pub fn set_subflows(&mut self, subflows: &[SubflowSender], seed: u64, id: u64, paths: Paths) {
        self.subflows = in_drawn_order(subflows, seed, id, paths);
    }

    /// Returns true if a check is due at this time.
    pub fn is_due(&self, now: u64) -> bool {
        self.next_check == now
    }

    /// Sets the time of the next check and returns it.
    pub fn schedule_check(&mut self, config: &PathMonitorConfig, now: u64) -> u64 {
        self.next_check = now + config.timeout.0;
        self.next_check
    }

    /// Returns true if the path of this number among `count` is known to be slow at this time.
    pub fn is_slow(
        &mut self,
        (count, number): Path,
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
    ) -> bool {
        self.stats(hosts, transport).1.slow.contains(&(count, number))
    }

    /// Clears outdated observations.
    pub fn advance_to(
        &mut self,
        now: u64,
        config: &PathMonitorConfig,
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
    ) {
        self.stats(hosts, transport).1.advance_to(config, now);
    }

    /// Determines which paths are slow at this time.
    pub fn classify(
        &mut self,
        subflows: &[SubflowSender],
        config: &PathMonitorConfig,
        profile: &Profile,
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
        now: u64,
    ) {
        let (monitored, stats) = self.stats(hosts, transport);
        stats.advance_to(config, now);
        let observations: Vec<Observation> = monitored
            .iter_mut()
            .map(|entry| entry.observe(&subflows[entry.index as usize], config, profile))
            .collect();
        stats.classify(&observations, now);
    }

    /// Selects the subflows to use. `max` returns their maximum number at a loss rate.
    pub fn select(
        &mut self,
        max: impl FnOnce(f64) -> u32,
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
    ) -> Selection {
        let (monitored, stats) = self.stats(hosts, transport);
        let slow = monitored.iter().filter(|entry| stats.slow.contains(&entry.path));
        let slow: SubflowMask = slow.map(|entry| entry.index).collect();
        let any_fast = monitored.iter().any(|entry| !slow.contains(entry.index));
        let fast = monitored.iter().map(|entry| entry.index);
        let fast = fast.filter(|&s| !any_fast || !slow.contains(s));
        Selection {
            wanted: fast.take(max(stats.loss).max(1) as usize).collect(),
            slow,
            any_fast,
        }
    }

    /// Returns the numbers of the subflows, in the order of preference.
    pub fn order(&self) -> Vec<u32> {
        self.subflows.iter().map(|entry| entry.index).collect()
    }

    /// Determines which reinjected chunks have arrived since the last call; see
    /// [`ReinjectionTracker::update`].
    pub fn arrived(&mut self, una: u32, subflows: &[SubflowSender]) -> Option<&[u32]> {
        self.reinjections.update(una, subflows)
    }

    /// Returns the chunks outstanding on the subflow at `position` in the order of preference that
    /// are to be reinjected on others; `None` if all were before.
    pub fn take_outstanding(
        &mut self,
        position: usize,
        subflow: &SubflowSender,
        una: u32,
    ) -> Option<Vec<u32>> {
        let entry = &mut self.subflows[position];
        if entry.reinjected_to >= subflow.seq.nxt() {
            return None;
        }
        let chunks = self.reinjections.track(subflow, entry.reinjected_to, una);
        entry.reinjected_to = subflow.seq.nxt();
        Some(chunks)
    }

    fn stats<'a>(
        &'a mut self,
        hosts: &'a mut HashMap<u32, PathStats>,
        transport: u32,
    ) -> (&'a mut [MonitoredSubflow], &'a mut PathStats) {
        let stats = match &mut self.private_stats {
            Some(own) => own,
            None => hosts.entry(transport).or_default(),
        };
        (&mut self.subflows, stats)
    }

    /// Adds the packets and retransmissions since the last call to the observations.
    pub fn add_counters(
        &mut self,
        subflows: &[SubflowSender],
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
    ) {
        let counted = subflows.iter().fold((0, 0), |(sent, lost), subflow| {
            (
                sent + subflow.stats().packets_sent,
                lost + subflow.stats().retransmitted,
            )
        });
        let before = std::mem::replace(&mut self.counted, counted);
        let (_, stats) = self.stats(hosts, transport);
        stats.sent += counted.0 - before.0;
        stats.lost += counted.1 - before.1;
    }
}

/// Returns the subflows of a connection that opens: the first one, which opens it, and the others
/// in random order.
fn in_drawn_order(subflows: &[SubflowSender], seed: u64, id: u64, paths: Paths) -> Box<[MonitoredSubflow]> {
    let path = |subflow: &SubflowSender| subflow.path.number().unwrap_or(0);
    let mut monitored: Box<[MonitoredSubflow]> = subflows
        .iter()
        .map(|subflow| MonitoredSubflow {
            index: subflow.index(),
            path: (paths.count, path(subflow)),
            una: 0,
            dupacks: 0,
            sacked: 0,
            reinjected_to: 0,
        })
        .collect();
    monitored[1..].sort_unstable_by_key(|entry| {
        draw(&[seed, id.rotate_left(32) ^ u64::from(entry.index), ORDER_DOMAIN])
    });
    monitored
}

/// Domain of these random draws, which differ from others for the same subflow.
const ORDER_DOMAIN: u64 = 0x6F72_6465;

/// The reinjected chunks of a connection.
#[derive(Default)]
pub struct ReinjectionTracker {
    /// The subflow on which a chunk was outstanding when it was reinjected on others, and the
    /// chunk.
    outstanding: Vec<(u32, u32)>,
    /// Chunks that an acknowledgement of a subflow has covered since they were reinjected, sorted.
    arrived: Vec<u32>,
}

impl ReinjectionTracker {
    /// Determines which chunks have arrived since the last call. If there are any, returns the
    /// chunks from `una` on that have arrived and need no reinjection, sorted; chunks before `una`
    /// never need one.
    pub fn update(&mut self, una: u32, subflows: &[SubflowSender]) -> Option<&[u32]> {
        let before = self.outstanding.len();
        self.outstanding.retain(|&(_, chunk)| chunk >= una);
        self.arrived.retain(|&chunk| chunk >= una);
        for (s, subflow) in (0..).zip(subflows) {
            if !self.outstanding.iter().any(|&(of, _)| of == s) {
                continue;
            }
            let mut still: Vec<u32> = subflow.segments.unsacked_chunks().collect();
            still.sort_unstable();
            let arrived = &mut self.arrived;
            self.outstanding.retain(|&(of, chunk)| {
                let stays = of != s || still.binary_search(&chunk).is_ok();
                if !stays {
                    arrived.push(chunk);
                }
                stays
            });
        }
        self.arrived.sort_unstable();
        self.arrived.dedup();
        (self.outstanding.len() < before).then_some(&*self.arrived)
    }

    /// Returns the chunks that `subflow` has sent from byte `from` on, which are outstanding and
    /// not known to have arrived, and tracks them as reinjected.
    pub fn track(&mut self, subflow: &SubflowSender, from: u64, una: u32) -> Vec<u32> {
        let sent = subflow
            .segments
            .unsacked_chunks_from(from.max(subflow.seq.una()) as u32);
        let arrived = &self.arrived;
        let copied: Vec<u32> = sent
            .filter(|chunk| *chunk >= una && arrived.binary_search(chunk).is_err())
            .collect();
        let outstanding = copied.iter().map(|&chunk| (subflow.index(), chunk));
        self.outstanding.extend(outstanding);
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: u64 = 200;
    const FIRST: Path = (20, 0);
    const SECOND: Path = (20, 1);

    fn acknowledged(path: Path) -> Observation {
        Observation {
            is_acknowledged: true,
            ..idle(path)
        }
    }

    fn owed(path: Path, since: u64) -> Observation {
        Observation {
            owed_since: Some(since),
            ..idle(path)
        }
    }

    fn idle(path: Path) -> Observation {
        Observation {
            path,
            is_acknowledged: false,
            owed_since: None,
            timeout: DELTA,
        }
    }

    fn slow(stats: &PathStats) -> Vec<Path> {
        let mut paths: Vec<Path> = stats.slow.iter().copied().collect();
        paths.sort_unstable();
        paths
    }

    /// Algorithm 1, line 3: "if none ACKs are received on `p_i`".
    #[test]
    fn a_path_is_slow_if_no_acks_are_received_on_it() {
        let mut stats = PathStats::default();
        stats.classify(&[owed(FIRST, 1_000), acknowledged(SECOND)], 1_000 + DELTA - 1);
        assert_eq!(slow(&stats), []);
        stats.classify(&[owed(FIRST, 1_000), acknowledged(SECOND)], 1_000 + DELTA);
        assert_eq!(slow(&stats), [FIRST]);
    }

    /// "If the sender has not received any ACK packets on a path": those of another connection count.
    #[test]
    fn a_silent_subflow_makes_no_path_slow_on_which_others_receive_acks() {
        let mut stats = PathStats::default();
        stats.classify(&[acknowledged(FIRST), acknowledged(SECOND)], 1_100);
        stats.classify(&[owed(FIRST, 1_000), acknowledged(SECOND)], 1_100 + DELTA - 1);
        assert_eq!(slow(&stats), []);
        // The other connection receives no more, so that none is received on the path.
        stats.classify(&[owed(FIRST, 1_000), acknowledged(SECOND)], 1_100 + DELTA);
        assert_eq!(slow(&stats), [FIRST]);
    }

    /// Two subflows of one connection may share a path.
    #[test]
    fn subflows_of_a_connection_answer_for_each_other() {
        let mut stats = PathStats::default();
        stats.classify(&[owed(FIRST, 0), acknowledged(FIRST)], 10 * DELTA);
        assert_eq!(slow(&stats), []);
    }

    /// Algorithm 1, lines 9 to 11: only `timer_2` sets a path to FAST, an acknowledgement does not.
    #[test]
    fn a_slow_path_stays_slow_while_another_is_fast() {
        let mut stats = PathStats::default();
        stats.classify(&[owed(FIRST, 0), acknowledged(SECOND)], DELTA);
        stats.classify(&[acknowledged(FIRST), acknowledged(SECOND)], 2 * DELTA);
        assert_eq!(slow(&stats), [FIRST]);
    }

    /// The paper does not say what happens if all paths are slow. A connection that has just opened has no
    /// evidence for any of them.
    #[test]
    fn a_connection_without_acks_clears_nothing() {
        let mut stats = PathStats::default();
        stats.classify(&[owed(FIRST, 0), owed(SECOND, 0)], DELTA);
        stats.classify(&[idle(FIRST), idle(SECOND)], DELTA + 1);
        stats.classify(&[owed(FIRST, DELTA), idle(SECOND)], DELTA + 1);
        assert_eq!(slow(&stats), [FIRST, SECOND]);
    }

    #[test]
    fn paths_with_acks_count_as_fast_again_if_all_are_slow() {
        let mut stats = PathStats::default();
        stats.classify(&[owed(FIRST, 0), owed(SECOND, 0)], DELTA);
        stats.classify(&[owed(FIRST, 0), acknowledged(SECOND)], 2 * DELTA);
        assert_eq!(slow(&stats), [FIRST]);
        // Also those on which another connection has just received one.
        stats.classify(&[owed(FIRST, 0), owed(SECOND, 0)], 3 * DELTA);
        stats.classify(&[acknowledged(SECOND)], 3 * DELTA + 1);
        stats.classify(&[idle(FIRST), idle(SECOND)], 3 * DELTA + 2);
        assert_eq!(slow(&stats), [FIRST]);
    }
}
