//! The error type of a spec.

use std::fmt;

use crate::nearest::nearest;
use crate::unmodelled::unmodelled;

/// An error in a spec. Its message is one line. For a wrong value it has the path, the value that
/// was given and the allowed values, and perhaps the name that was meant. For fields that contradict
/// each other it has the path, the problem and its remedy.
///
/// `path` is a dotted field path such as `traffic[0].size`, a position in the text (`line 3, column
/// 7`) or empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    /// Path of the field.
    pub path: String,
    /// The value that was given, and the problem with it unless that is obvious.
    pub given: String,
    /// The allowed values, or the remedy.
    pub allowed: String,
    /// True if `allowed` is a remedy.
    pub is_remedy: bool,
    /// The name that was probably meant, as the message shows it, or an empty string.
    pub suggestion: String,
}

impl SpecError {
    /// Creates an error about the value of the field at `path`.
    pub fn new(path: impl Into<String>, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            given: given.into(),
            allowed: allowed.into(),
            is_remedy: false,
            suggestion: String::new(),
        }
    }

    /// Creates an error about a name at `path` that is not among `names`.
    pub fn unknown_name<'a>(
        path: impl Into<String>,
        given: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        Self::new(path, format!("{given:?} does not exist"), list_names(&names)).suggest(given, names)
    }

    /// Suggests the only name that is clearly nearest to `given`, if there is one.
    #[must_use]
    pub fn suggest<'a>(mut self, given: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = nearest(given, names).map_or_else(String::new, |name| format!("{name:?}"));
        self
    }

    /// Creates an error about the field at `path` that is not about its value alone: a problem,
    /// and a remedy in the imperative.
    pub fn conflict(path: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            is_remedy: true,
            ..Self::new(path, problem, remedy)
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

/// Returns names to choose from, as they are written in a spec.
pub fn list_names(names: impl IntoIterator<Item: fmt::Debug>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// Returns [`SpecError::new`] as the result of a check.
pub fn refuse<T>(
    path: impl Into<String>,
    given: impl fmt::Display,
    allowed: impl Into<String>,
) -> Result<T, SpecError> {
    Err(SpecError::new(path, given.to_string(), allowed))
}

/// Returns [`SpecError::conflict`] as the result of a check.
pub fn conflict<T>(
    path: impl Into<String>,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, SpecError> {
    Err(SpecError::conflict(path, problem, remedy))
}

/// Results of parts of a spec, whose errors name the part.
pub trait Within {
    /// Prefixes the path of the error with the field `outer`, as [`SpecError::within`] does.
    #[must_use]
    fn within(self, outer: &str) -> Self;
}

impl<T> Within for Result<T, SpecError> {
    fn within(self, outer: &str) -> Self {
        self.map_err(|error| error.within(outer))
    }
}

/// The value of `given` for a field that does not exist.
const UNKNOWN_FIELD: &str = "unknown field";

impl SpecError {
    /// Adds sibling fields, which another reader of the table accepts, to the allowed ones.
    #[must_use]
    pub fn with_known_fields(mut self, fields: &[&str]) -> Self {
        if self.is_unknown_field() && !self.path.contains(['.', '[']) {
            self.allowed = match self.allowed.as_str() {
                "" => fields.join(", "),
                own => format!("{}, {own}", fields.join(", ")),
            };
            let (path, allowed) = (self.path.clone(), self.allowed.clone());
            return self.suggest(&path, allowed.split(", "));
        }
        self
    }

    /// Creates an error about a field that is not among `fields`, perhaps because it is not modelled.
    pub fn unknown_field(field: &str, fields: &[&str]) -> Self {
        unmodelled(field, field).unwrap_or_else(|| {
            Self::new(field, UNKNOWN_FIELD, fields.join(", ")).suggest(field, fields.iter().copied())
        })
    }

    /// Returns true if the error is that the field at `path` does not exist.
    pub fn is_unknown_field(&self) -> bool {
        self.given == UNKNOWN_FIELD
    }
}

/// The character that marks the path inside the message of another error type; text that is shown
/// from a spec contains no control characters.
const PATH_MARKER: char = '\u{1}';

/// The character that separates a problem from its remedy inside the message of another error type.
const REMEDY_MARKER: &str = "\u{2}";

/// The character that separates a problem from the suggested name inside the message of another error
/// type.
const SUGGESTION_MARKER: char = '\u{3}';

impl SpecError {
    /// Converts the error to a deserialiser's error, from which [`from_table`](crate::from_table)
    /// restores the path.
    pub fn to_serde_error<E: serde::de::Error>(&self) -> E {
        let Self {
            path,
            given,
            allowed,
            is_remedy,
            suggestion,
        } = self;
        let separator = if *is_remedy { REMEDY_MARKER } else { ALLOWED };
        E::custom(format_args!(
            "{PATH_MARKER}{path}{PATH_MARKER}{given}{SUGGESTION_MARKER}{suggestion}{separator}{allowed}"
        ))
    }

    /// Restores an error from the message of [`to_serde_error`](Self::to_serde_error) or of
    /// Display. In the latter case the path remains a part of `given`.
    pub(crate) fn from_serde_error(message: &str) -> Self {
        let (path, rest) = message
            .strip_prefix(PATH_MARKER)
            .and_then(|rest| rest.split_once(PATH_MARKER))
            .unwrap_or(("", message));
        let (is_remedy, (given, allowed)) = match rest.split_once(REMEDY_MARKER) {
            Some(parts) => (true, parts),
            None => (false, rest.split_once(ALLOWED).unwrap_or((rest, "another value"))),
        };
        let (given, suggestion) = given.split_once(SUGGESTION_MARKER).unwrap_or((given, ""));
        SpecError {
            is_remedy,
            suggestion: suggestion.to_owned(),
            ..SpecError::new(path, given, allowed)
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", one_line(&self.path, MAX_SHOWN_CHARS))?;
        }
        write!(f, "{}", one_line(&self.given, MAX_SHOWN_CHARS))?;
        let separator = match (self.is_remedy, self.suggestion.as_str()) {
            (true, _) => "; ".to_owned(),
            (false, "") => ALLOWED.to_owned(),
            (false, suggestion) => format!("; did you mean {suggestion}? allowed: "),
        };
        write!(f, "{separator}{}", one_line(&self.allowed, usize::MAX))
    }
}

/// The text between a wrong value and the allowed ones.
const ALLOWED: &str = "; allowed: ";

/// Maximum number of characters of a path or a given value that are shown: text from a spec may
/// have any length.
const MAX_SHOWN_CHARS: usize = 200;

/// Returns the text without line breaks and control characters, which text from a spec may contain.
fn one_line(text: &str, max: usize) -> String {
    let mut letters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = letters.by_ref().take(max).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}
