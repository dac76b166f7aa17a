//! The parts of the manual pages that do not follow from the command line: weftd.toml(5), files and exit status.

use std::fmt::Write;

/// The annotated configuration that the packages install.
const CONFIGURATION: &str = include_str!("../packaging/weftd.toml");

/// Sections that end every page of a command, in roff.
pub const SECTIONS: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
Success.
.TP
\fB1\fR
The command failed, another weftd runs, or
.B weftd doctor
has found something that does not work.
.TP
\fB2\fR
The configuration or an argument is not valid.
.TP
\fB3\fR
The kernel or the privileges of the caller lack something that weftd needs.
.SH FILES
.TP
\fI/etc/weft/weftd.toml\fR
The configuration, see
.BR weftd.toml (5).
.TP
\fI/run/weft/settings.json\fR
Settings that weftd has changed, with their former values.
.TP
\fI/run/weft/running.json\fR
The configuration with which weftd runs.
.TP
\fI/run/weft/status\fR
The socket of
.BR "weftd status" .
.TP
\fI/sys/fs/bpf/weft\fR
Maps of open connections for the next start.
.TP
\fI/usr/share/weftd\fR
A dashboard for Grafana, alert rules for Prometheus, and a drop-in for
.IR weftd.service .
.SH "SEE ALSO"
.BR weftd (8),
.BR weftd.toml (5),
.BR ip-mptcp (8),
.BR ss (8),
.BR sysctl (8)
"#;

/// Returns weftd.toml(5), made from the annotated configuration.
pub fn configuration(version: &str) -> String {
    let mut page = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH weftd.toml 5 \"\" \"Weft {version}\" \"File formats\"\n.SH NAME\nweftd.toml \\- configuration of \
         weftd\n.SH DESCRIPTION\n"
    );
    let mut comment: Vec<&str> = Vec::new();
    let mut table = String::new();
    let mut is_first = true;
    for line in CONFIGURATION.lines() {
        let (text, is_comment) = match line.strip_prefix('#') {
            Some(text) => (text.trim(), true),
            None => (line.trim(), false),
        };
        if let Some(name) = table_of(text) {
            heading(&mut page, name, &comment);
            name.clone_into(&mut table);
        } else if let Some((key, value)) = setting(text) {
            let separator = if table.is_empty() { "" } else { "." };
            let _ = writeln!(page, ".TP\n\\fB{table}{separator}{key}\\fR = {}", escape(value));
            paragraph(&mut page, &comment);
        } else if is_comment {
            comment.push(text);
            continue;
        } else if text.is_empty() && is_first {
            // The first comment is about the file.
            paragraph(&mut page, &comment);
            is_first = false;
        } else if text.is_empty() && !comment.is_empty() {
            continue;
        }
        comment.clear();
    }
    page + ".SH \"SEE ALSO\"\n.BR weftd (8),\n.BR weftd-run (8)\n"
}

/// A table's name, with the dots of its path.
fn table_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix('[')?.strip_suffix(']')?;
    let name = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
    name.chars().all(is_name).then_some(name)
}

/// A key and its value; a commented one is an example.
fn setting(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(" = ")?;
    let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_key.then_some((key, value))
}

fn heading(page: &mut String, name: &str, comment: &[&str]) {
    let _ = writeln!(page, ".SS \"[{name}]\"");
    paragraph(page, comment);
}

fn paragraph(page: &mut String, comment: &[&str]) {
    for line in comment {
        let _ = writeln!(page, "{}", escape(line));
    }
}

/// A line of text in roff, in which a backslash and a leading dot or quote have a meaning.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        return format!("\\&{text}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_setting_of_the_configuration() {
        let page = configuration("1.0");
        let config = serde_json::to_value(crate::config::Config::default()).unwrap();
        let mut missing = Vec::new();
        for (key, value) in config.as_object().unwrap() {
            match value.as_object() {
                // The names below `parameters` are those of algorithms.
                Some(table) => missing.extend(table.keys().map(|inner| format!("{key}.{inner}"))),
                None => missing.push(key.clone()),
            }
        }
        missing.retain(|key| {
            let entry = format!("\\fB{key}\\fR = ");
            !page.contains(&entry) && !page.contains(&format!("[{key}")) && key != "warnings"
        });
        assert_eq!(missing, Vec::<String>::new(), "{page}");
        assert!(page.contains(".SS \"[subflows]\"\n"), "{page}");
        assert!(
            page.contains("\\fBsubflows.count\\fR = 4\nSubflows of a connection"),
            "{page}"
        );
    }
}
