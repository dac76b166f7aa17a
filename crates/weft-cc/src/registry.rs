//! The registry of congestion controls, with the name, the parameters and the constructor of each.

use crate::{
    Ack, AlgorithmFactory, CongestionControl, Custom, Echo, Elapsed, Parameter, Response, Round, Window,
};

/// Declares [`Algorithm`] and the functions over all algorithms, from one line per algorithm: its
/// name and its type. The module of the type also has its `Parameters`.
macro_rules! algorithms {
    ($($name:literal => $module:ident::$type:ident,)+) => {
        /// A congestion control with its parameters and the state of one connection.
        ///
        /// The clone of an unused algorithm has the state of a new connection. Events of a built-in
        /// algorithm cost a `match`, not a boxed call.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                $type(crate::$module::$type),
            )+
            /// A user-defined algorithm.
            Custom(Custom),
        }

        impl Algorithm {
            /// The built-in algorithms, sorted by name.
            pub const BUILT_IN: &[AlgorithmInfo] =
                &[$(AlgorithmInfo {
                    name: $name,
                    about: crate::$module::$type::ABOUT,
                    parameters: crate::$module::Parameters::ALL,
                },)+];

            /// Returns a name of [`BUILT_IN`](Self::BUILT_IN), or the name that the factory gives.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$type(_) => $name,)+
                    Self::Custom(custom) => custom.name(),
                }
            }

            /// Creates the built-in algorithm `name` from values of parameters by name.
            fn from_lookup(name: &str, value: impl Fn(&str) -> f64) -> Option<Self> {
                match name {
                    $($name => {
                        let parameters = crate::$module::Parameters::from_lookup(value);
                        Some(Self::$type(crate::$module::$type::new(parameters)))
                    })+
                    _ => None,
                }
            }
        }

        algorithms!(@forward
            [$($type)+ Custom]
            fn on_open(s: usize);
            fn on_ack(s: usize, ack: Ack);
            fn on_mark(s: usize);
            fn on_round(s: usize, round: Round);
            fn on_fast_retransmit(s: usize);
            fn on_timeout(s: usize, first: bool);
            fn on_undo(s: usize);
            fn on_restart(s: usize, idle: f64, now: Elapsed);
            fn on_close(s: usize);
        );
    };
    (@forward $types:tt $(fn $event:ident($($argument:ident: $kind:ty),+);)+) => {
        impl CongestionControl for Algorithm {
            #[inline]
            fn echo(&self) -> Echo {
                algorithms!(@match $types self, cc => cc.echo())
            }
            #[inline]
            fn pacing_rate(&self, w: &[Window], s: usize) -> Option<f64> {
                algorithms!(@match $types self, cc => cc.pacing_rate(w, s))
            }
            fn response(&self) -> Option<&dyn Response> {
                algorithms!(@match $types self, cc => cc.response())
            }
            #[inline]
            fn may_suppress_on_ack(&self) -> bool {
                algorithms!(@match $types self, cc => cc.may_suppress_on_ack())
            }
            #[inline]
            fn reacts_to_mark(&self, w: &[Window], s: usize) -> bool {
                algorithms!(@match $types self, cc => cc.reacts_to_mark(w, s))
            }
            fn restarts_after_idle(&self) -> bool {
                algorithms!(@match $types self, cc => cc.restarts_after_idle())
            }
            fn rounds_end_beyond(&self) -> bool {
                algorithms!(@match $types self, cc => cc.rounds_end_beyond())
            }
            fn extra_sndbuf_bursts(&self) -> u32 {
                algorithms!(@match $types self, cc => cc.extra_sndbuf_bursts())
            }
            $(
                #[inline]
                fn $event(&mut self, w: &mut [Window], $($argument: $kind),+) {
                    algorithms!(@match $types self, cc => cc.$event(w, $($argument),+));
                }
            )+
        }
    };
    (@match [$($type:ident)+] $self:ident, $cc:ident => $call:expr) => {
        match $self { $(Algorithm::$type($cc) => $call,)+ }
    };
}

