//! Conversion of a spec to a plan, with every default filled in and everything checked.

use std::collections::HashMap;
use std::sync::Arc;

use weft_cc::AlgorithmFactory;
use weft_fabric::{Fabric, NodeId, PortQueues, QueueParameters, TOPOLOGIES};
use weft_paths::{CONTROLLERS, Controller, Granularity, PathPolicy};
use weft_run::{Backend, Feature, Plan};
use weft_spec::{
    KindSpec, Qdisc, QueueSize, Rate, Spec, SpecError, Time, Traffic, Within, conflict, find, refuse,
};
use weft_traffic::{Flow, FlowGenerator, MAX_FLOWS, PatternContext, TRAFFIC};
use weft_transports::{TransportConfig, kinds};

use crate::backends::backend_by_level;
use crate::classes::{self, ClassNames, EntryFlows};
use crate::memory::{InsufficientMemory, MemoryBudget};
use crate::ports::Ports;
use crate::{events, hints, probes, queues, transports};

/// A resolved spec with its plan.
pub(crate) struct Resolved {
    /// The backend of its level.
    pub backend: &'static dyn Backend,
    /// The plan; its spec has every default filled in and resolves to itself.
    pub plan: Plan,
    pub classes: ClassNames,
    /// Class and number of flows that end the experiment.
    pub stop: Option<(u32, u64)>,
    /// Warnings about the spec.
    pub warnings: Vec<String>,
}

/// Resolves a spec. `custom_algorithms` are user-defined congestion controls; `memory` is the
/// memory that the network may use.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn resolve(
    spec: &Spec,
    custom_algorithms: &[Arc<dyn AlgorithmFactory>],
    memory: MemoryBudget,
) -> Result<Resolved, SpecError> {
    let mut resolved = spec.clone();
    let backend = backend_by_level(&spec.level)?;
    backend.fill_defaults(&mut resolved)?;
    let has_nic = !matches!(resolved.hosts.qdisc, None | Some(Qdisc::Switch));
    let mut port_queues = PortQueues::from(&spec.queues);
    if has_nic {
        port_queues = port_queues.with_nic();
    }

    let kind = find(TOPOLOGIES, "topology.kind", &spec.topology.kind)?;
    let topology = (kind.parse)(&spec.topology.params)
        .map_err(|error| error.with_known_fields(&["kind"]).within("topology"))?;
    let size = topology.value.size();
    memory
        .check(backend.network_bytes(size))
        .map_err(|error| SpecError::conflict("topology", error.to_string(), "use a smaller network"))?;
    let mut fabric = topology.value.build(&port_queues).within("topology")?;
    let ports = Ports::set(&mut resolved, backend, has_nic, &mut fabric)?;
    resolved.topology = KindSpec {
        kind: spec.topology.kind.clone(),
        params: topology.params,
    };

    let policy = topology.value.default_policy();
    let transports = resolve_transports(
        &mut resolved,
        spec,
        custom_algorithms,
        policy,
        backend,
        (&fabric, &ports),
    )?;

    let of_queues = queues::check_transports(spec, &transports, &fabric, &ports)?;

    name_traffic(&mut resolved.traffic)?;
    let classes = ClassNames::new(&resolved)?;
    let stop = resolved
        .stop
        .as_ref()
        .map(|stop| classes.stop(stop))
        .transpose()?;
    let open = transports
        .iter()
        .map(|transport| backend.open_flow_bytes(transport))
        .min()
        .unwrap_or(0);
    let fit = |flows: u64| memory.check(flows.saturating_mul(open));
    let traffic = traffic_flows(&mut resolved, &fabric, fit)?;
    let warnings = classes.check_stop(stop, &traffic.flows, &traffic.entries, spec.duration)?;
    check_write_rates(backend, &traffic.flows, &traffic.generators, &transports)?;
    let names: Vec<String> = resolved
        .traffic
        .iter()
        .filter_map(|traffic| traffic.name.clone())
        .collect();
    let states = probes::TransportStates::new(&resolved, &transports);
    let context = probes::ProbeContext {
        fabric: &fabric,
        flows: &traffic.flows,
        generators: &traffic.generators,
        traffic: &names,
        transports: &states,
    };
    let subflows = |flow: &Flow| transports[flow.transport as usize].subflows();
    let (entries, probes) = probes::resolve(&spec.probes, &context, spec.duration, subflows)?;
    resolved.probes = entries;
    let measure = resolved.measure.as_mut().map(|measure| {
        let stop = *measure.stop.get_or_insert(spec.duration);
        (measure.start, stop)
    });
    let events = events::resolve(&spec.events, &fabric, spec.seed, spec.duration)?;
    let controller = controller(&mut resolved, backend, &transports)?;
    if let Some(sharing) = spec.sharing
        && !backend.has(Feature::Sharing)
    {
        let problem = format!("{sharing} is not supported at level {:?}", backend.level().name);
        return conflict("sharing", problem, UNSUPPORTED);
    }
    let plan = Plan {
        spec: resolved,
        fabric,
        transports,
        flows: traffic.flows,
        generators: traffic.generators,
        measure,
        probes,
        events,
        controller,
    };
    backend.check(&plan)?;
    let of_topology = plan
        .fabric
        .warnings
        .iter()
        .map(|warning| format!("topology.{warning}"));
    let warnings = of_topology.chain(warnings).chain(of_queues).collect();
    Ok(Resolved {
        backend,
        plan,
        classes,
        stop,
        warnings,
    })
}

