//! The congestion controls there are: what each is called, what it takes, and how one is made.

use std::fmt;

use crate::{Ack, Amp, CongestionControl, Custom, Dcm, Dctcp, Echo, Factory, Lia, Reno, Round, Window, Xmp};

/// Declares [`Algorithm`] and everything that goes through all algorithms, from one line for each.
macro_rules! algorithms {
    ($($name:literal => $type:ident,)+) => {
        /// A congestion control with its parameters and one connection's state.
        ///
        /// The clone of one that was never used is a fresh connection's. Events of a built-in algorithm cost
        /// a `match`, not a boxed call.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($type), "`].")]
                $type($type),
            )+
            /// A user's own.
            Custom(Custom),
        }

        impl Algorithm {
            /// The built-in algorithms, sorted by name.
            pub const BUILT_IN: &[Entry] =
                &[$(Entry { name: $name, about: $type::ABOUT, parameters: &$type::PARAMETERS },)+];

            /// What it is called: a name of [`BUILT_IN`](Self::BUILT_IN), or the factory's.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$type(_) => $name,)+
                    Self::Custom(custom) => custom.name(),
                }
            }

            /// Makes the built-in algorithm `name` from values in the order of its entry's parameters.
            fn of_values(name: &str, values: &[f64]) -> Option<Self> {
                match name {
                    $($name => Some(Self::$type($type::new(values.try_into().ok()?))),)+
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
            fn on_timeout(s: usize);
            fn on_close(s: usize);
        );
    };
    (@forward $types:tt $(fn $event:ident($($argument:ident: $kind:ty),+);)+) => {
        impl CongestionControl for Algorithm {
            #[inline]
            fn echo(&self) -> Echo {
                algorithms!(@match $types self, cc => cc.echo())
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
    "amp" => Amp,
    "dcm" => Dcm,
    "dctcp" => Dctcp,
    "lia" => Lia,
    "reno" => Reno,
    "xmp" => Xmp,
}

impl Algorithm {
    /// Makes the built-in algorithm `name`; parameters not given take their defaults.
    ///
    /// # Errors One line that names what was given and what is allowed: an unknown name, an unknown or
    /// repeated parameter, a value outside its range.
    pub fn build(name: &str, parameters: &[(String, f64)]) -> Result<Self, Error> {
        let unknown = || Error::Algorithm {
            given: name.to_owned(),
        };
        let entry = Self::BUILT_IN
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(unknown)?;
        let mut values: Vec<f64> = entry.parameters.iter().map(|p| p.default).collect();
        for (i, (given, value)) in parameters.iter().enumerate() {
            let at = entry
                .parameters
                .iter()
                .position(|p| p.name == given)
                .ok_or_else(|| Error::Parameter {
                    algorithm: entry.name,
                    given: given.clone(),
                })?;
            let parameter = &entry.parameters[at];
            if parameters[..i].iter().any(|(earlier, _)| earlier == given) {
                return Err(Error::Repeated {
                    algorithm: entry.name,
                    parameter: parameter.name,
                });
            }
            if !parameter.allowed.contains(*value) {
                return Err(Error::Value {
                    algorithm: entry.name,
                    parameter: *parameter,
                    given: *value,
                });
            }
            values[at] = *value;
        }
        Self::of_values(name, &values).ok_or_else(unknown)
    }

    /// A user's own algorithm.
    pub fn custom(factory: std::sync::Arc<dyn Factory>) -> Self {
        Self::Custom(Custom::new(factory))
    }
}

/// A built-in algorithm as lists and references show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// What a spec calls it.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
}

/// One number that an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// What a spec calls it.
    pub name: &'static str,
    /// Its value where a spec says nothing.
    pub default: f64,
    /// Which values it may have.
    pub allowed: Allowed,
    /// One line: what it does, its unit, its source.
    pub about: &'static str,
}

