//! The backend of the flow level.

use std::mem::size_of;

use weft_cc::{Algorithm, CongestionControl, Echo};
use weft_fabric::{Link, NetworkSize, Node};
use weft_paths::{Granularity, PathPolicy};
use weft_run::{
    ActiveRun, Backend, Error, Feature, FlowRecord, LINK_RESULT_BYTES, Level, Plan, Provided, ProvidedTables,
    RunOptions, SubflowRecord, Timing, WireFormat,
};
use weft_spec::{Hosts, RateSharing, SpecError, Within, conflict, list_names, refuse};
use weft_traffic::Flow;
use weft_transports::{TcpSpec, TransportConfig};

use crate::simulation::FlowSimulation;

/// Kinds of probes that the level supports.
const PROBES: &[&str] = &["steps", "throughput"];

/// Columns of the table of flows that need no packets.
const FLOW_COLUMNS: &[&str] = &[
    "flow",
    "traffic",
    "transport",
    "from",
    "to",
    "round",
    "size_bytes",
    "start_s",
    "stop_s",
    "established_s",
    "finish_s",
    "fct_s",
    "delivered_bytes",
    "goodput_bps",
    "subflows",
    "class",
    "job",
    "measured_bytes",
    "unfinished_s",
    "ideal_s",
    "slowdown",
    "slowdown_at_least",
];

/// Columns of the table of links that need no packets.
const LINK_COLUMNS: &[&str] = &[
    "link",
    "from",
    "to",
    "layer",
    "rate_bps",
    "delay_s",
    "bytes",
    "utilisation",
];

/// The flow level.
pub struct FlowBackend;

impl Backend for FlowBackend {
    fn level(&self) -> &'static Level {
        &Level {
            name: "flow",
            about: "flow-level simulation: equilibrium rates of congestion control, or max-min fair rates for flows with a size",
            deterministic: true,
            exclusive: false,
            features: &[Feature::Sharing],
        }
    }

    fn provides(&self) -> ProvidedTables {
        Provided::Only(&[
            ("flows", Provided::Only(FLOW_COLUMNS)),
            ("subflows", Provided::Only(&["flow", "subflow", "acked_bytes"])),
            ("links", Provided::Only(LINK_COLUMNS)),
            ("jobs", Provided::All),
            ("ranks", Provided::All),
            ("steps", Provided::All),
            ("operations", Provided::All),
            ("throughput", Provided::All),
        ])
    }

    fn check(&self, plan: &Plan) -> Result<(), SpecError> {
        let spec = &plan.spec;
        if spec.hosts != Hosts::default() {
            return refuse("hosts", "what hosts do", "nothing at level \"flow\"");
        }
        if let Some(i) = spec
            .probes
            .iter()
            .position(|probe| !PROBES.contains(&&*probe.kind))
        {
            let given = format!("{:?}, which only packets have", spec.probes[i].kind);
            return refuse(
                format!("probes[{i}].kind"),
                given,
                "\"steps\" or \"throughput\" at level \"flow\"",
            );
        }
        if let Some(i) = spec.events.iter().position(|event| event.delay.is_some()) {
            let allowed = "state or rate at level \"flow\"";
            return refuse(format!("events[{i}].delay"), "a new delay", allowed);
        }
        let none = |link: &&Link| link.rate.0 == 0;
        if let Some(link) = plan.fabric.links.iter().find(none) {
            let [from, to] = [link.from, link.to].map(|node| &plan.fabric.nodes[node as usize].name);
            let given = format!("the link {from}->{to} has no capacity");
            return refuse("topology", given, "rates above 0 at level \"flow\"");
        }
        if let Some(i) = spec
            .events
            .iter()
            .position(|event| event.rate.is_some_and(|rate| rate.0 == 0))
        {
            let allowed = "a rate above 0, or state = \"down\"";
            return refuse(format!("events[{i}].rate"), "0bps", allowed);
        }
        let max_min = is_max_min(plan);
        let asked = spec.sharing == Some(RateSharing::MaxMin);
        let mut first: Option<(&str, String, bool)> = None;
        let transports = spec.transports.iter().zip(&plan.transports);
        for (((name, given), transport), _) in transports.zip(used_transports(plan)).filter(|(_, used)| *used)
        {
            let given = TcpSpec::from_spec(given)?;
            check_transport(&given, transport, asked).within(&format!("transports.{name}"))?;
            let marks = transport.expect_tcp().cc.echo() != Echo::Off;
            match &first {
                Some((other, cc, other_marks)) if *other_marks != marks && !max_min => {
                    let (signal, others) = if marks {
                        ("marks", "losses")
                    } else {
                        ("losses", "marks")
                    };
                    return conflict(
                        format!("transports.{name}.cc"),
                        format!(
                            "{:?} responds to {signal}, and {cc:?} of transports.{other} to {others}",
                            given.cc.name
                        ),
                        "use one signal, sharing = \"max-min\" or level \"packet\"",
                    );
                }
                Some(_) => {}
                None => first = Some((name, given.cc.name, marks)),
            }
        }
        Ok(())
    }

    fn network_bytes(&self, size: NetworkSize) -> u64 {
        /// Bytes of heap that the allocator and the name of a node take.
        const NAME: usize = 32;
        let link = size_of::<Link>() + LINK_RESULT_BYTES;
        size.nodes * (size_of::<Node>() + NAME) as u64 + size.links * link as u64
    }

    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        /// Links of a path, as many as a fat-tree's have; a link is noted on either side and while paths are built.
        const PATH: usize = 6 * 3 * size_of::<u32>();
        let subflow = PATH + 8 * size_of::<f64>() + size_of::<SubflowRecord>();
        (2 * size_of::<Flow>() + size_of::<FlowRecord>() + 256 + transport.subflows() as usize * subflow)
            as u64
    }

    fn estimate_run_bytes(&self, plan: &Plan, _streaming: bool, _available_bytes: u64) -> u64 {
        let fabric = &plan.fabric;
        let [nodes, hosts, links] =
            [fabric.nodes.len(), fabric.hosts.len(), fabric.links.len()].map(|n| n as u64);
        let flow = |flow: &Flow| self.open_flow_bytes(&plan.transports[flow.transport as usize]);
        // The square of the links that fill, which may be all.
        let matrix = if is_max_min(plan) && !has_single_paths(plan) {
            8 * links * links
        } else {
            0
        };
        self.network_bytes(NetworkSize { nodes, hosts, links })
            + plan.flows.iter().map(flow).sum::<u64>()
            + matrix
    }

    fn wire_format(&self, transport: &TransportConfig) -> Option<WireFormat> {
        Some(WireFormat {
            timing: Timing::Fluid,
            ..WireFormat::of_tcp(transport.expect_tcp(), Some(transport.subflows()))
        })
    }

    fn start(&self, plan: Plan, options: RunOptions) -> Result<Box<dyn ActiveRun>, Error> {
        if options.trace_hash {
            return Err(Error::Option {
                option: "trace_hash",
                value: "true".to_owned(),
                allowed: "false at level \"flow\": it has no packet events",
            });
        }
        Ok(Box::new(FlowSimulation::new(plan, options.threads.unwrap_or(1))?))
    }
}

