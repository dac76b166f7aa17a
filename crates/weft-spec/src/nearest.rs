//! Suggestions for names that are nearly right.

use strsim::osa_distance;

/// Returns the only name that is clearly nearest to `given`, if there is one. Names that differ in case,
/// hyphens and underscores alone are nearest. Otherwise the number of letters that are inserted,
/// removed, replaced or swapped with a neighbour counts.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Maximum length of a name that is compared: the comparison takes quadratic time.
    const MAX_CHARS: usize = 60;
    let given = normalised(given);
    let letters = given.chars().count();
    if letters > MAX_CHARS {
        return None;
    }
    // In a short name, one letter is much of it.
    let max = match letters {
        0..=3 => 0,
        4..=5 => 1,
        6..=10 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    let mut is_tie = false;
    for name in names {
        let distance = osa_distance(&given, &normalised(name));
        match best {
            Some((least, other)) if distance == least => is_tie |= other != name,
            Some((least, _)) if distance > least => {}
            _ if distance <= max => (best, is_tie) = (Some((distance, name)), false),
            _ => {}
        }
    }
    best.filter(|_| !is_tie).map(|(_, name)| name)
}

fn normalised(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_candidate_is_suggested() {
        let names = ["amp", "amp-fg", "xmp", "dctcp", "fat-tree", "subflows", "bpf:amp"];
        for (given, expected) in [
            ("AMP", Some("amp")),
            ("ampp", Some("amp")),
            ("AMP_FG", Some("amp-fg")),
            ("ampfg", Some("amp-fg")),
            ("dtccp", Some("dctcp")),
            ("fattree", Some("fat-tree")),
            ("subflow", Some("subflows")),
            ("Sub-flwos", Some("subflows")),
            ("yamp", Some("amp")),
            ("yxmp", Some("xmp")),
            ("axmp", None), // as near to amp as to xmp
            ("anp", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names), expected, "{given}");
        }
        assert_eq!(nearest(&"a".repeat(1 << 20), names), None);
    }
}
