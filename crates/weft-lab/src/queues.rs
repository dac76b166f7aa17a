//! Kinds of queues: those of a spec's network and layers are set at the links of the fabric, which has
//! those of single cables.

use std::collections::{BTreeMap, HashMap};

use weft_fabric::{
    Fabric, KindSource, Link, NodeId, QUEUES, QueueKind, QueueParameters, check_mark, resolve_queue_kind,
};
use weft_run::Backend;
use weft_spec::{Layer, QueueKindSpec, Size, Spec, SpecError};
use weft_transports::{Parameters, TransportConfig, find_kind, kinds};

use crate::layers::{link_path, links_by_name, without_host_queue};
use crate::lossless;
use crate::resolve::UNSUPPORTED;

/// Sets the kind of the queues of all links, and fills in the parameters of the kinds in `spec`.
/// `has_nic` is true if the hosts' own ports belong to a NIC with back pressure, which has no queues.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn apply(
    spec: &mut Spec,
    backend: &dyn Backend,
    has_nic: bool,
    fabric: &mut Fabric,
) -> Result<(), SpecError> {
    let whole = resolve(&mut spec.queues.kind, backend).map_err(|error| error.within("queues.kind"))?;
    if whole.marks() {
        let host_mark = spec.queues.host.mark.unwrap_or_default();
        for (field, mark) in [("queues.mark", spec.queues.mark), ("queues.host.mark", host_mark)] {
            check_mark(&spec.queues.kind.name, mark).map_err(|error| error.within(field))?;
        }
    }
    let whole_name = spec.queues.kind.name.clone();
    let mut own = HashMap::new();
    for (name, layer) in &mut spec.layers {
        let path = format!("layers.{name}");
        if let Some(kind) = own_kind(layer, (&whole_name, &whole), backend, &path)? {
            own.insert(name.clone(), kind);
        }
    }
    for (index, (name, link)) in (0..).zip(&mut spec.links) {
        let numbers = links_by_name(fabric, name, "links")?;
        let layer = fabric.links[numbers[0] as usize].layer;
        let of_layer = spec.layers.get(layer).and_then(|layer| layer.queue.as_ref());
        let general = match (of_layer, own.get(layer)) {
            (Some(given), Some(kind)) => (given.name.as_str(), kind),
            _ => (whole_name.as_str(), &whole),
        };
        let Some(kind) = own_kind(link, general, backend, &link_path(name))? else {
            continue;
        };
        for number in numbers {
            let link = &mut fabric.links[number as usize];
            (link.kind, link.kind_source) = (kind.clone(), KindSource::Link(index));
        }
    }
    let Fabric { nodes, links, .. } = &mut *fabric;
    for link in links.iter_mut() {
        let layer = own
            .get(link.layer)
            .filter(|_| !matches!(link.kind_source, KindSource::Link(_)));
        if has_nic && nodes[link.from as usize].is_host {
            if layer.is_some() || matches!(link.kind_source, KindSource::Link(_)) {
                return Err(without_host_queue(path_of(spec, source_of(link))));
            }
            // A NIC can be paused, although its queue has no limit.
            if let QueueKind::Lossless(lossless) = whole {
                link.kind = lossless.without_marks().into();
            }
            continue;
        }
        if let Some(layer) = layer {
            link.kind_source = KindSource::Layer;
            link.kind = layer.clone();
        } else if link.kind_source == KindSource::Layer {
            link.kind = whole.clone();
        }
        let path = || path_of(spec, source_of(link));
        if link.kind_source != KindSource::Layer
            && !backend.supports_queue_kinds()
            && link.kind != QueueKind::default()
        {
            return Err(unsupported(path(), link.kind.name(), backend));
        }
        link.kind
            .check_port(link.queue)
            .map_err(|error| error.within(&path()))?;
        if link.kind.marks() {
            link.queue.mark = None;
        }
    }
    set_header_limits(spec, fabric);
    check_buffers(spec, fabric)
}

/// Sets the capacity for headers of ports that trim and state none: the largest that a transport of the
/// spec needs. A queue that is too short for a transport loses its headers; a longer one costs the others
/// only time.
fn set_header_limits(spec: &Spec, fabric: &mut Fabric) {
    for link in &mut fabric.links {
        let port = link.queue;
        let QueueKind::Trimming(trimming) = &mut link.kind else {
            continue;
        };
        if trimming.headers.is_some() {
            continue;
        }
        let needed = spec.transports.values().filter_map(|transport| {
            let kind = find_kind(kinds(), &transport.kind).ok()?;
            kind.header_limit(&transport.params, port.limit, trimming.size)
        });
        let general = trimming.header_limit(port);
        let limit = needed.fold(general, |most, limit| if limit > most { limit } else { most });
        trimming.headers = Some(limit);
    }
}

