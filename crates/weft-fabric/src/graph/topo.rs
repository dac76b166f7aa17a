//! A reader of htsim's `.topo` files, which describe tiers of switches above the hosts.
//!
//! A line consists of a word, in lower or upper case, and a number; `#` begins a comment. The first
//! lines are `Nodes`, the number of hosts, `Tiers`, which is 2 or 3, and `Podsize`, the number of
//! hosts per pod. A tier begins with `Tier n`, counted from 0. Its lines are `Radix_Down` and
//! `Radix_Up`, the numbers of its links, and the rate and delay of its downward links. `Bundle` of
//! these links lead from a switch to each switch below. The latency of a packet in a switch is
//! added to the delay of the downward links, in both directions. So the top switch of a path counts
//! twice, whereas htsim counts it once.

use std::collections::HashMap;

use weft_spec::{Rate, SpecError, Time, conflict};

use super::{Cable, GraphSpec};

/// Maximum number of hosts of a file, so that no number fills the memory.
const MAX_HOSTS: u64 = 1 << 20;

/// Maximum number of cables of a tier, for the same reason.
const MAX_CABLES: u64 = 1 << 24;

/// A tier of a file.
#[derive(Default)]
struct Tier {
    /// Values by keyword, each with its line.
    numbers: HashMap<&'static str, (u64, usize)>,
    line: usize,
}

/// Keywords that are allowed before the tiers.
const GLOBAL_KEYS: &[&str] = &["Nodes", "Tiers", "Podsize"];

/// Keywords that are allowed in a tier. Those that do not concern links and switches, such as queue
/// lengths, are ignored in favour of the spec.
const TIER_KEYS: &[&str] = &[
    "Downlink_speed_Gbps",
    "Downlink_Latency_ns",
    "Switch_Latency_ns",
    "Radix_Down",
    "Radix_Up",
    "Queue_Down",
    "Queue_Up",
    "Oversubscribed",
    "Bundle",
];

/// Reads the nodes and cables of a file's text; hosts are called h0, h1 and so on.
///
/// # Errors
/// Returns an error if its numbers do not describe a network. The
/// message names the file, the line, what was given and what is allowed.
pub fn read(file: &str, text: &str, hosts: &[String]) -> Result<GraphSpec, SpecError> {
    let refuse = |given: String, allowed: &str| SpecError::new("", format!("{file}: {given}"), allowed);
    if !hosts.is_empty() {
        return conflict(
            "",
            format!("{file}: given together with hosts, whose number a .topo file states"),
            "remove hosts",
        );
    }
    let mut all: HashMap<&'static str, (u64, usize)> = HashMap::new();
    let mut tiers: Vec<Tier> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        let (word, number) = match words[..] {
            [] => continue,
            [word, number] => (word, number),
            _ => {
                return Err(refuse(
                    format!("line {line}: {:?}", text.trim()),
                    "a word and a number",
                ));
            }
        };
        let number: u64 = number
            .parse()
            .map_err(|_| refuse(format!("line {line}: {word} {number}"), "a whole number"))?;
        if word.eq_ignore_ascii_case("Tier") {
            if number != tiers.len() as u64 {
                let allowed = format!("Tier {}", tiers.len());
                return Err(refuse(format!("line {line}: Tier {number}"), &allowed));
            }
            tiers.push(Tier {
                line,
                ..Tier::default()
            });
            continue;
        }
        let section = tiers.len().checked_sub(1);
        let section = section.map_or(String::new(), |t| format!(" in Tier {t}"));
        let (known, numbers) = match tiers.last_mut() {
            None => (GLOBAL_KEYS, &mut all),
            Some(tier) => (TIER_KEYS, &mut tier.numbers),
        };
        let known = known
            .iter()
            .find(|key| key.eq_ignore_ascii_case(word))
            .ok_or_else(|| refuse(format!("line {line}: {word}"), &known.join(", ")))?;
        if numbers.insert(known, (number, line)).is_some() {
            let given = format!("line {line}: {known} for the second time{section}");
            return Err(refuse(given, "once"));
        }
    }
    check_tiers(&tiers).map_err(|(given, allowed)| refuse(given, allowed))?;
    spec(file, &all, &tiers)
}

