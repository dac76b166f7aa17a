//! The NICs of a host, one per link: flows of all transports wait in one queue per link and are served in turn.
//!
//! A transport asks for each packet of data, and a flow that has to wait is called when its turn comes. Data is not
//! queued in the host. Packets without payload never wait behind data of another transport.
//!
//! In Linux, TCP small queues limit the packets of a socket below TCP, and byte queue limits those in the ring of a device.
//! `fq` serves waiting sockets in turn (`net/sched/sch_fq.c`). Here the limit of the ring stands for both limits. Transports
//! that a NIC runs in hardware have no ring: the NIC reads a packet from memory when it can send it. A waiting packet has not been
//! sent yet, so no RTT sample contains the wait.

use std::collections::VecDeque;

use weft_fabric::Fabric;
use weft_transports::TransportConfig;

use crate::config::NicConfig;
use crate::engine::Context;
use crate::packet::{Packet, class_of};

use super::timer_keys::{HostTimer, host_timer, late_nic_timer};

/// Number of packets that a socket sends at a time, if all packets of the host have one size (quantum of `fq`).
const SOCKET_TURN: i64 = 2;

/// Length of a turn in bytes, over the largest packet of the host, if packets differ in size (quantum of `fq`).
const QUANTUM_PACKETS: i64 = 2;

/// Credit of a flow that sends all it has.
const UNLIMITED: i64 = i64::MAX / 2;

/// Number of decisions from one that serves data to the next, while data and packets without payload of the same
/// transport wait.
const CYCLE: u32 = 11;

/// Number of times that a ring is filled again, each with about five packets, until it runs dry once.
///
/// No NIC sends without a gap for ever: interrupts are late now and then, and byte queue limits
/// shrink until the NIC starves (`lib/dynamic_queue_limits.c`). A host whose packets leave back to
/// back keeps its phase relative to a port of the same rate, and the queue of that port full. Other
/// flows then lose each packet that they try. A gap lasts as long as the jitter of an idle port, on
/// average half a packet up to 25 Gbps. The rate of the host falls by 0.02 %, which is more than the
/// difference of most clocks, so that no queue stays full because of equal rates. The number was chosen
/// after runs (research/decisions/0019).
const REFILLS_PER_GAP: u32 = 512;

/// A flow at a NIC: the kind of its transport, and the transport's number of the flow. A subflow of TCP is a flow here, because
/// it is a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicFlow {
    pub kind: u32,
    pub index: u32,
}

/// How the data of a flow reaches the port of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// From a socket through the ring of the device, which takes packets up to the limit.
    Ring,
    /// From memory, by hardware: a packet follows when the one before it has left.
    Memory,
    /// As `Memory`, by a NIC that observes the pauses of the flow's class and its own port.
    MemoryUnlessPaused,
}

/// A flow that asks a NIC for a packet.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub flow: NicFlow,
    pub feed: Feed,
    /// Flags of the traffic class of its data.
    pub class: u16,
    /// Size of its full packets on the wire, in bytes.
    pub size: u32,
    /// Bytes that a socket may have in a FIFO of the host.
    pub backlog: u32,
}

/// Backlog of a socket that only its window limits.
pub const WINDOW: u32 = u32::MAX;

/// The sockets of a host with a FIFO, as one flow among those of hardware.
const SOCKETS: NicFlow = NicFlow {
    kind: u32::MAX,
    index: 0,
};

/// The flow whose turn has not ended although the flow has.
const NONE: NicFlow = NicFlow {
    kind: u32::MAX,
    index: 1,
};

/// The properties of flows by which those of a host are alike or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKind {
    /// Kind of the transport.
    pub transport: u32,
    /// Size of a full packet on the wire, in bytes.
    pub size: u32,
    /// Traffic class, in a network that pauses classes; 0 in others.
    pub class: u8,
}

impl FlowKind {
    /// Returns the kinds of flows of these transports, whose number among the kinds of transport and whose smallest and largest
    /// packets are given; none if all are alike.
    pub fn by_transport(
        transports: &[TransportConfig],
        numbers: &[u8],
        sizes: &[(u32, u32)],
        fabric: &Fabric,
    ) -> Vec<Self> {
        let pauses = fabric.pause_frame().is_some();
        let all = transports.iter().zip(numbers.iter().zip(sizes));
        let kinds: Vec<Self> = all
            .map(|(transport, (&number, &(_, size)))| Self {
                transport: number.into(),
                size,
                class: if pauses { transport.class } else { 0 },
            })
            .collect();
        if kinds.windows(2).all(|pair| pair[0] == pair[1]) {
            return Vec::new();
        }
        kinds
    }
}

