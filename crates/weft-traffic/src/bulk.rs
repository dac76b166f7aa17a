//! Long-lived flows, or flows of one size, between pairs of hosts.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_spec::{Size, SpecError, Time};

use crate::{Context, Flow, HostRef, HostSet, MAX_FLOWS, Pattern, random};

/// Flows between pairs of hosts: given as `pairs`, or as `from` and `to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Pairs of hosts, [[FROM, TO], …], or "permutation": every host sends to one other and receives from one other,
    /// drawn by the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Senders. One sender sends to every receiver; as many as receivers send to one each, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<HostSet>,
    /// Receivers. One receiver receives from every sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<HostSet>,
    /// Flows of each pair.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// Application bytes of each flow; left out, it sends until `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// When the flows open.
    #[serde(default)]
    pub start: Time,
    /// When their applications stop producing data; left out, at the end of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Each flow opens later than `start` by a random time up to this.
    #[serde(default)]
    pub jitter: Time,
}

/// Who sends to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// A random permutation of all hosts without fixed points.
    Permutation,
    /// Sender and receiver of each pair.
    Listed(Vec<[HostRef; 2]>),
}

fn one() -> u32 {
    1
}

impl Pattern for Bulk {
    fn flows(&self, context: &Context<'_>) -> Result<Vec<Flow>, SpecError> {
        self.check_times()?;
        let mut random = context.random();
        let pairs = match &self.pairs {
            None => self.matched(context)?,
            Some(_) if self.from.is_some() || self.to.is_some() => {
                let field = if self.from.is_some() { "from" } else { "to" };
                return Err(SpecError::new(
                    field,
                    "given beside pairs",
                    "either pairs, or from and to",
                ));
            }
            Some(Pairs::Permutation) => {
                let hosts = context.hosts.len() as u32;
                if hosts < 2 {
                    let given = format!("a permutation of {hosts} hosts");
                    return Err(SpecError::new("pairs", given, "at least 2 hosts"));
                }
                (0..hosts).zip(random::derangement(hosts, &mut random)).collect()
            }
            Some(Pairs::Listed(listed)) => resolve_pairs(listed, context)?,
        };
        let total = pairs.len() as u64 * u64::from(self.count);
        if !(1..=MAX_FLOWS).contains(&total) {
            let given = format!("{} for {} pairs makes {total} flows", self.count, pairs.len());
            return Err(SpecError::new(
                "count",
                given,
                format!("1 to {MAX_FLOWS} flows in all"),
            ));
        }
        let mut flows = Vec::with_capacity(total as usize);
        for (from, to) in pairs {
            for _ in 0..self.count {
                flows.push(Flow {
                    from,
                    to,
                    size: self.size,
                    start: Time(self.start.0 + random::up_to(self.jitter, &mut random).0),
                    stop: self.stop,
                    transport: context.transport,
                    traffic: context.traffic,
                    round: 0,
                });
            }
        }
        Ok(flows)
    }
}

impl Bulk {
    fn check_times(&self) -> Result<(), SpecError> {
        let Some(latest) = self.start.0.checked_add(self.jitter.0).map(Time) else {
            return Err(SpecError::new(
                "jitter",
                self.jitter.to_string(),
                "less: start and jitter overflow",
            ));
        };
        if self.size == Some(Size(0)) {
            return Err(SpecError::new("size", "0B", "a size above 0"));
        }
        match (self.stop, self.size) {
            (Some(_), Some(_)) => Err(SpecError::new("stop", "given beside size", "either stop or size")),
            (Some(stop), None) if stop <= latest => {
                let given = format!("{stop} is not after the start");
                Err(SpecError::new(
                    "stop",
                    given,
                    format!("a time above {latest} (start and jitter)"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Pairs made of `from` and `to`.
    fn matched(&self, context: &Context<'_>) -> Result<Vec<(u32, u32)>, SpecError> {
        let side = |set: &Option<HostSet>, field: &str| match set {
            Some(set) => set.resolve(context).map_err(|error| error.under(field)),
            None => Err(SpecError::new(field, "missing", "from and to, or pairs")),
        };
        let (from, to) = (side(&self.from, "from")?, side(&self.to, "to")?);
        let pairs: Vec<(u32, u32)> = match (from.as_slice(), to.as_slice()) {
            (_, [to]) => from.iter().map(|&from| (from, *to)).collect(),
            ([from], _) => to.iter().map(|&to| (*from, to)).collect(),
            _ if from.len() == to.len() => from.into_iter().zip(to).collect(),
            _ => {
                let given = format!("{} receivers for {} senders", to.len(), from.len());
                return Err(SpecError::new(
                    "to",
                    given,
                    "one receiver, one sender, or as many of both",
                ));
            }
        };
        match pairs.iter().find(|(from, to)| from == to) {
            Some(&(host, _)) => Err(to_itself(host, context).under("to")),
            None => Ok(pairs),
        }
    }
}

fn resolve_pairs(listed: &[[HostRef; 2]], context: &Context<'_>) -> Result<Vec<(u32, u32)>, SpecError> {
    let mut pairs = Vec::with_capacity(listed.len());
    for (i, pair) in listed.iter().enumerate() {
        let [from, to] = [0, 1].map(|side| {
            pair[side]
                .resolve(context)
                .map_err(|error| error.under(&format!("pairs[{i}][{side}]")))
        });
        let (from, to) = (from?, to?);
        if from == to {
            return Err(to_itself(from, context).under(&format!("pairs[{i}]")));
        }
        pairs.push((from, to));
    }
    Ok(pairs)
}

fn to_itself(host: u32, context: &Context<'_>) -> SpecError {
    let name = context.hosts[host as usize];
    SpecError::new(
        "",
        format!("{name:?} would send to itself"),
        "two different hosts",
    )
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Pairs::Permutation => to.serialize_str("permutation"),
            Pairs::Listed(pairs) => pairs.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"permutation\", or a list of pairs [FROM, TO] of hosts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Pairs, E> {
                match text {
                    "permutation" => Ok(Pairs::Permutation),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = items.next_element()? {
                    pairs.push(pair);
                }
                Ok(Pairs::Listed(pairs))
            }
        }
        from.deserialize_any(PairsVisitor)
    }
}

impl JsonSchema for Pairs {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pairs".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let pair = <[HostRef; 2]>::json_schema(generator);
        json_schema!({ "anyOf": [{ "const": "permutation" }, { "type": "array", "items": pair }] })
    }
}
