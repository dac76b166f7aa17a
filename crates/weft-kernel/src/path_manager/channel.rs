//! The two netlink sockets of a namespace: one for commands and their answers, one for events.

use std::cell::Cell;
use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{
    Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable, ParseableParametrized,
};
use netlink_packet_generic::ctrl::nlas::{GenlCtrlAttrs, McastGrpAttrs};
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use nix::sys::socket::{MsgFlags, setsockopt, sockopt::RcvBufForce};

use super::mptcp_pm::{EVENTS_GROUP, Endpoint, Limits, Message};
use super::{Command, Event, Namespace};

/// A command that the kernel refused.
#[derive(Debug)]
pub struct Refusal {
    /// The command.
    pub command: Command,
    /// Why.
    pub error: io::Error,
}

/// Commands go here.
pub struct Commands {
    socket: Socket,
    family: u16,
    /// The number of the next command; none is used twice, so that no late answer is taken for another's.
    next: Cell<u32>,
}

/// Events come from here.
pub struct Events {
    socket: Socket,
}

/// Both sockets of a namespace.
///
/// # Errors
/// The namespace cannot be entered, or the kernel has no MPTCP path manager.
pub fn open(namespace: &Namespace) -> io::Result<(Commands, Events)> {
    namespace.run_in(|| {
        let socket = connected(NETLINK_GENERIC)?;
        let (family, groups) = resolve(&socket, Message::family_name())?;
        let group = events_group(&groups).ok_or_else(|| {
            io::Error::other(format!(
                "the kernel's {} has no group {EVENTS_GROUP}",
                Message::family_name()
            ))
        })?;
        let mut events = Socket::new(NETLINK_GENERIC)?;
        events.bind_auto()?;
        // Thousands of connections that close at once must not overrun it.
        setsockopt(&events, RcvBufForce, &EVENTS_BUFFER)?;
        events.add_membership(group)?;
        events.set_non_blocking(true)?;
        let commands = Commands {
            socket,
            family,
            next: Cell::new(1),
        };
        Ok((commands, Events { socket: events }))
    })
}

impl Commands {
    /// Sends all commands in one message, and says which ones the kernel refused. It has executed the others when this returns.
    ///
    /// # Errors
    /// The socket fails, or what comes back makes no sense.
    pub fn send(&self, commands: &[Command]) -> io::Result<Vec<Refusal>> {
        let mut refusals = Vec::new();
        for commands in commands.chunks(COMMANDS_AT_ONCE) {
            let mut buffer = Vec::new();
            let first = self.next.get();
            self.next.set(first.wrapping_add(commands.len() as u32));
            for (i, command) in (0..).zip(commands) {
                let sequence = first.wrapping_add(i);
                let mut message = GenlMessage::from_payload(Message::from(command));
                message.set_resolved_family_id(self.family);
                append(&mut buffer, message, NLM_F_REQUEST | NLM_F_ACK, sequence);
            }
            self.socket.send(&buffer, 0)?;
            let mut answers = 0;
            while answers < commands.len() {
                receive::<GenlMessage<Message>>(&self.socket, |sequence, payload| {
                    let NetlinkPayload::Error(answer) = payload else {
                        return Ok(());
                    };
                    // Of a batch that failed before its answers came.
                    let Some(command) = commands.get(sequence.wrapping_sub(first) as usize) else {
                        return Ok(());
                    };
                    answers += 1;
                    if answer.code.is_some() {
                        refusals.push(Refusal {
                            command: *command,
                            error: answer.to_io(),
                        });
                    }
                    Ok(())
                })?;
            }
        }
        Ok(refusals)
    }
}

