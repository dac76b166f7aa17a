//! What the algorithm asks for, and when the kernel is notified.

use std::net::SocketAddr;

use super::super::{Ends, Subflow, Token};
use super::{Connection, Connections, Told};

/// How old the answer may be when suppression is asked for: 100 ms.
const FRESH: u64 = 100_000_000;
/// A flag that was refused is tried again after 5 ms, then each time after twice as long, up to 1.28 s.
const FLAG_AGAIN: u64 = 5_000_000;
const FLAG_DOUBLINGS: u32 = 8;

impl Connections {
    /// The algorithm asks for suppression or release of a subflow. It names all it means, one after the other; the kernel
    /// is sent by [`settle`](Self::settle).
    pub fn on_wish(&mut self, token: Token, subflow: (SocketAddr, SocketAddr), suppress: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.wish.0 != suppress {
            connection.wish = (suppress, now);
        }
        if suppress && connection.keeper == subflow {
            let others = connection.subflows.iter().map(Subflow::ends);
            let after = others.skip_while(|other| *other != subflow).nth(1);
            connection.keeper = after.unwrap_or(subflow);
        }
    }

    /// The algorithm lets one subflow rest, or send again. The kernel is notified at once: how long a subflow rests at least is the
    /// algorithm's to say.
    pub fn on_rest(&mut self, token: Token, subflow: Ends, rests: bool, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.resting.retain(|other| *other != subflow);
        if rests {
            connection.resting.push(subflow);
        }
        self.flag_now(token, told);
    }

    /// Of a connection whose subflows rest one by one, these do, as looked up; no more is suppressed.
    pub fn on_resting(&mut self, token: Token, resting: Vec<Ends>, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        connection.resting = resting;
        connection.suppressed = connection.suppressed && connection.uncoupled.is_some();
        self.flag_now(token, told);
    }

    /// Commands the flags that have changed.
    pub(super) fn flag_now(&mut self, token: Token, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let commands = connection.flag(token);
        if !commands.is_empty() {
            told.push(Told {
                namespace: connection.namespace,
                commands,
                suppression: None,
            });
        }
    }

    /// Was it looked up just now which way a connection carries its data?
    pub fn knows_direction(&self, token: Token, now: u64) -> bool {
        let looked = |it: &Connection| it.carried.is_some_and(|(_, at)| now < at + FRESH);
        self.all.get(&token).is_none_or(looked)
    }

    /// A connection has carried so many bytes, away from here and to here. The kernel takes a backup out of use in both
    /// directions, so a connection that receives more than it sends is not suppressed for what it sends.
    pub fn on_carried(&mut self, token: Token, carried: (u64, u64), now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let (before, _) = connection.carried.replace((carried, now)).unwrap_or_default();
        let receives = carried.1.saturating_sub(before.1) > carried.0.saturating_sub(before.0);
        // Until a connection that receives is released, suppression itself holds back what it receives.
        if connection.receives.0 == receives || (connection.receives.0 && connection.suppressed) {
            return;
        }
        connection.receives = (receives, now);
        let rests = !connection.resting.is_empty();
        self.obey(token, now, told);
        if rests {
            self.flag_now(token, told);
        }
    }

    /// Commands what the algorithm asks for these connections, unless it is too early.
    pub fn settle(&mut self, tokens: impl IntoIterator<Item = Token>, now: u64, told: &mut Vec<Told>) {
        for token in tokens {
            self.obey(token, now, told);
        }
    }

    /// The kernel has refused to flag a subflow. It does so while the subflow is just joining, and when it is just closing.
    pub fn on_not_flagged(&mut self, token: Token, subflow: Ends, backup: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let Some(known) = connection.subflows.iter_mut().find(|it| it.ends() == subflow) else {
            return;
        };
        known.backup = !backup;
        let at = now + (FLAG_AGAIN << connection.refusals.min(FLAG_DOUBLINGS));
        connection.refusals += 1;
        connection.flag_at = Some(at);
        self.deadlines.insert((at, token));
    }

    /// Tries what the kernel has refused once more, if it is time.
    pub(super) fn flag_again(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.flag_at.is_none_or(|at| at > now) {
            return;
        }
        connection.flag_at = None;
        self.flag_now(token, told);
    }

    /// Commands what the algorithm asks for, unless it is too early.
    pub(super) fn obey(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let ((wish, since), (receives, receives_since)) = (connection.wish, connection.receives);
        let (suppress, since) = match (connection.uncoupled.is_some(), wish) {
            (true, _) => (true, now),
            (false, true) => (!receives, since.max(receives_since)),
            (false, false) => (false, since),
        };
        if connection.is_told(suppress) {
            return;
        }
        let at = if suppress {
            since
        } else {
            connection.past.release_at(since, &self.hysteresis)
        };
        if at > now {
            self.deadlines.insert((at, token));
            return;
        }
        // It may also leave another subflow alone than it did.
        if suppress && !connection.suppressed {
            connection.past.suppressed(now, &self.hysteresis);
        } else if !suppress {
            connection.past.released(now);
        }
        told.push(connection.tell(token, suppress, at));
    }
}
