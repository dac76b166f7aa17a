//! Flows from a file: htsim's connection matrices (`.cm`), the flow lists of HPCC's ns-3, or CSV.
//!
//! - `.cm`: `Nodes N`, `Connections N`, then a line `FROM->TO start PICOSECONDS size BYTES` per
//!   flow; the words after the ends may be in any order. A flow without a size sends until the end.
//!   Triggers, by which flows start other flows, are refused.
//! - HPCC: the number of flows, then a line `FROM TO PRIORITY PORT BYTES SECONDS` per flow (Li et
//!   al., "HPCC", SIGCOMM 2019, its public simulation). Priorities and ports have no effect.
//! - CSV: a header with `from`, `to`, `size_bytes` and `start_s`, in any order. Values may be quoted
//!   as in RFC 4180, but not contain line breaks.
//!
//! Blank lines and text after `#` outside quotes are skipped. A file must have as many flows as it announces. A
//! host is given by its name, or otherwise by its index.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, read_text};

use crate::{Flow, HostRef, MAX_FLOWS, Pattern, PatternContext};

/// Maximum size of a file in bytes, enough for the maximum number of flows.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// Flows that are listed in a file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-columns" = COLUMNS))]
pub struct FlowList {
    /// Path of the file, relative to the spec's folder.
    pub file: String,
    /// Format of the file. By default the end of the file's name decides: `.cm`, `.csv`, or
    /// otherwise HPCC's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// The format of a file.
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

/// The error of a line: the given value and the allowed ones.
type ParseError = (String, String);

/// The content of a line.
enum Line<'a> {
    /// A flow: its ends, bytes and picoseconds.
    Flow(Cow<'a, str>, Cow<'a, str>, Option<u64>, u64),
    /// The number of hosts.
    Nodes(u64),
    /// The number of flows.
    Flows(u64),
    /// A line that does not concern flows.
    Other,
}

impl Pattern for FlowList {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let refuse = |line: Option<usize>, (given, allowed): ParseError| {
            let position = line.map_or(String::new(), |line| format!("line {}: ", line + 1));
            SpecError::new("file", format!("{}: {position}{given}", self.file), allowed)
        };
        let text = read_text(&self.file, MAX_FILE_BYTES)
            .map_err(|error| refuse(None, (error.to_string(), "a text file of flows".to_owned())))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        match self.format() {
            Format::Cm => parse_lines(text, context, refuse, |_, line| connection(line)),
            Format::Hpcc => parse_lines(text, context, refuse, hpcc),
            Format::Csv => {
                let mut header = None;
                parse_lines(text, context, refuse, |_, line| match &header {
                    None => {
                        header = Some(Header::read(line)?);
                        Ok(Line::Other)
                    }
                    Some(header) => csv(line, header),
                })
            }
        }
    }
}

impl FlowList {
    fn format(&self) -> Format {
        let end = self.file.rsplit_once('.').map_or("", |(_, end)| end);
        self.format.unwrap_or(match end.to_ascii_lowercase().as_str() {
            "cm" => Format::Cm,
            "csv" => Format::Csv,
            _ => Format::Hpcc,
        })
    }
}

