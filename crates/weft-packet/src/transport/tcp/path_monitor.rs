//! Monitoring of the paths of a connection (OPN): no new data is sent on slow paths, and data
//! outstanding on them is also sent on fast ones.
//!
//! Acknowledgements cause no additional work: a timer of each connection checks what they have
//! changed.

use std::collections::{HashMap, HashSet};

use weft_cc::Window;
use weft_paths::{PathMonitorConfig, PathPolicy, Paths, SubflowDirection, draw};
use weft_spec::Profile;

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{Host, TimerKind, timer_key};
use super::reinjections::ReinjectionTracker;
use super::subflow::{BlockReasons, State, SubflowSender};

/// A path: the number of paths to the other host, and the path's number. Among equal numbers of
/// paths, equal path numbers begin alike.
type Path = (u64, u64);

/// Observations of paths and losses, by one connection or by all connections of a host that use one
/// transport.
#[derive(Default)]
pub struct PathStats {
    slow: HashSet<Path>,
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
    /// Time of the last check that found new acknowledgements.
    last_ack_at: u64,
    /// Data sent before this byte was reinjected on other subflows.
    reinjected_to: u64,
}

impl MonitoredSubflow {
    /// Returns true if outstanding data has not been acknowledged for too long. A receiver that
    /// acknowledges every other segment need not acknowledge the first one, and may delay the
    /// acknowledgement of a single one (RFC 8985, section 7.2, allows for the same).
    fn is_silent(
        &mut self,
        subflow: &SubflowSender,
        config: &PathMonitorConfig,
        profile: &Profile,
        now: u64,
    ) -> bool {
        let sacked = subflow.segments.sacked();
        if subflow.una != self.una || subflow.dupacks > self.dupacks || sacked != self.sacked {
            self.last_ack_at = now;
        }
        (self.una, self.dupacks, self.sacked) = (subflow.una, subflow.dupacks, sacked);
        if subflow.segments.is_empty() || subflow.state == State::Closed {
            return false;
        }
        let delayed = || subflow.segments.head_sent_at() + profile.delayed_ack_timeout.0;
        let owed = subflow.segments.first_sent_at(profile.ack_every);
        let since = self.last_ack_at.max(owed.unwrap_or_else(delayed));
        let rtts = (config.timeout_rtts * subflow.rtt.srtt() as f64) as u64;
        now >= since.saturating_add(config.timeout.0.max(rtts))
    }
}

/// Returns the bytes of the path monitor of a connection with `subflows` subflows.
pub fn bytes(subflows: u32) -> usize {
    size_of::<PathMonitor>() + subflows as usize * size_of::<MonitoredSubflow>()
}

impl PathMonitor {
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
    fn add_counters(
        &mut self,
        subflows: &[SubflowSender],
        hosts: &mut HashMap<u32, PathStats>,
        transport: u32,
    ) {
        let counted = subflows.iter().fold((0, 0), |(sent, lost), subflow| {
            (
                sent + subflow.stats.packets_sent,
                lost + subflow.stats.retransmitted,
            )
        });
        let before = std::mem::replace(&mut self.counted, counted);
        let (_, stats) = self.stats(hosts, transport);
        stats.sent += counted.0 - before.0;
        stats.lost += counted.1 - before.1;
    }
}

impl Host {
    /// Starts the path monitor of a connection that opens: its first subflow takes a fast path, if
    /// there is one, the others take the paths after it.
    #[cold]
    pub(super) fn start_path_monitor(
        &mut self,
        index: u32,
        config: &PathMonitorConfig,
        cx: &mut Context<'_>,
    ) {
        let connection = &mut self.connections[index as usize];
        let (flow, transport, n) = (
            connection.flow,
            connection.transport,
            connection.windows.len() as u32,
        );
        let subflows = &mut self.subflows[connection.first_subflow as usize..][..n as usize];
        let Some(paths) = subflows[0]
            .path_selector
            .as_ref()
            .map(|selector| selector.paths())
        else {
            return;
        };
        if paths.count == 1 {
            return;
        }
        let mut monitor = Box::new(PathMonitor {
            next_check: 0,
            subflows: Box::default(),
            counted: (0, 0),
            private_stats: (!config.per_host).then(PathStats::default),
            reinjections: ReinjectionTracker::default(),
        });
        let (_, stats) = monitor.stats(&mut self.path_stats, transport);
        stats.advance_to(config, cx.now);
        let policy = &self.shared.transports[transport as usize].paths;
        let id = self.shared.flow(flow).id;
        let first = SubflowDirection {
            flow: id,
            subflow: 0,
            subflows: n,
            reverse: false,
        };
        let slow = |switches: &u64| {
            let number = policy.nth_path(paths, self.shared.seed, first, *switches);
            stats.slow.contains(&(paths.count, number))
        };
        let switches = (0..paths.count).find(|switches| !slow(switches)).unwrap_or(0);
        for subflow in &mut *subflows {
            if let Some(selector) = &mut subflow.path_selector {
                subflow.route = selector.switch_to(switches).unwrap_or(subflow.route);
            }
        }
        monitor.subflows = in_drawn_order(subflows, self.shared.seed, id, paths, cx.now);
        connection.path_monitor = Some(monitor);
        self.select_subflows(index, config, cx);
    }

    /// Handles the timer of a connection's path monitor.
    pub(super) fn on_path_monitor_timer(&mut self, index: u32, cx: &mut Context<'_>) {
        let connection = &mut self.connections[index as usize];
        let due = connection
            .path_monitor
            .as_ref()
            .is_some_and(|monitor| monitor.next_check == cx.now);
        let transport = &self.shared.transports[connection.transport as usize];
        let Some(config) = transport.paths.path_monitor().filter(|_| due) else {
            return;
        };
        self.select_subflows(index, &config, cx);
        let first = self.connections[index as usize].first_subflow;
        self.transmit_pending(index, first, cx);
    }

