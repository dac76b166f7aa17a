//! Max-min fair rates of connections with several paths each: a connection's rate is the sum over its subflows, so that it
//! is shared as one flow whatever number of paths it has.
//!
//! All rates rise together, as in progressive filling with one path each; but where a link is full, connections shift what they
//! send to other paths, and settle only when no shifting helps. So each stage is a linear program, "Maximise the common
//! rate of whoever has not settled" (Nace and Pióro, "Max-min fairness and its applications to routing and load-balancing in
//! communication networks: a tutorial", 2008, section III). [`CoupledFilling`] follows its solution with the rate as a parameter, by the
//! dual simplex method: rates between two events are linear, and an event is a link that fills or a subflow that runs dry.
//!
//! The basis has one subflow of each connection, its *primary*, which takes up what the others leave; that is a generalised upper
//! bound (Dantzig and Van Slyke, 1967), so that the matrix to be inverted has a row for each full link only. It is dense, which
//! suits some thousands of full links. Which of the many ways to send the same rates is taken is a matter of cost: the one that
//! crosses fewest links.

mod basis;
mod inverse;
mod pricing;
mod settle;

use inverse::Inverse;

use crate::Instance;

/// Rates, slopes and prices below this are none. Capacities are in units of the largest, prices in those of one link.
const TINY: f64 = 1e-9;

/// Events between two computations of rates from the basis, by which rounding errors are found before they grow.
const REFRESH_INTERVAL: u32 = 16;

/// Smallest pivot. Coefficients of paths are whole numbers, so that a smaller one is a rounding error, and would make the basis
/// singular.
const MIN_PIVOT: f64 = 1e-7;

/// Rounding errors of rates.
const ROUNDING: f64 = 1e-12;

/// Why connections have no larger rate: links with prices, at which all that these links carry is worth what connections of no
/// larger rate pay for their cheapest paths. Who pays anything cannot have more unless one of these has less.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The rate at which connections settled there, in bit/s.
    pub rate: f64,
    /// Links with their prices, above 0.
    pub prices: Vec<(u32, f64)>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct CoupledSolution {
    /// Rate of each subflow, in bit/s.
    pub rates: Vec<f64>,
    /// One for each stage, by rate.
    pub bottlenecks: Vec<Bottleneck>,
    /// Links that filled and subflows that ran dry.
    pub events: u32,
    /// Have all connections settled?
    pub converged: bool,
}

/// Max-min fair rates where a connection's rate is the sum over its subflows.
pub fn coupled_max_min(instance: &Instance) -> CoupledSolution {
    let mut filling = CoupledFilling::new(instance);
    while !filling.is_done() {
        filling.step(instance);
    }
    filling.solution()
}

/// What a variable is: a subflow's rate, or what a link has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It moves.
    Basic,
    /// It is 0, as a settled stage wants it, and never moves again.
    HeldAtZero,
    /// It is 0 and may become basic.
    Zero,
    /// It is 0 for good: anything else would take from who has settled.
    FixedAtZero,
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    value: f64,
    /// Change of the value for a change of the common rate.
    slope: f64,
    role: Role,
    /// A subflow's row in the inverse, or a full link's column.
    basis_index: u32,
}

/// Progressive filling under way, an event at a time.
#[derive(Clone, Debug)]
pub struct CoupledFilling {
    /// Capacities in units of the largest, which is this in bit/s.
    capacities: Vec<f64>,
    unit: f64,
    /// Connection of each subflow.
    connection_of: Vec<u32>,
    /// What a subflow's rate costs.
    costs: Vec<f64>,
    /// The common rate of connections that rise, and who they are.
    level: f64,
    rising: Vec<bool>,
    rising_count: usize,
    /// Rates of those who have settled.
    settled: Vec<f64>,
    primary: Vec<u32>,
    /// Subflows, then links.
    variables: Vec<Variable>,
    /// Basic subflows beside primaries, by rows of the inverse; links with nothing left, by columns.
    extra: Vec<u32>,
    full: Vec<u32>,
    inverse: Inverse,
    /// By link: what makes the cheapest paths those that are used; and what a unit of the leaving variable is worth.
    prices: Vec<f64>,
    pivot_row: Vec<f64>,
    bottlenecks: Vec<Bottleneck>,
    /// Variables that are 0 for good, since which bottleneck, and what a unit of them would take from those who settled there.
    fixed: Vec<(u32, u32, f64)>,
    events: u32,
    max_events: u32,
    stuck: bool,
    /// Kept for their memory.
    weights: Vec<(u32, f64)>,
    scratch: Vec<f64>,
    candidates: Vec<Candidate>,
}

/// Who may enter the basis.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    variable: u32,
    /// Change of the leaving variable, taken negative, for a unit of this one: below 0.
    pivot: f64,
    /// How much more than the cheapest it costs.
    cost: f64,
}

/// Sum over a path.
fn along(path: &[u32], values: &[f64]) -> f64 {
    path.iter().map(|&link| values[link as usize]).sum()
}

