//! GOAL, the text of operations and their order that `LogGOPSim` reads (Hoefler, Siebert, Lumsdaine, "Group Operation Assembly
//! Language", ICPP 2009; Hoefler, Schneider, Lumsdaine, "`LogGOPSim`", LSAP 2010).
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1000
//! l2: send 4096b to 1 tag 7
//! l2 requires l1
//! }
//! rank 1 {
//! l1: recv 4096b from 0 tag 7
//! }
//! ```
//!
//! Three things are read that the converter of `LogGOPSim` refuses: indentation, comments after an operation, and blocks
//! in any order. It takes the first of two equal labels; here the second one is an error.

use std::collections::HashMap;
use std::io::BufRead;

use weft_spec::Time;

use super::errors::{Place, TraceError, shortened};
use super::lines::for_each_line;
use super::{MAX_RANKS, MAX_TASKS};
use crate::MAX_FLOWS;
use crate::tasks::{After, TaskGraph, TaskGraphBuilder, Unmatched, Work};

/// Reads a trace.
pub(super) fn read(input: impl BufRead) -> Result<TaskGraph, TraceError> {
    let mut reader = Reader::default();
    for_each_line(input, "GOAL text", |number, line| {
        reader.line = number;
        reader.read_line(line)
    })?;
    reader.finish()
}

/// A statement `X requires Y` whose labels are resolved at the end of the block.
struct Requirement {
    line: u32,
    task: String,
    before: String,
    after: After,
}

/// The block of a rank that is being read.
struct Block {
    rank: u32,
    line: u32,
    labels: HashMap<String, u32>,
    requirements: Vec<Requirement>,
}

#[derive(Default)]
struct Reader {
    /// Number of the line that is being read.
    line: u32,
    in_comment: bool,
    builder: Option<TaskGraphBuilder>,
    /// Number of ranks.
    ranks: u32,
    /// Whether each rank has a block.
    has_block: Vec<bool>,
    block: Option<Block>,
    /// The line of each task.
    lines: Vec<u32>,
}

impl Reader {
    fn wrong(&self, given: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        Place::Line(self.line).wrong(given, allowed)
    }

    fn read_line(&mut self, line: &str) -> Result<(), TraceError> {
        let text = self.without_comments(line);
        let text = text.replace('{', " { ").replace('}', " } ").replace(':', ": ");
        let words: Vec<&str> = text.split_whitespace().collect();
        match (&mut self.block, &words[..]) {
            (_, []) => Ok(()),
            (None, ["num_ranks", ranks]) => self.begin(ranks),
            (None, ["rank", rank, "{"]) => self.open_block(rank),
            (Some(_), ["}"]) => self.close_block(),
            (Some(block), [task, word @ ("requires" | "irequires"), before]) => {
                let after = if *word == "requires" {
                    After::Done
                } else {
                    After::Started
                };
                block.requirements.push(Requirement {
                    line: self.line,
                    task: (*task).to_owned(),
                    before: (*before).to_owned(),
                    after,
                });
                Ok(())
            }
            (Some(_), words) => self.operation(words),
            (None, _) => {
                let allowed = if self.builder.is_some() {
                    "rank NUMBER {"
                } else {
                    "num_ranks NUMBER"
                };
                Err(self.wrong(shortened(&words.join(" ")), allowed))
            }
        }
    }

    /// Returns a line without `// …` and `/* … */`, which may continue on later lines.
    fn without_comments(&mut self, line: &str) -> String {
        let mut text = String::new();
        let mut rest = line;
        loop {
            if self.in_comment {
                let Some((_, after)) = rest.split_once("*/") else {
                    return text;
                };
                self.in_comment = false;
                rest = after;
            }
            match (rest.find("//"), rest.find("/*")) {
                (Some(end), begin) if begin.is_none_or(|begin| end < begin) => {
                    text.push_str(&rest[..end]);
                    return text;
                }
                (_, Some(begin)) => {
                    text.push_str(&rest[..begin]);
                    text.push(' ');
                    self.in_comment = true;
                    rest = &rest[begin + 2..];
                }
                _ => {
                    text.push_str(rest);
                    return text;
                }
            }
        }
    }

