//! The rates of flows, constant between two changes. A change re-solves only the rates that it affects, or all of them.

use std::cmp::Reverse;
use std::time::Instant;

use weft_fabric::{Fabric, Link};
use weft_spec::Time;

use super::batch::{BatchSolver, Method};
use super::flows::Phase;
use super::{FlowSimulation, SLICE_BUDGET, add_seconds, cannot_run, responses};
use crate::Fluid;

/// Relative excess of a link's rate over its capacity above which a result is wrong.
const MAX_EXCESS: f64 = 1e-6;

/// The way in which rates follow changes.
// There is one per run.
#[allow(clippy::large_enum_variant)]
pub(super) enum RateModel {
    /// Max-min fair rates, solved only where a change affects them. Flows are numbered by their slots.
    Incremental(Fluid),
    /// All rates are solved at every change.
    Batch {
        method: Method,
        /// Prices of the previous equilibrium.
        prices: Option<Vec<f64>>,
        solver: Option<Box<BatchSolver>>,
    },
}

/// Statistics of the solutions of a run.
#[derive(Debug, Default)]
pub(super) struct SolverStats {
    pub solutions: u64,
    pub iterations: u64,
    /// Largest relative distance of a link from its capacity.
    pub residual: f64,
    /// Number of solutions that were given up.
    pub unconverged: u64,
    /// Largest number of connections in one solution whose windows are too small for the response function, and of how many.
    pub small_windows: (usize, usize),
}

/// A departure: time, slot and version in one number, because a heap compares thousands of them for each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Departure(u128);

impl Departure {
    fn new(time: Time, slot: u32, version: u32) -> Self {
        Self(u128::from(time.0) << 64 | u128::from(slot) << 32 | u128::from(version))
    }

    fn parts(self) -> (Time, u32, u32) {
        (Time((self.0 >> 64) as u64), (self.0 >> 32) as u32, self.0 as u32)
    }
}

impl FlowSimulation {
    /// Returns the time and the slot of the next departure if no event comes first.
    pub(super) fn next_departure(&mut self) -> Option<(Time, u32)> {
        if let RateModel::Incremental(fluid) = &mut self.rates {
            return fluid.next_departure();
        }
        while let Some(&Reverse(departure)) = self.departures.peek() {
            let (time, slot, version) = departure.parts();
            let flow = &self.flows[slot];
            if flow.version == version && flow.phase == Phase::Transferring {
                return Some((time, slot));
            }
            self.departures.pop();
        }
        None
    }

    /// Adds a flow to the sharing if its path is up.
    pub(super) fn start_sharing(&mut self, slot: u32) {
        self.rates_stale = true;
        if let RateModel::Incremental(fluid) = &mut self.rates {
            let flow = &self.flows[slot];
            let path = flow.paths.path(0);
            if path.iter().all(|&link| self.network.up[link as usize]) {
                fluid.arrive(self.now, slot, path, flow.remaining_bits);
            }
        }
    }

    /// Removes a flow from the sharing.
    pub(super) fn stop_sharing(&mut self, slot: u32) {
        self.integrate(slot);
        self.rates_stale = true;
        match &mut self.rates {
            RateModel::Batch { .. } => {
                let flow = &mut self.flows[slot];
                flow.rates.fill(0.0);
                flow.version += 1;
            }
            RateModel::Incremental(fluid) => {
                if fluid.is_active(slot) {
                    fluid.remove(self.now, slot);
                }
            }
        }
    }

    /// Integrates the rates of a flow up to now.
    pub(super) fn integrate(&mut self, slot: u32) {
        let flow = &mut self.flows[slot];
        if flow.phase != Phase::Transferring {
            return;
        }
        if let RateModel::Incremental(fluid) = &mut self.rates {
            if fluid.is_active(slot) {
                let bits = fluid.collect(self.now, slot);
                flow.delivered[0] += bits;
                flow.remaining_bits -= bits;
                for &link in flow.paths.path(0) {
                    self.network.link_bits[link as usize] += bits;
                }
            }
            return;
        }
        let seconds = Time(self.now.0 - flow.updated_at.0).seconds();
        flow.updated_at = self.now;
        for subflow in 0..flow.rates.len() {
            let bits = flow.rates[subflow] * seconds;
            if bits == 0.0 {
                continue;
            }
            flow.delivered[subflow] += bits;
            flow.remaining_bits -= bits;
            for &link in flow.paths.path(subflow) {
                self.network.link_bits[link as usize] += bits;
            }
        }
    }

    /// Integrates the rates of all flows up to now.
    pub(super) fn integrate_all(&mut self) {
        for slot in self.flows.slots() {
            self.integrate(slot);
        }
    }

