//! What the algorithm asks for, and when the kernel is told.

use std::net::SocketAddr;

use super::super::{Subflow, Token};
use super::{Connections, Told};

impl Connections {
    /// The algorithm asks for suppression or release of a subflow. It names all it means, one after the other; the kernel
    /// is told in [`settle`](Self::settle).
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

    /// A connection has carried so many bytes, away from here and to here. The kernel takes a backup out of use in both
    /// directions, so a connection that receives more than it sends is not suppressed for what it sends.
    pub fn on_carried(&mut self, token: Token, carried: (u64, u64), now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let before = std::mem::replace(&mut connection.carried, carried);
        let receives = carried.1.saturating_sub(before.1) > carried.0.saturating_sub(before.0);
        if connection.receives.0 != receives {
            connection.receives = (receives, now);
            self.obey(token, now, told);
        }
    }

    /// Tells the kernel what the algorithm asks for these connections, unless it is too early.
    pub fn settle(&mut self, tokens: impl IntoIterator<Item = Token>, now: u64, told: &mut Vec<Told>) {
        for token in tokens {
            self.obey(token, now, told);
        }
    }

    /// Tells the kernel what the algorithm asks for, unless it is too early.
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
