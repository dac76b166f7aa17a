//! Settings and values that have another name than in earlier versions. The earlier names stay valid, with a warning.

use toml::{Table, Value};
use weft_spec::SpecError;

/// Table, earlier name and name of each renamed setting.
const SETTINGS: [(&str, &str, &str); 5] = [
    ("congestion", "room", "max_connections"),
    ("congestion", "load", "algorithms"),
    ("subflows", "after", "join_after"),
    ("subflows", "spread", "policy"),
    ("suppression", "cycle", "min_cycle"),
];
/// Earlier name and name of each value of `subflows.policy`.
const POLICIES: [(&str, &str); 2] = [("same-pair", "ndiffports"), ("addresses", "fullmesh")];

/// Gives settings and values their names of today. Returns one warning for each.
///
/// # Errors
/// Returns an error if a setting has both names.
pub(super) fn rename(config: &mut Table) -> Result<Vec<String>, SpecError> {
    let mut warnings = Vec::new();
    for (table, earlier, name) in SETTINGS {
        let Some(Value::Table(fields)) = config.get_mut(table) else {
            continue;
        };
        let Some(value) = fields.remove(earlier) else {
            continue;
        };
        if fields.contains_key(name) {
            let what = format!("also given as {table}.{name}, its name of today");
            return Err(SpecError::new(
                format!("{table}.{earlier}"),
                what,
                "one of the two",
            ));
        }
        fields.insert(name.to_owned(), value);
        warnings.push(format!("{table}.{earlier}: its name is now {table}.{name}"));
    }
    if let Some(Value::Table(subflows)) = config.get_mut("subflows")
        && let Some(Value::String(policy)) = subflows.get_mut("policy")
        && let Some((earlier, name)) = POLICIES.into_iter().find(|(earlier, _)| policy == earlier)
    {
        name.clone_into(policy);
        warnings.push(format!(
            "subflows.policy: the name of {earlier:?} is now {name:?}"
        ));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::super::{Config, JoinPolicyName};

    #[test]
    fn earlier_names_are_accepted_with_a_warning_that_says_both() {
        let text = "[congestion]\nroom = 100\nload = [\"weft_amp\"]\n[subflows]\nafter = \"1KB\"\n\
                    spread = \"addresses\"\n[suppression]\ncycle = \"1s\"";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.congestion.max_connections, 100);
        assert_eq!(config.congestion.algorithms, ["weft_amp"]);
        assert_eq!(config.subflows.join_after.0, 1000);
        assert_eq!(config.subflows.policy, JoinPolicyName::Fullmesh);
        assert_eq!(config.hysteresis().min_cycle, 1_000_000_000);
        let warnings = [
            "congestion.room: its name is now congestion.max_connections",
            "congestion.load: its name is now congestion.algorithms",
            "subflows.after: its name is now subflows.join_after",
            "subflows.spread: its name is now subflows.policy",
            "suppression.cycle: its name is now suppression.min_cycle",
            "subflows.policy: the name of \"addresses\" is now \"fullmesh\"",
        ];
        assert_eq!(config.warnings, warnings);
    }

    #[test]
    fn both_names_of_a_setting_are_an_error() {
        let complaint = Config::parse("[subflows]\nafter = \"1KB\"\njoin_after = \"1KB\"").unwrap_err();
        let complaint = complaint.to_string();
        assert!(
            complaint.starts_with("subflows.after: also given as subflows.join_after"),
            "{complaint}"
        );
    }
}
