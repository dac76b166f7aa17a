//! `MPTCP_OPN`: Huang et al. on the number of MPTCP's subflows, Journal of Cloud Computing 9:13
//! (2020), sections "Concurrency tuning" and "Traffic shifting". It uses as many subflows as the
//! measured loss rate suggests, on paths that respond.
//!
//! **Traffic shifting** (Algorithm 1, lines 1 to 12). A path is slow if none of a host's
//! connections has received an acknowledgement on it for δ. Its outstanding data is reinjected on
//! fast paths, and it gets no new data until all paths count as fast again, at multiples of ε.
//!
//! **Concurrency tuning** (lines 14 to 20, figure 9). Every 10 ms, the loss rate of a sender is its
//! number of retransmitted packets divided by that of sent packets. The table gives the number of
//! fast paths that carry data; they are drawn for each connection.
//!
//! Where the paper is silent or contradicts itself:
//!
//! - A path without outstanding data for δ is not slow, although it has no acknowledgements.
//! - If all paths of a connection are slow, those with an acknowledgement within δ count as fast
//!   again; without any, all are used. A connection that has just opened makes no path fast.
//! - Each connection looks for acknowledgements at its checks, every δ.
//! - Handshakes are not monitored: a lost SYN waits for its RTO.
//! - A loss counts when the packet is retransmitted, which is after an RTO if that detects it.
//! - Data that a subflow's acknowledgement covers is not reinjected. Data that an unused subflow
//!   has not sent yet goes to the other subflows.
//! - δ is 200 us in Algorithm 1, and "2 times of the average round trip time" in the text:
//!   `delta_rtts` selects the latter.
//! - A new flow uses the state that its host learnt from earlier flows ("on receiving a new flow
//!   ... obtain the optimal number of subflows"). The number is also adjusted during a flow (figure
//!   9). With `state = "connection"` every flow begins with all paths fast.
//! - The initial number of subflows, "the number of spine switches", is the transport's `subflows`.
//!   They take consecutive paths from a drawn one, or from another if that is slow.
//!   Acknowledgements return over the path of the same number.
//!
//! **The table.** With x = p^sqrt(2/p), equation (11) is n* = |W0(x - 1) / log(1 - x)|. W0 is real
//! only from -1/e on. For p up to 0.75, x - 1 is below that and W0 is complex, so the paper takes
//! the modulus. In this range n* is not a root of (10) for any real n: the modulus of a complex
//! root is a number by convention only. As p goes to 0, x vanishes faster than any power and n*
//! grows without bound; the cap of 32 applies up to p = 0.29. At p = 1 the logarithm is infinite
//! and n* is 0; the table has 1. A loss rate is rounded to whole percents.

use std::sync::LazyLock;

use lambert_w::lambert_w;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time, refuse};

use crate::draw::{draw, uniform_below};
use crate::{Granularity, PathPolicy, Paths, SubflowDirection};

/// As many subflows as the loss rate suggests, on paths that respond. Data outstanding on other
/// paths is reinjected on these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opn {
    /// Timeout δ of Algorithm 1, at least 1us. A path is slow if data has been outstanding on it
    /// for this long and no connection that shares `state` has received an acknowledgement on it.
    /// Paths are checked at this interval.
    #[serde(default = "default_delta")]
    pub delta: Time,
    /// Minimum of the timeout in smoothed round-trip times of the subflow: 0 in Algorithm 1, 2 in
    /// the paper's text.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub delta_rtts: f64,
    /// Interval ε, at whose multiples all paths count as fast again.
    #[serde(default = "default_epsilon")]
    pub epsilon: Time,
    /// Interval over which the loss rate is measured.
    #[serde(default = "default_period")]
    pub period: Time,
    /// Scope of the path state, that is, which paths are slow and the loss rate: all connections of a host
    /// share it, or each connection has its own.
    #[serde(default)]
    pub state: StateScope,
}

/// Scope of the path state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateScope {
    /// All connections of a host, also later ones, share the state.
    #[default]
    Host,
    /// Each connection has its own.
    Connection,
}

fn default_delta() -> Time {
    Time::from_us(200)
}

fn default_epsilon() -> Time {
    Time::from_ms(200)
}

fn default_period() -> Time {
    Time::from_ms(10)
}

impl Opn {
    pub(crate) const ABOUT: &str = "as many subflows as the loss rate suggests, on fast paths; reinjects there what is outstanding on slow paths";

    /// Returns the parameters of path monitoring.
    pub fn path_monitor(&self) -> PathMonitorConfig {
        PathMonitorConfig {
            timeout: self.delta,
            timeout_rtts: self.delta_rtts,
            reset_interval: self.epsilon,
            loss_interval: self.period,
            per_host: self.state == StateScope::Host,
        }
    }

    /// Returns the maximum number of subflows that a connection uses at this loss rate.
    pub fn max_subflows(&self, loss: f64) -> u32 {
        SUBFLOWS_BY_LOSS[(loss.clamp(0.0, 1.0) * 100.0).round() as usize]
    }
}

/// Parameters of path monitoring, by which a sender finds the fast paths of its subflows. It sends
/// no new data on slow paths, and reinjects their outstanding data on fast ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathMonitorConfig {
    /// A path is slow if data has been outstanding on it for this long and no connection that shares
    /// the state has received an acknowledgement on it. Paths are checked at this interval.
    pub timeout: Time,
    /// Minimum of the timeout in smoothed round-trip times.
    pub timeout_rtts: f64,
    /// Interval at whose multiples all paths count as fast again.
    pub reset_interval: Time,
    /// Interval over which the loss rate for [`Opn::max_subflows`] is measured.
    pub loss_interval: Time,
    /// True if all connections of a host share the state of paths.
    pub per_host: bool,
}

