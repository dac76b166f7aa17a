//! Max-min fair rates of a network given by hand, without an experiment: for comparisons with other solvers.

use std::time::Instant;

use weft_flow::{Error, Instance, coupled_max_min, max_min as single_path};

/// Rates, and what they took.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxMin {
    /// Rate of each connection's subflows, in bit/s, one connection after the other.
    pub rates: Vec<f64>,
    /// Seconds that building the network took: who crosses which link.
    pub building: f64,
    /// Seconds that the solver took on it.
    pub solving: f64,
}

/// Max-min fair rates on links of `capacities` bit/s, of connections with a path for each subflow, which is a list of links.
///
/// # Errors
/// A link without capacity, a subflow without a link, a link that does not exist.
pub fn max_min(capacities: Vec<f64>, connections: &[Vec<Vec<u32>>]) -> Result<MaxMin, Error> {
    let began = Instant::now();
    let mut instance = Instance::new(capacities)?;
    for paths in connections {
        instance.connect(paths.iter().map(Vec::as_slice))?;
    }
    let building = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let rates = if instance.subflows() == instance.connections() {
        single_path(&instance, None)?
    } else {
        coupled_max_min(&instance).rates
    };
    let solving = began.elapsed().as_secs_f64();
    Ok(MaxMin {
        rates,
        building,
        solving,
    })
}
