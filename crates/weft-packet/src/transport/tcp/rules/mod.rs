//! Tests of the transport's rules, each on a test connection on which selected packets are lost,
//! marked or delayed.
//!
//! Two hosts have a middlebox on each of the paths between them, to which the test gives its rule.

mod acknowledgements;
mod conformance;
mod connections;
mod contract;
mod marks;
mod middlebox;
mod offload;
mod pacing;
mod peer;
mod recovery;
mod script;
mod simulator;
mod spurious;
mod tail;
mod timers;

use std::sync::{Arc, Mutex};

use weft_cc::{Ack, Algorithm, Echo, Round};
use weft_fabric::{Fabric, Link, Node, NodeId, QueueConfig, Routing};
use weft_paths::ByInterface;
use weft_run::PacketKind;
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Recovery, RtoEstimator, Scheduler, TcpConfig, TransportConfig};

use crate::config::Offload;
use crate::down_links::DownLinks;
use crate::engine::route::HopBits;
use crate::engine::{Context, Endpoint, Engine, EngineConfig, Threads};
use crate::packet::{CE, Packet};

use crate::transport::{FlowProbes, Host, HostTimer, Shared, TRANSPORTS, host_timer};

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::receiver::ConnectionReceiver;
use super::subflow::SubflowSender;

use middlebox::{Fate, Middlebox, ObservedPacket, Rule, pass, stalled};
use peer::Peer;
use script::{Event, Script};

/// Rate of all links.
const RATE: Rate = Rate(10_000_000_000);

/// Delay of each link, unless a test says otherwise: 10 us.
const DELAY: u64 = 10_000_000;

const US: u64 = 1_000_000;
const MS: u64 = 1_000_000_000;

/// Key of a timer at which the application of a scripted flow has written this many segments.
const WRITE: u64 = 0xFFFF << 32;

/// Key of a timer at which a subflow becomes active, by the lowest bit, or a backup.
const PRIORITY: u64 = 0xFFFE << 32;

/// A host, a middlebox, or a peer at the place of a middlebox.
enum TestNode {
    Host(Box<Host>),
    Middlebox(Middlebox),
    Peer(Peer),
}

impl Endpoint for TestNode {
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        match self {
            Self::Host(host) => host.on_packet(packet, cx),
            Self::Peer(peer) => peer.on_packet(packet, cx),
            Self::Middlebox(middle) => match middle.see(packet) {
                Fate::Pass => middle.forward(packet, cx),
                Fate::Drop => {}
                Fate::Mark => middle.forward(
                    &Packet {
                        flags: packet.flags | CE,
                        ..*packet
                    },
                    cx,
                ),
                Fate::Late(by) => {
                    middle.held.push_back((cx.now + by, *packet));
                    cx.set_timer(cx.now + by, 0);
                }
            },
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        match self {
            Self::Host(host) if (PRIORITY..WRITE).contains(&key) => {
                let (subflow, active) = ((key - PRIORITY) >> 1, key & 1 != 0);
                host.with_tcp(cx, |tcp, _| tcp.set_active(0, subflow as usize, active));
            }
            Self::Host(host) if key >= WRITE => {
                host.with_tcp(cx, |tcp, cx| tcp.set_written(0, key - WRITE, cx));
            }
            Self::Host(host) => host.on_timer(key, cx),
            Self::Peer(peer) => peer.on_timer(key, cx),
            Self::Middlebox(middle) => {
                let due = middle.held.iter().position(|&(time, _)| time == cx.now);
                if let Some((_, packet)) = due.and_then(|i| middle.held.remove(i)) {
                    middle.forward(&packet, cx);
                }
            }
        }
    }
}

/// Hosts are nodes 0 and 1. Subflow s passes middlebox s, which is node 2 + s, in both directions.
struct Parallel {
    paths: u32,
}

impl Routing for Parallel {
    fn path_count(&self, _: NodeId, _: NodeId) -> u64 {
        u64::from(self.paths)
    }
    fn append_ports(&self, _: NodeId, _: NodeId, n: u64, ports: &mut Vec<u16>) {
        ports.push(n as u16);
    }
}

/// Returns a fabric with a path for each of the delays, which are those of the path's links.
fn parallel(delays: &[u64]) -> Fabric {
    let paths = delays.len() as u32;
    let node = |n: u32| Node {
        name: format!("n{n}"),
        is_host: true,
    };
    let queue = QueueConfig {
        limit: QueueSize::Packets(1_000_000),
        mark: None,
    };
    let link = |from, to, delay| Link::new([from, to], RATE, Time(delay), queue);
    let (to, from): (Vec<_>, Vec<_>) = (2..)
        .zip(delays)
        .map(|(m, &delay)| {
            let out = [0, 1].map(|host| link(host, m, delay));
            (out, [0, 1].map(|host| link(m, host, delay)))
        })
        .unzip();
    let mut links: Vec<Link> = to.into_iter().chain(from).flatten().collect();
    links.sort_by_key(|l| l.from);
    Fabric {
        nodes: (0..2 + paths).map(node).collect(),
        links,
        hosts: (0..2 + paths).collect(),
        cables: Vec::new(),
        routing: Arc::new(Parallel { paths }),
        warnings: Vec::new(),
    }
}

