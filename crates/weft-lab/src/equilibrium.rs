//! Equilibria of a network that is given as numbers, without an experiment: for comparisons with
//! other solvers.

use weft_cc::{Algorithm, CongestionControl};
use weft_flow::{Delays, Equilibrium, Instance, Settings};

/// Searches for the equilibrium of connections on links of `capacities` bit/s that drop packets of
/// 1,500 bytes. A connection has a path for each subflow, which is a list of links, and `rtts` has
/// the round-trip time of each subflow in seconds.
///
/// # Errors
/// Returns an error if the network is wrong, or if the algorithm is unknown or has no response
/// function.
pub fn equilibrium(
    capacities: Vec<f64>,
    connections: &[Vec<Vec<u32>>],
    rtts: &[f64],
    cc: &str,
) -> Result<Equilibrium, String> {
    let algorithm = Algorithm::build(cc, &[]).map_err(|error| error.to_string())?;
    let response = algorithm
        .response()
        .ok_or_else(|| format!("{cc:?} has no response function"))?;
    let mut instance = Instance::new(capacities).map_err(|error| error.to_string())?;
    for paths in connections {
        let paths = paths.iter().map(Vec::as_slice);
        instance.connect(paths).map_err(|error| error.to_string())?;
    }
    if rtts.len() != instance.subflows() {
        return Err(format!(
            "{} round-trip times for {} subflows",
            rtts.len(),
            instance.subflows()
        ));
    }
    if let Some(rtt) = rtts.iter().find(|rtt| !(rtt.is_finite() && **rtt > 0.0)) {
        return Err(format!("a round-trip time of {rtt} s; one above 0 is needed"));
    }
    let delays = Delays {
        base_rtts: rtts,
        queueing: &vec![0.0; instance.capacities().len()],
    };
    Ok(weft_flow::equilibrium(
        &mut instance,
        delays,
        response,
        Settings::default(),
    ))
}
