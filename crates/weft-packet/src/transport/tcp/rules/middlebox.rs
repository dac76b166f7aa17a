//! The middlebox on a path of a test connection: it records every packet that passes, and a rule
//! decides what it does with the packet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use weft_run::PacketKind;

use crate::engine::Context;
use crate::engine::route::{HopBits, Route};
use crate::packet::{DATA, Packet};
use crate::transport::tcp::wire::{self, ACK, SYN};

/// A packet that passed a middlebox.
#[derive(Clone, Debug)]
pub struct ObservedPacket {
    /// Time at which the packet arrived at the middlebox, in picoseconds.
    pub time: u64,
    pub kind: PacketKind,
    pub subflow: u32,
    /// Number of earlier packets of this kind on the subflow, without retransmissions.
    pub nth: u32,
    /// Number of earlier packets with the same data.
    pub again: u32,
    pub packet: Packet,
}

/// The action of a middlebox on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Sets CE.
    Mark,
    /// Forwards the packet this many picoseconds later.
    Late(u64),
}

/// The rule by which a test treats packets.
pub type Rule = Arc<Mutex<dyn FnMut(&ObservedPacket) -> Fate + Send>>;

/// A rule that passes every packet.
pub fn pass(_: &ObservedPacket) -> Fate {
    Fate::Pass
}

/// Returns a rule that holds all data that passes from time `from` on for `by` picoseconds, and
/// then forwards it in order.
pub fn stalled(from: u64, by: u64) -> impl FnMut(&ObservedPacket) -> Fate + Send {
    move |seen| {
        if seen.kind == PacketKind::Data && (from..from + by).contains(&seen.time) {
            Fate::Late(from + by - seen.time)
        } else {
            Fate::Pass
        }
    }
}

/// A middlebox with its rule, and the packets that have passed.
pub struct Middlebox {
    pub rule: Rule,
    /// Routes to the sender and to the receiver.
    pub ways: [Route; 2],
    pub seen: Vec<ObservedPacket>,
    /// Packets that are delayed.
    pub held: VecDeque<(u64, Packet)>,
    pub counts: HashMap<(PacketKind, u32), u32>,
    pub transmissions: HashMap<(u32, u32), u32>,
}

impl Middlebox {
    pub fn new(rule: Rule, hops: HopBits) -> Self {
        Self {
            rule,
            ways: [0, 1].map(|port| Route::from_ports(&[port], hops).unwrap()),
            seen: Vec::new(),
            held: VecDeque::new(),
            counts: HashMap::new(),
            transmissions: HashMap::new(),
        }
    }

    pub fn see(&mut self, packet: &Packet) -> Fate {
        let kind = wire::kind(packet).unwrap();
        let subflow = if kind == PacketKind::Ack {
            packet.slot
        } else {
            packet.hi
        };
        let mut again = 0;
        if kind == PacketKind::Data {
            let transmissions = self.transmissions.entry((subflow, packet.seq)).or_default();
            again = *transmissions;
            *transmissions += 1;
        }
        let count = self.counts.entry((kind, subflow)).or_default();
        let seen = ObservedPacket {
            time: packet.time,
            kind,
            subflow,
            nth: *count - u32::from(again > 0),
            again,
            packet: *packet,
        };
        *count += u32::from(again == 0);
        self.seen.push(seen.clone());
        let mut rule = self.rule.lock().unwrap();
        rule(&seen)
    }

    /// Forwards a packet to the other side.
    pub fn forward(&self, packet: &Packet, cx: &mut Context<'_>) {
        let to_receiver = packet.flags & DATA != 0 || packet.flags & (SYN | ACK) == SYN;
        cx.send(&Packet {
            route: self.ways[usize::from(to_receiver)],
            ..*packet
        });
    }
}
