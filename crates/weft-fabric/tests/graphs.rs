//! Graphs that are listed in a spec, read from GraphML or htsim's files, or random. Exactly the
//! shortest paths are numbered.

mod network;

use std::fmt::Write;

use network::{LINKS, build, check_all, check_shape, made, path};
use proptest::prelude::*;
use weft_fabric::{Fabric, NodeId};

/// A ring of four switches, each with a host, with two cables on one side.
const RING: &str = "hosts = [\"h0\", \"h1\", \"h2\", \"h3\"]\nswitches = [\"s0\", \"s1\", \"s2\", \"s3\"]\n\
    links = [{ a = \"h0\", b = \"s0\" }, { a = \"s1\", b = \"h1\" }, { a = \"h2\", b = \"s2\" }, { a = \"h3\", b = \"s3\" },\n\
    { a = \"s0\", b = \"s1\", rate = \"40Gbps\" }, { a = \"s0\", b = \"s1\", delay = \"9us\" }, { a = \"s1\", b = \"s2\" },\n\
    { a = \"s2\", b = \"s3\" }, { a = \"s3\", b = \"s0\" }]";

#[test]
fn a_listed_graph() {
    let fabric = made("graph", RING);
    check_all(&fabric, &fabric.hosts);
    let paths = |to: usize| fabric.routing.path_count(fabric.hosts[0], fabric.hosts[to]);
    assert_eq!([paths(0), paths(1), paths(2), paths(3)], [0, 2, 3, 1]);
    assert_eq!(
        fabric
            .links
            .iter()
            .filter(|link| link.rate.0 == 40_000_000_000)
            .count(),
        2
    );
    assert_eq!(
        fabric
            .links
            .iter()
            .filter(|link| link.delay.0 == 9_000_000)
            .count(),
        2
    );
}

const GRAPHML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="rate" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="a"/><node id="b"/><node id="x"/><node id="y"/>
    <edge source="a" target="x"/>
    <edge source="b" target="y"/>
    <edge source="x" target="y"><data key="d0">40Gbps</data></edge>
  </graph>
</graphml>"#;

fn from_file(text: &str) -> Result<Fabric, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = file.path().display().to_string();
    build("graph", &format!("file = {name:?}\n{LINKS}"))
        .map_err(|error| error.to_string().replace(&name, "FILE"))
}

