//! The table of layers that `SimAI` reads (Wang et al., `SimAI`, NSDI 2025).
//!
//! The first line has a policy and pairs of a name and a number, the second one the number of rows. A row has twelve columns:
//! a name, a dependency that is always -1, then time, kind and bytes of an operation for the forward pass, the gradients of
//! the input and those of the weights, and the time of the update. Times are in nanoseconds. An operation without suffix is that
//! of the tensor-parallel group, or of the data-parallel group for gradients of the weights. With `_EP` it is that of the
//! expert-parallel group, and with `_DP_EP` that of data-parallel ranks with the same experts. Bytes are those of the whole array.
//!
//! `SimAI` takes an unknown kind as none. Here it is an error.

use std::collections::BTreeMap;
use std::io::BufRead;

use weft_spec::Time;

use super::MAX_RANKS;
use super::errors::{Place, TraceError, shortened};
use super::lines::for_each_line;
use crate::collective::{Algorithm, Exchange, Operation, RankSequences};
use crate::tasks::TaskGraph;
use crate::{MAX_FLOWS, OperationFacts};

/// The policy whose order of passes is that of the graph.
const POLICY: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";

/// Pass whose operations run next to computing.
const WEIGHT_GRADIENT: &str = "weight gradient";

/// Maximum number of computations of all ranks.
const MAX_COMPUTATIONS: u64 = 1 << 26;

/// Reads a table. All-reduces have the algorithm `all_reduce`.
pub(super) fn read(input: impl BufRead, all_reduce: Algorithm) -> Result<TaskGraph, TraceError> {
    let mut reader = Reader {
        all_reduce,
        ranks: None,
        announced: None,
        layers: Vec::new(),
        messages: 0,
    };
    for_each_line(input, "a table of SimAI", |number, line| {
        reader.read_line(number, line)
    })?;
    reader.finish()
}

/// The groups of ranks that run an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Tensor,
    Data,
    Expert,
    /// Data-parallel ranks with the same experts.
    DataOfExperts,
}

/// Computing, and an operation after it.
#[derive(Clone, Copy, Debug)]
struct Part {
    compute: Time,
    operation: Option<(Operation, Group, u64)>,
}

/// A row: the forward pass, the gradients of the input, those of the weights, and the update.
#[derive(Clone, Copy, Debug)]
struct Layer {
    forward: Part,
    input_gradient: Part,
    weight_gradient: Part,
    update: Time,
}

/// Numbers of ranks.
#[derive(Clone, Copy, Debug)]
struct Ranks {
    all: u32,
    tensor: u32,
    data: u32,
    experts: u32,
}

impl Group {
    fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Data => "data",
            Self::Expert => "expert",
            Self::DataOfExperts => "data of experts",
        }
    }
}

impl Ranks {
    /// Returns the number of ranks in a group.
    fn group_size(self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.data,
            Group::Expert => self.experts,
            Group::DataOfExperts => self.data / self.experts,
        }
    }

    /// Returns all groups of a kind that have several ranks. Tensor-parallel ranks are neighbours, then come those of an
    /// expert-parallel group.
    fn groups(self, group: Group) -> Vec<Vec<u32>> {
        let mut groups: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for rank in 0..self.all {
            let (data, tensor) = (rank / self.tensor, rank % self.tensor);
            let key = match group {
                Group::Tensor => (data, 0),
                Group::Data => (0, tensor),
                Group::Expert => (data / self.experts, tensor),
                Group::DataOfExperts => (data % self.experts, tensor),
            };
            groups.entry(key).or_default().push(rank);
        }
        groups.into_values().filter(|members| members.len() > 1).collect()
    }
}

struct Reader {
    all_reduce: Algorithm,
    ranks: Option<Ranks>,
    /// The announced number of rows, with its line.
    announced: Option<(u64, u32)>,
    layers: Vec<Layer>,
    messages: u64,
}

fn wrong(line: u32, given: impl Into<String>, allowed: impl Into<String>) -> TraceError {
    Place::Line(line).wrong(given, allowed)
}

