//! The plan of a run: a spec whose names have become indices.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use weft_fabric::{Fabric, LinkChange};
use weft_paths::Controller;
use weft_spec::{Spec, Time};
use weft_traffic::{Flow, FlowGenerator};
use weft_transports::TransportConfig;

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
    /// Generators of flows. Flow `n` of generator `g` has the index `flows.len() + n *
    /// generators.len() + g`.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// The measurement window; `None` if the whole run is measured.
    pub measure: Option<(Time, Time)>,
    /// Probes, which record data in addition to the tables of every run.
    pub probes: Vec<Probe>,
    /// Link events, in any order; simultaneous events are applied in the order given.
    pub events: Vec<LinkEvent>,
    /// The controller, which observes the whole network and assigns paths to subflows.
    pub controller: Option<Arc<dyn Controller>>,
}

/// A probe: data to record in addition to the tables of every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Time-weighted distribution of a queue's length, and its marks and drops.
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
    /// Samples of the bytes in the buffer of a node.
    Buffer {
        /// Index into the fabric's nodes.
        node: u32,
        /// Sampling interval.
        interval: Time,
    },
    /// cwnd, ssthresh and active of every subflow of flows, from opening to end.
    Flow {
        /// The flows.
        flows: ProbedFlows,
        /// Sampling interval; without one, every change is recorded.
        interval: Option<Time>,
    },
    /// One-way latency of all data of flows.
    Latency {
        /// The flows.
        flows: ProbedFlows,
    },
    /// The steps of the jobs of a generator that runs on ranks.
    Steps {
        /// Index into [`Plan::generators`].
        generator: u32,
    },
    /// Bytes that the receivers of flows get in each interval.
    Throughput {
        /// The flows.
        flows: ProbedFlows,
        /// Length of the intervals.
        interval: Time,
    },
    /// All packets that arrive over a link.
    Packets {
        /// Index into the fabric's links.
        link: u32,
    },
}

/// The flows that a probe records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbedFlows {
    /// A flow, by its index as in [`Plan::flows`] and beyond.
    One(u32),
    /// All flows of a generator, by its index in [`Plan::generators`].
    Generated(u32),
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// Time of the change. It takes effect before all other events at that time. A packet whose
    /// last bit leaves at that time has left.
    pub at: Time,
    /// Index into the fabric's links.
    pub link: u32,
    /// The change.
    pub change: LinkChange,
    /// Time until routing learns that the link is down or up. Until then packets are sent to a link
    /// that is down, and are lost.
    pub detection_delay: Time,
}

/// Returns the time at which routing learns of each event. It is `None` for an event that does not
/// change whether the link is up. It is also `None` for an event that is outdated by then, because
/// a later change of the link is already known.
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

#[cfg(test)]
mod tests {
    use weft_spec::Rate;

    use super::*;

    #[test]
    fn what_is_outdated_is_not_detected() {
        let (down, up) = (LinkChange::Down, LinkChange::Up);
        for (events, expected) in [
            (vec![(2, down, 10), (5, up, 0)], vec![None, Some(5)]),
            (vec![(2, down, 10), (5, up, 10)], vec![Some(12), Some(15)]),
            (vec![(2, down, 8), (5, up, 5)], vec![None, Some(10)]),
            // Entries may be in any order.
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
