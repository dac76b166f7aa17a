//! References to hosts in a spec.

use std::collections::HashSet;
use std::fmt;

use schemars::json_schema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_spec::{SpecError, Within, inline_schema, refuse, whole_number};

use crate::PatternContext;

/// A reference to a host by its name ("h3") or its index (3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRef {
    /// Index among the fabric's hosts.
    Index(u32),
    /// Name of the host.
    Name(String),
}

/// A set of hosts: one, a range of indices ("0..8" without 8), "all", or a list of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostSet {
    /// One host.
    One(HostRef),
    /// Hosts by index; the second index is excluded.
    Range(u32, u32),
    /// All hosts.
    #[default]
    All,
    /// Several of the above, in order.
    List(Vec<HostSet>),
}

impl HostRef {
    /// Returns the index of the host.
    ///
    /// # Errors
    /// Returns an error, without a path, if there is no such host.
    pub fn resolve(&self, context: &PatternContext<'_>) -> Result<u32, SpecError> {
        let found = match self {
            HostRef::Index(index) => Some(*index).filter(|&i| (i as usize) < context.hosts.len()),
            HostRef::Name(name) => context.host(name),
        };
        found.ok_or_else(|| SpecError::new("", format!("host {self} does not exist"), existing(context)))
    }
}

impl HostSet {
    /// Returns the indices of the hosts, in order, each once.
    ///
    /// # Errors
    /// Returns the errors of [`resolve_all`](Self::resolve_all), and an error if a host is given
    /// twice.
    pub fn resolve(&self, context: &PatternContext<'_>) -> Result<Vec<u32>, SpecError> {
        let hosts = self.resolve_all(context)?;
        let mut seen = HashSet::with_capacity(hosts.len());
        match hosts.iter().find(|&&host| !seen.insert(host)) {
            Some(&twice) => Err(duplicate(twice, context)),
            None => Ok(hosts),
        }
    }

    /// Returns the indices of the hosts, in order. A host that is given twice occurs twice.
    ///
    /// # Errors
    /// Returns an error if there is no such host, or if the range is empty; its path leads into the
    /// list.
    pub(crate) fn resolve_all(&self, context: &PatternContext<'_>) -> Result<Vec<u32>, SpecError> {
        match self {
            HostSet::One(host) => Ok(vec![host.resolve(context)?]),
            HostSet::All => Ok((0..context.hosts.len() as u32).collect()),
            HostSet::Range(from, to) => {
                if from >= to || *to as usize > context.hosts.len() {
                    let problem = if from >= to {
                        "is empty"
                    } else {
                        "goes beyond the last host"
                    };
                    return refuse("", format!("\"{from}..{to}\" {problem}"), existing(context));
                }
                Ok((*from..*to).collect())
            }
            HostSet::List(items) => {
                let mut hosts = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    hosts.extend(item.resolve_all(context).within(&format!("[{i}]"))?);
                }
                Ok(hosts)
            }
        }
    }
}

/// Returns the error for a host that a set contains twice.
fn duplicate(host: u32, context: &PatternContext<'_>) -> SpecError {
    let given = format!("{:?} is given twice", context.hosts[host as usize]);
    SpecError::new("", given, "each host once")
}

fn existing(context: &PatternContext<'_>) -> String {
    let count = context.hosts.len();
    match (context.hosts.first(), context.hosts.last()) {
        (Some(first), Some(last)) => {
            format!(
                "{count} hosts, by index 0 to {} or by name {first:?} to {last:?}",
                count - 1
            )
        }
        _ => "nothing: there are no hosts".to_owned(),
    }
}

impl fmt::Display for HostRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostRef::Index(index) => write!(f, "{index}"),
            HostRef::Name(name) => write!(f, "{name:?}"),
        }
    }
}

impl Serialize for HostRef {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            HostRef::Index(index) => to.serialize_u32(*index),
            HostRef::Name(name) => to.serialize_str(name),
        }
    }
}

impl Serialize for HostSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            HostSet::One(host) => host.serialize(to),
            HostSet::Range(from, end) => to.collect_str(&format_args!("{from}..{end}")),
            HostSet::All => to.serialize_str("all"),
            HostSet::List(items) => items.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for HostRef {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RefVisitor)
    }
}

impl<'de> Deserialize<'de> for HostSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SetVisitor)
    }
}

struct RefVisitor;

impl Visitor<'_> for RefVisitor {
    type Value = HostRef;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a host by name or index")
    }
    fn visit_i64<E: Error>(self, index: i64) -> Result<HostRef, E> {
        let index = u32::try_from(index).map_err(|_| E::invalid_value(Unexpected::Signed(index), &self))?;
        Ok(HostRef::Index(index))
    }
    fn visit_f64<E: Error>(self, index: f64) -> Result<HostRef, E> {
        match whole_number(index) {
            Some(index) => self.visit_i64(index),
            None => Err(E::invalid_type(Unexpected::Float(index), &self)),
        }
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<HostRef, E> {
        Ok(HostRef::Name(name.to_owned()))
    }
}

struct SetVisitor;

impl<'de> Visitor<'de> for SetVisitor {
    type Value = HostSet;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "hosts: a name, an index, a range of indices such as \"0..8\", \"all\", or a list of these",
        )
    }
    fn visit_i64<E: Error>(self, index: i64) -> Result<HostSet, E> {
        let index = u32::try_from(index).map_err(|_| E::invalid_value(Unexpected::Signed(index), &self))?;
        Ok(HostSet::One(HostRef::Index(index)))
    }
    fn visit_f64<E: Error>(self, index: f64) -> Result<HostSet, E> {
        match whole_number(index) {
            Some(index) => self.visit_i64(index),
            None => Err(E::invalid_type(Unexpected::Float(index), &self)),
        }
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<HostSet, E> {
        if text == "all" {
            return Ok(HostSet::All);
        }
        let range = text.split_once("..").map(|(from, to)| (from.parse(), to.parse()));
        Ok(match range {
            Some((Ok(from), Ok(to))) => HostSet::Range(from, to),
            _ => HostSet::One(HostRef::Name(text.to_owned())),
        })
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<HostSet, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(HostSet::List)
    }
}

inline_schema!(
    HostRef,
    |_| json_schema!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }], "examples": ["h0", 0] })
);

inline_schema!(HostSet, |_| {
    let one = json_schema!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] });
    json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }, { "type": "array", "items": one }],
        "examples": ["h0", "0..8", "all", ["h0", "h5"]],
    })
});