algorithms! {
    "amp" => amp::Amp,
    "amp-fg" => amp_fg::AmpFg,
    "balia" => balia::Balia,
    "cubic" => cubic::Cubic,
    "dcm" => dcm::Dcm,
    "dctcp" => dctcp::Dctcp,
    "fully-coupled" => fully_coupled::FullyCoupled,
    "lia" => lia::Lia,
    "olia" => olia::Olia,
    "reno" => reno::Reno,
    "uncoupled" => uncoupled::Uncoupled,
    "warp" => warp::Warp,
    "wvegas" => wvegas::Wvegas,
    "xmp" => xmp::Xmp,
}

impl Algorithm {
    /// Creates the built-in algorithm `name`; parameters that are not given have their defaults.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, if a parameter is unknown or repeated, or if a
    /// value is outside its range. The message is one line that names the value that was given and
    /// those that are allowed.
    pub fn build(name: &str, parameters: &[(String, f64)]) -> Result<Self, Error> {
        let unknown = || Error::Algorithm {
            name: name.to_owned(),
        };
        let entry = Self::BUILT_IN
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(unknown)?;
        for (i, (name, value)) in parameters.iter().enumerate() {
            let parameter =
                entry
                    .parameters
                    .iter()
                    .find(|p| p.name == name)
                    .ok_or_else(|| Error::Parameter {
                        algorithm: entry.name,
                        name: name.clone(),
                    })?;
            if parameters[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(Error::Repeated {
                    algorithm: entry.name,
                    parameter: parameter.name,
                });
            }
            if !parameter.allowed.contains(*value) {
                return Err(Error::Value {
                    algorithm: entry.name,
                    parameter: *parameter,
                    value: *value,
                });
            }
        }
        let value = |name: &str| {
            let value = parameters
                .iter()
                .find(|(parameter, _)| parameter == name)
                .map(|p| p.1);
            let default = || {
                entry
                    .parameters
                    .iter()
                    .find(|p| p.name == name)
                    .map(|p| p.default)
            };
            value.or_else(default).unwrap_or(f64::NAN)
        };
        Self::from_lookup(name, value).ok_or_else(unknown)
    }

    /// Creates a user-defined algorithm.
    pub fn custom(factory: std::sync::Arc<dyn AlgorithmFactory>) -> Self {
        Self::Custom(Custom::new(factory))
    }
}

/// The description of a built-in algorithm, for lists and references.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlgorithmInfo {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// All parameters.
    pub parameters: &'static [Parameter],
}

/// The reason why an algorithm could not be created.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The algorithm does not exist.
    #[error("no congestion control is called `{name}`; there are {}", algorithms())]
    Algorithm {
        /// The name as given.
        name: String,
    },
    /// The algorithm has no such parameter.
    #[error("`{algorithm}` has no parameter `{name}`; {}", parameters_of(algorithm))]
    Parameter {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The parameter's name as given.
        name: String,
    },
    /// A parameter was given twice.
    #[error("parameter `{parameter}` of `{algorithm}` is given twice; once is allowed")]
    Repeated {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The parameter's name.
        parameter: &'static str,
    },
    /// A parameter's value is not allowed.
    #[error("parameter `{}` of `{algorithm}` is {value}; allowed is {}", parameter.name, parameter.allowed)]
    Value {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The parameter.
        parameter: Parameter,
        /// The value as given.
        value: f64,
    },
}

impl Error {
    /// Returns the parameter at fault, for a caller that knows its position in a spec; `None` if
    /// the algorithm is unknown.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Algorithm { .. } => None,
            Self::Parameter { name, .. } => Some(name),
            Self::Repeated { parameter, .. } => Some(parameter),
            Self::Value { parameter, .. } => Some(parameter.name),
        }
    }
}

/// Returns the names that [`Error::Algorithm`] lists as allowed.
fn algorithms() -> String {
    names(Algorithm::BUILT_IN.iter().map(|entry| entry.name))
}

