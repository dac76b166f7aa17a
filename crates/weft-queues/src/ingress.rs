//! The buffers of incoming links that can be paused: what waits at a node, by link, class and port.

use std::collections::HashMap;

use crate::packet::{PROTECTED, Packet, class_of};

/// The thresholds of an incoming link in bytes, per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// A pause is sent once a packet of the largest size might exceed this.
    pub xoff: u64,
    /// The pause ends at this.
    pub xon: u64,
    /// A packet that would exceed this is dropped.
    pub capacity: u64,
    /// Size of the pool that holds what exceeds `xoff`, if links share one.
    pub pool: Option<u64>,
}

impl Thresholds {
    /// Returns the bytes that a pool holds of an incoming link in a class beyond those that it held before, if
    /// `before` bytes became `after`.
    pub fn pooled(&self, before: u64, after: u64) -> u64 {
        after.max(self.xoff) - before.max(self.xoff)
    }
}

/// The ring of packets that no incoming link counts.
pub const NO_RING: u32 = u32::MAX;

/// A class of an incoming link: the ring of the link, and the class.
pub type LinkClass = (u32, usize);

/// The answer of the buffer of an incoming link to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The packet is counted. If the link is to be paused, this is the port over which a pause frame is to be sent.
    Counted(Option<u32>),
    /// The buffer has no space.
    Full,
    /// No link counts the packet.
    Uncounted,
}

/// The buffers of a partition.
pub struct Ingress {
    /// Size of the largest packet in bytes.
    max_packet: u32,
    /// Buffer of the link of each ring; `None` if nothing can be paused over it.
    pub incoming: Vec<Option<Incoming>>,
    /// Bytes in the pool of headroom of each node of the partition.
    pools: Vec<u64>,
    /// Number of classes of links into each node of the partition that are to be paused.
    pausing: Vec<u32>,
    /// The ring over which the packet came that is being processed, or [`NO_RING`].
    pub ring: u32,
    /// Victims of head-of-line blocking, by the `lo` and `hi` of [counted](crate::packet::DATA) packets.
    pub victims: HashMap<(u32, u32), Blocked>,
}

/// Packets that waited while another packet was the cause of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Number of packets, once per link.
    pub packets: u64,
    /// Sum of the times that they waited during such pauses, in picoseconds.
    pub time: u64,
}

impl Ingress {
    /// Creates the empty buffers of a partition with `nodes` nodes.
    pub fn new(max_packet: u32, nodes: usize, incoming: Vec<Option<Incoming>>) -> Self {
        Self {
            max_packet,
            incoming,
            pools: vec![0; nodes],
            pausing: vec![0; nodes],
            ring: NO_RING,
            victims: HashMap::new(),
        }
    }

    /// The link of a ring, if it can be paused.
    pub fn link(&mut self, ring: u32) -> Option<&mut Incoming> {
        self.incoming.get_mut(ring as usize)?.as_mut()
    }

    /// Returns true if a link into a node of the partition is to be paused.
    #[inline]
    pub fn is_pausing(&self, node: u32) -> bool {
        self.pausing[node as usize] > 0
    }

    /// Returns true if the link over which the present packet came might have to be paused once the packet waits.
    #[inline]
    pub fn may_pause(&self, packet: &Packet) -> bool {
        let link = self.incoming.get(self.ring as usize);
        link.and_then(Option::as_ref).is_some_and(|link| {
            let class = &link.classes[link.class_of(packet.flags)];
            class.bytes + u64::from(packet.size) + u64::from(self.max_packet) > link.thresholds.xoff
        })
    }

    /// Counts the present packet, with these flags and of `size` bytes, which is to wait at port `port` of the node.
    #[inline(always)]
    pub fn admit(&mut self, flags: u16, size: u16, port: u32) -> Admission {
        let Some(Some(link)) = self.incoming.get_mut(self.ring as usize) else {
            return Admission::Uncounted;
        };
        let number = link.class_of(flags);
        let class = &mut link.classes[number];
        let after = class.bytes + u64::from(size);
        if after + u64::from(self.max_packet) <= link.thresholds.xoff {
            class.bytes = after;
            class.at_port[port as usize] += u64::from(size);
            return Admission::Counted(None);
        }
        self.admit_above(flags, size, port)
    }

