//! A reader of the topologies of HPCC's public simulation (Li et al., "HPCC", SIGCOMM 2019). Other
//! simulations on its code have taken over their format.
//!
//! The first line is `NODES SWITCHES LINKS`; ns3-datacenter has `NODES SWITCHES TORS LINKS`, of which
//! the number of ToRs has no effect, and may add two rates, which have none either. The numbers of the
//! switches follow. Each of the announced links is a line `A B RATE DELAY ERROR_RATE`, and what follows
//! them is not read, as in that program. A rate without a unit is in bits per second and a delay
//! without a unit in seconds, as in ns-3. Nodes are called by their numbers, as in the flow lists that
//! belong to these files.

use weft_spec::{Rate, SpecError, Time, conflict};

use super::{Cable, GraphSpec, rate_in_bps};

/// Maximum number of nodes of a file, so that no number fills the memory.
const MAX_NODES: u64 = 1 << 20;

/// Maximum number of links of a file, for the same reason.
const MAX_LINKS: u64 = 1 << 22;

/// The error of a line: the line from 1 on, the given value and the allowed ones.
type LineError = (usize, String, String);

/// Reads the nodes and cables of a file's text. `hosts` must be empty, because the file declares the hosts.
///
/// # Errors
/// Returns an error if the text is not such a topology. The message names the file, the line, what was
/// given and what is allowed.
pub fn read(file: &str, text: &str, hosts: &[String]) -> Result<GraphSpec, SpecError> {
    let refuse = |given: String, allowed: &str| SpecError::new("", format!("{file}: {given}"), allowed);
    if !hosts.is_empty() {
        return conflict(
            "",
            format!(
                "{file}: given together with hosts, which are the nodes that the file does not list as switches"
            ),
            "remove hosts",
        );
    }
    parse(file, text).map_err(|(line, given, allowed)| refuse(format!("line {line}: {given}"), &allowed))
}

fn parse(file: &str, text: &str) -> Result<GraphSpec, LineError> {
    let mut lines = (1..)
        .zip(text.lines())
        .map(|(line, text)| (line, text.split('#').next().unwrap_or_default()))
        .filter(|(_, text)| !text.trim().is_empty());
    let (line, first) = lines.next().unwrap_or((1, ""));
    let numbers: Option<Vec<u64>> = first.split_whitespace().map(|word| word.parse().ok()).collect();
    let Some(
        &[nodes, switch_count, link_count]
        | &[nodes, switch_count, _, link_count]
        | &[nodes, switch_count, _, link_count, _, _],
    ) = numbers.as_deref()
    else {
        let given = format!("{:?}", first.trim());
        let allowed =
            "NODES SWITCHES LINKS, as HPCC's topologies begin; or GraphML; or a .topo file of htsim";
        return Err((line, given, allowed.to_owned()));
    };
    for (number, what, min, max) in [
        (nodes, "nodes", 2, MAX_NODES),
        (switch_count, "switches", 0, nodes.saturating_sub(2)),
        (link_count, "links", 1, MAX_LINKS),
    ] {
        if !(min..=max).contains(&number) {
            return Err((line, format!("{number} {what}"), format!("{min} to {max}")));
        }
    }
    let mut is_switch = vec![false; nodes as usize];
    let mut switches = Vec::with_capacity(switch_count as usize);
    while (switches.len() as u64) < switch_count {
        let Some((line, text)) = lines.next() else {
            let given = format!(
                "{switch_count} switches are announced, and {} are listed",
                switches.len()
            );
            return Err((line, given, "as many as are listed".to_owned()));
        };
        for word in text.split_whitespace() {
            let number = node(word, nodes).map_err(|(given, allowed)| (line, given, allowed))?;
            if std::mem::replace(&mut is_switch[number], true) {
                return Err((
                    line,
                    format!("switch {number} is listed twice"),
                    "each once".to_owned(),
                ));
            }
            switches.push(number);
        }
        if switches.len() as u64 > switch_count {
            let given = format!("{} switches, and {switch_count} are announced", switches.len());
            return Err((line, given, "as many as are announced".to_owned()));
        }
    }
    let mut cables = Vec::with_capacity(link_count.min(1 << 16) as usize);
    for (line, text) in lines.take(link_count as usize) {
        let cable = cable(text, nodes).map_err(|(given, allowed)| (line, given, allowed))?;
        cables.push((format!("file: {file}: line {line}"), cable));
    }
    if (cables.len() as u64) < link_count {
        let given = format!(
            "{link_count} links are announced, and the file has {}",
            cables.len()
        );
        return Err((line, given, "at most as many as it has".to_owned()));
    }
    Ok(GraphSpec {
        hosts: (0..nodes)
            .filter(|&n| !is_switch[n as usize])
            .map(|n| n.to_string())
            .collect(),
        switches: switches.iter().map(ToString::to_string).collect(),
        cables,
        warnings: Vec::new(),
    })
}

/// Reads the number of a node.
fn node(word: &str, nodes: u64) -> Result<usize, (String, String)> {
    let number = word.parse().ok().filter(|&number: &u64| number < nodes);
    let number = number.ok_or_else(|| (format!("node {word:?}"), format!("0 to {}", nodes - 1)))?;
    Ok(number as usize)
}

/// Reads the line of a link.
fn cable(text: &str, nodes: u64) -> Result<Cable, (String, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [a, b, rate, delay, error_rate] = words[..] else {
        return Err((
            format!("{:?}", text.trim()),
            "A B RATE DELAY ERROR_RATE".to_owned(),
        ));
    };
    let (a, b) = (node(a, nodes)?, node(b, nodes)?);
    let refuse = |error: SpecError| (error.given, error.allowed);
    let rate: Rate = match rate.parse() {
        Ok(bits) => rate_in_bps(bits),
        Err(_) => rate.parse(),
    }
    .map_err(refuse)?;
    let delay: Time = match delay.parse::<f64>() {
        Ok(_) => format!("{delay}s").parse(),
        Err(_) => delay.parse(),
    }
    .map_err(refuse)?;
    if error_rate.parse() != Ok(0.0) {
        let allowed = format!(
            "0; for losses set queue = {{ name = \"lossy\", loss = {error_rate} }} for links.\"{a}->{b}\" and \
             links.\"{b}->{a}\""
        );
        return Err((format!("error rate {error_rate}"), allowed));
    }
    Ok(Cable {
        a: a.to_string(),
        b: b.to_string(),
        rate: Some(rate),
        delay: Some(delay),
        ..Cable::default()
    })
}
