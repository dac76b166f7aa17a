//! Namespaces in which the kernel has switched MPTCP off because it took a path for a blackhole.

use tracing::{debug, info, warn};

use super::{Daemon, SECOND, next_poll_time, now, settings};
use weft_kernel::path_manager::MptcpCounters;

/// The detections in a namespace, as last read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blackholes {
    /// The counters of the kernel, which are older than the daemon.
    last: MptcpCounters,
    /// Detections since the namespace is served.
    pub detected: u64,
    /// Connections without MPTCP since the namespace is served.
    pub plain_connections: u64,
    /// Time of the next log line about connections without MPTCP.
    next_report: u64,
    /// Time at which MPTCP is switched on again.
    reset_at: Option<u64>,
}

/// The change of the counters since they were last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    blackholes: u64,
    plain_connections: u64,
}

impl Blackholes {
    /// Starts with the counters at the time when the namespace is opened.
    pub fn new(last: MptcpCounters) -> Self {
        Self {
            last,
            ..Self::default()
        }
    }

    fn update(&mut self, now: MptcpCounters) -> Change {
        let change = Change {
            blackholes: now.blackholes.saturating_sub(self.last.blackholes),
            plain_connections: now.plain_connections.saturating_sub(self.last.plain_connections),
        };
        self.last = now;
        self.detected += change.blackholes;
        self.plain_connections += change.plain_connections;
        change
    }
}

impl Daemon {
    /// Reads the kernel's counters of all namespaces and switches MPTCP on again where that is configured and due.
    pub(super) fn check_blackholes(&mut self) {
        let began = now();
        for namespace in 0..self.namespaces.len() {
            self.check_blackholes_of(namespace, began);
        }
        self.next_counters = next_poll_time(began, SECOND);
    }

    fn check_blackholes_of(&mut self, namespace: usize, now: u64) {
        let Some(served) = self.namespaces.get_mut(namespace) else {
            return;
        };
        let Some((counters, blackholes)) = served.counters() else {
            return;
        };
        let change = match counters.read() {
            Ok(counters) => blackholes.update(counters),
            Err(error) => return debug!(%error, "cannot read counters"),
        };
        let name = served.name().to_string();
        let Some((_, blackholes)) = served.counters() else {
            return;
        };
        self.metrics
            .count_blackholes(&name, change.blackholes, change.plain_connections);
        if change.blackholes > 0 {
            warn!(
                namespace = %name,
                "MPTCP: switched off by the kernel for new connections, because a SYN with MPTCP was lost and one without it was \
                 answered; find the device that drops it, then {RESET}"
            );
        }
        if change.plain_connections > 0 && now >= blackholes.next_report {
            blackholes.next_report = now + REPORT_INTERVAL;
            let count = blackholes.plain_connections;
            warn!(namespace = %name, count, "connections: opened without MPTCP, which the kernel has switched off; {RESET}");
        }
        if change.blackholes > 0 || change.plain_connections > 0 {
            let reset_at = self.blackhole_reset.map(|after| now.saturating_add(after));
            blackholes.reset_at = blackholes.reset_at.or(reset_at);
        }
        if blackholes.reset_at.is_none_or(|at| at > now) {
            return;
        }
        blackholes.reset_at = None;
        // The kernel forgets detections when the setting is written (`proc_blackhole_detect_timeout`).
        match settings::rewrite(&served.namespace, TIMEOUT) {
            Ok(_) => {
                info!(namespace = %name, "MPTCP is switched on again");
                self.metrics.count_mptcp_reset(&name);
            }
            Err(error) => warn!(namespace = %name, %error, "MPTCP stays switched off"),
        }
    }
}

/// Setting of the time for which the kernel switches MPTCP off.
pub const TIMEOUT: &str = "net.mptcp.blackhole_timeout";
/// Advice that names the command which switches MPTCP on again.
pub const RESET: &str = "sysctl -w net.mptcp.blackhole_timeout=3600 switches MPTCP on again";
/// Time between two log lines about connections without MPTCP.
const REPORT_INTERVAL: u64 = 60 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happens_after_the_start_counts() {
        let counters = |blackholes, plain_connections| MptcpCounters {
            blackholes,
            plain_connections,
        };
        let mut blackholes = Blackholes::new(counters(3, 1000));
        let mut update = |now| {
            let change = blackholes.update(now);
            (change.blackholes, change.plain_connections)
        };
        assert_eq!(update(counters(3, 1000)), (0, 0));
        assert_eq!(update(counters(4, 1456)), (1, 456));
        // Another namespace has taken the name.
        assert_eq!(update(counters(0, 0)), (0, 0));
        assert_eq!(update(counters(1, 2)), (1, 2));
        assert_eq!((blackholes.detected, blackholes.plain_connections), (2, 458));
    }
}