    /// Determines which paths are slow, and selects the subflows that carry data until the next
    /// check.
    fn select_subflows(&mut self, index: u32, config: &PathMonitorConfig, cx: &mut Context<'_>) {
        let connection = &mut self.connections[index as usize];
        let Some(mut monitor) = connection.path_monitor.take() else {
            return;
        };
        monitor.next_check = cx.now + config.timeout.0;
        cx.set_timer(monitor.next_check, timer_key(TimerKind::PathMonitor, index));
        let (first, transport) = (connection.first_subflow, connection.transport);
        let subflows = &mut self.subflows[first as usize..][..connection.windows.len()];
        monitor.add_counters(subflows, &mut self.path_stats, transport);
        let mut reinjections = std::mem::take(&mut monitor.reinjections);
        if let Some(arrived) = reinjections.update(connection.una, subflows) {
            connection.cancel_reinjections(arrived);
        }
        let (monitored, stats) = monitor.stats(&mut self.path_stats, transport);
        stats.advance_to(config, cx.now);
        let profile = &self.shared.transports[transport as usize].profile;
        let silent: Vec<Path> = monitored
            .iter_mut()
            .filter_map(|entry| {
                let subflow = &subflows[entry.index as usize];
                entry
                    .is_silent(subflow, config, profile, cx.now)
                    .then_some(entry.path)
            })
            .collect();
        stats.slow.extend(&silent);
        if monitored.iter().all(|entry| stats.slow.contains(&entry.path)) {
            // A path that answers now is better than one that does not, whatever its earlier state.
            for entry in &*monitored {
                stats.slow.remove(&entry.path);
            }
            stats.slow.extend(&silent);
        }
        let is_slow = |entry: &MonitoredSubflow| stats.slow.contains(&entry.path);
        let any_fast = !monitored.iter().all(is_slow);
        let max = self.shared.transports[transport as usize]
            .paths
            .max_subflows(stats.loss);
        let fast = monitored.iter().filter(|entry| !any_fast || !is_slow(entry));
        let mut wanted = fast
            .take(max.max(1) as usize)
            .fold(0_u64, |all, entry| all | 1 << entry.index);
        // Linux's scheduler assigns data to suppressed subflows if all subflows are suppressed.
        let uses = |w: &Window| w.established && (w.active || connection.uses_send_queues());
        let usable = (0..).zip(&connection.windows).filter(|(_, w)| uses(w));
        let usable = usable.fold(0_u64, |all, (s, _)| all | 1 << s);
        let answer = wanted & usable != 0;
        if !answer {
            // Until one of the wanted subflows has joined or is released.
            wanted |= usable;
        }
        let mut joins = Vec::new();
        for entry in monitored.iter_mut() {
            let subflow = &mut subflows[entry.index as usize];
            if wanted >> entry.index & 1 == 1 {
                connection.check_all_subflows |= subflow.blocked.contains_any(BlockReasons::NOT_SELECTED);
                subflow.blocked.remove(BlockReasons::NOT_SELECTED);
                if subflow.state == State::Closed && connection.joined != u64::MAX {
                    joins.push(first + entry.index);
                }
                continue;
            }
            subflow.blocked.insert(BlockReasons::NOT_SELECTED);
            if any_fast && answer && entry.reinjected_to < subflow.nxt && stats.slow.contains(&entry.path) {
                connection.reinject_from(
                    entry.index,
                    &reinjections.track(subflow, entry.reinjected_to, connection.una),
                );
                entry.reinjected_to = subflow.nxt;
            } else if connection.queued(entry.index as usize) > 0 {
                // Chunks that are queued on the subflow would wait for it.
                connection.reinject_from(entry.index, &[]);
            }
        }
        monitor.reinjections = reinjections;
        connection.path_monitor = Some(monitor);
        if let Some(queues) = &mut connection.send_queues {
            queues.invalidate_keys();
        }
        for slot in joins {
            self.send_syn(slot, cx);
        }
    }

    /// Stops the path monitor of a connection that finishes.
    #[cold]
    pub(super) fn stop_path_monitor(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        if let Some(mut monitor) = connection.path_monitor.take() {
            let subflows = &self.subflows[connection.first_subflow as usize..][..connection.windows.len()];
            monitor.add_counters(subflows, &mut self.path_stats, connection.transport);
        }
    }
}

impl ConnectionSender {
    /// Queues what subflow `s` has `sent`, and what is queued on it, for other subflows.
    fn reinject_from(&mut self, s: u32, sent: &[u32]) {
        if self.uses_send_queues() {
            self.requeue(s, sent);
        } else {
            self.queue_reinjection(s, sent.iter().copied());
        }
        self.check_all_subflows = true;
    }
}

/// Returns the subflows of a connection that opens: the first one, which opens it, and the others
/// in random order.
fn in_drawn_order(
    subflows: &[SubflowSender],
    seed: u64,
    id: u64,
    paths: Paths,
    now: u64,
) -> Box<[MonitoredSubflow]> {
    let path = |subflow: &SubflowSender| {
        subflow
            .path_selector
            .as_ref()
            .map_or(0, |selector| selector.path_number())
    };
    let mut monitored: Box<[MonitoredSubflow]> = subflows
        .iter()
        .map(|subflow| MonitoredSubflow {
            index: subflow.index,
            path: (paths.count, path(subflow)),
            una: 0,
            dupacks: 0,
            sacked: 0,
            last_ack_at: now,
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