impl Reader {
    fn read_line(&mut self, line: u32, text: &str) -> Result<(), TraceError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (self.ranks, self.announced, &words[..]) {
            (_, _, []) => Ok(()),
            (None, ..) => {
                self.ranks = Some(header(line, &words)?);
                Ok(())
            }
            (Some(_), None, [rows]) => {
                let number = rows.parse().map_err(|_| {
                    let given = format!("{} rows", shortened(rows));
                    wrong(line, given, "a whole number from 0")
                })?;
                self.announced = Some((number, line));
                Ok(())
            }
            (Some(_), None, _) => {
                let given = format!("{} words", words.len());
                Err(wrong(line, given, "the number of rows"))
            }
            (Some(ranks), Some((rows, _)), _) => {
                if self.layers.len() as u64 == rows {
                    let given = format!("row {} of {rows} that are announced", rows + 1);
                    return Err(wrong(line, given, "as many rows as line 2 announces"));
                }
                let layer = row(line, &words)?;
                self.count(line, ranks, layer)?;
                self.layers.push(layer);
                Ok(())
            }
        }
    }

    /// Counts the messages of a layer.
    fn count(&mut self, line: u32, ranks: Ranks, layer: Layer) -> Result<(), TraceError> {
        for part in [layer.forward, layer.input_gradient, layer.weight_gradient] {
            let Some((operation, group, _)) = part.operation else {
                continue;
            };
            let size = ranks.group_size(group);
            if size > 1 {
                let algorithm = self.algorithm(operation);
                let per_group = Exchange::messages(operation, algorithm, size, 1);
                let messages = per_group.saturating_mul(u64::from(ranks.all / size));
                self.messages = self.messages.saturating_add(messages);
            }
        }
        if self.messages > MAX_FLOWS {
            let given = format!("{} messages up to this row", self.messages);
            return Err(wrong(line, given, format!("at most {MAX_FLOWS} messages")));
        }
        let computations = 4 * u64::from(ranks.all) * (self.layers.len() as u64 + 1);
        if computations > MAX_COMPUTATIONS {
            let given = format!("{computations} computations up to this row");
            return Err(wrong(line, given, format!("at most {MAX_COMPUTATIONS}")));
        }
        Ok(())
    }

    fn algorithm(&self, operation: Operation) -> Algorithm {
        match operation {
            Operation::AllReduce => self.all_reduce,
            _ => operation.default_algorithm(),
        }
    }

    fn finish(self) -> Result<TaskGraph, TraceError> {
        let (Some(ranks), Some((rows, line))) = (self.ranks, self.announced) else {
            let given = "ends before its rows";
            return Err(Place::File.wrong(given, format!("a table of SimAI, which begins with {POLICY}")));
        };
        if rows != self.layers.len() as u64 {
            let given = format!(
                "{rows} rows are announced, and the file has {}",
                self.layers.len()
            );
            return Err(wrong(line, given, "as many as it has"));
        }
        let graph = self.sequences(ranks).builder.build();
        // All ranks have one order of operations, so that there is no cycle.
        graph.map_err(|stuck| {
            let given = format!("task {} waits for itself", stuck.task);
            Place::File.wrong(given, "an order without cycles")
        })
    }

    /// Returns the graph of all layers.
    fn sequences(&self, ranks: Ranks) -> RankSequences {
        let mut sequences = RankSequences::new(ranks.all);
        let compute = |sequences: &mut RankSequences, time: Time| {
            (0..ranks.all).for_each(|rank| sequences.compute(rank, time));
        };
        let run = |sequences: &mut RankSequences, part: Part, (layer, pass): (u32, &'static str)| {
            compute(sequences, part.compute);
            let Some((operation, group, bytes)) = part.operation else {
                return;
            };
            let algorithm = self.algorithm(operation);
            let facts = OperationFacts {
                operation,
                group: Some(group.name().into()),
                layer: Some(layer),
                pass: Some(pass),
                bytes,
            };
            for members in ranks.groups(group) {
                if pass == WEIGHT_GRADIENT {
                    sequences.exchange_in_background(&members, facts.clone(), algorithm);
                } else {
                    let add = |exchange: &mut Exchange<'_>| exchange.add(operation, algorithm);
                    sequences.exchange(&members, facts.clone(), add);
                }
            }
        };
        let numbered = || (0..self.layers.len() as u32).zip(&self.layers);
        for (number, layer) in numbered() {
            run(&mut sequences, layer.forward, (number, "forward"));
        }
        for (number, layer) in numbered().rev() {
            run(&mut sequences, layer.input_gradient, (number, "input gradient"));
            run(&mut sequences, layer.weight_gradient, (number, WEIGHT_GRADIENT));
        }
        let updates = self.layers.iter().map(|layer| layer.update.0);
        let update = Time(updates.fold(0, u64::saturating_add));
        for rank in 0..ranks.all {
            sequences.join(rank);
            sequences.compute(rank, update);
        }
        sequences
    }
}

