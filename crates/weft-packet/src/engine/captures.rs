//! Packets on record: copies of what arrives over chosen links.

use super::packet::Packet;

/// The packets on record of one partition.
#[derive(Default)]
pub struct Captures {
    /// Of each ring of the partition, its link if that is on record, else `u32::MAX`; empty if none is.
    links: Vec<u32>,
    packets: Vec<(u32, Packet)>,
}

impl Captures {
    /// Puts the link of `ring`, of so many in the partition, on record.
    pub fn add(&mut self, rings: usize, ring: u32, link: u32) {
        self.links.resize(rings, u32::MAX);
        self.links[ring as usize] = link;
    }

    /// A packet, `index` in the batch of a node, arrived. `ring_starts` says where each ring's packets begin in the batch.
    #[cold]
    pub fn record(&mut self, ring_starts: &[(u32, u32)], index: u32, packet: &Packet) {
        if self.links.is_empty() {
            return;
        }
        let position = ring_starts.partition_point(|&(start, _)| start <= index) - 1;
        let (_, ring) = ring_starts[position];
        let link = self.links[ring as usize];
        if link != u32::MAX {
            self.packets.push((link, *packet));
        }
    }

    /// Hands over what is on record: links and packets, in order of time on each link.
    pub fn drain(&mut self) -> Vec<(u32, Packet)> {
        std::mem::take(&mut self.packets)
    }
}
