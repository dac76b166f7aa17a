//! Conversion of the transports of a spec to those of the simulator.

use std::sync::Arc;

use weft_bpf_native::NativeFactory;
use weft_cc::{Algorithm, AlgorithmFactory};
use weft_fabric::Fabric;
use weft_packet::TRANSPORTS;
use weft_paths::{POLICIES, Policy};
use weft_run::{Backend, KindSettings, Scheduler};
use weft_spec::{
    Cc, MAX_CLASS, MAX_SUBFLOWS, PROFILES, PathPolicySpec, ProfilePatch, SpecError, find, to_table,
};

use crate::{constant_rate, ndp, refused, roce, uet};

/// A packet scheduler with its name.
pub(crate) struct NamedScheduler {
    pub name: &'static str,
    pub about: &'static str,
    scheduler: Scheduler,
}

/// All packet schedulers.
pub(crate) const SCHEDULERS: &[NamedScheduler] = &[
    NamedScheduler {
        name: "round-robin",
        about: "subflows with window space, in turn (default of profile amp-2019)",
        scheduler: Scheduler::RoundRobin,
    },
    NamedScheduler {
        name: "lowest-rtt",
        about: "the subflow with the lowest smoothed RTT among those with window space",
        scheduler: Scheduler::LowestRtt,
    },
    NamedScheduler {
        name: "linux",
        about: "bursts, ahead of windows, to the subflow that will finish first, as in Linux (default of profile linux)",
        scheduler: Scheduler::Linux,
    },
];

/// Resolves a transport. Returns it with every default filled in, and its configuration. Paths of
/// errors are relative to the transport. `custom_algorithms` are user-defined congestion controls,
/// `policy` is the default of the topology, which is `fabric`.
pub(crate) fn resolve(
    spec: &weft_spec::TransportSpec,
    custom_algorithms: &[Arc<dyn AlgorithmFactory>],
    policy: &str,
    fabric: &Fabric,
) -> Result<(weft_spec::TransportSpec, weft_run::TransportConfig), SpecError> {
    let kind = TRANSPORTS
        .iter()
        .map(|kind| kind.name())
        .find(|&name| name == spec.kind)
        .ok_or_else(|| {
            SpecError::unknown_name("kind", &spec.kind, TRANSPORTS.iter().map(|kind| kind.name()))
        })?;
    let is_tcp = kind == "tcp";
    check_fields(spec, kind)?;
    let (cc, algorithm) = if is_tcp {
        congestion_control(&spec.cc, custom_algorithms)?
    } else {
        // Nothing reads the algorithm of other kinds.
        let algorithm = Algorithm::build("reno", &[]).map_err(|error| cc_error(&error, &[]))?;
        (Cc::default(), algorithm)
    };
    if !(1..=MAX_SUBFLOWS).contains(&spec.subflows) {
        return Err(SpecError::new(
            "subflows",
            spec.subflows.to_string(),
            format!("1 to {MAX_SUBFLOWS}"),
        ));
    }
    for (field, class) in [("class", Some(spec.class)), ("ack_class", spec.ack_class)] {
        if let Some(class) = class.filter(|&class| class > MAX_CLASS) {
            let allowed = format!("0 to {MAX_CLASS}");
            return Err(SpecError::new(field, class.to_string(), allowed));
        }
    }
    let base = PROFILES
        .iter()
        .find(|named| named.name == spec.profile)
        .ok_or_else(|| {
            SpecError::unknown_name("profile", &spec.profile, PROFILES.iter().map(|named| named.name))
        })?;
    let scheduler = spec.scheduler.as_deref().unwrap_or(base.scheduler);
    let named = SCHEDULERS
        .iter()
        .find(|named| named.name == scheduler)
        .ok_or_else(|| {
            SpecError::unknown_name("scheduler", scheduler, SCHEDULERS.iter().map(|named| named.name))
        })?;
    let mut profile = spec
        .tcp
        .apply(&(base.build)())
        .map_err(|error| error.within("tcp"))?;
    let (paths, policy) = path_policy(spec.paths.as_ref(), policy)?;
    let mut resolved = weft_spec::TransportSpec {
        cc,
        scheduler: is_tcp.then(|| named.name.to_owned()),
        ..spec.clone()
    };
    let mut settings = KindSettings::None;
    if kind == "uet" {
        let (uet, config) = uet::resolve(&spec.uet.clone().unwrap_or_default(), &mut profile, fabric)?;
        (resolved.uet, settings) = (Some(uet), KindSettings::Uet(config));
    } else if kind == "ndp" {
        let (ndp, config) = ndp::resolve(&spec.ndp.clone().unwrap_or_default(), &mut profile, fabric)?;
        (resolved.ndp, settings) = (Some(ndp), KindSettings::Ndp(config));
    } else if kind == "roce" {
        constant_rate::check_policy(&paths, &policy)?;
        let (roce, config) = roce::resolve(&spec.roce.clone().unwrap_or_default(), &mut profile)?;
        (resolved.roce, settings) = (Some(roce), KindSettings::Roce(config));
        resolved.paths = Some(paths);
    } else {
        if !is_tcp {
            constant_rate::check_policy(&paths, &policy)?;
            settings = KindSettings::ConstantRate(constant_rate::resolve(spec, &mut profile)?);
        }
        resolved.paths = Some(paths);
        resolved.tcp = ProfilePatch(to_table(&profile));
    }
    let transport = weft_run::TransportConfig {
        kind,
        cc: algorithm,
        subflows: spec.subflows,
        paths: policy,
        join_after: spec.join_after,
        scheduler: named.scheduler,
        class: spec.class,
        ack_class: spec.ack_class.unwrap_or(spec.class),
        profile,
        settings,
    };
    Ok((resolved, transport))
}