/// Returns the kind of the queues that settings choose, and fills in its parameters; `None` if they choose
/// none. `general` is the name and the kind of the queues without these settings.
fn own_kind(
    settings: &mut Layer,
    general: (&str, &QueueKind),
    backend: &dyn Backend,
    path: &str,
) -> Result<Option<QueueKind>, SpecError> {
    let own = settings.queue.as_mut().map(|given| resolve(given, backend));
    let own = own
        .transpose()
        .map_err(|error| error.within(&format!("{path}.queue")))?;
    let name = settings.queue.as_ref().map_or(general.0, |given| &given.name);
    if own.as_ref().unwrap_or(general.1).marks() {
        check_mark(name, settings.mark.unwrap_or_default())
            .map_err(|error| error.within(&format!("{path}.mark")))?;
    }
    Ok(own)
}

/// Source in a spec of the kind of a link's queue: the layer, and the part of the spec that chooses it.
pub(crate) type LinkSource = (&'static str, KindSource);

pub(crate) fn source_of(link: &Link) -> LinkSource {
    (link.layer, link.kind_source)
}

/// Returns the path of a kind of queues: that of a link, of a cable, of its layer, or of the whole network.
pub(crate) fn path_of(spec: &Spec, (layer, source): LinkSource) -> String {
    match (source, spec.layers.get(layer)) {
        (KindSource::Link(index), _) => {
            let name = spec.links.keys().nth(index as usize);
            format!("{}.queue", link_path(name.map_or("", String::as_str)))
        }
        (KindSource::Cable(cable), _) => format!("topology.links[{cable}].queue"),
        (KindSource::Layer, Some(Layer { queue: Some(_), .. })) => format!("layers.{layer}.queue"),
        _ => "queues.kind".to_owned(),
    }
}

/// Returns the kinds of queues by their source. The ports of hosts with a NIC, which have no queues, are
/// left out where a layer has other ports.
pub(crate) fn kinds_by_source(fabric: &Fabric) -> BTreeMap<LinkSource, &QueueKind> {
    let mut kinds: BTreeMap<LinkSource, &QueueKind> = BTreeMap::new();
    for link in &fabric.links {
        let kind = kinds.entry(source_of(link)).or_insert(&link.kind);
        if **kind == QueueKind::default() {
            *kind = &link.kind;
        }
    }
    kinds
}

/// Checks the transports against the queues. Returns a warning if queues trim packets of transports that
/// discard headers, or if no queue trims and a transport expects it.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn check_transports(
    spec: &Spec,
    transports: &[TransportConfig],
    fabric: &Fabric,
) -> Result<Option<String>, SpecError> {
    check_classes(spec, transports, fabric)?;
    lossless::check(spec, transports, fabric)?;
    let warning = warn_of_headers(spec, transports, fabric);
    Ok(warning.or_else(|| warn_of_drops(spec, transports, fabric)))
}

/// Checks that queues with traffic classes have those of all transports, and that each class is that of a
/// transport.
fn check_classes(spec: &Spec, transports: &[TransportConfig], fabric: &Fabric) -> Result<(), SpecError> {
    let chosen = spec
        .transports
        .iter()
        .zip(transports)
        .flat_map(|((name, stated), transport)| {
            let ack = stated
                .ack_class
                .map(|class| (format!("transports.{name}.ack_class"), class));
            [Some((format!("transports.{name}.class"), transport.class)), ack]
        });
    let chosen: Vec<(String, u8)> = chosen.flatten().collect();
    let mut exist = false;
    for (source, kind) in kinds_by_source(fabric) {
        let Some(classes) = kind.classes() else {
            continue;
        };
        exist = true;
        let path = path_of(spec, source);
        if let Some((field, class)) = chosen.iter().find(|(_, class)| usize::from(*class) >= classes) {
            let last = classes - 1;
            let given = format!("{class} is above the last class of {path}, {last}");
            return Err(SpecError::new(field, given, format!("0 to {last}")));
        }
        let is_used = |class: &usize| chosen.iter().any(|(_, used)| usize::from(*used) == *class);
        if let Some(unused) = (0..classes).find(|class| !is_used(class)) {
            let remedy = format!("remove it or set class = {unused} in a transport");
            let problem = "no transport has this class";
            return Err(SpecError::conflict(
                format!("{path}.classes[{unused}]"),
                problem,
                remedy,
            ));
        }
    }
    let is_stated = |(field, class): &&(String, u8)| *class > 0 || field.ends_with("ack_class");
    match chosen.iter().find(is_stated).filter(|_| !exist) {
        None => Ok(()),
        Some((field, class)) => {
            let problem = format!("{class} is not used, because no queue has classes");
            let remedy = "remove this field or use queues with classes, such as those of kind \"priority\"";
            Err(SpecError::conflict(field, problem, remedy))
        }
    }
}

