//! The work of an iteration, split over threads. The number of threads changes no bit of the
//! result: a link's load is a sum in ascending order of subflows.

use std::ops::Range;

use weft_cc::{Path, Response};

use super::link::{Forwarding, Link, LinkTransfer, StepRule, passed_along};
use crate::Instance;

/// The senders of an instance.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    /// Round-trip time of each subflow without queues, in seconds.
    pub base_rtts: Vec<f64>,
    /// Bits of a packet of each connection.
    pub packet_bits: Vec<f64>,
    /// Index of the response function of each connection.
    pub responses: Vec<u32>,
}

impl Senders {
    /// Windows in packets of subflows that send at these rates.
    pub fn windows(&self, instance: &Instance, sent: &[f64], conditions: &LinkConditions) -> Vec<f64> {
        let window = |(c, s): (usize, usize)| {
            let rtt = self.base_rtts[s] + conditions.queueing(instance.path(s));
            sent[s] * rtt / self.packet_bits[c]
        };
        let subflows = |c| instance.subflows_of(c).map(move |s| (c, s));
        (0..instance.connections())
            .flat_map(subflows)
            .map(window)
            .collect()
    }
}

/// The effects of all links on packets in an iteration.
#[derive(Clone, Debug)]
pub(super) struct LinkConditions {
    pub transfers: Vec<LinkTransfer>,
    /// Queueing delay of each link in seconds; empty if none has a queue.
    pub delays: Vec<f64>,
}

impl LinkConditions {
    pub fn new(links: &[Link], has_queues: bool) -> Self {
        let mut conditions = Self {
            transfers: Vec::with_capacity(links.len()),
            delays: vec![0.0; if has_queues { links.len() } else { 0 }],
        };
        conditions.update(links, Forwarding::All);
        conditions
    }

    /// Takes the conditions from the present prices.
    pub fn update(&mut self, links: &[Link], forwarding: Forwarding) {
        self.transfers.clear();
        self.transfers
            .extend(links.iter().map(|link| link.transfer(forwarding)));
        for (delay, link) in self.delays.iter_mut().zip(links) {
            *delay = link.delay();
        }
    }

    /// The queueing delay on a path in seconds.
    #[inline]
    fn queueing(&self, path: &[u32]) -> f64 {
        if self.delays.is_empty() {
            return 0.0;
        }
        path.iter().map(|&link| self.delays[link as usize]).sum()
    }
}

/// Response functions, and the width of their choice of the best path if that is smoothed.
#[derive(Clone, Copy)]
pub(super) struct SmoothedResponses<'a> {
    pub functions: &'a [&'a dyn Response],
    pub width: Option<f64>,
}

impl SmoothedResponses<'_> {
    fn windows(&self, function: u32, paths: &[Path], cwnd: &mut [f64]) {
        let response = self.functions[function as usize];
        match self.width {
            Some(width) => response.smoothed_windows(paths, width, cwnd),
            None => response.windows(paths, cwnd),
        }
    }
}

/// Rates of an iteration in bit/s.
#[derive(Clone, Debug)]
pub(super) struct Arrays {
    /// Rate at which each subflow sends.
    pub sent: Vec<f64>,
    /// Rate at which each subflow's packets arrive at the receiver.
    pub goodputs: Vec<f64>,
    /// The rate at which each hop of each path is reached, if there are several threads.
    arrivals: Vec<f64>,
    /// The load of each link, if there is one thread.
    loads: Vec<f64>,
}

impl Arrays {
    pub fn new(instance: &Instance, threads: usize) -> Self {
        let subflows = instance.subflows();
        let (hops, links) = if threads > 1 {
            (instance.crossed().len(), 0)
        } else {
            (0, instance.capacities().len())
        };
        Self {
            sent: vec![0.0; subflows],
            goodputs: vec![0.0; subflows],
            arrivals: vec![0.0; hops],
            loads: vec![0.0; links],
        }
    }
}

/// The share of each thread: ranges of connections, and of links.
#[derive(Clone, Debug)]
pub(super) struct WorkSplit {
    /// First connection of each thread, and one past the last.
    connections: Vec<usize>,
    /// First link of each thread, and one past the last.
    links: Vec<usize>,
}

/// The connections of a thread and their rates.
struct Chunk<'a> {
    connections: Range<usize>,
    sent: &'a mut [f64],
    goodputs: &'a mut [f64],
}

impl WorkSplit {
    pub fn new(instance: &Instance, threads: usize) -> Self {
        let cut = |n: usize| (0..=threads).map(|t| n * t / threads).collect();
        Self {
            connections: cut(instance.connections()),
            links: cut(instance.capacities().len()),
        }
    }

