//! Flows from a file: htsim's connection matrices (`.cm`), the flow lists of HPCC's ns-3, or CSV.
//!
//! - `.cm`: `Nodes N`, `Connections N`, then `FROM->TO start PICOSECONDS size BYTES` a line, in any order of the words after the
//!   ends. Without a size a flow sends until the end. Triggers, by which flows start others, are refused.
//! - HPCC: the number of flows, then `FROM TO PRIORITY PORT BYTES SECONDS` a line (Li et al., "HPCC", SIGCOMM 2019, its public
//!   simulation). Priorities and ports mean nothing here.
//! - CSV: a header with `from`, `to`, `size_bytes` and `start_s`, in any order.
//!
//! A host is what has this name, or else this index.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, read_text};

use crate::{Context, Flow, HostRef, MAX_FLOWS, Pattern};

/// Enough for as many flows as there may be.
const MOST_BYTES: u64 = 128 << 20;

/// The flows of a file, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowList {
    /// The file.
    pub file: String,
    /// Format of the file; by default taken from the end of its name: `.cm`, `.csv`, otherwise HPCC's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Format {
    /// htsim's connection matrix.
    Cm,
    /// A flow list of HPCC's simulation.
    Hpcc,
    /// Comma-separated values with a header.
    Csv,
}

/// What a line says is wrong: what was given, what is allowed.
type Wrong = (String, String);

/// A flow as a line has it: ends, bytes, picoseconds.
type Line<'a> = (&'a str, &'a str, Option<u64>, u64);

impl Pattern for FlowList {
    fn flows(&self, context: &Context<'_>) -> Result<Vec<Flow>, SpecError> {
        let refuse = |line: Option<usize>, (given, allowed): Wrong| {
            let place = line.map_or(String::new(), |line| format!("line {}: ", line + 1));
            SpecError::new("file", format!("{}: {place}{given}", self.file), allowed)
        };
        let text = read_text(&self.file, MOST_BYTES)
            .map_err(|error| refuse(None, (error.to_string(), "a text file of flows".to_owned())))?;
        let parse = match self.format() {
            Format::Cm => connection,
            Format::Hpcc => hpcc,
            Format::Csv => {
                let header = text.lines().next().unwrap_or_default();
                let columns = columns(header).map_err(|wrong| refuse(Some(0), wrong))?;
                return collect(&text, context, refuse, |i, line| csv(i, line, columns));
            }
        };
        collect(&text, context, refuse, parse)
    }
}

impl FlowList {
    fn format(&self) -> Format {
        let end = self.file.rsplit_once('.').map_or("", |(_, end)| end);
        self.format.unwrap_or(match end {
            "cm" => Format::Cm,
            "csv" => Format::Csv,
            _ => Format::Hpcc,
        })
    }
}

/// The flows of all lines; `parse` is called with each line and its number from 0.
fn collect<'a>(
    text: &'a str,
    context: &Context<'_>,
    refuse: impl Fn(Option<usize>, Wrong) -> SpecError,
    parse: impl Fn(usize, &'a str) -> Result<Option<Line<'a>>, Wrong>,
) -> Result<Vec<Flow>, SpecError> {
    let mut flows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Some((from, to, bytes, start)) = parse(i, line).map_err(|wrong| refuse(Some(i), wrong))? else {
            continue;
        };
        let host = |name: &str| {
            // Names may be numbers, too.
            let index = name.parse().ok().filter(|_| context.host(name).is_none());
            let host = index.map_or_else(|| HostRef::Name(name.to_owned()), HostRef::Index);
            host.resolve(context)
                .map_err(|error| refuse(Some(i), (error.given, error.allowed)))
        };
        let (from, to) = (host(from)?, host(to)?);
        if from == to {
            let given = format!("{:?} is both ends", context.hosts[from as usize]);
            return Err(refuse(Some(i), (given, "two hosts".to_owned())));
        }
        if bytes == Some(0) {
            return Err(refuse(
                Some(i),
                ("0 bytes".to_owned(), "a size above 0".to_owned()),
            ));
        }
        if flows.len() as u64 == MAX_FLOWS {
            let allowed = format!("at most {MAX_FLOWS} flows");
            return Err(refuse(Some(i), ("another flow".to_owned(), allowed)));
        }
        flows.push(context.flow(from, to, bytes.map(Size), Time(start)));
    }
    if flows.is_empty() {
        return Err(refuse(None, ("no flows".to_owned(), "at least one".to_owned())));
    }
    Ok(flows)
}

fn number<N: std::str::FromStr>(text: &str, what: &str) -> Result<N, Wrong> {
    text.parse()
        .map_err(|_| (format!("{text:?}"), format!("{what}, a number")))
}

/// Seconds with a fraction, in picoseconds.
fn seconds(text: &str) -> Result<u64, Wrong> {
    let seconds: f64 = number(text, "seconds")?;
    if (0.0..1e6).contains(&seconds) {
        Ok((seconds * 1e12).round() as u64)
    } else {
        Err((format!("{text} seconds"), "0 to 1000000".to_owned()))
    }
}

/// A line of a connection matrix.
fn connection(_: usize, line: &str) -> Result<Option<Line<'_>>, Wrong> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let Some((from, to)) = first.split_once("->") else {
        return match first {
            "Nodes" | "Connections" | "Triggers" | "Failures" => {
                let n: u64 = number(words.next().unwrap_or_default(), first)?;
                if n > 0 && matches!(first, "Triggers" | "Failures") {
                    return Err((line.to_owned(), format!("{first} 0")));
                }
                Ok(None)
            }
            _ => Err((format!("{first:?}"), "Nodes, Connections, or FROM->TO".to_owned())),
        };
    };
    let (mut bytes, mut start) = (None, 0);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word {
            "size" => bytes = Some(number(value, word)?),
            "start" => start = number(value, word)?,
            "id" | "prio" => {}
            _ => return Err((format!("{word:?}"), "start, size, id, prio".to_owned())),
        }
    }
    Ok(Some((from, to, bytes, start)))
}

/// A line of HPCC's list; the first one is the number of flows.
fn hpcc(i: usize, line: &str) -> Result<Option<Line<'_>>, Wrong> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [count] if i == 0 => number::<u64>(count, "the number of flows").map(|_| None),
        [from, to, _, _, bytes, start] => {
            Ok(Some((from, to, Some(number(bytes, "bytes")?), seconds(start)?)))
        }
        _ => {
            let given = format!("{} words", words.len());
            Err((given, "FROM TO PRIORITY PORT BYTES SECONDS".to_owned()))
        }
    }
}

const COLUMNS: [&str; 4] = ["from", "to", "size_bytes", "start_s"];

/// Where each of [`COLUMNS`] is in the header.
fn columns(header: &str) -> Result<[usize; 4], Wrong> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut places = [0; 4];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        let found = names.iter().position(|name| *name == wanted);
        *place = found.ok_or_else(|| (format!("no column {wanted}"), COLUMNS.join(", ")))?;
    }
    Ok(places)
}

fn csv(i: usize, line: &str, columns: [usize; 4]) -> Result<Option<Line<'_>>, Wrong> {
    if i == 0 {
        return Ok(None);
    }
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    let value = |column: usize| {
        let missing = || {
            (
                format!("{} values", values.len()),
                "as many as the header has".to_owned(),
            )
        };
        values.get(columns[column]).copied().ok_or_else(missing)
    };
    let bytes = match value(2)? {
        "" => None,
        bytes => Some(number(bytes, "size_bytes")?),
    };
    Ok(Some((value(0)?, value(1)?, bytes, seconds(value(3)?)?)))
}