impl PathPolicy for Opn {
    fn check(&self) -> Result<(), SpecError> {
        for (field, value) in [
            ("delta", self.delta),
            ("epsilon", self.epsilon),
            ("period", self.period),
        ] {
            if value < MIN_INTERVAL {
                return refuse(field, value, format!("at least {MIN_INTERVAL}"));
            }
        }
        Ok(())
    }

    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        self.nth_path(paths, seed, direction, 0)
    }

    fn keeps_interfaces(&self) -> bool {
        true
    }

    fn granularity(&self, _: u32, _: bool) -> Granularity {
        Granularity::OnRequest
    }

    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        let hash = draw(&[seed, direction.connection_key(), OPN_DOMAIN]);
        let first = uniform_below((hash >> 32) as u32, paths.count);
        (first + (u64::from(direction.subflow) + n) % paths.count) % paths.count
    }
}

/// Minimum interval between checks of paths.
const MIN_INTERVAL: Time = Time::from_us(1);

/// "Due to the constraint of the OS kernel, the maximum number of n* is 32."
const MAX_SUBFLOWS: u32 = 32;

/// Values of n* by loss rate in percent.
static SUBFLOWS_BY_LOSS: LazyLock<[u32; 101]> =
    LazyLock::new(|| std::array::from_fn(|percent| optimal_subflows(percent as f64 / 100.0)));

/// Equation (11), as a whole number of subflows from 1 to [`MAX_SUBFLOWS`].
fn optimal_subflows(p: f64) -> u32 {
    let x = p.powf((2.0 / p).sqrt());
    let (re, im) = lambert_w(0, x - 1.0, 0.0, f64::EPSILON);
    // 0 / 0 if x is too small to change 1 - x: the limit is infinite.
    let n = (re.hypot(im) / (1.0 - x).ln()).abs();
    if n.is_nan() {
        MAX_SUBFLOWS
    } else {
        n.round().clamp(1.0, MAX_SUBFLOWS.into()) as u32
    }
}

/// Domain tag that separates these draws from others for the same flow.
const OPN_DOMAIN: u64 = 0x6F_706E;

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Opn {
        toml::Table::new().try_into().unwrap()
    }

    /// Computed with `scipy.special.lambertw`, version 1.17, for loss rates from 0.01 to 0.99:
    /// `round(abs(lambertw(x - 1) / log1p(-x)))`, at most 32, where x is p**sqrt(2 / p).
    #[test]
    fn the_table_is_that_of_scipy() {
        const RUNS: &[(u32, u32)] = &[
            (29, 32),
            (1, 30),
            (1, 26),
            (1, 23),
            (1, 20),
            (1, 18),
            (1, 16),
            (1, 14),
            (1, 13),
            (1, 12),
            (2, 10),
            (1, 9),
            (1, 8),
            (2, 7),
            (2, 6),
            (3, 5),
            (4, 4),
            (5, 3),
            (10, 2),
            (31, 1),
        ];
        let found: Vec<u32> = (1..100)
            .map(|percent| policy().max_subflows(f64::from(percent) / 100.0))
            .collect();
        let expected: Vec<u32> = RUNS
            .iter()
            .flat_map(|&(times, n)| vec![n; times as usize])
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_ends_of_the_table_are_bounded() {
        let at = |loss| policy().max_subflows(loss);
        assert_eq!(
            [0.0, 0.005, 1.0, 2.0, -1.0, f64::NAN].map(at),
            [32, 32, 1, 1, 32, 32]
        );
    }

    #[test]
    fn subflows_take_paths_in_turn_from_one_drawn() {
        let paths = Paths {
            count: 20,
            branches: 20,
        };
        let direction = |flow, subflow, reverse| SubflowDirection {
            flow,
            subflow,
            subflows: 20,
            reverse,
        };
        let mut firsts = std::collections::HashSet::new();
        for flow in 0..200 {
            let mut taken: Vec<u64> = (0..20)
                .map(|s| policy().path(paths, 7, direction(flow, s, false)))
                .collect();
            firsts.insert(taken[0]);
            assert_eq!(taken[3], policy().path(paths, 7, direction(flow, 3, true)));
            assert_eq!(
                policy().nth_path(paths, 7, direction(flow, 0, false), 5),
                taken[5]
            );
            taken.sort_unstable();
            assert_eq!(taken, (0..20).collect::<Vec<_>>());
        }
        assert_eq!(firsts.len(), 20);
    }

    #[test]
    fn paths_are_monitored_where_the_state_is() {
        assert!(policy().path_monitor().per_host);
        let table: toml::Table = "state = \"connection\"".parse().unwrap();
        let policy: Opn = table.try_into().unwrap();
        assert!(!policy.path_monitor().per_host);
    }

    #[test]
    fn times_have_a_least() {
        let refused = |change: &str| {
            let policy = weft_spec::from_table(&change.parse().unwrap());
            let checked = policy.and_then(|policy: Opn| policy.check());
            checked.unwrap_err().to_string()
        };
        assert_eq!(refused("delta = \"0s\""), "delta: 0s; allowed: at least 1us");
        assert!(refused("epsilon = \"10ns\"").starts_with("epsilon: "));
        assert!(refused("period = \"0s\"").starts_with("period: "));
        assert!(refused("delta_rtts = -1.0").starts_with("delta_rtts: "));
    }
}
