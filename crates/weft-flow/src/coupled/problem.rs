//! The constant part of the linear programs of all stages.

use crate::Instance;

/// Constraints, variables and costs. The constraints are the capacities of links and, after these,
/// the rates of connections. The variables are the rates of subflows and, after these, the spare
/// capacities (slacks) of links.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Capacity of each link in units of the largest.
    pub capacities: Vec<f64>,
    /// The largest capacity in bit/s.
    pub unit: f64,
    /// Connection of each subflow.
    pub connection_of: Vec<u32>,
    /// Cost of a unit of each subflow's rate.
    pub costs: Vec<f64>,
}

impl Problem {
    pub fn new(instance: &Instance) -> Self {
        let unit = instance.capacities().iter().copied().fold(0.0, f64::max);
        // No two ways to send the same rates have equal costs, so that the search does not cycle.
        let golden = 0.618_033_988_749_895;
        let cost = |s: usize| instance.path(s).len() as f64 + 1e-3 * (s as f64 * golden).fract();
        Self {
            capacities: instance.capacities().iter().map(|c| c / unit).collect(),
            unit,
            connection_of: (0..instance.connections())
                .flat_map(|c| std::iter::repeat_n(c as u32, instance.subflows_of(c).len()))
                .collect(),
            costs: (0..instance.subflows()).map(cost).collect(),
        }
    }

    /// Number of constraints of links.
    pub fn links(&self) -> usize {
        self.capacities.len()
    }

    /// Number of variables that are rates of subflows.
    pub fn subflows(&self) -> usize {
        self.connection_of.len()
    }

    /// The variable that is the slack of a link.
    pub fn slack(&self, link: usize) -> usize {
        self.subflows() + link
    }

    /// The link of which a variable is the slack.
    pub fn link_of(&self, variable: usize) -> Option<usize> {
        variable.checked_sub(self.subflows())
    }

    /// The constraint of a subflow's connection.
    pub fn connection_row(&self, subflow: usize) -> usize {
        self.links() + self.connection_of[subflow] as usize
    }

    /// The column of a variable: the constraints in which it has the coefficient 1. A constraint
    /// that occurs more than once has a larger coefficient.
    pub fn column<'a>(&self, instance: &'a Instance, variable: usize) -> impl Iterator<Item = u32> + use<'a> {
        let (path, last) = match self.link_of(variable) {
            Some(link) => (&[][..], link),
            None => (instance.path(variable), self.connection_row(variable)),
        };
        path.iter().copied().chain([last as u32])
    }

    /// The value of a subflow's column at the values of constraints.
    pub fn column_value(&self, instance: &Instance, subflow: usize, values: &[f64]) -> f64 {
        let path = instance.path(subflow).iter();
        path.map(|&link| values[link as usize]).sum::<f64>() + values[self.connection_row(subflow)]
    }
}
