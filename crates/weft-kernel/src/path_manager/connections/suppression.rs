//! Suppression and release: requests of the algorithm, and the commands to the kernel that follow from them.
//!
//! An algorithm takes subflows out of use in one of two ways:
//!
//! - AMP and DCM suppress all subflows of a connection but one, and release them together. The kept subflow is chosen here, and
//!   [`Hysteresis`](super::Hysteresis) delays the commands: [`on_request`](Connections::on_request), then
//!   [`apply_request`](Connections::apply_request).
//! - Warp deactivates and activates subflows one by one. The kernel is notified at once:
//!   [`on_active_changed`](Connections::on_active_changed).
//!
//! A command sets or clears the backup flag of a subflow. It is repeated if the kernel refuses it.

use super::super::{FourTuple, Hysteresis, Subflow, Token};
use super::{CommandBatch, Connection, Connections, Request, Since, TrafficSample};

/// Maximum age of the traffic sample that decides about a suppression: 100 ms.
const MAX_SAMPLE_AGE: u64 = 100_000_000;
/// Delay until the kernel is asked again for a flag that it has refused: 5 ms, doubled after each refusal up to 1.28 s.
const FLAG_RETRY_DELAY: u64 = 5_000_000;
const FLAG_DOUBLINGS: u32 = 8;
/// Maximum length of the list of inactive subflows of a connection. An algorithm has eight subflows; forged or lost events cannot
/// make the list longer.
const MAX_INACTIVE: usize = 64;

impl Connections {
    /// Records that the algorithm requests suppression (`suppress`) or release of a subflow.
    ///
    /// The algorithm sends one request per subflow: for all but one to suppress, for all to release. If it suppresses the kept
    /// subflow, the next one in the list is kept instead. [`apply_requests`](Self::apply_requests) sends the commands.
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

    /// Records that the algorithm has activated or deactivated one subflow, and commands its flag at once.
    ///
    /// There is no hysteresis, because the algorithm itself keeps a subflow inactive for a minimum time.
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

    /// Replaces the inactive subflows of a connection by those that a scan of the maps found, and commands the flags that differ.
    ///
    /// Its algorithm deactivates subflows one by one, so the connection is no longer suppressed as a whole, unless it is uncoupled.
    pub fn set_inactive(&mut self, token: Token, inactive: Vec<FourTuple>, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.inactive = inactive;
        connection.suppressed = connection.suppressed && connection.uncoupled.is_some();
        self.send_flags(token, batches);
    }

    /// Commands each flag that differs from the one that the kernel has.
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

    /// Whether the last traffic sample of a connection is recent. True for an unknown connection.
    pub fn knows_direction(&self, token: Token, now: u64) -> bool {
        let is_recent = |connection: &Connection| {
            connection
                .traffic
                .is_some_and(|sample| now < sample.at + MAX_SAMPLE_AGE)
        };
        self.all.get(&token).is_none_or(is_recent)
    }

    /// Records the bytes that a connection has `sent` and `received` so far.
    ///
    /// The kernel does not use a backup in either direction. A net receiver, which receives more than it sends, is therefore not
    /// suppressed for the data that it sends.
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
        // Suppression reduces what a net receiver receives, so the sample is not used until the connection is released.
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

    /// Commands what the algorithm has requested for these connections, or sets a deadline if hysteresis delays it.
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
    /// The kernel refuses a flag while a subflow joins or closes.
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

    /// Repeats the flags that the kernel has refused, if their deadline has passed.
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

    /// Commands what the algorithm has requested for one connection, or sets a deadline if hysteresis delays it.
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
                // A suppressed connection gets commands as well if another subflow is to be kept.
                if suppress && !connection.suppressed {
                    connection.history.suppressed(now, &self.hysteresis);
                } else if !suppress {
                    connection.history.released(now);
                }
                batches.push(connection.suppress_commands(token, suppress, due));
            }
        }
    }
}

/// The commands that a connection needs.
enum Desired {
    /// The kernel has the desired state.
    InSync,
    /// Hysteresis delays the commands until `at`.
    Later { at: u64 },
    /// Suppression or release, which has been due since `due`.
    Now { suppress: bool, due: u64 },
}

impl Connection {
    /// Decides what the connection needs. An uncoupled connection is always suppressed, and a net receiver never is.
    fn desired(&self, now: u64, hysteresis: &Hysteresis) -> Desired {
        let Request { suppress, since } = self.requested;
        let (suppress, since) = match (self.uncoupled.is_some(), suppress) {
            (true, _) => (true, now),
            (false, true) => (!self.net_receiver.value, since.max(self.net_receiver.since)),
            (false, false) => (false, since),
        };
        if self.kernel_in_sync(suppress) {
            return Desired::InSync;
        }
        let due = if suppress {
            since
        } else {
            self.history.release_at(since, hysteresis)
        };
        if due > now {
            Desired::Later { at: due }
        } else {
            Desired::Now { suppress, due }
        }
    }
}