/// Refuses the fields of other kinds.
fn check_fields(spec: &weft_spec::TransportSpec, kind: &str) -> Result<(), SpecError> {
    for (owner, given) in [("uet", spec.uet.is_some()), ("ndp", spec.ndp.is_some())] {
        if kind == owner {
            refused::tcp_settings(spec, kind)?;
        } else {
            let remedy = format!("remove it or set kind = {owner:?}");
            refused::fields(&[(owner, given)], kind, &remedy)?;
        }
    }
    if kind == "roce" {
        roce::check_tcp_absent(spec)?;
    } else {
        let remedy = "remove it or set kind = \"roce\"";
        refused::fields(&[("roce", spec.roce.is_some())], kind, remedy)?;
    }
    if kind != "constant-rate" {
        return constant_rate::check_absent(spec);
    }
    refused::tcp_fields(spec, kind)
}

/// Checks that the level has this kind of transport.
pub(crate) fn check_kind(backend: &dyn Backend, kind: &str) -> Result<(), SpecError> {
    let allowed = backend.transport_kinds();
    if allowed.contains(&kind) {
        return Ok(());
    }
    let names: Vec<_> = allowed.iter().map(|name| format!("{name:?}")).collect();
    Err(SpecError::conflict(
        "kind",
        format!("{kind:?} is not supported at level {:?}", backend.name()),
        format!("use {} or another level", names.join(", ")),
    ))
}

/// Names of policies of other simulators, with the policy that models or resembles each.
const RELATED_POLICIES: &[(&str, &str, &str)] = &[(
    "letflow",
    "flowlet",
    "which models LetFlow in the direction of data",
)];

/// Resolves the path policy. Also returns its name with all parameters.
fn path_policy(spec: Option<&PathPolicySpec>, default: &str) -> Result<(PathPolicySpec, Policy), SpecError> {
    let default = || PathPolicySpec {
        name: default.to_owned(),
        params: toml::Table::new(),
    };
    let policy = spec.cloned().unwrap_or_else(default);
    let entry = find(POLICIES, "paths", &policy.name).map_err(|error| {
        let related = RELATED_POLICIES.iter().find(|(name, ..)| *name == policy.name);
        related.map_or(error, |(name, model, about)| {
            let remedy = format!("use {model:?}, {about}");
            SpecError::conflict("paths", format!("{name:?} does not exist"), remedy)
        })
    })?;
    let loaded = (entry.parse)(&policy.params).map_err(|error| error.within("paths"))?;
    let resolved = PathPolicySpec {
        name: policy.name,
        params: loaded.params,
    };
    Ok((resolved, *loaded.value))
}

/// The former prefix of [`weft_bpf_native::PREFIX`], still accepted.
const FORMER_PREFIX: &str = "kernel:";

/// Resolves the algorithm. Also returns its name with all parameters.
fn congestion_control(
    spec: &Cc,
    custom_algorithms: &[Arc<dyn AlgorithmFactory>],
) -> Result<(Cc, Algorithm), SpecError> {
    if spec.is_absent() {
        let remedy = "add the name of a congestion control";
        return Err(SpecError::conflict("cc", "required field is missing", remedy));
    }
    if let Some(factory) = custom_algorithms
        .iter()
        .find(|factory| factory.name() == spec.name)
    {
        if let Some(parameter) = spec.parameters.keys().next() {
            let path = format!("cc.{parameter}");
            let problem = format!("{:?} has no parameters", spec.name);
            return Err(SpecError::conflict(path, problem, "remove it"));
        }
        return Ok((spec.clone(), Algorithm::custom(Arc::clone(factory))));
    }
    let mut resolved = spec.clone();
    if let Some(name) = spec.name.strip_prefix(FORMER_PREFIX) {
        resolved.name = format!("{}{name}", weft_bpf_native::PREFIX);
    }
    let spec = resolved.clone();
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
    use crate::backends::BACKENDS;

    use super::*;

    #[test]
    fn each_level_refuses_kinds_of_transport_that_it_lacks() {
        for &backend in BACKENDS {
            check_kind(backend, "tcp").unwrap();
            let error = check_kind(backend, "carrier-pigeon").unwrap_err();
            let level = backend.name();
            let kinds = if level == "packet" {
                "\"tcp\", \"constant-rate\", \"uet\", \"ndp\", \"roce\""
            } else {
                "\"tcp\""
            };
            let expected = format!(
                "kind: \"carrier-pigeon\" is not supported at level {level:?}; use {kinds} or another level"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
