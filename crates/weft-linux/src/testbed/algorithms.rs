//! From a spec's congestion controls to the kernel's.

use std::collections::BTreeMap;

use weft_run::Error;
use weft_run::Plan;
use weft_spec::{Cc, SpecError};

use crate::programs::{self, Name, Options, Programs};

/// The name by which the kernel knows an algorithm of the spec.
///
/// # Errors
/// It has none.
pub fn in_kernel(cc: &Cc) -> Result<&'static str, SpecError> {
    if let Some(name) = Name::parse(&cc.name) {
        return Ok(name.kernel());
    }
    if let Some(name) = OWN.into_iter().find(|name| *name == cc.name) {
        return Ok(name);
    }
    let names: Vec<_> = Name::ALL
        .iter()
        .map(|name| name.algorithm())
        .chain(OWN)
        .map(|name| format!("{name:?}"))
        .collect();
    let allowed = format!("{} at level \"linux\"", names.join(", "));
    Err(SpecError::new("cc", format!("{:?}", cc.name), allowed))
}

/// A program has one set of parameters on the whole machine, so transports with the same algorithm must agree.
///
/// So must those that join late.
///
/// # Errors
/// Two do not.
pub fn agree(plan: &Plan) -> Result<(), SpecError> {
    let mut known: BTreeMap<&str, (&str, &Cc)> = BTreeMap::new();
    let mut late = None;
    for (name, transport) in &plan.spec.transports {
        let (first, cc) = known.entry(&transport.cc.name).or_insert((name, &transport.cc));
        if cc.parameters != transport.cc.parameters {
            let given = format!(
                "{:?} with other parameters than in transports.{first}",
                transport.cc.name
            );
            let allowed = "one set of parameters per algorithm at level \"linux\"";
            return Err(SpecError::new(format!("transports.{name}.cc"), given, allowed));
        }
        if transport.join_after.0 > 0 {
            let (first, after) = *late.get_or_insert((name.as_str(), transport.join_after));
            if after != transport.join_after {
                let path = format!("transports.{name}.join_after");
                let allowed = format!("0B, or {after} as in transports.{first}, at level \"linux\"");
                return Err(SpecError::new(path, transport.join_after.to_string(), allowed));
            }
        }
    }
    Ok(())
}

/// Loads the programs of a plan's transports; none if there are none.
///
/// # Errors
/// [`Error::Missing`]: what the kernel lacks or refuses.
pub fn load(plan: &Plan) -> Result<Option<Programs>, Error> {
    let mut parameters: BTreeMap<Name, Vec<(String, f64)>> = BTreeMap::new();
    for transport in plan.spec.transports.values() {
        if let Some(name) = Name::parse(&transport.cc.name) {
            let given = transport.cc.parameters.iter();
            parameters.insert(name, given.map(|(name, value)| (name.clone(), *value)).collect());
        }
    }
    if parameters.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = parameters.keys().copied().collect();
    let options = Options {
        parameters: parameters.into_iter().collect(),
        bulk: plan
            .spec
            .transports
            .values()
            .map(|it| it.join_after.0)
            .max()
            .unwrap_or(0),
        ..Options::default()
    };
    Programs::load(&names, &options)
        .map(Some)
        .map_err(|error| match error {
            programs::Error::Parameter(_) => Error::Elsewhere(error.to_string()),
            _ => Error::Missing(error.to_string()),
        })
}

/// The kernel's own, which have no parameters.
pub const OWN: [&str; 2] = ["reno", "cubic"];
