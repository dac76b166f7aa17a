//! The packets of a flow on the wire, from which its FCT on an idle network follows.

use weft_transports::{ConstantRateConfig, FctFrom, TcpConfig};

/// The packets that a transport makes of a flow's data, and the links that they may use at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFormat {
    /// Payload bytes of a full packet.
    pub payload: u32,
    /// Bytes of each data packet on the wire in addition to its payload.
    pub header: u32,
    /// Bytes of a message, beyond which no packet extends; `None` if a flow is one message.
    pub message: Option<u64>,
    /// Bytes on the wire of each of the two packets of a handshake that is a part of the FCT and precedes the data;
    /// `None` if there is none.
    pub handshake: Option<u32>,
    /// Bytes on the wire of a packet that the sender sends before the data, such as the acknowledgement that ends a
    /// handshake; `None` if there is none.
    pub confirmation: Option<u32>,
    /// The schedule of a source that does not send as fast as its link.
    pub schedule: Option<ConstantRateConfig>,
    /// Maximum number of paths that the flow uses at once; `None`: all of them.
    pub paths: Option<u32>,
    /// How the level that runs the flow counts time.
    pub timing: Timing,
}

/// A model of the time that data takes over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Each link sends a packet after it has received all of it.
    StoreAndForward,
    /// Data flows at the rate of the narrowest link. A handshake takes a round-trip time, and the last byte another
    /// half of one. A round-trip time is that of delays and of one full packet on the way there.
    Fluid,
}

impl WireFormat {
    /// Returns the format of a transport whose packets have a payload of up to `payload` bytes and one size of header.
    /// There is no handshake, and a flow uses one path.
    pub fn new(payload: u32, header: u32) -> Self {
        Self {
            payload,
            header,
            message: None,
            handshake: None,
            confirmation: None,
            schedule: None,
            paths: Some(1),
            timing: Timing::StoreAndForward,
        }
    }

    /// Returns the format of TCP with the sizes of the transport's profile, for a flow that uses this many paths.
    pub fn of_tcp(tcp: &TcpConfig, paths: Option<u32>) -> Self {
        let profile = &tcp.profile;
        let is_timed = profile.connection.fct_from == FctFrom::Open;
        Self {
            handshake: is_timed.then_some(profile.sizes.ack_size),
            confirmation: Some(profile.sizes.ack_size),
            paths,
            ..Self::new(profile.sizes.mss, profile.wire_size() - profile.sizes.mss)
        }
    }

    /// Returns the packets of a flow of this many bytes, at least 1.
    pub(crate) fn packets(&self, bytes: u64) -> Packets {
        let header = u64::from(self.header);
        let message = self.message.unwrap_or(u64::MAX);
        // A message below a packet is a packet.
        let payload = u64::from(self.payload).min(message).max(1);
        let wire = |payload: u64| payload + header;
        let rest = match message % payload {
            _ if message >= bytes => 0,
            rest => rest,
        };
        let messages = if rest == 0 { 0 } else { (bytes - 1) / message };
        let last_message = bytes - messages * if rest == 0 { 0 } else { message };
        let full_at_end = (last_message - 1) / payload;
        let last = wire(last_message - full_at_end * payload);
        // Packets of a message that has a short one, without that one.
        let full = messages * (message / payload) + full_at_end;
        let is_short_at_end = full_at_end == 0 && messages > 0;
        Packets {
            full: wire(payload),
            full_count: full,
            short: wire(rest),
            short_count: messages - u64::from(is_short_at_end),
            short_at_end: is_short_at_end,
            last,
        }
    }
}

/// The packets of a flow, in bytes on the wire: full ones with short ones between them, then perhaps one short one,
/// then the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packets {
    pub full: u64,
    /// Number of full packets, without the last packet.
    pub full_count: u64,
    /// The last packet of each message but the last message.
    pub short: u64,
    /// Number of short packets before the last full one.
    pub short_count: u64,
    /// True if there is another one between the last full packet and the last packet.
    pub short_at_end: bool,
    pub last: u64,
}

impl Packets {
    /// Returns the bytes of all packets.
    pub fn bytes(&self) -> u64 {
        let short = self.short_count + u64::from(self.short_at_end);
        self.full * self.full_count + self.short * short + self.last
    }

    /// Returns the number of all packets.
    pub fn count(&self) -> u64 {
        self.full_count + self.short_count + u64::from(self.short_at_end) + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_carry_all_bytes(payload in 1..50_u32, message in 1..200_u64, bytes in 1..2000_u64, whole: bool) {
            let message = (!whole).then_some(message);
            let format = WireFormat { message, ..WireFormat::new(payload, 7) };
            let packets = format.packets(bytes);
            // One by one.
            let mut sizes = Vec::new();
            let (mut left, mut in_message) = (bytes, message.unwrap_or(u64::MAX));
            while left > 0 {
                let size = left.min(payload.into()).min(in_message);
                sizes.push(size + 7);
                left -= size;
                in_message -= size;
                if in_message == 0 {
                    in_message = message.unwrap_or(u64::MAX);
                }
            }
            prop_assert_eq!(packets.bytes(), sizes.iter().sum::<u64>());
            prop_assert_eq!(packets.count(), sizes.len() as u64);
            prop_assert_eq!(packets.last, *sizes.last().unwrap());
            if packets.full_count > 0 {
                prop_assert_eq!(packets.full, sizes[0]);
                let last_full = sizes[..sizes.len() - 1].iter().rposition(|&size| size == packets.full).unwrap();
                prop_assert_eq!(sizes.len() - 1 - last_full, 1 + usize::from(packets.short_at_end));
            } else {
                prop_assert_eq!(sizes.len(), 1);
            }
        }
    }
}
