//! The ports of a fabric: the rate and the queue of each link, and the parts of the spec that state them.
//!
//! What a spec states for the whole network applies to all links. A setting of a single cable of a graph takes
//! precedence over it, one of a layer over that of a cable, and one of a single link over all of them. A kind of
//! queue replaces another one together with its parameters.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use weft_fabric::{
    Fabric, Link, QUEUES, QueueConfig, QueueKind, QueueParameters, check_mark, resolve_queue_kind,
};
use weft_run::{Backend, Feature};
use weft_spec::{Layer, QueueKindSpec, Rate, Spec, SpecError, Within, conflict, refuse};
use weft_transports::{find_kind, kinds};

use crate::resolve::UNSUPPORTED;

/// A part of a spec that states settings of ports. Each takes precedence over those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// `queues`.
    Network,
    /// `queues.host`.
    Hosts,
    /// The cable of the topology with this index.
    Cable(u32),
    /// The layer of this name.
    Layer(&'static str),
    /// The entry of `links` with this index, in the order of their names.
    Link(u32),
}

impl Place {
    /// Returns the path of this part of the spec.
    fn path(self, spec: &Spec) -> String {
        match self {
            Self::Network => "queues".to_owned(),
            Self::Hosts => "queues.host".to_owned(),
            Self::Cable(index) => format!("topology.links[{index}]"),
            Self::Layer(name) => format!("layers.{name}"),
            Self::Link(index) => link_path(spec.links.keys().nth(index as usize).map_or("", String::as_str)),
        }
    }

    /// Returns the path of the kind of queue that this part of the spec states.
    pub(crate) fn kind_path(self, spec: &Spec) -> String {
        let field = if self == Self::Network { "kind" } else { "queue" };
        format!("{}.{field}", self.path(spec))
    }

    /// Returns the path of the limit that this part of the spec states.
    pub(crate) fn limit_path(self, spec: &Spec) -> String {
        format!("{}.limit", self.path(spec))
    }
}

/// The settings of a port, and the parts of the spec from which its limit and its kind of queue come.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    /// The rate, if it is not the topology's.
    rate: Option<Rate>,
    queue: QueueConfig,
    kind: QueueKind,
    pub limit_from: Place,
    pub kind_from: Place,
}

/// Ports with the same key are alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    layer: &'static str,
    at_host: bool,
    cable: Option<u32>,
    link: Option<u32>,
}

/// The ports of a fabric.
pub(crate) struct Ports {
    alike: BTreeMap<Key, Port>,
    /// Index of the entry of `links` for links that have one.
    entries: HashMap<u32, u32>,
}

impl Ports {
    /// Sets the rates and queues of all links of the fabric. In `spec` it fills in the parameters of kinds of
    /// queues, and the queues of hosts. `has_nic` is true if the hosts' own ports belong to a NIC with back
    /// pressure, which has no queues.
    ///
    /// # Errors
    /// Returns the first error, with its path in the spec.
    pub fn set(
        spec: &mut Spec,
        backend: &dyn Backend,
        has_nic: bool,
        fabric: &mut Fabric,
    ) -> Result<Self, SpecError> {
        let mut ports = Self {
            alike: BTreeMap::new(),
            entries: entries_of_links(spec, fabric)?,
        };
        let kinds = resolve_kinds(spec, backend, fabric)?;
        for number in 0..fabric.links.len() as u32 {
            let key = ports.key(fabric, number);
            let port = match ports.alike.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let link = &fabric.links[number as usize];
                    new.insert(port_of(spec, &kinds, fabric, link, key, has_nic)?)
                }
            };
            let link = &mut fabric.links[number as usize];
            link.rate = port.rate.unwrap_or(link.rate);
            link.queue = port.queue;
            link.kind = port.kind.clone();
        }
        if !has_nic {
            let (limit, mark) = spec.queues.host();
            (spec.queues.host.limit, spec.queues.host.mark) = (Some(limit), Some(mark));
        }
        Ok(ports)
    }

    /// Returns the port that sends over the link with this number.
    pub fn of(&self, fabric: &Fabric, number: u32) -> &Port {
        &self.alike[&self.key(fabric, number)]
    }

    /// Returns the kinds of queues by the part of the spec that states them. The ports of hosts with a NIC,
    /// which have no queues, are left out where others have the same.
    pub fn kinds(&self) -> BTreeMap<Place, &QueueKind> {
        let mut kinds = BTreeMap::new();
        for port in self.alike.values() {
            let kind = kinds.entry(port.kind_from).or_insert(&port.kind);
            if **kind == QueueKind::default() {
                *kind = &port.kind;
            }
        }
        kinds
    }

    fn key(&self, fabric: &Fabric, number: u32) -> Key {
        let link = &fabric.links[number as usize];
        Key {
            layer: link.layer,
            at_host: fabric.nodes[link.from as usize].is_host,
            cable: link.cable,
            link: self.entries.get(&number).copied(),
        }
    }
}

