//! Messages about wrong fields.

use super::parse;

/// Overrides of the spec, and the start of the error that each causes.
const COMPLAINTS: &[(&[&str], &str)] = &[
    (
        &["topology.kind=torus"],
        "topology.kind: \"torus\" does not exist; allowed: \"many-to-one\", ",
    ),
    (
        &["transports.amp.paths=hash"],
        "transports.amp.paths: \"hash\" does not exist; allowed: \"ecmp\", \"vlb\", ",
    ),
    (
        &["transports.amp.paths={name = \"ecmp\", seed = 1}"],
        "transports.amp.paths.seed: unknown field",
    ),
    (
        &["controller={kind = \"second-fit\"}"],
        "controller.kind: \"second-fit\" does not exist; allowed: \"first-fit\", \"least-allocated\"",
    ),
    (
        &["controller={kind = \"first-fit\"}"],
        "controller.interval: required field is missing",
    ),
    (
        &["controller={kind = \"first-fit\", interval = \"1ns\"}"],
        "controller.interval: 1ns; allowed: at least 1us",
    ),
    (
        &[
            "level=linux",
            "controller={kind = \"first-fit\", interval = \"1ms\"}",
        ],
        "controller: \"first-fit\" is not supported at level \"linux\"; remove this field or use another level",
    ),
    (
        &["transports.amp.paths=mmptcp"],
        "transports.amp.paths: \"mmptcp\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["transports.amp.paths=opn"],
        "transports.amp.paths: \"opn\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["transports.amp.paths={name = \"opn\", delta = \"1ns\"}"],
        "transports.amp.paths.delta: 1ns; allowed: at least 1us",
    ),
    (
        &["transports.amp.paths={name = \"opn\", state = \"none\"}"],
        "transports.amp.paths.state: ",
    ),
    (
        &[
            "transports.amp.paths=opn",
            "transports.amp.tcp={stall_on_held_data = true, reinject = false}",
        ],
        "transports.amp.tcp.stall_on_held_data: excludes paths = \"opn\", which sends data of slow paths on two subflows; set it",
    ),
    (
        &["transports.amp.paths=plb"],
        "transports.amp.paths: \"plb\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["transports.amp.paths={name = \"plb\", rehash_rounds = 0}"],
        "transports.amp.paths.rehash_rounds: 0; allowed: 1 to 31",
    ),
    (
        &["transports.amp.paths={name = \"plb\", cong_thresh = 257}"],
        "transports.amp.paths.cong_thresh: 257; allowed: 0 to 256",
    ),
    (
        &[
            "level=flow",
            "topology={kind = \"fat-tree\", k = 4, rate = \"1Gbps\", delay = \"1us\"}",
            "traffic=[{kind = \"bulk\", transport = \"amp\", pairs = \"permutation\"}]",
            "probes=[]",
            "transports={amp = {cc = \"dctcp\", paths = \"plb\"}}",
        ],
        "transports.amp.paths: \"plb\" chooses paths for single packets, or by what becomes of them; allowed: ",
    ),
    (
        &["transports.amp.paths=rps"],
        "transports.amp.paths: \"rps\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["events=[{at = \"20ms\", layer = \"host-switch\", state = \"down\"}]"],
        "events[0].at: 20ms is not before the end of the experiment; allowed: a time before 20ms",
    ),
    (
        &["events=[{at = \"-1ms\", layer = \"host-switch\", state = \"down\"}]"],
        "events[0].at: \"-1ms\" is negative; allowed: ",
    ),
    (
        &["events=[{at = \"1ms\", links = [\"s0->r1\"], state = \"down\"}]"],
        "events[0].links[0]: \"s0->r1\" does not exist; allowed: a link by its ends, such as ",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s1\"], state = \"down\"}]"],
        "events[0].nodes[0]: \"s1\" does not exist; allowed: the name of a host or switch",
    ),
    (
        &["events=[{at = \"1ms\", layer = \"core\", state = \"down\"}]"],
        "events[0].layer: \"core\" does not exist; allowed: \"host-switch\", \"switch-host\"",
    ),
    (
        &["layers.agg-core.rate=1Gbps"],
        "layers: \"agg-core\" does not exist; allowed: \"host-switch\", \"switch-host\"",
    ),
    (
        &["layers.switch-host={}"],
        "layers.switch-host: changes nothing; set rate, limit, mark or queue",
    ),
    (
        &["layers.switch-host.delay=1us"],
        "layers.switch-host.delay: unknown field; did you mean topology.delay? allowed: rate, limit, mark, queue",
    ),
    (
        &["links={\"s0->h9\" = {rate = \"1Gbps\"}}"],
        "links: \"s0->h9\" does not exist; allowed: a link by its ends, such as \"s0->h0\"",
    ),
    (
        &["links={\"h0->s0\" = {}}"],
        "links.\"h0->s0\": changes nothing; set rate, limit, mark or queue",
    ),
    (
        &["links={\"s0->r0\" = {limit = \"5 packets\"}}"],
        "links.\"s0->r0\".mark: 10 packets is above the limit of 5 packets; allowed: at most 5 packets",
    ),
    (
        &["links={\"s0->r0\" = {limit = \"1KB\", mark = \"off\"}}"],
        "links.\"s0->r0\".limit: 1KB is less than a packet of transports.amp (1514B on the wire)",
    ),
    (
        &["links={\"h0->s0\" = {mark = \"off\"}}"],
        "links.\"h0->s0\".mark: the ports of hosts have no queue with this hosts.qdisc; remove this field or set",
    ),
    (
        &["links={\"h0->s0\" = {queue = \"trimming\"}}"],
        "links.\"h0->s0\".queue: the ports of hosts have no queue with this hosts.qdisc; remove this field or set",
    ),
    (
        &[
            "links={\"s0->r0\" = {mark = \"5 packets\", queue = {name = \"red\", min = \"5 packets\", max = \"9 packets\", probability = 0.5}}}",
        ],
        "links.\"s0->r0\".mark: ",
    ),
    (
        &["layers.switch-host.rate=0Gbps"],
        "layers.switch-host.rate: \"0Gbps\"",
    ),
    (
        &["layers.switch-host.limit=5 packets"],
        "layers.switch-host.mark: 10 packets is above the limit of 5 packets; allowed: at most 5 packets",
    ),
    (
        &["layers.switch-host={limit = \"1KB\", mark = \"off\"}"],
        "layers.switch-host.limit: 1KB is less than a packet of transports.amp (1514B on the wire)",
    ),
    (
        &["layers.host-switch.mark=off"],
        "layers.host-switch.mark: the ports of hosts have no queue with this hosts.qdisc; remove this field or set \
         hosts.qdisc = \"switch\"",
    ),
    (
        &["level=linux", "layers.switch-host.rate=1Gbps"],
        "layers.switch-host: not supported at level \"linux\"; remove it or use another level",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"broken\"}]"],
        "events[0].state: ",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"]}]"],
        "events[0]: changes nothing; set state, rate or delay",
    ),
    (
        &["events=[{at = \"1ms\", state = \"down\"}]"],
        "events[0]: selects no links; set links, nodes or layer",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], fraction = 0, state = \"down\"}]"],
        "events[0].fraction: 0; allowed: above 0, up to 1",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"down\", rate = \"1Gbps\"}]"],
        "events[0].rate: given together with state = \"down\"; set it in the event that brings the links up",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"down\", delay = \"1us\"}]"],
        "events[0].delay: given together with state = \"down\"; set it in the event that brings the links up",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"up\"}]"],
        "events[0].state: \"up\" for links that are not down; remove it or add an earlier event",
    ),
    (
        &[
            "events=[{at = \"2ms\", nodes = [\"h0\"], state = \"down\"}, {at = \"1ms\", nodes = [\"h0\"], state = \"up\"}]",
        ],
        "events[1].state: \"up\" for links that are not down",
    ),
    (
        &[
            "events=[{at = \"1ms\", nodes = [\"h0\"], state = \"down\"}, {at = \"2ms\", nodes = [\"h1\"], state = \"up\"}]",
        ],
        "events[1].state: \"up\" for links that are not down",
    ),
    (
        &["stop={class = \"incast\", flows = 1000}"],
        "stop.flows: 1000, but class \"incast\" has 8 flows before the end of the experiment; allowed: 1 to 8",
    ),
    (
        &["queues.pie=true"],
        "queues.pie: Weft does not model FQ-CoDel or PIE; remove it (docs/reference/limitations.md ",
    ),
    (
        &["hosts.qdisc=fq_codel"],
        "hosts.qdisc: Weft does not model FQ-CoDel or PIE; remove it (docs/",
    ),
    (
        &["transports.amp.paths=letflow"],
        "transports.amp.paths: \"letflow\" does not exist; use \"flowlet\", which models LetFlow",
    ),
    (
        &["transports.amp.paths=plb", "transports.amp.cc=lia"],
        "transports.amp.paths: \"plb\" reads ECN marks, and cc = \"lia\" has no ECN; use an algorithm with ECN, such as \"dctcp\"",
    ),
    (
        &["transports={\"a\\nb\" = {cc = \"reno\"}}"],
        "transports: \"a\\nb\"; allowed: a non-empty name on one line",
    ),
    (
        &["traffic[1].name=\"a\\tb\""],
        "traffic[1].name: \"a\\tb\"; allowed: a non-empty name on one line",
    ),
    (
        &["traffic[1].from=[\"h0\", \"0..2\"]"],
        "traffic[1].from: the pair of \"h0\" and \"r0\" is given twice; use count for several flows of a pair",
    ),
    (
        &["traffic[0].from=[\"h0\", \"h0\"]"],
        "traffic[0].from: \"h0\" is given twice; allowed: each host once",
    ),
    (
        &["probes[1].interval=1s"],
        "probes[1].interval: 1s is longer than the experiment; allowed: at most 20ms",
    ),
    (
        &["topology={kind = \"fat-tree\", k = 3, rate = \"1Gbps\", delay = \"1us\"}"],
        "topology.k: 3; allowed: even numbers from 2 to 254",
    ),
    (
        &["topology.senders=0"],
        "topology.senders: 0; allowed: 1 to 65535",
    ),
    (
        &["topology.rate=-10Gbps"],
        "topology.rate: \"-10Gbps\" is negative; allowed: a rate with a unit",
    ),
    (
        &["topology.rate=10"],
        "topology.rate: 10 is a bare number without a unit; allowed: a rate",
    ),
    (
        &["topology.k=4"],
        "topology.k: unknown field; allowed: kind, senders, rate, delay, sender_rate",
    ),
    (
        &["queues.mark=200 packets"],
        "queues.mark: 200 packets is above the limit of 100 packets",
    ),
    (
        &["queues.limit=1KB", "queues.mark=off"],
        "queues.limit: 1KB is less than a packet of transports.amp (1514B on the wire); allowed: at least 1514B",
    ),
    (
        &["queues.host={limit = \"1KB\", mark = \"off\"}"],
        "queues.host.limit: 1KB is less than a packet of transports.amp",
    ),
    (
        &["hosts.jitter=2ms"],
        "hosts.jitter: 2ms; allowed: 0s to 1ms, or \"packet\"",
    ),
    (
        &["hosts.clock_ppm=1001"],
        "hosts.clock_ppm: 1001; allowed: 0 to 1000",
    ),
    (&["hosts.bql_limit=0B"], "hosts.bql_limit: 0B; allowed: 1B to "),
    (
        &["hosts.qdisc=fq", "queues.host.limit=70 packets"],
        "queues.host: the ports of hosts have no queue with this hosts.qdisc; remove this table or set hosts.qdisc = \"switch\"",
    ),
    (
        &["hosts.jiter=1us"],
        "hosts.jiter: unknown field; did you mean \"jitter\"? allowed: jitter, clock_ppm, qdisc, bql_limit, tso, gro_flush_timeout",
    ),
    (
        &["transports.amp.cc=amq"],
        "transports.amp.cc: \"amq\" does not exist; allowed: \"a",
    ),
    (
        &["transports.amp.cc=ampp"],
        "transports.amp.cc: \"ampp\" does not exist; did you mean \"amp\"? allowed: \"a",
    ),
    (
        &["transports.amp.cc=AMP"],
        "transports.amp.cc: \"AMP\" does not exist; did you mean \"amp\"? allowed: \"a",
    ),
    (
        &["topology.kind=fattree"],
        "topology.kind: \"fattree\" does not exist; did you mean \"fat-tree\"? allowed: \"many-to-one\", ",
    ),
    (
        &["traffic[1].kind=Bulk"],
        "traffic[1].kind: \"Bulk\" does not exist; did you mean \"bulk\"? allowed: \"bulk\", \"incast\"",
    ),
    (
        &["traffic[1].kind=permutation"],
        "traffic[1].kind: \"permutation\" does not exist; use \"bulk\" with pairs = \"permutation\"",
    ),
    (
        &["hosts.qdisc=FQ"],
        "hosts.qdisc: \"FQ\"; did you mean \"fq\"? allowed: ",
    ),
    (
        &["level=packets"],
        "level: \"packets\" does not exist; did you mean \"packet\"? allowed: \"packet\", \"flow\", \"linux\"",
    ),
    (
        &["traffic[0].flow=3"],
        "traffic[0].flow: unknown field; did you mean \"flows\"? allowed: kind, transport, name, classes, ",
    ),
    (
        &["traffic[0].kinds=bulk"],
        "traffic[0].kinds: unknown field; did you mean \"kind\"? allowed: kind, ",
    ),
    // A field without its table.
    (
        &["transports={only = {cc = \"lia\"}}", "traffic=[]", "cc=bbr"],
        "cc: unknown field; did you mean transports.only.cc? allowed: name, ",
    ),
    (
        &["cc=bbr"],
        "cc: unknown field; did you mean transports.amp.cc or transports.dctcp.cc? allowed: name, ",
    ),
    (
        &["transports.subflows=2"],
        "transports.subflows: 2; did you mean transports.amp.subflows or transports.dctcp.subflows? allowed: a table",
    ),
    (
        &["gamma=2"],
        "gamma: unknown field; did you mean transports.amp.cc.gamma? allowed: name, ",
    ),
    (
        &["bql_limit=9KB"],
        "bql_limit: unknown field; did you mean hosts.bql_limit? allowed: name, ",
    ),
    (
        &["topology.rounds=2"],
        "topology.rounds: unknown field; did you mean traffic[0].rounds? allowed: kind, ",
    ),
    (
        &["transports.amp.cc.gama=2"],
        "transports.amp.cc.gama: unknown parameter; did you mean \"gamma\"? allowed: name, ",
    ),
    (
        &["transports.dctcp.cc={name = \"fully-coupled\", x = 1}"],
        "transports.dctcp.cc.x: \"fully-coupled\" has no parameters; remove it",
    ),
    (
        &["transports.amp.cc.cwnd_min=0"],
        "transports.amp.cc.cwnd_min: 0; allowed: a whole number from 1 to",
    ),
    (
        &["transports.amp.subflows=0"],
        "transports.amp.subflows: 0; allowed: 1 to 64",
    ),
    (
        &["transports.amp.scheduler=random"],
        "transports.amp.scheduler: \"random\" does not exist; allowed: \"round-robin\", \"lowest-rtt\", \"linux\"",
    ),
    (
        &["transports.amp.profile=bsd"],
        "transports.amp.profile: \"bsd\" does not exist; allowed: \"linux\", \"amp-2019\"",
    ),
    (
        &["transports.dctcp.tcp.rto=1s"],
        "transports.dctcp.tcp.rto: unknown field; allowed: ack_every, ack_pushed",
    ),
    (
        &["transports.dctcp.tcp.min_rto=61s"],
        "transports.dctcp.tcp.min_rto: 61s is above max_rto (60s); allowed: at most 60s",
    ),
    (
        &["traffic[1].transport=cubic"],
        "traffic[1].transport: \"cubic\" does not exist; allowed: \"amp\", \"dctcp\"",
    ),
    (
        &["traffic[1].kind=gossip"],
        "traffic[1].kind: \"gossip\" does not exist; allowed: \"bulk\", \"incast\"",
    ),
    (
        &["traffic[1].to=h99"],
        "traffic[1].to: host \"h99\" does not exist; allowed: 9 hosts, by index 0 to 8 or by name \"h0\" to \"r0\"",
    ),
    (
        &["traffic[1].start=20ms"],
        "traffic[1]: the first flow opens at 20ms, not before the end at 20ms; set an earlier start",
    ),
    (
        &["traffic[1].name=incast"],
        "traffic[1].name: \"incast\" is also the name of traffic[0]; allowed: a unique name",
    ),
    (
        &["traffic=[]"],
        "traffic: an empty list; allowed: at least one entry",
    ),
    (
        &["transports={}"],
        "traffic[0].transport: the spec has no transports; add one to [transports]",
    ),
    (
        &["probes[0].kind=rtt"],
        "probes[0].kind: \"rtt\" does not exist; allowed: \"queue\", \"buffer\"",
    ),
    (
        &["probes[0].at=[]"],
        "probes[0].at: an empty list; allowed: at least one link or layer",
    ),
    (
        &["probes[0].at=[\"s0->r0\", \"s0->s9\"]"],
        "probes[0].at[1]: \"s0->s9\": s0 has no link to \"s9\"; allowed: h0, h1, h2, h3, h4, h5, h6, h7, … (9 in all)",
    ),
    (
        &["probes[0].at=[\"s9->r0\"]"],
        "probes[0].at[0]: \"s9->r0\": there is no node \"s9\"; allowed: FROM->TO with names of nodes, from \"h0\" to \"s0\"",
    ),
    (
        &["probes[0].at=[\"core\"]"],
        "probes[0].at[0]: \"core\" is not a layer; allowed: \"FROM->TO\", or a layer: \"host-switch\", \"switch-host\"",
    ),
    (
        &["probes[0].interval=0s"],
        "probes[0].interval: 0s; allowed: a time above 0",
    ),
    (
        &["probes[1].interval=1ps"],
        "probes[1].interval: 160000000000 samples in all, above the maximum of 50000000; use longer intervals or fewer probes",
    ),
    (
        &["probes[1].traffic=bulky"],
        "probes[1].traffic: \"bulky\" does not exist; did you mean \"bulk\"? allowed: \"incast\", \"bulk\"",
    ),
    (
        &["probes[1].flows=0..9"],
        "probes[1].flows: flow 8 does not exist; allowed: 0 to 7",
    ),
    (
        &["probes[1].flows=3..3"],
        "probes[1].flows: \"3..3\"; allowed: a range that is not empty, such as \"0..8\"",
    ),
    (
        &["probes[1].flows=[1, 8]"],
        "probes[1].flows[1]: flow 8 does not exist; allowed: 0 to 7",
    ),
    (
        &["probes[1].flows=all"],
        "probes[1].flows: \"all\"; allowed: a list of indices, or a range such as \"0..8\"",
    ),
    (
        &[
            "topology={kind = \"two-bottlenecks\", rate = \"1Gbps\", delay = \"1us\"}",
            "traffic[0].to=D3",
            "traffic[0].from=S1",
        ],
        "traffic[0]: no path leads from S1 to D3 except through D2, and hosts do not forward; choose connected hosts, or make D2 a switch of a graph",
    ),
];

#[test]
fn complaints_name_the_field_what_was_given_and_what_is_allowed() {
    for (overrides, expected) in COMPLAINTS {
        let got = parse(overrides).unwrap_err();
        assert!(
            got.starts_with(expected),
            "{overrides:?} gives\n  {got}\nnot\n  {expected}"
        );
    }
}