    fn begin(&mut self, ranks: &str) -> Result<(), TraceError> {
        if self.builder.is_some() {
            return Err(self.wrong("num_ranks for the second time", "once"));
        }
        let number = ranks.parse().ok().filter(|ranks| (1..=MAX_RANKS).contains(ranks));
        let number =
            number.ok_or_else(|| self.wrong(format!("num_ranks {ranks}"), format!("1 to {MAX_RANKS}")))?;
        self.ranks = number;
        self.has_block = vec![false; number as usize];
        self.builder = Some(TaskGraphBuilder::new(number));
        Ok(())
    }

    fn open_block(&mut self, rank: &str) -> Result<(), TraceError> {
        if self.builder.is_none() {
            return Err(self.wrong(format!("rank {rank} before num_ranks"), "num_ranks NUMBER first"));
        }
        let number = rank.parse().ok().filter(|&rank: &u32| rank < self.ranks);
        let number = number.ok_or_else(|| self.wrong(format!("rank {rank}"), self.rank_range()))?;
        if std::mem::replace(&mut self.has_block[number as usize], true) {
            return Err(self.wrong(format!("rank {rank} for the second time"), "a block per rank"));
        }
        self.block = Some(Block {
            rank: number,
            line: self.line,
            labels: HashMap::new(),
            requirements: Vec::new(),
        });
        Ok(())
    }

    fn rank_range(&self) -> String {
        format!("0 to {}", self.ranks.saturating_sub(1))
    }

    fn close_block(&mut self) -> Result<(), TraceError> {
        let (Some(block), Some(builder)) = (self.block.take(), &mut self.builder) else {
            return Ok(());
        };
        for requirement in &block.requirements {
            let find = |label: &String| {
                let found = block.labels.get(label).copied();
                found.ok_or_else(|| {
                    let given = format!("label {:?}", shortened(label));
                    Place::Line(requirement.line).wrong(given, format!("labels of rank {}", block.rank))
                })
            };
            let (task, before) = (find(&requirement.task)?, find(&requirement.before)?);
            builder.wait(task, before, requirement.after);
        }
        Ok(())
    }