/// The configuration of a connection that starts at time 0 and passes middleboxes.
struct TestConnection {
    profile: Profile,
    cc: Algorithm,
    subflows: u32,
    join_after: u64,
    scheduler: Scheduler,
    /// Bytes that the application sends; `None` for a bulk flow.
    bytes: Option<u64>,
    /// Rate at which the application writes; `None` if it writes everything at the start.
    rate: Option<Rate>,
    stop: Option<u64>,
    /// Delays of the four links of each path.
    delays: Vec<u64>,
    seed: u64,
    offload: Offload,
}

impl TestConnection {
    /// Creates a bulk connection of one subflow with a constant window of ten packets, each of
    /// which is acknowledged immediately. Everything that RFCs leave to the sender's choice is off;
    /// a test of such a feature switches it on.
    fn new() -> Self {
        Self {
            profile: Profile::linux().with(|p| {
                p.acks.ack_every = 1;
                p.acks.quick_acks = 0;
                p.loss.tail_loss_probe = false;
                p.options.prr = false;
                p.options.frto = false;
                p.options.timestamps = false;
                p.handshake.syn_linear_timeouts = 0;
                p.joins.confirmed_joins = false;
            }),
            cc: Script::steady(10.0).algorithm(),
            subflows: 1,
            join_after: 0,
            scheduler: Scheduler::RoundRobin,
            bytes: None,
            rate: None,
            stop: None,
            delays: vec![DELAY],
            seed: 1,
            offload: Offload::default(),
        }
    }

    /// Creates a connection with a constant window and this many full segments.
    fn with_window(cwnd: f64, segments: u64) -> Self {
        let test = Self::new();
        Self {
            bytes: Some(segments * u64::from(test.profile.sizes.mss)),
            cc: Script::steady(cwnd).algorithm(),
            ..test
        }
    }

    fn recovering_by(mut self, recovery: Recovery) -> Self {
        self.profile.loss.recovery = recovery;
        self
    }

    /// Runs the connection with a rule until a time.
    fn run(self, until: u64, rule: impl FnMut(&ObservedPacket) -> Fate + Send + 'static) -> Run {
        let mut run = self.start(rule);
        run.until(until);
        run
    }

    fn start(self, rule: impl FnMut(&ObservedPacket) -> Fate + Send + 'static) -> Run {
        let rule: Rule = Arc::new(Mutex::new(rule));
        self.start_with(true, |shared| {
            TestNode::Middlebox(Middlebox::new(Arc::clone(&rule), shared.hops))
        })
    }

    /// Creates the connection with these nodes between its hosts. `opens` says whether host 0 opens it.
    fn start_with(self, opens: bool, between: impl Fn(&Shared) -> TestNode) -> Run {
        let profile = self.profile.clone();
        let fabric = parallel(&self.delays);
        let config = EngineConfig {
            seed: self.seed,
            ..EngineConfig::new(profile.sizes.ack_size, profile.wire_size(), Threads::Exactly(1))
        };
        let tcp = TcpConfig {
            cc: self.cc,
            subflows: self.subflows,
            join_after: Size(self.join_after),
            scheduler: self.scheduler,
            profile: self.profile,
        };
        let shared = Arc::new(Shared {
            probes: FlowProbes::default(),
            records_steps: Vec::new(),
            hops: HopBits::new(fabric.max_ports()),
            down_links: DownLinks::default(),
            fabric,
            kinds: vec![0],
            flow_kinds: Vec::new(),
            tcp: vec![Some(tcp.clone())],
            transports: vec![TransportConfig {
                kind: "tcp",
                class: 0,
                ack_class: 0,
                paths: ByInterface {}.into(),
                parameters: Arc::new(tcp),
            }],
            flows: vec![Flow {
                id: 0,
                from: 0,
                to: 1,
                size: self.bytes.map(Size),
                start: Time(0),
                stop: self.stop.map(Time),
                transport: 0,
                traffic: 0,
                class: 0,
                round: 0,
                rate: self.rate,
            }],
            generators: Vec::new(),
            nic: None,
            offload: self.offload,
            seed: self.seed,
        });
        let mut engine = Engine::new(&shared.fabric, &config, |host| match host {
            0 | 1 => TestNode::Host(Box::new(Host::new(&shared, host, TRANSPORTS))),
            _ => between(&shared),
        });
        if opens {
            engine.set_timer(0, 0, 0, host_timer(HostTimer::Start, 0));
        }
        if let Some(stop) = self.stop {
            engine.set_timer(0, 0, stop, host_timer(HostTimer::Stop, 0));
        }
        Run {
            engine,
            profile,
            paths: self.delays.len() as u32,
        }
    }
}