impl CoupledFilling {
    /// Before anything is sent.
    pub fn new(instance: &Instance) -> Self {
        let unit = instance.capacities().iter().copied().fold(0.0, f64::max);
        let capacities: Vec<f64> = instance
            .capacities()
            .iter()
            .map(|capacity| capacity / unit)
            .collect();
        let (links, subflows) = (capacities.len(), instance.subflows());
        // No two ways to send the same rates cost the same, so that the search does not go round in circles.
        let golden = 0.618_033_988_749_895;
        let cost = |s: usize| instance.path(s).len() as f64 + 1e-3 * (s as f64 * golden).fract();
        let costs: Vec<f64> = (0..subflows).map(cost).collect();
        let connection_of = (0..instance.connections())
            .flat_map(|c| std::iter::repeat_n(c as u32, instance.subflows_of(c).len()))
            .collect();
        let nothing = Variable {
            value: 0.0,
            slope: 0.0,
            role: Role::Zero,
            basis_index: 0,
        };
        let mut variables = vec![nothing; subflows + links];
        for (variable, &capacity) in variables[subflows..].iter_mut().zip(&capacities) {
            variable.value = capacity;
            variable.role = Role::Basic;
        }
        let cheapest = |c: usize| {
            let subflows = instance.subflows_of(c);
            subflows.min_by(|&a, &b| costs[a].total_cmp(&costs[b]))
        };
        let primary: Vec<u32> = (0..instance.connections())
            .filter_map(|c| cheapest(c).map(|s| s as u32))
            .collect();
        for &s in &primary {
            variables[s as usize].role = Role::Basic;
        }
        let mut filling = Self {
            level: 0.0,
            rising: vec![true; primary.len()],
            rising_count: primary.len(),
            settled: vec![0.0; primary.len()],
            extra: Vec::new(),
            full: Vec::new(),
            inverse: Inverse::default(),
            prices: vec![0.0; links],
            pivot_row: vec![0.0; links],
            bottlenecks: Vec::new(),
            fixed: Vec::new(),
            events: 0,
            max_events: 1_000 + 20 * (subflows + links) as u32,
            stuck: false,
            weights: Vec::new(),
            scratch: Vec::new(),
            candidates: Vec::new(),
            capacities,
            unit,
            connection_of,
            costs,
            primary,
            variables,
        };
        filling.refresh(instance);
        filling
    }

    /// Have all settled, or is it given up?
    pub fn is_done(&self) -> bool {
        self.rising_count == 0 || self.stuck || self.events >= self.max_events
    }

    /// Goes on to the next link that fills or subflow that runs dry.
    pub fn step(&mut self, instance: &Instance) {
        let Some(leaving) = self.rise() else {
            self.stuck = true;
            return;
        };
        self.events += 1;
        self.compute_pivot_row(instance, leaving);
        if self.stuck {
            return;
        }
        match self.ratio_test(instance) {
            Some(entering) => {
                self.pivot(instance, leaving, entering);
                if self.events.is_multiple_of(REFRESH_INTERVAL) {
                    self.refresh(instance);
                }
            }
            None => self.settle(instance, leaving),
        }
    }

    /// What was found by now.
    pub fn solution(&self) -> CoupledSolution {
        let subflows = &self.variables[..self.connection_of.len()];
        CoupledSolution {
            rates: subflows
                .iter()
                .map(|variable| variable.value * self.unit)
                .collect(),
            bottlenecks: self.bottlenecks.clone(),
            events: self.events,
            converged: self.rising_count == 0,
        }
    }

    fn link(&self, link: u32) -> usize {
        self.connection_of.len() + link as usize
    }

    /// Is nothing left of a link, so that it has a column?
    fn is_full(&self, link: u32) -> bool {
        matches!(
            self.variables[self.link(link)].role,
            Role::Zero | Role::FixedAtZero
        )
    }

    /// Lets rates rise until a variable is 0, and says which. Of several the steepest is taken, for the sake of precision.
    fn rise(&mut self) -> Option<usize> {
        let falls = |variable: &&Variable| variable.role == Role::Basic && variable.slope < -TINY;
        let bound = self.variables.iter().filter(falls);
        let bound = bound
            .map(|variable| (variable.value + ROUNDING) / -variable.slope)
            .fold(f64::INFINITY, f64::min);
        let (mut leaving, mut steepest) = (None, 0.0);
        for (i, variable) in self.variables.iter().enumerate() {
            if falls(&variable) && variable.slope < steepest && variable.value <= bound * -variable.slope {
                (leaving, steepest) = (Some(i), variable.slope);
            }
        }
        let variable = &self.variables[leaving?];
        let rise = (variable.value / -variable.slope).max(0.0);
        if rise > 0.0 {
            self.level += rise;
            for variable in &mut self.variables {
                if variable.role == Role::Basic {
                    variable.value = (variable.value + rise * variable.slope).max(0.0);
                }
            }
        }
        leaving
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
    fn links_that_everybody_reaches_are_one() {
        connections_have(
            &[1e9, 2e9, 6e9],
            &[&[&[0], &[1], &[2]], &[&[1], &[2]], &[&[0], &[2]]],
            &[3e9; 3],
        );
    }

    /// Each connection leaves its neighbour's link to it, along the line, so that the last has one of its own.
    #[test]
    fn others_make_room() {
        connections_have(&[1.0; 3], &[&[&[0], &[1]], &[&[1], &[2]], &[&[0]]], &[1.0; 3]);
    }

    /// Wischik et al., NSDI 2011, section 2.2: three links, and connections with a path over one of them and one over the
    /// other two. The long paths waste capacity, so that nobody takes them.
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

    /// Those who share a link settle first; who has another path besides goes on.
    #[test]
    fn who_can_goes_on() {
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
