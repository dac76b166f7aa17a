//! The table of the RFCs' rules, `rfc.toml`, agrees with the citations in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The RFCs of which the table has all rules that the code cites.
const RFCS: [u16; 7] = [5681, 6298, 6582, 6675, 8684, 8985, 9937];

/// A rule of an RFC.
struct Entry {
    rfc: u16,
    section: String,
    rule: String,
    state: String,
    reason: Option<String>,
    at: Option<String>,
}

impl Entry {
    /// Returns the file and the item of the rule.
    fn location(&self) -> Option<(PathBuf, &str)> {
        let (file, item) = self.at.as_deref()?.split_once("::").unwrap();
        let tcp = if file.starts_with("crates/") {
            "../.."
        } else {
            "src/transport/tcp"
        };
        Some((Path::new(env!("CARGO_MANIFEST_DIR")).join(tcp).join(file), item))
    }
}

fn entries() -> Vec<Entry> {
    let table: toml::Table = toml::from_str(include_str!("rfc.toml")).unwrap();
    let rules = table["rule"].as_array().unwrap().iter();
    rules
        .map(|rule| {
            let fields = rule.as_table().unwrap();
            let text = |name: &str| fields.get(name).map(|value| value.as_str().unwrap().to_owned());
            Entry {
                rfc: fields["rfc"].as_integer().unwrap().try_into().unwrap(),
                section: text("section").unwrap(),
                rule: text("rule").unwrap(),
                state: text("state").unwrap(),
                reason: text("reason"),
                at: text("at"),
            }
        })
        .collect()
}

/// Returns the source of an item, with the comments and attributes above it, on one line without
/// comment marks.
fn item_text(source: &str, item: &str) -> Option<String> {
    let lines: Vec<&str> = source.lines().collect();
    let defines = |line: &&str| {
        let words = ["fn ", "struct ", "enum "].map(|kind| format!("{kind}{item}"));
        words.iter().any(|start| {
            line.find(start).is_some_and(|at| {
                let after = line[at + start.len()..].chars().next();
                !line.trim_start().starts_with("//")
                    && after.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
            })
        })
    };
    let at = lines.iter().position(defines)?;
    let above = lines[..at].iter().rev();
    let above = above.take_while(|line| matches!(line.trim_start().as_bytes(), [b'/' | b'#', ..]));
    let indentation = lines[at].len() - lines[at].trim_start().len();
    let end = format!("{}}}", &lines[at][..indentation]);
    let is_short = lines[at].ends_with(['}', ';']);
    let body = lines[at..].iter().position(|line| is_short || *line == end)?;
    Some(on_one_line(&lines[at - above.count()..=at + body]))
}

fn on_one_line(lines: &[&str]) -> String {
    let words = lines.iter().flat_map(|line| {
        line.trim_start()
            .trim_start_matches(['/', '!'])
            .split_whitespace()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the citations of the RFCs of the table: RFC and number of the section.
fn citations(text: &str) -> BTreeSet<(u16, String)> {
    let cited = text.match_indices("RFC ").filter_map(|(at, mark)| {
        let (number, rest) = text[at + mark.len()..].split_once(", section ")?;
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let section = rest[..end].trim_end_matches('.');
        Some((number.parse().ok()?, section.to_owned()))
    });
    cited.filter(|(rfc, _)| RFCS.contains(rfc)).collect()
}

#[test]
fn every_rule_of_the_table_is_cited_at_its_location() {
    for entry in entries() {
        let citation = format!("RFC {}, section {}", entry.rfc, entry.section);
        let needs_reason = match &*entry.state {
            "implemented" => false,
            "departed" | "not modelled" => true,
            state => panic!("{citation}: {state}: unknown state"),
        };
        assert_eq!(needs_reason, entry.reason.is_some(), "{citation}: {}", entry.rule);
        assert!(RFCS.contains(&entry.rfc), "{citation}");
        let Some((file, item)) = entry.location() else {
            assert_eq!(entry.state, "not modelled", "{citation}: {}", entry.rule);
            continue;
        };
        let source = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let text = item_text(&source, item).unwrap_or_else(|| panic!("{item} in {}", file.display()));
        let is_whole = |(at, _): (usize, &str)| {
            let mut after = text[at + citation.len()..].chars();
            let (next, second) = (after.next(), after.next());
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !(is_digit(next) || next == Some('.') && is_digit(second))
        };
        assert!(
            text.match_indices(&citation).any(is_whole),
            "{citation}: not cited by {item} in {}",
            file.display()
        );
    }
}

#[test]
fn the_table_has_every_section_that_a_file_cites() {
    let tcp = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/transport/tcp");
    let entries = entries();
    let folders = [tcp.clone(), tcp.join("segments")];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut checked = 0;
    for file in files.filter(|file| file.is_file() && !file.ends_with("tests.rs")) {
        let source = fs::read_to_string(&file).unwrap();
        // Module comments name what a file is about; its items have the rules.
        let lines: Vec<&str> = source.lines().filter(|line| !line.starts_with("//!")).collect();
        for (rfc, section) in citations(&on_one_line(&lines)) {
            let has = |entry: &&Entry| {
                let number = entry.section.split(',').next();
                entry.rfc == rfc && number == Some(&section) && entry.location().is_some_and(|p| p.0 == file)
            };
            checked += 1;
            assert!(
                entries.iter().any(|entry| has(&entry)),
                "{}: RFC {rfc}, section {section}: not in rfc.toml",
                file.display()
            );
        }
    }
    assert!(checked > 30, "{checked} citations");
}

#[test]
fn citations_are_read_across_lines_and_whole() {
    let source = "    /// Ends it (RFC 5681, section\n    /// 3.2, step 6).\n    fn end(&self) {\n        // RFC 6298, section 5.\n    }\n    fn ending() {}\n";
    let text = item_text(source, "end").unwrap();
    let expected = [(5681, "3.2".to_owned()), (6298, "5".to_owned())];
    assert_eq!(citations(&text), BTreeSet::from(expected));
    assert_eq!(item_text(source, "ending").as_deref(), Some("fn ending() {}"));
    assert_eq!(item_text(source, "endings"), None);
}