    /// Computes the rates that all subflows send with such links, and the rates that reach each
    /// link.
    pub fn send(
        &self,
        instance: &Instance,
        senders: &Senders,
        responses: SmoothedResponses<'_>,
        conditions: &LinkConditions,
        arrays: &mut Arrays,
    ) {
        if self.connections.len() == 2 {
            let chunk = Chunk {
                connections: 0..instance.connections(),
                sent: &mut arrays.sent,
                goodputs: &mut arrays.goodputs,
            };
            let loads = &mut arrays.loads;
            loads.fill(0.0);
            respond(instance, senders, responses, conditions, chunk, |link, rate| {
                loads[link as usize] += rate;
            });
            return;
        }
        std::thread::scope(|scope| {
            let (mut sent, mut goodputs) = (&mut arrays.sent[..], &mut arrays.goodputs[..]);
            let mut arrivals = &mut arrays.arrivals[..];
            for pair in self.connections.windows(2) {
                let connections = pair[0]..pair[1];
                let (mut subflows, mut hops) = (0, 0);
                if !connections.is_empty() {
                    let range = instance.subflows_of(pair[0]).start..instance.subflows_of(pair[1] - 1).end;
                    subflows = range.len();
                    hops = range.map(|s| instance.path(s).len()).sum();
                }
                let chunk = Chunk {
                    connections,
                    sent: sent.split_off_mut(..subflows).unwrap_or_default(),
                    goodputs: goodputs.split_off_mut(..subflows).unwrap_or_default(),
                };
                let mut arrivals = arrivals.split_off_mut(..hops).unwrap_or_default().iter_mut();
                scope.spawn(move || {
                    respond(instance, senders, responses, conditions, chunk, |_, rate| {
                        if let Some(arrival) = arrivals.next() {
                            *arrival = rate;
                        }
                    });
                });
            }
        });
    }

    /// Moves the prices of all links by the rates that reach them. Returns the worst residual.
    pub fn update(
        &self,
        instance: &Instance,
        arrays: &Arrays,
        (rule, marks): (StepRule, bool),
        links: &mut [Link],
    ) -> f64 {
        if self.links.len() == 2 {
            let loads = links.iter_mut().zip(&arrays.loads);
            return loads
                .map(|(link, &load)| link.update(load, rule, marks))
                .fold(0.0, f64::max);
        }
        let update = |first: usize, links: &mut [Link]| {
            let mut worst = 0.0_f64;
            for (i, link) in links.iter_mut().enumerate() {
                let hops = instance.hops_on(first + i).iter();
                let load = hops.fold(0.0, |sum, &hop| sum + arrays.arrivals[hop as usize]);
                worst = worst.max(link.update(load, rule, marks));
            }
            worst
        };
        std::thread::scope(|scope| {
            let mut rest = links;
            let threads: Vec<_> = self
                .links
                .windows(2)
                .map(|pair| {
                    let share = rest.split_off_mut(..pair[1] - pair[0]).unwrap_or_default();
                    scope.spawn(move || update(pair[0], share))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or(f64::INFINITY))
                .fold(0.0, f64::max)
        })
    }
}

/// Computes the rates at which connections send and packets arrive. Calls `reach` for each link of
/// each path in order, with the rate that reaches the link, which earlier links of the path reduce.
fn respond(
    instance: &Instance,
    senders: &Senders,
    responses: SmoothedResponses<'_>,
    conditions: &LinkConditions,
    chunk: Chunk<'_>,
    mut reach: impl FnMut(u32, f64),
) {
    let (mut paths, mut first) = (Vec::new(), 0);
    for c in chunk.connections {
        let subflows = instance.subflows_of(c);
        paths.clear();
        paths.extend(subflows.clone().map(|s| {
            let path = instance.path(s);
            Path {
                signal: 1.0 - passed_along(path, &conditions.transfers),
                rtt: senders.base_rtts[s] + conditions.queueing(path),
            }
        }));
        let share = first..first + subflows.len();
        first = share.end;
        let sent = &mut chunk.sent[share.clone()];
        responses.windows(senders.responses[c], &paths, sent);
        let rates = sent.iter_mut().zip(&mut chunk.goodputs[share]);
        for (((sent, goodput), path), s) in rates.zip(&paths).zip(subflows) {
            *sent *= senders.packet_bits[c] / path.rtt;
            let mut rate = *sent;
            for &link in instance.path(s) {
                reach(link, rate);
                rate *= conditions.transfers[link as usize].forwarded;
            }
            *goodput = rate;
        }
    }
}
