//! The solution of all rates by one of the solvers, a step at a time so that a run can be stopped.

use weft_cc::Response;
use weft_fabric::{Fabric, Link};
use weft_run::Plan;
use weft_spec::QueueSize;

use super::flows::{ActiveFlow, Phase};
use super::packet_bits;
use crate::equilibrium::EquilibriumSolver;
use crate::{CoupledFilling, Delays, Instance, Settings, max_min};

/// The kind of rates to solve for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The equilibrium of the congestion control.
    Equilibrium,
    /// Max-min fair rates of connections.
    MaxMin,
}

/// A solver in progress.
pub(super) struct BatchSolver {
    instance: Instance,
    /// Slot and subflow of each subflow of the instance.
    subflows: Vec<(u32, u32)>,
    solver: Solver,
}

enum Solver {
    Equilibrium(Box<EquilibriumSolver>),
    CoupledFilling(Box<CoupledFilling>),
    /// Connections with one path each are solved at once.
    SinglePath(Vec<f64>),
}

/// A solution.
pub(super) struct Solution {
    /// Slot and subflow of each rate.
    pub subflows: Vec<(u32, u32)>,
    pub rates: Vec<f64>,
    /// Bit/s that each link carries.
    pub link_rates: Vec<f64>,
    /// Prices of the links at an equilibrium.
    pub prices: Option<Vec<f64>>,
    pub iterations: u32,
    pub residual: f64,
    pub converged: bool,
    pub connections: usize,
    /// Number of connections whose windows are too small for the response function.
    pub small_windows: usize,
}

impl BatchSolver {
    /// Creates a solver for the flows that transfer, on a fabric whose links now have these capacities in bit/s. A subflow
    /// that crosses a link which is down takes no part. `used` are the transports with traffic, whose response functions
    /// each step gets in this order.
    pub fn new(
        method: Method,
        flows: &[ActiveFlow],
        (plan, used): (&Plan, &[usize]),
        (capacities, up): (&[f64], &[bool]),
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Result<Self, crate::Error> {
        let mut instance = Instance::new(capacities.to_vec())?;
        let (mut rtts, mut subflows, mut usable) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bits, mut responses) = (Vec::new(), Vec::new());
        for (flow, slot) in flows.iter().zip(0_u32..) {
            if flow.phase != Phase::Transferring {
                continue;
            }
            let paths = &flow.paths;
            usable.clear();
            usable.extend(
                (0..paths.ends.len()).filter(|&s| paths.path(s).iter().all(|&link| up[link as usize])),
            );
            if usable.is_empty() {
                continue;
            }
            instance.connect(usable.iter().map(|&s| paths.path(s)))?;
            let transport = flow.flow.transport as usize;
            bits.push(packet_bits(&plan.transports[transport].expect_tcp().profile));
            responses.push(used.iter().position(|&other| other == transport).unwrap_or(0) as u32);
            rtts.extend(usable.iter().map(|&s| paths.rtts[s]));
            subflows.extend(usable.iter().map(|&s| (slot, s as u32)));
        }
        let solver = match method {
            Method::Equilibrium => {
                let fabric = &plan.fabric;
                let links = fabric.links.iter().zip(capacities);
                let wait =
                    |(link, &capacity): (&Link, &f64)| standing_bits(fabric, link, settings) / capacity;
                let waits: Vec<f64> = links.map(wait).collect();
                let delays = Delays {
                    base_rtts: &rtts,
                    queueing: &waits,
                };
                let search = EquilibriumSolver::new(&mut instance, delays, prices, settings);
                let search = search.with_packet_bits(bits).with_responses(responses);
                Solver::Equilibrium(Box::new(search))
            }
            Method::MaxMin if instance.subflows() == instance.connections() => {
                Solver::SinglePath(max_min(&instance, None)?)
            }
            Method::MaxMin => Solver::CoupledFilling(Box::new(CoupledFilling::new(&instance))),
        };
        Ok(Self {
            instance,
            subflows,
            solver,
        })
    }

    /// Returns true if the solver has converged or given up.
    pub fn is_done(&self) -> bool {
        match &self.solver {
            Solver::Equilibrium(search) => search.is_done(),
            Solver::CoupledFilling(filling) => filling.is_done(),
            Solver::SinglePath(_) => true,
        }
    }

    /// Makes a step. An algorithm without a response function has no equilibrium, which is checked before the run.
    pub fn step(&mut self, responses: &[&dyn Response]) {
        match &mut self.solver {
            Solver::Equilibrium(search) => search.step(&self.instance, responses),
            Solver::CoupledFilling(filling) => filling.step(&self.instance),
            Solver::SinglePath(_) => {}
        }
    }

    /// Returns the solution so far.
    pub fn solution(self, responses: &[&dyn Response]) -> Solution {
        let instance = &self.instance;
        let mut small_windows = 0;
        let (rates, prices, iterations, residual, converged) = match self.solver {
            Solver::Equilibrium(search) => {
                let found = search.solution(instance);
                let floors: Vec<f64> = responses.iter().map(|response| response.min_window()).collect();
                let floor = |c: usize| floors[search.response_of(c)];
                small_windows = count_small_windows(instance, &found.windows, &found.goodputs, floor);
                let prices = Some(found.prices);
                (
                    found.goodputs,
                    prices,
                    found.iterations,
                    found.residual,
                    found.converged,
                )
            }
            Solver::CoupledFilling(filling) => {
                let found = filling.solution();
                (found.rates, None, found.events, 0.0, found.converged)
            }
            Solver::SinglePath(rates) => (rates, None, 0, 0.0, true),
        };
        let mut link_rates = vec![0.0; instance.capacities().len()];
        for (s, &rate) in rates.iter().enumerate() {
            for &link in instance.path(s) {
                link_rates[link as usize] += rate;
            }
        }
        Solution {
            connections: instance.connections(),
            subflows: self.subflows,
            rates,
            link_rates,
            prices,
            iterations,
            residual,
            converged,
            small_windows,
        }
    }
}

/// Counts the connections whose mean window is below their `floor`. The mean is over their packets, so that a subflow which only probes a
/// path has little weight.
fn count_small_windows(
    instance: &Instance,
    windows: &[f64],
    goodputs: &[f64],
    floor: impl Fn(usize) -> f64,
) -> usize {
    let is_small = |&c: &usize| {
        let subflows = instance.subflows_of(c);
        let (sum, weighted) = subflows.fold((0.0, 0.0), |(sum, weighted), s| {
            (sum + goodputs[s], weighted + goodputs[s] * windows[s])
        });
        weighted < sum * floor(c) * (1.0 - 1e-9)
    };
    (0..instance.connections()).filter(is_small).count()
}

/// Bits that wait at a link that marks: its marking threshold, around which DCTCP's queue swings (Alizadeh et al., "Data Center TCP
/// (DCTCP)", 2010, section 3.3). Nothing waits at a port of a host: sockets wait until there is room. The mean queue of a link that
/// drops packets depends on the oscillation of windows, which is not modelled.
fn standing_bits(fabric: &Fabric, link: &Link, settings: Settings) -> f64 {
    if !settings.marks || fabric.nodes[link.from as usize].is_host {
        return 0.0;
    }
    match link.queue.mark {
        Some(QueueSize::Packets(packets)) => f64::from(packets) * settings.packet_bits,
        Some(QueueSize::Bytes(bytes)) => 8.0 * bytes as f64,
        None => 0.0,
    }
}