    /// Does what [`admit`](Self::admit) does if a pause or the pool might matter.
    #[inline(never)]
    fn admit_above(&mut self, flags: u16, size: u16, port: u32) -> Admission {
        let Some(Some(link)) = self.incoming.get_mut(self.ring as usize) else {
            return Admission::Uncounted;
        };
        if flags & PROTECTED == 0 && !link.has_space(flags, size, &self.pools) {
            return Admission::Full;
        }
        let (reverse_port, node) = (link.reverse_port, link.node as usize);
        let xoff = link.thresholds.xoff;
        let class = link.add(flags, size, port as usize, &mut self.pools);
        if class.is_over || class.bytes + u64::from(self.max_packet) <= xoff {
            return Admission::Counted(None);
        }
        class.is_over = true;
        self.pausing[node] += 1;
        Admission::Counted(Some(reverse_port))
    }

    /// Counts a packet that has left port `port` of the node. Returns the class of its link, if the pause of
    /// that may end.
    fn take(&mut self, ring: u32, packet: &Packet, port: u32) -> Option<LinkClass> {
        let link = self.incoming.get_mut(ring as usize)?.as_mut()?;
        let (number, class) = link.remove(packet.flags, packet.size, port as usize, &mut self.pools);
        class.is_over.then_some((ring, number))
    }

    /// Ends the pause of a class of a link if so little waits. Returns the port over which a pause frame is
    /// to be sent.
    #[inline]
    pub fn resume(&mut self, (ring, number): LinkClass) -> Option<u32> {
        let link = self.incoming.get_mut(ring as usize)?.as_mut()?;
        let ends = link.classes[number].resume(link.thresholds.xon);
        self.pausing[link.node as usize] -= u32::from(ends);
        ends.then_some(link.reverse_port)
    }

    /// Counts a packet that has left port `port` of the node. If the pause of its link ends, returns the
    /// port over which a pause frame is to be sent.
    #[inline(always)]
    pub fn remove(&mut self, ring: u32, packet: &Packet, port: u32) -> Option<u32> {
        let link = self.incoming.get_mut(ring as usize)?.as_mut()?;
        let (xon, reverse_port, node) = (link.thresholds.xon, link.reverse_port, link.node as usize);
        let (_, class) = link.remove(packet.flags, packet.size, port as usize, &mut self.pools);
        if !class.resume(xon) {
            return None;
        }
        self.pausing[node] -= 1;
        Some(reverse_port)
    }

    /// Counts packets that are removed together. Returns the classes of links whose pauses may end, in order.
    pub fn remove_all<'a>(
        &mut self,
        lost: impl Iterator<Item = (u32, &'a Packet)>,
        port: u32,
    ) -> Vec<LinkClass> {
        let paused = lost.filter_map(|(ring, packet)| self.take(ring, packet, port));
        let mut paused: Vec<_> = paused.collect();
        paused.sort_unstable();
        paused
    }
}

/// The buffer of an incoming link.
pub struct Incoming {
    /// The sending node.
    pub from: u32,
    /// Its partition.
    pub partition: u32,
    /// Its port in that partition.
    pub port: u32,
    /// Number of the link in the other direction.
    pub reverse: u32,
    /// Port of the link in the other direction.
    pub reverse_port: u32,
    /// Number of the receiving node in its partition, and with it of its pool of headroom.
    pub node: u32,
    /// The thresholds of each class.
    pub thresholds: Thresholds,
    /// Time in picoseconds from the arrival of a frame to its effect.
    pub reaction: u64,
    /// The traffic classes.
    pub classes: Vec<IncomingClass>,
    /// Number of frames so far.
    pub frames: u32,
    /// Time at which the last one takes effect in picoseconds.
    pub last_effect: u64,
    /// Number of pauses so far, per class.
    pub pauses: u64,
    /// True if its frames are captured.
    pub is_captured: bool,
}

