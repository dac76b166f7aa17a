//! The messages of the kernel's generic netlink family `mptcp_pm` (`include/uapi/linux/mptcp_pm.h`).
//!
//! The crate netlink-packet-core parses messages of the kernel and checks every length against its buffer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLA_TYPE_MASK, Nla, NlasIterator, Parseable,
    ParseableParametrized, parse_u8, parse_u16, parse_u16_be, parse_u32,
};
use netlink_packet_generic::{GenlFamily, GenlHeader};

use super::{Command, Event, Subflow, Token};

/// The group of multicast messages that events come in.
pub const EVENTS_GROUP: &str = "mptcp_pm_events";

/// The limits of the kernel's own path manager (`ip mptcp limits`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Announced addresses it accepts.
    pub announced_addresses: u32,
    /// Additional subflows that it opens or accepts.
    pub subflows: u32,
}

/// An address of the kernel's own path manager (`ip mptcp endpoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub ip: IpAddr,
    /// Flag `subflow` or `laminar`: connections join from it.
    pub joins: bool,
    /// Flag `signal`: it is announced.
    pub announced: bool,
    /// Flag `backup`.
    pub backup: bool,
}

/// A command to the kernel or an event from it, with its attributes as they stand on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        "mptcp_pm"
    }
    fn command(&self) -> u8 {
        self.command
    }
    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }
    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(buffer: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(buffer)
            .map(|attribute| DefaultNla::parse(&attribute?))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            command: header.cmd,
            attributes,
        })
    }
}

impl From<&Command> for Message {
    fn from(command: &Command) -> Self {
        let token_attr = |token: Token| u32_attr(ATTR_TOKEN, token);
        match *command {
            Command::CreateSubflow {
                token,
                local,
                local_id,
                remote,
                backup,
            } => Message {
                command: CMD_SUBFLOW_CREATE,
                attributes: vec![
                    token_attr(token),
                    address(
                        ATTR_ADDR,
                        local,
                        None,
                        Some(local_id),
                        Some(flags(FLAG_SUBFLOW, backup)),
                    ),
                    address(ATTR_ADDR_REMOTE, remote.ip(), Some(remote.port()), None, None),
                ],
            },
            Command::SetBackup {
                token,
                local,
                remote,
                backup,
            } => Message {
                command: CMD_SET_FLAGS,
                attributes: vec![
                    token_attr(token),
                    address(
                        ATTR_ADDR,
                        local.ip(),
                        Some(local.port()),
                        None,
                        Some(flags(0, backup)),
                    ),
                    address(ATTR_ADDR_REMOTE, remote.ip(), Some(remote.port()), None, None),
                ],
            },
            Command::DestroySubflow { token, local, remote } => Message {
                command: CMD_SUBFLOW_DESTROY,
                attributes: vec![
                    token_attr(token),
                    address(ATTR_ADDR, local.ip(), Some(local.port()), None, None),
                    address(ATTR_ADDR_REMOTE, remote.ip(), Some(remote.port()), None, None),
                ],
            },
            Command::Announce {
                token,
                address: ip,
                id,
                backup,
            } => Message {
                command: CMD_ANNOUNCE,
                attributes: vec![
                    token_attr(token),
                    address(ATTR_ADDR, ip, None, Some(id), Some(flags(FLAG_SIGNAL, backup))),
                ],
            },
            Command::RemoveAddress { token, id } => Message {
                command: CMD_REMOVE,
                attributes: vec![token_attr(token), DefaultNla::new(ATTR_LOC_ID, vec![id])],
            },
        }
    }
}

impl Message {
    /// Asks for the addresses of the kernel's own path manager (`ip mptcp endpoint`).
    pub fn endpoints_request() -> Self {
        Message {
            command: CMD_GET_ADDR,
            attributes: Vec::new(),
        }
    }

