//! Execution traces of `MLCommons` Chakra (Sridharan et al., arXiv 2305.14516): a file per rank, with the nodes of its graph.
//!
//! Nodes are read one at a time. A node of a collective operation becomes the messages of an algorithm once all files are
//! read: the operations of a group are the same at each rank of it, in the order of their nodes.

mod messages;
mod schema;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use weft_spec::Time;

use self::messages::Messages;
use self::schema::{GlobalMetadata, Node, Value};
use super::errors::{Place, TraceError, shortened};
use super::{MAX_TASKS, open};
use crate::collective::{Algorithm, Exchange, Operation};
use crate::tasks::{TaskGraph, TaskGraphBuilder, Unmatched, Work};
use crate::{MAX_FLOWS, OperationFacts};

/// Numbers of kinds of nodes.
const METADATA: i32 = 1;
const COMPUTE: i32 = 4;
const SEND: i32 = 5;
const RECEIVE: i32 = 6;
const COLLECTIVE: i32 = 7;

/// The processor of a rank that is its accelerator.
const ACCELERATOR: u8 = 0;
/// The processor of a rank's host.
const HOST: u8 = 1;

/// Reads the files `PREFIX.RANK.et`. All-reduces have the algorithm `all_reduce`. `groups` has ranks by the name of their group.
pub(super) fn read(
    prefix: &str,
    all_reduce: Algorithm,
    groups: &BTreeMap<String, Vec<u32>>,
) -> Result<TaskGraph, TraceError> {
    let ranks = count_files(prefix)?;
    let mut reader = Reader {
        ranks,
        all_reduce,
        builder: TaskGraphBuilder::new(ranks),
        nodes: Vec::new(),
        groups: BTreeMap::new(),
        operations: BTreeMap::new(),
    };
    for rank in 0..ranks {
        reader.read_rank(prefix, rank)?;
    }
    for (name, members) in groups {
        reader.groups.insert(name.clone(), members.clone());
    }
    reader.finish()
}

/// Returns the number of files `PREFIX.RANK.et`, whose ranks count from 0.
fn count_files(prefix: &str) -> Result<u32, TraceError> {
    const ALLOWED: &str = "the beginning of the paths of files that end in .0.et, .1.et and so on";
    let path = Path::new(prefix);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Place::File.wrong("no beginning of a file's name", ALLOWED));
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let name = name.to_string_lossy();
    let entries = fs::read_dir(folder).map_err(|error| Place::File.wrong(error.to_string(), ALLOWED))?;
    let rank = |file: &str| -> Option<u32> {
        let number = file
            .strip_prefix(&*name)?
            .strip_prefix('.')?
            .strip_suffix(".et")?;
        let rank: u32 = number.parse().ok()?;
        // Other ways to write the number are other files.
        (rank.to_string() == number).then_some(rank)
    };
    let ranks: BTreeSet<u32> = entries
        .filter_map(|entry| rank(&entry.ok()?.file_name().to_string_lossy()))
        .collect();
    if ranks.is_empty() {
        return Err(Place::File.wrong("no file of a rank", ALLOWED));
    }
    match (0..).zip(&ranks).find(|&(expected, &rank)| expected != rank) {
        Some((missing, _)) => {
            Err(Place::Rank(missing).wrong("no such file", "a file for each rank from 0 on"))
        }
        None => Ok(ranks.len() as u32),
    }
}

/// A collective operation at a rank.
#[derive(Clone, Copy, Debug)]
struct RankOperation {
    operation: Operation,
    /// Bytes of the node, which are those of a rank's part in an all-gather.
    bytes: u64,
    /// Tasks between which the operation runs.
    begin: u32,
    end: u32,
    place: Place,
}

/// Operations by rank.
type RankOperations = BTreeMap<u32, Vec<RankOperation>>;

struct Reader {
    ranks: u32,
    all_reduce: Algorithm,
    builder: TaskGraphBuilder,
    /// Rank and node of each task.
    nodes: Vec<(u32, u64)>,
    groups: BTreeMap<String, Vec<u32>>,
    /// Operations by the name of their group.
    operations: BTreeMap<String, RankOperations>,
}

/// A node and its place.
struct Placed {
    node: Node,
    rank: u32,
}

impl Placed {
    fn place(&self) -> Place {
        Place::Node {
            rank: self.rank,
            id: self.node.id,
        }
    }

    fn wrong(&self, given: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        self.place().wrong(given, allowed)
    }

    fn attribute(&self, name: &str) -> Option<&Value> {
        let attribute = self
            .node
            .attributes
            .iter()
            .find(|attribute| attribute.name == name)?;
        attribute.value.as_ref()
    }