/// Asks a generic netlink family in a namespace, and returns the answers.
///
/// # Errors
/// The namespace cannot be entered, the kernel has no such family, refuses, or answers what makes no sense.
pub fn request<F>(namespace: &Namespace, payload: F, flags: u16) -> io::Result<Vec<F>>
where
    F: GenlFamily + Emitable + ParseableParametrized<[u8], GenlHeader> + Clone + Debug + Send,
{
    namespace.run_in(move || {
        let socket = connected(NETLINK_GENERIC)?;
        let (family, _) = resolve(&socket, F::family_name())?;
        let mut message = GenlMessage::from_payload(payload);
        message.set_resolved_family_id(family);
        let mut buffer = Vec::new();
        append(&mut buffer, message, flags | NLM_F_ACK, 1);
        socket.send(&buffer, 0)?;
        let (mut answers, mut done) = (Vec::new(), false);
        while !done {
            receive::<GenlMessage<F>>(&socket, |_, payload| {
                match payload {
                    NetlinkPayload::InnerMessage(message) => answers.push(message.payload),
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => done = true,
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(answers)
    })
}

/// The limits of the kernel's own path manager in a namespace.
///
/// # Errors
/// The namespace cannot be entered, or the kernel has no MPTCP path manager.
pub fn limits(namespace: &Namespace) -> io::Result<Limits> {
    let answers = request(namespace, Message::limits_request(), NLM_F_REQUEST)?;
    match answers.first() {
        Some(answer) => answer.limits().map_err(io::Error::other),
        None => Err(io::Error::other("the kernel does not report its limits")),
    }
}

/// The addresses that the kernel's own path manager has in a namespace.
///
/// # Errors
/// The namespace cannot be entered, or the kernel has no MPTCP path manager.
pub fn endpoints(namespace: &Namespace) -> io::Result<Vec<Endpoint>> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    let answers = request(namespace, Message::endpoints_request(), flags)?;
    let endpoints = answers.iter().filter_map(|answer| answer.endpoint().transpose());
    endpoints
        .map(|endpoint| endpoint.map_err(io::Error::other))
        .collect()
}

impl Events {
    /// Hands over events without waiting, from at most [`MAX_DATAGRAMS`] datagrams. Returns true if there may be more.
    ///
    /// # Errors
    /// `ENOBUFS`: some events are lost. Anything else: the socket fails, or what comes from it makes no sense.
    pub fn receive(&self, mut handle: impl FnMut(Event)) -> io::Result<bool> {
        for _ in 0..MAX_DATAGRAMS {
            let received = receive::<GenlMessage<Message>>(&self.socket, |_, payload| {
                if let NetlinkPayload::InnerMessage(message) = payload
                    && let Some(event) = message.payload.event().map_err(io::Error::other)?
                {
                    handle(event);
                }
                Ok(())
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                received => received?,
            }
        }
        Ok(true)
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A netlink socket that speaks with the kernel only.
pub(super) fn connected(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Appends a netlink message.
pub(super) fn append<I: NetlinkSerializable>(
    buffer: &mut Vec<u8>,
    payload: impl Into<NetlinkPayload<I>>,
    flags: u16,
    sequence: u32,
) {
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload.into());
    message.header.flags = flags;
    message.header.sequence_number = sequence;
    message.finalize();
    let start = buffer.len();
    buffer.resize(start + message.buffer_len().next_multiple_of(ALIGNMENT), 0);
    if let Some(space) = buffer.get_mut(start..) {
        message.serialize(space);
    }
}

/// Receives one datagram and hands over the messages in it with their sequence numbers. A datagram from another sender than the
/// kernel is dropped: the kernel delivers datagrams of every process that has `CAP_NET_ADMIN` in the namespace.
pub(super) fn receive<I: NetlinkDeserializable>(
    socket: &Socket,
    mut handle: impl FnMut(u32, NetlinkPayload<I>) -> io::Result<()>,
) -> io::Result<()> {
    let mut datagram = Vec::with_capacity(DATAGRAM);
    let (length, sender) = socket.recv_from(&mut datagram, MsgFlags::MSG_TRUNC.bits())?;
    if sender.port_number() != KERNEL {
        return Ok(());
    }
    if length > datagram.len() {
        return Err(io::Error::other(
            "a netlink message is longer than the kernel makes them",
        ));
    }
    let mut rest = datagram.as_slice();
    while !rest.is_empty() {
        let message = NetlinkMessage::<I>::deserialize(rest).map_err(io::Error::other)?;
        let length = (message.header.length as usize).next_multiple_of(ALIGNMENT);
        rest = rest.get(length.max(ALIGNMENT)..).unwrap_or(&[]);
        handle(message.header.sequence_number, message.payload)?;
    }
    Ok(())
}

/// A group of multicast messages: its name and number.
type Group = Vec<McastGrpAttrs>;

/// A family's number and its groups.
fn resolve(socket: &Socket, name: &str) -> io::Result<(u16, Vec<Group>)> {
    let mut buffer = Vec::new();
    let request = GenlMessage::from_payload(GenlCtrl {
        cmd: GenlCtrlCmd::GetFamily,
        nlas: vec![GenlCtrlAttrs::FamilyName(name.to_owned())],
    });
    append(&mut buffer, request, NLM_F_REQUEST, 1);
    socket.send(&buffer, 0)?;
    let (mut family, mut all) = (None, Vec::new());
    receive::<GenlMessage<GenlCtrl>>(socket, |_, payload| {
        match payload {
            NetlinkPayload::InnerMessage(message) => {
                for attribute in message.payload.nlas {
                    match attribute {
                        GenlCtrlAttrs::FamilyId(id) => family = Some(id),
                        GenlCtrlAttrs::McastGroups(groups) => all.extend(groups),
                        _ => {}
                    }
                }
            }
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
            _ => {}
        }
        Ok(())
    })
    .and_then(|()| family.ok_or_else(|| io::Error::other("the kernel does not report its number")))
    .map(|family| (family, all))
    .map_err(|error| {
        let why = format!("the kernel's generic netlink family {name}: {error}");
        io::Error::new(error.kind(), why)
    })
}

fn events_group(groups: &[Group]) -> Option<u32> {
    groups.iter().find_map(|group| {
        let named = group
            .iter()
            .any(|attribute| matches!(attribute, McastGrpAttrs::Name(name) if name == EVENTS_GROUP));
        group.iter().find_map(|attribute| match attribute {
            McastGrpAttrs::Id(id) if named => Some(*id),
            _ => None,
        })
    })
}

/// The kernel's netlink port.
pub(super) const KERNEL: u32 = 0;
/// Datagrams that are received at a time, so that a flood of events does not keep the caller from its other work.
pub(super) const MAX_DATAGRAMS: usize = 1000;
const ALIGNMENT: usize = 4;
/// More than the kernel puts into one (`NLMSG_GOODSIZE`, and 32 KB of a dump).
const DATAGRAM: usize = 1 << 16;
/// Bytes that wait in the socket of events: a few ten thousand events.
const EVENTS_BUFFER: usize = 16 << 20;
/// Commands per message, whose answers fit the socket.
const COMMANDS_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use netlink_sys::protocols::NETLINK_USERSOCK;
    use weft_test_support::mptcp_event::established;

    use super::*;

    fn events() -> (Events, SocketAddr) {
        let mut socket = Socket::new(NETLINK_USERSOCK).unwrap();
        let address = socket.bind_auto().unwrap();
        socket.set_non_blocking(true).unwrap();
        (Events { socket }, address)
    }

    #[test]
    fn events_of_another_sender_than_the_kernel_are_dropped() {
        let event = established(9, [10, 0, 0, 1], [10, 0, 0, 2]);
        let message = NetlinkMessage::<GenlMessage<Message>>::deserialize(&event).unwrap();
        let NetlinkPayload::InnerMessage(message) = message.payload else {
            panic!("not an event");
        };
        assert_eq!(
            message.payload.event().unwrap().map(|event| event.token()),
            Some(9)
        );
        let (events, address) = events();
        let mut sender = Socket::new(NETLINK_USERSOCK).unwrap();
        sender.bind_auto().unwrap();
        sender.send_to(&event, &address, 0).unwrap();
        sender.send_to(b"malformed", &address, 0).unwrap();
        let mut received = Vec::new();
        assert!(!events.receive(|event| received.push(event)).unwrap());
        assert!(received.is_empty(), "{received:?}");
    }

    #[test]
    fn a_flood_is_received_in_parts() {
        let (events, address) = events();
        let sender = std::thread::spawn(move || {
            let mut socket = Socket::new(NETLINK_USERSOCK).unwrap();
            socket.bind_auto().unwrap();
            let mut sent = 0;
            while sent < 2 * MAX_DATAGRAMS {
                sent += usize::from(socket.send_to(b"flood", &address, 0).is_ok());
            }
        });
        let mut parts = 0;
        while !sender.is_finished() || events.receive(|_| {}).unwrap() {
            parts += usize::from(events.receive(|_| {}).unwrap());
        }
        sender.join().unwrap();
        assert!(parts <= 2, "{parts}");
    }
}