/// Resolves the transports, and replaces them in `resolved`. `policy` is the default of the topology.
fn resolve_transports(
    resolved: &mut Spec,
    spec: &Spec,
    custom_algorithms: &[Arc<dyn AlgorithmFactory>],
    policy: &str,
    backend: &dyn Backend,
    (fabric, ports): (&Fabric, &Ports),
) -> Result<Vec<TransportConfig>, SpecError> {
    let context = weft_transports::Context {
        fabric,
        policy,
        congestion_control: &|cc| transports::congestion_control(cc, custom_algorithms),
    };
    let mut transports = Vec::new();
    for (name, transport) in &mut resolved.transports {
        let path = format!("transports.{name}");
        let (with_defaults, built) = weft_transports::resolve(transport, kinds(), &context).within(&path)?;
        check_queue_fits_packet(spec, fabric, ports, &built, &path)?;
        transports::check_kind(backend, built.kind).within(&path)?;
        *transport = with_defaults;
        transports.push(built);
    }
    Ok(transports)
}

/// Resolves the controller and replaces its fields by the resolved ones. A controller assigns a
/// path to each subflow, so it needs a path policy that keeps paths.
fn controller(
    spec: &mut Spec,
    backend: &dyn Backend,
    transports: &[TransportConfig],
) -> Result<Option<Arc<dyn Controller>>, SpecError> {
    let Some(controller) = &mut spec.controller else {
        return Ok(None);
    };
    let kind = find(CONTROLLERS, "controller.kind", &controller.kind)?;
    if !backend.has(Feature::Controllers) {
        let problem = format!(
            "{:?} is not supported at level {:?}",
            controller.kind,
            backend.level().name
        );
        return conflict("controller", problem, UNSUPPORTED);
    }
    let loaded = (kind.parse)(&controller.params)
        .map_err(|error| error.with_known_fields(&["kind"]).within("controller"))?;
    for (transport, (name, stated)) in transports.iter().zip(&spec.transports) {
        if transport.paths.granularity(0, false) != Granularity::Subflow {
            let policy = stated.params.get("paths").and_then(|paths| paths.get("name"));
            let policy = policy.and_then(|name| name.as_str()).unwrap_or_default();
            let problem = format!(
                "{:?} cannot assign paths with transports.{name}.paths = {policy:?}",
                controller.kind
            );
            let remedy = "use a policy that keeps the path, such as \"ecmp\"";
            return conflict("controller", problem, remedy);
        }
    }
    controller.params = loaded.params;
    Ok(Some(Arc::from(loaded.value)))
}

