//! Max-min fair rates of connections with several subflows. The rate of a connection is the sum over
//! its subflows, so that a connection counts as one flow whatever the number of its paths.
//!
//! As in progressive filling, all rates rise together. Where a link is full, connections shift
//! traffic to other paths. A connection reaches its bottleneck if no shift allows it a larger rate.
//! Each stage is a linear program that maximises the common rate of connections without a
//! bottleneck. Nace and Pióro describe the stages in "Max-min fairness and its applications to
//! routing and load-balancing in communication networks: a tutorial" (2008), section III.
//!
//! [`CoupledFilling`] solves each program by the dual simplex method with the common rate as a parameter.
//! Between two events the rates are linear in it. An event is a basic variable that falls to 0: a
//! link that fills, or a subflow that loses its rate. At an event,
//! - the primal ratio test finds the variable that leaves the basis ([`Basis::rise`]),
//! - BTRAN gives the row of the inverse that belongs to it ([`Basis::inverse_row`]),
//! - the dual ratio test finds the variable that enters ([`Duals::ratio_test`]),
//! - FTRAN and a pivot exchange both ([`Basis::exchange`]).
//!
//! If no variable can enter, the stage ends ([`Stages::end`]), and the row of the inverse has the
//! prices of its bottleneck. Many rates of subflows give the same rates of connections; costs choose
//! those that cross the fewest links.

mod basis;
mod factors;
mod lu;
mod pricing;
mod problem;
mod stages;

use basis::{Basis, Exchange};
use pricing::Duals;
use problem::Problem;
use stages::Stages;

use crate::Instance;

/// Rates, slopes and prices of at most this size count as 0. Capacities are in units of the
/// largest, prices in units of the price of the leaving variable.
const TINY: f64 = 1e-9;

/// Events between two checks of rates against the constraints, which find rounding errors before they
/// grow.
const CORRECTION_INTERVAL: u32 = 16;

/// Smallest size of a pivot. A smaller one is a rounding error, because the coefficients of the
/// constraints are whole numbers, and would make the basis singular.
const MIN_PIVOT: f64 = 1e-7;

/// The reason why connections have no larger rate: prices of links at which the paths of these
/// connections cost as much as all that the priced links carry. A connection that pays a price can
/// have more only if another one of at most its rate has less.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The rate of the connections at this bottleneck, in bit/s.
    pub rate: f64,
    /// Links with their prices, above 0.
    pub prices: Vec<(u32, f64)>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct CoupledSolution {
    /// Rate of each subflow, in bit/s.
    pub rates: Vec<f64>,
    /// The bottlenecks in ascending order of their rates, one for each stage.
    pub bottlenecks: Vec<Bottleneck>,
    /// Number of links that filled and of subflows that lost their rate.
    pub events: u32,
    /// True if every connection has reached its bottleneck.
    pub converged: bool,
}

/// Returns max-min fair rates, where the rate of a connection is the sum over its subflows.
pub fn coupled_max_min(instance: &Instance) -> CoupledSolution {
    let mut filling = CoupledFilling::new(instance);
    while !filling.is_done() {
        filling.step(instance);
    }
    filling.solution()
}

/// A variable that may enter the basis.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    variable: u32,
    /// Change of the leaving variable, taken negative, for a unit of this one: below 0.
    pivot: f64,
    /// Additional cost of a unit.
    cost: f64,
}

/// Progressive filling, an event at a time.
#[derive(Clone, Debug)]
pub struct CoupledFilling {
    problem: Problem,
    basis: Basis,
    duals: Duals,
    stages: Stages,
    events: u32,
    max_events: u32,
    /// True if the basis is lost to rounding errors.
    stuck: bool,
}

impl CoupledFilling {
    /// Creates a filling in which all rates are 0.
    pub fn new(instance: &Instance) -> Self {
        let problem = Problem::new(instance);
        let mut filling = Self {
            basis: Basis::new(&problem, instance),
            duals: Duals::new(&problem, instance),
            stages: Stages::new(instance.connections()),
            events: 0,
            max_events: 1_000 + 20 * (problem.subflows() + problem.links()) as u32,
            stuck: false,
            problem,
        };
        filling.refactorize(instance);
        filling
    }

    /// Returns true if every connection has reached its bottleneck, or the search has given up.
    pub fn is_done(&self) -> bool {
        self.stages.are_over() || self.stuck || self.events >= self.max_events
    }

    /// Raises rates up to the next event and changes the basis.
    pub fn step(&mut self, instance: &Instance) {
        if self.basis.is_long() {
            self.refactorize(instance);
        }
        let Some((leaving, rise)) = self.basis.rise() else {
            self.stuck = true;
            return;
        };
        self.stages.rise(rise);
        self.events += 1;
        self.basis
            .inverse_row(&self.problem, leaving, &mut self.duals.pivot_row);
        let entering = self.duals.ratio_test(&self.problem, instance, &self.basis);
        let Some(entering) = entering else {
            let row = &self.duals.pivot_row;
            self.stages
                .end(&self.problem, instance, &mut self.basis, leaving, row);
            self.refresh(instance);
            return;
        };
        match self.basis.exchange(&self.problem, instance, leaving, entering) {
            Exchange::Done => {
                self.duals.update(&self.problem, leaving, entering);
                if self.events.is_multiple_of(CORRECTION_INTERVAL) {
                    self.correct(instance);
                }
            }
            Exchange::Inaccurate => self.refactorize(instance),
        }
    }

    /// Returns the solution so far.
    pub fn solution(&self) -> CoupledSolution {
        let subflows = &self.basis.variables[..self.problem.subflows()];
        CoupledSolution {
            rates: subflows
                .iter()
                .map(|variable| variable.value * self.problem.unit)
                .collect(),
            bottlenecks: self.stages.bottlenecks.clone(),
            events: self.events,
            converged: self.stages.are_over(),
        }
    }

