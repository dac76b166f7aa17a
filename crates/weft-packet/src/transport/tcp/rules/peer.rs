//! The other end of a connection whose packets a script writes. It answers handshakes by itself.

use weft_run::PacketKind;

use crate::engine::Context;
use crate::engine::route::{HopBits, Route};
use crate::packet::{DATA, Packet};
use crate::transport::tcp::wire::{ACK, SYN, SYN_ACK, kind};

/// A peer at the place of a middlebox: it records what hosts send, and sends what a script says.
pub struct Peer {
    /// Time until a SYN is answered.
    rtt: u64,
    /// Routes to the sender and to the receiver.
    ways: [Route; 2],
    /// Packets that have arrived, with their times.
    pub seen: Vec<Packet>,
    /// Packets that timers send, by key.
    pub outbox: Vec<Packet>,
    /// Slot of the subflow at the host.
    pub slot: u32,
}

impl Peer {
    pub fn new(rtt: u64, hops: HopBits) -> Self {
        Self {
            rtt,
            ways: [0, 1].map(|port| Route::from_ports(&[port], hops).unwrap()),
            seen: Vec::new(),
            outbox: Vec::new(),
            slot: 0,
        }
    }

    /// Adds a packet to those that a timer sends. Returns the timer's key.
    pub fn prepare(&mut self, packet: Packet, to_receiver: bool) -> u64 {
        self.outbox.push(Packet {
            route: self.ways[usize::from(to_receiver)],
            ..packet
        });
        self.outbox.len() as u64 - 1
    }

    pub fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.seen.push(*packet);
        let answer = match kind(packet) {
            Some(PacketKind::Syn) => {
                self.slot = packet.slot;
                Packet {
                    seq: 0,
                    flags: SYN_ACK,
                    ..*packet
                }
            }
            Some(PacketKind::SynAck) => {
                self.slot = packet.seq;
                return;
            }
            Some(PacketKind::JoinAck) => Packet {
                slot: self.slot,
                flags: packet.flags | ACK,
                ..*packet
            },
            _ => return,
        };
        debug_assert!(packet.flags & (DATA | SYN) == SYN);
        let wait = if packet.flags & ACK == 0 { self.rtt } else { 0 };
        let key = self.prepare(answer, false);
        cx.set_timer(cx.now + wait, key);
    }

    pub fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        let packet = self.outbox[key as usize];
        cx.send(&packet);
    }
}
