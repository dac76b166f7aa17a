//! TCP and MPTCP sockets, and what the kernel reports about them.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Socket options of a connection.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Name of the congestion control in the kernel.
    pub cc: String,
    /// More than one subflow: MPTCP; else plain TCP.
    pub multipath: bool,
    /// Bytes of the receiver's socket; the kernel's own choice if none.
    pub receive_buffer: Option<usize>,
    /// Payload bytes of a full packet.
    pub segment: u32,
}

/// A socket in the calling thread's namespace that does not block.
fn open(options: &SocketOptions) -> io::Result<Socket> {
    let protocol = if options.multipath {
        Protocol::MPTCP
    } else {
        Protocol::TCP
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
    socket.set_nonblocking(true)?;
    socket
        .set_tcp_congestion(options.cc.as_bytes())
        .map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("congestion control {:?}: {error}", options.cc),
            )
        })?;
    // A stopped experiment leaves nothing that would still be sent.
    socket.set_linger(Some(Duration::ZERO))?;
    Ok(socket)
}

/// A socket bound to its address, ready to connect.
pub fn sender(options: &SocketOptions, from: Ipv4Addr) -> io::Result<Socket> {
    let socket = open(options)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    Ok(socket)
}

/// A socket that listens on all addresses of its namespace.
pub fn listener(options: &SocketOptions, port: u16) -> io::Result<Socket> {
    let socket = open(options)?;
    if let Some(bytes) = options.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Begins to connect.
pub fn connect(socket: &Socket, to: SocketAddr) -> io::Result<()> {
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() == Some(nix::libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Reads and forgets. Returns the bytes read; 0 is the end.
pub fn discard(socket: &Socket, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    socket.recv(buffer)
}

/// State of TCP for one subflow, or for a plain connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow-start threshold in packets; `u32::MAX >> 1` (`TCP_INFINITE_SSTHRESH`) and above is none.
    pub ssthresh: u32,
    /// Smoothed RTT in us.
    pub rtt_us: u32,
    /// Packets sent and not acknowledged.
    pub unacked: u32,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Data packets sent.
    pub sent: u32,
    /// Data packets received.
    pub received: u32,
    /// Packets acknowledged with a mark.
    pub marked: u32,
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// Time for which the send buffer limited the subflow, in us.
    pub sndbuf_limited_us: u64,
    /// Retransmission timeouts; kernels before 6.7 do not count them.
    pub timeouts: u32,
    /// TCP's state; 1 is established.
    pub state: u8,
}

impl TcpInfo {
    /// Reads `struct tcp_info` (linux/tcp.h); a field that an older kernel lacks is 0.
    fn parse(bytes: &[u8]) -> Self {
        let read_u32 = |at: usize| {
            let found = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            found.map_or(0, u32::from_ne_bytes)
        };
        let read_u64 = |at: usize| u64::from(read_u32(at)) | u64::from(read_u32(at + 4)) << 32;
        Self {
            state: bytes.first().copied().unwrap_or(0),
            unacked: read_u32(24),
            rtt_us: read_u32(68),
            ssthresh: read_u32(76),
            cwnd: read_u32(80),
            retransmitted: read_u32(100),
            acked_bytes: read_u64(120),
            sndbuf_limited_us: read_u64(184),
            received: read_u32(152),
            sent: read_u32(156),
            marked: read_u32(196),
            timeouts: read_u32(240) & 0xffff,
        }
    }
}

/// Of every subflow that there is, the first one first; of a plain connection one.
pub fn subflows(socket: &Socket, multipath: bool) -> io::Result<Vec<TcpInfo>> {
    let mut buffer = vec![0; INFO * MAX_SUBFLOWS + SUBFLOW_DATA];
    if !multipath {
        let length = option(
            socket.as_raw_fd(),
            nix::libc::IPPROTO_TCP,
            nix::libc::TCP_INFO,
            &mut buffer,
        )?;
        return Ok(vec![TcpInfo::parse(&buffer[..length])]);
    }
    // struct mptcp_subflow_data: its own size, number of subflows, their size in the kernel, their size here.
    buffer[..4].copy_from_slice(&(SUBFLOW_DATA as u32).to_ne_bytes());
    buffer[12..16].copy_from_slice(&(INFO as u32).to_ne_bytes());
    let length = option(socket.as_raw_fd(), SOL_MPTCP, MPTCP_TCPINFO, &mut buffer)?;
    let number = buffer[4..8].try_into().map_or(0, u32::from_ne_bytes) as usize;
    let each = buffer[SUBFLOW_DATA..length.max(SUBFLOW_DATA)].chunks_exact(INFO);
    Ok(each.take(number).map(TcpInfo::parse).collect())
}

/// An MPTCP connection's token; none where it fell back to TCP.
pub fn token(socket: &Socket) -> io::Result<Option<u32>> {
    let mut buffer = [0; 64];
    let length = option(socket.as_raw_fd(), SOL_MPTCP, MPTCP_INFO, &mut buffer)?;
    let number = |at: usize| buffer[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
    let fallback = number(8) & MPTCP_INFO_FLAG_FALLBACK != 0;
    Ok((length >= 16 && !fallback).then(|| number(12)))
}

/// Reads a socket option. Returns its length.
#[allow(unsafe_code)]
fn option(socket: RawFd, level: i32, name: i32, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = buffer.len() as nix::libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the buffer's own length, and the new length; both outlive the call,
    // and any bytes are a valid [u8].
    let code =
        unsafe { nix::libc::getsockopt(socket, level, name, buffer.as_mut_ptr().cast(), &raw mut length) };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((length as usize).min(buffer.len()))
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes of `struct tcp_info` that are looked at, with room for what later kernels add.
const INFO: usize = 256;
const MAX_SUBFLOWS: usize = 8;
/// `struct mptcp_subflow_data`.
const SUBFLOW_DATA: usize = 16;
// linux/mptcp.h.
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_INFO_FLAG_FALLBACK: u32 = 1;
