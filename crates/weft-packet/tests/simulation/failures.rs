//! Links that die, come back, or change their rate or delay while flows use them.

use crate::experiment::{self, cc, config, flow, many_to_one, queue, run, sized, transport};
use weft_fabric::{Fabric, PortQueues};
use weft_packet::{LinkChange, LinkEvent, Outcome, PacketSimulation, SimulationConfig};
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::Profile;

fn event(us: u64, link: u32, change: LinkChange) -> LinkEvent {
    LinkEvent {
        at: Time::from_us(us),
        link,
        change,
        detection_delay: Time(0),
    }
}

fn fat_tree(k: u32, mbps: u64) -> Fabric {
    let queues = PortQueues {
        switch: queue(100, None),
        host: queue(1000, None),
    };
    experiment::fat_tree(k, Rate(mbps * 1_000_000), Time::from_us(2), &queues)
}

/// Links from and to a node.
fn links_at(fabric: &Fabric, name: &str) -> Vec<u32> {
    let node = fabric.nodes.iter().position(|node| node.name == name).unwrap() as u32;
    let at = |(_, link): &(u32, &weft_fabric::Link)| link.from == node || link.to == node;
    (0..)
        .zip(&fabric.links)
        .filter(at)
        .map(|(link, _)| link)
        .collect()
}

/// Host i sends to the host a bit more than half of them further on.
fn permutation(hosts: u32) -> Vec<Flow> {
    (0..hosts).map(|i| flow(i, (i + hosts / 2 + 1) % hosts)).collect()
}

#[test]
fn a_flow_over_a_link_that_comes_back_ends() {
    for detect in [0, 100, 100_000] {
        // s0 -> r0 is down from 100 us to 30 ms; there is no other path.
        let fabric = many_to_one(2, Time::from_us(5), queue(100, None));
        let bottleneck = fabric.links.iter().position(|link| link.to == 2).unwrap() as u32;
        let events = [(100, LinkChange::Down), (30_000, LinkChange::Up)].map(|(at, change)| LinkEvent {
            detection_delay: Time::from_us(detect),
            ..event(at, bottleneck, change)
        });
        let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
        let outcome = run(
            SimulationConfig {
                events: events.to_vec(),
                ..config(fabric, transports, vec![sized(0, 2, 1_000_000)])
            },
            Time::from_ms(3_000),
        );
        let record = &outcome.flows[0];
        let finish = record.finish.expect("the flow ends");
        assert!(finish > Time::from_ms(30), "{finish}");
        assert_eq!(record.delivered_bytes, 1_000_000);
        assert!(record.subflows[0].timeouts > 0);
        assert!(
            outcome.links[bottleneck as usize].drops > 0,
            "what was queued is lost and counted"
        );
    }
}

/// A link at a tenth of its rate carries a tenth; a longer one adds its delay to the round trip.
#[test]
fn rate_and_delay_change_when_they_are_told_to() {
    let bytes = |change: Option<LinkChange>| {
        let fabric = many_to_one(1, Time::from_us(5), queue(100, None));
        let bottleneck = fabric.links.iter().position(|link| link.to == 1).unwrap() as u32;
        let events = change.map(|change| event(10_000, bottleneck, change));
        let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
        let config = SimulationConfig {
            events: events.into_iter().collect(),
            ..config(fabric, transports, vec![flow(0, 1)])
        };
        let mut simulation = PacketSimulation::new(config).unwrap();
        let delivered = |ms, simulation: &mut PacketSimulation| {
            simulation.run_until(Time::from_ms(ms));
            simulation.outcome().flows[0].clone()
        };
        let before = delivered(20, &mut simulation);
        let after = delivered(120, &mut simulation);
        let srtt = after.subflows[0].srtt;
        (after.delivered_bytes - before.delivered_bytes, srtt)
    };
    let (usual, srtt) = bytes(None);
    let (slow, _) = bytes(Some(LinkChange::Rate(Rate(1_000_000_000))));
    let share = slow as f64 / usual as f64;
    assert!((0.095..0.105).contains(&share), "{share} of the goodput");
    // The window's limit is the queue, so the longer round trip shows in it.
    let (_, longer) = bytes(Some(LinkChange::Delay(Time::from_us(505))));
    let added = longer - srtt;
    assert!(added > 100e-6 && added < 700e-6, "{added} s");
}