#[test]
fn graphml() {
    let fabric = from_file(GRAPHML).unwrap();
    check_shape(&fabric);
    let names: Vec<_> = fabric
        .hosts
        .iter()
        .map(|&host| fabric.nodes[host as usize].name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"], "nodes with one edge are hosts");
    check_all(&fabric, &fabric.hosts);
    assert_eq!(
        fabric
            .links
            .iter()
            .filter(|link| link.rate.0 == 40_000_000_000)
            .count(),
        2
    );
}

#[test]
fn graphml_has_defaults() {
    let text = r#"<graphml>
  <key id="n0" for="node" attr.name="type"><default>host</default></key>
  <key id="e0" for="edge" attr.name="rate"><default> 40Gbps </default></key>
  <key id="e1" for="all" attr.name="delay"><default>7us</default></key>
  <key id="n1" for="node" attr.name="rate"><default>1Gbps</default></key>
  <graph edgedefault="undirected">
    <node id="a"/><node id="b"/><node id="x"><data key="n0">switch</data></node>
    <edge source="a" target="x"/>
    <edge source="b" target="x"><data key="e0">20Gbps</data><data key="e1">3us</data></edge>
    <edge source="b" target="x"/>
  </graph>
</graphml>"#;
    let fabric = from_file(text).unwrap();
    let name = |node: NodeId| fabric.nodes[node as usize].name.as_str();
    let names: Vec<_> = fabric.hosts.iter().map(|&host| name(host)).collect();
    assert_eq!(names, ["a", "b"]);
    let links_from = |end: &str| -> Vec<_> {
        let own = fabric.links.iter().filter(|link| name(link.from) == end);
        own.map(|link| (link.rate.0 / 1_000_000_000, link.delay.0 / 1_000_000))
            .collect()
    };
    assert_eq!(links_from("a"), [(40, 7)]);
    assert_eq!(links_from("b"), [(20, 3), (40, 7)]);
    let error = from_file(&text.replace(" 40Gbps ", "40")).err().unwrap();
    assert!(error.starts_with("file: FILE: line 8: "), "{error}");
}

/// Returns GraphML of two hosts and a switch whose edges have these data, by their names.
fn with_data(data: &[(&str, &str)]) -> String {
    let (mut keys, mut values) = (String::new(), String::new());
    for (n, (name, value)) in (0..).zip(data) {
        write!(keys, "<key id=\"d{n}\" for=\"edge\" attr.name=\"{name}\"/>").unwrap();
        write!(values, "<data key=\"d{n}\">{value}</data>").unwrap();
    }
    format!(
        "<graphml>{keys}<graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"s\"/><node id=\"b\"/>\n\
         <edge source=\"a\" target=\"s\">{values}</edge>\n<edge source=\"s\" target=\"b\">{values}</edge></graph></graphml>"
    )
}

#[test]
fn rates_and_delays_of_graphml_by_the_names_of_other_programs() {
    for (data, rate, delay) in [
        (&[("LinkSpeedRaw", "1000000000.0")][..], 1_000_000_000, 1_000_000),
        (&[("LinkSpeedRaw", "45000000")], 45_000_000, 1_000_000),
        (&[("bandwidth", "2.5 Gbps")], 2_500_000_000, 1_000_000),
        (&[("capacity", "100Mbit/s")], 100_000_000, 1_000_000),
        (&[("latency", "50 ms")], 10_000_000_000, 50_000_000_000),
        (
            &[("rate", "1Gbps"), ("LinkSpeedRaw", "5")],
            1_000_000_000,
            1_000_000,
        ),
    ] {
        let fabric = from_file(&with_data(data)).unwrap();
        assert!(
            fabric
                .links
                .iter()
                .all(|link| (link.rate.0, link.delay.0) == (rate, delay)),
            "{data:?}"
        );
        assert!(fabric.warnings.is_empty());
    }
    for (name, value, said) in [
        (
            "bandwidth",
            "10",
            "bandwidth \"10\" is a bare number without a unit; allowed: a rate with a unit",
        ),
        (
            "capacity",
            "1e9",
            "capacity \"1e9\" has an exponent instead of all digits; allowed: a rate with a unit",
        ),
        (
            "latency",
            "50.0",
            "latency \"50.0\" is a bare number without a unit; allowed: a time with a unit",
        ),
        (
            "LinkSpeedRaw",
            "1G",
            "LinkSpeedRaw \"1G\"; allowed: a number of bits per second",
        ),
        (
            "LinkSpeedRaw",
            "-1",
            "LinkSpeedRaw \"-1bps\" is negative; allowed: a rate with a unit",
        ),
    ] {
        let error = from_file(&with_data(&[(name, value)])).err().unwrap();
        let start = format!("file: FILE: line 2: {said}");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn data_of_edges_without_an_effect_is_named() {
    let text = with_data(&[
        ("weight", "3"),
        ("LinkLabel", "OC-3"),
        ("bw", "10"),
        ("LinkSpeedRaw", "1e9"),
        ("key", "0"),
    ]);
    let warnings = from_file(&text).unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("edges have data without an effect: bw, weight; "),
        "{warnings:?}"
    );
}

#[test]
fn a_file_without_hosts_says_how_it_declares_them() {
    let ring = "<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>\
        <edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"c\"/><edge source=\"c\" target=\"a\"/></graph></graphml>";
    assert_eq!(
        from_file(ring).err().unwrap(),
        "hosts: 0 in FILE, whose nodes with the data type \"host\" are hosts, or otherwise those with a single edge; allowed: \
         at least 2, named here or given such data or a single edge; hosts do not forward, so each needs a switch"
    );
}

const HPCC: &str = "5 2 4\n0 3\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 1000ns 0.000000\n3 4 25000000000.0 1us 0\n\
    0 3 400Gbps 5us 0\n\nFirst line: total node #, switch node #, link #\nsrc0 dst0 rate delay error_rate\n...\n";

#[test]
fn a_topology_of_hpcc() {
    let links = |fabric: &Fabric| -> Vec<_> {
        let name = |node: NodeId| fabric.nodes[node as usize].name.clone();
        let values = |link: &weft_fabric::Link| {
            (
                format!("{}->{}", name(link.from), name(link.to)),
                link.rate.0 / 1_000_000_000,
                link.delay.0 / 1_000_000,
            )
        };
        fabric.links.iter().map(values).collect()
    };
    let fabric = from_file(HPCC).unwrap();
    check_shape(&fabric);
    check_all(&fabric, &fabric.hosts);
    let names: Vec<_> = fabric
        .hosts
        .iter()
        .map(|&host| fabric.nodes[host as usize].name.clone())
        .collect();
    assert_eq!(
        names,
        ["1", "2", "4"],
        "nodes that are not switches, by their numbers"
    );
    let found = links(&fabric);
    for (link, rate, delay) in [
        ("0->1", 100, 1),
        ("2->0", 100, 1),
        ("4->3", 25, 1),
        ("0->3", 400, 5),
    ] {
        assert!(
            found.contains(&(link.to_owned(), rate, delay)),
            "{link}: {found:?}"
        );
    }
    // ns3-datacenter has the number of ToRs, and perhaps two rates, in the first line.
    for first in ["5 2 1 4", "5 2 1 4 100000000000 400000000000"] {
        let other = from_file(&HPCC.replacen("5 2 4", first, 1)).unwrap();
        assert_eq!(links(&other), found);
    }
    let windows = from_file(&format!("\u{feff}{}", HPCC.replace('\n', "\r\n"))).unwrap();
    assert_eq!(links(&windows), found);
}

#[test]
fn bad_topologies_of_hpcc_get_one_line() {
    for (old, new, said) in [
        (
            "5 2 4",
            "graph [",
            "line 1: \"graph [\"; allowed: NODES SWITCHES LINKS, as HPCC's topologies begin; or GraphML; or a .topo file of htsim",
        ),
        (
            "5 2 4",
            "5 2 9",
            "line 8: \"First line: total node\"; allowed: A B RATE DELAY ERROR_RATE",
        ),
        ("5 2 4", "1 0 4", "line 1: 1 nodes; allowed: 2 to 1048576"),
        ("5 2 4", "5 4 4", "line 1: 4 switches; allowed: 0 to 3"),
        ("5 2 4", "5 2 0", "line 1: 0 links; allowed: 1 to 4194304"),
        ("0 3\n", "0 5\n", "line 2: node \"5\"; allowed: 0 to 4"),
        (
            "0 3\n",
            "0 0\n",
            "line 2: switch 0 is listed twice; allowed: each once",
        ),
        (
            "0 3\n",
            "0 3 1\n",
            "line 2: 3 switches, and 2 are announced; allowed: as many as are announced",
        ),
        (
            "0 1 100Gbps",
            "0 9 100Gbps",
            "line 3: node \"9\"; allowed: 0 to 4",
        ),
        (
            "0.001ms 0\n",
            "0.001ms\n",
            "line 3: \"0 1 100Gbps 0.001ms\"; allowed: A B RATE DELAY ERROR_RATE",
        ),
        (
            "100Gbps",
            "100GB",
            "line 3: \"100GB\" has the unit \"GB\"; allowed: a rate with a unit",
        ),
        ("0.001ms", "1 h", "line 3: "),
        (
            "0.001ms 0\n",
            "0.001ms 0.01\n",
            "line 3: error rate 0.01; allowed: 0; for losses set queue = { name = \"lossy\", loss = 0.01 } for \
             links.\"0->1\" and links.\"1->0\"",
        ),
        ("0 1 100Gbps", "1 1 100Gbps", "line 3: \"1\" is both ends"),
    ] {
        let text = HPCC.replacen(old, new, 1);
        let error = from_file(&text).err().unwrap();
        assert!(error.starts_with(&format!("file: FILE: {said}")), "{error}");
    }
    let few = from_file("3 1 4\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n")
        .err()
        .unwrap();
    assert_eq!(
        few,
        "file: FILE: line 1: 4 links are announced, and the file has 2; allowed: at most as many as it has"
    );
    let none = from_file("3 1 2\n").err().unwrap();
    assert_eq!(
        none,
        "file: FILE: line 1: 1 switches are announced, and 0 are listed; allowed: as many as are listed"
    );
}

#[test]
fn graphml_that_is_more_than_a_graph_is_refused() {
    let directed = "a directed edge; allowed: undirected edges";
    let another = "another <graph>; allowed: one, and none within its nodes";
    for (text, said) in [
        (
            GRAPHML.replace("\"undirected\"", "\"directed\""),
            format!("line 6: {directed}"),
        ),
        (
            GRAPHML.replace("target=\"y\"><data", "target=\"y\" directed=\"true\"><data"),
            format!("line 8: {directed}"),
        ),
        (
            GRAPHML.replace(
                "<node id=\"x\"/>",
                "<node id=\"x\"><graph><node id=\"z\"/></graph></node>",
            ),
            format!("line 5: {another}"),
        ),
        (
            GRAPHML.replace("</graph>\n", "</graph>\n<graph/>\n"),
            format!("line 10: {another}"),
        ),
        (
            GRAPHML.replace(
                "  </graph>",
                "<hyperedge><endpoint node=\"a\"/></hyperedge></graph>",
            ),
            "line 9: <hyperedge>; allowed: edges with two ends".to_owned(),
        ),
    ] {
        let error = from_file(&text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {said}"));
    }
    // An edge's own setting precedes the graph's default.
    let own = GRAPHML.replace("\"undirected\"", "\"directed\"");
    let own = own.replace("<edge ", "<edge directed=\"false\" ");
    assert_eq!(from_file(&own).unwrap().links.len(), 6);
}

#[test]
fn bad_graphs_get_one_line() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE graphml [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">\
        <!ENTITY c \"&b;&b;&b;&b;&b;&b;\">]><graphml><graph><node id=\"&c;\"/></graph></graphml>";
    for (text, said) in [
        (bomb, "DTD"),
        ("<graphml><graph>", "file: FILE: "),
        ("<gexf/>", "file: FILE: <gexf>; allowed: <graphml> with a <graph>"),
        (
            &GRAPHML.replace("source=\"b\" ", ""),
            "file: FILE: line 7: <edge> has no source; allowed: one",
        ),
        (&GRAPHML.replace("40Gbps", "40"), "line 8: "),
        (
            &GRAPHML.replace("target=\"y\"><data", "target=\"z\"><data"),
            "file: FILE: line 8.b: \"z\" does not exist",
        ),
    ] {
        let error = from_file(text).err().unwrap();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
    let refusal = |fields: &str| {
        build("graph", &format!("{fields}\n{LINKS}"))
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        refusal(&RING.replace("b = \"s3\" },\n", "b = \"s9\" },\n")),
        "links[3].b: \"s9\" does not exist; allowed: the name of a host or of a switch"
    );
    assert!(refusal("file = \"/nowhere.graphml\"").starts_with("file: /nowhere.graphml: "));
    assert_eq!(refusal("hosts = [\"a\"]"), "hosts: 1 hosts; allowed: at least 2");
    // A file without an end is read up to the limit only.
    assert_eq!(
        refusal("file = \"/dev/zero\""),
        "file: /dev/zero: is too long: more than 67108864 bytes; allowed: a topology file of at most 64 MiB: GraphML, \
         htsim's .topo, or HPCC's"
    );
}

/// A ring of switches with a host each, as GraphML in which an element has a line of its own.
fn long_ring(switches: usize) -> String {
    let node = |i| format!("<node id=\"h{i}\"/>\n<node id=\"s{i}\"/>\n");
    let edges = |i| {
        let next = (i + 1) % switches;
        format!(
            "<edge source=\"h{i}\" target=\"s{i}\"/>\n\
             <edge source=\"s{i}\" target=\"s{next}\"><data key=\"rate\">40Gbps</data></edge>\n"
        )
    };
    let nodes: String = (0..switches).map(node).collect();
    let edges: String = (0..switches).map(edges).collect();
    format!("<graphml><graph edgedefault=\"undirected\">\n{nodes}{edges}</graph></graphml>")
}

/// 32 times as many edges take 32 times as long in linear time, and 1,024 times in quadratic time. Processor time of this
/// thread is measured, because other work on the machine hardly changes it.
#[test]
fn graphml_is_read_in_linear_time() {
    const MORE: u32 = 32;
    let nanoseconds = |switches: usize, has_names: bool| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), long_ring(switches)).unwrap();
        let names: Vec<String> = (0..switches).map(|i| format!("h{i}")).collect();
        let hosts = if has_names {
            format!("hosts = {names:?}\n")
        } else {
            String::new()
        };
        let fields = format!("file = {:?}\n{hosts}{LINKS}", file.path().display().to_string());
        let began = thread_nanoseconds();
        let fabric = build("graph", &fields).unwrap();
        let taken = thread_nanoseconds() - began;
        assert_eq!((fabric.hosts.len(), fabric.links.len()), (switches, 4 * switches));
        taken
    };
    for has_names in [false, true] {
        let [short, long] = [250, 250 * MORE as usize].map(|switches| nanoseconds(switches, has_names));
        let bound = 6 * i64::from(MORE);
        assert!(
            long < bound * short,
            "{short} ns, and {long} ns for {MORE} times as much"
        );
    }
}

/// Returns the time in nanoseconds that this thread has used a core.
fn thread_nanoseconds() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// An error that a later check finds names the line of the edge.
#[test]
fn lines_are_counted_over_the_whole_file() {
    let text = long_ring(50).replace("target=\"s37\"/>", "target=\"x\"/>");
    let line = 1 + text.lines().position(|line| line.contains("\"x\"")).unwrap();
    let error = from_file(&text).err().unwrap();
    assert!(
        error.contains(&format!("line {line}.b: \"x\" does not exist")),
        "{error}"
    );
}

/// Two hosts with two ways between them: one over x, and a longer one over y and z.
const WAYS: &str = "hosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"x\", \"y\", \"z\"]\n\
    links = [{ a = \"a\", b = \"x\" }, { a = \"x\", b = \"b\", limit = \"7 packets\", mark = \"off\" },\n\
    { a = \"a\", b = \"y\" }, { a = \"y\", b = \"z\" }, { a = \"z\", b = \"b\" }, { a = \"c\", b = \"d\", one_way = true }]";

/// Returns the names of the nodes along each path between two hosts, after the first host.
fn walks(fabric: &Fabric, from: usize, to: usize) -> Vec<String> {
    let [from, to] = [from, to].map(|host| fabric.hosts[host]);
    let first = network::first_links(fabric);
    let nodes = |n| network::walk(fabric, &first, from, &path(fabric, from, to, n));
    let names = |n| -> Vec<&str> {
        let name = |node: &NodeId| fabric.nodes[*node as usize].name.as_str();
        nodes(n).iter().map(name).collect()
    };
    let count = fabric.routing.path_count(from, to);
    (0..count).map(|n| names(n).join(" ")).collect()
}

#[test]
fn listed_paths_replace_the_shortest_ones() {
    let listed = |paths: &str| build("graph", &format!("{WAYS}\npaths = {paths}\n{LINKS}"));
    let fabric = listed("[]").unwrap();
    assert_eq!(walks(&fabric, 0, 1), ["x b"]);
    let both = r#"[["a", "y", "z", "b"], ["a", "x", "b"]]"#;
    let fabric = listed(both).unwrap();
    assert_eq!(walks(&fabric, 0, 1), ["y z b", "x b"], "in the order given");
    assert_eq!(
        walks(&fabric, 1, 0),
        ["z y a", "x a"],
        "acknowledgements return on them"
    );
    let own = r#"[["a", "y", "z", "b"], ["b", "x", "a"]]"#;
    let fabric = listed(own).unwrap();
    assert_eq!(walks(&fabric, 0, 1), ["y z b"]);
    assert_eq!(walks(&fabric, 1, 0), ["x a"], "a list of their own");
    for (paths, said) in [
        (
            r#"[["a", "x", "b"], ["a", "q", "b"]]"#,
            "paths[1][1]: \"q\" does not exist; allowed: the name of a host or of a switch",
        ),
        (
            r#"[["a", "z", "b"]]"#,
            "paths[0][1]: no link leads from a to z; add the link or choose another node",
        ),
        (
            r#"[["d", "c"]]"#,
            "paths[0][1]: no link leads from d to c; add the link or choose another node",
        ),
        (
            r#"[["a", "x"]]"#,
            "paths[0][1]: \"x\" is a switch; allowed: a host at either end",
        ),
        (
            r#"[["a", "b", "x", "b"]]"#,
            "paths[0][1]: \"b\" is a host; allowed: a switch between the ends",
        ),
        (
            r#"[["a", "x", "x", "b"]]"#,
            "paths[0][2]: \"x\" is given twice; allowed: each node once",
        ),
        (r#"[["a"]]"#, "paths[0]: 1 nodes; allowed: at least 2 nodes"),
    ] {
        assert_eq!(listed(paths).err().unwrap().to_string(), said);
    }
}

#[test]
fn cables_may_have_one_direction_and_queues_of_their_own() {
    let fabric = build("graph", &format!("{WAYS}\n{LINKS}")).unwrap();
    let name = |node: NodeId| fabric.nodes[node as usize].name.as_str();
    let link = |from: &str, to: &str| {
        let mut links = fabric.links.iter();
        links.find(|link| name(link.from) == from && name(link.to) == to)
    };
    assert!(link("c", "d").is_some() && link("d", "c").is_none());
    assert_eq!(walks(&fabric, 2, 3), ["d"]);
    assert!(walks(&fabric, 3, 2).is_empty(), "against the cable");
    assert!(walks(&fabric, 0, 2).is_empty(), "another part of the network");
    let limit = |link: Option<&weft_fabric::Link>| {
        let cable = link.unwrap().cable?;
        fabric.cables[cable as usize].limit
    };
    let own = Some(weft_spec::QueueSize::Packets(7));
    assert_eq!(limit(link("x", "b")), own);
    assert_eq!(limit(link("b", "x")), own, "in the other direction as well");
    assert_eq!(limit(link("a", "x")), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Two hosts in a random connected graph of switches: as many paths as a simple search finds,
    /// all shortest.
    #[test]
    fn all_shortest_paths_and_no_others(switches in 2_usize..8, tree: [prop::sample::Index; 7], more in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..8)) {
        let mut cables = vec![("h0".to_owned(), "s0".to_owned()), ("h1".to_owned(), format!("s{}", switches - 1))];
        cables.extend((1..switches).map(|s| (format!("s{s}"), format!("s{}", tree[s - 1].index(s)))));
        let ends = more.iter().map(|ends| ends.map(|end| end.index(switches)));
        cables.extend(ends.filter(|[a, b]| a != b).map(|[a, b]| (format!("s{a}"), format!("s{b}"))));
        let links: Vec<_> = cables.iter().map(|(a, b)| format!("{{ a = {a:?}, b = {b:?} }}")).collect();
        let names: Vec<_> = (0..switches).map(|s| format!("s{s}")).collect();
        let fields = format!("hosts = [\"h0\", \"h1\"]\nswitches = {names:?}\nlinks = [{}]", links.join(", "));
        let fabric = made("graph", &fields);
        check_all(&fabric, &fabric.hosts);
        let (from, to) = (fabric.hosts[0], fabric.hosts[1]);
        // All walks of each length, until one arrives.
        let mut walks = vec![(from, 1_u64)];
        let mut length = 0;
        let arrived = loop {
            let arrived: u64 = walks.iter().filter(|(node, _)| *node == to).map(|(_, n)| n).sum();
            if arrived > 0 {
                break arrived;
            }
            length += 1;
            let mut next = std::collections::BTreeMap::new();
            for &(node, n) in &walks {
                for link in fabric.links.iter().filter(|link| link.from == node) {
                    *next.entry(link.to).or_insert(0) += n;
                }
            }
            walks = next.into_iter().collect();
        };
        prop_assert_eq!(fabric.routing.path_count(from, to), arrived);
        for n in 0..arrived {
            prop_assert_eq!(path(&fabric, from, to, n).len(), length);
        }
    }
}

/// Reads an htsim description.
fn topo(tiers: &str) -> Result<Fabric, String> {
    let file = tempfile::Builder::new().suffix(".topo").tempfile().unwrap();
    std::fs::write(file.path(), tiers).unwrap();
    let name = file.path().display().to_string();
    build("graph", &format!("file = {name:?}\n{LINKS}"))
        .map_err(|error| error.to_string().replace(&name, "FILE"))
}

const TIERS: &str = "# two tiers
Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2 # oversubscribed
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 400
Radix_Down 4
Downlink_Latency_ns 500
Switch_Latency_ns 20
";

const THREE: &str = "Nodes 16\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2
Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000
Tier 2\nDownlink_speed_Gbps 10\nRadix_Down 4\nDownlink_Latency_ns 1000\n";

#[test]
fn htsim_topologies() {
    let fabric = topo(TIERS).unwrap();
    // 32 hosts, 4 leaves, 2 spines; every leaf has a cable to each spine.
    assert_eq!(
        (fabric.hosts.len(), fabric.nodes.len(), fabric.links.len()),
        (32, 38, 80)
    );
    let paths = |a: usize, b: usize| fabric.routing.path_count(fabric.hosts[a], fabric.hosts[b]);
    assert_eq!((paths(0, 7), paths(0, 8)), (1, 2));
    let up = fabric.links.iter().filter(|link| link.layer == "switch-switch");
    let (rate, delay) = (400_000_000_000, 520_000);
    assert!(
        up.clone().count() == 16
            && up
                .clone()
                .all(|link| (link.rate.0, link.delay.0) == (rate, delay))
    );
    // The fat-tree with four ports, compared with the built-in topology.
    let fabric = topo(THREE).unwrap();
    assert_eq!(
        (fabric.hosts.len(), fabric.nodes.len(), fabric.links.len()),
        (16, 36, 96)
    );
    let paths = |a: usize, b: usize| fabric.routing.path_count(fabric.hosts[a], fabric.hosts[b]);
    assert_eq!((paths(0, 1), paths(0, 3), paths(0, 15)), (1, 2, 4));
    check_all(&fabric, &fabric.hosts);
    for (text, said) in [
        (
            TIERS.replace("Radix_Up 2", "Radix_Up many"),
            "FILE: line 9: Radix_Up many; allowed: a whole number",
        ),
        (
            TIERS.replace("Nodes 32", "Nodes 31"),
            "31 hosts in pods of 31 and racks of 8",
        ),
        (
            TIERS.replace("Tier 1", "Tier 2"),
            "line 12: Tier 2; allowed: Tier 1",
        ),
        (
            TIERS.replace("Radix_Down 4", "Radix_Down 3"),
            "8 links up to Tier 1; allowed: a multiple of its Radix_Down",
        ),
        (
            TIERS.replace("Downlink_Latency_ns 500", "Latency 5"),
            "line 15: Latency; allowed: Downlink_speed_Gbps, ",
        ),
        (TIERS.replace("Radix_Down 4\n", ""), "Tier 1 without Radix_Down"),
        (TIERS.replace("Radix_Up 2", "Radix_Up 4000000000"), "line 12: "),
        ("Nodes 32".to_owned(), "0 tiers are described"),
    ] {
        let error = topo(&text).err().unwrap();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn htsim_words_may_be_in_small_letters() {
    for text in [TIERS.to_lowercase(), TIERS.to_uppercase()] {
        let fabric = topo(&text).unwrap();
        assert_eq!((fabric.hosts.len(), fabric.links.len()), (32, 80));
    }
}

#[test]
fn htsim_topologies_that_contradict_themselves_are_refused() {
    for (text, said) in [
        (
            TIERS.replace("Podsize 32", "Podsize 32\nnodes 16"),
            "line 5: Nodes for the second time; allowed: once",
        ),
        (
            TIERS.replace("Radix_Up 2", "Radix_Up 2\nradix_up 4"),
            "line 10: Radix_Up for the second time in Tier 0; allowed: once",
        ),
        (
            TIERS.replace("Radix_Up 2", "Radix_Up 2\nBundle 2"),
            "line 10: Bundle 2 in Tier 0; allowed: 1",
        ),
        (
            TIERS.replace("Radix_Down 4", "Radix_Down 4\nRadix_Up 2"),
            "line 15: Radix_Up 2 in the top tier; allowed: 0",
        ),
        (
            TIERS.replace("Radix_Up 2", "Radix_Up 2\nOversubscribed 2"),
            "line 10: Oversubscribed 2 with Radix_Down 8 and Radix_Up 2; allowed: Radix_Down divided by Radix_Up",
        ),
    ] {
        let error = topo(&text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {said}"));
    }
    let said = TIERS.replace("Radix_Up 2", "Radix_Up 2\nOversubscribed 4\nBundle 1");
    let said = said.replace("Radix_Down 4", "Radix_Down 4\nRadix_Up 0");
    assert_eq!(topo(&said).unwrap().links.len(), 80);
}
