//! What is wrong with a trace, and where.

use weft_spec::SpecError;

/// The error of a trace: its place, the given value and the allowed ones.
#[derive(Debug)]
pub(super) struct TraceError {
    pub place: Place,
    pub given: String,
    pub allowed: String,
}

/// A place of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The trace as a whole.
    File,
    /// A line, from 1.
    Line(u32),
    /// The file of a rank.
    Rank(u32),
    /// A node in the file of a rank.
    Node {
        /// Number of the rank.
        rank: u32,
        /// The `id` of the node.
        id: u64,
    },
}

impl Place {
    /// Returns the error of a value at this place.
    pub fn wrong(self, given: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        TraceError {
            place: self,
            given: given.into(),
            allowed: allowed.into(),
        }
    }
}

impl TraceError {
    /// Returns the error of a trace whose path, or the beginning of its files' paths, is `file`.
    pub fn within(self, file: &str) -> SpecError {
        let place = match self.place {
            Place::File => file.to_owned(),
            Place::Line(line) => format!("{file}: line {line}"),
            Place::Rank(rank) => format!("{file}.{rank}.et"),
            Place::Node { rank, id } => format!("{file}.{rank}.et: node {id}"),
        };
        SpecError::new("file", format!("{place}: {}", self.given), self.allowed)
    }
}

/// Returns the beginning of a text in a line, for messages.
pub(super) fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let text = text.replace(char::is_control, "?");
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
