//! Flows from a file: htsim's connection matrices (`.cm`), the flow lists of HPCC's ns-3, or CSV.
//!
//! - `.cm`: `Nodes N`, `Connections N`, then a line `FROM->TO start PICOSECONDS size BYTES` per
//!   flow; the words after the ends may be in any order. A flow of size 0 or without a size sends until the
//!   end, as in htsim. The file must have as many flows as it announces, as in htsim. Triggers, by which
//!   flows start other flows of the same host, are in `order`.
//! - HPCC: the number of flows, then a line `FROM TO PRIORITY PORT BYTES SECONDS` per flow (Li et
//!   al., "HPCC", SIGCOMM 2019, its public simulation). Priorities and ports have no effect. As in that
//!   simulation, what follows the announced number of flows is not read.
//! - CSV: a header with `from`, `to`, `size_bytes` and `start_s`, and perhaps `id`, `after` and `compute_s`, in any order.
//!   Values may be quoted as in RFC 4180, but not contain line breaks.
//!
//! Blank lines and text after `#` outside quotes are skipped. A host is given by its name, or otherwise
//! by its index. Whole numbers may be written with a fraction of zero or with an exponent, as programs
//! write the numbers of a column that has others (`1000.0`, `1e5`).

mod order;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, read_text};

use self::order::{Order, OrderedFlows, Trigger, TriggerKind};
use crate::sizes::MAX_SIZE;
use crate::tasks::{DependentFlows, JobOptions};
use crate::{Flow, FlowGenerator, HostRef, MAX_FLOWS, Pattern, PatternContext};

/// Maximum size of a file in bytes, enough for the maximum number of flows.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// Maximum start of a flow, that of every time in a spec: a million seconds.
const MAX_START_PS: u64 = 1_000_000_000_000_000_000;

/// Flows that are listed in a file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-columns" = COLUMNS))]
pub struct FlowList {
    /// Path of the file, relative to the spec's folder.
    pub file: String,
    /// Format of the file. By default the end of the file's name decides: `.cm`, `.csv`, or
    /// otherwise HPCC's. `.cm` has a line `FROM->TO start PICOSECONDS size BYTES` per flow, and a flow of
    /// size 0 sends until the end. HPCC's has the number of flows, and then a line
    /// `FROM TO PRIORITY PORT BYTES SECONDS` for each; what follows these flows is not read.
    /// The columns `after` and `compute_s` of CSV, and triggers of `.cm`, let flows start when others of the same host have ended.
    pub format: Option<Format>,
    /// Time per link after which the acknowledgement of the last byte reaches the sender, for triggers of `.cm` by which a sender
    /// starts a flow of the receiver. The receiver starts the flow after this time, without a queue on the way. By
    /// default such triggers are refused.
    pub signal_delay: Option<Time>,
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
    /// A flow.
    Flow(ListedFlow<'a>),
    /// The number of hosts.
    Nodes(u64),
    /// The number of flows of the file.
    Flows(u64),
    /// The number of flows, after which the file ends for the reader.
    First(u64),
    /// A trigger.
    Trigger(u64, TriggerKind),
    /// A line that does not concern flows.
    Other,
}

/// A flow as its line has it.
struct ListedFlow<'a> {
    from: Cow<'a, str>,
    to: Cow<'a, str>,
    bytes: Option<u64>,
    /// Start in picoseconds.
    start: u64,
    /// Boxed because most flows have none.
    order: Option<Box<Order<'a>>>,
}

/// The flows of a file, and the order of each if some of them wait for others.
#[derive(Default)]
struct Listed<'a> {
    flows: Vec<Flow>,
    orders: Vec<Order<'a>>,
    triggers: Vec<Trigger>,
}

impl Pattern for FlowList {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let text = self.text()?;
        // Flows that wait for others are those of the generator.
        let listed = self.parse(&text, context)?;
        Ok(if listed.orders.is_empty() {
            listed.flows
        } else {
            Vec::new()
        })
    }

    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let text = self.text()?;
        if !self.has_order(&text) {
            return Ok(None);
        }
        let listed = self.parse(&text, context)?;
        if listed.orders.is_empty() {
            return Ok(None);
        }
        let return_time = |flow: &Flow| {
            let links = context
                .distance
                .map_or(1, |distance| distance(flow.to, flow.from));
            let delay = self.signal_delay?;
            Some(Time(delay.0.saturating_mul(links.into())))
        };
        let ordered =
            OrderedFlows::new(&listed.flows, &listed.orders, &return_time).and_then(|mut ordered| {
                ordered.add_names()?;
                ordered.add_triggers(&listed.triggers)?;
                ordered.build()
            });
        let (graph, hosts) = ordered.map_err(|(line, error)| self.refuse(Some(line), error))?;
        let flows = DependentFlows::new(graph, hosts, JobOptions::default(), context);
        Ok(Some(Arc::new(flows)))
    }
}

