//! Requests of the algorithm, and the time at which the kernel is notified.

use super::super::{FourTuple, Subflow, Token};
use super::{CommandBatch, Connection, Connections, Request, Since, TrafficSample};

/// How old the answer may be when suppression is asked for: 100 ms.
const MAX_SAMPLE_AGE: u64 = 100_000_000;
/// A flag that was refused is tried again after 5 ms, then each time after twice as long, up to 1.28 s.
const FLAG_RETRY_DELAY: u64 = 5_000_000;
const FLAG_DOUBLINGS: u32 = 8;
/// Inactive subflows of a connection, of which its algorithm has eight.
const MAX_INACTIVE: usize = 64;

impl Connections {
    /// The algorithm asks for suppression or release of a subflow. It names all it means, one after the other; the kernel
    /// is sent by [`apply_requests`](Self::apply_requests).
    pub fn on_request(&mut self, token: Token, subflow: FourTuple, suppress: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.requested.suppress != suppress {
            connection.requested = Request { suppress, since: now };
        }
        if suppress && connection.kept_subflow == subflow {
            let others = connection.subflows.iter().map(Subflow::four_tuple);
            let after = others.skip_while(|other| *other != subflow).nth(1);
            connection.kept_subflow = after.unwrap_or(subflow);
        }
    }

    /// The algorithm lets one subflow rest, or send again. The kernel is notified at once: how long a subflow rests at least is the
    /// algorithm's to say.
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
        connection.inactive.retain(|other| *other != subflow);
        if !active && connection.inactive.len() < MAX_INACTIVE {
            connection.inactive.push(subflow);
        }
        self.send_flags(token, batches);
    }

    /// Of a connection whose subflows rest one by one, these do, as looked up; no more is suppressed.
    pub fn set_inactive(&mut self, token: Token, inactive: Vec<FourTuple>, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.inactive = inactive;
        connection.suppressed = connection.suppressed && connection.uncoupled.is_some();
        self.send_flags(token, batches);
    }

    /// Commands the flags that have changed.
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

    /// Whether the direction of a connection's data was read recently.
    pub fn knows_direction(&self, token: Token, now: u64) -> bool {
        let is_recent = |connection: &Connection| {
            connection
                .traffic
                .is_some_and(|sample| now < sample.at + MAX_SAMPLE_AGE)
        };
        self.all.get(&token).is_none_or(is_recent)
    }

    /// A connection has carried so many bytes, away from here and to here. The kernel takes a backup out of use in both
    /// directions, so a connection that receives more than it sends is not suppressed for what it sends.
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
        let sample = TrafficSample {
            sent,
            received,
            at: now,
        };
        let before = connection.traffic.replace(sample).unwrap_or_default();
        let is_net_receiver = received.saturating_sub(before.received) > sent.saturating_sub(before.sent);
        // Until a connection that receives is released, suppression itself holds back what it receives.
        if connection.net_receiver.value == is_net_receiver
            || (connection.net_receiver.value && connection.suppressed)
        {
            return;
        }
        connection.net_receiver = Since {
            value: is_net_receiver,
            since: now,
        };
        let has_inactive = !connection.inactive.is_empty();
        self.apply_request(token, now, batches);
        if has_inactive {
            self.send_flags(token, batches);
        }
    }

    /// Commands what the algorithm asks for these connections, unless it is too early.
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

    /// The kernel has refused to flag a subflow. It does so while the subflow is just joining, and when it is just closing.
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
        let at = now + (FLAG_RETRY_DELAY << connection.refusals.min(FLAG_DOUBLINGS));
        connection.refusals += 1;
        connection.flag_at = Some(at);
        self.deadlines.insert((at, token));
    }

    /// Tries what the kernel has refused once more, if it is time.
    pub(super) fn retry_flags(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.flag_at.is_none_or(|at| at > now) {
            return;
        }
        connection.flag_at = None;
        self.send_flags(token, batches);
    }

    /// Commands what the algorithm asks for, unless it is too early.
    pub(super) fn apply_request(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let Request { suppress, since } = connection.requested;
        let (suppress, since) = match (connection.uncoupled.is_some(), suppress) {
            (true, _) => (true, now),
            (false, true) => (
                !connection.net_receiver.value,
                since.max(connection.net_receiver.since),
            ),
            (false, false) => (false, since),
        };
        if connection.kernel_in_sync(suppress) {
            return;
        }
        let at = if suppress {
            since
        } else {
            connection.history.release_at(since, &self.hysteresis)
        };
        if at > now {
            self.deadlines.insert((at, token));
            return;
        }
        // It may also leave another subflow alone than it did.
        if suppress && !connection.suppressed {
            connection.history.suppressed(now, &self.hysteresis);
        } else if !suppress {
            connection.history.released(now);
        }
        batches.push(connection.suppress_commands(token, suppress, at));
    }
}
