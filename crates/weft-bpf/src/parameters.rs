//! Conversion of the parameters of `weft-cc` to the fixed point of the programs.

use weft_cc::{Algorithm, Error, Parameter, ParameterRange};

use crate::abi::{PACKET, Parameters};

/// Parameters without an effect in the programs: they must be 0 there.
const NOT_IN_PROGRAMS: &[&str] = &["weight_ratio"];

impl Parameters {
    /// Converts the parameters of `algorithm`. Parameters that are not given have the defaults of
    /// `weft-cc`. `bulk`, `min_inactive` and
    /// `max_events_per_user` belong to the kernel and are 0.
    ///
    /// # Errors
    /// Returns the errors of [`Algorithm::build`], and one if a parameter of [`NOT_IN_PROGRAMS`] is set.
    pub fn new(algorithm: &str, params: &[(String, f64)]) -> Result<Self, Error> {
        Algorithm::build(algorithm, params)?;
        let entry = Algorithm::BUILT_IN.iter().find(|entry| entry.name == algorithm);
        let value = |parameter: &str| {
            let param = params.iter().find(|(name, _)| name == parameter);
            let default = || entry?.parameters.iter().find(|p| p.name == parameter);
            param
                .map(|(_, value)| *value)
                .or_else(|| default().map(|p| p.default))
                .unwrap_or(0.0)
        };
        let scaled = |parameter: &str, bits: i32| (value(parameter) * 2.0_f64.powi(bits)).round() as u32;
        let missing = entry
            .iter()
            .flat_map(|entry| entry.parameters)
            .find(|p| NOT_IN_PROGRAMS.contains(&p.name) && value(p.name) != p.default);
        if let (Some(entry), Some(&parameter)) = (entry, missing) {
            return Err(Error::Value {
                algorithm: entry.name,
                parameter: Parameter {
                    allowed: ParameterRange::Integer(0, 0),
                    ..parameter
                },
                value: value(parameter.name),
            });
        }
        Ok(Self {
            cwnd_min: (value("cwnd_min") * PACKET) as u64,
            bulk: 0,
            beta: scaled("beta", 20),
            alpha0: scaled("alpha0", 30),
            g: scaled("g", 24),
            gamma: value("gamma") as u32,
            tau: value("tau") as u32,
            ssr: value("ssr") as u32,
            per_ack: value("per_ack") as u32,
            dctcp_cut: value("dctcp_cut") as u32,
            neighbours: value("neighbours") as u32,
            kappa: scaled("kappa", 30),
            min_inactive: 0,
            max_events_per_user: 0,
            total_alpha: value("total_alpha") as u32,
            drain: value("drain") as u32,
        })
    }
}
