//! Congestion controls of a spec, as those of the kernel.

use std::collections::BTreeMap;

use weft_cc::Algorithm;
use weft_run::Error;
use weft_run::Plan;
use weft_spec::{Cc, SpecError, list_names, refuse};
use weft_transports::TcpSpec;

use weft_kernel::programs::{self, KernelAlgorithm, Options, Programs};

/// Returns the kernel's name of an algorithm of the spec.
///
/// # Errors
/// Returns an error if the kernel does not have the algorithm, or has it with other parameters.
pub fn in_kernel(cc: &Cc) -> Result<&'static str, SpecError> {
    if let Some(name) = KernelAlgorithm::parse(&cc.name) {
        return Ok(name.kernel());
    }
    if let Some(name) = OWN.into_iter().find(|name| *name == cc.name) {
        let built_in = Algorithm::BUILT_IN.iter().find(|entry| entry.name == name);
        for known in built_in.map_or(&[][..], |entry| entry.parameters) {
            let value = cc.parameters.get(known.name).copied().unwrap_or(known.default);
            // `ecn` is a setting of the hosts, see `classic_ecn`.
            if value != known.default && known.name != "ecn" {
                let allowed = format!("{}, as the kernel has it, at level \"linux\"", known.default);
                return refuse(format!("cc.{}", known.name), value, allowed);
            }
        }
        return Ok(name);
    }
    let kernel = KernelAlgorithm::ALL.iter().map(|name| name.algorithm());
    let allowed = format!("{} at level \"linux\"", list_names(kernel.chain(OWN)));
    refuse("cc", format!("{:?}", cc.name), allowed)
}

/// Returns the names and the fields of a plan's transports, all of which are of kind `tcp`.
///
/// # Errors
/// Returns an error if one is of another kind.
pub fn tcp_specs(plan: &Plan) -> Result<Vec<(&str, TcpSpec)>, SpecError> {
    let transports = plan.spec.transports.iter();
    transports
        .map(|(name, transport)| Ok((name.as_str(), TcpSpec::from_spec(transport)?)))
        .collect()
}

/// A program has one set of parameters on the whole machine, so transports with the same algorithm must agree.
///
/// So must those that join late.
///
/// # Errors
/// Two do not.
pub fn agree(plan: &Plan) -> Result<(), SpecError> {
    let transports = tcp_specs(plan)?;
    let mut known: BTreeMap<&str, (&str, &Cc)> = BTreeMap::new();
    let mut late = None;
    for (name, transport) in &transports {
        let (first, cc) = known.entry(&transport.cc.name).or_insert((name, &transport.cc));
        if cc.parameters != transport.cc.parameters {
            let value = format!(
                "{:?} with other parameters than in transports.{first}",
                transport.cc.name
            );
            let allowed = "one set of parameters per algorithm at level \"linux\"";
            return refuse(format!("transports.{name}.cc"), value, allowed);
        }
        if transport.join_after.0 > 0 {
            let (first, after) = *late.get_or_insert((*name, transport.join_after));
            if after != transport.join_after {
                let path = format!("transports.{name}.join_after");
                let allowed = format!("0B, or {after} as in transports.{first}, at level \"linux\"");
                return refuse(path, transport.join_after, allowed);
            }
        }
    }
    Ok(())
}

/// Returns whether the hosts ask for ECN as in RFC 3168 (`net.ipv4.tcp_ecn = 1`), by which a sender handles a mark like a loss. By
/// default hosts do not, as in Linux, and algorithms that need marks ask for themselves. `cubic` with `ecn = 1` and `lia` with
/// `beta = 2` use it.
///
/// # Errors
/// Returns an error if some transports use classic ECN and others no ECN, or if `lia` has another `beta`.
pub fn classic_ecn(plan: &Plan) -> Result<bool, SpecError> {
    let transports = tcp_specs(plan)?;
    let mut known: Option<(&str, bool)> = None;
    for (name, transport) in &transports {
        let cc = &transport.cc;
        let parameter = |name: &str| cc.parameters.get(name).copied().unwrap_or(0.0);
        let asks = match cc.name.as_str() {
            "balia" | "olia" | "reno" | "wvegas" => false,
            "cubic" => parameter("ecn") != 0.0,
            "lia" => parameter("beta") != 0.0,
            _ => continue,
        };
        if cc.name == "lia" && asks && parameter("beta") != 2.0 {
            let allowed = "0, or 2 for ECN as in RFC 3168, at level \"linux\"";
            let path = format!("transports.{name}.cc.beta");
            return refuse(path, parameter("beta").to_string(), allowed);
        }
        let (first, all) = *known.get_or_insert((name, asks));
        if all != asks {
            let with = |asks| if asks { "with" } else { "without" };
            let value = format!(
                "{:?} {} ECN, transports.{first} {} it",
                cc.name,
                with(asks),
                with(all)
            );
            let allowed = "the same ECN as in RFC 3168 for all, at level \"linux\"";
            return refuse(format!("transports.{name}.cc"), value, allowed);
        }
    }
    Ok(known.is_some_and(|(_, asks)| asks))
}

/// Loads the programs of a plan's transports; none if there are none.
///
/// # Errors
/// [`Error::MissingRequirement`]: what the kernel lacks or refuses.
pub fn load(plan: &Plan) -> Result<Option<Programs>, Error> {
    let mut parameters: BTreeMap<KernelAlgorithm, Vec<(String, f64)>> = BTreeMap::new();
    let transports = tcp_specs(plan).map_err(|error| Error::Internal(error.to_string()))?;
    for (_, transport) in &transports {
        if let Some(name) = KernelAlgorithm::parse(&transport.cc.name) {
            let values = transport.cc.parameters.iter();
            // `lia` has its ECN from the hosts, see `classic_ecn`.
            let values =
                values.filter(|(parameter, _)| (name, parameter.as_str()) != (KernelAlgorithm::Lia, "beta"));
            parameters.insert(name, values.map(|(name, value)| (name.clone(), *value)).collect());
        }
    }
    if parameters.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = parameters.keys().copied().collect();
    let options = Options {
        parameters: parameters.into_iter().collect(),
        join_after: transports
            .iter()
            .map(|(_, transport)| transport.join_after.0)
            .max()
            .unwrap_or(0),
        ..Options::default()
    };
    Programs::load(&names, &options)
        .map(Some)
        .map_err(|error| match error {
            programs::Error::Parameter(_) => Error::Unsupported(error.to_string()),
            _ => Error::MissingRequirement(error.to_string()),
        })
}

/// The kernel's own; of their parameters only those that choose ECN can be set.
pub const OWN: [&str; 2] = ["reno", "cubic"];