/// Whether each transport carries traffic, in the order of the spec. The other ones have no effect.
pub(crate) fn used_transports(plan: &Plan) -> Vec<bool> {
    let spec = &plan.spec;
    spec.transports
        .keys()
        .map(|name| spec.has_traffic_of(name))
        .collect()
}

/// Returns true if rates are max-min fair: as the spec says, or else if flows have a size. The equilibrium would have to be searched
/// again whenever such a flow comes or goes, and with several subflows that search is slow and often fails.
pub(crate) fn is_max_min(plan: &Plan) -> bool {
    match plan.spec.sharing {
        Some(sharing) => sharing == RateSharing::MaxMin,
        None => has_sized_flows(plan),
    }
}

fn has_sized_flows(plan: &Plan) -> bool {
    !plan.generators.is_empty() || plan.flows.iter().any(|flow| flow.size.is_some())
}

fn has_single_paths(plan: &Plan) -> bool {
    let mut transports = plan.transports.iter().zip(used_transports(plan));
    transports.all(|(transport, used)| transport.subflows() == 1 || !used)
}

/// Returns true if flows with a size come and go over one subflow each, so that max-min fair rates can follow each change.
pub(crate) fn is_single_path_sized(plan: &Plan) -> bool {
    has_sized_flows(plan) && has_single_paths(plan)
}

fn check_transport(given: &TcpSpec, transport: &TransportConfig, max_min: bool) -> Result<(), SpecError> {
    // Where max-min fair rates are asked for, congestion control is none of them.
    if transport.expect_tcp().cc.response().is_none() && !max_min {
        let known = Algorithm::BUILT_IN.iter().map(|entry| entry.name);
        let known = known.filter(|name| Algorithm::build(name, &[]).is_ok_and(|cc| cc.response().is_some()));
        let problem = format!("{:?} has no response function", given.cc.name);
        return refuse("cc", problem, format!("{} at level \"flow\"", list_names(known)));
    }
    if [false, true]
        .iter()
        .any(|&reverse| transport.paths.granularity(0, reverse) != Granularity::Subflow)
    {
        let name = given.paths.as_ref().map_or("", |paths| &paths.name);
        let problem = format!("{name:?} chooses paths for single packets, or by what becomes of them");
        let allowed = "a policy that keeps a subflow's path, such as \"ecmp\", at level \"flow\"";
        return refuse("paths", problem, allowed);
    }
    Ok(())
}
