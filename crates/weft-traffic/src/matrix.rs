//! Traffic matrices: the receivers of each sender.

use std::fmt;

use rand::{Rng, RngExt};
use schemars::{JsonSchema, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_spec::{SpecError, Within, conflict, from_table, inline_schema, refuse};

use crate::{HostRef, HostSet, PatternContext, PossiblePairs, random};

/// A traffic matrix in a spec.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairs {
    /// A random permutation of all hosts without fixed points.
    Permutation,
    /// Each flow goes to another host that is drawn for it.
    Random,
    /// Each flow goes to a host that is drawn for it by distance.
    Staggered(Staggered),
    /// Listed pairs of a sender and a receiver.
    Listed(Vec<[HostRef; 2]>),
}

/// Staggered probabilities by distance (Al-Fares et al., "Hedera", NSDI 2010, section 5.2). With
/// probability `tor`, a flow goes to a host of the same ToR. With probability `pod`, it goes to a
/// host of the same pod at another ToR. Otherwise it goes to a host elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Staggered {
    /// Probability of a host of the same ToR: two links away.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tor: f64,
    /// Probability of a host of the same pod at another ToR: four links away.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pod: f64,
}

/// A traffic matrix over the hosts of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    /// Senders in order; a sender of several listed pairs occurs once per pair.
    pub senders: Vec<u32>,
    rule: ReceiverRule,
}

#[derive(Clone, Debug)]
enum ReceiverRule {
    /// The receiver of each sender, in the order of the senders.
    Fixed(Vec<u32>),
    /// Possible receivers, sorted.
    Random(Vec<u32>),
    /// The other hosts of each sender, by distance: same ToR, same pod, elsewhere.
    Staggered(Staggered, Vec<[Vec<u32>; 3]>),
}

impl Matrix {
    /// Returns the receiver of a flow of the `i`-th sender.
    pub fn receiver(&self, i: usize, rng: &mut impl Rng) -> u32 {
        match &self.rule {
            ReceiverRule::Fixed(receivers) => receivers[i],
            ReceiverRule::Random(receivers) => {
                let from = self.senders[i];
                match receivers.binary_search(&from) {
                    Err(_) => receivers[rng.random_range(0..receivers.len())],
                    Ok(itself) => {
                        let drawn = rng.random_range(0..receivers.len() - 1);
                        receivers[drawn + usize::from(drawn >= itself)]
                    }
                }
            }
            ReceiverRule::Staggered(shares, hosts) => {
                let u: f64 = rng.random();
                let distance = if u < shares.tor {
                    0
                } else if u < shares.tor + shares.pod {
                    1
                } else {
                    2
                };
                // Rounding may make the sum of the three slightly less than one if the last is
                // impossible.
                let [near, pod, far] = &hosts[i];
                let preferred = [[near, pod, far], [pod, near, far], [far, pod, near]][distance];
                let receivers = preferred
                    .into_iter()
                    .find(|hosts| !hosts.is_empty())
                    .unwrap_or(near);
                receivers[rng.random_range(0..receivers.len())]
            }
        }
    }

    /// Returns the pairs between which flows may open.
    pub fn pairs(&self) -> PossiblePairs {
        let senders = self.senders.clone();
        match &self.rule {
            ReceiverRule::Fixed(receivers) => {
                PossiblePairs::Listed(senders.into_iter().zip(receivers.iter().copied()).collect())
            }
            ReceiverRule::Random(receivers) => PossiblePairs::Product(senders, receivers.clone()),
            ReceiverRule::Staggered(_, hosts) => {
                let of_sender = |(from, hosts): (u32, &[Vec<u32>; 3])| {
                    let receivers = hosts.iter().flatten().copied();
                    receivers.map(move |to| (from, to)).collect::<Vec<_>>()
                };
                PossiblePairs::Listed(senders.into_iter().zip(hosts).flat_map(of_sender).collect())
            }
        }
    }
}

