//! The registry of kinds of queues. Each kind is a file with its parameters and a line of [`QUEUES`].
//! The engine has the behaviour of each kind.

mod fifo;
mod red;
mod shared;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Parsed, QueueSize, SpecError, from_table, to_table};

pub use fifo::Fifo;
pub use red::{Red, RedAction, RedAt};
pub use shared::Shared;

/// Declares [`QueueKind`] and [`QUEUES`], from one line per kind.
macro_rules! kinds {
    ($($name:literal => $type:ident,)+) => {
        /// A kind of queue with its parameters set.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum QueueKind {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($type), "`].")]
                $type($type),
            )+
        }

        /// All kinds of queues, the default first.
        pub const QUEUES: &[Entry<QueueKind>] = &[$(entry::<$type>($name, $type::ABOUT),)+];

        $(
            impl From<$type> for QueueKind {
                fn from(kind: $type) -> Self {
                    Self::$type(kind)
                }
            }
        )+

        impl QueueParameters for QueueKind {
            fn check(&self) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(kind) => kind.check(),)+
                }
            }

            fn check_port(&self, limit: QueueSize) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(kind) => kind.check_port(limit),)+
                }
            }

            fn marks(&self) -> bool {
                match self {
                    $(Self::$type(kind) => kind.marks(),)+
                }
            }
        }
    };
}

kinds! {
    "fifo" => Fifo,
    "red" => Red,
    "shared" => Shared,
}

/// The parameters of a kind of queue.
pub trait QueueParameters {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range; its path is relative to the kind.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// Checks the parameters against the limit of a port's queue.
    ///
    /// # Errors
    /// Returns an error if they contradict the limit; its path is relative to the kind.
    fn check_port(&self, limit: QueueSize) -> Result<(), SpecError> {
        let _ = limit;
        Ok(())
    }

    /// Returns true if the kind decides by itself which packets are marked, so that a marking
    /// threshold has no effect.
    fn marks(&self) -> bool {
        false
    }
}

impl Default for QueueKind {
    fn default() -> Self {
        Self::Fifo(Fifo {})
    }
}

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<QueueKind>
where
    T: QueueParameters + Into<QueueKind> + DeserializeOwned + Serialize + JsonSchema,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        parse: |table| {
            let kind: T = from_table(table)?;
            kind.check()?;
            Ok(Parsed {
                params: to_table(&kind),
                value: Box::new(kind.into()),
            })
        },
    }
}
