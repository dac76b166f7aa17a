//! Addresses that come and go: what is announced, what is withdrawn, which subflows end with their address.

use std::net::IpAddr;

use super::super::{Address, Command, Subflow, Token};
use super::{CommandBatch, Connections, JoinPolicy};

impl Connections {
    /// Sets the addresses that subflows of a namespace may have; `present` are all that it has. Subflows whose address has
    /// gone are closed, unless the connection would end with them.
    pub fn on_addresses(
        &mut self,
        namespace: usize,
        addresses: Vec<Address>,
        present: &[IpAddr],
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let known = (addresses, present.to_vec());
        if self.addresses.get(&namespace) == Some(&known) {
            return;
        }
        self.addresses.insert(namespace, known);
        let connections = self
            .all
            .iter()
            .filter(|(_, connection)| connection.namespace == namespace);
        let tokens: Vec<Token> = connections.map(|(token, _)| *token).collect();
        for token in tokens {
            // First, for the kernel forgets an announced address with its subflow.
            self.announce(token, batches);
            self.close_gone(token, present, batches);
            self.join(token, now, batches);
        }
    }

    /// Addresses that subflows of a namespace may have.
    pub(super) fn addresses_of(&self, namespace: usize) -> Vec<Address> {
        match self.addresses.get(&namespace) {
            Some((addresses, _)) => addresses.clone(),
            None => self.joins.addresses.iter().copied().map(Address::new).collect(),
        }
    }

    /// Whether subflows of this address are backups.
    pub(super) fn is_backup(&self, namespace: usize, ip: IpAddr) -> bool {
        let known = self.addresses.get(&namespace);
        known.is_some_and(|(all, _)| {
            all.iter()
                .any(|address| address.ip == ip.to_canonical() && address.backup)
        })
    }

    fn close_gone(&mut self, token: Token, present: &[IpAddr], batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let is_there = |ip: IpAddr| present.contains(&ip.to_canonical());
        let (stay, gone): (Vec<_>, Vec<_>) = connection
            .subflows
            .iter()
            .map(Subflow::four_tuple)
            .partition(|four_tuple| is_there(four_tuple.0.ip()));
        connection.joins.pending.retain(|(local, _)| is_there(*local));
        if stay.is_empty() {
            return;
        }
        for four_tuple in gone {
            batches.extend(connection.destroy_subflow(token, four_tuple));
        }
    }

    /// Announces addresses that have come to the peer, and withdraws those that have gone.
    pub(super) fn announce(&mut self, token: Token, batches: &mut Vec<CommandBatch>) {
        let Some(namespace) = self.all.get(&token).map(|connection| connection.namespace) else {
            return;
        };
        let addresses = self.addresses_of(namespace);
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if !connection.server || self.joins.policy == JoinPolicy::Ndiffports {
            return;
        }
        // A connection stays for some time after its last subflow.
        let Some(first) = connection.subflows.first() else {
            return;
        };
        // A listener of both families has IPv4 addresses in the form of IPv6.
        let initial = first.local.ip().to_canonical();
        let announced = |address: &&Address| {
            address.announced && address.ip != initial && address.ip.is_ipv4() == initial.is_ipv4()
        };
        let wanted: Vec<&Address> = addresses.iter().filter(announced).collect();
        let mut commands = Vec::new();
        connection.announced_here.retain(|(known, id)| {
            let stays = wanted.iter().any(|address| address.ip == *known);
            if !stays {
                commands.push(Command::RemoveAddress { token, id: *id });
            }
            stays
        });
        let ids = connection.local_ids(&addresses);
        for address in wanted {
            if connection
                .announced_here
                .iter()
                .any(|(known, _)| *known == address.ip)
            {
                continue;
            }
            let id = ids
                .iter()
                .find(|(known, _)| *known == address.ip)
                .map_or(1, |(_, id)| *id);
            connection.announced_here.push((address.ip, id));
            commands.push(Command::Announce {
                token,
                address: address.ip,
                id,
                backup: address.backup,
            });
        }
        if !commands.is_empty() {
            batches.push(CommandBatch {
                namespace,
                commands,
                suppression: None,
            });
        }
    }
}
