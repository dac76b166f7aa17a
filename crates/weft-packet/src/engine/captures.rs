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

    /// A packet, `index` in the batch of a node, arrived. `begins` says where each ring's packets begin in the batch.
    #[cold]
    pub fn note(&mut self, begins: &[(u32, u32)], index: u32, packet: &Packet) {
        if self.links.is_empty() {
            return;
        }
        let begin = begins.partition_point(|&(begin, _)| begin <= index) - 1;
        let (_, ring) = begins[begin];
        let link = self.links[ring as usize];
        if link != u32::MAX {
            self.packets.push((link, *packet));
        }
    }

    /// Hands over what is on record: links and packets, in order of time on each link.
    pub fn take(&mut self) -> Vec<(u32, Packet)> {
        std::mem::take(&mut self.packets)
    }
}
