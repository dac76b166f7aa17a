//! Queries TCP sockets, listeners and MPTCP subflows through the kernel's `sock_diag` interface, as `ss` does. The daemon needs
//! them for connections older than itself, after lost events, and for the bytes of connections whose congestion control does not
//! report them.

use std::io;
use std::net::SocketAddr;

use netlink_packet_core::{
    DefaultNla, NLA_TYPE_MASK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkPayload, Nla as _, NlasIterator,
    parse_string, parse_u8, parse_u32, parse_u64,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::channel::{append, connected, receive};
use super::{FourTuple, Namespace, Subflow, Token};

/// An MPTCP subflow in the kernel's list of sockets.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagSubflow {
    /// Token of the connection.
    pub token: Token,
    /// The subflow.
    pub subflow: Subflow,
    /// Whether the handshake is complete; false while the SYN waits for its answer.
    pub established: bool,
    /// Whether the subflow is the first of its connection.
    pub initial: bool,
    /// Whether this host accepted the connection. Valid only if `initial` is true.
    pub server: bool,
    /// Congestion control of the subflow.
    pub congestion: String,
    /// Number of bytes acknowledged and received on the subflow.
    pub bytes: u64,
    /// Whether ECN was negotiated.
    pub ecn: bool,
}

/// A listening TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Local address and port.
    pub local: SocketAddr,
    /// Congestion control that accepted connections inherit.
    pub congestion: String,
}

/// Returns all MPTCP subflows of a namespace that are established or have sent a SYN.
///
/// # Errors
/// Returns an error if the namespace cannot be entered or the kernel refuses the request.
pub fn mptcp_subflows(namespace: &Namespace) -> io::Result<Vec<DiagSubflow>> {
    let mut all = Vec::new();
    let states = StateFlags::ESTABLISHED | StateFlags::SYN_SENT;
    dump(namespace, &states, |socket| {
        all.extend(parse_subflow(socket));
    })?;
    Ok(all)
}

/// Returns the four-tuples of all TCP sockets of a namespace, except those in `LISTEN` and `TIME_WAIT`.
///
/// # Errors
/// Returns an error if the namespace cannot be entered or the kernel refuses the request.
pub fn sockets(namespace: &Namespace) -> io::Result<Vec<FourTuple>> {
    let mut all = Vec::new();
    let states = StateFlags::all() - StateFlags::LISTEN - StateFlags::TIME_WAIT;
    dump(namespace, &states, |socket| {
        let id = &socket.header.socket_id;
        let local = SocketAddr::new(id.source_address, id.source_port);
        all.push((
            local,
            SocketAddr::new(id.destination_address, id.destination_port),
        ));
    })?;
    Ok(all)
}

/// Returns all listening TCP sockets of a namespace.
///
/// # Errors
/// Returns an error if the namespace cannot be entered or the kernel refuses the request.
pub fn listeners(namespace: &Namespace) -> io::Result<Vec<Listener>> {
    let mut all = Vec::new();
    dump(namespace, &StateFlags::LISTEN, |socket| {
        let id = &socket.header.socket_id;
        all.push(Listener {
            local: SocketAddr::new(id.source_address, id.source_port),
            congestion: congestion(socket),
        });
    })?;
    Ok(all)
}

