//! All rates from nothing, by one of the solvers, a step at a time so that a run can be stopped.

use weft_cc::Response;
use weft_fabric::{Fabric, Link};
use weft_spec::Amount;

use super::flows::{Phase, Served};
use crate::equilibrium::Search;
use crate::{Delays, Filling, Instance, Settings, max_min};

/// What rates are solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The equilibrium of the congestion control.
    Equilibrium,
    /// Max-min fair rates of connections.
    MaxMin,
}

/// A solution under way.
pub(super) struct Solving {
    instance: Instance,
    rtts: Vec<f64>,
    /// Place and subflow of each of the instance's.
    subflows: Vec<(u32, u32)>,
    solver: Solver,
}

enum Solver {
    Equilibrium(Search),
    Filling(Box<Filling>),
    /// One path each is solved at once.
    SinglePath(Vec<f64>),
}

/// A solution.
pub(super) struct Solved {
    /// Place and subflow, and bit/s, of each subflow.
    pub subflows: Vec<(u32, u32)>,
    pub rates: Vec<f64>,
    /// Of an equilibrium.
    pub prices: Option<Vec<f64>>,
    pub iterations: u32,
    pub residual: f64,
    pub reached: bool,
}

impl Solving {
    /// Of the flows that are served, on a fabric whose links now have these capacities in bit/s. Links that are not up have
    /// nobody on them.
    pub fn new(
        method: Method,
        served: &[Served],
        fabric: &Fabric,
        (capacities, up): (&[f64], &[bool]),
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Result<Self, crate::Error> {
        let mut instance = Instance::new(capacities.to_vec())?;
        let (mut rtts, mut subflows, mut alive) = (Vec::new(), Vec::new(), Vec::new());
        for (it, place) in served.iter().zip(0_u32..) {
            if it.phase != Phase::Served {
                continue;
            }
            let ways = &it.ways;
            alive.clear();
            alive
                .extend((0..ways.ends.len()).filter(|&s| ways.path(s).iter().all(|&link| up[link as usize])));
            if alive.is_empty() {
                continue;
            }
            instance.connect(alive.iter().map(|&s| ways.path(s)))?;
            rtts.extend(alive.iter().map(|&s| ways.rtts[s]));
            subflows.extend(alive.iter().map(|&s| (place, s as u32)));
        }
        let solver = match method {
            Method::Equilibrium => {
                let links = fabric.links.iter().zip(capacities);
                let wait =
                    |(link, &capacity): (&Link, &f64)| standing_bits(fabric, link, settings) / capacity;
                let waits: Vec<f64> = links.map(wait).collect();
                let delays = Delays {
                    idle: &rtts,
                    waits: &waits,
                };
                Solver::Equilibrium(Search::new(&mut instance, delays, prices, settings))
            }
            Method::MaxMin if instance.subflows() == instance.connections() => {
                Solver::SinglePath(max_min(&instance, None)?)
            }
            Method::MaxMin => Solver::Filling(Box::new(Filling::new(&instance))),
        };
        Ok(Self {
            instance,
            rtts,
            subflows,
            solver,
        })
    }

    /// Is it found, or given up?
    pub fn over(&self) -> bool {
        match &self.solver {
            Solver::Equilibrium(search) => search.over(),
            Solver::Filling(filling) => filling.over(),
            Solver::SinglePath(_) => true,
        }
    }

    /// A step towards it. Without a response function there is no equilibrium, as was checked.
    pub fn step(&mut self, response: Option<&dyn Response>) {
        match (&mut self.solver, response) {
            (Solver::Equilibrium(search), Some(response)) => {
                search.step(&self.instance, &self.rtts, response);
            }
            (Solver::Filling(filling), _) => filling.step(&self.instance),
            _ => {}
        }
    }

    /// What was found by now.
    pub fn found(self) -> Solved {
        let (rates, prices, iterations, residual, reached) = match self.solver {
            Solver::Equilibrium(search) => {
                let it = search.found(&self.instance);
                (
                    it.goodputs,
                    Some(it.prices),
                    it.iterations,
                    it.residual,
                    it.reached,
                )
            }
            Solver::Filling(filling) => {
                let it = filling.found();
                (it.rates, None, it.events, 0.0, it.reached)
            }
            Solver::SinglePath(rates) => (rates, None, 0, 0.0, true),
        };
        Solved {
            subflows: self.subflows,
            rates,
            prices,
            iterations,
            residual,
            reached,
        }
    }
}

/// What waits at a link that marks: its marking threshold, around which DCTCP's queue swings (Alizadeh et al., "Data Center TCP
/// (DCTCP)", 2010, section 3.3). At a host's own port nothing does: sockets wait until there is room. How much waits on average where
/// packets are dropped depends on how windows swing, which is not modelled.
fn standing_bits(fabric: &Fabric, link: &Link, settings: Settings) -> f64 {
    if !settings.marks || fabric.nodes[link.from as usize].host {
        return 0.0;
    }
    match link.queue.mark {
        Some(Amount::Packets(packets)) => f64::from(packets) * settings.packet_bits,
        Some(Amount::Bytes(bytes)) => 8.0 * bytes as f64,
        None => 0.0,
    }
}
