//! Trimming in the [reference](super): data and headers wait in one list.

use std::collections::VecDeque;

use weft_fabric::{Overflow, QueueConfig, TrimTo, Trimming, Victim};
use weft_spec::QueueSize;

use super::queue::{STREAM, Source};
use super::random;
use crate::packet::{DATA, PROTECTED, Packet, TRIMMED, TRIMMED_AT_LAST_HOP};

/// The outcome for a packet that a queue has no room for.
pub enum Rest {
    /// The header waits with the others.
    Waits(Packet),
    /// There is no room for the header either.
    Lost(Packet),
    /// The header goes back to the sender.
    GoesBack(Packet),
}

/// The rules of a queue that trims.
pub struct Trims {
    stated: Trimming,
    port: QueueConfig,
    source: Source,
    at_switch: bool,
    coins: u64,
    /// Number of choices between a header and data so far.
    choices: u64,
}

impl Trims {
    pub fn new(stated: &Trimming, port: QueueConfig, source: Source, at_switch: bool) -> Self {
        Self {
            stated: stated.clone(),
            port,
            source,
            at_switch,
            coins: 0,
            choices: 0,
        }
    }

    /// Whether a packet is a header, or as small as one, or has no payload.
    pub fn is_header(&self, packet: &Packet) -> bool {
        packet.flags & DATA == 0
            || packet.flags & TRIMMED != 0
            || u64::from(packet.size) <= self.stated.size.0
    }

    /// Whether there is no room for a packet among those that wait.
    pub fn is_full(&self, packet: &Packet, waiting: &VecDeque<Packet>) -> bool {
        let header = self.is_header(packet);
        let alike = || waiting.iter().filter(|other| self.is_header(other) == header);
        let bytes: u64 = alike().map(|other| u64::from(other.size)).sum();
        let limit = match (header, self.stated.headers, self.port.limit) {
            (true, Some(limit), _) | (false, _, limit) => limit,
            (true, None, QueueSize::Packets(limit)) => QueueSize::Packets(2 * limit),
            (true, None, QueueSize::Bytes(limit)) => QueueSize::Bytes(2 * limit),
        };
        match limit {
            QueueSize::Packets(limit) => alike().count() >= limit as usize,
            QueueSize::Bytes(limit) => bytes + u64::from(packet.size) > limit,
        }
    }

    /// Whether data has reached the marking threshold.
    pub fn is_long(&self, waiting: &VecDeque<Packet>) -> bool {
        let data = || waiting.iter().filter(|other| !self.is_header(other));
        match self.port.mark {
            None => false,
            Some(QueueSize::Packets(mark)) => data().count() >= mark as usize,
            Some(QueueSize::Bytes(mark)) => data().map(|other| u64::from(other.size)).sum::<u64>() >= mark,
        }
    }

    /// The position of the packet that makes room, if it is not the arriving one.
    pub fn toss(&mut self, waiting: &VecDeque<Packet>) -> Option<usize> {
        if self.stated.victim == Victim::Arriving {
            return None;
        }
        self.coins += 1;
        let words = [
            (u64::from(self.source.link) << 32) + STREAM,
            (1 << 63) + self.coins,
        ];
        let heads = random(self.source.seed, words) < 1 << 63;
        let last = waiting.iter().rposition(|packet| !self.is_header(packet))?;
        (heads && waiting[last].flags & PROTECTED == 0).then_some(last)
    }

    /// Cuts a packet.
    pub fn cut(&self, packet: Packet, waiting: &VecDeque<Packet>) -> Rest {
        let header = Packet {
            size: self.stated.size.0 as u16,
            flags: (packet.flags | TRIMMED) & !TRIMMED_AT_LAST_HOP,
            ..packet
        };
        let is_last = header.route.is_at_destination();
        let last_hop = if is_last { TRIMMED_AT_LAST_HOP } else { 0 };
        let header = Packet {
            flags: header.flags | last_hop,
            ..header
        };
        if self.at_switch && self.stated.to == TrimTo::Sender {
            Rest::GoesBack(header)
        } else if self.is_full(&header, waiting) {
            self.bounce(header).map_or(Rest::Lost(header), Rest::GoesBack)
        } else {
            Rest::Waits(header)
        }
    }

    /// A header as it goes back because there was no room for it; `None` if it does not go back.
    pub fn bounce(&self, header: Packet) -> Option<Packet> {
        let goes = self.at_switch && self.stated.overflow == Overflow::Return && header.flags & TRIMMED != 0;
        let flags = header.flags | PROTECTED;
        goes.then_some(Packet { flags, ..header })
    }

    /// The position of the packet that is sent next.
    pub fn next(&mut self, waiting: &VecDeque<Packet>) -> Option<usize> {
        let header = waiting.iter().position(|packet| self.is_header(packet));
        let data = waiting.iter().position(|packet| !self.is_header(packet));
        if let (Some(header), Some(data)) = (header, data) {
            let Some(ratio) = self.stated.ratio else {
                return Some(header);
            };
            self.choices += 1;
            return Some(if self.choices.is_multiple_of(u64::from(ratio) + 1) {
                data
            } else {
                header
            });
        }
        header.or(data)
    }

    /// The data that waits in the unit of `unit`.
    pub fn data_waiting(&self, unit: QueueSize, waiting: &VecDeque<Packet>) -> f64 {
        let data = waiting.iter().filter(|packet| !self.is_header(packet));
        match unit {
            QueueSize::Packets(_) => data.count() as f64,
            QueueSize::Bytes(_) => data.map(|packet| f64::from(packet.size)).sum(),
        }
    }
}
