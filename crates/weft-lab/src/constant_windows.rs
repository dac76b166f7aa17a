//! The packet engine without a transport, for benchmarks: the network and the flows of an experiment, with
//! constant windows instead of a transport.
//!
//! Every subflow keeps [`WINDOW`] packets of data in the network. A receiver acknowledges every second packet,
//! and an acknowledgement lets the sender send two. Ports queue any number of packets, so that nothing is
//! dropped, and hosts have no processing times. The difference to a run of the experiment is the cost of its
//! transport and of its hosts.

use std::time::Instant;

use weft_engine::packet::{DATA, Packet};
use weft_engine::route::{HopBits, Route};
use weft_engine::{Context, Endpoint, Engine, EngineConfig, Threads};
use weft_fabric::Fabric;
use weft_run::{Error, Plan};
use weft_spec::QueueSize;

/// Packets of data that each subflow keeps in the network.
const WINDOW: u32 = 32;

/// Sizes of data and of acknowledgements on the wire in bytes.
const DATA_SIZE: u16 = 1526;
const ACK_SIZE: u16 = 78;

/// Number of slices of a run, between which it can be stopped.
const SLICES: u64 = 100;

/// The speed of the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineSpeed {
    /// Number of packet-hops.
    pub packet_hops: u64,
    /// Wall-clock time of the simulation in seconds, without its set-up.
    pub seconds: f64,
}

/// Simulates constant windows on at most `threads` threads until the end of the plan, or until `goes_on` returns
/// false.
///
/// # Errors
/// Returns an error if a path is longer than the route field of a packet.
pub(crate) fn measure(
    plan: Plan,
    threads: usize,
    mut goes_on: impl FnMut() -> bool,
) -> Result<EngineSpeed, Error> {
    let Plan {
        spec,
        mut fabric,
        transports,
        flows,
        ..
    } = plan;
    for link in &mut fabric.links {
        link.queue.limit = QueueSize::Packets(u32::MAX);
        link.queue.mark = None;
    }
    let hops = HopBits::new(fabric.max_ports());
    let mut hosts = vec![WindowHost::default(); fabric.hosts.len()];
    for flow in &flows {
        let subflows = u64::from(transports[flow.transport as usize].subflows());
        for subflow in 0..subflows {
            add_subflow(&fabric, hops, &mut hosts, [flow.from, flow.to], subflow, subflows)?;
        }
    }
    let config = EngineConfig {
        seed: spec.seed,
        ..EngineConfig::new(ACK_SIZE.into(), DATA_SIZE.into(), Threads::UpTo(threads))
    };
    let mut engine = Engine::new(&fabric, &config, |host| std::mem::take(&mut hosts[host as usize]));
    for (host, &node) in (0..).zip(&fabric.hosts) {
        engine.set_timer(host, node, 0, 0);
    }
    let began = Instant::now();
    for slice in 1..=SLICES {
        engine.run_until(spec.duration.0 / SLICES * slice);
        if !goes_on() {
            break;
        }
    }
    Ok(EngineSpeed {
        packet_hops: engine.events().0,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Adds subflow `subflow` of `subflows` between two hosts. The paths of a flow are evenly spaced among all, from one
/// that depends on the sender.
fn add_subflow(
    fabric: &Fabric,
    hops: HopBits,
    hosts: &mut [WindowHost],
    [from, to]: [u32; 2],
    subflow: u64,
    subflows: u64,
) -> Result<(), Error> {
    let route = |start: u32, end: u32| {
        let [start, end] = [start, end].map(|host| fabric.hosts[host as usize]);
        let paths = fabric.routing.path_count(start, end);
        let path = (subflow * paths / subflows + u64::from(from)) % paths;
        let mut ports = Vec::new();
        fabric.routing.append_ports(start, end, path, &mut ports);
        Route::from_ports(&ports, hops)
            .ok_or_else(|| Error::CannotRun("a path is too long for the route of a packet".to_owned()))
    };
    let (data, ack) = (route(from, to)?, route(to, from)?);
    let [sender, receiver] = [
        hosts[from as usize].senders.len() as u32,
        hosts[to as usize].receivers.len() as u32,
    ];
    hosts[from as usize]
        .senders
        .push(packet(data, receiver, DATA_SIZE, DATA));
    hosts[to as usize]
        .receivers
        .push((packet(ack, sender, ACK_SIZE, 0), 0));
    Ok(())
}

fn packet(route: Route, slot: u32, size: u16, flags: u16) -> Packet {
    Packet {
        route,
        slot,
        size,
        flags,
        ..Packet::default()
    }
}

/// A host with the subflows that begin and end there.
#[derive(Clone, Default)]
struct WindowHost {
    /// A packet of data of each subflow that begins here.
    senders: Vec<Packet>,
    /// An acknowledgement of each subflow that ends here, and the number of packets received.
    receivers: Vec<(Packet, u32)>,
}

impl Endpoint for WindowHost {
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if packet.flags & DATA == 0 {
            let data = &self.senders[packet.slot as usize];
            cx.send(data);
            cx.send(data);
        } else {
            let (ack, received) = &mut self.receivers[packet.slot as usize];
            *received += 1;
            if received.is_multiple_of(2) {
                cx.send(ack);
            }
        }
    }

    fn on_timer(&mut self, _: u64, cx: &mut Context<'_>) {
        for data in &self.senders {
            (0..WINDOW).for_each(|_| cx.send(data));
        }
    }
}
