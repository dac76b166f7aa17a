//! The solution of all rates by one of the solvers, a step at a time so that a run can be stopped.

use weft_cc::Response;
use weft_fabric::{Fabric, Link};
use weft_spec::QueueSize;

use super::flows::{ActiveFlow, Phase};
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
    rtts: Vec<f64>,
    /// Slot and subflow of each subflow of the instance.
    subflows: Vec<(u32, u32)>,
    solver: Solver,
}

enum Solver {
    Equilibrium(EquilibriumSolver),
    CoupledFilling(Box<CoupledFilling>),
    /// Connections with one path each are solved at once.
    SinglePath(Vec<f64>),
}

/// A solution.
pub(super) struct Solution {
    /// Slot and subflow of each rate.
    pub subflows: Vec<(u32, u32)>,
    pub rates: Vec<f64>,
    /// Prices of the links at an equilibrium.
    pub prices: Option<Vec<f64>>,
    pub iterations: u32,
    pub residual: f64,
    pub converged: bool,
}

impl BatchSolver {
    /// Creates a solver for the flows that transfer, on a fabric whose links now have these capacities in bit/s. A subflow
    /// that crosses a link which is down takes no part.
    pub fn new(
        method: Method,
        flows: &[ActiveFlow],
        fabric: &Fabric,
        (capacities, up): (&[f64], &[bool]),
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Result<Self, crate::Error> {
        let mut instance = Instance::new(capacities.to_vec())?;
        let (mut rtts, mut subflows, mut usable) = (Vec::new(), Vec::new(), Vec::new());
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
            rtts.extend(usable.iter().map(|&s| paths.rtts[s]));
            subflows.extend(usable.iter().map(|&s| (slot, s as u32)));
        }
        let solver = match method {
            Method::Equilibrium => {
                let links = fabric.links.iter().zip(capacities);
                let wait =
                    |(link, &capacity): (&Link, &f64)| standing_bits(fabric, link, settings) / capacity;
                let waits: Vec<f64> = links.map(wait).collect();
                let delays = Delays {
                    base_rtts: &rtts,
                    queueing: &waits,
                };
                Solver::Equilibrium(EquilibriumSolver::new(&mut instance, delays, prices, settings))
            }
            Method::MaxMin if instance.subflows() == instance.connections() => {
                Solver::SinglePath(max_min(&instance, None)?)
            }
            Method::MaxMin => Solver::CoupledFilling(Box::new(CoupledFilling::new(&instance))),
        };
        Ok(Self {
            instance,
            rtts,
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
    pub fn step(&mut self, response: Option<&dyn Response>) {
        match (&mut self.solver, response) {
            (Solver::Equilibrium(search), Some(response)) => {
                search.step(&self.instance, &self.rtts, response);
            }
            (Solver::CoupledFilling(filling), _) => filling.step(&self.instance),
            _ => {}
        }
    }

    /// Returns the solution so far.
    pub fn solution(self) -> Solution {
        let (rates, prices, iterations, residual, converged) = match self.solver {
            Solver::Equilibrium(search) => {
                let equilibrium = search.solution(&self.instance);
                (
                    equilibrium.goodputs,
                    Some(equilibrium.prices),
                    equilibrium.iterations,
                    equilibrium.residual,
                    equilibrium.converged,
                )
            }
            Solver::CoupledFilling(filling) => {
                let shares = filling.solution();
                (shares.rates, None, shares.events, 0.0, shares.converged)
            }
            Solver::SinglePath(rates) => (rates, None, 0, 0.0, true),
        };
        Solution {
            subflows: self.subflows,
            rates,
            prices,
            iterations,
            residual,
            converged,
        }
    }
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
