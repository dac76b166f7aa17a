//! A reader of GraphML (Brandes et al., "GraphML Progress Report", 2001), as written by graph
//! libraries.

use std::collections::{HashMap, HashSet};

use roxmltree::{Document, Node};
use weft_spec::{SpecError, read_text};

use super::{Cable, GraphSpec};

/// Maximum size of a file in bytes, so that no file fills the memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

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
            for (element, name) in [("node", "type"), ("edge", "rate"), ("edge", "delay")] {
                let domain = key.attribute("for").unwrap_or("all");
                let meant = (domain == element || domain == "all") && keys.means(id, name);
                if let Some(default) = default.filter(|_| meant) {
                    keys.defaults.insert((element, name), default);
                }
            }
        }
        keys
    }

    fn means(&self, key: &str, name: &str) -> bool {
        self.names.get(key).copied().unwrap_or(key) == name
    }

    /// Returns the data of a node or an edge, or the declared default.
    fn data(&self, node: Node<'_, '_>, name: &str) -> Option<String> {
        let is_it = |data: &Node<'_, '_>| {
            let key = data.attribute("key").unwrap_or_default();
            data.tag_name().name() == "data" && self.means(key, name)
        };
        let default = || self.defaults.get(&(node.tag_name().name(), name)).copied();
        let found = node.children().find(is_it).or_else(default);
        found.and_then(|data| data.text().map(|text| text.trim().to_owned()))
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

/// Reads the nodes and edges of a file. `hosts` names the hosts, unless it is empty.
///
/// # Errors
/// Returns an error if the file cannot be read or is not GraphML. The message names the file, the
/// line, what was given and what is allowed. Entity declarations are refused, because small files
/// can expand into large ones with them.
pub fn read(file: &str, hosts: &[String]) -> Result<GraphSpec, SpecError> {
    let refuse = |given: String, allowed: &str| SpecError::new("", format!("{file}: {given}"), allowed);
    let text =
        read_text(file, MAX_FILE_BYTES).map_err(|error| refuse(error.to_string(), "a GraphML file"))?;
    let document = Document::parse(&text)
        .map_err(|error| refuse(error.to_string(), "XML without a DTD, as GraphML is"))?;
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row;
    let mut lines = LineCounter::new(&text);
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
    let data = |node: Node<'_, '_>, name: &str| keys.data(node, name);
    let attribute = |node: Node<'_, '_>, name: &str| {
        node.attribute(name).map(str::to_owned).ok_or_else(|| {
            refuse(
                format!("line {}: <{}> has no {name}", line(node), node.tag_name().name()),
                "one",
            )
        })
    };
    let (mut nodes, mut declared, mut cables) = (Vec::new(), HashSet::new(), Vec::new());
    let mut degrees: HashMap<String, u32> = HashMap::new();
    for node in graph.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "node" => {
                let name = attribute(node, "id")?;
                if data(node, "type").as_deref() == Some("host") {
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
                    rate: data(node, "rate")
                        .map(|text| text.parse().map_err(on_line))
                        .transpose()?,
                    delay: data(node, "delay")
                        .map(|text| text.parse().map_err(on_line))
                        .transpose()?,
                    ..Cable::default()
                };
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
