//! Suppression and release: turns requests of the congestion control algorithm into commands to the kernel.
//!
//! An algorithm takes subflows out of use in one of two ways:
//!
//! - AMP and DCM suppress all subflows of a connection but one, and release them together. [`Hysteresis`]
//!   delays a release: [`on_request`](Connections::on_request), then [`apply_requests`](Connections::apply_requests).
//! - Warp deactivates and activates subflows one by one, without hysteresis:
//!   [`on_active_changed`](Connections::on_active_changed).
//!
//! A command sets or clears the backup flag of a subflow. If the kernel refuses a command, it is sent again later.

use super::super::{FourTuple, Hysteresis, Subflow, Token};
use super::connection::{Request, Since, TrafficSample};
use super::{CommandBatch, Connection, Connections};

/// Delay until a command that the kernel has refused is sent again: 5 ms, doubled after each refusal up to 1.28 s.
const FLAG_RETRY_DELAY: u64 = 5_000_000;
/// Maximum number of doublings.
const FLAG_DOUBLINGS: u32 = 8;
/// Maximum length of the list of inactive subflows of a connection, which has at most eight of them. The limit bounds the list if
/// events are forged or lost.
const MAX_INACTIVE: usize = 64;

impl Connections {
    /// Records a request to suppress (`suppress`) or release a subflow as the request of its connection.
    ///
    /// To suppress, the algorithm sends a request for every subflow but one; to release, for every subflow. If a request names the
    /// kept subflow, the one after it in the list is kept instead. [`apply_requests`](Self::apply_requests) sends the commands.
    pub fn on_request(&mut self, token: Token, subflow: FourTuple, suppress: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.suppression.requested.suppress != suppress {
            connection.suppression.requested = Request { suppress, since: now };
        }
        if suppress && connection.suppression.kept_subflow == subflow {
            let others = connection.subflows.iter().map(Subflow::four_tuple);
            let after = others.skip_while(|other| *other != subflow).nth(1);
            connection.suppression.kept_subflow = after.unwrap_or(subflow);
        }
    }

    /// Records that the algorithm has activated or deactivated one subflow, and sends the command at once.
    ///
    /// Hysteresis is not needed: the algorithm keeps a subflow inactive for a minimum time.
    pub fn on_active_changed(
        &mut self,
        token: Token,
        subflow: FourTuple,
        active: bool,
        batches: &mut Vec<CommandBatch>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.suppression.inactive.retain(|other| *other != subflow);
        if !active && connection.suppression.inactive.len() < MAX_INACTIVE {
            connection.suppression.inactive.push(subflow);
        }
        self.send_flags(token, batches);
    }

    /// Replaces the inactive subflows of a connection by those that a scan of the maps found inactive, and sends commands for flags
    /// that differ.
    ///
    /// Only Warp has inactive subflows, so the connection is no longer suppressed as a whole. An uncoupled connection stays
    /// suppressed, because nothing limits its subflows together.
    pub fn set_inactive(&mut self, token: Token, inactive: Vec<FourTuple>, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.suppression.inactive = inactive;
        connection.suppression.active = connection.suppression.active && connection.uncoupled.is_some();
        self.send_flags(token, batches);
    }

    /// Sends a command for each flag that differs from the one that the kernel is known to have.
    pub(super) fn send_flags(&mut self, token: Token, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let commands = connection.flag_commands(token);
        if !commands.is_empty() {
            batches.push(CommandBatch {
                namespace: connection.namespace,
                commands,
                suppression: None,
            });
        }
    }

    /// Returns whether [`on_traffic`](Self::on_traffic) would ignore a sample, because the last one is recent or the connection
    /// unknown.
    pub fn knows_direction(&self, token: Token, now: u64) -> bool {
        self.all
            .get(&token)
            .is_none_or(|connection| connection.traffic.is_recent(now))
    }