impl Pairs {
    /// Resolves a matrix; `from` restricts the senders, `to` the receivers.
    ///
    /// # Errors
    /// Returns an error at one of the paths `pairs`, `from` and `to`.
    pub(crate) fn resolve(
        &self,
        from: Option<&HostSet>,
        to: Option<&HostSet>,
        context: &PatternContext<'_>,
        rng: &mut impl Rng,
    ) -> Result<Matrix, SpecError> {
        let hosts = context.hosts.len() as u32;
        if let (Pairs::Listed(_), Some(_)) = (self, from) {
            return conflict(
                "from",
                "given together with a list of pairs",
                "remove one of the two",
            );
        }
        if to.is_some() && *self != Pairs::Random {
            return conflict(
                "to",
                "not used with these pairs",
                "remove it or use pairs = \"random\"",
            );
        }
        let senders = match from {
            None => (0..hosts).collect(),
            Some(set) => non_empty(set.resolve(context), "from")?,
        };
        match self {
            Pairs::Permutation if hosts < 2 => {
                let given = format!("a permutation of {hosts} hosts");
                refuse("pairs", given, "at least 2 hosts")
            }
            Pairs::Permutation => {
                let all = random::derangement(hosts, rng);
                let receivers = senders.iter().map(|&from| all[from as usize]).collect();
                Ok(Matrix {
                    senders,
                    rule: ReceiverRule::Fixed(receivers),
                })
            }
            Pairs::Random => {
                let mut receivers = match to {
                    None => (0..hosts).collect(),
                    Some(set) => non_empty(set.resolve(context), "to")?,
                };
                receivers.sort_unstable();
                if let [only] = receivers[..]
                    && senders.contains(&only)
                {
                    let field = if to.is_some() { "to" } else { "pairs" };
                    return Err(self_flow_error(only, context).within(field));
                }
                Ok(Matrix {
                    senders,
                    rule: ReceiverRule::Random(receivers),
                })
            }
            Pairs::Staggered(staggered) => staggered.resolve(senders, context).map_err(|e| e.within("pairs")),
            Pairs::Listed(listed) => {
                let (senders, receivers) = listed_pairs(listed, context)?.into_iter().unzip();
                Ok(Matrix {
                    senders,
                    rule: ReceiverRule::Fixed(receivers),
                })
            }
        }
    }
}

/// Checks that a set has at least one host.
fn non_empty(hosts: Result<Vec<u32>, SpecError>, field: &str) -> Result<Vec<u32>, SpecError> {
    let hosts = hosts.within(field)?;
    if hosts.is_empty() {
        return refuse(field, "no hosts", "at least one host");
    }
    Ok(hosts)
}

impl Staggered {
    fn resolve(self, senders: Vec<u32>, context: &PatternContext<'_>) -> Result<Matrix, SpecError> {
        let rest = 1.0 - self.tor - self.pod;
        if rest < -1e-9 {
            let given = format!("{} with tor = {}", self.pod, self.tor);
            return refuse("pod", given, format!("at most {}", 1.0 - self.tor));
        }
        let Some(distance) = context.distance else {
            return conflict(
                "",
                "staggered probabilities need distances",
                "use another topology",
            );
        };
        let mut rings = Vec::with_capacity(senders.len());
        for &from in &senders {
            let mut ring = [Vec::new(), Vec::new(), Vec::new()];
            for to in (0..context.hosts.len() as u32).filter(|&to| to != from) {
                match distance(from, to) {
                    0 => {} // not connected
                    1 | 2 => ring[0].push(to),
                    3 | 4 => ring[1].push(to),
                    _ => ring[2].push(to),
                }
            }
            let wanted = [
                ("tor", self.tor, "at its ToR"),
                ("pod", self.pod, "of its pod at another ToR"),
                ("pod", rest, "outside its pod"),
            ];
            for ((field, p, location), hosts) in wanted.into_iter().zip(&ring) {
                if p > 1e-9 && hosts.is_empty() {
                    let name = context.hosts[from as usize];
                    let given = format!("{p:.3} for hosts {location}, of which {name:?} has none");
                    return refuse(field, given, "0");
                }
            }
            rings.push(ring);
        }
        Ok(Matrix {
            senders,
            rule: ReceiverRule::Staggered(self, rings),
        })
    }
}

fn listed_pairs(listed: &[[HostRef; 2]], context: &PatternContext<'_>) -> Result<Vec<(u32, u32)>, SpecError> {
    let mut pairs = Vec::with_capacity(listed.len());
    for (i, pair) in listed.iter().enumerate() {
        let [from, to] =
            [0, 1].map(|side| pair[side].resolve(context).within(&format!("pairs[{i}][{side}]")));
        let (from, to) = (from?, to?);
        if from == to {
            return Err(self_flow_error(from, context).within(&format!("pairs[{i}]")));
        }
        pairs.push((from, to));
    }
    Ok(pairs)
}

/// Returns the error for a host that would send to itself.
pub(crate) fn self_flow_error(host: u32, context: &PatternContext<'_>) -> SpecError {
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
            Pairs::Random => to.serialize_str("random"),
            Pairs::Staggered(staggered) => staggered.serialize(to),
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
                f.write_str(
                    "\"permutation\", \"random\", staggered probabilities { tor, pod }, or a list of pairs [FROM, TO] of hosts",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Pairs, E> {
                match text {
                    "permutation" => Ok(Pairs::Permutation),
                    "random" => Ok(Pairs::Random),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pairs, A::Error> {
                let table = toml::Table::deserialize(MapAccessDeserializer::new(map))?;
                let staggered = from_table(&table).map_err(|error| error.to_serde_error::<A::Error>())?;
                Ok(Pairs::Staggered(staggered))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Pairs, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Pairs::Listed)
            }
        }
        from.deserialize_any(PairsVisitor)
    }
}

inline_schema!(Pairs, |generator| {
    let pair = <[HostRef; 2]>::json_schema(generator);
    let staggered = generator.subschema_for::<Staggered>();
    json_schema!({ "anyOf": [
            { "type": "string", "enum": ["permutation", "random"] },
            staggered,
            { "type": "array", "items": pair },
        ] })
});