impl FlowList {
    fn refuse(&self, line: Option<usize>, (given, allowed): ParseError) -> SpecError {
        let position = line.map_or(String::new(), |line| format!("line {}: ", line + 1));
        SpecError::new("file", format!("{}: {position}{given}", self.file), allowed)
    }

    fn text(&self) -> Result<String, SpecError> {
        read_text(&self.file, MAX_FILE_BYTES)
            .map_err(|error| self.refuse(None, (error.to_string(), "a text file of flows".to_owned())))
    }

    /// Returns true if a text may contain flows that wait for others.
    fn has_order(&self, text: &str) -> bool {
        let mut lines = text.lines().map(|line| without_comment(line).trim());
        match self.format() {
            Format::Cm => text.contains("trigger") && lines.any(|line| line.contains("trigger")),
            Format::Csv => lines
                .find(|line| !line.is_empty())
                .is_some_and(|header| header.contains("after") || header.contains("compute_s")),
            Format::Hpcc => false,
        }
    }

    fn parse<'a>(&self, text: &'a str, context: &PatternContext<'_>) -> Result<Listed<'a>, SpecError> {
        let refuse = |line, error| self.refuse(line, error);
        match self.format() {
            Format::Cm => {
                let has_order = self.has_order(text);
                parse_lines(text, context, refuse, |_, line| connection(line, has_order))
            }
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
) -> Result<Listed<'a>, SpecError> {
    let mut listed = Listed::default();
    let flows = &mut listed.flows;
    let mut triggers = HashSet::new();
    // The announced numbers, with their lines.
    let (mut nodes, mut announced) = (None, None);
    // The number of flows that are read, with its line.
    let mut first: Option<(u64, usize)> = None;
    // The host with the highest index, with its line.
    let mut highest: Option<(u32, usize)> = None;
    let mut is_first = true;
    for (i, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if first.is_some_and(|(n, _)| n == flows.len() as u64) {
            break;
        }
        let said = parse(is_first, line).map_err(|wrong| refuse(Some(i), wrong))?;
        is_first = false;
        let ListedFlow {
            from,
            to,
            bytes,
            start,
            order,
        } = match said {
            Line::Flow(flow) => flow,
            Line::Nodes(n) if nodes.replace(n).is_some() => {
                return Err(refuse(Some(i), duplicate("Nodes", "once")));
            }
            Line::Flows(n) if announced.replace((n, i)).is_some() => {
                return Err(refuse(Some(i), duplicate("Connections", "once")));
            }
            Line::First(n) => {
                first = Some((n, i));
                continue;
            }
            Line::Trigger(id, kind) => {
                if !triggers.insert(id) {
                    return Err(refuse(Some(i), duplicate(&format!("trigger {id}"), "once")));
                }
                listed.triggers.push(Trigger { line: i, id, kind });
                continue;
            }
            _ => continue,
        };
        let host = |name: &str| {
            // A name may also be a number.
            let index = whole(name).and_then(|index| index.try_into().ok());
            let index = index.filter(|_| context.host(name).is_none());
            let host = index.map_or_else(|| HostRef::Name(name.to_owned()), HostRef::Index);
            host.resolve(context)
                .map_err(|error| refuse(Some(i), (error.given, error.allowed)))
        };
        let (from, to) = (host(&from)?, host(&to)?);
        if from == to {
            let given = format!("{:?} is both ends", context.hosts[from as usize]);
            return Err(refuse(Some(i), (given, "two hosts".to_owned())));
        }
        if start > MAX_START_PS {
            let given = format!("start {start}");
            return Err(refuse(
                Some(i),
                (given, format!("at most {MAX_START_PS} picoseconds")),
            ));
        }
        if flows.len() as u64 == MAX_FLOWS {
            let allowed = format!("at most {MAX_FLOWS} flows");
            return Err(refuse(Some(i), ("another flow".to_owned(), allowed)));
        }
        if highest.is_none_or(|(host, _)| from.max(to) > host) {
            highest = Some((from.max(to), i));
        }
        if let Some(order) = order {
            listed.orders.push(Order { line: i, ..*order });
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
        _ => match first {
            Some((n, i)) if n > flows.len() as u64 => {
                let given = format!("{n} flows are announced, and the file has {}", flows.len());
                Err(refuse(Some(i), (given, "at most as many as it has".to_owned())))
            }
            _ => Ok(listed),
        },
    }
}

fn duplicate(what: &str, allowed: &str) -> ParseError {
    (format!("{what} for the second time"), allowed.to_owned())
}

/// Parses a whole number, which may have a fraction of zero or an exponent.
fn whole(text: &str) -> Option<u64> {
    /// 2^64, above every number that fits.
    const END: f64 = 18_446_744_073_709_551_616.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    ((0.0..END).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// Returns the error for the value of a word or a column.
fn wrong(what: &str, text: &str, allowed: &str) -> ParseError {
    (format!("{what} {text:?}"), allowed.to_owned())
}

/// Parses the number of something.
fn count(text: &str, what: &str) -> Result<u64, ParseError> {
    whole(text).ok_or_else(|| wrong(what, text, "a whole number"))
}

/// Parses the bytes of a flow. `endless` names the value of a flow that sends until the end, if there is
/// one.
fn size(text: &str, what: &str, endless: &str) -> Result<u64, ParseError> {
    let bytes = whole(text).filter(|&bytes| bytes > 0 && bytes as f64 <= MAX_SIZE);
    bytes.ok_or_else(|| {
        let allowed = format!("a whole number above 0, at most {MAX_SIZE}{endless}");
        wrong(what, text, &allowed)
    })
}

/// Converts seconds with a fraction to picoseconds.
fn seconds(text: &str, what: &str) -> Result<u64, ParseError> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    let seconds: f64 = seconds.ok_or_else(|| wrong(what, text, "a number from 0 to 1000000"))?;
    Ok((seconds * 1e12).round() as u64)
}

/// Words that are allowed after the ends of a connection.
const WORDS: [&str; 7] = [
    "start",
    "size",
    "id",
    "prio",
    "trigger",
    "send_done_trigger",
    "recv_done_trigger",
];

/// Parses a line of a connection matrix. `has_order` is true if flows of the matrix have triggers.
fn connection(line: &str, has_order: bool) -> Result<Line<'_>, ParseError> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let Some((from, to)) = first.split_once("->") else {
        match first {
            "Nodes" | "Connections" | "Triggers" | "Failures" => {}
            "trigger" => return trigger(line),
            "failure" => return Err(failure(line)),
            _ => return Err((format!("{first:?}"), "Nodes, Connections, or FROM->TO".to_owned())),
        }
        let n = count(words.next().unwrap_or_default(), first)?;
        if words.next().is_some() {
            return Err((format!("{line:?}"), format!("{first} and a number")));
        }
        return match first {
            "Nodes" => Ok(Line::Nodes(n)),
            "Connections" => Ok(Line::Flows(n)),
            "Failures" if n > 0 => Err(failure(line)),
            _ => Ok(Line::Other),
        };
    };
    let mut values: [Option<&str>; 7] = [None; 7];
    while let Some(word) = words.next() {
        let position = WORDS.iter().position(|known| *known == word);
        let position = position.ok_or_else(|| (format!("{word:?}"), WORDS.join(", ")))?;
        let value = words.next();
        let value = value.ok_or_else(|| (format!("{word} without a value"), "one".to_owned()))?;
        if values[position].replace(value).is_some() {
            return Err(duplicate(word, "once"));
        }
    }
    let [start, bytes, _, _, triggers @ ..] = values;
    if start.is_some() && triggers[0].is_some() {
        let given = "both start and trigger".to_owned();
        return Err((given, "one of them".to_owned()));
    }
    let start = start.map(|value| {
        whole(value).ok_or_else(|| wrong("start", value, "a whole number of picoseconds from 0"))
    });
    let bytes = bytes
        .filter(|value| whole(value) != Some(0))
        .map(|value| size(value, "size", ", or 0 for a flow that sends until the end"));
    let mut ids = [None; 3];
    for ((id, value), word) in ids.iter_mut().zip(triggers).zip(&WORDS[4..]) {
        *id = value.map(|value| count(value, word)).transpose()?;
    }
    let [trigger, send_done, receive_done] = ids;
    let order = has_order.then(|| {
        Box::new(Order {
            trigger,
            send_done,
            receive_done,
            ..Order::default()
        })
    });
    Ok(Line::Flow(ListedFlow {
        from: from.into(),
        to: to.into(),
        bytes: bytes.transpose()?,
        start: start.transpose()?.unwrap_or(0),
        order,
    }))
}

/// Parses a line that declares a trigger.
fn trigger(line: &str) -> Result<Line<'_>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (id, kind) = match words[..] {
        ["trigger", "id", id, "oneshot"] => (id, TriggerKind::Oneshot),
        ["trigger", "id", id, "multishot"] => (id, TriggerKind::Multishot),
        ["trigger", "id", id, "barrier", "count", n] => (id, TriggerKind::Barrier(count(n, "count")?)),
        _ => {
            let allowed = "trigger id NUMBER oneshot, multishot, or barrier count NUMBER";
            return Err((format!("{line:?}"), allowed.to_owned()));
        }
    };
    Ok(Line::Trigger(count(id, "trigger id")?, kind))
}