/// A run of a [`TestConnection`].
struct Run {
    engine: Engine<TestNode>,
    profile: Profile,
    paths: u32,
}

impl Run {
    fn until(&mut self, time: u64) {
        self.engine.run_until(time);
    }

    fn host(&self, host: u32) -> &TcpEndpoint {
        match self.engine.endpoint(host) {
            TestNode::Host(host) => host.tcp(),
            TestNode::Middlebox(_) | TestNode::Peer(_) => unreachable!("hosts are 0 and 1"),
        }
    }

    /// Returns the peer on a path.
    fn peer(&self, path: u32) -> &Peer {
        match self.engine.endpoint(2 + path) {
            TestNode::Peer(peer) => peer,
            TestNode::Host(_) | TestNode::Middlebox(_) => unreachable!("peers are 2 and on"),
        }
    }

    /// Makes the peer on a path send a packet.
    fn inject(&mut self, path: u32, time: u64, packet: Packet, to_receiver: bool) {
        let node = 2 + path;
        let TestNode::Peer(peer) = self.engine.endpoint_mut(node) else {
            unreachable!("peers are 2 and on");
        };
        let key = peer.prepare(packet, to_receiver);
        self.engine.set_timer(node, node, time, key);
    }

    fn connection(&self) -> &ConnectionSender {
        self.host(0).connection(0).unwrap().0
    }

    fn subflow(&self, s: usize) -> &SubflowSender {
        &self.host(0).connection(0).unwrap().1[s]
    }

    /// Returns the bytes that the receiver's application has.
    fn delivered(&self) -> u64 {
        self.host(1)
            .connection_receiver(0)
            .map_or(0, ConnectionReceiver::bytes)
    }

    /// Returns true if all data was acknowledged before this time.
    fn finished_before(&self, time: u64) -> bool {
        let finished = self.connection().lifetime.finished();
        finished.is_some_and(|finished| finished < time)
    }

    fn finished(&self) -> bool {
        self.connection().lifetime.is_finished()
    }

    /// Returns all packets of all paths in order of time.
    fn all(&self) -> Vec<&ObservedPacket> {
        let mut all: Vec<&ObservedPacket> = (0..self.paths)
            .flat_map(|path| match self.engine.endpoint(2 + path) {
                TestNode::Middlebox(middle) => &middle.seen,
                TestNode::Host(_) | TestNode::Peer(_) => unreachable!("middle boxes are 2 and on"),
            })
            .collect();
        all.sort_by_key(|seen| seen.time);
        all
    }

    fn of_kind(&self, kind: PacketKind) -> Vec<&ObservedPacket> {
        self.all().into_iter().filter(|seen| seen.kind == kind).collect()
    }

    fn data(&self) -> Vec<&ObservedPacket> {
        self.of_kind(PacketKind::Data)
    }

    fn acks(&self) -> Vec<&ObservedPacket> {
        self.of_kind(PacketKind::Ack)
    }

    /// Returns the times at which a chunk passed.
    fn times_of(&self, chunk: u32) -> Vec<u64> {
        let data = self.data().into_iter().filter(|seen| seen.packet.chunk == chunk);
        data.map(|seen| seen.time).collect()
    }

    /// Returns the chunks that passed, in order.
    fn chunks(&self) -> Vec<u32> {
        self.data().iter().map(|seen| seen.packet.chunk).collect()
    }

    /// Returns the times between packets.
    fn gaps(times: &[u64]) -> Vec<u64> {
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Returns the picoseconds that `bytes` take on a link.
fn serialisation(bytes: u32) -> u64 {
    u64::from(bytes) * 800
}

/// Returns the round-trip time of a packet of `bytes` and its acknowledgement on idle links with
/// delay [`DELAY`].
fn round_trip(bytes: u32, profile: &Profile) -> u64 {
    4 * DELAY + 2 * serialisation(bytes) + 2 * serialisation(profile.sizes.ack_size)
}

/// Returns Reno of RFC 5681, which starts with a window of `cwnd` packets in congestion avoidance.
fn reno(profile: &mut Profile, cwnd: f64) -> Algorithm {
    profile.window.initial_cwnd = cwnd;
    profile.window.initial_ssthresh = cwnd;
    Algorithm::build("reno", &[("rfc_growth".to_owned(), 1.0)]).unwrap()
}

/// Returns an algorithm that keeps all windows at 0 until all subflows are established, and then
/// sets them to `cwnd` packets.
fn open_together(subflows: usize, cwnd: f64) -> Algorithm {
    let script = Script::new(move |w, _, _| {
        let all = w.iter().filter(|w| w.established).count() == subflows;
        for w in w {
            w.cwnd = if all { cwnd } else { 0.0 };
        }
    });
    script.algorithm()
}