    /// Schedules the departure of a flow at its present rate.
    fn schedule_departure(&mut self, slot: u32) {
        let flow = &mut self.flows[slot];
        flow.version += 1;
        let rate: f64 = flow.rates.iter().sum();
        if rate > 0.0 && flow.remaining_bits.is_finite() {
            let time = add_seconds(self.now, flow.remaining_bits.max(0.0) / rate);
            let departure = Departure::new(time, slot, flow.version);
            self.departures.push(Reverse(departure));
        }
    }

    /// Recomputes all rates.
    pub(super) fn recompute_all(&mut self) {
        self.rates_stale = true;
        if matches!(self.rates, RateModel::Batch { .. }) {
            return;
        }
        self.integrate_all();
        // Capacities above 0 are checked before the run.
        if let Ok(fluid) = Fluid::new(&self.network.capacities, self.now) {
            self.rates = RateModel::Incremental(fluid);
        }
        for slot in self.flows.slots() {
            if self.flows[slot].phase == Phase::Transferring {
                self.start_sharing(slot);
            }
        }
    }

    /// Solves for the rates after all changes of this moment, or continues that; returns true if it is complete.
    ///
    /// # Errors
    /// Returns an error if a link has no capacity, and an internal error if a link carries more than its capacity.
    pub(super) fn solve(&mut self, began: Instant) -> Result<bool, weft_run::Error> {
        let (method, prices, solver) = match &mut self.rates {
            RateModel::Batch {
                method,
                prices,
                solver,
            } => (method, prices, solver),
            RateModel::Incremental(fluid) => {
                self.work_since_check += fluid.settle();
                self.stats.solutions += 1;
                self.rates_stale = false;
                return match fluid.sharing().overload() {
                    Some((link, rate)) => Err(overload(&self.plan.fabric, link as usize, rate)),
                    None => Ok(true),
                };
            }
        };
        let mut running = if let Some(running) = solver.take() {
            running
        } else {
            let network = (&self.network.capacities[..], &self.network.up[..]);
            let new = BatchSolver::new(
                *method,
                self.flows.as_slice(),
                (&self.plan, &self.used),
                network,
                prices.as_deref(),
                self.settings,
            );
            Box::new(new.map_err(cannot_run)?)
        };
        let responses = responses(&self.plan, &self.used);
        while !running.is_done() {
            running.step(&responses);
            if began.elapsed() > SLICE_BUDGET && !running.is_done() {
                *solver = Some(running);
                return Ok(false);
            }
        }
        let solution = running.solution(&responses);
        check_capacities(&self.plan.fabric, &self.network.capacities, &solution.link_rates)?;
        if solution.small_windows > self.stats.small_windows.0 {
            self.stats.small_windows = (solution.small_windows, solution.connections);
        }
        *prices = solution.prices;
        self.stats.solutions += 1;
        self.stats.iterations += u64::from(solution.iterations);
        self.stats.residual = self.stats.residual.max(solution.residual);
        self.stats.unconverged += u64::from(!solution.converged);
        self.integrate_all();
        for slot in self.flows.slots() {
            self.flows[slot].rates.fill(0.0);
        }
        for (&(slot, subflow), rate) in solution.subflows.iter().zip(&solution.rates) {
            self.flows[slot].rates[subflow as usize] = *rate;
        }
        for slot in self.flows.slots() {
            if self.flows[slot].phase == Phase::Transferring {
                self.schedule_departure(slot);
            }
        }
        self.rates_stale = false;
        Ok(true)
    }
}

/// Checks that no link carries more than its capacity, both in bit/s.
fn check_capacities(fabric: &Fabric, capacities: &[f64], rates: &[f64]) -> Result<(), weft_run::Error> {
    let over = |&(_, (rate, capacity)): &(usize, (&f64, &f64))| *rate > capacity * (1.0 + MAX_EXCESS);
    match rates.iter().zip(capacities).enumerate().find(over) {
        Some((link, (&rate, _))) => Err(overload(fabric, link, rate)),
        None => Ok(()),
    }
}

fn overload(fabric: &Fabric, link: usize, rate: f64) -> weft_run::Error {
    let Link { from, to, .. } = &fabric.links[link];
    let [from, to] = [from, to].map(|&node| &fabric.nodes[node as usize].name);
    let problem = format!("level \"flow\" gives the link {from}->{to} {rate:.0} bit/s, more than its rate");
    weft_run::Error::Internal(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_above_a_capacity_is_an_internal_error() {
        let fabric = crate::placement::tests::fat_tree(4);
        let capacities = vec![1e9; fabric.links.len()];
        let mut rates = capacities.clone();
        check_capacities(&fabric, &capacities, &rates).unwrap();
        rates[3] = 1.00001e9;
        let error = check_capacities(&fabric, &capacities, &rates).unwrap_err();
        assert!(matches!(error, weft_run::Error::Internal(_)), "{error}");
        assert!(error.to_string().contains("1000010000 bit/s"), "{error}");
    }
}
