//! Captures: copies of the packets that arrive over chosen links.

use crate::packet::Packet;

/// The captured packets of one partition.
#[derive(Default)]
pub struct Captures {
    /// For each ring of the partition, its link if that is captured, else `u32::MAX`. Empty if no
    /// link is captured.
    links: Vec<u32>,
    packets: Vec<(u32, Packet)>,
}

impl Captures {
    /// Captures the link of `ring`, in a partition with `rings` rings.
    pub fn add(&mut self, rings: usize, ring: u32, link: u32) {
        self.links.resize(rings, u32::MAX);
        self.links[ring as usize] = link;
    }

    /// Records a packet with the number `index` in the batch of a node if its link is captured.
    /// `ring_starts` are the first packet of each ring in the batch, and the ring.
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

    /// Drains the captured packets: (link, packet), in order of time on each link.
    pub fn drain(&mut self) -> Vec<(u32, Packet)> {
        std::mem::take(&mut self.packets)
    }
}
