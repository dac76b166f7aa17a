//! Validation of a configuration, which refuses everything that cannot be simulated.

use std::collections::HashMap;

use weft_fabric::{Fabric, Link};
use weft_run::{LinkChange, LinkEvent};
use weft_spec::{Rate, Time};
use weft_traffic::Flow;

use crate::engine::MAX_ARRIVALS;
use crate::transport::{Shared, TransportKind};

/// Returns an error for links that [`check_link`] refuses, and for nodes with more links than a
/// sort key can number.
pub fn check_links(fabric: &Fabric, min_packet: u32) -> Result<(), String> {
    let mut links_into = vec![0_u64; fabric.nodes.len()];
    for link in &fabric.links {
        links_into[link.to as usize] += 1;
        if links_into[link.to as usize] > MAX_ARRIVALS {
            let to = &fabric.nodes[link.to as usize].name;
            return Err(format!(
                "more than {MAX_ARRIVALS} links to {to}; use a topology with fewer"
            ));
        }
        check_link(fabric, link, min_packet)?;
    }
    Ok(())
}

/// Returns an error for a link that the smallest packet enters in no time, because cause and effect
/// would then have no order. Also refuses a link that takes longer to cross than the maximum
/// lookahead window.
fn check_link(fabric: &Fabric, link: &Link, min_packet: u32) -> Result<(), String> {
    const MAX_DELAY: Time = Time::from_ms(10_000);
    let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
    let sending = u128::from(min_packet) * 8_000_000_000_000 / u128::from(link.rate.0);
    let crossing = Time(link.delay.0.saturating_add(sending as u64));
    // Simulated times are truncated to a picosecond.
    if sending < 2 {
        return Err(format!(
            "link from {from} to {to}: a packet of {min_packet}B is sent in {}, less than 2ps; lower the rate",
            Time(sending as u64)
        ));
    }
    if link.delay > MAX_DELAY {
        return Err(format!(
            "link from {from} to {to}: delay {}; allowed: at most {MAX_DELAY}",
            link.delay
        ));
    }
    if crossing > MAX_DELAY {
        // Without the fraction of a millisecond, which would be a row of digits.
        let crossing = Time(crossing.0 - crossing.0 % Time::from_ms(1).0);
        return Err(format!(
            "link from {from} to {to}: a packet of {min_packet}B takes {crossing}, more than {MAX_DELAY}; shorten the delay or raise the rate"
        ));
    }
    Ok(())
}

/// Returns an error for events of links that do not exist, and for events after which a link would
/// be refused. A finished job notifies the next client with a packet that must not be lost, so
/// links cannot go down if there are jobs.
pub fn check_events(shared: &Shared, events: &[LinkEvent], min_packet: u32) -> Result<(), String> {
    let links = &shared.fabric.links;
    for event in events {
        let link = links.get(event.link as usize);
        let link = link.ok_or(format!(
            "an event of link {}; allowed: below {}",
            event.link,
            links.len()
        ))?;
        let changed = match event.change {
            LinkChange::Down
                if shared
                    .generators
                    .iter()
                    .any(|generator| generator.job(0).is_some()) =>
            {
                return Err(
                    "a link goes down in an experiment with jobs; use another kind of traffic".to_owned(),
                );
            }
            LinkChange::Down | LinkChange::Up => continue,
            LinkChange::Rate(rate) => Link { rate, ..link.clone() },
            LinkChange::Delay(delay) => Link {
                delay,
                ..link.clone()
            },
        };
        check_link(&shared.fabric, &changed, min_packet)?;
    }
    Ok(())
}

/// Returns the maximum number of packets that arrive at a node at the same time because the delay
/// of links to it is cut. These packets have propagated for longer than the new delay.
pub fn max_burst_after_delay_cut(
    fabric: &Fabric,
    events: &[LinkEvent],
    min_packet: u32,
) -> Result<u64, String> {
    const MAX_BURST: u64 = MAX_ARRIVALS / 2;
    // For each link whose delay changes: its shortest and longest delay, and its highest rate.
    let mut changing: HashMap<u32, (Time, Time, Rate)> = HashMap::new();
    for event in events {
        let link = &fabric.links[event.link as usize];
        let (shortest, longest, rate) = changing
            .entry(event.link)
            .or_insert((link.delay, link.delay, link.rate));
        match event.change {
            LinkChange::Delay(delay) => {
                *shortest = (*shortest).min(delay);
                *longest = (*longest).max(delay);
            }
            LinkChange::Rate(changed) => *rate = (*rate).max(changed),
            LinkChange::Down | LinkChange::Up => {}
        }
    }
    let mut burst_to: HashMap<u32, u64> = HashMap::new();
    for (&link, &(shortest, longest, rate)) in &changing {
        let bits = u128::from(longest.0 - shortest.0) * u128::from(rate.0) / 1_000_000_000_000;
        let packets = u64::try_from(bits / (8 * u128::from(min_packet))).unwrap_or(u64::MAX);
        let sum = burst_to.entry(fabric.links[link as usize].to).or_default();
        *sum = sum.saturating_add(packets);
    }
    let worst = burst_to
        .into_iter()
        .max_by_key(|&(node, packets)| (packets, node));
    match worst {
        Some((node, packets)) if packets > MAX_BURST => {
            let to = &fabric.nodes[node as usize].name;
            Err(format!(
                "events cut the delay of links to {to}, so that up to {packets} packets arrive at once, more than {MAX_BURST}; use \
                 a smaller cut or rate"
            ))
        }
        worst => Ok(worst.map_or(0, |(_, packets)| packets)),
    }
}

/// Returns an error for flows that cannot be simulated. The first flow of a generator stands for
/// all, because their sizes have a bound.
pub fn check(shared: &Shared, kinds: &[&dyn TransportKind]) -> Result<(), String> {
    let hosts = &shared.fabric.hosts;
    let firsts: Vec<Flow> = shared
        .generators
        .iter()
        .map(|generator| generator.flow(0))
        .collect();
    for (flow, spec) in (0_u32..).zip(shared.flows.iter().chain(&firsts)) {
        let node = |host: u32| {
            hosts
                .get(host as usize)
                .ok_or(format!("flow {flow}: no host {host}"))
        };
        let (from, to) = (*node(spec.from)?, *node(spec.to)?);
        if from == to {
            return Err(format!("flow {flow}: from a host to itself"));
        }
        let transport = shared
            .transports
            .get(spec.transport as usize)
            .ok_or(format!("flow {flow}: no transport {}", spec.transport))?;
        let kind = kinds[usize::from(shared.kinds[spec.transport as usize])];
        let chunks = spec.size.map_or(0, |size| kind.packets(transport, size.0));
        if spec.size.is_some() && !(1..1 << 31).contains(&chunks) {
            return Err(format!(
                "flow {flow}: {chunks} segments; allowed: 1 to 2147483647"
            ));
        }
        for (a, b) in [(from, to), (to, from)] {
            shared.check_routes(a, b)?;
        }
    }
    Ok(())
}
