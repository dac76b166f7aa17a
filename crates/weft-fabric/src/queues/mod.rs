//! The registry of kinds of queues. Each kind is a file with its parameters, a line of [`QueueKind`] and one
//! of [`QUEUES`].
//! The engine has the behaviour of each kind.

mod fifo;
mod lossless;
mod lossy;
mod priority;
mod red;
mod shared;
mod trims;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Mark, Parsed, QueueKindSpec, QueueSize, SpecError, find, from_table, to_table};

use crate::QueueConfig;

pub use fifo::Fifo;
pub use lossless::{Lossless, PAUSE_FRAME, Thresholds};
pub use lossy::Lossy;
pub use priority::{Priority, PriorityClass};
pub use red::{Red, RedAction, RedAt};
pub use shared::Shared;
pub use trims::{Overflow, TrimTo, Trimming, Victim};

/// Declares [`QueueKind`], from one line per kind.
macro_rules! kinds {
    ($($name:literal => $type:ident,)+) => {
        /// A kind of queue with its parameters set.
        #[derive(Clone, Debug, PartialEq)]
        pub enum QueueKind {
            $(
                #[doc = concat!("`", $name, "`, see [`", stringify!($type), "`].")]
                $type($type),
            )+
        }

        $(
            impl From<$type> for QueueKind {
                fn from(kind: $type) -> Self {
                    Self::$type(kind)
                }
            }
        )+

        impl QueueKind {
            /// Returns the name of the kind in a spec.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$type(_) => $name,)+
                }
            }
        }

        impl QueueParameters for QueueKind {
            fn check(&self) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(kind) => kind.check(),)+
                }
            }

            fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
                match self {
                    $(Self::$type(kind) => kind.check_port(port),)+
                }
            }

            fn limits(&self) -> Vec<(String, QueueSize)> {
                match self {
                    $(Self::$type(kind) => kind.limits(),)+
                }
            }

            fn trims_to(&self) -> Option<u32> {
                match self {
                    $(Self::$type(kind) => kind.trims_to(),)+
                }
            }

            fn classes(&self) -> Option<usize> {
                match self {
                    $(Self::$type(kind) => kind.classes(),)+
                }
            }

            fn marks(&self) -> bool {
                match self {
                    $(Self::$type(kind) => kind.marks(),)+
                }
            }

            fn uses_buffer(&self) -> bool {
                match self {
                    $(Self::$type(kind) => kind.uses_buffer(),)+
                }
            }
        }
    };
}

kinds! {
    "fifo" => Fifo,
    "lossless" => Lossless,
    "lossy" => Lossy,
    "priority" => Priority,
    "red" => Red,
    "shared" => Shared,
    "trimming" => Trimming,
}

impl QueueKind {
    /// Returns true if the port can be paused, and pauses the other direction of its cable.
    pub fn is_lossless(&self) -> bool {
        matches!(self, Self::Lossless(_))
    }
}

/// All kinds of queues that specs may name, the default first.
pub const QUEUES: &[Entry<QueueKind>] = &[
    entry::<Fifo>("fifo", Fifo::ABOUT),
    entry::<Lossless>("lossless", Lossless::ABOUT),
    entry::<Lossy>("lossy", Lossy::ABOUT),
    entry::<Priority>("priority", Priority::ABOUT),
    entry::<Red>("red", Red::ABOUT),
    entry::<Shared>("shared", Shared::ABOUT),
    entry::<Trimming>("trimming", Trimming::ABOUT),
];

/// Returns the kind of queue that a spec names, and fills in its parameters.
///
/// # Errors
/// Returns an error if the kind does not exist or a parameter is out of range; its path is relative to
/// the kind.
pub fn resolve_queue_kind(given: &mut QueueKindSpec) -> Result<QueueKind, SpecError> {
    let entry = find(QUEUES, "", &given.name)?;
    let parsed = (entry.parse)(&given.params).map_err(|error| error.with_known_fields(&["name"]))?;
    given.params = parsed.params;
    Ok(*parsed.value)
}

/// Refuses a marking threshold next to a kind that decides by itself which packets are marked.
///
/// # Errors
/// Returns an error without a path if the threshold is set.
pub fn check_mark(kind: &str, mark: Mark) -> Result<(), SpecError> {
    if mark == Mark::Off {
        return Ok(());
    }
    let problem = format!("{mark} is not used with queues of kind {kind:?}, which has a ramp");
    Err(SpecError::conflict("", problem, "remove this field"))
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

    /// Checks the parameters against the limit and the threshold of a port's queue.
    ///
    /// # Errors
    /// Returns an error if they contradict these; its path is relative to the kind.
    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        let _ = port;
        Ok(())
    }

    /// Returns the limits that the kind has itself, each of which must hold a packet of the largest size, with their paths
    /// relative to the kind.
    fn limits(&self) -> Vec<(String, QueueSize)> {
        Vec::new()
    }

    /// Returns the size in bytes to which the kind cuts packets; `None` if it cuts none.
    fn trims_to(&self) -> Option<u32> {
        None
    }

    /// Returns the number of traffic classes that transports choose from; `None` if the kind treats all
    /// packets alike.
    fn classes(&self) -> Option<usize> {
        None
    }

    /// Returns true if the kind decides by itself which packets are marked, so that a marking
    /// threshold has no effect.
    fn marks(&self) -> bool {
        false
    }

    /// Returns true if packets wait in a buffer of the node, which counts those of several ports.
    fn uses_buffer(&self) -> bool {
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
