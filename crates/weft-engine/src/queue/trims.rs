//! Packet trimming: data that does not fit is cut to its header. Handley et al., "Re-architecting
//! datacenter networks and stacks for low latency and high performance" (NDP, SIGCOMM 2017).

use weft_fabric::{Overflow, QueueConfig, TrimTo, Victim};
use weft_spec::QueueSize;

use super::served::{Arrival, Fate};
use super::{Decision, PacketQueue, Red};
use crate::admission::{exceeds, has_reached};
use crate::hash::uniform;
use crate::packet::{CE, DATA, ECT, PROTECTED, Packet, TRIMMED, TRIMMED_AT_LAST_HOP};

/// Bit of the numbers of a port's draws of victims. Other draws leave it clear.
const VICTIMS: u64 = 1 << 63;

/// A FIFO of headers and packets without payload, which is class 0, and a FIFO of data, which is class 1.
pub struct TrimmingQueue {
    headers: Fifo,
    data: Fifo,
    mark: Option<QueueSize>,
    ramp: Option<Box<Red>>,
    /// Bytes of a header.
    size: u16,
    /// Number of headers that are sent per data packet while both wait; `None` if headers are always first.
    ratio: Option<u32>,
    /// Position in a turn of `ratio` headers and a data packet.
    turn: u32,
    cuts_random: bool,
    /// True if headers go back to the sender instead of into the queue.
    sends_back: bool,
    /// True if headers for which there is no room go back to the sender.
    returns_excess: bool,
    /// The port's stream of random numbers, and how many were drawn for victims.
    stream: u64,
    draws: u64,
}

/// Waiting packets with their limit.
struct Fifo {
    packets: PacketQueue,
    limit: QueueSize,
}

impl TrimmingQueue {
    /// Creates empty queues for a port with this limit and threshold. Headers go back to the sender only if
    /// `is_switch`.
    pub fn new(
        trimming: &weft_fabric::Trimming,
        port: QueueConfig,
        stream: u64,
        max_packet: u32,
        is_switch: bool,
    ) -> Self {
        let fifo = |limit| Fifo {
            packets: PacketQueue::default(),
            limit,
        };
        Self {
            headers: fifo(trimming.header_limit(port)),
            data: fifo(port.limit),
            mark: port.mark,
            ramp: trimming
                .ramp()
                .map(|ramp| Box::new(Red::new(ramp, stream, max_packet))),
            size: trimming.size.0 as u16,
            ratio: trimming.ratio,
            turn: 0,
            cuts_random: trimming.victim == Victim::Random,
            sends_back: is_switch && trimming.to == TrimTo::Sender,
            returns_excess: is_switch && trimming.overflow == Overflow::Return,
            stream,
            draws: 0,
        }
    }

    /// Returns the class of a packet: 0 for headers, 1 for data.
    pub fn class_of(&self, packet: &Packet) -> usize {
        let is_whole = packet.flags & (DATA | TRIMMED) == DATA;
        usize::from(is_whole && packet.size > self.size)
    }

    /// Returns the number of packets that wait.
    pub fn len(&self) -> usize {
        self.headers.packets.len() + self.data.packets.len()
    }

    /// The packets that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.headers.packets.iter().chain(self.data.packets.iter())
    }

    /// Handles an arriving packet.
    pub fn offer(&mut self, mut packet: Packet) -> Arrival {
        if self.class_of(&packet) == 0 {
            if packet.flags & PROTECTED == 0 && self.headers.is_full(packet.size) {
                return self.refused(packet);
            }
            self.headers.packets.push(packet);
            return Arrival::accepted(false);
        }
        let (mut victim, mut marked) = (None, false);
        if packet.flags & PROTECTED == 0 {
            if self.data.is_full(packet.size) {
                let Some(last) = self.displaced() else {
                    return self.cut(packet, false);
                };
                victim = Some(last);
            }
            let waiting = |unit| self.data.packets.waiting_in(unit);
            marked = packet.flags & ECT != 0 && has_reached(self.mark, waiting);
            if marked {
                packet.flags |= CE;
            }
        }
        let arrival = match victim {
            None => Arrival::accepted(marked),
            Some(victim) => self.cut(victim, true),
        };
        self.data.packets.push(packet);
        Arrival { marked, ..arrival }
    }

    /// Refuses a header or a packet without payload.
    fn refused(&self, packet: Packet) -> Arrival {
        if !self.returns_excess || packet.flags & TRIMMED == 0 {
            return Arrival::dropped(packet);
        }
        Arrival {
            accepted: false,
            marked: false,
            victim: Some((packet, returned(packet), Fate::SentBack)),
        }
    }

    /// Removes the last data packet to make room, unless the arriving packet has to be cut.
    fn displaced(&mut self) -> Option<Packet> {
        if !self.cuts_random {
            return None;
        }
        self.draws += 1;
        let last = self.data.packets.back()?;
        if uniform(self.stream, VICTIMS | self.draws) >= 0.5 || last.flags & PROTECTED != 0 {
            return None;
        }
        self.data.packets.pop_back()
    }

    /// Cuts a packet that is in none of the queues. `makes_room` is true if another packet arrived.
    fn cut(&mut self, packet: Packet, makes_room: bool) -> Arrival {
        let last_hop = if packet.route.is_at_destination() {
            TRIMMED_AT_LAST_HOP
        } else {
            0
        };
        let header = Packet {
            size: self.size,
            flags: packet.flags & !TRIMMED_AT_LAST_HOP | TRIMMED | last_hop,
            ..packet
        };
        let (left, fate) = if self.sends_back {
            (header, Fate::SentBack)
        } else if !self.headers.is_full(header.size) {
            self.headers.packets.push(header);
            (header, Fate::Queued)
        } else if self.returns_excess {
            (returned(header), Fate::SentBack)
        } else {
            (header, Fate::Dropped)
        };
        Arrival {
            accepted: makes_room,
            marked: false,
            victim: Some((packet, left, fate)),
        }
    }

    /// Removes the packet that is sent next. Also returns whether it is marked.
    pub fn pop(&mut self) -> Option<(Packet, Decision)> {
        let mut data_first = self.headers.packets.is_empty();
        if let Some(ratio) = self
            .ratio
            .filter(|_| !data_first && !self.data.packets.is_empty())
        {
            self.turn += 1;
            data_first = self.turn > ratio;
            if data_first {
                self.turn = 0;
            }
        }
        if !data_first {
            return Some((self.headers.packets.pop()?, Decision::Accept));
        }
        let packet = self.data.packets.pop()?;
        let waiting = |unit| self.data.packets.waiting_in(unit);
        let decision = match &mut self.ramp {
            Some(ramp) if packet.flags & PROTECTED == 0 => ramp.decide(waiting(ramp.unit()), 0),
            _ => Decision::Accept,
        };
        Some((packet, decision))
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        let headers = self.headers.packets.drain();
        headers.chain(self.data.packets.drain()).collect()
    }
}

/// Returns a header that goes back to the sender because there was no room for it. No queue refuses it, so it
/// is never returned twice.
fn returned(header: Packet) -> Packet {
    Packet {
        flags: header.flags | PROTECTED,
        ..header
    }
}

impl Fifo {
    fn is_full(&self, size: u16) -> bool {
        exceeds(self.limit, |unit| self.packets.waiting_in(unit), size.into())
    }
}