/// The packets of an incoming link in a class.
#[derive(Clone)]
pub struct IncomingClass {
    /// Bytes that wait.
    pub bytes: u64,
    /// Bytes that wait at each port of the node.
    pub at_port: Vec<u64>,
    /// Whether the class is to be paused.
    pub is_over: bool,
    /// Whether the last frame said so.
    pub is_announced: bool,
}

impl Incoming {
    /// Creates an empty buffer with `classes` classes at a node with `ports` ports.
    pub fn new(
        [from, partition, port]: [u32; 3],
        [reverse, reverse_port]: [u32; 2],
        node: u32,
        thresholds: Thresholds,
        reaction: u64,
        classes: u8,
        ports: usize,
    ) -> Self {
        let class = IncomingClass {
            bytes: 0,
            at_port: vec![0; ports],
            is_over: false,
            is_announced: false,
        };
        Self {
            from,
            partition,
            port,
            reverse,
            reverse_port,
            node,
            thresholds,
            reaction,
            classes: vec![class; classes.into()],
            frames: 0,
            last_effect: 0,
            pauses: 0,
            is_captured: false,
        }
    }

    /// Returns the class of a packet.
    #[inline]
    pub fn class_of(&self, flags: u16) -> usize {
        class_of(flags).min(self.classes.len() - 1)
    }

    /// Counts a packet that waits at a port of the node. `pools` has the bytes in the pool of each node. Returns
    /// the class of the packet.
    #[inline]
    fn add(&mut self, flags: u16, size: u16, port: usize, pools: &mut [u64]) -> &mut IncomingClass {
        let number = self.class_of(flags);
        let class = &mut self.classes[number];
        let before = class.bytes;
        class.bytes += u64::from(size);
        class.at_port[port] += u64::from(size);
        if self.thresholds.pool.is_some() {
            pools[self.node as usize] += self.thresholds.pooled(before, class.bytes);
        }
        class
    }

    /// Counts a packet that has left a port of the node. Returns the class of the packet and its number.
    #[inline]
    fn remove(
        &mut self,
        flags: u16,
        size: u16,
        port: usize,
        pools: &mut [u64],
    ) -> (usize, &mut IncomingClass) {
        let number = self.class_of(flags);
        let class = &mut self.classes[number];
        let before = class.bytes;
        class.bytes -= u64::from(size);
        class.at_port[port] -= u64::from(size);
        if before > self.thresholds.xoff && self.thresholds.pool.is_some() {
            pools[self.node as usize] -= self.thresholds.pooled(class.bytes, before);
        }
        (number, class)
    }

    /// Returns true if the buffer has space for a packet.
    #[inline]
    fn has_space(&self, flags: u16, size: u16, pools: &[u64]) -> bool {
        let before = self.classes[self.class_of(flags)].bytes;
        let after = before + u64::from(size);
        let fits = |pool| {
            let more = self.thresholds.pooled(before, after);
            more == 0 || pools[self.node as usize] + more <= pool
        };
        after <= self.thresholds.capacity && self.thresholds.pool.is_none_or(fits)
    }
}

impl IncomingClass {
    /// Ends the pause if at most `xon` bytes wait. Returns true if it has ended.
    #[inline(always)]
    fn resume(&mut self, xon: u64) -> bool {
        let ends = self.is_over && self.bytes <= xon;
        self.is_over &= !ends;
        ends
    }

    /// The port at which most bytes wait, the first of several.
    pub fn fullest_port(&self) -> u32 {
        let mut fullest = 0;
        for (port, &bytes) in self.at_port.iter().enumerate() {
            if bytes > self.at_port[fullest] {
                fullest = port;
            }
        }
        fullest as u32
    }
}
