//! Layers and links of a fabric, and the settings of a spec for them.

use weft_fabric::{Fabric, Link};
use weft_spec::{Layer, Spec, SpecError};

/// Sets the rates and queues of the links of each layer that the spec names, and of each link that it
/// names. `has_nic` is true if the hosts' own ports belong to a NIC with back pressure, whose queues
/// neither drop nor mark.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn apply(spec: &Spec, has_nic: bool, fabric: &mut Fabric) -> Result<(), SpecError> {
    for (name, layer) in &spec.layers {
        if !fabric.links.iter().any(|link| link.layer == name) {
            return Err(unknown_layer(fabric, name).within("layers"));
        }
        let Fabric { nodes, links, .. } = &mut *fabric;
        for link in links.iter_mut().filter(|link| link.layer == name) {
            let without_queue = has_nic && nodes[link.from as usize].is_host;
            apply_to_link(link, layer, without_queue)
                .map_err(|error| error.within(&format!("layers.{name}")))?;
        }
    }
    for (name, settings) in &spec.links {
        for link in links_by_name(fabric, name, "links")? {
            let without_queue = {
                let from = fabric.links[link as usize].from;
                has_nic && fabric.nodes[from as usize].is_host
            };
            apply_to_link(&mut fabric.links[link as usize], settings, without_queue)
                .map_err(|error| error.within(&link_path(name)))?;
        }
    }
    Ok(())
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
        return Err(SpecError::new(path, format!("{name:?} does not exist"), allowed));
    }
    Ok(named)
}

fn apply_to_link(link: &mut Link, layer: &Layer, without_queue: bool) -> Result<(), SpecError> {
    if *layer == Layer::default() {
        return Err(SpecError::conflict(
            "",
            "changes nothing",
            "set rate, limit, mark or queue",
        ));
    }
    link.rate = layer.rate.unwrap_or(link.rate);
    if layer.limit.is_none() && layer.mark.is_none() {
        return Ok(());
    }
    if without_queue {
        return Err(without_host_queue(if layer.limit.is_some() {
            "limit"
        } else {
            "mark"
        }));
    }
    link.queue = link.queue.with(layer.limit, layer.mark)?;
    Ok(())
}

/// Returns the error for a field about queues that hosts with a NIC do not have.
pub(crate) fn without_host_queue(field: impl Into<String>) -> SpecError {
    SpecError::conflict(
        field,
        "the ports of hosts have no queue with this hosts.qdisc",
        "remove this field or set hosts.qdisc = \"switch\"",
    )
}

/// Returns the error for a layer that the fabric does not have.
pub(crate) fn unknown_layer(fabric: &Fabric, name: &str) -> SpecError {
    let mut layers: Vec<_> = fabric.links.iter().map(|link| link.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    SpecError::unknown_name("", name, layers)
}
