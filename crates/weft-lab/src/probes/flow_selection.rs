//! Selection of flows by traffic entry and index.

use std::fmt;

use schemars::json_schema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_run::ProbedFlows;
use weft_spec::{SpecError, Within, inline_schema, refuse};
use weft_traffic::MAX_FLOWS;

use super::ProbeContext;

/// Indices: a list, or a range "A..B" that excludes B.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Indices {
    Listed(Vec<u32>),
    Range(u32, u32),
}

/// Returns the flows of a traffic entry, or of all entries. If indices are given, only flows with
/// these indices in their entries are selected.
///
/// # Errors
/// Returns an error if there is no such entry or flow. Paths are relative to the probe.
pub(super) fn select_flows(
    traffic: Option<&str>,
    flows: Option<&Indices>,
    context: &ProbeContext<'_>,
) -> Result<Vec<ProbedFlows>, SpecError> {
    let entry = match traffic {
        None => None,
        Some(name) => {
            let found = context.traffic.iter().position(|traffic| traffic == name);
            Some(found.ok_or_else(|| {
                SpecError::unknown_name("traffic", name, context.traffic.iter().map(String::as_str))
            })? as u32)
        }
    };
    let of_entry = |traffic: u32| entry.is_none_or(|entry| traffic == entry);
    let known = context
        .flows
        .iter()
        .zip(0..)
        .filter(|(flow, _)| of_entry(flow.traffic));
    let generators = context.generators.iter().zip(0..);
    let generators = generators.filter(|(generator, _)| of_entry(generator.flow(0).traffic));
    let selector = FlowSelector {
        flows: known.map(|(_, i)| i).collect(),
        generator: generators
            .clone()
            .map(|(_, i)| i)
            .next()
            .filter(|_| entry.is_some()),
        context,
    };
    match flows {
        None => {
            let generators = generators.map(|(_, generator)| ProbedFlows::Generated(generator));
            Ok(selector
                .flows
                .iter()
                .map(|&flow| ProbedFlows::One(flow))
                .chain(generators)
                .collect())
        }
        Some(Indices::Range(from, to)) if from < to => {
            let flows: Result<_, _> = (*from..*to).map(|flow| selector.flow(flow)).collect();
            flows.within("flows")
        }
        Some(Indices::Range(from, to)) => {
            let allowed = "a range that is not empty, such as \"0..8\"";
            refuse("flows", format!("\"{from}..{to}\""), allowed)
        }
        Some(Indices::Listed(listed)) => {
            let flow = |(i, &flow): (usize, &u32)| {
                let chosen = selector.flow(flow);
                chosen.within(&format!("flows[{i}]"))
            };
            listed.iter().enumerate().map(flow).collect()
        }
    }
}

/// The flows from which indices select.
struct FlowSelector<'a> {
    /// Static flows.
    flows: Vec<u32>,
    /// The generator that opens the other flows.
    generator: Option<u32>,
    context: &'a ProbeContext<'a>,
}

impl FlowSelector<'_> {
    fn flow(&self, index: u32) -> Result<ProbedFlows, SpecError> {
        let (known, generators) = (
            self.context.flows.len() as u64,
            self.context.generators.len() as u64,
        );
        let max = match self.generator {
            Some(_) => MAX_FLOWS.min((u64::from(u32::MAX) - known) / generators.max(1)),
            None => self.flows.len() as u64,
        };
        let found = match self.generator {
            Some(generator) if u64::from(index) < max => {
                Some((known + u64::from(index) * generators) as u32 + generator)
            }
            Some(_) => None,
            None => self.flows.get(index as usize).copied(),
        };
        found.map(ProbedFlows::One).ok_or_else(|| {
            let problem = format!("flow {index} does not exist");
            match max.checked_sub(1) {
                Some(last) => SpecError::new("", problem, format!("0 to {last}")),
                None => SpecError::conflict(
                    "",
                    format!("{problem} before the run"),
                    "set traffic to the entry that opens flows during the run",
                ),
            }
        })
    }
}

impl Serialize for Indices {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Indices::Listed(indices) => indices.serialize(to),
            Indices::Range(from, end) => to.collect_str(&format_args!("{from}..{end}")),
        }
    }
}

impl<'de> Deserialize<'de> for Indices {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct IndicesVisitor;
        impl<'de> Visitor<'de> for IndicesVisitor {
            type Value = Indices;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of indices, or a range such as \"0..8\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Indices, E> {
                match text.split_once("..").map(|(from, to)| (from.parse(), to.parse())) {
                    Some((Ok(from), Ok(to))) => Ok(Indices::Range(from, to)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Indices, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Indices::Listed)
            }
        }
        from.deserialize_any(IndicesVisitor)
    }
}

inline_schema!(Indices, |_| json_schema!({
    "anyOf": [
        { "type": "array", "items": { "type": "integer", "minimum": 0 } },
        { "type": "string", "pattern": r"^[0-9]+\.\.[0-9]+$" },
    ],
    "examples": [[0, 2], "0..8"],
}));
