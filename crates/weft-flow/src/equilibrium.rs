//! The equilibrium of a congestion control: rates at which every link's loss (or marking) makes
//! connections send at these rates. The flow-level simulator of Raiciu et al., "Data Center
//! Networking with Multipath TCP" (2010), section 3.1, iterates between the two. This iteration has
//! steps that adapt to each link.
//!
//! A link has a *price*, the share of packets that it drops or marks. A connection responds to the
//! prices of its paths with windows. A packet that a link drops does not load the links after it,
//! so that a link's load is what earlier links let pass. At the equilibrium a link either carries
//! its capacity or has a negligible price.
//!
//! The first search changes the logarithm of a price by a gain times the logarithm of the link's
//! utilisation. The gain grows while the price moves in one direction and halves when the direction
//! changes (Riedmiller and Braun, "`RPROP`", 1993). Steep responses are damped in this way, and flat
//! ones converge fast.
//!
//! Where responses jump, as OLIA's does from one best path to another, prices swing and no
//! iteration is an equilibrium. The search then begins with windows that change gradually from one
//! best path to another. Whenever links are near their capacities, the change becomes narrower,
//! down to a thousandth of a rate.
//!
//! If the first search fails, a second one takes over. The logarithm of a price then changes by the
//! excess of the utilisation over 1, times a step that falls as `t^-0.6`. Prices then settle, and
//! the mean of the iterations approaches the equilibrium (Nedic and Ozdaglar, "Approximate Primal
//! Solutions and Rate Analysis for Dual Subgradient Methods", 2009). A step by the logarithm would
//! make the mean logarithm of the utilisation 0, which is not a mean utilisation of 1.
//!
//! A link with a price may also have a queue, which is part of the round-trip times: packets are
//! marked only where others wait already. The caller says how long packets wait.

mod link;
mod mean;
mod work;

#[cfg(test)]
mod tests;

use weft_cc::Response;

use crate::Instance;
use link::{Forwarding, Link, StepRule};
use mean::MeanIterate;
use work::{Arrays, LinkConditions, Senders, SmoothedResponses, WorkSplit};

/// The price of every link before the first iteration.
const INITIAL_PRICE: f64 = 1e-3;

/// The first search ends after this many iterations without a residual that is smaller by
/// [`IMPROVEMENT`].
const PATIENCE: u32 = 500;

/// The same number where responses are smoothed.
const SMOOTHED_PATIENCE: u32 = 1_500;

/// Factor by which a residual has to fall to count as progress.
const IMPROVEMENT: f64 = 0.9;

/// Factor by which the gain of a link grows while its price moves in one direction.
const GROWTH: f64 = 1.2;

/// The same factor where responses are smoothed. They are steep, and faster growth makes several
/// links swing together.
const SMOOTHED_GROWTH: f64 = 1.05;

/// Widths of the choice of the best path, relative to rates. An equilibrium has the last one.
const WIDTHS: [f64; 9] = [0.3, 0.15, 0.07, 0.035, 0.017, 0.0085, 0.004, 0.002, 0.001];

/// Residual at which the next width follows.
const WIDTH_TOLERANCE: f64 = 1e-2;

/// Parameters of the search for an equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bits of a packet.
    pub packet_bits: f64,
    /// True if packets are marked, so that all that is sent arrives; false if they are dropped.
    pub marks: bool,
    /// Largest relative distance of a link with a price from its capacity at the equilibrium.
    pub tolerance: f64,
    /// Number of iterations after which the search gives up.
    pub max_iterations: u32,
    /// Threads, at least 1. They change the time it takes and nothing else.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            packet_bits: 12_000.0,
            marks: false,
            tolerance: 1e-3,
            max_iterations: 5_000,
            threads: 1,
        }
    }
}

/// Delays of packets, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Delays<'a> {
    /// Round-trip time of each subflow without queues, above 0.
    pub base_rtts: &'a [f64],
    /// Queueing delay of each link if it has a price, 0 or more.
    pub queueing: &'a [f64],
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// Goodput of each subflow in bit/s: the packets that arrive. No link carries more than its
    /// capacity.
    pub goodputs: Vec<f64>,
    /// Window of each subflow in packets.
    pub windows: Vec<f64>,
    /// Share of packets that each link drops or marks.
    pub prices: Vec<f64>,
    /// Bit/s that arrive at each link.
    pub loads: Vec<f64>,
    /// Number of iterations.
    pub iterations: u32,
    /// Largest relative distance of a link from its capacity.
    pub residual: f64,
    /// True if the result is an equilibrium.
    pub converged: bool,
}