/// Checks that a queue in bytes has room for one full packet; otherwise it would drop every one.
fn check_queue_fits_packet(
    spec: &Spec,
    fabric: &Fabric,
    ports: &Ports,
    transport: &TransportConfig,
    path: &str,
) -> Result<(), SpecError> {
    let packet = transport.sizes().max();
    // Packets and bytes cannot be compared, so a limit in packets passes.
    let check = |limit: QueueSize, field: &dyn Fn() -> String| {
        if limit < QueueSize::Bytes(packet.into()) {
            let given = format!("{limit} is less than a packet of {path} ({packet}B on the wire)");
            return refuse(field(), given, format!("at least {packet}B"));
        }
        Ok(())
    };
    for (number, link) in (0..).zip(&fabric.links) {
        check(link.queue.limit, &|| {
            ports.of(fabric, number).limit_from.limit_path(spec)
        })?;
    }
    for (place, kind) in ports.kinds() {
        for (field, limit) in kind.limits() {
            check(limit, &|| format!("{}.{field}", place.kind_path(spec)))?;
        }
    }
    Ok(())
}

/// Sets the name of every traffic entry in tables: its kind, with the entry's index if the kind
/// occurs more than once.
fn name_traffic(traffic: &mut [Traffic]) -> Result<(), SpecError> {
    let mut kinds: HashMap<String, u32> = HashMap::new();
    for entry in &*traffic {
        *kinds.entry(entry.kind.clone()).or_default() += 1;
    }
    for (i, entry) in traffic.iter_mut().enumerate() {
        let kind = &entry.kind;
        let default = || {
            if kinds[kind] == 1 {
                kind.clone()
            } else {
                format!("{kind}-{i}")
            }
        };
        entry.name.get_or_insert_with(default);
    }
    let mut names = HashMap::new();
    for (i, entry) in traffic.iter().enumerate() {
        let name = entry.name.as_deref().unwrap_or("");
        if let Some(first) = names.insert(name, i) {
            let given = format!("{name:?} is also the name of traffic[{first}]");
            return refuse(format!("traffic[{i}].name"), given, "a unique name");
        }
    }
    Ok(())
}

/// Remedy for a field that the level does not support.
pub(crate) const UNSUPPORTED: &str = "remove this field or use another level";

/// Fields of every traffic entry of any kind.
const COMMON_FIELDS: &[&str] = &["kind", "transport", "name", "classes"];

/// The flows of all traffic entries.
struct TrafficFlows {
    /// Flows that are known before the run.
    flows: Vec<Flow>,
    generators: Vec<Arc<dyn FlowGenerator>>,
    /// Origin of the flows of each entry.
    entries: Vec<EntryFlows>,
}

