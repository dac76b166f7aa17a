//! The fields of transports: defaults, and errors that name the field, the given value and the allowed ones.

use weft_cc::Algorithm;
use weft_fabric::{Fabric, FatTree, PortQueues, QueueConfig, Topology};
use weft_spec::{Cc, QueueSize, Rate, SpecError, Time, TransportSpec, from_table};
use weft_transports::{Context, KINDS, NdpConfig, TransportConfig, UetConfig, resolve};

const AMP: &str = "cc = { name = \"amp\", gamma = 2 }\nsubflows = 4\nprofile = \"amp-2019\"";

/// A fat-tree at 10 Gbps with switches of 100 packets.
fn fabric() -> Fabric {
    let queue = QueueConfig {
        limit: QueueSize::Packets(100),
        mark: None,
    };
    let queues = PortQueues {
        switch: queue,
        host: queue,
    };
    let topology = FatTree {
        k: 4,
        oversubscription: 1,
        host_rate: None,
        rate: Rate(10_000_000_000),
        delay: Time::from_us(1),
    };
    topology.build(&queues).unwrap()
}

/// Resolves a transport with these fields.
fn resolved(fields: &str) -> Result<(TransportSpec, TransportConfig), SpecError> {
    let build = |cc: &Cc| {
        let parameters: Vec<_> = cc.parameters.clone().into_iter().collect();
        Ok((cc.clone(), Algorithm::build(&cc.name, &parameters).unwrap()))
    };
    let context = Context {
        fabric: &fabric(),
        policy: "ecmp",
        congestion_control: &build,
    };
    resolve(&from_table(&fields.parse().unwrap())?, KINDS, &context)
}

fn complaint(fields: &str) -> String {
    resolved(fields).unwrap_err().to_string()
}

/// Fields of a transport that are refused, and the beginning of the message.
const REFUSED: &[(&str, &str)] = &[
    (
        "cc = 3",
        "cc: 3; allowed: the name of an algorithm, or a table with name and parameters",
    ),
    (
        "cc = { name = \"amp\", gamma = \"two\" }",
        "cc.gamma: \"two\"; allowed: a number",
    ),
    (
        "cc.gamma = 2",
        "cc.name: required field is missing; add it: Name of the algorithm",
    ),
    (
        "",
        "cc: required field is missing; add the name of a congestion control",
    ),
    (
        "cc = \"amp\"\nsubflows = 1.5",
        "subflows: 1.5; allowed: a whole number, 1 to 64",
    ),
    (
        "cc = \"amp\"\nsubflows = -4",
        "subflows: -4; allowed: a whole number, 1 to 64",
    ),
    (
        "cc = \"amp\"\nsubflows = 5e9",
        "subflows: 5000000000; allowed: a whole number, 1 to 64",
    ),
    (
        "cc = \"amp\"\nsubflows = [2]",
        "subflows: a list; allowed: a whole number, 1 to 64",
    ),
    ("cc = \"amp\"\nsubflows = 65", "subflows: 65; allowed: 1 to 64"),
    (
        "cc = \"amp\"\nsubflow = 4",
        "subflow: unknown field; did you mean \"subflows\"? allowed: kind, class, ack_class, cc, subflows, paths, join_after, scheduler, profile, tcp",
    ),
    ("class = 8", "class: 8; allowed: 0 to 7"),
    (
        "kind = \"homa\"",
        "kind: \"homa\" does not exist; allowed: \"tcp\", \"constant-rate\"",
    ),
    // Fields of other kinds.
    (
        "kind = \"uet\"\ncc = \"amp\"",
        "cc: not used with kind = \"uet\"; remove it or set kind = \"tcp\"",
    ),
    (
        "kind = \"ndp\"\npaths = \"ecmp\"",
        "paths: not used with kind = \"ndp\"; remove it or set kind = \"tcp\" or \"constant-rate\" or \"roce\"",
    ),
    (
        "kind = \"roce\"\nuet = {}",
        "uet: not used with kind = \"roce\"; remove it or set kind = \"uet\"",
    ),
    (
        "kind = \"constant-rate\"\nrate = \"1Gbps\"\ntcp.mss = \"1KB\"",
        "tcp: not used with kind = \"constant-rate\"; remove it or set kind = \"tcp\"",
    ),
    (
        "kind = \"constant-rate\"\nrat = \"1Gbps\"",
        "rat: unknown field; allowed: kind, class, ack_class, paths, rate, packet_size, on, off, random",
    ),
    (
        "kind = \"constant-rate\"",
        "rate: required field is missing; add it: Rate on the wire, headers included, while a flow sends, such as \"10Gbps\"",
    ),
    (
        "kind = \"uet\"\nsubflows = 2",
        "subflows: not used with kind = \"uet\"; remove it or set kind = \"tcp\"",
    ),
    (
        "kind = \"roce\"\nroce = { control = \"none\", gain = 0.5 }",
        "roce.gain: not used with control = \"none\"; remove it or set control = \"dcqcn\"",
    ),
    // Given as 0, which is not the same as not given.
    (
        "kind = \"uet\"\nuet.rto = \"0s\"",
        "uet.rto: 0s; allowed: a time above 0",
    ),
    (
        "kind = \"ndp\"\nndp.rto = \"0s\"",
        "ndp.rto: 0s; allowed: a time above 0",
    ),
    (
        "kind = \"uet\"\nuet.oversubscription = 0",
        "uet.oversubscription: 0; allowed: at least 1",
    ),
    (
        "kind = \"constant-rate\"\nrate = \"1Gbps\"\noff = \"0s\"",
        "off: given without `on`; add `on`",
    ),
];