    fn operation(&mut self, words: &[&str]) -> Result<(), TraceError> {
        const OPERATIONS: &str =
            "send BYTESb to RANK, recv BYTESb from RANK, calc TIME, LABEL requires LABEL, or }";
        let (label, words) = match words {
            [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
            _ => (None, words),
        };
        let unknown = |reader: &Self| reader.wrong(shortened(&words.join(" ")), OPERATIONS);
        // The size may stand apart from its unit.
        let (kind, value, peer, rest) = match words {
            ["calc", time, rest @ ..] => ("calc", *time, None, rest),
            [
                kind @ ("send" | "recv"),
                size,
                "b",
                "to" | "from",
                peer,
                rest @ ..,
            ]
            | [kind @ ("send" | "recv"), size, "to" | "from", peer, rest @ ..] => {
                (*kind, size.strip_suffix('b').unwrap_or(size), Some(*peer), rest)
            }
            _ => return Err(unknown(self)),
        };
        let is_wrong_direction = words.contains(&"from") != (kind == "recv") && peer.is_some();
        if is_wrong_direction {
            return Err(unknown(self));
        }
        let number = value.parse::<u64>();
        let number = number
            .map_err(|_| self.wrong(format!("{kind} {}", shortened(value)), "a whole number from 0"))?;
        let (tag, processor) = self.attributes(kind, rest)?;
        let Some((rank, builder)) = self
            .block
            .as_ref()
            .map(|block| block.rank)
            .zip(self.builder.as_mut())
        else {
            return Ok(());
        };
        if builder.len() == MAX_TASKS {
            return Err(self.wrong("another operation", format!("at most {MAX_TASKS} operations")));
        }
        let task = match kind {
            "calc" => {
                let time = number.checked_mul(1_000);
                let time = time.ok_or_else(|| {
                    let allowed = format!("at most {} nanoseconds", u64::MAX / 1_000);
                    Place::Line(self.line).wrong(format!("calc {number}"), allowed)
                })?;
                builder.add(rank, Work::Compute(Time(time)), Some(processor))
            }
            "send" => {
                if builder.message_count() as u64 == MAX_FLOWS {
                    return Err(self.wrong("another send", format!("at most {MAX_FLOWS} messages")));
                }
                let to = self.peer(peer.unwrap_or_default())?;
                let to = to.ok_or_else(|| self.wrong("send to -1", self.rank_range()))?;
                let tag = tag.ok_or_else(|| self.wrong("send with tag -1", "a tag from 0"))?;
                match &mut self.builder {
                    Some(builder) => builder.send(rank, to, number, tag, Some(processor)),
                    None => return Ok(()),
                }
            }
            _ => {
                let from = self.peer(peer.unwrap_or_default())?;
                match &mut self.builder {
                    Some(builder) => builder.add(rank, Work::ReceiveAny { from, tag }, Some(processor)),
                    None => return Ok(()),
                }
            }
        };
        self.lines.push(self.line);
        if let (Some(label), Some(block)) = (label, &mut self.block)
            && block.labels.insert(label.to_owned(), task).is_some()
        {
            let given = format!("label {:?} for the second time", shortened(label));
            return Err(self.wrong(given, "a label per operation of a rank"));
        }
        Ok(())
    }

    /// Parses the rank of the other end; `None` for any.
    fn peer(&self, text: &str) -> Result<Option<u32>, TraceError> {
        if text == "-1" {
            return Ok(None);
        }
        let rank = text.parse().ok().filter(|&rank: &u32| rank < self.ranks);
        let rank = rank.ok_or_else(|| self.wrong(format!("rank {}", shortened(text)), self.rank_range()))?;
        Ok(Some(rank))
    }

    /// Parses the attributes of an operation: its tag, `None` for any, and its processor.
    fn attributes(&self, kind: &str, words: &[&str]) -> Result<(Option<u32>, u8), TraceError> {
        let (mut tag, mut processor) = (Some(0), 0);
        let mut given = Vec::new();
        let mut rest = words;
        while let [name, value, after @ ..] = rest {
            rest = after;
            let wrong = |allowed: &str| self.wrong(format!("{name} {}", shortened(value)), allowed);
            match *name {
                "tag" if kind != "calc" => {
                    tag = match *value {
                        "-1" => None,
                        value => Some(value.parse().map_err(|_| wrong("a number below 2^32"))?),
                    };
                }
                "cpu" => processor = value.parse().map_err(|_| wrong("0 to 255"))?,
                "nic" if kind != "calc" => {
                    let nic: Result<u8, _> = value.parse();
                    if nic != Ok(0) {
                        return Err(wrong("0: the transport chooses the links of a host with several"));
                    }
                }
                _ => return Err(self.wrong(shortened(name), "tag, cpu, nic")),
            }
            if given.contains(name) {
                return Err(self.wrong(format!("{name} for the second time"), "once"));
            }
            given.push(name);
        }
        match rest {
            [] => Ok((tag, processor)),
            [word, ..] => Err(self.wrong(
                format!("{} without a value", shortened(word)),
                "tag, cpu, nic with a number",
            )),
        }
    }

    fn finish(self) -> Result<TaskGraph, TraceError> {
        if self.in_comment {
            return Err(Place::File.wrong("ends within a comment", "a complete file"));
        }
        let Some(mut builder) = self.builder else {
            return Err(Place::File.wrong("no num_ranks", "GOAL text"));
        };
        if let Some(block) = self.block {
            let given = format!(
                "ends within the block of rank {}, which begins in line {}",
                block.rank, block.line
            );
            return Err(Place::File.wrong(given, "a complete file"));
        }
        if let Some(rank) = self.has_block.iter().position(|has_block| !has_block) {
            let given = format!("rank {rank} has no block, with num_ranks {}", self.ranks);
            return Err(Place::File.wrong(given, "a block per rank"));
        }
        let lines = self.lines;
        let at = |task: u32| {
            let line = lines.get(task as usize);
            line.map_or(Place::File, |&line| Place::Line(line))
        };
        builder.match_receives().map_err(|unmatched| match unmatched {
            Unmatched::Receive { task } => {
                at(task).wrong("a receive whose message is not sent", "a send for each receive")
            }
            Unmatched::Send { task } => {
                at(task).wrong("a message that is not received", "a receive for each send")
            }
        })?;
        builder.build().map_err(|stuck| {
            at(stuck.task).wrong(
                "an operation that waits for itself, through the others of a cycle",
                "an order without cycles",
            )
        })
    }
}