/// Returns a warning if queues trim packets of transports that discard headers.
fn warn_of_headers(spec: &Spec, transports: &[TransportConfig], fabric: &Fabric) -> Option<String> {
    let kinds = kinds_by_source(fabric);
    let (source, _) = kinds.iter().find(|(_, kind)| kind.trims_to().is_some())?;
    let names = names_of(spec, transports, |parameters| !parameters.uses_headers())?;
    let path = path_of(spec, *source);
    Some(format!(
        "{path}: {names} discards headers, so that packets which queues trim count as lost; compare with queues of \
         another kind"
    ))
}

/// Returns a warning if transports expect queues that trim, and there is none.
fn warn_of_drops(spec: &Spec, transports: &[TransportConfig], fabric: &Fabric) -> Option<String> {
    if fabric.links.iter().any(|link| link.kind.trims_to().is_some()) {
        return None;
    }
    let names = names_of(spec, transports, Parameters::expects_trimming)?;
    Some(format!(
        "queues.kind: {names} repeats packets that queues drop only after timeouts; use queues of kind \"trimming\""
    ))
}

/// Returns the names of the transports with traffic whose parameters have a property; `None` if there are none.
fn names_of(
    spec: &Spec,
    transports: &[TransportConfig],
    has: impl Fn(&dyn Parameters) -> bool,
) -> Option<String> {
    let all = spec.transports.keys().zip(transports);
    let chosen =
        all.filter(|(name, transport)| has(transport.parameters.as_ref()) && spec.has_traffic_of(name));
    let names: Vec<String> = chosen
        .map(|(name, transport)| format!("transports.{name} (kind {:?})", transport.kind))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the kind, and fills in its parameters.
fn resolve(given: &mut QueueKindSpec, backend: &dyn Backend) -> Result<QueueKind, SpecError> {
    let kind = resolve_queue_kind(given)?;
    if given.name != QUEUES[0].name && !backend.supports_queue_kinds() {
        return Err(unsupported("", &given.name, backend));
    }
    Ok(kind)
}

/// Returns the error for a kind that the level does not support.
fn unsupported(path: impl Into<String>, kind: &str, backend: &dyn Backend) -> SpecError {
    let problem = format!("{kind:?} is not supported at level {:?}", backend.name());
    SpecError::conflict(path, problem, UNSUPPORTED)
}

/// Checks that the ports of a switch agree on the size of its buffer, and that their reserves fit into
/// the buffer.
fn check_buffers(spec: &Spec, fabric: &Fabric) -> Result<(), SpecError> {
    // For each switch: the size of the buffer, the sum of reserves, and the number of ports.
    let mut buffers: HashMap<NodeId, (Size, u64, u64)> = HashMap::new();
    for link in &fabric.links {
        let QueueKind::Shared(shared) = link.kind else {
            continue;
        };
        let path = |field| format!("{}.{field}", path_of(spec, source_of(link)));
        let node = &fabric.nodes[link.from as usize].name;
        let (buffer, reserved, ports) = buffers.entry(link.from).or_insert((shared.buffer, 0, 0));
        if *buffer != shared.buffer {
            let problem = format!("{} contradicts {buffer} of other ports of {node}", shared.buffer);
            let remedy = "use one size for all ports of a switch";
            return Err(SpecError::conflict(path("buffer"), problem, remedy));
        }
        *reserved += shared.reserve.0;
        *ports += 1;
        if *reserved > buffer.0 {
            let given = format!(
                "{} for each port of {node} exceeds the buffer of {buffer} from port {ports} on",
                shared.reserve
            );
            let allowed = format!("reserves of at most {buffer} in all");
            return Err(SpecError::new(path("reserve"), given, allowed));
        }
    }
    Ok(())
}
