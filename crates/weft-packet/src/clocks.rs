//! Clocks of hosts and switches, each of which runs slightly faster or slower than the others.
//!
//! IEEE 802.3 allows a transmitter 100 parts per million. If clocks were equal, packets that come at
//! the rate of a port would keep their phase relative to it for ever. They would reach a full queue
//! exactly when a packet leaves, and no other flow would find room (Floyd and Jacobson, "Traffic
//! Phase Effects in Packet-Switched Gateways", 1991). This holds for two switches as for a host and
//! a switch: what a fast host sends arrives at the rate of the first switch.

use weft_fabric::Fabric;
use weft_run::{LinkChange, LinkEvent};
use weft_spec::Rate;

use crate::engine::clock_offset;

const PPB_PER_PPM: u32 = 1_000;
const PPB: i128 = 1_000_000_000;

/// Changes the rates of links, also those that events set, by a random fraction per node that
/// transmits. The fraction is uniform from `-max_ppm` to `max_ppm` parts per million.
pub(crate) fn apply(fabric: &mut Fabric, events: &mut [LinkEvent], max_ppm: u32, seed: u64) {
    let scaled = |rate: Rate, node: u32| {
        let offset = i128::from(clock_offset(seed, node, max_ppm * PPB_PER_PPM));
        Rate((i128::from(rate.0) * (PPB + offset) / PPB) as u64)
    };
    for event in events {
        // Events of links that do not exist are refused later.
        if let LinkChange::Rate(rate) = &mut event.change
            && let Some(link) = fabric.links.get(event.link as usize)
        {
            *rate = scaled(*rate, link.from);
        }
    }
    for link in &mut fabric.links {
        link.rate = scaled(link.rate, link.from);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weft_fabric::{PortQueues, QueueConfig, TOPOLOGIES};
    use weft_spec::{QueueSize, Time, find};

    use super::*;

    fn fabric() -> Fabric {
        let fields = "leaves = 2\nspines = 2\nhosts_per_leaf = 8\nrate = \"10Gbps\"\ndelay = \"1us\""
            .parse()
            .unwrap();
        let queue = QueueConfig {
            limit: QueueSize::Packets(100),
            mark: None,
        };
        let topology = (find(TOPOLOGIES, "kind", "leaf-spine").unwrap().parse)(&fields).unwrap();
        topology
            .value
            .build(&PortQueues {
                switch: queue,
                host: queue,
            })
            .unwrap()
    }

    #[test]
    fn each_node_has_a_clock_that_differs_by_at_most_the_bound() {
        let (nominal, mut fabric) = (fabric(), fabric());
        let uplink = (0_u32..)
            .zip(&nominal.links)
            .find(|(_, link)| link.from == nominal.hosts[0])
            .unwrap()
            .0;
        let mut events = [LinkEvent {
            link: uplink,
            at: Time(1),
            change: LinkChange::Rate(Rate(1_000_000_000)),
            detection_delay: Time(0),
        }];
        apply(&mut fabric, &mut events, 100, 7);
        let mut offsets: BTreeMap<u32, f64> = BTreeMap::new();
        for (link, before) in fabric.links.iter().zip(&nominal.links) {
            let offset = (link.rate.0 as f64 / before.rate.0 as f64 - 1.0) * 1e6;
            assert!(offset.abs() <= 100.0, "{offset}");
            let first = *offsets.entry(link.from).or_insert(offset);
            assert!((offset - first).abs() < 1e-3, "one clock per node");
        }
        // Of 16 hosts and 4 switches some are faster and some slower, with the spread of a uniform
        // distribution.
        let is_host = |node: &u32| nominal.hosts.contains(node);
        let switches: Vec<f64> = offsets
            .iter()
            .filter(|(node, _)| !is_host(node))
            .map(|(_, &o)| o)
            .collect();
        assert_eq!((offsets.len(), switches.len()), (20, 4));
        assert!(
            switches.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.1),
            "{switches:?}"
        );
        for sign in [1.0, -1.0] {
            assert!(
                offsets.values().any(|&offset| sign * offset > 20.0),
                "{offsets:?}"
            );
        }
        let LinkChange::Rate(rate) = events[0].change else {
            unreachable!("the event sets a rate");
        };
        let share = rate.0 as f64 / 1e9;
        let expected = fabric.links[uplink as usize].rate.0 as f64 / 1e10;
        assert!((share - expected).abs() < 1e-9, "{share} {expected}");
    }
}