    /// Returns the value of an integer attribute of any type; `None` without the attribute.
    fn integer<T: TryFrom<i128>>(&self, name: &str, allowed: &str) -> Result<Option<T>, TraceError> {
        let Some(value) = self.attribute(name) else {
            return Ok(None);
        };
        let integer = value.integer();
        let number = integer.and_then(|value| value.try_into().ok());
        let given = || match integer {
            Some(value) => format!("{name} {value}"),
            None => format!("{name}, which is no integer"),
        };
        Ok(Some(number.ok_or_else(|| self.wrong(given(), allowed))?))
    }

    /// Returns the value of an integer attribute.
    fn required<T: TryFrom<i128>>(&self, name: &str, allowed: &str) -> Result<T, TraceError> {
        let value = self.integer(name, allowed)?;
        value.ok_or_else(|| self.wrong(format!("no {name}"), allowed))
    }

    fn is_on_host(&self) -> bool {
        self.attribute("is_cpu_op") == Some(&Value::Bool(true))
    }
}

impl Reader {
    fn read_rank(&mut self, prefix: &str, rank: u32) -> Result<(), TraceError> {
        let refuse = |given: &str| Place::Rank(rank).wrong(given, "a trace of Chakra");
        let input = open(&format!("{prefix}.{rank}.et")).map_err(|error| refuse(&error.given))?;
        let mut messages = Messages::new(input);
        let metadata: Option<GlobalMetadata> = messages.next().map_err(|given| refuse(&given))?;
        if metadata.is_none() {
            return Err(refuse("0 bytes"));
        }
        // The first and the last task of each node.
        let mut tasks: HashMap<u64, (u32, u32)> = HashMap::new();
        let mut waits: Vec<(u32, u64, u64)> = Vec::new();
        while let Some(node) = messages.next().map_err(|given| refuse(&given))? {
            let node = Placed { node, rank };
            if self.builder.len() >= MAX_TASKS {
                return Err(node.wrong("another node", format!("at most {MAX_TASKS}")));
            }
            let first = self.builder.len();
            let (begin, end) = self.add(&node)?;
            self.nodes
                .extend((first..self.builder.len()).map(|_| (rank, node.node.id)));
            if tasks.insert(node.node.id, (begin, end)).is_some() {
                return Err(node.wrong("an id for the second time", "an id per node of a rank"));
            }
            waits.extend(
                node.node
                    .data_deps
                    .iter()
                    .map(|&before| (begin, before, node.node.id)),
            );
        }
        for (task, before, id) in waits {
            let Some(&(_, end)) = tasks.get(&before) else {
                let given = format!("data_deps {before}");
                return Err(Place::Node { rank, id }.wrong(given, "ids of nodes in the file"));
            };
            self.builder.after(task, end);
        }
        Ok(())
    }

    /// Adds the tasks of a node. Returns its first and its last one.
    fn add(&mut self, node: &Placed) -> Result<(u32, u32), TraceError> {
        const TAG: &str = "a tag from 0";
        const SIZE: &str = "bytes from 0";
        let rank = node.rank;
        let peer = |name: &str| {
            let allowed = format!("0 to {}, the ranks that have files", self.ranks - 1);
            let peer: u32 = node.required(name, &allowed)?;
            if peer < self.ranks {
                Ok(peer)
            } else {
                Err(node.wrong(format!("{name} {peer}"), allowed))
            }
        };
        let task = match node.node.kind {
            METADATA => {
                self.read_groups(node);
                self.builder.add(rank, Work::Pause(Time(0)), None)
            }
            COMPUTE => self.compute(node)?,
            SEND => {
                if self.builder.message_count() as u64 == MAX_FLOWS {
                    return Err(node.wrong("another send", format!("at most {MAX_FLOWS} messages")));
                }
                let to = peer("comm_dst")?;
                let bytes = node.required("comm_size", SIZE)?;
                let tag = node.integer("comm_tag", TAG)?.unwrap_or(0);
                self.builder.send(rank, to, bytes, tag, None)
            }
            RECEIVE => {
                let from = peer("comm_src")?;
                let tag = node.integer("comm_tag", TAG)?.unwrap_or(0);
                let work = Work::ReceiveAny {
                    from: Some(from),
                    tag: Some(tag),
                };
                self.builder.add(rank, work, None)
            }
            COLLECTIVE if node.is_on_host() && node.attribute("comm_size").is_none() => self.compute(node)?,
            COLLECTIVE => return self.collective(node),
            kind => {
                let name = match kind {
                    2 => "2, a memory load".to_owned(),
                    3 => "3, a memory store".to_owned(),
                    kind => kind.to_string(),
                };
                let allowed = "1 (metadata), 4 (compute), 5 (send), 6 (receive), 7 (collective)";
                return Err(node.wrong(format!("type {name}"), allowed));
            }
        };
        Ok((task, task))
    }