/// Applies the settings of a port, from the most general to the most specific.
fn port_of(
    spec: &Spec,
    kinds: &BTreeMap<Place, QueueKind>,
    fabric: &Fabric,
    link: &Link,
    key: Key,
    has_nic: bool,
) -> Result<Port, SpecError> {
    let without_queue = has_nic && key.at_host;
    let general = if key.at_host && spec.queues.host.limit.is_some() {
        Place::Hosts
    } else {
        Place::Network
    };
    let mut port = Port {
        rate: None,
        queue: link.queue,
        kind: kinds[&Place::Network].clone(),
        limit_from: general,
        kind_from: Place::Network,
    };
    let cable = key
        .cable
        .map(|index| (Place::Cable(index), &fabric.cables[index as usize]));
    let layer = spec
        .layers
        .get(key.layer)
        .map(|layer| (Place::Layer(key.layer), layer));
    let entry = key
        .link
        .and_then(|index| Some((Place::Link(index), spec.links.values().nth(index as usize)?)));
    for (place, settings) in [cable, layer, entry].into_iter().flatten() {
        port.rate = settings.rate.or(port.rate);
        if without_queue {
            refuse_queue(spec, place, settings)?;
            continue;
        }
        if let Some(kind) = kinds.get(&place) {
            (port.kind, port.kind_from) = (kind.clone(), place);
        }
        let of_place = |error: SpecError| error.within(&place.path(spec));
        if let Some(mark) = settings.mark.filter(|_| port.kind.marks()) {
            check_mark(port.kind.name(), mark).map_err(|error| of_place(error.within("mark")))?;
        }
        port.queue = port.queue.with(settings.limit, settings.mark).map_err(of_place)?;
        if settings.limit.is_some() {
            port.limit_from = place;
        }
    }
    if without_queue {
        // A NIC can be paused, although its queue has no limit.
        port.kind = match port.kind {
            QueueKind::Lossless(lossless) => lossless.without_marks().into(),
            _ => QueueKind::default(),
        };
        return Ok(port);
    }
    port.kind
        .check_port(port.queue)
        .within(&port.kind_from.kind_path(spec))?;
    if port.kind.marks() {
        port.queue.mark = None;
    }
    set_header_limit(spec, &mut port);
    Ok(port)
}

/// Refuses settings of a queue at the ports of hosts with a NIC. Those of a cable, which also has a port of a
/// switch, have no effect.
fn refuse_queue(spec: &Spec, place: Place, settings: &Layer) -> Result<(), SpecError> {
    let stated = [
        ("limit", settings.limit.is_some()),
        ("mark", settings.mark.is_some()),
        ("queue", settings.queue.is_some()),
    ];
    match stated.iter().find(|(_, is_stated)| *is_stated) {
        Some((field, _)) if !matches!(place, Place::Cable(_)) => conflict(
            format!("{}.{field}", place.path(spec)),
            "the ports of hosts have no queue with this hosts.qdisc",
            "remove this field or set hosts.qdisc = \"switch\"",
        ),
        _ => Ok(()),
    }
}

/// Sets the capacity for headers of a port that trims and states none: the largest that a transport of the
/// spec needs. A queue that is too short for a transport loses its headers; a longer one costs the others
/// only time.
fn set_header_limit(spec: &Spec, port: &mut Port) {
    let QueueKind::Trimming(trimming) = &mut port.kind else {
        return;
    };
    if trimming.headers.is_some() {
        return;
    }
    let needed = spec.transports.values().filter_map(|transport| {
        let kind = find_kind(kinds(), &transport.kind).ok()?;
        kind.header_limit(&transport.params, port.queue.limit, trimming.size)
    });
    let general = trimming.header_limit(port.queue);
    trimming.headers = Some(needed.fold(general, |most, limit| if limit > most { limit } else { most }));
}