impl Parameter {
    /// Of all that are cut by marks.
    pub(crate) const CWND_MIN: Self = Self {
        name: "cwnd_min",
        default: 2.0,
        allowed: Allowed::Whole(1, 100),
        about: "floor of a cut by a mark, in packets",
    };
    /// Of those with a constant cut.
    pub(crate) const BETA: Self = Self {
        name: "beta",
        default: 4.0,
        allowed: Allowed::Number(2.0, 1000.0),
        about: "a mark cuts the window by 1 / beta",
    };
}

/// The values a parameter may have, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// Any number between the two.
    Number(f64, f64),
    /// A whole number between the two.
    Whole(u32, u32),
    /// 0 switches off what the number is for; otherwise any number between the two.
    ZeroOrNumber(f64, f64),
    /// 0 (no) or 1 (yes).
    Switch,
}

impl Allowed {
    /// The least allowed value.
    pub fn min(self) -> f64 {
        match self {
            Self::Number(min, _) => min,
            Self::Whole(min, _) => f64::from(min),
            Self::ZeroOrNumber(..) | Self::Switch => 0.0,
        }
    }

    /// The greatest allowed value.
    pub fn max(self) -> f64 {
        match self {
            Self::Number(_, max) | Self::ZeroOrNumber(_, max) => max,
            Self::Whole(_, max) => f64::from(max),
            Self::Switch => 1.0,
        }
    }

    /// Is `value` allowed? NaN and infinities never are.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Number(min, max) => (min..=max).contains(&value),
            Self::Whole(min, max) => {
                (f64::from(min)..=f64::from(max)).contains(&value) && value.fract() == 0.0
            }
            Self::ZeroOrNumber(min, max) => value == 0.0 || (min..=max).contains(&value),
            Self::Switch => value == 0.0 || value == 1.0,
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::ZeroOrNumber(min, max) => write!(f, "0 or a number from {min} to {max}"),
            Self::Switch => write!(f, "0 or 1"),
        }
    }
}

/// Why an algorithm could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No such algorithm.
    #[error("no congestion control is called `{given}`; there are {}", algorithms())]
    Algorithm {
        /// The name as given.
        given: String,
    },
    /// The algorithm has no such parameter.
    #[error("`{algorithm}` has no parameter `{given}`; {}", parameters_of(algorithm))]
    Parameter {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The parameter's name as given.
        given: String,
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
    #[error("parameter `{}` of `{algorithm}` is {given}; allowed is {}", parameter.name, parameter.allowed)]
    Value {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The parameter.
        parameter: Parameter,
        /// The value as given.
        given: f64,
    },
}

impl Error {
    /// The parameter at fault, for a caller that knows where it stands in a spec; none for an unknown
    /// algorithm.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Algorithm { .. } => None,
            Self::Parameter { given, .. } => Some(given),
            Self::Repeated { parameter, .. } => Some(parameter),
            Self::Value { parameter, .. } => Some(parameter.name),
        }
    }
}

/// What [`Error::Algorithm`] says is allowed.
fn algorithms() -> String {
    names(Algorithm::BUILT_IN.iter().map(|entry| entry.name))
}

/// What [`Error::Parameter`] says is allowed.
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
            refused("cubic", &[]),
            "no congestion control is called `cubic`; there are `amp`, `dcm`, `dctcp`, `lia`, `reno`, `xmp`"
        );
        assert_eq!(
            refused("amp", &[("gama", 2.0)]),
            "`amp` has no parameter `gama`; it takes `gamma`, `tau`, `beta`, `cwnd_min`, `ssr`, `dctcp_cut`"
        );
        assert_eq!(
            refused("reno", &[("beta", 2.0)]),
            "`reno` has no parameter `beta`; it takes none"
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
        let mut w = crate::test_windows::avoiding(&[6.0]);
        for expected in [3.0, 2.0, 1.0, 1.0] {
            cc.on_mark(&mut w, 0);
            assert_eq!(w[0].cwnd, expected);
        }
    }

    #[test]
    fn it_can_cross_threads_and_is_small() {
        fn crosses<T: Clone + fmt::Debug + Send + Sync>() {}
        crosses::<Algorithm>();
        // A simulated connection carries one; 64 bytes are a cache line.
        assert!(size_of::<Algorithm>() <= 72, "{}", size_of::<Algorithm>());
    }
}
