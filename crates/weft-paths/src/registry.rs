//! The registry of path policies.

use weft_spec::{Entry, SpecError, Time, entries};

use crate::{
    ByInterface, Consecutive, Disjoint, Ecmp, Flowlet, Granularity, Mmptcp, Opn, PathEvent, PathPolicy,
    PathState, Paths, Pinned, Plb, Rps, SubflowDirection, Vlb,
};

/// Declares [`Policy`] and [`POLICIES`], from one line per policy.
macro_rules! policies {
    ($($name:literal => $type:ident,)+) => {
        /// A path policy with its fields set. A call of its methods costs a `match`, not a boxed
        /// call.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Policy {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($type), "`].")]
                $type($type),
            )+
        }

        /// All path policies, the most usual one first.
        pub const POLICIES: &[Entry<Policy>] = entries! {
            $($name => $type.check as Policy, $type::ABOUT;)+
        };

        $(
            impl From<$type> for Policy {
                fn from(policy: $type) -> Self {
                    Self::$type(policy)
                }
            }
        )+

        impl PathPolicy for Policy {
            fn check(&self) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(policy) => policy.check(),)+
                }
            }

            fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
                match self {
                    $(Self::$type(policy) => policy.path(paths, seed, direction),)+
                }
            }

            fn keeps_interfaces(&self) -> bool {
                match self {
                    $(Self::$type(policy) => policy.keeps_interfaces(),)+
                }
            }

            fn granularity(&self, subflow: u32, reverse: bool) -> Granularity {
                match self {
                    $(Self::$type(policy) => policy.granularity(subflow, reverse),)+
                }
            }

            fn on_event(&self, state: &mut PathState, event: PathEvent, now: Time) -> bool {
                match self {
                    $(Self::$type(policy) => policy.on_event(state, event, now),)+
                }
            }

            fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
                match self {
                    $(Self::$type(policy) => policy.nth_path(paths, seed, direction, n),)+
                }
            }
        }
    };
}

policies! {
    "ecmp" => Ecmp,
    "vlb" => Vlb,
    "disjoint" => Disjoint,
    "consecutive" => Consecutive,
    "by-interface" => ByInterface,
    "pinned" => Pinned,
    "rps" => Rps,
    "flowlet" => Flowlet,
    "plb" => Plb,
    "mmptcp" => Mmptcp,
    "opn" => Opn,
}

impl Policy {
    /// Returns the policy of this name with its fields at their defaults.
    ///
    /// # Errors
    /// Returns an error if there is no policy of this name.
    pub fn by_name(name: &str) -> Result<Self, SpecError> {
        let entry = weft_spec::find(POLICIES, "paths", name)?;
        Ok(*(entry.parse)(&toml::Table::new())?.value)
    }
}
