//! The registry of policies.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Loaded, Size, SpecError, from_table, to_table};

use crate::{
    ByInterface, Changes, Disjoint, Ecmp, Flowlet, InTurn, Mmptcp, Opn, PathPolicy, Paths, Pinned, Rps, Vlb,
    Watching, Way,
};

/// Declares [`Policy`] and [`POLICIES`], from one line for each.
macro_rules! policies {
    ($($name:literal => $type:ident,)+) => {
        /// A path policy with its fields set. Asking one costs a `match`, not a boxed call.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Policy {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($type), "`].")]
                $type($type),
            )+
        }

        /// All path policies, the most usual one first.
        pub const POLICIES: &[Entry<Policy>] = &[$(entry::<$type>($name, $type::ABOUT),)+];

        $(
            impl From<$type> for Policy {
                fn from(it: $type) -> Self {
                    Self::$type(it)
                }
            }
        )+

        impl PathPolicy for Policy {
            fn check(&self) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(it) => it.check(),)+
                }
            }

            fn path(&self, paths: Paths, seed: u64, way: Way) -> u64 {
                match self {
                    $(Self::$type(it) => it.path(paths, seed, way),)+
                }
            }

            fn changes(&self, subflow: u32, back: bool) -> Changes {
                match self {
                    $(Self::$type(it) => it.changes(subflow, back),)+
                }
            }

            fn path_after(&self, paths: Paths, seed: u64, way: Way, n: u64) -> u64 {
                match self {
                    $(Self::$type(it) => it.path_after(paths, seed, way, n),)+
                }
            }

            fn duplicates(&self, paths: Paths, subflow: u32, usual: u32) -> Option<u32> {
                match self {
                    $(Self::$type(it) => it.duplicates(paths, subflow, usual),)+
                }
            }

            fn scatters_until(&self) -> Option<Size> {
                match self {
                    $(Self::$type(it) => it.scatters_until(),)+
                }
            }

            fn watching(&self) -> Option<Watching> {
                match self {
                    $(Self::$type(it) => it.watching(),)+
                }
            }

            fn subflows_at(&self, loss: f64) -> u32 {
                match self {
                    $(Self::$type(it) => it.subflows_at(loss),)+
                }
            }
        }
    };
}

policies! {
    "ecmp" => Ecmp,
    "vlb" => Vlb,
    "disjoint" => Disjoint,
    "in-turn" => InTurn,
    "by-interface" => ByInterface,
    "pinned" => Pinned,
    "rps" => Rps,
    "flowlet" => Flowlet,
    "mmptcp" => Mmptcp,
    "opn" => Opn,
}

impl Policy {
    /// The policy of this name with its fields at their defaults.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Self, SpecError> {
        let entry = weft_spec::find(POLICIES, "paths", name)?;
        Ok(*(entry.load)(&toml::Table::new())?.it)
    }
}

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<Policy>
where
    T: PathPolicy + Into<Policy> + DeserializeOwned + Serialize + JsonSchema,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        load: |table| {
            let policy: T = from_table(table)?;
            policy.check()?;
            Ok(Loaded {
                params: to_table(&policy),
                it: Box::new(policy.into()),
            })
        },
    }
}