/// Parses the first line.
fn header(line: u32, words: &[&str]) -> Result<Ranks, TraceError> {
    const FIELDS: [&str; 9] = [
        "model_parallel_NPU_group",
        "ep",
        "pp",
        "vpp",
        "ga",
        "all_gpus",
        "checkpoints",
        "checkpoint_initiates",
        "pp_comm",
    ];
    let (policy, mut rest) = match words {
        [policy, rest @ ..] => (*policy, rest),
        [] => ("", words),
    };
    if policy != POLICY {
        return Err(wrong(line, shortened(policy), POLICY));
    }
    let mut values = [None; FIELDS.len()];
    while let [name, after @ ..] = rest {
        let name = name.trim_end_matches(':');
        let Some(field) = FIELDS.iter().position(|&field| field == name) else {
            return Err(wrong(line, shortened(name), FIELDS.join(", ")));
        };
        let [value, after @ ..] = after else {
            return Err(wrong(line, format!("{name} without a value"), "a number"));
        };
        rest = after;
        let number: Option<u64> = value.parse().ok();
        let number = number.ok_or_else(|| {
            let given = format!("{name} {}", shortened(value));
            wrong(line, given, "a whole number from 0")
        })?;
        if values[field].replace(number).is_some() {
            return Err(wrong(line, format!("{name} for the second time"), "once"));
        }
    }
    let [tensor, experts, stages, _, _, all, checkpoints, initiates, _] = values;
    let at_least_one = |name: &str, value: Option<u64>| {
        let ranks = value.unwrap_or(1);
        let number = u32::try_from(ranks)
            .ok()
            .filter(|ranks| (1..=MAX_RANKS).contains(ranks));
        number.ok_or_else(|| wrong(line, format!("{name} {ranks}"), format!("1 to {MAX_RANKS}")))
    };
    if all.is_none() {
        return Err(wrong(line, "no all_gpus", "all_gpus: NUMBER"));
    }
    let tensor = at_least_one(FIELDS[0], tensor)?;
    let experts = at_least_one("ep", experts)?;
    let all = at_least_one("all_gpus", all)?;
    if stages.unwrap_or(1) != 1 {
        // The order of messages between stages, and the layers of the other stages, are not in the table.
        let given = format!("pp {}", stages.unwrap_or(1));
        return Err(wrong(
            line,
            given,
            "1, because the table has the layers of one stage",
        ));
    }
    if checkpoints.unwrap_or(0) > 0 || initiates.unwrap_or(0) > 0 {
        return Err(wrong(line, "checkpoints", "0: layers are not computed twice"));
    }
    if !all.is_multiple_of(tensor) {
        let given = format!("all_gpus {all} with model_parallel_NPU_group {tensor}");
        return Err(wrong(line, given, "a multiple"));
    }
    let data = all / tensor;
    if !data.is_multiple_of(experts) {
        let given = format!("ep {experts} with {data} data-parallel ranks");
        return Err(wrong(line, given, "a divisor of these"));
    }
    Ok(Ranks {
        all,
        tensor,
        data,
        experts,
    })
}

/// Names of columns, for messages.
const COLUMNS: [&str; 12] = [
    "name",
    "dependency",
    "forward_time",
    "forward_kind",
    "forward_bytes",
    "input_gradient_time",
    "input_gradient_kind",
    "input_gradient_bytes",
    "weight_gradient_time",
    "weight_gradient_kind",
    "weight_gradient_bytes",
    "update_time",
];

/// Parses a row.
fn row(line: u32, words: &[&str]) -> Result<Layer, TraceError> {
    let words: &[&str; COLUMNS.len()] = words.try_into().map_err(|_| {
        let given = format!("{} columns", words.len());
        wrong(line, given, format!("{} columns", COLUMNS.len()))
    })?;
    if words[1] != "-1" {
        let given = format!("column 2, dependency: {}", shortened(words[1]));
        return Err(wrong(line, given, "-1"));
    }
    let number = |column: usize| {
        let number: Option<u64> = words[column].parse().ok();
        number.ok_or_else(|| wrong_column(line, words, column, "a whole number from 0"))
    };
    let time = |column: usize| {
        let time = number(column)?.checked_mul(1_000);
        let allowed = format!("at most {} nanoseconds", u64::MAX / 1_000);
        Ok(Time(
            time.ok_or_else(|| wrong_column(line, words, column, &allowed))?,
        ))
    };
    let part = |first: usize, default: Group| {
        let operation = operation(words[first + 1], default).map_err(|UnknownKind| {
            let allowed = "NONE; ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, perhaps with _EP or _DP_EP";
            wrong_column(line, words, first + 1, allowed)
        })?;
        let bytes = number(first + 2)?;
        Ok(Part {
            compute: time(first)?,
            operation: operation
                .filter(|_| bytes > 0)
                .map(|(operation, group)| (operation, group, bytes)),
        })
    };
    Ok(Layer {
        forward: part(2, Group::Tensor)?,
        input_gradient: part(5, Group::Tensor)?,
        weight_gradient: part(8, Group::Data)?,
        update: time(11)?,
    })
}

fn wrong_column(line: u32, words: &[&str; COLUMNS.len()], column: usize, allowed: &str) -> TraceError {
    let given = format!(
        "column {}, {}: {}",
        column + 1,
        COLUMNS[column],
        shortened(words[column])
    );
    wrong(line, given, allowed)
}

/// A kind that is not in the format.
struct UnknownKind;

/// Parses a kind; `None` for `NONE`.
fn operation(kind: &str, default: Group) -> Result<Option<(Operation, Group)>, UnknownKind> {
    if kind == "NONE" {
        return Ok(None);
    }
    let (name, group) = match kind.strip_suffix("_DP_EP") {
        Some(name) => (name, Group::DataOfExperts),
        None => match kind.strip_suffix("_EP") {
            Some(name) => (name, Group::Expert),
            None => (kind, default),
        },
    };
    let operation = match name {
        "ALLREDUCE" => Operation::AllReduce,
        "ALLGATHER" => Operation::AllGather,
        "REDUCESCATTER" => Operation::ReduceScatter,
        "ALLTOALL" => Operation::AllToAll,
        _ => return Err(UnknownKind),
    };
    Ok(Some((operation, group)))
}
