//! Errors in a spec, which all have one form.

use std::fmt;

/// What is wrong with a spec, in one line: where, what was given, what is allowed.
///
/// `path` is a dotted field path such as `traffic[0].size`, a place in the text (`line 3, column 7`) or empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    /// Where.
    pub path: String,
    /// What was given, and what is wrong with it where that is not plain.
    pub given: String,
    /// What is allowed there.
    pub allowed: String,
}

impl SpecError {
    /// A complaint about the field at `path`.
    pub fn new(path: impl Into<String>, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            given: given.into(),
            allowed: allowed.into(),
        }
    }

    /// Prefixes the path with the field `outer` that contains it.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.path = match (outer, self.path.as_str()) {
            (outer, "") => outer.to_owned(),
            ("", inner) => inner.to_owned(),
            (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
            (outer, inner) => format!("{outer}.{inner}"),
        };
        self
    }
}

/// What is said of a field that does not exist.
pub(crate) const UNKNOWN_FIELD: &str = "unknown field";

impl SpecError {
    /// Adds sibling fields, which another reader of the table knows, to those that are allowed.
    #[must_use]
    pub fn with_known_fields(mut self, fields: &[&str]) -> Self {
        if self.given == UNKNOWN_FIELD && !self.path.contains(['.', '[']) {
            self.allowed = match self.allowed.as_str() {
                "" => fields.join(", "),
                own => format!("{}, {own}", fields.join(", ")),
            };
        }
        self
    }
}

/// Marks the path inside another error's message; no text from a spec that is shown holds control characters.
const PATH_MARKER: char = '\u{1}';

impl SpecError {
    /// Converts the error to a deserializer's error, from which [`from_table`](crate::from_table) restores the path.
    pub fn to_serde_error<E: serde::de::Error>(&self) -> E {
        let Self { path, given, allowed } = self;
        E::custom(format_args!(
            "{PATH_MARKER}{path}{PATH_MARKER}{given}; allowed: {allowed}"
        ))
    }

    /// Restores an error from the message that [`to_serde_error`](Self::to_serde_error) or Display made of it;
    /// with the latter, the path remains a part of what was given.
    pub(crate) fn from_serde_error(message: &str) -> Self {
        let (path, rest) = message
            .strip_prefix(PATH_MARKER)
            .and_then(|rest| rest.split_once(PATH_MARKER))
            .unwrap_or(("", message));
        match rest.split_once("; allowed: ") {
            Some((given, allowed)) => SpecError::new(path, given, allowed),
            None => SpecError::new(path, rest, "another value"),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", one_line(&self.path, MAX_SHOWN_CHARS))?;
        }
        write!(
            f,
            "{}; allowed: {}",
            one_line(&self.given, MAX_SHOWN_CHARS),
            one_line(&self.allowed, usize::MAX)
        )
    }
}

/// Letters of a path or of what was given that are shown: text from a spec may be of any length.
const MAX_SHOWN_CHARS: usize = 200;

/// Text from a spec may hold line breaks and control characters; a complaint holds none.
fn one_line(text: &str, max: usize) -> String {
    let mut letters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = letters.by_ref().take(max).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}