/// Returns the flows of all traffic entries, and replaces the entries' fields by resolved ones. `fit`
/// checks whether this many open flows fit into memory.
fn traffic_flows(
    spec: &mut Spec,
    fabric: &Fabric,
    fit: impl Fn(u64) -> Result<(), InsufficientMemory>,
) -> Result<TrafficFlows, SpecError> {
    if spec.traffic.is_empty() {
        return refuse("traffic", "an empty list", "at least one entry");
    }
    let hosts: Vec<&str> = fabric
        .hosts
        .iter()
        .map(|&host| fabric.nodes[host as usize].name.as_str())
        .collect();
    let distance = |from: u32, to: u32| {
        let [from, to] = [from, to].map(|host| fabric.hosts[host as usize]);
        if fabric.routing.path_count(from, to) == 0 {
            return 0;
        }
        let mut ports = Vec::new();
        fabric.routing.append_ports(from, to, 0, &mut ports);
        ports.len() as u32
    };
    let capacities = capacities(fabric);
    let (mut all, mut generators, mut first_class) = (Vec::new(), Vec::new(), 0);
    let mut entries = Vec::with_capacity(spec.traffic.len());
    for (i, entry) in spec.traffic.iter_mut().enumerate() {
        let path = format!("traffic[{i}]");
        let kind = find(TRAFFIC, "kind", &entry.kind)
            .map_err(|error| hints::related_traffic(&entry.kind).unwrap_or(error).within(&path))?;
        let classes = classes::resolve_classes(entry, &spec.transports, first_class).within(&path)?;
        first_class = classes.default.class + 1;
        let loaded = (kind.parse)(&entry.params)
            .map_err(|error| error.with_known_fields(COMMON_FIELDS).within(&path))?;
        let context = PatternContext::new(&hosts, 0, i as u32, spec.seed)
            .with_name(entry.name.as_deref().unwrap_or_default())
            .with_duration(spec.duration)
            .with_classes(classes)
            .with_distance(&distance)
            .with_capacities(&capacities);
        fit(loaded.value.min_concurrent_flows()).map_err(|error| {
            SpecError::conflict(
                &path,
                error.to_string(),
                "use fewer concurrent flows or fewer subflows",
            )
        })?;
        let mut flows = loaded.value.flows(&context).within(&path)?;
        context.identify(&mut flows);
        check_flows(&flows, fabric, spec.duration).within(&path)?;
        let generator = loaded.value.generator(&context).within(&path)?;
        entries.push(match &generator {
            Some(_) => EntryFlows::Generated,
            None if loaded.value.draws_flows() => EntryFlows::Drawn,
            None if loaded.value.draws_openings(spec.duration) => EntryFlows::Delayed,
            None => EntryFlows::Fixed,
        });
        if let Some(generator) = generator {
            check_generator(generator.as_ref(), fabric).within(&path)?;
            generators.push(generator);
        }
        entry.params = loaded.params;
        all.extend(flows);
        if all.len() as u64 > MAX_FLOWS {
            let given = format!("{} flows with those of the previous entries", all.len());
            return refuse(path, given, format!("at most {MAX_FLOWS} flows in all"));
        }
    }
    Ok(TrafficFlows {
        flows: all,
        generators,
        entries,
    })
}

/// Returns the capacity of each host's own links into the network.
fn capacities(fabric: &Fabric) -> Vec<Rate> {
    let mut of_nodes = vec![0; fabric.nodes.len()];
    for link in &fabric.links {
        of_nodes[link.from as usize] += link.rate.0;
    }
    let of_host = |&host: &u32| Rate(of_nodes[host as usize]);
    fabric.hosts.iter().map(of_host).collect()
}

/// Returns the traffic entry of the first flow that writes at a rate and fulfils `condition`. The
/// flows of a generator either all have a rate or none has.
fn find_write_rate(
    flows: &[Flow],
    generators: &[Arc<dyn FlowGenerator>],
    condition: impl Fn(&Flow) -> bool,
) -> Option<u32> {
    let writes = |flow: &Flow| flow.rate.is_some() && condition(flow);
    let of_flows = flows.iter().find(|flow| writes(flow)).map(|flow| flow.traffic);
    of_flows.or_else(|| {
        let mut firsts = generators.iter().map(|generator| generator.flow(0));
        firsts.find(writes).map(|flow| flow.traffic)
    })
}

/// Checks that the level supports applications that write at a rate, and that no such application has a
/// transport with a rate of its own.
fn check_write_rates(
    backend: &dyn Backend,
    flows: &[Flow],
    generators: &[Arc<dyn FlowGenerator>],
    transports: &[TransportConfig],
) -> Result<(), SpecError> {
    let field = |traffic: u32| format!("traffic[{traffic}].rate");
    let any = find_write_rate(flows, generators, |_| true);
    if let Some(traffic) = any.filter(|_| !backend.has(Feature::WriteRates)) {
        let problem = format!("not supported at level {:?}", backend.level().name);
        return conflict(field(traffic), problem, UNSUPPORTED);
    }
    for transport in transports {
        let Some(remedy) = transport.parameters.refused_write_rate() else {
            continue;
        };
        let is_of_kind = |flow: &Flow| transports[flow.transport as usize].kind == transport.kind;
        if let Some(traffic) = find_write_rate(flows, generators, is_of_kind) {
            let problem = format!("not used with transports of kind {:?}", transport.kind);
            return conflict(field(traffic), problem, remedy);
        }
    }
    Ok(())
}

