//! Packet trimming: a packet that does not fit is cut to its header. Handley et al., "Re-architecting
//! datacenter networks and stacks for low latency and high performance" (NDP, SIGCOMM 2017), and Ultra
//! Ethernet 1.0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{QueueSize, Size, SpecError};

use crate::buffer::Buffers;
use crate::contract::{
    Arrival, Arriving, Build, Decision, Departure, Fate, Queue, QueueConfig, QueueParameters, Refused, Site,
    View, exceeds, has_reached,
};
use crate::drop_reason::DropReason;
use crate::hash::uniform;
use crate::ingress::LinkClass;
use crate::packet::{CE, DATA, ECT, PROTECTED, Packet, TRIMMED, TRIMMED_AT_LAST_HOP};
use crate::packets::PacketQueue;
use crate::red::{Red, RedAt, RedState, check_ramp, ramp};

/// A FIFO of data and a FIFO of headers per port. Data that does not fit is cut to its header, which
/// informs the receiver or the sender of the loss. Packets without payload join the headers. `limit` is the
/// capacity for data; an Ultra Ethernet network has that of one bandwidth-delay product. TCP discards headers,
/// so that packets which are cut count as lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trimming {
    /// Size of a header that is left of a packet. Packets up to this size join the headers as they are.
    /// The default is that of NDP and of the UEC's simulator.
    #[serde(default = "default_size")]
    pub size: Size,
    /// Capacity for headers. By default it is twice the `limit` of the port, as in the UEC's simulator, but at
    /// least what the transports of the experiment need. Kind `ndp` needs as many bytes of headers as of
    /// data: 1,125 headers next to 8 packets of 9 KB (section 3.2.4 of the paper).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<QueueSize>,
    /// Number of headers that are sent per data packet while both wait; NDP has 10. By default, headers
    /// are always sent first. The UEC's simulator has 100,000, which is as good as always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ratio: Option<u32>,
    /// The packet that is cut. The default is that of NDP and of the UEC's simulator.
    #[serde(default)]
    pub victim: Victim,
    /// The destination of headers. The default is that of NDP and of Ultra Ethernet.
    #[serde(default)]
    pub to: TrimTo,
    /// The fate of a header for which there is no room. `to = "sender"` returns every header, so it excludes "return".
    #[serde(default)]
    pub overflow: Overflow,
    /// Data left behind, up to which no data packet is marked when its transmission begins. From there to
    /// `mark_max`, the probability rises from 0 to 1. The UEC's simulator has a fifth of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_min: Option<QueueSize>,
    /// Data left behind, from which every data packet is marked, in the unit of `mark_min`. The UEC's
    /// simulator has four fifths of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_max: Option<QueueSize>,
}

/// The packet that is cut if a packet does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// With equal probability, the packet that arrives or the last one that waits. Packets of a flow that
    /// arrives in step with another are then not always the ones that are cut.
    #[default]
    Random,
    /// The packet that arrives.
    Arriving,
}

/// The destination of headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrimTo {
    /// The receiver of the packet.
    #[default]
    Receiver,
    /// The sender of the packet, on a shortest path from the switch. A host's own port still sends headers
    /// to the receiver.
    Sender,
}

/// The fate of a header for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The header is dropped.
    #[default]
    Drop,
    /// The header goes to the sender of the packet, on a shortest path from the switch, as in NDP. On its way, queues
    /// have room for it. Hosts' own ports drop it.
    Return,
}

const fn default_size() -> Size {
    Size(64)
}

/// Minimum of `size`: an Ethernet frame.
const MIN_SIZE: u64 = 64;

impl Trimming {
    pub(crate) const ABOUT: &str =
        "a FIFO of data per port that cuts packets to headers, which a second FIFO sends before data";

    /// Returns the capacity for headers of a port.
    pub fn header_limit(&self, port: QueueConfig) -> QueueSize {
        self.headers.unwrap_or(match port.limit {
            QueueSize::Packets(limit) => QueueSize::Packets(limit.saturating_mul(2)),
            QueueSize::Bytes(limit) => QueueSize::Bytes(limit.saturating_mul(2)),
        })
    }

    /// Returns the ramp of marks, if there is one.
    pub fn ramp(&self) -> Option<Red> {
        ramp([self.mark_min, self.mark_max], 1.0, RedAt::Dequeue)
    }
}

impl QueueParameters for Trimming {
    fn check(&self) -> Result<(), SpecError> {
        if !(MIN_SIZE..=u64::from(u16::MAX)).contains(&self.size.0) {
            let allowed = format!("{MIN_SIZE}B to {}B", u16::MAX);
            return Err(SpecError::new("size", self.size.to_string(), allowed));
        }
        if let Some(limit @ (QueueSize::Packets(0) | QueueSize::Bytes(0))) = self.headers {
            let given = format!("{limit} drops every header");
            return Err(SpecError::new("headers", given, "packets or bytes above 0"));
        }
        if let Some(limit) = self
            .headers
            .filter(|&limit| limit < QueueSize::Bytes(self.size.0))
        {
            let given = format!("{limit} is less than a header of {}", self.size);
            return Err(SpecError::new(
                "headers",
                given,
                format!("at least {}", self.size),
            ));
        }
        if self.to == TrimTo::Sender && self.overflow == Overflow::Return {
            let problem = "\"return\" has no effect with to = \"sender\"";
            return Err(SpecError::conflict("overflow", problem, "remove one of them"));
        }
        if self.ratio == Some(0) {
            return Err(SpecError::new("ratio", "0", "at least 1"));
        }
        check_ramp([self.mark_min, self.mark_max])
    }

    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        let limit = port.limit;
        match self.mark_min {
            Some(min) if min > limit => {
                let given = format!("{min} is above the limit of {limit}");
                Err(SpecError::new("mark_min", given, format!("at most {limit}")))
            }
            _ => Ok(()),
        }
    }

    fn marks(&self) -> bool {
        self.mark_min.is_some()
    }

    fn trims_to(&self) -> Option<u32> {
        Some(self.size.0 as u32)
    }
}

