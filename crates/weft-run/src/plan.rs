//! The plan of a run: a spec whose names have become indices.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use weft_cc::Algorithm;
use weft_fabric::Fabric;
use weft_paths::{Controller, Policy};
use weft_spec::{Profile, Rate, Size, Spec, Time};
use weft_traffic::{Flow, FlowGenerator};

/// A run, checked and ready for a backend.
pub struct Plan {
    /// The spec with every default filled in.
    pub spec: Spec,
    /// The network.
    pub fabric: Fabric,
    /// Transports in the order of their names, indexed by [`Flow::transport`].
    pub transports: Vec<TransportConfig>,
    /// All flows that the spec itself opens, in the order in which tables number them.
    pub flows: Vec<Flow>,
    /// Traffic that reacts. Flow `n` of program `p` has the index `flows.len() + n * programs.len() + p`.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// The part of the run that is measured; none: all of it.
    pub measure: Option<(Time, Time)>,
    /// What to record in addition to the tables that every run yields.
    pub probes: Vec<Probe>,
    /// Changes of links, in any order; at one time they happen in the order given.
    pub events: Vec<LinkEvent>,
    /// The controller, which sees the whole network and gives subflows their paths.
    pub controller: Option<Arc<dyn Controller>>,
}

/// Which subflow gets the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Those with window space in turn.
    RoundRobin,
    /// The one with the lowest smoothed round-trip time among those with window space.
    LowestRtt,
    /// As in Linux: bursts of 64 KB go to the subflow that would have sent all its data first.
    Linux,
}

/// A transport: congestion control, number of subflows, their paths, and profile.
#[derive(Clone, Debug)]
pub struct TransportConfig {
    /// Congestion control with its parameters; every connection starts from a clone.
    pub cc: Algorithm,
    /// Subflows a connection opens, at least 1.
    pub subflows: u32,
    /// Which of the paths between two hosts its packets take.
    pub paths: Policy,
    /// Acknowledged bytes from which on the further subflows join.
    pub join_after: Size,
    /// Packet scheduler.
    pub scheduler: Scheduler,
    /// Everything else about the sender and receiver.
    pub profile: Profile,
}

impl TransportConfig {
    /// Are subflows given data before their windows have room for it?
    pub fn uses_send_queues(&self) -> bool {
        self.scheduler == Scheduler::Linux && self.subflows > 1
    }
}

/// What to record in addition to the tables that every run yields.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Time-weighted distribution of a queue's length, and its marks and drops: link index.
    Queue {
        /// Index into the fabric's links.
        link: u32,
    },
    /// Samples of a queue's length.
    QueueTrace {
        /// Index into the fabric's links.
        link: u32,
        /// Sampling interval.
        interval: Time,
    },
    /// cwnd, ssthresh and active of every subflow of a flow, from when it opens until it ends.
    Flow {
        /// Index of the flow, as in [`Plan::flows`] and beyond.
        flow: u32,
        /// Sampling interval; without one, every change is recorded.
        interval: Option<Time>,
    },
    /// The same of all flows of a generator.
    Generator {
        /// Index into [`Plan::generators`].
        generator: u32,
        /// Sampling interval; without one, every change is recorded.
        interval: Option<Time>,
    },
    /// One-way latency of all data of a flow.
    Latency {
        /// Index of the flow, as in [`Plan::flows`] and beyond.
        flow: u32,
    },
    /// The same of all flows of a generator.
    GeneratorLatency {
        /// Index into [`Plan::generators`].
        generator: u32,
    },
    /// All packets that arrive over a link.
    Packets {
        /// Index into the fabric's links.
        link: u32,
    },
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// Time of the change. It takes effect before anything else at that time. A packet whose last bit leaves then has left.
    pub at: Time,
    /// Index into the fabric's links.
    pub link: u32,
    /// What happens.
    pub change: LinkChange,
    /// Time until routing knows that the link is dead or alive. Until then packets are sent to a dead link
    /// and lost.
    pub detection_delay: Time,
}

/// When routing learns of each event; never of one that leaves the link alive or dead as it is, nor of one that is outdated by then,
/// because a later change of the same link is known.
pub fn detection_times(events: &[LinkEvent]) -> Vec<Option<Time>> {
    let mut order: Vec<usize> = (0..events.len())
        .filter(|&i| matches!(events[i].change, LinkChange::Down | LinkChange::Up))
        .collect();
    order.sort_by_key(|&i| events[i].at);
    let mut notices: Vec<(Time, Reverse<usize>, usize)> = (0..)
        .zip(order)
        .map(|(nth, i)| {
            let time = events[i].at.0.saturating_add(events[i].detection_delay.0);
            (Time(time), Reverse(nth), i)
        })
        .collect();
    notices.sort();
    let mut detected = vec![None; events.len()];
    let mut newest: HashMap<u32, usize> = HashMap::new();
    for (time, Reverse(nth), i) in notices {
        let known = newest.entry(events[i].link).or_insert(nth);
        if nth >= *known {
            *known = nth;
            detected[i] = Some(time);
        }
    }
    detected
}

/// What can happen to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// It fails: packets that are queued or being sent are lost, packets on the wire arrive.
    Down,
    /// It works again, with an empty queue.
    Up,
    /// It has another rate from the next packet on.
    Rate(Rate),
    /// It has another propagation delay. Packets on the wire arrive at most this long after the change.
    Delay(Time),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outdated_is_not_detected() {
        let (down, up) = (LinkChange::Down, LinkChange::Up);
        for (events, expected) in [
            (vec![(2, down, 10), (5, up, 0)], vec![None, Some(5)]),
            (vec![(2, down, 10), (5, up, 10)], vec![Some(12), Some(15)]),
            (vec![(2, down, 8), (5, up, 5)], vec![None, Some(10)]),
            // In any order of the entries.
            (vec![(5, up, 0), (2, down, 10)], vec![Some(5), None]),
            (
                vec![(2, down, 1), (4, up, 10), (5, down, 1)],
                vec![Some(3), None, Some(6)],
            ),
            (vec![(2, down, 0), (2, up, 0)], vec![None, Some(2)]),
            (
                vec![(2, LinkChange::Rate(Rate(1)), 0), (3, down, 1)],
                vec![None, Some(4)],
            ),
        ] {
            let event = |(at, change, detect)| LinkEvent {
                at: Time(at),
                link: 7,
                change,
                detection_delay: Time(detect),
            };
            let other = LinkEvent {
                link: 8,
                ..event((1, up, 30))
            };
            let all: Vec<_> = events.iter().copied().map(event).chain([other]).collect();
            let expected: Vec<_> = expected
                .into_iter()
                .chain([Some(31)])
                .map(|time| time.map(Time))
                .collect();
            assert_eq!(detection_times(&all), expected, "{events:?}");
        }
    }
}