fn dump(namespace: &Namespace, states: &StateFlags, mut handle: impl FnMut(&InetResponse)) -> io::Result<()> {
    let socket = namespace.run_in(|| connected(NETLINK_SOCK_DIAG))?;
    for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        let request = SockDiagMessage::InetRequest(InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
            states: states.clone(),
            socket_id,
        });
        let mut buffer = Vec::new();
        append(&mut buffer, request, NLM_F_REQUEST | NLM_F_DUMP, 1);
        socket.send(&buffer, 0)?;
        let mut done = false;
        while !done {
            receive::<SockDiagMessage>(&socket, |_, payload| {
                match payload {
                    NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(socket)) => handle(&socket),
                    NetlinkPayload::Done(_) => done = true,
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    _ => {}
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn congestion(socket: &InetResponse) -> String {
    let name = socket.nlas.iter().find_map(|attribute| match attribute {
        Nla::Congestion(name) => Some(name.clone()),
        _ => None,
    });
    name.unwrap_or_default()
}

/// Decodes a TCP socket as a subflow of MPTCP. Returns `None` if it is not one or has fallen back to TCP.
fn parse_subflow(socket: &InetResponse) -> Option<DiagSubflow> {
    let mptcp = socket.nlas.iter().find_map(|attribute| match attribute {
        Nla::Other(other) if other.kind() & NLA_TYPE_MASK == INET_DIAG_ULP_INFO => mptcp_info(other),
        _ => None,
    })?;
    let info = socket.nlas.iter().find_map(|attribute| match attribute {
        Nla::TcpInfo(info) => Some(info.as_slice()),
        _ => None,
    });
    let info = info.unwrap_or_default();
    let id = &socket.header.socket_id;
    let joined = mptcp.flags & (FLAG_JOIN_REM | FLAG_JOIN_LOC) != 0;
    Some(DiagSubflow {
        token: mptcp.token,
        subflow: Subflow {
            local_id: mptcp.local_id,
            remote_id: mptcp.remote_id,
            local: SocketAddr::new(id.source_address, id.source_port),
            remote: SocketAddr::new(id.destination_address, id.destination_port),
            backup: mptcp.flags & FLAG_BACKUP_LOC != 0,
        },
        established: socket.header.state != TCP_SYN_SENT,
        initial: !joined,
        server: mptcp.flags & FLAG_CAPABLE_LOC == 0,
        congestion: congestion(socket),
        bytes: read_u64(info, TCPI_BYTES_ACKED) + read_u64(info, TCPI_BYTES_RECEIVED),
        ecn: info
            .get(TCPI_OPTIONS)
            .is_some_and(|options| options & TCPI_OPT_ECN != 0),
    })
}

#[derive(Default)]
struct MptcpInfo {
    token: Token,
    flags: u32,
    local_id: u8,
    remote_id: u8,
}

fn mptcp_info(ulp: &DefaultNla) -> Option<MptcpInfo> {
    let mut bytes = vec![0; ulp.value_len()];
    ulp.emit_value(&mut bytes);
    let (mut name, mut info) = (None, None);
    for attribute in NlasIterator::new(bytes.as_slice()).flatten() {
        match attribute.kind() & NLA_TYPE_MASK {
            INET_ULP_INFO_NAME => name = parse_string(attribute.value()).ok(),
            INET_ULP_INFO_MPTCP => info = Some(attribute.value().to_vec()),
            _ => {}
        }
    }
    let info = info.filter(|_| name.as_deref() == Some("mptcp"))?;
    let mut mptcp = MptcpInfo::default();
    for attribute in NlasIterator::new(info.as_slice()).flatten() {
        let value = attribute.value();
        match attribute.kind() & NLA_TYPE_MASK {
            SUBFLOW_ATTR_TOKEN_LOC => mptcp.token = parse_u32(value).ok()?,
            SUBFLOW_ATTR_FLAGS => mptcp.flags = parse_u32(value).ok()?,
            SUBFLOW_ATTR_ID_REM => mptcp.remote_id = parse_u8(value).ok()?,
            SUBFLOW_ATTR_ID_LOC => mptcp.local_id = parse_u8(value).ok()?,
            _ => {}
        }
    }
    // A connection that has fallen back to TCP has no token.
    (mptcp.token != 0).then_some(mptcp)
}

/// Reads a field of 64 bits of `struct tcp_info`; 0 if the struct of the running kernel ends before it.
fn read_u64(info: &[u8], offset: usize) -> u64 {
    info.get(offset..offset + 8)
        .and_then(|word| parse_u64(word).ok())
        .unwrap_or(0)
}

const TCP_SYN_SENT: u8 = 2;

const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_NAME: u16 = 1;
const INET_ULP_INFO_MPTCP: u16 = 3;

const SUBFLOW_ATTR_TOKEN_LOC: u16 = 2;
const SUBFLOW_ATTR_FLAGS: u16 = 8;
const SUBFLOW_ATTR_ID_REM: u16 = 9;
const SUBFLOW_ATTR_ID_LOC: u16 = 10;

const FLAG_CAPABLE_LOC: u32 = 1 << 1;
const FLAG_JOIN_REM: u32 = 1 << 2;
const FLAG_JOIN_LOC: u32 = 1 << 3;
const FLAG_BACKUP_LOC: u32 = 1 << 5;

// Offsets of fields in `struct tcp_info`.
const TCPI_OPTIONS: usize = 5;
const TCPI_BYTES_ACKED: usize = 120;
const TCPI_BYTES_RECEIVED: usize = 128;
/// The bit of `tcpi_options` that says that ECN was negotiated.
const TCPI_OPT_ECN: u8 = 8;
