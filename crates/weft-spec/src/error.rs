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

    /// The same complaint, made about a part of the field at `outer`.
    #[must_use]
    pub fn under(mut self, outer: &str) -> Self {
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
    /// The same error, for a table with further fields that the reader of the rest does not know.
    #[must_use]
    pub fn beside(mut self, fields: &[&str]) -> Self {
        if self.given == UNKNOWN_FIELD && !self.path.contains(['.', '[']) {
            self.allowed = match self.allowed.as_str() {
                "" => fields.join(", "),
                own => format!("{}, {own}", fields.join(", ")),
            };
        }
        self
    }
}

/// Set off a path inside another error's message; no text from a spec that is shown holds control characters.
const CARRIED: char = '\u{1}';

impl SpecError {
    /// This complaint as a deserializer's error. Read by [`from_table`](crate::from_table), it comes back with its path.
    pub fn carried<E: serde::de::Error>(&self) -> E {
        let Self { path, given, allowed } = self;
        E::custom(format_args!(
            "{CARRIED}{path}{CARRIED}{given}; allowed: {allowed}"
        ))
    }

    /// What [`carried`](Self::carried) or Display made of a complaint; the latter's path is a part of what was given.
    pub(crate) fn recovered(message: &str) -> Self {
        let (path, rest) = message
            .strip_prefix(CARRIED)
            .and_then(|rest| rest.split_once(CARRIED))
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
            write!(f, "{}: ", one_line(&self.path, LONGEST))?;
        }
        write!(
            f,
            "{}; allowed: {}",
            one_line(&self.given, LONGEST),
            one_line(&self.allowed, usize::MAX)
        )
    }
}

/// Letters of a path or of what was given that are shown: text from a spec may be of any length.
const LONGEST: usize = 200;

/// Text from a spec may hold line breaks and control characters; a complaint holds none.
fn one_line(text: &str, longest: usize) -> String {
    let mut letters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = letters.by_ref().take(longest).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}
