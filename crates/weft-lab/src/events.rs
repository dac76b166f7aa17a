//! Conversion of the link events of a spec to those of the simulator.

use std::collections::BTreeSet;

use weft_fabric::Fabric;
use weft_paths::draw;
use weft_run::{LinkChange, LinkEvent};
use weft_spec::{LinkEventSpec, LinkState, SpecError, Time, Within, conflict, refuse};

use crate::ports::{links_by_name, unknown_layer};

/// Resolves the events, in the order of their entries, one for each link.
///
/// # Errors
/// Returns the first error, with its path in the spec.
pub(crate) fn resolve(
    events: &[LinkEventSpec],
    fabric: &Fabric,
    seed: u64,
    duration: Time,
) -> Result<Vec<LinkEvent>, SpecError> {
    let mut all = Vec::with_capacity(events.len());
    for (i, event) in events.iter().enumerate() {
        let of_event = resolve_event(event, fabric, seed, duration).within(&format!("events[{i}]"))?;
        all.push(of_event);
    }
    check_states(&all)?;
    Ok(all.into_iter().flatten().collect())
}

/// Checks that each entry that brings links up has at least one link that is down by then. Entries
/// at the same time take effect in their order.
fn check_states(entries: &[Vec<LinkEvent>]) -> Result<(), SpecError> {
    let mut by_time: Vec<_> = (0..).zip(entries).collect();
    by_time.sort_by_key(|(_, entry)| entry.first().map(|event| event.at));
    let mut down = BTreeSet::new();
    for (i, entry) in by_time {
        let ups = entry.iter().filter(|event| event.change == LinkChange::Up);
        let (mut brought_up, mut was_down) = (0, 0);
        for event in ups {
            brought_up += 1;
            was_down += u32::from(down.remove(&event.link));
        }
        if brought_up > 0 && was_down == 0 {
            return conflict(
                format!("events[{i}].state"),
                "\"up\" for links that are not down",
                "remove it or add an earlier event with state = \"down\"",
            );
        }
        let downs = entry.iter().filter(|event| event.change == LinkChange::Down);
        down.extend(downs.map(|event| event.link));
    }
    Ok(())
}

fn resolve_event(
    event: &LinkEventSpec,
    fabric: &Fabric,
    seed: u64,
    duration: Time,
) -> Result<Vec<LinkEvent>, SpecError> {
    if event.at >= duration {
        let given = format!("{} is not before the end of the experiment", event.at);
        return refuse("at", given, format!("a time before {duration}"));
    }
    if event.state == Some(LinkState::Down) {
        let other = [("rate", event.rate.is_some()), ("delay", event.delay.is_some())];
        if let Some((field, _)) = other.into_iter().find(|(_, is_given)| *is_given) {
            return conflict(
                field,
                "given together with state = \"down\"",
                "set it in the event that brings the links up",
            );
        }
    }
    let state = event.state.map(|state| match state {
        LinkState::Down => LinkChange::Down,
        LinkState::Up => LinkChange::Up,
    });
    let changes = [
        state,
        event.rate.map(LinkChange::Rate),
        event.delay.map(LinkChange::Delay),
    ];
    let changes: Vec<LinkChange> = changes.into_iter().flatten().collect();
    if changes.is_empty() {
        return conflict("", "changes nothing", "set state, rate or delay");
    }
    let mut chosen = named_links(event, fabric)?;
    let reverse = fabric.reverse_links();
    let reverse_of = |link: u32| reverse[link as usize].unwrap_or(link);
    if event.bidirectional {
        // A cable is identified by its link with the lower number.
        for link in &mut chosen {
            *link = (*link).min(reverse_of(*link));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    let number = (event.fraction * chosen.len() as f64).round().max(1.0) as usize;
    chosen.sort_by_key(|&link| draw(&[seed, u64::from(link), LINK_DOMAIN]));
    chosen.truncate(number);
    if event.bidirectional {
        let other: Vec<u32> = chosen.iter().map(|&link| reverse_of(link)).collect();
        chosen.extend(other);
    }
    chosen.sort_unstable();
    let events = |link| {
        changes.iter().map(move |&change| LinkEvent {
            at: event.at,
            link,
            change,
            detection_delay: event.detection_delay,
        })
    };
    Ok(chosen.into_iter().flat_map(events).collect())
}

/// Returns the links that an entry names, before a fraction of them is drawn.
fn named_links(event: &LinkEventSpec, fabric: &Fabric) -> Result<Vec<u32>, SpecError> {
    let name = |node: u32| fabric.nodes[node as usize].name.as_str();
    let links = || (0_u32..).zip(&fabric.links);
    let mut chosen = Vec::new();
    for (i, given) in event.links.iter().enumerate() {
        chosen.extend(links_by_name(fabric, given, &format!("links[{i}]"))?);
    }
    for (i, given) in event.nodes.iter().enumerate() {
        let at = links().filter(|(_, link)| [link.from, link.to].iter().any(|&node| name(node) == given));
        let before = chosen.len();
        chosen.extend(at.map(|(link, _)| link));
        if chosen.len() == before {
            let given = format!("{given:?} does not exist");
            return refuse(format!("nodes[{i}]"), given, "the name of a host or switch");
        }
    }
    if let Some(layer) = &event.layer {
        let in_it = links().filter(|(_, link)| link.layer == layer);
        let before = chosen.len();
        chosen.extend(in_it.map(|(link, _)| link));
        if chosen.len() == before {
            return Err(unknown_layer(fabric, layer).within("layer"));
        }
    }
    if chosen.is_empty() {
        return conflict("", "selects no links", "set links, nodes or layer");
    }
    Ok(chosen)
}

/// Domain tag of the random draws of links.
const LINK_DOMAIN: u64 = 0x6C69_6E6B;
