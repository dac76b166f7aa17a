//! An evaluator of generators whose flows depend on one another: full-duplex links of one switch without contention inside it.
//!
//! A message of b bytes leaves its sender's link first in first out, arrives after a latency, and enters its receiver's link first
//! in first out: alone it takes `latency + (b - 1) * gap`. Receiving takes no processor time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use weft_spec::Time;
use weft_traffic::{Action, FlowGenerator, HostEvent, HostProgress, RankRecord};

/// The links of all hosts.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// Time from the first byte's departure to its arrival.
    pub latency: u64,
    /// Time per byte.
    pub gap: u64,
    /// True if a send is done when its first byte leaves; otherwise when an acknowledgement of its last byte arrives.
    pub done_at_departure: bool,
}

/// The times that an evaluation found.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// Start and arrival of each flow that opened.
    pub flows: HashMap<u32, (u64, u64)>,
    /// The last time at which a flow of each host left.
    pub last_departures: HashMap<u32, u64>,
    /// Records of all ranks, by job and rank.
    pub ranks: Vec<RankRecord>,
    /// Number of messages that waited at a link.
    pub queued: u32,
}

impl Evaluation {
    /// Returns the end of the last rank; `None` if a rank has not ended.
    #[allow(dead_code, reason = "not every test needs it")]
    pub fn end(&self) -> Option<u64> {
        let ends: Option<Vec<u64>> = self.ranks.iter().map(|rank| Some(rank.end?.0)).collect();
        ends?.into_iter().max()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Resume(u32),
    FirstByte(u32),
    Delivered(u32),
    Acknowledged(u32),
}

impl Links {
    /// Runs a generator to its end.
    pub fn run(self, generator: &dyn FlowGenerator) -> Evaluation {
        let mut events = BinaryHeap::new();
        let mut number = 0_u64;
        let mut hosts: HashMap<u32, Box<dyn HostProgress>> = HashMap::new();
        let (mut sending, mut receiving) = (HashMap::<u32, u64>::new(), HashMap::<u32, u64>::new());
        let mut found = Evaluation::default();
        for (time, host, action) in generator.timed_actions() {
            assert_eq!(action, Action::Resume(host));
            hosts.insert(host, generator.progress(host, false).unwrap());
            events.push(Reverse((time.0, number, Event::Resume(host))));
            number += 1;
        }
        while let Some(Reverse((now, _, event))) = events.pop() {
            let mut push = |time, event| {
                events.push(Reverse((time, number, event)));
                number += 1;
            };
            let (host, event) = match event {
                Event::Resume(host) => (host, HostEvent::Resume),
                Event::FirstByte(n) => {
                    let flow = generator.flow(n);
                    let takes = (flow.size.unwrap().0 - 1) * self.gap;
                    let free = receiving.entry(flow.to).or_default();
                    let begins = now.max(*free);
                    found.queued += u32::from(begins > now);
                    *free = begins + takes;
                    push(*free, Event::Delivered(n));
                    continue;
                }
                Event::Delivered(n) => {
                    found.flows.get_mut(&n).unwrap().1 = now;
                    if !self.done_at_departure {
                        push(now + self.latency, Event::Acknowledged(n));
                    }
                    (generator.flow(n).to, HostEvent::Delivered(n))
                }
                Event::Acknowledged(n) => (generator.flow(n).from, HostEvent::Acknowledged(n)),
            };
            let mut open = Vec::new();
            let resume = hosts
                .get_mut(&host)
                .unwrap()
                .on_event(event, Time(now), &mut open);
            if let Some(time) = resume {
                push(time.0, Event::Resume(host));
            }
            for n in open {
                let flow = generator.flow(n);
                assert_eq!(flow.from, host, "a flow opens at its sender");
                let free = sending.entry(host).or_default();
                let begins = now.max(*free);
                found.queued += u32::from(begins > now);
                *free = begins + (flow.size.unwrap().0 - 1) * self.gap;
                found.last_departures.insert(host, begins);
                let again = found.flows.insert(n, (now, u64::MAX));
                assert_eq!(again, None, "flow {n} opens once");
                push(begins + self.latency, Event::FirstByte(n));
                if self.done_at_departure {
                    push(begins, Event::Acknowledged(n));
                }
            }
        }
        found.ranks = hosts.values().flat_map(|host| host.records()).collect();
        found.ranks.sort_by_key(|rank| (rank.job, rank.rank));
        found
    }
}
