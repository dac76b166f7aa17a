//! Max-min fair rates of a network that is given as numbers, without an experiment: for comparisons
//! with other solvers.

use std::time::Instant;

use weft_flow::{Error, Instance, coupled_max_min, max_min as single_path};

/// Rates and the times of their computation.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxMin {
    /// Rate of each subflow in bit/s, connection by connection.
    pub rates: Vec<f64>,
    /// Time for building the network, that is, the list of flows per link, in seconds.
    pub building: f64,
    /// Time of the solver in seconds.
    pub solving: f64,
}

/// Computes max-min fair rates on links of `capacities` bit/s. A connection has a path for each
/// subflow, which is a list of links.
///
/// # Errors
/// Returns an error if a link has no capacity, a subflow has no link, or a link does not exist.
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
