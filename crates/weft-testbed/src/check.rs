//! Limits of this level. A field of a spec that exceeds them is refused by name.

use std::fmt::Display;

use weft_run::{Plan, Probe, ProbedFlows};
use weft_spec::{
    HostJitter, Mark, Qdisc, QueueSize, Rate, Size, SpecError, Time, Within, list_names, to_table,
};
use weft_transports::{Profile, TcpSpec};

use super::algorithms::{OWN, agree, classic_ecn, in_kernel, tcp_specs};
use super::switch::{LENGTHS, PORTS};

/// Topologies that are built.
pub const TOPOLOGIES: &[&str] = &["many-to-one", "two-bottlenecks", "two-paths"];

/// The one whose hosts have a single path to each other, which every path policy takes.
const ONE_PATH: &str = "many-to-one";

/// The path policy with which the first subflow takes path 0.
pub const BY_INTERFACE: &str = "by-interface";

/// Path policies that a path manager with an address for each path can follow.
const POLICIES: &[&str] = &["consecutive", BY_INTERFACE];

/// Refuses what the kernel cannot do as the spec has it.
///
/// # Errors
/// The first thing found, by its path in the spec.
pub fn check(plan: &Plan) -> Result<(), SpecError> {
    let spec = &plan.spec;
    if spec.duration > MAX_DURATION {
        return refuse(
            "duration",
            spec.duration,
            format!("at most {MAX_DURATION}, because it runs in real time"),
        );
    }
    if !TOPOLOGIES.contains(&spec.topology.kind.as_str()) {
        return refuse(
            "topology.kind",
            format!("{:?}", spec.topology.kind),
            list_names(TOPOLOGIES),
        );
    }
    if plan.fabric.links.len() > PORTS {
        return refuse(
            "topology",
            format!("{} links", plan.fabric.links.len()),
            format!("at most {PORTS}"),
        );
    }
    links(plan)?;
    queues(plan)?;
    if let Some(jitter) = spec.hosts.jitter {
        let value = match jitter {
            HostJitter::Packet => "\"packet\"".to_owned(),
            HostJitter::Time(time) => time.to_string(),
        };
        return refuse(
            "hosts.jitter",
            value,
            "nothing: the kernel's own processing time applies",
        );
    }
    if spec.hosts.bql_limit.is_some() || !matches!(spec.hosts.qdisc, None | Some(Qdisc::Switch)) {
        return refuse(
            "hosts.qdisc",
            "a card that pushes back",
            "\"switch\": hosts' ports mark and drop as switches do",
        );
    }
    if spec.hosts.tso || spec.hosts.gro_flush_timeout.0 > 0 {
        return refuse(
            if spec.hosts.tso {
                "hosts.tso"
            } else {
                "hosts.gro_flush_timeout"
            },
            "stated",
            "nothing: the testbed's devices take one packet at a time",
        );
    }
    for (name, transport) in &spec.transports {
        TcpSpec::from_spec(transport)
            .and_then(|tcp| self::transport(&tcp, spec.topology.kind == ONE_PATH))
            .within(&format!("transports.{name}"))?;
    }
    agree(plan)?;
    classic_ecn(plan)?;
    one_profile(plan)?;
    let at_once =
        |generator: &std::sync::Arc<dyn weft_traffic::FlowGenerator>| generator.timed_actions().len();
    let flows = plan.flows.len() + plan.generators.iter().map(at_once).sum::<usize>();
    if flows > MAX_FLOWS {
        return refuse(
            "traffic",
            format!("{flows} flows"),
            format!("at most {MAX_FLOWS}"),
        );
    }
    if let Some(stop) = &spec.stop {
        return refuse(
            "stop",
            format!("{} flows of {:?}", stop.flows, stop.class),
            "nothing: it runs for its duration",
        );
    }
    probes(plan)
}

fn links(plan: &Plan) -> Result<(), SpecError> {
    for link in &plan.fabric.links {
        if link.rate > MAX_RATE || link.rate < MIN_RATE {
            return refuse(
                "topology.rate",
                link.rate,
                format!(
                    "{MIN_RATE} to {MAX_RATE}: beyond that the processor, not the queue, is the bottleneck"
                ),
            );
        }
        if link.delay < MIN_DELAY || link.delay > MAX_DELAY {
            return refuse(
                "topology.delay",
                link.delay,
                format!(
                    "{MIN_DELAY} to {MAX_DELAY}: the kernel takes about that from host to host's interface, and \
                     nothing here delays packets further"
                ),
            );
        }
    }
    Ok(())
}

fn queues(plan: &Plan) -> Result<(), SpecError> {
    let queues = &plan.spec.queues;
    let (host_limit, host_mark) = queues.host();
    for (path, limit, mark) in [
        ("queues", queues.limit, queues.mark),
        ("queues.host", host_limit, host_mark),
    ] {
        match limit {
            QueueSize::Packets(packets) if packets < LENGTHS => {}
            _ => {
                return refuse(
                    format!("{path}.limit"),
                    limit,
                    format!("1 to {} packets", LENGTHS - 1),
                );
            }
        }
        if let Mark::At(amount @ QueueSize::Bytes(_)) = mark {
            return refuse(format!("{path}.mark"), amount, "packets, or \"off\"");
        }
    }
    Ok(())
}

