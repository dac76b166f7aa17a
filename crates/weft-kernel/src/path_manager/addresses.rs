//! The addresses of a namespace, followed as they come and go (rtnetlink).

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::errno::Errno;

use super::Namespace;
use super::channel::{KERNEL, MAX_DATAGRAMS, append, connected, receive};
use super::mptcp_pm::Endpoint;

/// An address that subflows may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Whether this host's connections join from it.
    pub joins: bool,
    /// Whether the address is announced on connections that this host accepted.
    pub announced: bool,
    /// Whether subflows of the address are backups whatever the algorithm requests.
    pub backup: bool,
}

impl Address {
    /// One without restrictions.
    pub fn new(ip: IpAddr) -> Self {
        Self {
            ip,
            joins: true,
            announced: true,
            backup: false,
        }
    }
}

/// Readable when addresses or interfaces of a namespace have changed.
pub struct AddressChanges {
    socket: Socket,
}

impl AddressChanges {
    /// Starts to report changes.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel refuses.
    pub fn watch(namespace: &Namespace) -> io::Result<Self> {
        namespace.run_in(|| {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind(&SocketAddr::new(0, GROUPS))?;
            socket.set_non_blocking(true)?;
            Ok(Self { socket })
        })
    }

    /// Discards the kernel's reports of changes, at most [`MAX_DATAGRAMS`] of them. Returns whether there was one, so that all addresses
    /// have to be read, and whether there may be more.
    pub fn discard(&self) -> (bool, bool) {
        const OVERRUN: i32 = Errno::ENOBUFS as i32;
        let mut datagram = Vec::with_capacity(1 << 16);
        let mut changed = false;
        for _ in 0..MAX_DATAGRAMS {
            datagram.clear();
            match self.socket.recv_from(&mut datagram, 0) {
                Ok((_, sender)) => changed |= sender.port_number() == KERNEL,
                Err(error) if error.raw_os_error() == Some(OVERRUN) => changed = true,
                Err(_) => return (changed, false),
            }
        }
        (changed, true)
    }
}

impl AsFd for AddressChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The addresses of a namespace that other hosts can reach, on interfaces that are up.
///
/// # Errors
/// The namespace cannot be entered, or the kernel refuses.
pub fn present(namespace: &Namespace) -> io::Result<Vec<IpAddr>> {
    let mut up = HashSet::new();
    let mut all = Vec::new();
    namespace.run_in(|| {
        let socket = connected(NETLINK_ROUTE)?;
        dump(
            &socket,
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            |message| {
                if let RouteNetlinkMessage::NewLink(link) = message
                    && link.header.flags.contains(LinkFlags::Up)
                    && !link.header.flags.contains(LinkFlags::Loopback)
                {
                    up.insert(link.header.index);
                }
            },
        )?;
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        dump(&socket, request, |message| {
            if let RouteNetlinkMessage::NewAddress(address) = message
                && up.contains(&address.header.index)
            {
                all.extend(usable(&address));
            }
        })
    })?;
    Ok(all)
}

/// One that is neither of a link alone nor still looked for duplicates of.
fn usable(message: &AddressMessage) -> Option<IpAddr> {
    let not_ready = AddressHeaderFlags::Tentative | AddressHeaderFlags::Dadfailed;
    if message.header.scope != AddressScope::Universe || message.header.flags.intersects(not_ready) {
        return None;
    }
    // On a link between two the other attribute is the far end's.
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    local.or_else(|| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(ip) => Some(*ip),
            _ => None,
        })
    })
}

fn dump(
    socket: &Socket,
    request: RouteNetlinkMessage,
    mut handle: impl FnMut(RouteNetlinkMessage),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    append(&mut buffer, request, NLM_F_REQUEST | NLM_F_DUMP, 1);
    socket.send(&buffer, 0)?;
    let mut done = false;
    while !done {
        receive::<RouteNetlinkMessage>(socket, |_, payload| {
            match payload {
                NetlinkPayload::InnerMessage(message) => handle(message),
                NetlinkPayload::Done(_) => done = true,
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                _ => {}
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the present addresses that subflows may have: those that are listed, or else those of endpoints, or else all.
/// The backup flag of an endpoint holds in any case.
pub fn eligible(present: &[IpAddr], listed: &[IpAddr], endpoints: &[Endpoint]) -> Vec<Address> {
    let endpoint_of = |ip: &IpAddr| endpoints.iter().find(|endpoint| endpoint.ip == *ip);
    let there = |ip: &&IpAddr| present.contains(ip);
    let by_endpoint = |ip: &IpAddr| {
        let backup = endpoint_of(ip).is_some_and(|endpoint| endpoint.backup);
        Address {
            backup,
            ..Address::new(*ip)
        }
    };
    if !listed.is_empty() {
        return listed.iter().filter(there).map(by_endpoint).collect();
    }
    if endpoints.is_empty() {
        return present.iter().copied().map(Address::new).collect();
    }
    let restricted = |endpoint: &Endpoint| Address {
        joins: endpoint.joins,
        announced: endpoint.announced,
        ..by_endpoint(&endpoint.ip)
    };
    let there = endpoints.iter().filter(|endpoint| present.contains(&endpoint.ip));
    there.map(restricted).collect()
}

/// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR`.
const GROUPS: u32 = 0x1 | 0x10 | 0x100;

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_list_goes_before_endpoints_and_these_before_all_there_are() {
        let present = [ip(1), ip(2), ip(3)];
        let endpoint = |last, backup| Endpoint {
            ip: ip(last),
            joins: true,
            announced: false,
            backup,
        };
        let chosen = |listed: &[IpAddr], endpoints: &[Endpoint]| {
            let all = eligible(&present, listed, endpoints);
            let brief = |address: &Address| (address.ip, address.announced, address.backup);
            all.iter().map(brief).collect::<Vec<_>>()
        };
        let all = [(ip(1), true, false), (ip(2), true, false), (ip(3), true, false)];
        assert_eq!(chosen(&[], &[]), all);
        assert_eq!(chosen(&[ip(3), ip(4)], &[]), [(ip(3), true, false)]);
        assert_eq!(
            chosen(&[], &[endpoint(2, true), endpoint(4, false)]),
            [(ip(2), false, true)]
        );
        let both = [(ip(2), true, true), (ip(3), true, false)];
        assert_eq!(chosen(&[ip(2), ip(3)], &[endpoint(2, true)]), both);
    }
}