/// Returns the flows of all lines. `parse` is called with each line that has content, and with true
/// for the first one.
fn parse_lines<'a>(
    text: &'a str,
    context: &PatternContext<'_>,
    refuse: impl Fn(Option<usize>, ParseError) -> SpecError,
    mut parse: impl FnMut(bool, &'a str) -> Result<Line<'a>, ParseError>,
) -> Result<Vec<Flow>, SpecError> {
    let mut flows = Vec::new();
    // The announced numbers, with their lines.
    let (mut nodes, mut announced) = (None, None);
    // The host with the highest index, with its line.
    let mut highest: Option<(u32, usize)> = None;
    let mut is_first = true;
    for (i, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        let said = parse(is_first, line).map_err(|wrong| refuse(Some(i), wrong))?;
        is_first = false;
        let (from, to, bytes, start) = match said {
            Line::Flow(from, to, bytes, start) => (from, to, bytes, start),
            Line::Nodes(n) if nodes.replace(n).is_some() => {
                return Err(refuse(Some(i), duplicate("Nodes", "once")));
            }
            Line::Flows(n) if announced.replace((n, i)).is_some() => {
                return Err(refuse(Some(i), duplicate("Connections", "once")));
            }
            _ => continue,
        };
        let host = |name: &str| {
            // A name may also be a number.
            let index = name.parse().ok().filter(|_| context.host(name).is_none());
            let host = index.map_or_else(|| HostRef::Name(name.to_owned()), HostRef::Index);
            host.resolve(context)
                .map_err(|error| refuse(Some(i), (error.given, error.allowed)))
        };
        let (from, to) = (host(&from)?, host(&to)?);
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
        if highest.is_none_or(|(host, _)| from.max(to) > host) {
            highest = Some((from.max(to), i));
        }
        flows.push(context.flow(from, to, bytes.map(Size), Time(start)));
    }
    let Some((host, i)) = highest else {
        return Err(refuse(None, ("no flows".to_owned(), "at least one".to_owned())));
    };
    match (nodes, announced) {
        (Some(nodes), _) if u64::from(host) >= nodes => {
            let given = format!("host {host} with Nodes {nodes}");
            Err(refuse(Some(i), (given, format!("hosts below {nodes}"))))
        }
        (_, Some((n, i))) if n != flows.len() as u64 => {
            let given = format!("{n} flows are announced, and the file has {}", flows.len());
            Err(refuse(Some(i), (given, "as many as it has".to_owned())))
        }
        _ => Ok(flows),
    }
}

fn duplicate(what: &str, allowed: &str) -> ParseError {
    (format!("{what} for the second time"), allowed.to_owned())
}

fn number<N: std::str::FromStr>(text: &str, what: &str) -> Result<N, ParseError> {
    text.parse()
        .map_err(|_| (format!("{text:?}"), format!("{what}, a number")))
}

/// Converts seconds with a fraction to picoseconds.
fn seconds(text: &str) -> Result<u64, ParseError> {
    let seconds: f64 = number(text, "seconds")?;
    if (0.0..=1e6).contains(&seconds) {
        Ok((seconds * 1e12).round() as u64)
    } else {
        Err((format!("{text} seconds"), "0 to 1000000".to_owned()))
    }
}

/// Words that are allowed after the ends of a connection.
const WORDS: [&str; 4] = ["start", "size", "id", "prio"];

/// Parses a line of a connection matrix.
fn connection(line: &str) -> Result<Line<'_>, ParseError> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let Some((from, to)) = first.split_once("->") else {
        if !matches!(first, "Nodes" | "Connections" | "Triggers" | "Failures") {
            return Err((format!("{first:?}"), "Nodes, Connections, or FROM->TO".to_owned()));
        }
        let n: u64 = number(words.next().unwrap_or_default(), first)?;
        if words.next().is_some() {
            return Err((format!("{line:?}"), format!("{first} and a number")));
        }
        return match first {
            "Nodes" => Ok(Line::Nodes(n)),
            "Connections" => Ok(Line::Flows(n)),
            _ if n > 0 => Err((line.to_owned(), format!("{first} 0"))),
            _ => Ok(Line::Other),
        };
    };
    let mut values: [Option<&str>; 4] = [None; 4];
    while let Some(word) = words.next() {
        let position = WORDS.iter().position(|known| *known == word);
        let position = position.ok_or_else(|| (format!("{word:?}"), WORDS.join(", ")))?;
        let value = words.next();
        let value = value.ok_or_else(|| (format!("{word} without a value"), "one".to_owned()))?;
        if values[position].replace(value).is_some() {
            return Err(duplicate(word, "once"));
        }
    }
    let [start, bytes, ..] = values;
    let start = start.map(|value| number(value, "start")).transpose()?;
    let bytes = bytes.map(|value| number(value, "size")).transpose()?;
    Ok(Line::Flow(from.into(), to.into(), bytes, start.unwrap_or(0)))
}