fn transport(transport: &TcpSpec, one_path: bool) -> Result<(), SpecError> {
    in_kernel(&transport.cc)?;
    if let Some(paths) = &transport.paths
        && !one_path
        && !POLICIES.contains(&paths.name.as_str())
    {
        return refuse("paths", format!("{:?}", paths.name), list_names(POLICIES));
    }
    // The path manager works with programs only.
    if transport.subflows > 1 && OWN.contains(&transport.cc.name.as_str()) {
        let allowed = format!("1 with cc = {:?}", transport.cc.name);
        return refuse("subflows", transport.subflows, allowed);
    }
    if transport.subflows > MAX_SUBFLOWS {
        return refuse("subflows", transport.subflows, format!("at most {MAX_SUBFLOWS}"));
    }
    let profile = transport.tcp.apply(&Profile::linux())?;
    let (fields, linux) = (to_table(&profile), to_table(&Profile::linux()));
    for (field, value) in &fields {
        if linux.get(field) != Some(value) && !SETTABLE.contains(&field.as_str()) {
            let allowed = linux.get(field).map(ToString::to_string).unwrap_or_default();
            return refuse(
                format!("tcp.{field}"),
                value,
                format!(
                    "{allowed}, as the kernel does; what can be set is {}",
                    SETTABLE.join(", ")
                ),
            );
        }
    }
    if let Some(scheduler) = transport
        .scheduler
        .as_ref()
        .filter(|scheduler| **scheduler != "linux")
    {
        return refuse("scheduler", format!("{scheduler:?}"), "\"linux\", the kernel's");
    }
    if profile.sizes.header != Profile::linux().sizes.header {
        return refuse(
            "tcp.header",
            Size(profile.sizes.header.into()),
            Size(Profile::linux().sizes.header.into()),
        );
    }
    if profile.sizes.mss > MAX_MSS || profile.sizes.mss < MIN_MSS {
        return refuse(
            "tcp.mss",
            Size(profile.sizes.mss.into()),
            format!("{MIN_MSS}B to {MAX_MSS}B"),
        );
    }
    if profile.window.initial_cwnd.fract() != 0.0 || profile.window.initial_cwnd > 1000.0 {
        return refuse(
            "tcp.initial_cwnd",
            profile.window.initial_cwnd,
            "a whole number of packets, at most 1000",
        );
    }
    if profile.rto.min_rto < Time::from_ms(1) {
        return refuse("tcp.min_rto", profile.rto.min_rto, "at least 1ms");
    }
    Ok(())
}

/// MTU, initial window and minimum RTO belong to interfaces and routes, not to sockets.
fn one_profile(plan: &Plan) -> Result<(), SpecError> {
    let mut first: Option<(&str, Profile)> = None;
    let transports = tcp_specs(plan)?;
    for (name, transport) in &transports {
        let profile = transport.tcp.apply(&Profile::linux())?;
        if let Some((other, theirs)) = &first {
            let same = (
                profile.sizes.mss,
                profile.window.initial_cwnd,
                profile.rto.min_rto,
            ) == (theirs.sizes.mss, theirs.window.initial_cwnd, theirs.rto.min_rto);
            if !same {
                return refuse(
                    format!("transports.{name}.tcp"),
                    "mss, initial_cwnd or min_rto of its own",
                    format!("those of transports.{other}: all flows of an experiment share them"),
                );
            }
        } else {
            first = Some((name, profile));
        }
    }
    Ok(())
}

fn probes(plan: &Plan) -> Result<(), SpecError> {
    for probe in &plan.probes {
        let every = match probe {
            Probe::QueueTrace { interval, .. } => Some(*interval),
            Probe::Flow { interval, .. } => *interval,
            Probe::Latency { flows } if !matches!(flows, ProbedFlows::One(flow) if (*flow as usize) < plan.flows.len()) =>
            {
                return refuse(
                    "probes",
                    "latencies of flows that other flows open",
                    "flows of other traffic",
                );
            }
            Probe::Steps { .. } => return refuse("probes", "steps", "probes of other kinds"),
            Probe::Packets { .. } => return refuse("probes", "packets", "probes of other kinds"),
            Probe::Throughput { .. } => return refuse("probes", "throughput", "probes of other kinds"),
            Probe::Buffer { .. } => return refuse("probes", "buffers of switches", "probes of other kinds"),
            Probe::Queue { .. } | Probe::Latency { .. } => continue,
        };
        match every {
            Some(every) if every >= MIN_PROBE_INTERVAL => {}
            Some(every) => {
                return refuse(
                    "probes",
                    format!("every {every}"),
                    format!("at least {MIN_PROBE_INTERVAL}"),
                );
            }
            None => {
                return refuse(
                    "probes",
                    "every change",
                    format!("an interval of at least {MIN_PROBE_INTERVAL}"),
                );
            }
        }
    }
    Ok(())
}

fn refuse<T>(path: impl Into<String>, value: impl Display, allowed: impl Display) -> Result<T, SpecError> {
    let allowed = format!("{allowed} at level \"linux\"");
    weft_spec::refuse(path, value, allowed)
}

/// Fields of a profile that the testbed sets in the kernel; all others are as in the profile `linux`. `reinject`, the RTT sample and the
/// handshake are the kernel's.
const SETTABLE: &[&str] = &["mss", "initial_cwnd", "min_rto", "receive_buffer", "fct_from"];

const MAX_DURATION: Time = Time::from_ms(600_000);
const MAX_RATE: Rate = Rate(500_000_000);
const MIN_RATE: Rate = Rate(1_000_000);
const MIN_DELAY: Time = Time::from_us(5);
const MAX_DELAY: Time = Time::from_us(50);
const MIN_PROBE_INTERVAL: Time = Time::from_ms(1);
const MAX_FLOWS: usize = 10_000;
const MAX_SUBFLOWS: u32 = 8;
const MAX_MSS: u32 = 8948;
const MIN_MSS: u32 = 536;
