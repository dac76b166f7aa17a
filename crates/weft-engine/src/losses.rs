//! Links that lose packets. A lost packet has waited in the queue and taken its time on the link, and does
//! not reach the far end. The receiving partition decides, in the order of arrival on the link.

use weft_fabric::{Link, Lossy, QueueKind};

use crate::hash::{loss_stream, uniform};
use crate::packet::{PROTECTED, Packet};

/// The losses of the links into a partition.
#[derive(Default)]
pub struct Losses {
    /// The losses of each ring; empty if no link loses packets.
    rings: Vec<Option<LinkLosses>>,
}

/// The losses of a link.
#[derive(Clone)]
struct LinkLosses {
    rule: Lossy,
    /// The link's stream of random numbers.
    stream: u64,
    /// Number of packets that the link might have lost.
    packets: u64,
    /// Number and bytes of the packets that it has lost.
    lost: (u64, u64),
}

impl Losses {
    /// Creates the losses of the links of a partition's rings: (number in the fabric, link).
    pub fn new<'a>(seed: u64, links: impl Iterator<Item = (u32, &'a Link)>) -> Self {
        let losses = |(number, link): (u32, &Link)| match link.kind {
            QueueKind::Lossy(rule) => Some(LinkLosses {
                rule,
                stream: loss_stream(seed, number),
                packets: 0,
                lost: (0, 0),
            }),
            _ => None,
        };
        let rings: Vec<_> = links.map(losses).collect();
        if rings.iter().all(Option::is_none) {
            return Self::default();
        }
        Self { rings }
    }

    /// Returns true if no link loses packets.
    pub fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Removes the packets that the link of `ring` loses from those that arrived over it, which `batch`
    /// has from `first` on. Returns the lost packets.
    pub fn remove_lost(&mut self, ring: usize, batch: &mut Vec<Packet>, first: usize) -> Vec<Packet> {
        let Some(Some(link)) = self.rings.get_mut(ring) else {
            return Vec::new();
        };
        batch.extract_if(first.., |packet| link.loses(packet)).collect()
    }

    /// Returns the number of packets that the links have lost.
    pub fn total(&self) -> u64 {
        self.rings.iter().flatten().map(|link| link.lost.0).sum()
    }

    /// Returns the number and the bytes of the packets that the link of `ring` has lost.
    pub fn lost(&self, ring: usize) -> (u64, u64) {
        let link = self.rings.get(ring).and_then(Option::as_ref);
        link.map_or((0, 0), |link| link.lost)
    }
}

impl LinkLosses {
    /// Returns true if the next packet is lost.
    fn loses(&mut self, packet: &Packet) -> bool {
        if packet.flags & PROTECTED != 0 {
            return false;
        }
        self.packets += 1;
        let is_lost = match self.rule {
            Lossy { every: Some(n), .. } => self.packets.is_multiple_of(n.into()),
            Lossy { loss, .. } => uniform(self.stream, self.packets) < loss.unwrap_or(0.0),
        };
        if is_lost {
            self.lost.0 += 1;
            self.lost.1 += u64::from(packet.size);
        }
        is_lost
    }
}