#[test]
fn wrong_fields_are_refused_with_their_path() {
    for (fields, line) in REFUSED {
        let found = complaint(fields);
        assert!(found.starts_with(line), "{fields}\n{found}\n{line}");
    }
}

/// Each kind with its required fields.
const COMPLETE: [&str; 6] = [
    AMP,
    "kind = \"constant-rate\"\nrate = \"1Gbps\"",
    "kind = \"uet\"",
    "kind = \"ndp\"\nclass = 1",
    "kind = \"roce\"\nack_class = 2",
    "kind = \"roce\"\nroce.control = \"none\"",
];

/// A manifest has the resolved fields, from which the run can be repeated.
#[test]
fn resolved_fields_resolve_to_themselves() {
    for fields in COMPLETE {
        let (spec, config) = resolved(fields).unwrap();
        let text = toml::to_string(&spec).unwrap();
        let (again, same) = resolved(&text).unwrap();
        assert_eq!(spec, again, "{text}");
        assert_eq!(format!("{config:?}"), format!("{same:?}"));
    }
}

/// Programs write all fields with a default.
#[test]
fn defaults_of_other_kinds_are_left_out() {
    let all = "subflows = 1\njoin_after = \"0B\"\nprofile = \"linux\"\npacket_size = \"1514B\"";
    for kind in ["uet", "ndp", "roce"] {
        let (spec, _) = resolved(&format!("kind = \"{kind}\"\n{all}\ntcp = {{}}")).unwrap();
        assert_eq!(spec, resolved(&format!("kind = \"{kind}\"")).unwrap().0);
    }
    let (spec, _) = resolved(&format!("cc = \"reno\"\n{all}")).unwrap();
    assert_eq!(spec, resolved("cc = \"reno\"").unwrap().0);
    let roce = "kind = \"roce\"\nroce = { control = \"none\", gain = 0.00390625, increase = \"40Mbps\" }";
    let (spec, _) = resolved(roce).unwrap();
    assert_eq!(spec.params["roce"].get("gain"), None);
}

/// Longest path: six links, each with a full packet and a header. The timeout has six queues of 101 packets.
#[test]
fn defaults_follow_from_the_network() {
    let (_, config) = resolved("kind = \"uet\"").unwrap();
    let uet: &UetConfig = config.parameters_of().unwrap();
    let packet_and_header = 3_320_000 + 51_200;
    assert_eq!(uet.network_rtt, Time(6 * (2_000_000 + packet_and_header)));
    assert_eq!(uet.target_delay, Time(uet.network_rtt.0 / 4 * 3));
    assert_eq!(uet.rto, Time(15_000_000 + 6 * 101 * 3_320_000));
    assert_eq!(uet.oversubscription, 1.0);
    assert_eq!(uet.rate, Rate(10_000_000_000));
    // Five of six links have a switch before them, whose queue is full.
    let (_, config) = resolved("kind = \"ndp\"").unwrap();
    let ndp: &NdpConfig = config.parameters_of().unwrap();
    let packet = 7_251_200;
    let loaded = 6 * (2_000_000 + packet + 51_200) + 5 * 100 * packet;
    assert_eq!(ndp.rto, Time(loaded * 5 / 2));
}
