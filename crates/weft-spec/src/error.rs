//! The one shape of a complaint about a spec.

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
            given: one_line(&given.into()),
            allowed: one_line(&allowed.into()),
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

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", one_line(&self.path))?;
        }
        write!(
            f,
            "{}; allowed: {}",
            one_line(&self.given),
            one_line(&self.allowed)
        )
    }
}

/// Text from a spec may hold line breaks and control characters; a complaint holds none.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