/// Returns the kinds of queues by the part of the spec that states them, and fills in their parameters in `spec`.
fn resolve_kinds(
    spec: &mut Spec,
    backend: &dyn Backend,
    fabric: &mut Fabric,
) -> Result<BTreeMap<Place, QueueKind>, SpecError> {
    let whole = resolve_kind(&mut spec.queues.kind, backend).within("queues.kind")?;
    if whole.marks() {
        let host_mark = spec.queues.host.mark.unwrap_or_default();
        for (field, mark) in [("queues.mark", spec.queues.mark), ("queues.host.mark", host_mark)] {
            check_mark(whole.name(), mark).within(field)?;
        }
    }
    let mut found = BTreeMap::from([(Place::Network, whole)]);
    let mut resolve = |place: Place, settings: &mut Layer, path: &str| {
        if let Some(given) = &mut settings.queue {
            let kind = resolve_kind(given, backend).within(&format!("{path}.queue"))?;
            found.insert(place, kind);
        }
        Ok(())
    };
    for (index, cable) in (0..).zip(&mut fabric.cables) {
        resolve(Place::Cable(index), cable, &format!("topology.links[{index}]"))?;
    }
    for (name, layer) in &mut spec.layers {
        let Some(link) = fabric.links.iter().find(|link| link.layer == name) else {
            return Err(unknown_layer(fabric, name).within("layers"));
        };
        let path = format!("layers.{name}");
        check_changes(layer).within(&path)?;
        resolve(Place::Layer(link.layer), layer, &path)?;
    }
    for (index, (name, settings)) in (0..).zip(&mut spec.links) {
        let path = link_path(name);
        check_changes(settings).within(&path)?;
        resolve(Place::Link(index), settings, &path)?;
    }
    Ok(found)
}

/// Returns the kind, and fills in its parameters.
fn resolve_kind(given: &mut QueueKindSpec, backend: &dyn Backend) -> Result<QueueKind, SpecError> {
    let kind = resolve_queue_kind(given)?;
    if given.name != QUEUES[0].name && !backend.has(Feature::QueueKinds) {
        let problem = format!(
            "{:?} is not supported at level {:?}",
            given.name,
            backend.level().name
        );
        return conflict("", problem, UNSUPPORTED);
    }
    Ok(kind)
}

fn check_changes(settings: &Layer) -> Result<(), SpecError> {
    if *settings == Layer::default() {
        return conflict("", "changes nothing", "set rate, limit, mark or queue");
    }
    Ok(())
}

/// Returns the index of the entry of `links` for the number of each link that has one.
fn entries_of_links(spec: &Spec, fabric: &Fabric) -> Result<HashMap<u32, u32>, SpecError> {
    let mut entries = HashMap::new();
    for (index, name) in (0..).zip(spec.links.keys()) {
        let numbers = links_by_name(fabric, name, "links")?;
        entries.extend(numbers.into_iter().map(|number| (number, index)));
    }
    Ok(entries)
}

/// Returns the path in a spec of the settings of the link with this name.
pub(crate) fn link_path(name: &str) -> String {
    format!("links.{name:?}")
}

/// Returns the links between two nodes, which `name` gives as "FROM->TO".
///
/// # Errors
/// Returns an error at `path` if there are none; it names links of the sender, or any link of the fabric.
pub(crate) fn links_by_name(fabric: &Fabric, name: &str, path: &str) -> Result<Vec<u32>, SpecError> {
    /// Maximum number of links that an error names.
    const MAX_NAMED: usize = 8;
    let node = |node: u32| fabric.nodes[node as usize].name.as_str();
    let (from, to) = name.split_once("->").unwrap_or((name, ""));
    let numbered = (0_u32..).zip(&fabric.links);
    let of_sender: Vec<(u32, &Link)> = numbered.filter(|(_, link)| node(link.from) == from).collect();
    let named = of_sender.iter().filter(|(_, link)| node(link.to) == to);
    let named: Vec<u32> = named.map(|&(number, _)| number).collect();
    if named.is_empty() {
        let any = fabric.links.first().filter(|_| of_sender.is_empty());
        let examples = of_sender.iter().map(|&(_, link)| link).chain(any).take(MAX_NAMED);
        let examples: Vec<String> = examples
            .map(|link| format!("\"{}->{}\"", node(link.from), node(link.to)))
            .collect();
        let allowed = format!("a link by its ends, such as {}", examples.join(", "));
        return refuse(path, format!("{name:?} does not exist"), allowed);
    }
    Ok(named)
}

/// Returns the error for a layer that the fabric does not have.
pub(crate) fn unknown_layer(fabric: &Fabric, name: &str) -> SpecError {
    let mut layers: Vec<_> = fabric.links.iter().map(|link| link.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    SpecError::unknown_name("", name, layers)
}
