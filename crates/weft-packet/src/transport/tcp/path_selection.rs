//! Consequences of a path monitor: the subflows that carry data, joins, and reinjections.

use weft_paths::{Opn, PathMonitorConfig, PathPolicy, SubflowDirection};

use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::path_monitor::{PathMonitor, PathMonitors, Selection};
use super::subflow::{BlockReasons, SubflowSender};
use super::timers::{TcpTimer, timer_key};

impl TcpEndpoint {
    /// Starts the path monitor of a connection that opens, if its policy has one: its first subflow
    /// takes a fast path, if there is one, the others take the paths after it.
    pub(super) fn start_path_monitor(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &self.connections[index as usize];
        let mode = self.shared.transports[connection.transport as usize].mode();
        let Some(config) = &mode.monitor().map(Opn::path_monitor) else {
            return;
        };
        let (flow, transport, n) = (
            connection.flow,
            connection.transport,
            connection.windows().len() as u32,
        );
        let subflows = &mut self.subflows[connection.first_subflow as usize..][..n as usize];
        let Some(paths) = subflows[0].path.paths() else {
            return;
        };
        if paths.count == 1 {
            return;
        }
        let mut monitor = PathMonitor::new(config);
        let observations = &mut self.path_monitors.shared;
        monitor.advance_to(cx.now, config, observations, transport);
        let policy = &self.shared.transports[transport as usize].paths;
        let id = self.shared.flow(flow).id;
        let first = SubflowDirection {
            flow: id,
            subflow: 0,
            subflows: n,
            reverse: false,
        };
        let mut is_slow = |switches: &u64| {
            let number = policy.nth_path(paths, self.shared.seed, first, *switches);
            monitor.is_slow((paths.count, number), observations, transport)
        };
        let switches = (0..paths.count).find(|switches| !is_slow(switches)).unwrap_or(0);
        for subflow in &mut *subflows {
            subflow.path.switch_to(switches);
        }
        monitor.set_subflows(subflows, self.shared.seed, id, paths);
        self.path_monitors.of_connections.insert(index, monitor);
        self.select_subflows(index, config, cx);
    }

    /// Handles the timer of a connection's path monitor.
    pub(super) fn on_path_monitor_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &self.connections[index as usize];
        let monitor = self.path_monitors.of_connections.get(&index);
        let due = monitor.is_some_and(|monitor| monitor.is_due(cx.now));
        let transport = &self.shared.transports[connection.transport as usize];
        let Some(monitor) = transport.mode().monitor().filter(|_| due) else {
            return;
        };
        let config = monitor.path_monitor();
        self.select_subflows(index, &config, cx);
        let first = self.connections[index as usize].first_subflow;
        self.transmit_pending(index, first, cx);
    }

    /// Determines which paths are slow, and selects the subflows that carry data until the next
    /// check.
    fn select_subflows(&mut self, index: u32, config: &PathMonitorConfig, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        let PathMonitors {
            of_connections: monitors,
            shared: stats,
        } = &mut self.path_monitors;
        let Some(monitor) = monitors.get_mut(&index) else {
            return;
        };
        let next = monitor.schedule_check(config, cx.now);
        cx.set_timer(next, timer_key(TcpTimer::PathMonitor, index));
        let (first, number) = (connection.first_subflow, connection.transport);
        let transport = &self.shared.transports[number as usize];
        let tcp = self.shared.tcp(number);
        let subflows = &mut self.subflows[first as usize..][..connection.windows().len()];
        monitor.add_counters(subflows, stats, number);
        if let Some(arrived) = monitor.arrived(connection.data.una(), subflows) {
            connection.cancel_reinjections(arrived);
        }
        monitor.classify(subflows, config, &tcp.profile, stats, number, cx.now);
        let max = |loss| {
            let policy = transport.mode().monitor();
            policy.map_or(u32::MAX, |policy| policy.max_subflows(loss))
        };
        let selection = monitor.select(max, stats, number);
        let joins = connection.apply_selection(&selection, monitor, subflows);
        for s in joins {
            self.send_syn(first + s, cx);
        }
    }

    /// Stops the path monitor of a connection that finishes, if it has one.
    pub(super) fn stop_path_monitor(&mut self, index: u32) {
        let connection = &self.connections[index as usize];
        if let Some(mut monitor) = self.path_monitors.of_connections.remove(&index) {
            let subflows = &self.subflows[connection.first_subflow as usize..][..connection.windows().len()];
            monitor.add_counters(subflows, &mut self.path_monitors.shared, connection.transport);
        }
    }
}

impl ConnectionSender {
    /// Uses the subflows of a selection, and also all others that can be used until one of those
    /// has joined or is released. Data that is outstanding on slow paths, or queued on a subflow
    /// that is not used, goes to other subflows. Returns the subflows that have to join.
    fn apply_selection(
        &mut self,
        selection: &Selection,
        monitor: &mut PathMonitor,
        subflows: &mut [SubflowSender],
    ) -> Vec<u32> {
        let usable = self.usable_subflows();
        let any_usable = selection.wanted.intersects(usable);
        let used = if any_usable {
            selection.wanted
        } else {
            selection.wanted.or(usable)
        };
        let mut joins = Vec::new();
        for (position, s) in monitor.order().into_iter().enumerate() {
            let subflow = &mut subflows[s as usize];
            if used.contains(s) {
                let was_blocked = subflow.gate.unblock(BlockReasons::NOT_SELECTED);
                self.rotation.check_all_if(was_blocked);
                if subflow.state.is_closed() && self.joins.started().is_some() {
                    joins.push(s);
                }
                continue;
            }
            subflow.gate.block(BlockReasons::NOT_SELECTED);
            let reinjects = selection.any_fast && any_usable && selection.slow.contains(s);
            let outstanding = reinjects
                .then(|| monitor.take_outstanding(position, subflow, self.data.una()))
                .flatten();
            match outstanding {
                Some(chunks) => self.reinject_from(s, &chunks),
                // Chunks that are queued on the subflow would wait for it.
                None if self.queued(s as usize) > 0 => self.reinject_from(s, &[]),
                None => {}
            }
        }
        if let Some(queues) = &mut self.send_queues {
            queues.invalidate_all();
        }
        joins
    }

    /// Queues what subflow `s` has `sent`, and what is queued on it, for other subflows.
    fn reinject_from(&mut self, s: u32, sent: &[u32]) {
        if self.uses_send_queues() {
            self.requeue(s, sent);
        } else {
            self.queue_reinjection(s, sent.iter().copied());
        }
        self.rotation.set_checks_all(true);
    }
}