/// Returns the error for a part of a matrix that concerns failures of links.
fn failure(given: &str) -> ParseError {
    let given = format!("{given}: failures are events of the spec");
    (given, "Failures 0, and [[events]] in the spec".to_owned())
}

/// Parses a line of HPCC's list; the first line is the number of flows.
fn hpcc(is_first: bool, line: &str) -> Result<Line<'_>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [flows] if is_first => count(flows, "the number of flows").map(Line::First),
        [from, to, _, _, bytes, start] => {
            let bytes = Some(size(bytes, "BYTES", "")?);
            Ok(Line::Flow(ListedFlow {
                from: from.into(),
                to: to.into(),
                bytes,
                start: seconds(start, "SECONDS")?,
                order: None,
            }))
        }
        _ => {
            let given = match words.len() {
                1 => "1 word".to_owned(),
                n => format!("{n} words"),
            };
            let allowed = if is_first {
                "the number of flows, as in HPCC's lists; name the file .cm or .csv if it has another format"
            } else {
                "FROM TO PRIORITY PORT BYTES SECONDS"
            };
            Err((given, allowed.to_owned()))
        }
    }
}

/// The columns of a CSV file: name, allowed values and meaning.
const COLUMNS: [(&str, &str, &str); 7] = [
    ("from", "name or index of a host", "sender"),
    ("to", "name or index of a host", "receiver"),
    (
        "size_bytes",
        "whole number above 0, at most 10^12, or empty",
        "application bytes; a flow with an empty value sends until the end of the experiment",
    ),
    (
        "start_s",
        "number from 0 to 1000000",
        "time at which the flow opens, in seconds; with `after` the earliest time, or empty",
    ),
    (
        "id",
        "text without blanks; optional",
        "name of the flow in `after`",
    ),
    (
        "after",
        "ids of flows, separated by blanks, or empty; optional",
        "flows that must have ended: those that the sender receives when all data has arrived, those that it sends when all data is acknowledged",
    ),
    (
        "compute_s",
        "number from 0 to 1000000, or empty; optional",
        "time that passes between the end of these flows and the opening, in seconds",
    ),
];