/// The NICs of a host.
pub struct Nics {
    config: Option<NicConfig>,
    /// The NIC of each link, by port.
    links: Vec<Nic>,
    flows: FlowMix,
}

/// The NIC of one link.
#[derive(Default)]
struct Nic {
    waiting: VecDeque<Request>,
    /// The sockets, if they wait in a FIFO, which takes turns with flows of hardware.
    fifo: SocketFifo,
    /// The flow whose turn it is, and how many packets or bytes it may still send. Bytes may become negative.
    turn: Option<(NicFlow, i64)>,
    /// True if a timer is set, or the queue is being served.
    is_armed: bool,
    /// True if the timer is set once the port is no longer paused.
    is_dormant: bool,
    /// Time at which the last packet that hardware has sent has left, if the host took no time to process it.
    busy_until: u64,
    /// Packets without payload that wait.
    control: VecDeque<Packet>,
    /// Number of decisions since one served data, while both waited, and whether data is being served.
    position: u32,
    serves_data: bool,
    /// Number of times that the ring was to be filled again.
    refills: u32,
    /// Bytes that flows may send before their next turn if the kinds of flows differ, by kind and number.
    credits: Vec<Vec<i32>>,
}

impl Nic {
    fn credit(&mut self, flow: NicFlow) -> &mut i32 {
        let (kind, index) = (flow.kind as usize, flow.index as usize);
        if self.credits.len() <= kind {
            self.credits.resize_with(kind + 1, Vec::new);
        }
        let credits = &mut self.credits[kind];
        if credits.len() <= index {
            credits.resize(index + 1, 0);
        }
        &mut credits[index]
    }

    /// Returns the bytes that the ring still holds when it is filled again. Usually half of the limit is free then, not
    /// a packet, because a device reports completions together.
    fn refill_level(&mut self, limit: u32) -> u32 {
        self.refills = self.refills.wrapping_add(1);
        if self.refills.is_multiple_of(REFILLS_PER_GAP) {
            0
        } else {
            limit / 2
        }
    }
}

/// Sockets that wait in the order in which they had something to send. Their place among `waiting` is that of
/// [`SOCKETS`], from when the first one waits until no one does and no one is served.
#[derive(Default)]
struct SocketFifo {
    waiting: VecDeque<Request>,
    /// The socket that is served, and the bytes that it may send before others.
    head: Option<(NicFlow, i64)>,
    /// Bytes that all of them may send before a flow of hardware is next.
    credit: i64,
}

/// The kinds of flows that a host sends.
#[derive(Default)]
struct FlowMix {
    /// Kind of the first flow; `None` if all flows of a run are alike.
    first: Option<FlowKind>,
    /// Length of a turn in bytes if the kinds of flows differ; 0 if they do not.
    quantum: i64,
    largest: u32,
}

impl FlowMix {
    fn is_mixed(&self) -> bool {
        self.quantum > 0
    }
}

impl Nics {
    /// Creates the NICs of an idle host.
    pub fn new(config: Option<NicConfig>) -> Self {
        Self {
            config,
            links: Vec::new(),
            flows: FlowMix::default(),
        }
    }

    /// Returns true if flows of several kinds share the NICs of this host.
    pub fn is_shared(&self) -> bool {
        self.flows.is_mixed()
    }

    /// Notes that the host sends flows of this kind.
    pub fn add_kind(&mut self, kind: FlowKind) {
        let flows = &mut self.flows;
        flows.largest = flows.largest.max(kind.size);
        if *flows.first.get_or_insert(kind) != kind {
            flows.quantum = QUANTUM_PACKETS * i64::from(flows.largest);
        }
    }

    /// Forgets what a flow owes or may send, because its number is that of a new flow now.
    pub fn forget_credit(&mut self, flow: NicFlow) {
        for nic in self.links.iter_mut().filter(|nic| !nic.credits.is_empty()) {
            *nic.credit(flow) = 0;
        }
    }

    /// Forgets a flow that waits for no port, so that its number may become that of a new flow.
    pub fn forget(&mut self, flow: NicFlow) {
        self.forget_credit(flow);
        for nic in &mut self.links {
            for (served, _) in nic.turn.iter_mut().chain(&mut nic.fifo.head) {
                if *served == flow {
                    *served = NONE;
                }
            }
        }
    }

