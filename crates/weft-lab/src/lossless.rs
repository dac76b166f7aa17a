//! Checks of lossless queues: they are everywhere or nowhere, and their thresholds fit into the buffers.

use weft_fabric::{Fabric, Link, Lossless, QueueKind};
use weft_spec::{Size, Spec, SpecError, conflict, refuse};
use weft_transports::TransportConfig;

use crate::ports::Ports;

/// Checks the lossless queues of a network.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn check(
    spec: &Spec,
    transports: &[TransportConfig],
    fabric: &Fabric,
    ports: &Ports,
) -> Result<(), SpecError> {
    let kind_path = |number: u32| ports.of(fabric, number).kind_from.kind_path(spec);
    let found = (0..)
        .zip(&fabric.links)
        .find_map(|(number, link)| match &link.kind {
            QueueKind::Lossless(lossless) => Some((kind_path(number), lossless.classes)),
            _ => None,
        });
    let Some((first, classes)) = found else {
        return Ok(());
    };
    for (number, link) in (0..).zip(&fabric.links) {
        let (path, layer) = (kind_path(number), link.layer);
        let QueueKind::Lossless(lossless) = &link.kind else {
            let problem = format!("drops packets of layer {layer:?}, but {first} is lossless");
            let remedy = "use \"lossless\" for all layers or for none";
            return conflict(path, problem, remedy);
        };
        if lossless.classes != classes {
            let problem = format!("{} contradicts the {classes} of {first}", lossless.classes);
            let remedy = "use one number for all layers";
            return conflict(format!("{path}.classes"), problem, remedy);
        }
    }
    let sizes = transports.iter().map(|transport| transport.sizes().max());
    let max_packet = sizes.max().unwrap_or(1);
    check_pools(fabric, kind_path)?;
    let mut port_counts = vec![0; fabric.nodes.len()];
    for link in &fabric.links {
        port_counts[link.from as usize] += 1;
    }
    for (incoming, reverse) in fabric.links.iter().zip(fabric.reverse_links()) {
        // A host with one port does not forward, so packets for it never wait there.
        let to = incoming.to as usize;
        if fabric.nodes[to].is_host && port_counts[to] == 1 {
            continue;
        }
        let Some(number) = reverse else {
            let [from, to] = [incoming.from, incoming.to].map(|node| &fabric.nodes[node as usize].name);
            let problem = format!("the link {from}->{to} is one way, so that {first} cannot pause it");
            return conflict("topology", problem, "add a link in the other direction");
        };
        let outgoing = &fabric.links[number as usize];
        if let QueueKind::Lossless(lossless) = &outgoing.kind {
            let port = ports.of(fabric, number);
            let paths = [port.kind_from.kind_path(spec), port.limit_from.limit_path(spec)];
            check_thresholds(paths, lossless, [incoming, outgoing], max_packet)?;
        }
    }
    Ok(())
}

/// Checks that all ports of a node have the same pool of headroom.
fn check_pools(fabric: &Fabric, kind_path: impl Fn(u32) -> String) -> Result<(), SpecError> {
    let mut firsts: Vec<Option<(u32, &Link)>> = vec![None; fabric.nodes.len()];
    for (number, link) in (0..).zip(&fabric.links) {
        let (first_number, first) = *firsts[link.from as usize].get_or_insert((number, link));
        let pool = |link: &Link| match &link.kind {
            QueueKind::Lossless(lossless) => lossless.headroom_pool,
            _ => None,
        };
        if pool(link) != pool(first) {
            let words = |pool: Option<Size>| pool.map_or("no pool".to_owned(), |size| size.to_string());
            let problem = format!(
                "{} contradicts {} of {} at switch {}",
                words(pool(link)),
                words(pool(first)),
                kind_path(first_number),
                fabric.nodes[link.from as usize].name
            );
            let path = format!("{}.headroom_pool", kind_path(number));
            return conflict(path, problem, "use one pool for all ports of a switch");
        }
    }
    Ok(())
}

/// Checks the thresholds of the port that sends over `outgoing` and receives over `incoming`. The paths are those of
/// the kind of its queue and of its limit.
fn check_thresholds(
    [kind_path, limit_path]: [String; 2],
    lossless: &Lossless,
    [incoming, outgoing]: [&Link; 2],
    max_packet: u32,
) -> Result<(), SpecError> {
    let path = |field| format!("{kind_path}.{field}");
    let thresholds = lossless.thresholds(&incoming.wire(), &outgoing.wire(), max_packet);
    let limit = lossless.buffer(&outgoing.wire(), max_packet);
    let headroom = thresholds.capacity - thresholds.xoff;
    let packet = u64::from(max_packet);
    let (buffer, room) = (Size(limit), Size(limit.saturating_sub(headroom)));
    if limit < headroom + packet {
        if lossless.headroom.is_some() {
            let given = format!(
                "{} leaves no packet of {packet}B in the buffer of {buffer} ({limit_path})",
                Size(headroom)
            );
            let allowed = format!("at most {}", Size(limit.saturating_sub(packet)));
            return refuse(path("headroom"), given, allowed);
        }
        let given = format!(
            "{buffer} is less than a packet and the headroom of {} of layer {:?}",
            Size(headroom),
            outgoing.layer
        );
        return refuse(limit_path, given, format!("at least {}", Size(headroom + packet)));
    }
    if thresholds.capacity > limit {
        let given = format!(
            "{} and a headroom of {} exceed the buffer of {buffer} ({limit_path})",
            Size(thresholds.xoff),
            Size(headroom)
        );
        return refuse(path("xoff"), given, format!("at most {room}"));
    }
    if thresholds.xoff < packet {
        let given = format!(
            "{} is less than the largest packet ({packet}B on the wire)",
            Size(thresholds.xoff)
        );
        return refuse(path("xoff"), given, format!("at least {packet}B"));
    }
    if thresholds.xon > thresholds.xoff {
        let xoff = Size(thresholds.xoff);
        let given = format!("{} is above xoff, which is {xoff}", Size(thresholds.xon));
        return refuse(path("xon"), given, format!("at most {xoff}"));
    }
    Ok(())
}