    /// Computes rates from the basis if they miss a constraint.
    fn correct(&mut self, instance: &Instance) {
        self.stuck |= !self.basis.correct(&self.problem, instance, &self.stages);
    }

    /// Computes rates from the basis.
    fn refresh(&mut self, instance: &Instance) {
        self.stuck |= !self.basis.refresh(&self.problem, instance, &self.stages);
    }

    /// Factorises the basis and computes rates from it.
    fn refactorize(&mut self, instance: &Instance) {
        self.stuck |= !self.basis.refactorize(&self.problem, instance, &self.stages);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{certify_coupled, max_min};

    fn solve(capacities: &[f64], connections: &[&[&[u32]]]) -> (Instance, CoupledSolution) {
        let mut instance = Instance::new(capacities.to_vec()).unwrap();
        for paths in connections {
            instance.connect(paths.iter().copied()).unwrap();
        }
        let found = coupled_max_min(&instance);
        assert!(found.converged, "{found:?}");
        certify_coupled(&instance, &found.rates, &found.bottlenecks, 1e-9).unwrap();
        (instance, found)
    }

    #[track_caller]
    fn connections_have(capacities: &[f64], connections: &[&[&[u32]]], expected: &[f64]) {
        let (instance, found) = solve(capacities, connections);
        for (c, expected) in expected.iter().enumerate() {
            let rate: f64 = found.rates[instance.subflows_of(c)].iter().sum();
            assert!(
                (rate - expected).abs() < 1e-9 * expected,
                "{c} has {rate}: {found:?}"
            );
        }
    }

    #[test]
    fn links_that_all_connections_reach_are_one() {
        connections_have(
            &[1e9, 2e9, 6e9],
            &[&[&[0], &[1], &[2]], &[&[1], &[2]], &[&[0], &[2]]],
            &[3e9; 3],
        );
    }

    /// Each connection leaves its neighbour's link to it, along the line, so that the last has one of its own.
    #[test]
    fn connections_leave_links_to_their_neighbours() {
        connections_have(&[1.0; 3], &[&[&[0], &[1]], &[&[1], &[2]], &[&[0]]], &[1.0; 3]);
    }

    /// Wischik et al., NSDI 2011, section 2.2: three links, and connections with a path over one of them and one over the
    /// other two. The long paths waste capacity, so that no connection takes them.
    #[test]
    fn the_triangle_is_used_by_its_short_paths() {
        let connections: [&[&[u32]]; 3] = [&[&[0], &[1, 2]], &[&[1], &[2, 0]], &[&[2], &[0, 1]]];
        let (_, found) = solve(&[1e9; 3], &connections);
        for pair in found.rates.chunks(2) {
            assert!((pair[0] - 1e9).abs() < 1.0 && pair[1] < 1.0, "{pair:?}");
        }
        // Where one link is half as fast its connection takes x of the long way, and leaves 1 - x on either link: 1/2 + x = 1 - x.
        connections_have(&[0.5, 1.0, 1.0], &connections, &[0.75; 3]);
    }

    /// Connections that share a link settle first, and the one with another path goes on.
    #[test]
    fn a_connection_with_another_path_goes_on() {
        connections_have(
            &[1.0, 4.0],
            &[&[&[0]], &[&[0]], &[&[0], &[1]], &[&[1]]],
            &[0.5, 0.5, 2.0, 2.0],
        );
    }

    #[test]
    fn a_path_counts_once_for_each_time_it_crosses_a_link() {
        connections_have(&[3.0, 1.0], &[&[&[0, 0]], &[&[0], &[1]]], &[4.0 / 3.0, 4.0 / 3.0]);
    }

    /// Links, and for each connection the paths of its subflows.
    fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<Vec<u32>>>)> {
        // Equal capacities make for ties, others for none.
        let capacities = prop_oneof![
            prop::collection::vec(0.1..10.0_f64, 1..12),
            prop::collection::vec((1..4_u32).prop_map(f64::from), 1..12),
        ];
        let path = prop::collection::btree_set(0_u32..12, 1..5);
        let connection = prop::collection::vec(path, 1..5);
        (capacities, prop::collection::vec(connection, 1..25)).prop_map(|(capacities, connections)| {
            let links = capacities.len() as u32;
            let within = |path: std::collections::BTreeSet<u32>| {
                let within: std::collections::BTreeSet<u32> = path.iter().map(|l| l % links).collect();
                within.into_iter().collect()
            };
            let connections = connections
                .into_iter()
                .map(|paths| paths.into_iter().map(within).collect())
                .collect();
            (capacities, connections)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn any_network_gets_its_certificate((capacities, connections) in networks()) {
            let mut instance = Instance::new(capacities).unwrap();
            for paths in &connections {
                instance.connect(paths.iter().map(Vec::as_slice)).unwrap();
            }
            let found = coupled_max_min(&instance);
            prop_assert!(found.converged, "{found:?}");
            let certificate = certify_coupled(&instance, &found.rates, &found.bottlenecks, 1e-9);
            prop_assert!(certificate.is_ok(), "{certificate:?} {found:?}");
        }

        #[test]
        fn with_one_path_each_it_is_the_same((capacities, connections) in networks()) {
            let mut instance = Instance::new(capacities).unwrap();
            for paths in &connections {
                instance.connect([&paths[0][..]]).unwrap();
            }
            let expected = max_min(&instance, None).unwrap();
            let found = coupled_max_min(&instance);
            for (found, expected) in found.rates.iter().zip(expected) {
                prop_assert!((found - expected).abs() <= 1e-9 * expected, "{found}, not {expected}");
            }
        }
    }
}