    /// Records the bytes that a connection has `sent` and `received` so far.
    ///
    /// A backup subflow carries no data in either direction, but the algorithm only sees the data that is sent. A net receiver, which
    /// receives more than it sends, is therefore not suppressed: that would reduce what it receives.
    ///
    /// Samples come from a timer and from requests. One that follows another too soon is ignored, as bytes arrive in bursts.
    pub fn on_traffic(
        &mut self,
        token: Token,
        [sent, received]: [u64; 2],
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.traffic.is_recent(now) {
            return;
        }
        let sample = TrafficSample {
            sent,
            received,
            at: now,
        };
        let before = connection.traffic.sample.replace(sample).unwrap_or_default();
        let is_net_receiver = received.saturating_sub(before.received) > sent.saturating_sub(before.sent);
        // Suppression reduces what a net receiver receives, and a sample taken meanwhile would make a sender of it.
        if connection.traffic.net_receiver.value == is_net_receiver
            || (connection.traffic.net_receiver.value && connection.suppression.active)
        {
            return;
        }
        connection.traffic.net_receiver = Since {
            value: is_net_receiver,
            since: now,
        };
        let has_inactive = !connection.suppression.inactive.is_empty();
        self.apply_request(token, now, batches);
        if has_inactive {
            self.send_flags(token, batches);
        }
    }

    /// Sends the commands that the algorithm has requested for these connections, or sets a deadline if hysteresis delays them.
    pub fn apply_requests(
        &mut self,
        tokens: impl IntoIterator<Item = Token>,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        for token in tokens {
            self.apply_request(token, now, batches);
        }
    }

    /// Records that the kernel has refused to set (`backup`) or clear the flag of a subflow, and sets a deadline for the next try.
    ///
    /// The kernel refuses a command while the subflow joins or closes.
    pub fn on_flag_refused(&mut self, token: Token, subflow: FourTuple, backup: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let Some(known) = connection
            .subflows
            .iter_mut()
            .find(|known| known.four_tuple() == subflow)
        else {
            return;
        };
        known.backup = !backup;
        let at = now + (FLAG_RETRY_DELAY << connection.flags.refusals.min(FLAG_DOUBLINGS));
        connection.flags.refusals += 1;
        connection.flags.retry_at = Some(at);
        self.deadlines.insert((at, token));
    }

    /// Sends the commands that the kernel has refused again, if their deadline has passed.
    pub(super) fn retry_flags(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.flags.retry_at.is_none_or(|at| at > now) {
            return;
        }
        connection.flags.retry_at = None;
        self.send_flags(token, batches);
    }

    /// Sends the commands that the algorithm has requested for one connection, or sets a deadline if hysteresis delays them.
    pub(super) fn apply_request(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        match connection.desired(now, &self.hysteresis) {
            Desired::InSync => {}
            Desired::Later { at } => {
                self.deadlines.insert((at, token));
            }
            Desired::Now { suppress, due } => {
                // If only the kept subflow of a suppressed connection changes, that is not a new suppression.
                if suppress && !connection.suppression.active {
                    connection.suppression.history.suppressed(now, &self.hysteresis);
                } else if !suppress {
                    connection.suppression.history.released(now);
                }
                batches.push(connection.suppress_commands(token, suppress, due));
            }
        }
    }
}

/// The decision about a connection at one time.
enum Desired {
    /// The kernel has the desired state.
    InSync,
    /// Hysteresis delays the commands until `at`.
    Later { at: u64 },
    /// Suppress or release. `due` is the time from which the algorithm and hysteresis ask for it.
    Now { suppress: bool, due: u64 },
}

impl Connection {
    /// Decides what to do now. An uncoupled connection is always suppressed. Another one is never suppressed while it is a net
    /// receiver. An additional condition for suppression belongs here.
    fn desired(&self, now: u64, hysteresis: &Hysteresis) -> Desired {
        let Request { suppress, since } = self.suppression.requested;
        let (suppress, since) = match (self.uncoupled.is_some(), suppress) {
            (true, _) => (true, now),
            (false, true) => (
                !self.traffic.net_receiver.value,
                since.max(self.traffic.net_receiver.since),
            ),
            (false, false) => (false, since),
        };
        if self.kernel_in_sync(suppress) {
            return Desired::InSync;
        }
        let due = if suppress {
            since
        } else {
            self.suppression.history.release_at(since, hysteresis)
        };
        if due > now {
            Desired::Later { at: due }
        } else {
            Desired::Now { suppress, due }
        }
    }
}