/// Parses a line of HPCC's list; the first line is the number of flows.
fn hpcc(is_first: bool, line: &str) -> Result<Line<'_>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [count] if is_first => number(count, "the number of flows").map(Line::Flows),
        [from, to, _, _, bytes, start] => {
            let bytes = number(bytes, "bytes")?;
            Ok(Line::Flow(from.into(), to.into(), Some(bytes), seconds(start)?))
        }
        _ => {
            let given = format!("{} words", words.len());
            Err((given, "FROM TO PRIORITY PORT BYTES SECONDS".to_owned()))
        }
    }
}

/// The columns of a CSV file: name, allowed values and meaning.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("from", "name or index of a host", "sender"),
    ("to", "name or index of a host", "receiver"),
    (
        "size_bytes",
        "whole number above 0, or empty",
        "application bytes; a flow with an empty value sends until the end of the experiment",
    ),
    (
        "start_s",
        "number from 0 to 1000000",
        "time at which the flow opens, in seconds",
    ),
];

/// Returns the names of the columns of a CSV file, for messages.
fn column_names() -> String {
    COLUMNS.map(|(name, ..)| name).join(", ")
}

/// The first line of a CSV file.
struct Header {
    /// Position of each of [`COLUMNS`].
    positions: [usize; 4],
    /// Number of columns.
    columns: usize,
}

impl Header {
    fn read(line: &str) -> Result<Self, ParseError> {
        let names = csv_values(line)?;
        let mut positions = [0; 4];
        for (position, (wanted, ..)) in positions.iter_mut().zip(COLUMNS) {
            let mut found = (0..names.len()).filter(|&i| names[i] == wanted);
            let first = found.next();
            *position = first.ok_or_else(|| (format!("no column {wanted}"), column_names()))?;
            if found.next().is_some() {
                return Err(duplicate(wanted, &format!("{}, once each", column_names())));
            }
        }
        let columns = names.len();
        Ok(Self { positions, columns })
    }
}

fn csv<'a>(line: &'a str, header: &Header) -> Result<Line<'a>, ParseError> {
    let values = csv_values(line)?;
    let wrong = || {
        let given = format!("{} values", values.len());
        (given, "as many as the header has".to_owned())
    };
    if values.len() > header.columns {
        return Err(wrong());
    }
    let value = |column: usize| values.get(header.positions[column]).ok_or_else(wrong);
    let bytes = match &**value(2)? {
        "" => None,
        bytes => Some(number(bytes, "size_bytes")?),
    };
    let (from, to) = (value(0)?.clone(), value(1)?.clone());
    Ok(Line::Flow(from, to, bytes, seconds(value(3)?)?))
}

/// Returns the line up to the first `#` outside double quotes.
fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    let end = line.find(|c| {
        is_quoted ^= c == '"';
        c == '#' && !is_quoted
    });
    &line[..end.unwrap_or(line.len())]
}

/// Splits a line of CSV at the commas outside double quotes, as in RFC 4180: a quoted value begins
/// and ends with a quote, and contains quotes as two. Blanks around values are dropped.
fn csv_values(line: &str) -> Result<Vec<Cow<'_, str>>, ParseError> {
    let mut is_quoted = false;
    line.split(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .map(str::trim)
    .map(|value| match value.strip_prefix('"') {
        None if !value.contains('"') => Ok(Cow::from(value)),
        Some(rest) => rest
            .strip_suffix('"')
            .map(|inner| inner.replace("\"\"", "\u{0}"))
            .filter(|inner| !inner.contains('"'))
            .map(|inner| inner.replace('\u{0}', "\"").into())
            .ok_or(value),
        None => Err(value),
    })
    .collect::<Result<_, &str>>()
    .map_err(|value| (value.to_owned(), "quotes around a whole value".to_owned()))
}