/// Bit of the numbers of a port's draws of victims. Other draws leave it clear.
const VICTIMS: u64 = 1 << 63;

/// A FIFO of headers and packets without payload, which is class 0, and a FIFO of data, which is class 1.
pub struct TrimmingQueue {
    headers: Fifo,
    data: Fifo,
    mark: Option<QueueSize>,
    ramp: Option<Box<RedState>>,
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

/// The class that counts data packets. All others are in class 0.
const DATA_CLASS: u8 = 1;

/// Waiting packets with their limit.
struct Fifo {
    packets: PacketQueue,
    limit: QueueSize,
}

impl TrimmingQueue {
    /// Creates empty queues. Headers go back to the sender only from the port of a switch.
    pub fn new(trimming: &Trimming, site: &Site) -> Self {
        let Site {
            queue: port,
            stream,
            max_packet,
            is_switch,
            ..
        } = *site;
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
                .map(|ramp| Box::new(RedState::new(ramp, stream, max_packet))),
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

    /// Returns true if a packet with these flags, of `size` bytes, joins the data.
    #[inline]
    fn is_data(&self, flags: u16, size: u16) -> bool {
        let is_whole = flags & (DATA | TRIMMED) == DATA;
        is_whole && size > self.size
    }

    /// Refuses a header or a packet without payload.
    #[cold]
    fn refuse(&self, packet: Packet) -> Refused {
        let returns = self.returns_excess && packet.is_trimmed();
        if returns {
            Refused {
                packet,
                left: returned(packet),
                fate: Fate::SentBack,
            }
        } else {
            Refused::dropped(packet, DropReason::Headers)
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

    /// Cuts a packet that is in none of the queues.
    #[inline(never)]
    fn cut(&mut self, packet: Packet) -> Refused {
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
            (header, Fate::Dropped(DropReason::Headers))
        };
        Refused { packet, left, fate }
    }
}

impl Build for Trimming {
    type Queue = TrimmingQueue;

    fn build(&self, site: &Site, _: &mut Buffers) -> TrimmingQueue {
        TrimmingQueue::new(self, site)
    }
}

impl Queue for TrimmingQueue {
    #[inline(always)]
    fn enqueue(&mut self, packet: &mut Arriving<'_>, view: &mut View<'_>) -> Arrival {
        if !self.is_data(packet.flags, packet.size) {
            if !packet.is_protected() && self.headers.is_full(packet.size) {
                *view.refused = Some(self.refuse(packet.packet()));
                return Arrival::not_accepted(view);
            }
            if !view.is_idle {
                self.headers.packets.push(packet.packet());
            }
            return Arrival::passing(false, view);
        }
        let mut marked = false;
        if !packet.is_protected() {
            if self.data.is_full(packet.size) {
                let victim = self.displaced();
                let is_cut = victim.is_none();
                *view.refused = Some(self.cut(victim.unwrap_or_else(|| packet.packet())));
                if is_cut {
                    return Arrival::not_accepted(view);
                }
            }
            let waiting = |unit| self.data.packets.waiting_in(unit);
            marked = packet.flags & ECT != 0 && has_reached(self.mark, waiting);
            if marked {
                packet.flags |= CE;
            }
        }
        if view.is_idle && self.ramp.is_none() {
            return Arrival {
                class: DATA_CLASS,
                ..Arrival::passing(marked, view)
            };
        }
        self.data.packets.push(packet.packet());
        Arrival {
            class: DATA_CLASS,
            ..Arrival::accepted(marked, view)
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, _: &mut View<'_>) -> Option<Departure> {
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
        let fifo = if data_first {
            &mut self.data
        } else {
            &mut self.headers
        };
        let packet = fifo.packets.pop()?;
        let decision = match &mut self.ramp {
            Some(ramp) if data_first && packet.flags & PROTECTED == 0 => {
                ramp.decide(self.data.packets.waiting_in(ramp.unit()), 0)
            }
            _ => Decision::Accept,
        };
        Some(Departure::new(packet, decision))
    }

    #[inline(always)]
    fn prefetch(&self) {
        self.headers.packets.prefetch_front();
        self.data.packets.prefetch_front();
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.headers.packets.len() + self.data.packets.len()
    }

    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet)) {
        self.headers
            .packets
            .iter()
            .chain(self.data.packets.iter())
            .for_each(visit);
    }

    fn clear(&mut self, _: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
        let headers = self.headers.packets.drain();
        (headers.chain(self.data.packets.drain()).collect(), Vec::new())
    }

    #[inline]
    fn classes(&self) -> usize {
        2
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> Option<usize> {
        Some(self.is_data(packet.flags, packet.size).into())
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
