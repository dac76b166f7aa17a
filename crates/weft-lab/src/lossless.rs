//! Checks of lossless queues: they are everywhere or nowhere, and their thresholds fit into the buffers.

use weft_fabric::{Fabric, Link, Lossless, QueueKind};
use weft_spec::{Layer, Size, Spec, SpecError};
use weft_transports::TransportConfig;

use crate::layers::link_path;
use crate::queues::{path_of, source_of};

/// Checks the lossless queues of a network.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn check(spec: &Spec, transports: &[TransportConfig], fabric: &Fabric) -> Result<(), SpecError> {
    let found = fabric.links.iter().find_map(|link| match &link.kind {
        QueueKind::Lossless(lossless) => Some((path_of(spec, source_of(link)), lossless.classes)),
        _ => None,
    });
    let Some((first, classes)) = found else {
        return Ok(());
    };
    for link in &fabric.links {
        let (path, layer) = (path_of(spec, source_of(link)), link.layer);
        let QueueKind::Lossless(lossless) = &link.kind else {
            let problem = format!("drops packets of layer {layer:?}, but {first} is lossless");
            let remedy = "use \"lossless\" for all layers or for none";
            return Err(SpecError::conflict(path, problem, remedy));
        };
        if lossless.classes != classes {
            let problem = format!("{} contradicts the {classes} of {first}", lossless.classes);
            let remedy = "use one number for all layers";
            return Err(SpecError::conflict(format!("{path}.classes"), problem, remedy));
        }
    }
    let sizes = transports.iter().map(|transport| transport.sizes().max());
    let max_packet = sizes.max().unwrap_or(1);
    check_pools(spec, fabric)?;
    let mut ports = vec![0; fabric.nodes.len()];
    for link in &fabric.links {
        ports[link.from as usize] += 1;
    }
    for (incoming, reverse) in fabric.links.iter().zip(fabric.reverse_links()) {
        // A host with one port does not forward, so packets for it never wait there.
        let to = incoming.to as usize;
        if fabric.nodes[to].is_host && ports[to] == 1 {
            continue;
        }
        let Some(outgoing) = reverse.map(|reverse| &fabric.links[reverse as usize]) else {
            let [from, to] = [incoming.from, incoming.to].map(|node| &fabric.nodes[node as usize].name);
            let problem = format!("the link {from}->{to} is one way, so that {first} cannot pause it");
            return Err(SpecError::conflict(
                "topology",
                problem,
                "add a link in the other direction",
            ));
        };
        if let QueueKind::Lossless(lossless) = &outgoing.kind {
            let limit = limit_path(spec, fabric, outgoing);
            check_thresholds(spec, lossless, [incoming, outgoing], &limit, max_packet)?;
        }
    }
    Ok(())
}

/// Checks that all ports of a node have the same pool of headroom.
fn check_pools(spec: &Spec, fabric: &Fabric) -> Result<(), SpecError> {
    let mut first: Vec<Option<&Link>> = vec![None; fabric.nodes.len()];
    for link in &fabric.links {
        let first = *first[link.from as usize].get_or_insert(link);
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
                path_of(spec, source_of(first)),
                fabric.nodes[link.from as usize].name
            );
            let path = format!("{}.headroom_pool", path_of(spec, source_of(link)));
            return Err(SpecError::conflict(
                path,
                problem,
                "use one pool for all ports of a switch",
            ));
        }
    }
    Ok(())
}

/// Returns the path of the field that limits the queue of a link.
fn limit_path(spec: &Spec, fabric: &Fabric, link: &Link) -> String {
    let limit = link.queue.limit;
    let ends = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
    let name = format!("{}->{}", ends[0], ends[1]);
    if spec.links.get(&name).is_some_and(|own| own.limit.is_some()) {
        return format!("{}.limit", link_path(&name));
    }
    match spec.layers.get(link.layer) {
        Some(Layer { limit: Some(_), .. }) => format!("layers.{}.limit", link.layer),
        _ if fabric.nodes[link.from as usize].is_host && spec.queues.host.limit == Some(limit) => {
            "queues.host.limit".to_owned()
        }
        _ if limit == spec.queues.limit => "queues.limit".to_owned(),
        // The limit of a single cable.
        _ => "topology".to_owned(),
    }
}

/// Checks the thresholds of the port that sends over `outgoing` and receives over `incoming`.
fn check_thresholds(
    spec: &Spec,
    lossless: &Lossless,
    [incoming, outgoing]: [&Link; 2],
    limit_path: &str,
    max_packet: u32,
) -> Result<(), SpecError> {
    let path = |field| format!("{}.{field}", path_of(spec, source_of(outgoing)));
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
            return Err(SpecError::new(path("headroom"), given, allowed));
        }
        let given = format!(
            "{buffer} is less than a packet and the headroom of {} of layer {:?}",
            Size(headroom),
            outgoing.layer
        );
        return Err(SpecError::new(
            limit_path,
            given,
            format!("at least {}", Size(headroom + packet)),
        ));
    }
    if thresholds.capacity > limit {
        let given = format!(
            "{} and a headroom of {} exceed the buffer of {buffer} ({limit_path})",
            Size(thresholds.xoff),
            Size(headroom)
        );
        return Err(SpecError::new(path("xoff"), given, format!("at most {room}")));
    }
    if thresholds.xoff < packet {
        let given = format!(
            "{} is less than the largest packet ({packet}B on the wire)",
            Size(thresholds.xoff)
        );
        return Err(SpecError::new(path("xoff"), given, format!("at least {packet}B")));
    }
    if thresholds.xon > thresholds.xoff {
        let xoff = Size(thresholds.xoff);
        let given = format!("{} is above xoff, which is {xoff}", Size(thresholds.xon));
        return Err(SpecError::new(path("xon"), given, format!("at most {xoff}")));
    }
    Ok(())
}