    /// The answer: an address, if it is one.
    ///
    /// # Errors
    /// An attribute has the wrong length.
    pub fn endpoint(&self) -> Result<Option<Endpoint>, DecodeError> {
        let address = self
            .attributes
            .iter()
            .find(|attribute| attribute.kind() & NLA_TYPE_MASK == ATTR_ADDR);
        let Some(address) = address.map(value) else {
            return Ok(None);
        };
        let (mut found, mut flags) = (None, 0);
        for attribute in NlasIterator::new(address.as_slice()) {
            let attribute = attribute?;
            match attribute.kind() & NLA_TYPE_MASK {
                ADDR_ADDR4 | ADDR_ADDR6 => found = Some(ip(attribute.value())?),
                ADDR_FLAGS => flags = parse_u32(attribute.value())?,
                _ => {}
            }
        }
        Ok(found.map(|ip| Endpoint {
            ip,
            joins: flags & (FLAG_SUBFLOW | FLAG_LAMINAR) != 0,
            announced: flags & FLAG_SIGNAL != 0,
            backup: flags & FLAG_BACKUP != 0,
        }))
    }

    /// Asks for the limits of the kernel's own path manager.
    pub fn limits_request() -> Self {
        Message {
            command: CMD_GET_LIMITS,
            attributes: Vec::new(),
        }
    }

    /// The answer: the numbers of announced addresses that it accepts and of additional subflows that it opens.
    ///
    /// # Errors
    /// An attribute has the wrong length.
    pub fn limits(&self) -> Result<Limits, DecodeError> {
        let mut limits = Limits::default();
        for attribute in &self.attributes {
            match attribute.kind() & NLA_TYPE_MASK {
                ATTR_RCV_ADD_ADDRS => limits.announced_addresses = parse_u32(&value(attribute))?,
                ATTR_SUBFLOWS => limits.subflows = parse_u32(&value(attribute))?,
                _ => {}
            }
        }
        Ok(limits)
    }

    /// The event, or `None` for one that does not matter here.
    ///
    /// # Errors
    /// An attribute is missing or has the wrong length.
    pub fn event(&self) -> Result<Option<Event>, DecodeError> {
        let fields = Fields::parse(&self.attributes)?;
        Ok(Some(match self.command {
            EVENT_ESTABLISHED => Event::Established {
                token: fields.token()?,
                initial: fields.subflow()?,
                server: fields.server,
            },
            EVENT_CLOSED => Event::Closed {
                token: fields.token()?,
            },
            EVENT_ANNOUNCED => Event::Announced {
                token: fields.token()?,
                id: fields.remote_id,
                address: fields.remote.ok_or("an announced address is missing")?,
                port: fields.remote_port,
            },
            EVENT_REMOVED => Event::Removed {
                token: fields.token()?,
                id: fields.remote_id,
            },
            EVENT_SUB_ESTABLISHED => Event::SubflowEstablished {
                token: fields.token()?,
                subflow: fields.subflow()?,
            },
            EVENT_SUB_CLOSED => Event::SubflowClosed {
                token: fields.token()?,
                subflow: fields.subflow()?,
            },
            _ => return Ok(None),
        }))
    }
}

/// The attributes of an event.
#[derive(Default)]
struct Fields {
    token: Option<Token>,
    local_id: u8,
    remote_id: u8,
    local: Option<IpAddr>,
    remote: Option<IpAddr>,
    local_port: u16,
    remote_port: u16,
    backup: bool,
    server: bool,
}

impl Fields {
    fn parse(attributes: &[DefaultNla]) -> Result<Self, DecodeError> {
        let mut fields = Self::default();
        for attribute in attributes {
            let value = value(attribute);
            let value = value.as_slice();
            match attribute.kind() & NLA_TYPE_MASK {
                EVENT_ATTR_TOKEN => fields.token = Some(parse_u32(value)?),
                EVENT_ATTR_LOC_ID => fields.local_id = parse_u8(value)?,
                EVENT_ATTR_REM_ID => fields.remote_id = parse_u8(value)?,
                EVENT_ATTR_SADDR4 | EVENT_ATTR_SADDR6 => fields.local = Some(ip(value)?),
                EVENT_ATTR_DADDR4 | EVENT_ATTR_DADDR6 => fields.remote = Some(ip(value)?),
                EVENT_ATTR_SPORT => fields.local_port = parse_u16_be(value)?,
                EVENT_ATTR_DPORT => fields.remote_port = parse_u16_be(value)?,
                EVENT_ATTR_BACKUP => fields.backup = parse_u8(value)? != 0,
                EVENT_ATTR_SERVER_SIDE => fields.server |= parse_u8(value)? != 0,
                EVENT_ATTR_FLAGS => fields.server |= parse_u16(value)? & EVENT_FLAG_SERVER_SIDE != 0,
                _ => {}
            }
        }
        Ok(fields)
    }

