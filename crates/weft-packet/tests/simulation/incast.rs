//! Many senders answer one receiver: AMP's figures 2 and 8a, in the profile of its authors' simulator.
//!
//! Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks", sections 3.1 and 5. Links have 10 Gbps and 2 us,
//! queues hold 100 packets, and K is 10 packets. Every second, k flows of 128 KiB open 50 us apart.

use crate::experiment::{assert_within, cc, config, fct, many_to_one, queue, run, sized, sum, transport};
use weft_packet::{Outcome, SimulationConfig};
use weft_spec::Time;
use weft_traffic::Flow;
use weft_transports::Profile;

const ROUNDS: u32 = 20;

/// Alpha of DCTCP and DCM starts at 0, as in the authors' simulator.
fn incast(algorithm: &str, k: u32, seed: u64) -> Outcome {
    let (parameters, subflows): (&[_], _) = match algorithm {
        "dctcp" => (&[("alpha0", 0.0)], 1),
        "dcm" => (&[("alpha0", 0.0)], 4),
        "amp, ssr = 0" => (&[("ssr", 0.0)], 4),
        _ => (&[], 4),
    };
    let name = algorithm.split(',').next().unwrap_or_default();
    let flows = (0..ROUNDS * k).map(|i| Flow {
        start: Time::from_us(u64::from(i / k) * 1_000_000 + u64::from(i % k) * 50),
        round: i / k,
        ..sized(i % k, k, 128 << 10)
    });
    let transports = vec![transport(cc(name, parameters), subflows, Profile::amp_2019())];
    let fabric = many_to_one(k, Time::from_us(2), queue(100, Some(10)));
    let outcome = run(
        SimulationConfig {
            seed,
            ..config(fabric, transports, flows.collect())
        },
        Time::from_ms(60_000),
    );
    for (i, flow) in outcome.flows.iter().enumerate() {
        assert_eq!(flow.delivered_bytes, 128 << 10, "flow {i} of {algorithm}");
    }
    outcome
}

/// Milliseconds.
fn mean_fct(outcome: &Outcome) -> f64 {
    let times = outcome.flows.iter().map(|flow| 1e3 * fct(flow).unwrap());
    times.sum::<f64>() / outcome.flows.len() as f64
}

/// Share of flows with a timeout.
fn timed_out(outcome: &Outcome) -> f64 {
    let flows = outcome.flows.iter().filter(|flow| sum(flow, |s| s.timeouts) > 0);
    flows.count() as f64 / outcome.flows.len() as f64
}

/// Values of the authors' simulator: 0.61, 1.25, 1.87 and 2.49 ms, without timeouts.
#[test]
fn dctcp_is_within_a_tenth_of_the_calibration() {
    for (k, calibration) in [(10, 0.61), (20, 1.25), (30, 1.87), (40, 2.49)] {
        let outcome = incast("dctcp", k, 1);
        let mean = mean_fct(&outcome);
        assert_within(&format!("mean FCT at k = {k}"), mean / calibration, 0.9, 1.1);
        assert_eq!(outcome.counters.timeouts, 0, "timeouts at k = {k}");
    }
}

/// Figure 8a: AMP has no timeout at k = 30, and is like DCTCP.
#[test]
fn amp_is_like_dctcp() {
    let dctcp = mean_fct(&incast("dctcp", 30, 1));
    for seed in 1..=5 {
        let outcome = incast("amp", 30, seed);
        assert_eq!(outcome.counters.timeouts, 0, "seed {seed}");
        assert!(
            outcome.flows.iter().any(|flow| flow.suppressions > 0),
            "seed {seed}"
        );
        assert_within("mean FCT over DCTCP's", mean_fct(&outcome) / dctcp, 0.8, 1.25);
    }
}

/// Figures 2 and 8a: XMP and DCM are one to two orders slower at k = 30, because most flows wait for timeouts. Without
/// suppression so is AMP.
#[test]
fn xmp_and_dcm_wait_for_timeouts() {
    let dctcp = mean_fct(&incast("dctcp", 30, 1));
    for algorithm in ["xmp", "dcm", "amp, ssr = 0"] {
        for seed in 1..=3 {
            let outcome = incast(algorithm, 30, seed);
            let what = format!("{algorithm}, seed {seed}");
            assert_within(
                &format!("{what}: mean FCT over DCTCP's"),
                mean_fct(&outcome) / dctcp,
                50.0,
                1e3,
            );
            assert_within(
                &format!("{what}: flows with a timeout"),
                timed_out(&outcome),
                0.5,
                1.0,
            );
        }
    }
}
