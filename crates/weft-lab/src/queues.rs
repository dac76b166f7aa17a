//! Checks of the queues of a fabric, also against the transports.

use std::collections::HashMap;

use weft_fabric::{Fabric, NodeId, QueueKind, QueueParameters};
use weft_spec::{Size, Spec, SpecError, conflict, refuse};
use weft_transports::{Parameters, TransportConfig};

use crate::lossless;
use crate::ports::Ports;

/// Checks the transports against the queues. Returns a warning if queues trim packets of transports that
/// discard headers, or if no queue trims and a transport expects it.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn check_transports(
    spec: &Spec,
    transports: &[TransportConfig],
    fabric: &Fabric,
    ports: &Ports,
) -> Result<Option<String>, SpecError> {
    check_buffers(spec, fabric, ports)?;
    check_classes(spec, transports, ports)?;
    lossless::check(spec, transports, fabric, ports)?;
    let warning = warn_of_headers(spec, transports, ports);
    Ok(warning.or_else(|| warn_of_drops(spec, transports, fabric)))
}

/// Checks that queues with traffic classes have those of all transports, and that each class is that of a
/// transport.
fn check_classes(spec: &Spec, transports: &[TransportConfig], ports: &Ports) -> Result<(), SpecError> {
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
    for (place, kind) in ports.kinds() {
        let Some(classes) = kind.classes() else {
            continue;
        };
        exist = true;
        let path = place.kind_path(spec);
        if let Some((field, class)) = chosen.iter().find(|(_, class)| usize::from(*class) >= classes) {
            let last = classes - 1;
            let given = format!("{class} is above the last class of {path}, {last}");
            return refuse(field, given, format!("0 to {last}"));
        }
        let is_used = |class: &usize| chosen.iter().any(|(_, used)| usize::from(*used) == *class);
        if let Some(unused) = (0..classes).find(|class| !is_used(class)) {
            let remedy = format!("remove it or set class = {unused} in a transport");
            let problem = "no transport has this class";
            return conflict(format!("{path}.classes[{unused}]"), problem, remedy);
        }
    }
    let is_stated = |(field, class): &&(String, u8)| *class > 0 || field.ends_with("ack_class");
    match chosen.iter().find(is_stated).filter(|_| !exist) {
        None => Ok(()),
        Some((field, class)) => {
            let problem = format!("{class} is not used, because no queue has classes");
            let remedy = "remove this field or use queues with classes, such as those of kind \"priority\"";
            conflict(field, problem, remedy)
        }
    }
}

/// Returns a warning if queues trim packets of transports that discard headers.
fn warn_of_headers(spec: &Spec, transports: &[TransportConfig], ports: &Ports) -> Option<String> {
    let kinds = ports.kinds();
    let (place, _) = kinds.iter().find(|(_, kind)| kind.trims_to().is_some())?;
    let names = names_of(spec, transports, |parameters| !parameters.uses_headers())?;
    let path = place.kind_path(spec);
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

/// Checks that the ports of a switch agree on the size of its buffer, and that their reserves fit into
/// the buffer.
fn check_buffers(spec: &Spec, fabric: &Fabric, ports: &Ports) -> Result<(), SpecError> {
    // For each switch: the size of the buffer, the sum of reserves, and the number of ports.
    let mut buffers: HashMap<NodeId, (Size, u64, u64)> = HashMap::new();
    for (number, link) in (0..).zip(&fabric.links) {
        let QueueKind::Shared(shared) = link.kind else {
            continue;
        };
        let path = |field| format!("{}.{field}", ports.of(fabric, number).kind_from.kind_path(spec));
        let node = &fabric.nodes[link.from as usize].name;
        let (buffer, reserved, ports) = buffers.entry(link.from).or_insert((shared.buffer, 0, 0));
        if *buffer != shared.buffer {
            let problem = format!("{} contradicts {buffer} of other ports of {node}", shared.buffer);
            let remedy = "use one size for all ports of a switch";
            return conflict(path("buffer"), problem, remedy);
        }
        *reserved += shared.reserve.0;
        *ports += 1;
        if *reserved > buffer.0 {
            let given = format!(
                "{} for each port of {node} exceeds the buffer of {buffer} from port {ports} on",
                shared.reserve
            );
            let allowed = format!("reserves of at most {buffer} in all");
            return refuse(path("reserve"), given, allowed);
        }
    }
    Ok(())
}