    fn compute(&mut self, node: &Placed) -> Result<u32, TraceError> {
        let micros = node.node.duration_micros;
        let time = micros.checked_mul(1_000_000).ok_or_else(|| {
            let allowed = format!("at most {}", u64::MAX / 1_000_000);
            node.wrong(format!("duration_micros {micros}"), allowed)
        })?;
        let processor = if node.is_on_host() { HOST } else { ACCELERATOR };
        Ok(self
            .builder
            .add(node.rank, Work::Compute(Time(time)), Some(processor)))
    }

    fn collective(&mut self, node: &Placed) -> Result<(u32, u32), TraceError> {
        const KINDS: &str =
            "0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter)";
        let operation = match node.required("comm_type", KINDS)? {
            0_i64 => Operation::AllReduce,
            2 => Operation::AllGather,
            5 => Operation::Broadcast,
            6 => Operation::AllToAll,
            7 | 8 => Operation::ReduceScatter,
            kind => return Err(node.wrong(format!("comm_type {kind}"), KINDS)),
        };
        let bytes = node.required("comm_size", "bytes from 0")?;
        let group = match node.attribute("pg_name") {
            None => String::new(),
            Some(Value::Text(name)) => name.clone(),
            Some(value) => match value.integer() {
                Some(name) => name.to_string(),
                None => return Err(node.wrong("pg_name, which is no text", "the name of a group")),
            },
        };
        let [begin, end] = [(); 2].map(|()| self.builder.add(node.rank, Work::Pause(Time(0)), None));
        self.builder.after(end, begin);
        let of_group = self.operations.entry(group).or_default();
        of_group.entry(node.rank).or_default().push(RankOperation {
            operation,
            bytes,
            begin,
            end,
            place: node.place(),
        });
        Ok((begin, end))
    }

    /// Reads the groups of a metadata node, whose input is JSON: a list of objects with `pg_name` and `ranks`. No ranks are all.
    fn read_groups(&mut self, node: &Placed) {
        let text = node.node.inputs.as_ref().map_or("", |inputs| &inputs.values);
        let Ok(serde_json::Value::Array(values)) = serde_json::from_str(text) else {
            return;
        };
        // PyTorch puts the list into a text, in a list of inputs.
        let nested: Vec<serde_json::Value> = values
            .iter()
            .filter_map(|value| serde_json::from_str(value.as_str()?).ok())
            .filter_map(|value: serde_json::Value| value.as_array().cloned())
            .flatten()
            .collect();
        for object in values.iter().chain(&nested) {
            let name = match &object["pg_name"] {
                serde_json::Value::String(name) => name.clone(),
                serde_json::Value::Number(name) => name.to_string(),
                _ => continue,
            };
            let Some(ranks) = object["ranks"].as_array() else {
                continue;
            };
            let ranks: Option<Vec<u32>> = ranks.iter().map(|rank| rank.as_u64()?.try_into().ok()).collect();
            if let Some(ranks) = ranks {
                let all = || (0..self.ranks).collect();
                let ranks = if ranks.is_empty() { all() } else { ranks };
                self.groups.entry(name).or_insert(ranks);
            }
        }
    }

    /// Returns the ranks of a group.
    fn members(&self, name: &str, operations: &RankOperations) -> Result<Vec<u32>, TraceError> {
        let place = operations
            .values()
            .flatten()
            .map(|operation| operation.place)
            .next();
        let place = place.unwrap_or(Place::File);
        let members = match self.groups.get(name) {
            Some(members) => members.clone(),
            None if name.is_empty() || name == "0" => (0..self.ranks).collect(),
            None => {
                let names: Vec<&str> = self.groups.keys().map(String::as_str).collect();
                let names = if names.is_empty() {
                    "0, or groups in the spec or in metadata of the trace".to_owned()
                } else {
                    names.join(", ")
                };
                return Err(place.wrong(format!("pg_name {:?}", shortened(name)), names));
            }
        };
        let mut seen = BTreeSet::new();
        for &rank in &members {
            if rank >= self.ranks || !seen.insert(rank) {
                let given = format!("group {:?} with rank {rank}", shortened(name));
                let allowed = format!("each of 0 to {} once", self.ranks - 1);
                return Err(place.wrong(given, allowed));
            }
        }
        match operations.iter().find(|(rank, _)| !seen.contains(rank)) {
            Some((rank, of_rank)) => {
                let place = of_rank.first().map_or(Place::Rank(*rank), |first| first.place);
                let given = format!("pg_name {:?}, a group without this rank", shortened(name));
                Err(place.wrong(given, "a group of the rank"))
            }
            None => Ok(members),
        }
    }

