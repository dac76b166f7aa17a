//! The congestion controls that a spec can name, and the kinds of transport of a level.

use std::sync::Arc;

use weft_bpf_native::NativeFactory;
use weft_cc::{Algorithm, AlgorithmFactory};
use weft_run::Backend;
use weft_spec::{Cc, SpecError, conflict, list_names};

/// Checks that the level has this kind of transport.
pub(crate) fn check_kind(backend: &dyn Backend, kind: &str) -> Result<(), SpecError> {
    let allowed = backend.transport_kinds();
    if allowed.contains(&kind) {
        return Ok(());
    }
    conflict(
        "kind",
        format!("{kind:?} is not supported at level {:?}", backend.level().name),
        format!("use {} or another level", list_names(allowed)),
    )
}

/// Resolves the algorithm. Also returns its name with all parameters.
pub(crate) fn congestion_control(
    spec: &Cc,
    custom_algorithms: &[Arc<dyn AlgorithmFactory>],
) -> Result<(Cc, Algorithm), SpecError> {
    if let Some(factory) = custom_algorithms
        .iter()
        .find(|factory| factory.name() == spec.name)
    {
        if let Some(parameter) = spec.parameters.keys().next() {
            let path = format!("cc.{parameter}");
            let problem = format!("{:?} has no parameters", spec.name);
            return conflict(path, problem, "remove it");
        }
        return Ok((spec.clone(), Algorithm::custom(Arc::clone(factory))));
    }
    let mut resolved = spec.clone();
    let params: Vec<(String, f64)> = spec.parameters.clone().into_iter().collect();
    let algorithm = build(&spec.name, &params).map_err(|error| cc_error(&error, custom_algorithms))?;
    let named = algorithms().find(|(name, _)| *name == spec.name);
    for parameter in named.map_or(&[][..], |(_, entry)| entry.parameters) {
        resolved
            .parameters
            .entry(parameter.name.to_owned())
            .or_insert(parameter.default);
    }
    Ok((resolved, algorithm))
}

/// Returns all congestion controls, the built-in ones and those of the kernel's BPF programs: the
/// name in a spec and the registry entry of the algorithm.
pub(crate) fn algorithms() -> impl Iterator<Item = (&'static str, weft_cc::AlgorithmInfo)> {
    let built_in = Algorithm::BUILT_IN.iter().map(|entry| (entry.name, *entry));
    built_in.chain(NativeFactory::all())
}

fn build(name: &str, params: &[(String, f64)]) -> Result<Algorithm, weft_cc::Error> {
    if name.starts_with(weft_bpf_native::PREFIX) {
        Ok(Algorithm::custom(NativeFactory::factory(name, params)?))
    } else {
        Algorithm::build(name, params)
    }
}

fn cc_error(error: &weft_cc::Error, custom_algorithms: &[Arc<dyn AlgorithmFactory>]) -> SpecError {
    use weft_cc::Error;
    match error {
        Error::Algorithm { name } => {
            let names = algorithms().map(|(name, _)| name);
            SpecError::unknown_name(
                "cc",
                name,
                names.chain(custom_algorithms.iter().map(|factory| factory.name())),
            )
        }
        Error::Parameter { algorithm, name } => {
            let entry = Algorithm::BUILT_IN.iter().find(|entry| entry.name == *algorithm);
            let names: Vec<_> = entry
                .map_or(&[][..], |entry| entry.parameters)
                .iter()
                .map(|p| p.name)
                .collect();
            let path = format!("cc.{name}");
            if names.is_empty() {
                let problem = format!("{algorithm:?} has no parameters");
                return SpecError::conflict(path, problem, "remove it");
            }
            SpecError::new(path, "unknown parameter", format!("name, {}", names.join(", ")))
                .suggest(name, names)
        }
        Error::Repeated { parameter, .. } => {
            SpecError::conflict(format!("cc.{parameter}"), "given twice", "remove one of the two")
        }
        Error::Value { parameter, value, .. } => SpecError::new(
            format!("cc.{}", parameter.name),
            value.to_string(),
            parameter.allowed.to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use weft_transports::KINDS;

    use crate::backends::BACKENDS;

    use super::*;

    #[test]
    fn each_level_refuses_kinds_of_transport_that_it_lacks() {
        for &backend in BACKENDS {
            check_kind(backend, "tcp").unwrap();
            let error = check_kind(backend, "carrier-pigeon").unwrap_err();
            let level = backend.level().name;
            let kinds: Vec<_> = backend
                .transport_kinds()
                .iter()
                .map(|kind| format!("{kind:?}"))
                .collect();
            assert_eq!(kinds.len(), if level == "packet" { KINDS.len() } else { 1 });
            let kinds = kinds.join(", ");
            let expected = format!(
                "kind: \"carrier-pigeon\" is not supported at level {level:?}; use {kinds} or another level"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