    fn token(&self) -> Result<Token, DecodeError> {
        self.token.ok_or_else(|| "the token is missing".into())
    }

    fn subflow(&self) -> Result<Subflow, DecodeError> {
        let (Some(local), Some(remote)) = (self.local, self.remote) else {
            return Err("a subflow's address is missing".into());
        };
        Ok(Subflow {
            local_id: self.local_id,
            remote_id: self.remote_id,
            local: SocketAddr::new(local, self.local_port),
            remote: SocketAddr::new(remote, self.remote_port),
            backup: self.backup,
        })
    }
}

fn value(attribute: &DefaultNla) -> Vec<u8> {
    let mut value = vec![0; attribute.value_len()];
    attribute.emit_value(&mut value);
    value
}

fn ip(value: &[u8]) -> Result<IpAddr, DecodeError> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Ok(Ipv4Addr::from(octets).into());
    }
    <[u8; 16]>::try_from(value)
        .map(|octets| Ipv6Addr::from(octets).into())
        .map_err(|_| format!("an address has {} bytes", value.len()).into())
}

fn flags(flags: u32, backup: bool) -> u32 {
    flags | if backup { FLAG_BACKUP } else { 0 }
}

fn u32_attr(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

/// A nested address; ports are in the host's order here, unlike in events.
fn address(kind: u16, ip: IpAddr, port: Option<u16>, id: Option<u8>, flags: Option<u32>) -> DefaultNla {
    let short = |kind: u16, value: u16| DefaultNla::new(kind, value.to_ne_bytes().to_vec());
    let mut parts = match ip {
        IpAddr::V4(ip) => vec![
            short(ADDR_FAMILY, AF_INET),
            DefaultNla::new(ADDR_ADDR4, ip.octets().to_vec()),
        ],
        IpAddr::V6(ip) => vec![
            short(ADDR_FAMILY, AF_INET6),
            DefaultNla::new(ADDR_ADDR6, ip.octets().to_vec()),
        ],
    };
    parts.extend(port.map(|port| short(ADDR_PORT, port)));
    parts.extend(id.map(|id| DefaultNla::new(ADDR_ID, vec![id])));
    parts.extend(flags.map(|flags| u32_attr(ADDR_FLAGS, flags)));
    let mut value = vec![0; parts.as_slice().buffer_len()];
    parts.as_slice().emit(&mut value);
    DefaultNla::new(kind | NLA_F_NESTED, value)
}

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

const CMD_GET_ADDR: u8 = 3;
const CMD_GET_LIMITS: u8 = 6;
const CMD_SET_FLAGS: u8 = 7;
const CMD_ANNOUNCE: u8 = 8;
const CMD_REMOVE: u8 = 9;
const CMD_SUBFLOW_CREATE: u8 = 10;
const CMD_SUBFLOW_DESTROY: u8 = 11;

const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ATTR_TOKEN: u16 = 4;
const ATTR_LOC_ID: u16 = 5;
const ATTR_ADDR_REMOTE: u16 = 6;

const ADDR_FAMILY: u16 = 1;
const ADDR_ID: u16 = 2;
const ADDR_ADDR4: u16 = 3;
const ADDR_ADDR6: u16 = 4;
const ADDR_PORT: u16 = 5;
const ADDR_FLAGS: u16 = 6;

const FLAG_SIGNAL: u32 = 1;
const FLAG_SUBFLOW: u32 = 2;
const FLAG_BACKUP: u32 = 4;
/// Subflows of such an endpoint go to announced addresses, since Linux 6.18.
const FLAG_LAMINAR: u32 = 1 << 5;

const EVENT_ESTABLISHED: u8 = 2;
const EVENT_CLOSED: u8 = 3;
const EVENT_ANNOUNCED: u8 = 6;
const EVENT_REMOVED: u8 = 7;
const EVENT_SUB_ESTABLISHED: u8 = 10;
const EVENT_SUB_CLOSED: u8 = 11;

const EVENT_ATTR_TOKEN: u16 = 1;
const EVENT_ATTR_LOC_ID: u16 = 3;
const EVENT_ATTR_REM_ID: u16 = 4;
const EVENT_ATTR_SADDR4: u16 = 5;
const EVENT_ATTR_SADDR6: u16 = 6;
const EVENT_ATTR_DADDR4: u16 = 7;
const EVENT_ATTR_DADDR6: u16 = 8;
const EVENT_ATTR_SPORT: u16 = 9;
const EVENT_ATTR_DPORT: u16 = 10;
const EVENT_ATTR_BACKUP: u16 = 11;
const EVENT_ATTR_FLAGS: u16 = 13;
const EVENT_ATTR_SERVER_SIDE: u16 = 18;

/// Newer kernels say it in the flags as well.
const EVENT_FLAG_SERVER_SIDE: u16 = 1 << 1;

#[cfg(test)]
mod tests {
    use netlink_packet_core::NetlinkMessage;
    use netlink_packet_generic::GenlMessage;
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> DefaultNla {
        DefaultNla::new(kind, value.to_vec())
    }

    fn joined() -> Message {
        Message {
            command: EVENT_SUB_ESTABLISHED,
            attributes: vec![
                attribute(EVENT_ATTR_TOKEN, &7_u32.to_ne_bytes()),
                attribute(EVENT_ATTR_LOC_ID, &[1]),
                attribute(EVENT_ATTR_REM_ID, &[0]),
                attribute(EVENT_ATTR_SADDR4, &[10, 0, 0, 1]),
                attribute(EVENT_ATTR_DADDR4, &[10, 0, 0, 2]),
                attribute(EVENT_ATTR_SPORT, &1000_u16.to_be_bytes()),
                attribute(EVENT_ATTR_DPORT, &80_u16.to_be_bytes()),
                attribute(EVENT_ATTR_BACKUP, &[1]),
            ],
        }
    }

    #[test]
    fn an_event_is_read() {
        let expected = Event::SubflowEstablished {
            token: 7,
            subflow: Subflow {
                local_id: 1,
                remote_id: 0,
                local: "10.0.0.1:1000".parse().unwrap(),
                remote: "10.0.0.2:80".parse().unwrap(),
                backup: true,
            },
        };
        assert_eq!(joined().event().unwrap(), Some(expected));
    }

    #[test]
    fn an_event_that_lacks_an_address_or_has_one_of_a_wrong_length_is_refused() {
        for broken in [attribute(0xff, &[]), attribute(EVENT_ATTR_SADDR4, &[10, 0, 0])] {
            let mut message = joined();
            message.attributes[3] = broken;
            assert!(message.event().is_err());
        }
    }

    #[test]
    fn a_command_has_the_layout_that_the_kernel_reads() {
        let message = Message::from(&Command::SetBackup {
            token: 0x0102_0304,
            local: "10.0.0.1:1000".parse().unwrap(),
            remote: "[fd00::1]:80".parse().unwrap(),
            backup: true,
        });
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        let nested = |kind: u16| kind | NLA_F_NESTED;
        let mut expected = Vec::new();
        let mut put = |length: u16, kind: u16, value: &[u8]| {
            expected.extend_from_slice(&length.to_ne_bytes());
            expected.extend_from_slice(&kind.to_ne_bytes());
            expected.extend_from_slice(value);
        };
        put(8, ATTR_TOKEN, &0x0102_0304_u32.to_ne_bytes());
        put(36, nested(ATTR_ADDR), &[]);
        put(6, ADDR_FAMILY, &[2, 0, 0, 0]);
        put(8, ADDR_ADDR4, &[10, 0, 0, 1]);
        put(6, ADDR_PORT, &[0xe8, 3, 0, 0]);
        put(8, ADDR_FLAGS, &4_u32.to_ne_bytes());
        put(40, nested(ATTR_ADDR_REMOTE), &[]);
        put(6, ADDR_FAMILY, &[10, 0, 0, 0]);
        put(20, ADDR_ADDR6, &"fd00::1".parse::<Ipv6Addr>().unwrap().octets());
        put(6, ADDR_PORT, &[80, 0, 0, 0]);
        assert_eq!(bytes, expected);
    }

    proptest! {
        /// Any message is read or refused without a panic.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), command in 0_u8..20) {
            let header = GenlHeader { cmd: command, version: 1 };
            if let Ok(message) = Message::parse_with_param(bytes.as_slice(), header) {
                let _ = message.event();
            }
            let _ = NetlinkMessage::<GenlMessage<Message>>::deserialize(&bytes);
        }
    }
}