/// The number of [`COLUMNS`] that a file must have; the others are optional.
const REQUIRED_COLUMNS: usize = 4;

/// Returns the names of the columns of a CSV file, for messages.
fn column_names() -> String {
    let [required @ .., _, _, _] = COLUMNS.map(|(name, ..)| name);
    required.join(", ")
}

/// The first line of a CSV file.
struct Header {
    /// Position of each of [`COLUMNS`], if the file has the column.
    positions: [Option<usize>; 7],
    /// Number of columns.
    columns: usize,
}

impl Header {
    fn read(line: &str) -> Result<Self, ParseError> {
        let names = csv_values(line)?;
        let separator = [';', '\t', '|']
            .into_iter()
            .find(|separator| line.contains(*separator));
        if let ([_], Some(separator)) = (&names[..], separator) {
            return Err((format!("columns separated by {separator:?}"), "commas".to_owned()));
        }
        let mut positions = [None; 7];
        for (column, (wanted, ..)) in COLUMNS.into_iter().enumerate() {
            let mut found = (0..names.len()).filter(|&i| names[i] == wanted);
            positions[column] = found.next();
            if positions[column].is_none() && column < REQUIRED_COLUMNS {
                return Err((format!("no column {wanted}"), column_names()));
            }
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
    let optional = |column: usize| match header.positions[column] {
        Some(position) => values.get(position).ok_or_else(wrong).map(Some),
        None => Ok(None),
    };
    let value = |column: usize| optional(column)?.ok_or_else(wrong);
    let bytes = match &**value(2)? {
        "" => None,
        bytes => Some(size(
            bytes,
            "size_bytes",
            ", or empty for a flow that sends until the end",
        )?),
    };
    let (from, to) = (value(0)?.clone(), value(1)?.clone());
    let (after, compute) = (optional(5)?, optional(6)?);
    let order = if after.is_some() || compute.is_some() {
        let compute = compute.filter(|compute| !compute.is_empty());
        let compute = compute.map(|compute| seconds(compute, "compute_s"));
        let after = after.map_or("", |after| after);
        Some(Box::new(Order {
            id: optional(4)?.filter(|id| !id.is_empty()).cloned(),
            after: after.split_whitespace().map(str::to_owned).collect(),
            compute: Time(compute.transpose()?.unwrap_or(0)),
            ..Order::default()
        }))
    } else {
        None
    };
    let start = value(3)?;
    let waits = order.as_ref().is_some_and(|order| !order.after.is_empty());
    let start = if start.is_empty() && waits {
        0
    } else {
        seconds(start, "start_s")?
    };
    Ok(Line::Flow(ListedFlow {
        from,
        to,
        bytes,
        start,
        order,
    }))
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