    /// Adds the messages of all collective operations of a group.
    fn add_operations(&mut self, name: &str, operations: &RankOperations) -> Result<(), TraceError> {
        let members = self.members(name, operations)?;
        let of_rank = |rank: u32| operations.get(&rank).map_or(&[][..], Vec::as_slice);
        let most = members.iter().copied().max_by_key(|&rank| of_rank(rank).len());
        let instances = most.map_or(&[][..], of_rank);
        for (number, first) in instances.iter().enumerate() {
            let (mut begins, mut ends) = (HashMap::new(), HashMap::new());
            for &rank in &members {
                let Some(own) = of_rank(rank).get(number) else {
                    let given = format!(
                        "operation {} of group {:?}, which rank {rank} does not have",
                        number + 1,
                        shortened(name)
                    );
                    return Err(first.place.wrong(given, "an operation at each rank of a group"));
                };
                if (own.operation, own.bytes) != (first.operation, first.bytes) {
                    let given = format!(
                        "comm_type or comm_size of operation {} of group {:?}, which are others at another rank",
                        number + 1,
                        shortened(name)
                    );
                    return Err(own.place.wrong(given, "the same at each rank of a group"));
                }
                begins.insert(rank, own.begin);
                ends.insert(rank, own.end);
            }
            let n = members.len() as u32;
            if n < 2 {
                continue;
            }
            let algorithm = match first.operation {
                Operation::AllReduce => self.all_reduce,
                operation => operation.default_algorithm(),
            };
            let messages = Exchange::messages(first.operation, algorithm, n, 1);
            if messages.saturating_add(self.builder.message_count() as u64) > MAX_FLOWS {
                let given = format!("{messages} messages of an operation");
                let allowed = format!("at most {MAX_FLOWS} messages in all");
                return Err(first.place.wrong(given, allowed));
            }
            // The bytes of an all-gather are those of a rank.
            let factor = if first.operation == Operation::AllGather {
                n
            } else {
                1
            };
            let bytes = first.bytes.checked_mul(factor.into()).ok_or_else(|| {
                first
                    .place
                    .wrong(format!("comm_size {}", first.bytes), "a size of an array")
            })?;
            let begin = self.builder.len();
            Exchange {
                builder: &mut self.builder,
                members: &members,
                bytes,
                chunks: 1,
            }
            .add(first.operation, algorithm);
            self.builder.enclose(begin, &begins, &ends);
            let facts = OperationFacts {
                operation: first.operation,
                group: (!name.is_empty()).then(|| name.into()),
                layer: None,
                pass: None,
                bytes,
            };
            let of_ranks = members.iter().map(|rank| begins[rank]..ends[rank] + 1);
            let tasks = of_ranks.chain(std::iter::once(begin..self.builder.len()));
            self.builder.operation(facts, tasks.collect());
            if let Place::Node { rank, id } = first.place {
                let added = begin..self.builder.len();
                self.nodes.extend(added.map(|_| (rank, id)));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TaskGraph, TraceError> {
        let unmatched = self.builder.match_receives();
        unmatched.map_err(|unmatched| match unmatched {
            Unmatched::Receive { task } => {
                let given = "a receive whose message is not sent";
                self.wrong(task, given, "a send for each receive")
            }
            Unmatched::Send { task } => {
                let given = "a message that is not received";
                self.wrong(task, given, "a receive for each send")
            }
        })?;
        for (name, operations) in std::mem::take(&mut self.operations) {
            self.add_operations(&name, &operations)?;
        }
        let builder = std::mem::replace(&mut self.builder, TaskGraphBuilder::new(0));
        builder.build().map_err(|stuck| {
            let given = "a node that waits for itself, through the others of a cycle";
            self.wrong(stuck.task, given, "an order without cycles")
        })
    }

    /// Returns the error of the node of a task.
    fn wrong(&self, task: u32, given: &str, allowed: &str) -> TraceError {
        let node = self.nodes.get(task as usize);
        let place = node.map_or(Place::File, |&(rank, id)| Place::Node { rank, id });
        place.wrong(given, allowed)
    }
}
