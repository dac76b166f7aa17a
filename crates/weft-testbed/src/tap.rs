//! Packets that leave a host: a packet socket on its interfaces receives the headers, with time stamps of the kernel.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};

/// A packet socket of a host.
#[derive(Debug)]
pub struct Tap {
    socket: Socket,
    /// The same moment by two clocks.
    clocks: (SystemTime, Instant),
}

/// A TCP packet with data, or that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Source of the packet.
    pub from: SocketAddrV4,
    /// Where its data begins in the byte stream, but for where that begins.
    pub position: StreamPosition,
    /// Payload bytes.
    pub length: u32,
}

/// A position in a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPosition {
    /// Start of the stream of TCP: the number after the sequence number of the SYN.
    Syn(u32),
    /// TCP's sequence number.
    TcpSeq(u32),
    /// MPTCP's data sequence number.
    DataSeq(u64),
}

impl Tap {
    /// In the calling thread's namespace, on all its interfaces.
    pub fn open() -> io::Result<Self> {
        // The protocol is in network byte order.
        let all = i32::from(ALL_PROTOCOLS.to_be());
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(all)))?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
        let tap = Self {
            socket,
            clocks: (SystemTime::now(), Instant::now()),
        };
        tap.stamp(); // from now on there are stamps
        Ok(tap)
    }

    /// Calls `handle` for every packet since the last call, with its departure time.
    pub fn drain(&self, mut handle: impl FnMut(&CapturedPacket, Instant)) {
        let mut headers = [0; HEADERS];
        // A longer packet is truncated.
        while let Ok(length) = (&self.socket).read(&mut headers) {
            if let Some(packet) = parse(&headers[..length]) {
                handle(&packet, self.stamp().unwrap_or_else(Instant::now));
            }
        }
    }

    /// Returns the time at which the packet that was received last left.
    #[allow(unsafe_code)]
    fn stamp(&self) -> Option<Instant> {
        let mut time = nix::libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: SIOCGSTAMPNS writes a timespec of the platform's own layout, which outlives the call.
        let code = unsafe { nix::libc::ioctl(self.socket.as_raw_fd(), SIOCGSTAMPNS, &raw mut time) };
        if code < 0 {
            return None;
        }
        let since_1970 = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        let (real, steady) = self.clocks;
        let since = (SystemTime::UNIX_EPOCH + since_1970).duration_since(real).ok()?;
        Some(steady + since)
    }
}

/// Reads the headers of an IPv4 packet.
fn parse(packet: &[u8]) -> Option<CapturedPacket> {
    let narrow = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_be_bytes(packet.get(at..at + 4)?.try_into().ok()?));
    let first = *packet.first()?;
    let tcp = usize::from(first & 0xf) * 4;
    if first >> 4 != 4 || *packet.get(9)? != TCP {
        return None;
    }
    let from = SocketAddrV4::new(Ipv4Addr::from(word(12)?), narrow(tcp)?);
    let payload = tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4;
    let length = usize::from(narrow(2)?).checked_sub(payload)? as u32;
    let sequence = word(tcp + 4)?;
    let opens = packet.get(tcp + 13)? & SYN != 0;
    if !opens && length == 0 {
        return None;
    }
    let position = if opens {
        StreamPosition::Syn(sequence.wrapping_add(1))
    } else {
        let options = packet.get(tcp + 20..payload.min(packet.len()))?;
        data_sequence(options).map_or(StreamPosition::TcpSeq(sequence), StreamPosition::DataSeq)
    };
    Some(CapturedPacket {
        from,
        position,
        length,
    })
}

/// The data sequence number that MPTCP's DSS option has for a packet's data (RFC 8684, section 3.3).
fn data_sequence(mut options: &[u8]) -> Option<u64> {
    loop {
        let (&kind, rest) = options.split_first()?;
        match kind {
            0 => return None,
            1 => options = rest,
            _ => {
                let length = usize::from(*rest.first()?);
                let option = options.get(..length.max(2))?;
                options = &options[option.len()..];
                if kind != MPTCP || option.get(2)? >> 4 != DSS {
                    continue;
                }
                let flags = *option.get(3)?;
                if flags & (DSN_PRESENT | DSN_OF_8_BYTES) != DSN_PRESENT | DSN_OF_8_BYTES {
                    return None;
                }
                let acknowledgement = match flags & 3 {
                    1 => 4,
                    3 => 8,
                    _ => 0,
                };
                let at = 4 + acknowledgement;
                return Some(u64::from_be_bytes(option.get(at..at + 8)?.try_into().ok()?));
            }
        }
    }
}

/// `ETH_P_ALL`.
const ALL_PROTOCOLS: u16 = 3;
/// Bytes of packets that may wait to be looked at.
const BUFFER: usize = 8 << 20;
/// IPv4's and TCP's at their longest.
const HEADERS: usize = 120;
const TCP: u8 = 6;
const SYN: u8 = 2;
const MPTCP: u8 = 30;
/// Subtype of MPTCP's option.
const DSS: u8 = 2;
const DSN_PRESENT: u8 = 4;
const DSN_OF_8_BYTES: u8 = 8;
// linux/sockios.h: SIOCGSTAMPNS_OLD.
const SIOCGSTAMPNS: nix::libc::Ioctl = 0x8907;

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.128.0.1:5 sends 100 bytes with these TCP options.
    fn packet(flags: u8, options: &[u8]) -> Vec<u8> {
        let header = 20 + options.len();
        let mut bytes = vec![0; 20];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&(20 + header as u16 + 100).to_be_bytes());
        bytes[9] = TCP;
        bytes[12..16].copy_from_slice(&[10, 128, 0, 1]);
        bytes.extend([0, 5, 0, 6, 1, 2, 3, 4, 0, 0, 0, 0, (header as u8 / 4) << 4, flags]);
        bytes.extend([0; 6]);
        bytes.extend(options);
        bytes
    }

    #[test]
    fn packets_have_a_position() {
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 128, 0, 1), 5);
        let captured = |position| {
            Some(CapturedPacket {
                from,
                position,
                length: 100,
            })
        };
        assert_eq!(
            parse(&packet(0x10, &[])),
            captured(StreamPosition::TcpSeq(0x0102_0304))
        );
        assert_eq!(
            parse(&packet(SYN, &[])),
            captured(StreamPosition::Syn(0x0102_0305))
        );
        // No-operations, a time stamp, then a mapping behind acknowledgements of 0, 4 and 8 bytes.
        for (flags, acknowledgement) in [(0xc, 0), (0xd, 4), (0xf, 8)] {
            let mut options = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
            options.extend([30, 4 + acknowledgement + 16, 0x20, flags]);
            options.extend(vec![9; acknowledgement.into()]);
            options.extend([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 0, 100, 0, 0]);
            assert_eq!(
                parse(&packet(0x10, &options)),
                captured(StreamPosition::DataSeq(0x0102_0304_0506_0708))
            );
        }
    }

    #[test]
    fn what_is_cut_off_or_something_else_has_none() {
        let whole = packet(0x10, &[30, 24, 0x20, 0xc]);
        assert!((0..34).all(|length| parse(&whole[..length]).is_none()));
        assert_eq!(parse(&[0x60; 60]), None, "IPv6");
        let mut bare = packet(0x10, &[]);
        bare[2..4].copy_from_slice(&40_u16.to_be_bytes());
        assert_eq!(parse(&bare), None, "no data");
    }
}
