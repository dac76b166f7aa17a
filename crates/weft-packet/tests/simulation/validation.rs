//! Configurations that cannot be simulated are refused in one line, before anything runs.

use crate::experiment::{TcpTransport, cc, config, flow, many_to_one, queue, run, sized, transport};
use weft_fabric::{PortQueues, TOPOLOGIES};
use weft_packet::{PacketSimulation, SimulationConfig};
use weft_spec::{Rate, Time, find};
use weft_transports::{Profile, TransportConfig};

fn sound() -> SimulationConfig {
    let fabric = many_to_one(2, Time::from_us(1), queue(100, None));
    let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
    config(fabric, transports, vec![sized(0, 2, 10_000)])
}

fn refusal(spoil: impl FnOnce(&mut SimulationConfig)) -> String {
    let mut config = sound();
    spoil(&mut config);
    PacketSimulation::new(config).err().unwrap_or_default()
}

#[test]
fn flows_must_have_ends_a_transport_and_a_size_that_can_be_numbered() {
    assert_eq!(refusal(|_| ()), "");
    assert_eq!(refusal(|s| s.flows.push(flow(0, 3))), "flow 1: no host 3");
    assert_eq!(refusal(|s| s.flows.push(flow(7, 0))), "flow 1: no host 7");
    assert_eq!(
        refusal(|s| s.flows.push(flow(1, 1))),
        "flow 1: from a host to itself"
    );
    assert_eq!(refusal(|s| s.flows[0].transport = 1), "flow 0: no transport 1");
    let segments = refusal(|s| s.flows[0] = sized(0, 2, 1448 << 31));
    assert_eq!(segments, "flow 0: 2147483648 segments; allowed: 1 to 2147483647");
    assert_eq!(
        refusal(|s| s.flows[0] = sized(0, 2, 0)),
        "flow 0: 0 segments; allowed: 1 to 2147483647"
    );
}

/// A line of switches, each with two ports.
#[test]
fn routes_must_fit() {
    let line = |switches: u32| {
        let names: Vec<_> = (0..switches).map(|n| format!("s{n}")).collect();
        let stops = ["a"].into_iter().chain(names.iter().map(String::as_str));
        let links: Vec<_> = stops
            .clone()
            .zip(stops.skip(1).chain(["b"]))
            .map(|(a, b)| format!("{{ a = {a:?}, b = {b:?} }}"))
            .collect();
        let fields = format!(
            "hosts = [\"a\", \"b\"]\nswitches = {names:?}\nlinks = [{}]\nrate = \"10Gbps\"\ndelay = \"1us\"",
            links.join(", ")
        );
        let graph = find(TOPOLOGIES, "kind", "graph").unwrap();
        let graph = (graph.parse)(&fields.parse().unwrap()).unwrap().value;
        let queues = PortQueues {
            switch: queue(100, None),
            host: queue(100, None),
        };
        refusal(|s| {
            s.fabric = graph.build(&queues).unwrap();
            s.flows[0] = sized(0, 1, 10_000);
        })
    };
    assert_eq!(line(31), "");
    assert_eq!(
        line(32),
        "a path of 33 hops, more than the 32 hops that fit into a packet with 2 bits per port; use a topology with shorter paths"
    );
}

/// A transport of Reno with a change of Linux's profile.
fn with_profile(change: impl FnOnce(&mut Profile)) -> TcpTransport {
    transport(cc("reno", &[]), 1, Profile::linux().with(change))
}

/// A link must take some time, or there is no order of cause and effect; and not so much that no window can hold it.
#[test]
fn links_must_take_some_time() {
    let instant = refusal(|s| {
        s.transports = vec![TransportConfig::from(with_profile(|profile| {
            profile.sizes.ack_size = 1;
        }))];
        s.fabric.links[1].rate = Rate(100_000_000_000_000);
        s.fabric.links[1].delay = Time(0);
    });
    assert_eq!(
        instant,
        "link from h1 to s0: a packet of 1B is sent in 0s, less than 2ps; lower the rate"
    );
    let eternal = refusal(|s| {
        for link in &mut s.fabric.links {
            link.delay = Time::from_ms(11_000);
        }
    });
    assert_eq!(eternal, "link from h0 to s0: delay 11s; allowed: at most 10s");
}

/// A flow arrives with parameters at the bounds of the allowed ranges.
#[test]
fn extreme_links_work() {
    for (rate, delay) in [
        (100_000_000_000_000, 0),
        (10_000_000_000, 1),
        (10_000, 0),
        (10_000_000_000, 9_000_000_000_000),
    ] {
        let mut config = sound();
        let patient = with_profile(|profile| {
            (profile.rto.initial_rto, profile.rto.min_rto) = (Time::from_ms(60_000), Time::from_ms(60_000));
        });
        config.transports = vec![patient.into()];
        for link in &mut config.fabric.links {
            (link.rate, link.delay) = (Rate(rate), Time(delay));
        }
        let outcome = run(config, Time::from_ms(200_000));
        assert_eq!(outcome.flows[0].delivered_bytes, 10_000, "{rate} bps, {delay} ps");
        assert!(outcome.flows[0].finish.is_some());
        assert_eq!(outcome.counters.timeouts, 0);
    }
}

/// A cut of a long delay brings all that is under way to the same moment: more than a node's arrivals can be numbered.
#[test]
fn cuts_that_bring_too_much_at_once_are_refused() {
    let cut = |rate| {
        refusal(|s| {
            let link = s.fabric.links.iter().position(|link| link.to == 2).unwrap();
            s.fabric.links[link].delay = Time::from_ms(500);
            s.fabric.links[link].rate = Rate(rate);
            s.events = vec![weft_packet::LinkEvent {
                at: Time::from_ms(1),
                link: link as u32,
                change: weft_packet::LinkChange::Delay(Time::from_us(1)),
                detection_delay: Time(0),
            }];
        })
    };
    assert_eq!(cut(100_000_000), "");
    let refused = cut(100_000_000_000);
    assert!(
        refused.starts_with("events cut the delay of links to ") && refused.contains("more than 524288"),
        "{refused}"
    );
}