/// Checks that a path leads between every pair of hosts between which flows may open. If there are
/// very many pairs, only some are checked.
fn check_generator(generator: &dyn FlowGenerator, fabric: &Fabric) -> Result<(), SpecError> {
    const MAX_PAIRS: usize = 1 << 22;
    let pairs = generator.pairs();
    let stride = (pairs.count() / MAX_PAIRS).max(1);
    check_connected(fabric, || pairs.every(stride))
}

/// Checks that a path leads from one host of each pair to the other, and one back for acknowledgements.
/// The paths of a graph are counted by a search, so each two hosts are checked once.
fn check_connected<P: Iterator<Item = (u32, u32)>>(
    fabric: &Fabric,
    pairs: impl Fn() -> P,
) -> Result<(), SpecError> {
    let leads = |from: u32, to: u32| {
        let [from, to] = [from, to].map(|host| fabric.hosts[host as usize]);
        fabric.routing.path_count(from, to) > 0
    };
    let mut distinct: Vec<_> = pairs().map(|(from, to)| (from.min(to), from.max(to))).collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.iter().all(|&(a, b)| leads(a, b) && leads(b, a)) {
        return Ok(());
    }
    // The error names the first pair in the order of the spec.
    let mut directions = pairs().flat_map(|(from, to)| [(from, to), (to, from)]);
    let Some((from, to)) = directions.find(|&(from, to)| !leads(from, to)) else {
        return Ok(());
    };
    let nodes = [from, to].map(|host| fabric.hosts[host as usize]);
    let name = |node: NodeId| &fabric.nodes[node as usize].name;
    let problem = format!("no path leads from {} to {}", name(nodes[0]), name(nodes[1]));
    let (problem, remedy) = match hosts_between(fabric, nodes[0], nodes[1]).first() {
        Some(&between) => {
            let between = name(between);
            let problem = format!("{problem} except through {between}, and hosts do not forward");
            (
                problem,
                format!("choose connected hosts, or make {between} a switch of a graph"),
            )
        }
        None => (problem, "choose connected hosts".to_owned()),
    };
    conflict("", problem, remedy)
}

/// Returns the hosts between two nodes on the way that passes through the fewest hosts. The list is empty
/// if no way leads from one to the other, or one without hosts does.
fn hosts_between(fabric: &Fabric, from: NodeId, to: NodeId) -> Vec<NodeId> {
    let mut previous: Vec<Option<NodeId>> = vec![None; fabric.nodes.len()];
    // Nodes that are as many hosts away from the sender as the search has reached, and the next ones.
    let (mut reached, mut next) = (vec![from], Vec::new());
    previous[from as usize] = Some(from);
    while previous[to as usize].is_none() && !reached.is_empty() {
        while let Some(node) = reached.pop() {
            let first = fabric.first_link(node);
            let links = fabric.links[first..].iter().take_while(|link| link.from == node);
            for link in links {
                if previous[link.to as usize].is_none() {
                    previous[link.to as usize] = Some(node);
                    let is_host = fabric.nodes[link.to as usize].is_host;
                    if is_host { &mut next } else { &mut reached }.push(link.to);
                }
            }
        }
        std::mem::swap(&mut reached, &mut next);
    }
    let mut hosts = Vec::new();
    let mut at = to;
    while let Some(node) = previous[at as usize].filter(|&node| node != at) {
        if node != from && fabric.nodes[node as usize].is_host {
            hosts.push(node);
        }
        at = node;
    }
    hosts.reverse();
    hosts
}

/// Checks that every flow has a path, and that at least one opens before the end.
fn check_flows(flows: &[Flow], fabric: &Fabric, duration: Time) -> Result<(), SpecError> {
    check_connected(fabric, || flows.iter().map(|flow| (flow.from, flow.to)))?;
    match flows.iter().map(|flow| flow.start).min() {
        Some(first) if first >= duration => {
            let problem = format!("the first flow opens at {first}, not before the end at {duration}");
            conflict("", problem, "set an earlier start")
        }
        _ => Ok(()),
    }
}
