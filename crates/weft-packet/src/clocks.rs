//! Clocks of hosts, which run slightly faster or slower than those of switches.
//!
//! IEEE 802.3 allows a transmitter 100 parts per million. If all clocks were equal, a host that
//! sends at the rate of its link would keep its phase relative to a switch for ever. Its packets
//! would reach a full queue exactly when a packet leaves, and no other flow would find room (Floyd
//! and Jacobson, "Traffic Phase Effects in Packet-Switched Gateways", 1991).

use std::collections::HashSet;

use weft_fabric::Fabric;
use weft_run::{LinkChange, LinkEvent};
use weft_spec::Rate;

use crate::engine::clock_offset;

const PPB_PER_PPM: u32 = 1_000;
const PPB: i128 = 1_000_000_000;

/// Changes the rates of links that leave hosts, also those that events set, by a random fraction
/// per host. The fraction is uniform from `-max_ppm` to `max_ppm` parts per million.
pub(crate) fn apply(fabric: &mut Fabric, events: &mut [LinkEvent], max_ppm: u32, seed: u64) {
    let hosts: HashSet<u32> = fabric.hosts.iter().copied().collect();
    let scaled = |rate: Rate, host: u32| {
        let offset = i128::from(clock_offset(seed, host, max_ppm * PPB_PER_PPM));
        Rate((i128::from(rate.0) * (PPB + offset) / PPB) as u64)
    };
    for event in events {
        // Events of links that do not exist are refused later.
        if let LinkChange::Rate(rate) = &mut event.change
            && let Some(link) = fabric.links.get(event.link as usize)
            && hosts.contains(&link.from)
        {
            *rate = scaled(*rate, link.from);
        }
    }
    for link in fabric.links.iter_mut().filter(|link| hosts.contains(&link.from)) {
        link.rate = scaled(link.rate, link.from);
    }
}

#[cfg(test)]
mod tests {
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
                nic: false,
            })
            .unwrap()
    }

    #[test]
    fn hosts_differ_by_at_most_the_bound_and_switches_do_not() {
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
        let mut offsets: Vec<f64> = Vec::new();
        for (link, before) in fabric.links.iter().zip(&nominal.links) {
            let offset = (link.rate.0 as f64 / before.rate.0 as f64 - 1.0) * 1e6;
            if nominal.hosts.contains(&link.from) {
                assert!(offset.abs() <= 100.0, "{offset}");
                offsets.push(offset);
            } else {
                assert_eq!(link.rate, before.rate);
            }
        }
        // Of 16 hosts some are faster and some slower, with the spread of a uniform distribution.
        assert!(offsets.iter().any(|&offset| offset > 20.0) && offsets.iter().any(|&offset| offset < -20.0));
        let LinkChange::Rate(rate) = events[0].change else {
            unreachable!("the event sets a rate");
        };
        let share = rate.0 as f64 / 1e9;
        let expected = fabric.links[uplink as usize].rate.0 as f64 / 1e10;
        assert!((share - expected).abs() < 1e-9, "{share} {expected}");
    }
}
