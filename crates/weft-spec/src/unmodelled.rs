//! Features of hardware and of other simulators that Weft does not model. A spec that asks for one
//! gets an error that says so, instead of one that reads like a misspelt name.

use crate::SpecError;

/// All features, each with the words by which a spec may ask for it. A feature that becomes a field or a kind is
/// removed from this list.
const FEATURES: &[(&str, &[&str])] = &[
    ("FQ-CoDel or PIE", &["fq_codel", "pie"]),
    (
        "corrupted packets",
        &["corruption", "error_rate", "bit_error_rate", "ber"],
    ),
];

/// Returns the error for a field or a value at `path` by whose name a spec asks for a feature that
/// Weft does not model.
pub(crate) fn unmodelled(path: &str, word: &str) -> Option<SpecError> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    let (feature, _) = FEATURES
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()))?;
    let problem = format!("Weft does not model {feature}");
    let remedy = "remove it (docs/reference/limitations.md lists what is not modelled)";
    Some(SpecError::conflict(path, problem, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_normalised() {
        let mut words: Vec<_> = FEATURES.iter().flat_map(|(_, words)| *words).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        for word in words {
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{word}");
        }
    }
}