/// Returns the names that [`Error::Parameter`] lists as allowed.
fn parameters_of(algorithm: &str) -> String {
    let entry = Algorithm::BUILT_IN.iter().find(|entry| entry.name == algorithm);
    match entry.map_or(&[][..], |entry| entry.parameters) {
        [] => "it takes none".to_owned(),
        parameters => format!("it takes {}", names(parameters.iter().map(|p| p.name))),
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, parameters: &[(&str, f64)]) -> String {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect();
        Algorithm::build(name, &parameters)
            .expect_err("must be refused")
            .to_string()
    }

    #[test]
    fn every_entry_builds_with_its_defaults_under_its_name() {
        for entry in Algorithm::BUILT_IN {
            assert_eq!(Algorithm::build(entry.name, &[]).unwrap().name(), entry.name);
        }
        assert!(Algorithm::BUILT_IN.is_sorted_by_key(|entry| entry.name));
    }

    #[test]
    fn every_parameter_can_be_set_to_its_default_and_its_bounds_but_not_beyond() {
        for entry in Algorithm::BUILT_IN {
            for parameter in entry.parameters {
                let build = |value| Algorithm::build(entry.name, &[(parameter.name.to_owned(), value)]);
                let (min, max) = (parameter.allowed.min(), parameter.allowed.max());
                for value in [parameter.default, min, max] {
                    assert!(build(value).is_ok(), "{} {} {value}", entry.name, parameter.name);
                }
                for value in [min - 0.001, max + 0.001, f64::NAN, f64::INFINITY] {
                    let error = build(value).unwrap_err();
                    assert_eq!(error.parameter(), Some(parameter.name), "{} {value}", entry.name);
                }
            }
        }
    }

    #[test]
    fn what_is_listed_is_one_line_each() {
        for entry in Algorithm::BUILT_IN {
            for about in entry.parameters.iter().map(|p| p.about).chain([entry.about]) {
                assert!(
                    !about.is_empty() && !about.contains('\n') && about.len() <= 90,
                    "{about}"
                );
            }
        }
    }

    #[test]
    fn an_error_is_one_line_that_names_what_was_given_and_what_is_allowed() {
        assert_eq!(
            refused("vegas", &[]),
            format!(
                "no congestion control is called `vegas`; there are {}",
                algorithms()
            )
        );
        assert_eq!(
            refused("amp", &[("gama", 2.0)]),
            "`amp` has no parameter `gama`; it takes `gamma`, `tau`, `beta`, `cwnd_min`, `ssr`, `dctcp_cut`"
        );
        assert_eq!(
            refused("fully-coupled", &[("beta", 2.0)]),
            "`fully-coupled` has no parameter `beta`; it takes none"
        );
        assert_eq!(
            refused("xmp", &[("beta", 4.0), ("beta", 4.0)]),
            "parameter `beta` of `xmp` is given twice; once is allowed"
        );
        assert_eq!(
            refused("amp", &[("beta", 1.5)]),
            "parameter `beta` of `amp` is 1.5; allowed is a number from 2 to 1000"
        );
        assert_eq!(
            refused("dctcp", &[("cwnd_min", 1.5)]),
            "parameter `cwnd_min` of `dctcp` is 1.5; allowed is a whole number from 1 to 100"
        );
        assert_eq!(
            refused("lia", &[("beta", 1.0)]),
            "parameter `beta` of `lia` is 1; allowed is 0 or a number from 2 to 1000"
        );
        assert_eq!(
            refused("amp", &[("ssr", 0.5)]),
            "parameter `ssr` of `amp` is 0.5; allowed is 0 or 1"
        );
    }

    #[test]
    fn values_reach_the_parameter_they_are_given_for() {
        let parameters = [("cwnd_min".to_owned(), 1.0), ("beta".to_owned(), 2.0)];
        let mut cc = Algorithm::build("xmp", &parameters).unwrap();
        let mut w = crate::test_windows::in_avoidance(&[6.0]);
        for expected in [3.0, 2.0, 1.0, 1.0] {
            cc.on_mark(&mut w, 0);
            assert_eq!(w[0].cwnd, expected);
        }
    }

    #[test]
    fn it_can_cross_threads_and_is_small() {
        fn crosses<T: Clone + std::fmt::Debug + Send + Sync>() {}
        crosses::<Algorithm>();
        // Each simulated connection contains an algorithm; 64 bytes are a cache line.
        assert!(size_of::<Algorithm>() <= 80, "{}", size_of::<Algorithm>());
    }
}