/// Searches for the rates at which connections that answer prices by `response` are in equilibrium.
///
/// If the search fails, means over iterations are returned with `converged` false.
///
/// # Panics
/// Panics if the number of round-trip times is not the number of subflows, or if the number of
/// queueing delays is not the number of links. It also panics if a time is out of its range.
pub fn equilibrium(
    instance: &mut Instance,
    delays: Delays<'_>,
    response: &dyn Response,
    settings: Settings,
) -> Equilibrium {
    let mut solver = EquilibriumSolver::new(instance, delays, None, settings);
    while !solver.is_done() {
        solver.step(instance, &[response]);
    }
    solver.solution(instance)
}

/// A search for the equilibrium, an iteration at a time.
#[derive(Clone, Debug)]
pub struct EquilibriumSolver {
    settings: Settings,
    senders: Senders,
    links: Vec<Link>,
    conditions: LinkConditions,
    arrays: Arrays,
    work: WorkSplit,
    iterations: u32,
    residual: f64,
    /// Smallest residual of the first search, and the iteration that reached it.
    best: (f64, u32),
    /// Index of the present width if the response jumps.
    width: Option<usize>,
    /// The second search, once it has begun.
    mean: Option<Box<MeanIterate>>,
}

impl EquilibriumSolver {
    /// Creates a search. `prices` are those of an equilibrium nearby, if one is known.
    ///
    /// # Panics
    /// Panics if the number of round-trip times is not the number of subflows, or if the number of
    /// queueing delays or prices is not the number of links. It also panics if a time is out of its
    /// range.
    pub fn new(
        instance: &mut Instance,
        delays: Delays<'_>,
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Self {
        let Delays { base_rtts, queueing } = delays;
        let links = instance.capacities().len();
        assert_eq!(
            base_rtts.len(),
            instance.subflows(),
            "a round-trip time for each subflow"
        );
        assert!(base_rtts.iter().all(|&rtt| rtt > 0.0), "round-trip times above 0");
        assert_eq!(queueing.len(), links, "a queueing delay for each link");
        assert!(
            queueing.iter().all(|&delay| delay >= 0.0),
            "no queueing delay below 0"
        );
        assert!(
            prices.is_none_or(|prices| prices.len() == links),
            "a price for each link"
        );
        let threads = settings.threads.max(1);
        if threads > 1 {
            instance.index();
        }
        let price = |link: usize| prices.map_or(INITIAL_PRICE, |prices| prices[link]);
        let link = |(link, &capacity): (usize, &f64)| Link::new(capacity, queueing[link], price(link));
        let links: Vec<Link> = instance.capacities().iter().enumerate().map(link).collect();
        Self {
            settings,
            senders: Senders {
                base_rtts: base_rtts.to_vec(),
                packet_bits: vec![settings.packet_bits; instance.connections()],
                responses: vec![0; instance.connections()],
            },
            conditions: LinkConditions::new(&links, queueing.iter().any(|&delay| delay > 0.0)),
            arrays: Arrays::new(instance, threads),
            links,
            work: WorkSplit::new(instance, threads),
            iterations: 0,
            residual: f64::INFINITY,
            best: (f64::INFINITY, 0),
            width: None,
            mean: None,
        }
    }

    /// Sets the bits of a packet of each connection.
    ///
    /// # Panics
    /// Panics if the number of values is not the number of connections.
    #[must_use]
    pub fn with_packet_bits(mut self, packet_bits: Vec<f64>) -> Self {
        assert_eq!(
            packet_bits.len(),
            self.senders.packet_bits.len(),
            "bits for each connection"
        );
        self.senders.packet_bits = packet_bits;
        self
    }

    /// Sets the index of each connection's response function among those of [`step`](Self::step);
    /// without this, all connections have the first one.
    ///
    /// # Panics
    /// Panics if the number of values is not the number of connections.
    #[must_use]
    pub fn with_responses(mut self, responses: Vec<u32>) -> Self {
        assert_eq!(
            responses.len(),
            self.senders.responses.len(),
            "a response function for each connection"
        );
        self.senders.responses = responses;
        self
    }

    /// Returns the index of a connection's response function.
    pub fn response_of(&self, connection: usize) -> usize {
        self.senders.responses[connection] as usize
    }

    /// Returns true if the search has converged or given up.
    pub fn is_done(&self) -> bool {
        self.converged() || self.iterations >= self.settings.max_iterations
    }

    fn converged(&self) -> bool {
        self.residual <= self.settings.tolerance || self.mean_converged()
    }

    fn mean_converged(&self) -> bool {
        let mean = self.mean.as_ref();
        mean.is_some_and(|mean| mean.converged(self.settings.tolerance))
    }

    /// Makes an iteration.
    ///
    /// # Panics
    /// Panics if a connection has a response function that is not among `responses`.
    pub fn step(&mut self, instance: &Instance, responses: &[&dyn Response]) {
        if self.iterations == 0 && responses.iter().any(|response| response.jumps()) {
            self.width = Some(0);
        }
        let forwarding = match &self.mean {
            _ if self.settings.marks => Forwarding::All,
            None => Forwarding::UpToCapacity,
            Some(_) => Forwarding::Passed,
        };
        self.conditions.update(&self.links, forwarding);
        let rule = match &mut self.mean {
            None if self.width.is_some() => StepRule::Adaptive(SMOOTHED_GROWTH),
            None => StepRule::Adaptive(GROWTH),
            Some(mean) => StepRule::Falling(mean.next_step()),
        };
        let responses = SmoothedResponses {
            functions: responses,
            width: self.width.map(|width| WIDTHS[width]),
        };
        self.work.send(
            instance,
            &self.senders,
            responses,
            &self.conditions,
            &mut self.arrays,
        );
        self.residual = self.work.update(
            instance,
            &self.arrays,
            (rule, self.settings.marks),
            &mut self.links,
        );
        if let Some(mean) = &mut self.mean {
            mean.add(&self.arrays, &self.links);
        }
        self.iterations += 1;
        if self.mean.is_none() {
            self.narrow();
            if !self.converged() && self.first_search_fails() {
                self.width = None;
                self.mean = Some(Box::new(MeanIterate::new(&self.arrays, &self.links)));
            }
        }
    }

    /// Takes the next width if links are near their capacities.
    fn narrow(&mut self) {
        if let Some(width) = &mut self.width
            && *width + 1 < WIDTHS.len()
        {
            if self.residual <= WIDTH_TOLERANCE {
                *width += 1;
                self.best = (f64::INFINITY, self.iterations);
            }
            // Only the last width has an equilibrium.
            self.residual = self.residual.max(2.0 * self.settings.tolerance);
        }
    }

    /// Returns true if the first search has used up four fifths of the iterations, or makes no
    /// progress.
    fn first_search_fails(&mut self) -> bool {
        if self.residual < IMPROVEMENT * self.best.0 {
            self.best = (self.residual, self.iterations);
        }
        let patience = if self.width.is_some() {
            SMOOTHED_PATIENCE
        } else {
            PATIENCE
        };
        self.iterations >= self.settings.max_iterations / 5 * 4 || self.iterations - self.best.1 > patience
    }

    /// Returns the solution so far: the last iteration if that is an equilibrium, or else the mean
    /// of many.
    pub fn solution(&self, instance: &Instance) -> Equilibrium {
        let at_last = self.residual <= self.settings.tolerance;
        let mean = self.mean.as_ref().filter(|_| !at_last);
        let mean = mean.and_then(|mean| mean.complete());
        let (sent, mut goodputs, loads, residual) = match mean {
            Some(mean) => (
                &mean.sent,
                mean.goodputs.clone(),
                mean.loads.clone(),
                mean.residual,
            ),
            None => (
                &self.arrays.sent,
                self.arrays.goodputs.clone(),
                self.links.iter().map(|link| link.load).collect(),
                self.residual,
            ),
        };
        fit_to_capacities(instance, &mut goodputs);
        Equilibrium {
            windows: self.senders.windows(instance, sent, &self.conditions),
            goodputs,
            prices: self
                .conditions
                .transfers
                .iter()
                .map(|transfer| 1.0 - transfer.passed)
                .collect(),
            loads,
            iterations: self.iterations,
            residual,
            converged: self.converged(),
        }
    }
}

/// Reduces goodputs to those that no link carries above its capacity: a link may be a tolerance
/// above it.
fn fit_to_capacities(instance: &Instance, goodputs: &mut [f64]) {
    let mut carried = vec![0.0; instance.capacities().len()];
    for (s, &goodput) in goodputs.iter().enumerate() {
        for &link in instance.path(s) {
            carried[link as usize] += goodput;
        }
    }
    let fits: Vec<f64> = instance
        .capacities()
        .iter()
        .zip(carried)
        .map(|(&capacity, carried)| (capacity / carried).min(1.0))
        .collect();
    for (s, goodput) in goodputs.iter_mut().enumerate() {
        let path = instance.path(s).iter();
        *goodput *= path.map(|&link| fits[link as usize]).fold(1.0, f64::min);
    }
}
