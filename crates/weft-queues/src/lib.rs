//! Packets, and the queues that hold them. A kind of queue is a file, which has its parameters and its
//! behaviour, and a line of the registry below.

// A packet is processed in one long function on purpose: calls in it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod buffer;
mod codel;
mod contract;
mod discipline;
mod drop_reason;
mod fifo;
pub mod hash;
mod ingress;
mod lossless;
mod lossy;
pub mod packet;
mod packets;
pub mod prefetch;
mod priority;
mod red;
pub mod route;
mod shared;
mod trims;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Mark, Parsed, QueueKindSpec, QueueSize, SpecError, find, from_table, to_table};

pub use buffer::Buffers;
pub use codel::{CoDel, CoDelQueue};
pub use contract::{
    Arrival, Arriving, Build, ByteTime, Decision, Departure, Fate, FifoView, Queue, QueueConfig,
    QueueParameters, Refused, Rule, Site, View, Wire,
};
pub use discipline::FifoQueue;
pub use drop_reason::DropReason;
pub use fifo::Fifo;
pub use ingress::{Blocked, Incoming, IncomingClass, Ingress, LinkClass, NO_RING, Thresholds};
pub use lossless::{Lossless, LosslessQueue, PAUSE_FRAME, WakeUp};
pub use lossy::Lossy;
use packet::Packet;
pub use priority::{Priority, PriorityClass, PriorityQueue};
pub use red::{DequeueRed, Red, RedAction, RedAt};
pub use shared::Shared;
pub use trims::{Overflow, TrimTo, Trimming, TrimmingQueue, Victim};

/// Declares [`QueueKind`], [`QUEUES`] and [`ScheduledQueue`], from one line per kind: its name, its
/// parameters, and its queue if it keeps its packets. (A boxed queue would cost a call per packet that
/// cannot be inlined.)
macro_rules! kinds {
    ($($name:literal => $type:ident $(, $queue:ident)?;)+) => {
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

        impl QueueKind {
            /// Creates an empty queue. `buffers` are those of the partition.
            pub fn discipline(&self, site: &Site, buffers: &mut Buffers) -> Discipline {
                match self {
                    $(Self::$type(kind) => kind.build(site, buffers).into_discipline(site),)+
                }
            }
        }

        /// All kinds of queues that specs may name, the default first.
        pub const QUEUES: &[Entry<QueueKind>] = &[$(entry::<$type>($name, $type::ABOUT),)+];

        /// A queue that keeps its packets, of any kind.
        pub enum ScheduledQueue {
            $($(
                #[doc = concat!("See [`", stringify!($queue), "`].")]
                $queue($queue),
            )?)+
        }

        $($(
            impl IntoDiscipline for $queue {
                fn into_discipline(self, _: &Site) -> Discipline {
                    Discipline::Scheduled(ScheduledQueue::$queue(self))
                }
            }
        )?)+

        impl ScheduledQueue {
            /// Does this work on the queue, compiled for its kind.
            #[inline(always)]
            pub fn work<W: Work>(&mut self, work: W) -> W::Output {
                match self {
                    $($(Self::$queue(queue) => work.on(queue),)?)+
                }
            }

            /// See [`Queue::prefetch`].
            #[inline(always)]
            pub fn prefetch(&self) {
                match self {
                    $($(Self::$queue(queue) => queue.prefetch(),)?)+
                }
            }

            /// See [`Queue::waiting`].
            #[inline(always)]
            pub fn waiting(&self) -> usize {
                match self {
                    $($(Self::$queue(queue) => queue.waiting(),)?)+
                }
            }

            /// See [`Queue::is_ready`].
            #[inline(always)]
            pub fn is_ready(&self) -> bool {
                match self {
                    $($(Self::$queue(queue) => queue.is_ready(),)?)+
                }
            }

            /// See [`Queue::for_each`].
            pub fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet)) {
                match self {
                    $($(Self::$queue(queue) => queue.for_each(visit),)?)+
                }
            }

            /// See [`Queue::clear`].
            pub fn clear(&mut self, view: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
                match self {
                    $($(Self::$queue(queue) => queue.clear(view),)?)+
                }
            }

            /// See [`Queue::classes`].
            pub fn classes(&self) -> usize {
                match self {
                    $($(Self::$queue(queue) => queue.classes(),)?)+
                }
            }

            /// See [`Queue::class_of`].
            #[inline(always)]
            pub fn class_of(&self, packet: &Packet) -> Option<usize> {
                match self {
                    $($(Self::$queue(queue) => queue.class_of(packet),)?)+
                }
            }
        }
    };
}

kinds! {
    "fifo" => Fifo;
    "codel" => CoDel, CoDelQueue;
    "lossless" => Lossless, LosslessQueue;
    "lossy" => Lossy;
    "priority" => Priority, PriorityQueue;
    "red" => Red, DequeueRed;
    "shared" => Shared;
    "trimming" => Trimming, TrimmingQueue;
}

impl QueueKind {
    /// Returns true if the port can be paused, and pauses the other direction of its cable.
    pub fn is_lossless(&self) -> bool {
        matches!(self, Self::Lossless(_))
    }
}

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

/// Work on a queue of any kind. It is compiled for each kind, so that no answer of a queue need be in memory.
pub trait Work {
    /// The result.
    type Output;

    /// Does the work.
    fn on(self, queue: &mut impl Queue) -> Self::Output;
}

/// The behaviour of a port's queue.
pub enum Discipline {
    /// Departures are known when packets arrive.
    Fifo(FifoQueue),
    /// The queue keeps its packets until the port is free.
    Scheduled(ScheduledQueue),
}

/// The discipline that a kind has built.
trait IntoDiscipline {
    fn into_discipline(self, site: &Site) -> Discipline;
}

impl<T: Into<discipline::AnyRule>> IntoDiscipline for T {
    fn into_discipline(self, site: &Site) -> Discipline {
        Discipline::Fifo(FifoQueue::new(self, site))
    }
}

impl IntoDiscipline for Result<red::RedState, DequeueRed> {
    fn into_discipline(self, site: &Site) -> Discipline {
        match self {
            Ok(rule) => rule.into_discipline(site),
            Err(queue) => queue.into_discipline(site),
        }
    }
}