/// Returns an error for values that do not fit the tier, and for values that contradict each other.
fn check_tiers(tiers: &[Tier]) -> Result<(), (String, &'static str)> {
    for (t, tier) in tiers.iter().enumerate() {
        let number = |word: &str| tier.numbers.get(word).copied();
        let (down, up) = (number("Radix_Down"), number("Radix_Up"));
        let is_top = t > 0 && t + 1 == tiers.len();
        match (number("Bundle"), up, down, number("Oversubscribed")) {
            (Some((bundle, line)), ..) if t == 0 && bundle > 1 => {
                let given = format!("line {line}: Bundle {bundle} in Tier 0");
                return Err((given, "1"));
            }
            (_, Some((up, line)), ..) if is_top && up > 0 => {
                let given = format!("line {line}: Radix_Up {up} in the top tier");
                return Err((given, "0"));
            }
            (_, Some((up, _)), Some((down, _)), Some((ratio, line)))
                if !is_top && up.checked_mul(ratio) != Some(down) =>
            {
                let given =
                    format!("line {line}: Oversubscribed {ratio} with Radix_Down {down} and Radix_Up {up}");
                return Err((given, "Radix_Down divided by Radix_Up"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[allow(clippy::too_many_lines)] // tier by tier, from the hosts up
fn spec(
    file: &str,
    all: &HashMap<&'static str, (u64, usize)>,
    tiers: &[Tier],
) -> Result<GraphSpec, SpecError> {
    let refuse = |given: String, allowed: &str| SpecError::new("", format!("{file}: {given}"), allowed);
    let (nodes, line) = *all
        .get("Nodes")
        .ok_or_else(|| refuse("no Nodes".to_owned(), "Nodes and the number of hosts"))?;
    if !(2..=MAX_HOSTS).contains(&nodes) {
        let allowed = format!("2 to {MAX_HOSTS}");
        return Err(refuse(format!("line {line}: Nodes {nodes}"), &allowed));
    }
    if !(2..=3).contains(&tiers.len())
        || all
            .get("Tiers")
            .is_some_and(|given| given.0 != tiers.len() as u64)
    {
        let given = format!("{} tiers are described", tiers.len());
        return Err(refuse(given, "2 or 3, the number in Tiers"));
    }
    let number = |t: usize, word: &str, default: Option<u64>| {
        let given = tiers[t].numbers.get(word).copied();
        let (number, line) = match (given, default) {
            (Some(given), _) => given,
            (None, Some(default)) => (default, tiers[t].line),
            (None, None) => {
                let given = format!("line {}: Tier {t} without {word}", tiers[t].line);
                return Err(refuse(given, "one"));
            }
        };
        let least = u64::from(default.is_none() || word == "Bundle");
        if (least..=1 << 32).contains(&number) {
            return Ok(number);
        }
        let allowed = format!("{least} to {}", 1_u64 << 32);
        Err(refuse(format!("line {line}: {word} {number}"), &allowed))
    };
    let top = tiers.len() - 1;
    let podsize = all
        .get("Podsize")
        .map_or(nodes, |given| if top == 1 { nodes } else { given.0 });
    // The number of switches of each tier in total and, below the top, per pod.
    let down = |t| number(t, "Radix_Down", None);
    let racks = divide_exact(nodes, down(0)?);
    let racks_of_pod = divide_exact(podsize, down(0)?);
    let pods = divide_exact(nodes, podsize);
    let (Some(racks), Some(racks_of_pod), Some(pods)) = (racks, racks_of_pod, pods) else {
        let given = format!(
            "{nodes} hosts in pods of {podsize} and racks of {}",
            number(0, "Radix_Down", None)?
        );
        return Err(refuse(given, "pods of whole racks, and whole pods"));
    };
    let bundle = |t| number(t, "Bundle", Some(1));
    // The number of switches per pod below the top tier; in the top tier, of all switches.
    let mut switches = vec![racks_of_pod];
    for t in 1..=top {
        let below = if t == top {
            switches[t - 1] * pods
        } else {
            switches[t - 1]
        };
        let links = below * number(t - 1, "Radix_Up", None)?;
        let count = divide_exact(links, down(t)?).ok_or_else(|| {
            let given = format!("line {}: {links} links up to Tier {t}", tiers[t].line);
            refuse(given, "a multiple of its Radix_Down")
        })?;
        let laid = pods.saturating_mul(links);
        if laid > MAX_CABLES {
            let given = format!("line {}: {laid} links up to Tier {t}", tiers[t].line);
            return Err(refuse(given, &format!("at most {MAX_CABLES}")));
        }
        switches.push(count);
    }
    let mut cables = Vec::new();
    let mut cable = |t: usize, a: String, b: String| -> Result<(), SpecError> {
        let gbps = number(t, "Downlink_speed_Gbps", None)?;
        let crossing = number(t, "Downlink_Latency_ns", None)? + number(t, "Switch_Latency_ns", Some(0))?;
        let path = format!("file: {file}: line {}", tiers[t].line);
        let rate = Some(Rate(gbps * 1_000_000_000));
        let delay = Some(Time::from_ns(crossing));
        cables.push((
            path,
            Cable {
                a,
                b,
                rate,
                delay,
                ..Cable::default()
            },
        ));
        Ok(())
    };
    let name = |t: usize, pod: u64, i: u64| match t {
        0 => format!("tor{pod}.{i}"),
        _ if t < top => format!("agg{pod}.{i}"),
        _ => format!("core{i}"),
    };
    let hosts_per_rack = nodes / racks;
    for host in 0..nodes {
        let rack = host / hosts_per_rack;
        let tor = name(0, rack / racks_of_pod, rack % racks_of_pod);
        cable(0, format!("h{host}"), tor)?;
    }
    for t in 1..=top {
        let up = number(t - 1, "Radix_Up", None)?;
        let (bundle, fans) = (bundle(t)?, number(t - 1, "Radix_Up", None)? / bundle(t)?.max(1));
        if fans * bundle != up || fans > switches[t] {
            let given = format!(
                "line {}: {up} links up in bundles of {bundle} to {} switches of Tier {t}",
                tiers[t].line, switches[t]
            );
            return Err(refuse(given, "whole bundles, at most one to each"));
        }
        for pod in 0..pods {
            for i in 0..switches[t - 1] {
                // Switch i has links to as many switches above as it has bundles. If there are more
                // switches above, it has links to those of its own group.
                let group = i * fans % switches[t];
                for j in (0..fans).map(|j| (group + j) % switches[t]) {
                    for _ in 0..bundle {
                        cable(t, name(t - 1, pod, i), name(t, pod, j))?;
                    }
                }
            }
        }
    }
    let below_top = (0..top).flat_map(|t| (0..pods).map(move |pod| (t, pod)));
    let below_top =
        below_top.flat_map(|(t, pod)| (0..switches[t]).map(move |i| (t, pod, i)).collect::<Vec<_>>());
    let cores = (0..switches[top]).map(|i| (top, 0, i));
    Ok(GraphSpec {
        hosts: (0..nodes).map(|host| format!("h{host}")).collect(),
        switches: below_top
            .chain(cores)
            .map(|(t, pod, i)| name(t, pod, i))
            .collect(),
        cables,
        warnings: Vec::new(),
    })
}

fn divide_exact(a: u64, b: u64) -> Option<u64> {
    (b > 0 && a > 0 && a.is_multiple_of(b)).then(|| a / b)
}