    /// Returns the packets without payload that wait.
    pub fn waiting_packets(&self) -> impl Iterator<Item = &Packet> {
        self.links.iter().flat_map(|nic| &nic.control)
    }

    /// Returns true if `flow` may hand a burst of this many full packets to its port's ring now. Otherwise it waits and is
    /// called when its turn comes. `request` says how.
    #[inline(always)]
    #[allow(
        clippy::collapsible_match,
        reason = "a flow that has used up its turn waits even if no other one does"
    )]
    pub fn admit(
        &mut self,
        flow: NicFlow,
        port: u32,
        burst: u32,
        request: impl Fn() -> Request,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(config) = self.config else {
            return true;
        };
        if self.links.len() <= port as usize {
            self.add_ports(port);
        }
        let nic = &mut self.links[port as usize];
        let drained = if self.flows.is_mixed() {
            cx.drain_time_before(port, class_of(request().class), config.bql_limit)
        } else {
            cx.drain_time_of(port, config.bql_limit)
        };
        if drained <= cx.now {
            match &mut nic.turn {
                Some((served, left)) if *served == flow => {
                    if *left > 0 {
                        if self.flows.is_mixed() {
                            self.charge(&request(), port, burst * request().size);
                        } else {
                            *left -= 1;
                        }
                        return true;
                    }
                }
                _ if nic.waiting.is_empty() => {
                    if self.flows.is_mixed() {
                        self.charge(&request(), port, burst * request().size);
                    }
                    return true;
                }
                _ => {}
            }
        }
        self.wait_or_continue(request(), port, cx);
        false
    }

    /// Returns true if the hardware of `port` can send a packet of a flow at once. `request` is that of the flow.
    #[inline]
    pub fn is_free(
        &mut self,
        feed: Feed,
        port: u32,
        cx: &Context<'_>,
        request: impl Fn() -> Request,
    ) -> bool {
        self.add_ports(port);
        let nic = &self.links[port as usize];
        nic.busy_until <= cx.now
            && nic.control.is_empty()
            && nic.waiting.is_empty()
            && (!self.flows.is_mixed() || self.ready_at(&request(), port, cx) <= cx.now)
            && (feed == Feed::Memory && !self.flows.is_mixed() || !self.is_paused(&request(), port, cx))
    }

    /// Returns the time at which the packet that hardware sends on `port` has left.
    #[inline]
    pub fn busy_until(&self, port: u32) -> u64 {
        self.links.get(port as usize).map_or(0, |nic| nic.busy_until)
    }

    /// Returns the number of flows that wait for `port`.
    #[inline]
    pub fn waiting_flows(&self, port: u32) -> usize {
        self.links.get(port as usize).map_or(0, |nic| nic.waiting.len())
    }

    /// Sends a packet of data by the hardware of the first port of its route, which it occupies until its last bit has
    /// left. `request` is that of the flow.
    #[inline]
    pub fn send_data(
        &mut self,
        feed: Feed,
        port: u32,
        packet: &Packet,
        cx: &mut Context<'_>,
        request: impl Fn() -> Request,
    ) {
        self.send(port, packet, cx);
        if feed == Feed::MemoryUnlessPaused && (!self.flows.is_mixed() || self.config.is_some()) {
            // The processing time of a host may delay a packet, but does not reduce its rate. So the next packet follows
            // once at most one packet is left at the port.
            let request = request();
            let drained = self.drained_at(&request, port, request.size, cx);
            let nic = &mut self.links[port as usize];
            nic.busy_until = nic.busy_until.max(drained);
        }
        if self.flows.is_mixed() {
            self.charge(&request(), port, packet.size.into());
        }
    }

    /// Sends a packet without payload of a transport of this kind, or lets it wait if the host sends flows of no
    /// other kind.
    pub fn send_control(&mut self, kind: u32, packet: &Packet, cx: &mut Context<'_>) {
        let port = cx.port_of(packet.route);
        self.add_ports(port);
        let waits = !self.is_shared() && self.flows.first.is_none_or(|first| first.transport == kind);
        let nic = &mut self.links[port as usize];
        if !waits && nic.control.is_empty() {
            cx.send(packet);
        } else if cx.now >= nic.busy_until && nic.control.is_empty() && nic.waiting.is_empty() {
            self.send(port, packet, cx);
        } else {
            nic.control.push_back(*packet);
            self.arm(port, cx);
        }
    }

    /// Lets a flow wait for its turn at `port`.
    #[inline]
    pub fn wait(&mut self, request: Request, port: u32, cx: &mut Context<'_>) {
        self.add_ports(port);
        if self.flows.is_mixed() || request.feed == Feed::Ring {
            self.wait_or_continue(request, port, cx);
            return;
        }
        let nic = &mut self.links[port as usize];
        nic.waiting.push_back(request);
        if !nic.is_armed || nic.is_dormant {
            self.arm(port, cx);
        }
    }

    /// Lets a flow wait that may be in its turn, and is then the next one if it has more to send.
    #[inline(never)]
    fn wait_or_continue(&mut self, request: Request, port: u32, cx: &mut Context<'_>) {
        if !self.flows.is_mixed() {
            let nic = &mut self.links[port as usize];
            let in_turn =
                |&(served, credit): &(NicFlow, i64)| served == request.flow && credit > UNLIMITED / 2;
            if nic.turn.as_ref().is_some_and(in_turn) {
                nic.waiting.push_front(request);
            } else {
                nic.waiting.push_back(request);
            }
            if !nic.is_armed {
                self.arm(port, cx);
            }
            return;
        }
        let is_in_fifo = self.is_in_fifo(&request);
        let nic = &mut self.links[port as usize];
        let credit = if is_in_fifo { nic.fifo.head } else { nic.turn };
        let credit = credit.filter(|(served, _)| *served == request.flow);
        let continues = credit.is_some_and(|(_, credit)| credit > 0);
        let queue = if is_in_fifo {
            &mut nic.fifo.waiting
        } else {
            &mut nic.waiting
        };
        if continues {
            queue.push_front(request);
        } else {
            queue.push_back(request);
        }
        if is_in_fifo && nic.waiting.iter().all(|waiting| waiting.flow != SOCKETS) {
            nic.waiting.push_back(Request {
                flow: SOCKETS,
                ..request
            });
        }
        self.arm(port, cx);
    }

    /// Returns the next flow that waits for `port` and may send, whose turn begins. If there is none yet, a timer is set.
    #[inline]
    pub fn next(&mut self, port: u32, cx: &mut Context<'_>) -> Option<NicFlow> {
        let nic = &mut self.links[port as usize];
        if self.flows.is_mixed() || !nic.control.is_empty() {
            return self.next_turn(port, cx);
        }
        nic.turn = None;
        let Some(&head) = nic.waiting.front() else {
            nic.is_armed = false;
            return None;
        };
        match (head.feed, self.config) {
            (Feed::Ring, Some(config)) => {
                if cx.drain_time_of(port, config.bql_limit) > cx.now {
                    let ready = cx.drain_time_of(port, nic.refill_level(config.bql_limit));
                    cx.set_timer(ready, host_timer(HostTimer::Nic, port));
                    return None;
                }
                let turn = if config.fair { SOCKET_TURN } else { UNLIMITED };
                nic.turn = Some((head.flow, turn));
            }
            (Feed::MemoryUnlessPaused, _) if cx.is_paused(port, class_of(head.class)) => {
                return self.next_turn(port, cx);
            }
            _ => {
                if nic.busy_until > cx.now {
                    cx.set_timer(nic.busy_until, late_nic_timer(port));
                    return None;
                }
            }
        }
        nic.waiting.pop_front();
        Some(head.flow)
    }

    /// Returns the same as [`next`](Self::next), also if flows differ, packets without payload wait, or classes are paused.
    #[inline(never)]
    fn next_turn(&mut self, port: u32, cx: &mut Context<'_>) -> Option<NicFlow> {
        self.end_turn(port);
        let mut passed = 0;
        loop {
            if !self.next_is_data(port, cx) {
                break;
            }
            let nic = &mut self.links[port as usize];
            let Some(&head) = nic.waiting.front() else {
                break;
            };
            let first = match head.flow {
                SOCKETS => *nic.fifo.waiting.front().unwrap_or(&head),
                _ => head,
            };
            if self.is_paused(&first, port, cx) {
                let nic = &mut self.links[port as usize];
                nic.waiting.rotate_left(1);
                passed += 1;
                if passed < nic.waiting.len() {
                    continue;
                }
                // A port whose flows are all paused is tried again after times of a packet. Until the pause ends, this
                // would change nothing.
                let pause = cx.serialisation_of(port, head.size).max(1);
                nic.is_dormant = true;
                let next = nic.busy_until.max(cx.now + pause);
                cx.set_timer_at_resume(port, next, pause, late_nic_timer(port));
                return None;
            }
            if self.ready_at(&head, port, cx) > cx.now {
                break;
            }
            if let Some(flow) = self.begin_turn(port) {
                return Some(flow);
            }
            passed = 0;
        }
        let nic = &mut self.links[port as usize];
        nic.is_armed = false;
        self.arm(port, cx);
        None
    }

    /// Handles the timer of a port, before [`next`](Self::next).
    pub fn on_timer(&mut self, port: u32) {
        let nic = &mut self.links[port as usize];
        nic.serves_data = false;
        nic.is_dormant = false;
    }

    /// Sends packets without payload that come before data. Returns true if data is next.
    fn next_is_data(&mut self, port: u32, cx: &mut Context<'_>) -> bool {
        let is_mixed = self.flows.is_mixed();
        let nic = &mut self.links[port as usize];
        while !nic.control.is_empty() {
            if is_mixed || nic.waiting.front().is_some_and(|head| head.feed == Feed::Ring) {
                nic.control.drain(..).for_each(|packet| cx.send(&packet));
                break;
            }
            if nic.busy_until > cx.now {
                return false;
            }
            if !nic.serves_data && !nic.waiting.is_empty() {
                nic.position = (nic.position + 1) % CYCLE;
                nic.serves_data = nic.position == 0;
            }
            if nic.serves_data && !nic.waiting.is_empty() {
                return true;
            }
            if let Some(packet) = nic.control.pop_front() {
                nic.busy_until = cx.now + cx.serialisation_of(port, packet.size.into());
                cx.send(&packet);
            }
        }
        true
    }

    /// Begins the turn of the flow at the head of the queue, unless it has to wait for more credit.
    fn begin_turn(&mut self, port: u32) -> Option<NicFlow> {
        let nic = &mut self.links[port as usize];
        let request = nic.waiting.pop_front()?;
        let (mut flow, quantum) = (request.flow, self.flows.quantum);
        let credit = if !self.flows.is_mixed() {
            match (request.feed, self.config.is_some_and(|config| config.fair)) {
                (Feed::Ring, true) => SOCKET_TURN,
                (Feed::Ring, false) => UNLIMITED,
                (Feed::Memory | Feed::MemoryUnlessPaused, _) => 0,
            }
        } else if flow == SOCKETS {
            if nic.fifo.credit <= 0 {
                nic.fifo.credit += quantum;
                nic.waiting.push_back(request);
                return None;
            }
            let socket = nic.fifo.waiting.pop_front()?;
            nic.waiting.push_front(request);
            flow = socket.flow;
            if nic.fifo.head.is_none_or(|(head, _)| head != flow) {
                nic.fifo.head = Some((flow, socket.backlog.into()));
            }
            nic.fifo.credit
        } else {
            let credit = nic.credit(flow);
            if *credit <= 0 {
                *credit += quantum as i32;
                nic.waiting.push_back(request);
                return None;
            }
            i64::from(*credit)
        };
        nic.turn = Some((flow, credit));
        Some(flow)
    }

    fn end_turn(&mut self, port: u32) {
        let nic = &mut self.links[port as usize];
        let Some((flow, credit)) = nic.turn.take() else {
            return;
        };
        if !self.flows.is_mixed() {
            return;
        }
        if nic.waiting.front().is_none_or(|head| head.flow != SOCKETS)
            || nic.fifo.head.is_none_or(|(head, _)| head != flow)
        {
            if flow != NONE {
                *nic.credit(flow) = credit as i32;
            }
            return;
        }
        nic.fifo.credit = credit;
        if nic.fifo.waiting.front().is_none_or(|next| next.flow != flow) {
            nic.fifo.head = None;
        }
        if nic.fifo.waiting.is_empty() {
            nic.waiting.pop_front();
        } else if credit <= 0 {
            nic.waiting.rotate_left(1);
        }
    }

    /// Charges a flow for bytes that it sends, in its turn or because nothing waits.
    fn charge(&mut self, request: &Request, port: u32, bytes: u32) {
        let is_in_fifo = self.is_in_fifo(request);
        let quantum = self.flows.quantum;
        let nic = &mut self.links[port as usize];
        let bytes = i64::from(bytes);
        if let Some((_, left)) = nic.turn.as_mut().filter(|(served, _)| *served == request.flow) {
            *left -= bytes;
            if is_in_fifo && let Some((_, left)) = &mut nic.fifo.head {
                *left -= bytes;
            }
            return;
        }
        // A turn begins with each packet, because no flow waits for one.
        if is_in_fifo {
            let credit = &mut nic.fifo.credit;
            *credit += if *credit <= 0 { quantum } else { 0 } - bytes;
        } else {
            let credit = nic.credit(request.flow);
            *credit += (if *credit <= 0 { quantum } else { 0 } - bytes) as i32;
        }
    }

    /// Returns true if a flow is a socket that waits in a FIFO.
    fn is_in_fifo(&self, request: &Request) -> bool {
        let has_fifo = self.config.is_some_and(|config| !config.fair);
        has_fifo && self.flows.is_mixed() && request.feed == Feed::Ring
    }

    /// Returns the time at which the port takes a packet of a flow.
    fn ready_at(&self, request: &Request, port: u32, cx: &Context<'_>) -> u64 {
        let busy_until = self.links[port as usize].busy_until;
        match (self.config, request.feed) {
            (Some(config), Feed::Ring) => self.drained_at(request, port, config.bql_limit, cx),
            (None, Feed::Ring) => cx.now,
            (Some(_), _) if self.flows.is_mixed() => {
                busy_until.max(self.drained_at(request, port, request.size, cx))
            }
            _ => busy_until,
        }
    }

    /// Returns the time at which the port holds at most `bytes` in front of a packet of a flow.
    fn drained_at(&self, request: &Request, port: u32, bytes: u32, cx: &Context<'_>) -> u64 {
        if self.flows.is_mixed() {
            cx.drain_time_before(port, class_of(request.class), bytes)
        } else {
            cx.drain_time_of(port, bytes)
        }
    }

    /// Returns true if a flow passes its turn because its class is paused.
    fn is_paused(&self, request: &Request, port: u32, cx: &Context<'_>) -> bool {
        (request.feed == Feed::MemoryUnlessPaused || self.flows.is_mixed())
            && cx.is_paused(port, class_of(request.class))
    }

    #[inline]
    fn send(&mut self, port: u32, packet: &Packet, cx: &mut Context<'_>) {
        self.add_ports(port);
        self.links[port as usize].busy_until = cx.now + cx.serialisation_of(port, packet.size.into());
        cx.send(packet);
    }

    /// Adds the NICs of the ports up to `port`.
    #[inline]
    fn add_ports(&mut self, port: u32) {
        if self.links.len() <= port as usize {
            self.links.resize_with(port as usize + 1, Nic::default);
        }
    }

    /// Sets the timer for when the port takes the next packet, if anything waits and no timer is set.
    fn arm(&mut self, port: u32, cx: &mut Context<'_>) {
        let nic = &mut self.links[port as usize];
        if std::mem::take(&mut nic.is_dormant) {
            cx.end_wait(port);
        }
        let nic = &mut self.links[port as usize];
        let head = nic.waiting.front().copied();
        if nic.is_armed || (head.is_none() && nic.control.is_empty()) {
            return;
        }
        let (time, key) = match (self.config, head) {
            (Some(config), Some(head)) if head.feed == Feed::Ring => {
                let level = nic.refill_level(config.bql_limit);
                (
                    self.drained_at(&head, port, level, cx),
                    host_timer(HostTimer::Nic, port),
                )
            }
            (_, Some(head)) if nic.control.is_empty() => {
                let ready = self.ready_at(&head, port, cx);
                let earliest = match head.feed {
                    Feed::MemoryUnlessPaused => cx.now + cx.serialisation_of(port, 1).max(1),
                    Feed::Memory | Feed::Ring => cx.now,
                };
                (ready.max(earliest), late_nic_timer(port))
            }
            _ => (nic.busy_until, late_nic_timer(port)),
        };
        self.links[port as usize].is_armed = true;
        cx.set_timer(time, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_flow_does_not_owe_what_the_last_one_with_its_number_did() {
        let mut nics = Nics::new(None);
        nics.add_ports(1);
        let [flow, other] = [3, 4].map(|index| NicFlow { kind: 0, index });
        *nics.links[1].credit(flow) = -9_000;
        *nics.links[1].credit(other) = 1_500;
        nics.forget_credit(flow);
        let credits = [flow, other].map(|flow| *nics.links[1].credit(flow));
        assert_eq!(credits, [0, 1_500]);
    }
}