fn goodput(fabric: Fabric, events: Vec<LinkEvent>, cc_name: &str, subflows: u32, from: u64, to: u64) -> u64 {
    let hosts = fabric.hosts.len() as u32;
    let transports = vec![transport(cc(cc_name, &[]), subflows, Profile::linux())];
    let config = SimulationConfig {
        events,
        ..config(fabric, transports, permutation(hosts))
    };
    let mut simulation = PacketSimulation::new(config).unwrap();
    let bytes = |outcome: Outcome| outcome.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>();
    simulation.run_until(Time::from_ms(from));
    let before = bytes(simulation.outcome());
    simulation.run_until(Time::from_ms(to));
    bytes(simulation.outcome()) - before
}

/// A permutation with LIA over 8 subflows loses one of 16 core switches at 100 ms. From 50 ms later on it has at least 0.9 of
/// 15/16 of its goodput.
#[test]
fn multipath_goes_around_a_failed_core_switch() {
    let fabric = || fat_tree(8, 100);
    let down = links_at(&fabric(), "core0.0");
    assert_eq!(down.len(), 16);
    let events = down.iter().map(|&link| event(100_000, link, LinkChange::Down));
    let with = goodput(fabric(), events.collect(), "lia", 8, 150, 300);
    let without = goodput(fabric(), Vec::new(), "lia", 8, 150, 300);
    let kept = with as f64 / without as f64;
    assert!(kept > 0.9 * 15.0 / 16.0, "{kept} of the goodput");
}

/// After detection, no packet is sent over a link that is down; packets sent before that are lost.
#[test]
fn routing_avoids_links_that_it_knows_to_be_down() {
    let lost_after = |detect_us, from_us: u64| {
        let fabric = fat_tree(4, 1_000);
        let down = links_at(&fabric, "core0.0");
        let events = down.iter().map(|&link| LinkEvent {
            detection_delay: Time::from_us(detect_us),
            ..event(5_000, link, LinkChange::Down)
        });
        let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
        let config = SimulationConfig {
            events: events.collect(),
            ..config(fabric, transports, permutation(16))
        };
        let mut simulation = PacketSimulation::new(config).unwrap();
        let drops = |simulation: &PacketSimulation| {
            let links = simulation.outcome().links;
            down.iter().map(|&link| links[link as usize].drops).sum::<u64>()
        };
        simulation.run_until(Time::from_us(from_us));
        let before = drops(&simulation);
        simulation.run_until(Time::from_ms(400));
        (before, drops(&simulation) - before)
    };
    // Packets in queues on the way to the failed switch, up to 12 ms at a host, are lost as well.
    let (at_once, later) = lost_after(0, 30_000);
    assert!(at_once > 0, "what was queued is lost");
    assert_eq!(later, 0, "no flow uses the failed switch any more");
    let (before, later) = lost_after(300_000, 30_000);
    assert!(
        before > 0 && later > 0,
        "packets are sent there until routing knows"
    );
    let (_, later) = lost_after(300_000, 330_000);
    assert_eq!(later, 0);
}

#[test]
fn events_that_cannot_be_are_refused() {
    let refusal = |event: LinkEvent| {
        let fabric = many_to_one(2, Time::from_us(5), queue(100, None));
        let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
        let config = SimulationConfig {
            events: vec![event],
            ..config(fabric, transports, vec![flow(0, 2)])
        };
        PacketSimulation::new(config).err().unwrap()
    };
    assert_eq!(
        refusal(event(1, 6, LinkChange::Down)),
        "an event of link 6; allowed: below 6"
    );
    assert!(
        refusal(event(1, 0, LinkChange::Delay(Time::from_ms(20_000)))).starts_with("link from h0 to s0: ")
    );
}

/// A notice that is late must not undo a newer one: the link that came back is used.
#[test]
fn a_late_notice_does_not_outlive_the_failure() {
    let fabric = fat_tree(4, 1000);
    let down = links_at(&fabric, "agg0.0");
    let events = down.iter().flat_map(|&link| {
        let late = LinkEvent {
            detection_delay: Time::from_ms(10),
            ..event(2_000, link, LinkChange::Down)
        };
        [late, event(5_000, link, LinkChange::Up)]
    });
    let config = SimulationConfig {
        events: events.collect(),
        ..config(
            fabric,
            vec![transport(cc("reno", &[]), 1, Profile::linux())],
            permutation(16),
        )
    };
    let mut simulation = PacketSimulation::new(config).unwrap();
    let [before, after] = [100, 200].map(|ms| {
        simulation.run_until(Time::from_ms(ms));
        let links = simulation.outcome().links;
        down.iter().map(|&link| links[link as usize].packets).sum::<u64>()
    });
    assert!(after > before + 1_000, "{before}, {after}");
}
