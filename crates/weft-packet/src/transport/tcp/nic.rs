//! Back pressure of a host's network card: while a port holds more than a limit, subflows that want
//! to send wait in a queue, and nothing is marked or dropped.
//!
//! In Linux, TCP small queues limit a socket's packets below TCP, byte queue limits limit those of
//! the card, and fq serves waiting sockets in turn. Here the limit of the card stands for both
//! limits. A waiting packet has not been sent yet, so no RTT sample contains the wait. Packets
//! without data are not held back.

use std::collections::VecDeque;

use crate::config::NicConfig;
use crate::engine::Context;
use crate::engine::route::Route;

use super::connection::ConnectionSender;
use super::gate::BlockReasons;
use super::subflow::SubflowSender;
use super::timer_keys::{TcpTimer, timer_key};

/// Packets that a subflow sends at a time (fq's quantum).
const QUANTUM: u32 = 2;

/// The subflows of a host that wait for its ports.
pub struct HostQdisc {
    nic: Option<NicConfig>,
    /// True if any subflow may be paced.
    paces: bool,
    /// True if data is sent in bursts.
    tso: bool,
    /// True if any of the three can hold packets back.
    enabled: bool,
    /// Wait queues by port.
    ports: Vec<PortWaitQueue>,
}

/// The subflows that wait for one port.
#[derive(Default)]
struct PortWaitQueue {
    waiting: VecDeque<u32>,
    /// True if a timer is set or the queue is being served.
    wake_pending: bool,
    /// The subflow that is being served, and the number of packets that it may still send.
    current: Option<(u32, u32)>,
}

impl HostQdisc {
    /// Creates a qdisc without waiting subflows.
    pub fn new(nic: Option<NicConfig>, tso: bool, paces: bool) -> Self {
        Self {
            nic,
            paces,
            tso,
            enabled: paces || tso || nic.is_some(),
            ports: Vec::new(),
        }
    }

    /// Returns true if `subflow`, in slot `slot`, may hand a packet to its port now. Otherwise the
    /// subflow waits and is served when it may.
    #[inline(always)]
    pub fn admit(
        &mut self,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        slot: u32,
        cx: &mut Context<'_>,
    ) -> bool {
        if !self.enabled {
            true
        } else if self.tso || self.paces {
            self.admit_burst(connection, subflow, slot, cx)
        } else {
            self.nic.is_none_or(|nic| self.bql_allows(nic, subflow, slot, cx))
        }
    }

    /// Returns the answer of [`admit`](Self::admit) if data is paced or sent in bursts.
    fn admit_burst(
        &mut self,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        slot: u32,
        cx: &mut Context<'_>,
    ) -> bool {
        if subflow.gate.take_from_burst() {
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
            return true;
        }
        let burst = if self.tso {
            connection.burst(subflow, cx.now)
        } else {
            Some(1)
        };
        let Some(burst) = burst else {
            subflow.gate.block(BlockReasons::TSO_DEFERRED);
            return false;
        };
        if self.paces && !subflow.pacing_allows(slot, cx) {
            return false;
        }
        let passes = self.nic.is_none_or(|nic| self.bql_allows(nic, subflow, slot, cx));
        if passes {
            subflow.gate.start_burst(burst - 1);
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
        }
        passes
    }

    /// Handles an acknowledgement of `subflow`.
    #[inline(always)]
    pub fn on_ack(&self, subflow: &mut SubflowSender) {
        if self.tso {
            subflow.gate.on_ack();
        }
    }

    /// Returns true if the port of `subflow` accepts a packet now. Otherwise the subflow waits.
    #[inline(always)]
    #[allow(
        clippy::collapsible_match,
        reason = "a subflow that has sent what it may waits even if no other one does"
    )]
    fn bql_allows(
        &mut self,
        nic: NicConfig,
        subflow: &mut SubflowSender,
        slot: u32,
        cx: &mut Context<'_>,
    ) -> bool {
        if subflow.gate.is_blocked_by(BlockReasons::THROTTLED) {
            return false;
        }
        let route = subflow.path.route();
        let port = cx.port_of(route);
        if self.ports.len() <= port as usize {
            self.add_ports(port);
        }
        let queue = &mut self.ports[port as usize];
        if cx.drain_time(route, nic.bql_limit) <= cx.now {
            match &mut queue.current {
                Some((served, left)) if *served == slot => {
                    if *left > 0 {
                        *left -= 1;
                        return true;
                    }
                }
                _ if queue.waiting.is_empty() => return true,
                _ => {}
            }
        }
        self.wait(nic, subflow, slot, cx);
        false
    }

    /// Adds the wait queues of the ports up to `port`.
    #[cold]
    fn add_ports(&mut self, port: u32) {
        self.ports.resize_with(port as usize + 1, PortWaitQueue::default);
    }

    /// Lets a subflow wait for its port, because the port is full, other subflows wait, or the subflow has
    /// sent its share.
    #[inline(never)]
    fn wait(&mut self, nic: NicConfig, subflow: &mut SubflowSender, slot: u32, cx: &mut Context<'_>) {
        let route = subflow.path.route();
        let port = cx.port_of(route);
        let queue = &mut self.ports[port as usize];
        let is_served = queue.current.is_some_and(|(served, _)| served == slot);
        if is_served && !nic.fair {
            queue.waiting.push_front(slot);
        } else {
            queue.waiting.push_back(slot);
        }
        subflow.gate.block(BlockReasons::THROTTLED);
        if !queue.wake_pending {
            queue.wake_pending = true;
            // The timer fires when half of the limit is free, not for each packet, because a card
            // reports completions together.
            let half = cx.drain_time(route, nic.bql_limit / 2);
            cx.set_timer(half, timer_key(TcpTimer::NicReady, port));
        }
    }
}

impl HostQdisc {
    /// Removes the next subflow that waits for port `port` and may send, and begins to serve it. If
    /// the port is full, a timer is set for when it is half empty. `route_of` returns the route of
    /// the subflow in a slot.
    pub fn next_served(
        &mut self,
        port: u32,
        route_of: impl Fn(u32) -> Route,
        cx: &mut Context<'_>,
    ) -> Option<u32> {
        let nic = self.nic?;
        let queue = &mut self.ports[port as usize];
        queue.current = None;
        let Some(&slot) = queue.waiting.front() else {
            queue.wake_pending = false;
            return None;
        };
        let route = route_of(slot);
        if cx.drain_time(route, nic.bql_limit) > cx.now {
            let half = cx.drain_time(route, nic.bql_limit / 2);
            cx.set_timer(half, timer_key(TcpTimer::NicReady, port));
            return None;
        }
        queue.waiting.pop_front();
        queue.current = Some((slot, if nic.fair { QUANTUM } else { u32::MAX }));
        Some(slot)
    }
}
