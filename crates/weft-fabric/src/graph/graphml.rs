//! A reader of GraphML (Brandes et al., "GraphML Progress Report", 2001), as written by graph
//! libraries.

use std::collections::{BTreeSet, HashMap, HashSet};

use roxmltree::{Document, Node};
use weft_spec::{Rate, SpecError, Time, refuse};

use super::{Cable, GraphSpec, rate_in_bps};

/// Data of edges with a rate; the first that an edge has counts.
const RATES: [&str; 3] = ["rate", "bandwidth", "capacity"];

/// Data of edges with a rate in bits per second, as the Internet Topology Zoo has it.
const RATE_IN_BPS: &str = "LinkSpeedRaw";

/// Data of edges with a delay; the first that an edge has counts.
const DELAYS: [&str; 2] = ["delay", "latency"];

/// Data of edges that only describes them: identifiers, looks, and what the Internet Topology Zoo says about
/// `LinkSpeedRaw` in words.
const DESCRIPTIONS: [&str; 12] = [
    "id",
    "key",
    "label",
    "name",
    "color",
    "colour",
    "LinkLabel",
    "LinkNote",
    "LinkSpeed",
    "LinkSpeedUnits",
    "LinkStatus",
    "LinkType",
];

/// The declarations of the keys of data.
struct Keys<'a> {
    names: HashMap<&'a str, &'a str>,
    /// Declared default values, which apply to nodes and edges without data of that name.
    defaults: HashMap<(&'a str, &'a str), Node<'a, 'a>>,
}

impl<'a> Keys<'a> {
    fn from_declarations(root: Node<'a, 'a>) -> Self {
        let declarations = || root.children().filter(|node| node.tag_name().name() == "key");
        let names = declarations()
            .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
            .collect();
        let defaults = HashMap::new();
        let mut keys = Self { names, defaults };
        for key in declarations() {
            let id = key.attribute("id").unwrap_or_default();
            let default = key.children().find(|node| node.tag_name().name() == "default");
            let of_edges = RATES.into_iter().chain([RATE_IN_BPS]).chain(DELAYS);
            let of_edges = of_edges.map(|name| ("edge", name));
            for (element, name) in of_edges.chain([("node", "type")]) {
                let domain = key.attribute("for").unwrap_or("all");
                let meant = (domain == element || domain == "all") && keys.means(id, name);
                if let Some(default) = default.filter(|_| meant) {
                    keys.defaults.insert((element, name), default);
                }
            }
        }
        keys
    }

    /// Returns the name of the data with this key.
    fn name(&self, key: &'a str) -> &'a str {
        self.names.get(key).copied().unwrap_or(key)
    }

    fn means(&self, key: &'a str, name: &str) -> bool {
        self.name(key) == name
    }

    /// Returns the data of a node or an edge, or the declared default.
    fn data(&self, node: Node<'a, 'a>, name: &'static str) -> Option<String> {
        let is_it = |data: &Node<'a, 'a>| {
            let key = data.attribute("key").unwrap_or_default();
            data.tag_name().name() == "data" && self.means(key, name)
        };
        let default = || self.defaults.get(&(node.tag_name().name(), name)).copied();
        let found = node.children().find(is_it).or_else(default);
        found.and_then(|data| data.text().map(|text| text.trim().to_owned()))
    }

    /// Returns the rate of an edge. An error has the name of the data.
    fn rate(&self, edge: Node<'a, 'a>) -> Result<Option<Rate>, SpecError> {
        let with_unit = self.first(edge, &RATES);
        match with_unit.or_else(|| self.first(edge, &[RATE_IN_BPS])) {
            None => Ok(None),
            Some((RATE_IN_BPS, text)) => {
                let rate = match text.parse() {
                    Ok(bits) => rate_in_bps(bits),
                    Err(_) => refuse("", format!("{text:?}"), "a number of bits per second"),
                };
                rate.map(Some).map_err(|error| named(RATE_IN_BPS, error))
            }
            Some((name, text)) => text.parse().map(Some).map_err(|error| named(name, error)),
        }
    }

    /// Returns the delay of an edge. An error has the name of the data.
    fn delay(&self, edge: Node<'a, 'a>) -> Result<Option<Time>, SpecError> {
        let found = self.first(edge, &DELAYS);
        found
            .map(|(name, text)| text.parse().map_err(|error| named(name, error)))
            .transpose()
    }

    /// Returns the first of these data that an edge has, with its name.
    fn first(&self, edge: Node<'a, 'a>, names: &[&'static str]) -> Option<(&'static str, String)> {
        names
            .iter()
            .find_map(|&name| Some((name, self.data(edge, name)?)))
    }

    /// Adds the names of the data of an edge that neither is read nor only describes the edge.
    fn note_unread(&self, edge: Node<'a, 'a>, unread: &mut BTreeSet<&'a str>) {
        let keys = edge.children().filter(|data| data.tag_name().name() == "data");
        let names = keys
            .filter_map(|data| data.attribute("key"))
            .map(|key| self.name(key));
        let is_read = |name: &str| RATES.contains(&name) || DELAYS.contains(&name) || name == RATE_IN_BPS;
        unread.extend(names.filter(|name| !is_read(name) && !DESCRIPTIONS.contains(name)));
    }
}

/// A counter of the lines up to a position that only moves forward. `Document::text_pos_at` counts from
/// the beginning, so that a call per edge takes time proportional to the square of the file.
struct LineCounter<'a> {
    text: &'a str,
    position: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            line: 1,
        }
    }

    /// Returns the line, counted from 1, at a position that is not before that of the previous call.
    fn line_at(&mut self, position: usize) -> usize {
        self.line += self.text[self.position..position].matches('\n').count();
        self.position = position;
        self.line
    }
}

/// Puts the name of data before what was given.
fn named(name: &str, error: SpecError) -> SpecError {
    SpecError {
        given: format!("{name} {}", error.given),
        ..error
    }
}

/// Reads the nodes and edges of a file's text. `hosts` names the hosts, unless it is empty.
///
/// # Errors
/// Returns an error if the text is not GraphML. The message names the file, the
/// line, what was given and what is allowed. Entity declarations are refused, because small files
/// can expand into large ones with them.
pub fn read(file: &str, text: &str, hosts: &[String]) -> Result<GraphSpec, SpecError> {
    let refuse = |given: String, allowed: &str| SpecError::new("", format!("{file}: {given}"), allowed);
    let document = Document::parse(text)
        .map_err(|error| refuse(error.to_string(), "XML without a DTD, as GraphML is"))?;
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row;
    let mut lines = LineCounter::new(text);
    let root = document.root_element();
    let graph = root
        .children()
        .find(|node| node.has_tag_name("graph") || node.tag_name().name() == "graph")
        .filter(|_| root.tag_name().name() == "graphml")
        .ok_or_else(|| {
            refuse(
                format!("<{}>", root.tag_name().name()),
                "<graphml> with a <graph>",
            )
        })?;
    if let Some(another) = another_graph(root, graph) {
        let given = format!("line {}: another <graph>", line(another));
        return Err(refuse(given, "one, and none within its nodes"));
    }
    let keys = Keys::from_declarations(root);
    let attribute = |node: Node<'_, '_>, name: &str| {
        node.attribute(name).map(str::to_owned).ok_or_else(|| {
            refuse(
                format!("line {}: <{}> has no {name}", line(node), node.tag_name().name()),
                "one",
            )
        })
    };
    let (mut nodes, mut declared, mut cables) = (Vec::new(), HashSet::new(), Vec::new());
    let mut unread = BTreeSet::new();
    let mut degrees: HashMap<String, u32> = HashMap::new();
    for node in graph.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "node" => {
                let name = attribute(node, "id")?;
                if keys.data(node, "type").as_deref() == Some("host") {
                    declared.insert(name.clone());
                }
                nodes.push(name);
            }
            "edge" => {
                let directed = node.attribute("directed").or(graph.attribute("edgedefault"));
                if matches!(directed, Some("directed" | "true" | "1")) {
                    let given = format!("line {}: a directed edge", line(node));
                    return Err(refuse(given, "undirected edges"));
                }
                let [a, b] = [attribute(node, "source")?, attribute(node, "target")?];
                for end in [&a, &b] {
                    *degrees.entry(end.clone()).or_default() += 1;
                }
                let on_line = |error: SpecError| SpecError {
                    given: format!("{file}: line {}: {}", line(node), error.given),
                    ..error
                };
                let cable = Cable {
                    a,
                    b,
                    rate: keys.rate(node).map_err(on_line)?,
                    delay: keys.delay(node).map_err(on_line)?,
                    ..Cable::default()
                };
                keys.note_unread(node, &mut unread);
                let line = lines.line_at(node.range().start);
                cables.push((format!("file: {file}: line {line}"), cable));
            }
            "hyperedge" => {
                let given = format!("line {}: <hyperedge>", line(node));
                return Err(refuse(given, "edges with two ends"));
            }
            _ => {}
        }
    }
    if !hosts.is_empty() {
        declared = hosts.iter().cloned().collect();
    }
    let is_host = |name: &String| {
        if declared.is_empty() {
            degrees.get(name) == Some(&1)
        } else {
            declared.contains(name)
        }
    };
    let (found, switches): (Vec<_>, Vec<_>) = nodes.into_iter().partition(is_host);
    if let Some(absent) = first_absent(hosts, &found) {
        let given = format!("node {absent:?} does not exist");
        return Err(refuse(given, "nodes of the file"));
    }
    Ok(GraphSpec {
        warnings: unread_warning(file, &unread).into_iter().collect(),
        hosts: if hosts.is_empty() { found } else { hosts.to_vec() },
        switches,
        cables,
    })
}

/// Returns a graph other than `graph`, in the file or within a node or an edge.
fn another_graph<'a>(root: Node<'a, 'a>, graph: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    let is_within = |node: &Node<'_, '_>| {
        let parent = node.parent().map(|parent| parent.tag_name().name());
        matches!(parent, Some("graphml" | "node" | "edge"))
    };
    let mut graphs = root.descendants();
    graphs.find(|node| node.tag_name().name() == "graph" && *node != graph && is_within(node))
}

/// Returns the first of `names` that is not in `existing`.
fn first_absent<'a>(names: &'a [String], existing: &[String]) -> Option<&'a String> {
    let existing: HashSet<&String> = existing.iter().collect();
    names.iter().find(|name| !existing.contains(name))
}

/// Returns the warning about data of edges that is not read.
fn unread_warning(file: &str, unread: &BTreeSet<&str>) -> Option<String> {
    let names: Vec<_> = unread.iter().copied().collect();
    (!names.is_empty()).then(|| {
        format!(
            "file: {file}: edges have data without an effect: {}; links have the data {}, {RATE_IN_BPS} and {}, and \
             otherwise the rate and delay of the topology; rename data that is a rate or a delay, and give its unit",
            names.join(", "),
            RATES.join(", "),
            DELAYS.join(", "),
        )
    })
}
