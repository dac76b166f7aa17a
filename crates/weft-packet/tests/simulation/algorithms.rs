//! Every algorithm of the registry in the packet simulator.

use crate::experiment::{config, flow, many_to_one, queue, run, transport};
use weft_cc::Algorithm;
use weft_spec::Time;
use weft_transports::Profile;

/// Two hosts with one or four subflows each fill one link of 10 Gbps with every algorithm. Links have 5 us, the queue holds
/// 100 packets and marks from 20 on, and the second half of 40 ms is measured.
#[test]
fn every_algorithm_fills_a_bottleneck() {
    for entry in Algorithm::BUILT_IN {
        for subflows in [1, 4] {
            let cc = Algorithm::build(entry.name, &[]).unwrap();
            let profile = Profile::linux().with(|p| p.rto.min_rto = Time::from_ms(1));
            let delivered = |end| {
                let fabric = many_to_one(2, Time::from_us(5), queue(100, Some(20)));
                let transports = vec![transport(cc.clone(), subflows, profile.clone())];
                let outcome = run(config(fabric, transports, vec![flow(0, 2), flow(1, 2)]), end);
                outcome.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>()
            };
            let bytes = delivered(Time::from_ms(40)) - delivered(Time::from_ms(20));
            let share = bytes as f64 * 8.0 / 0.02 / 10e9;
            // 1448 bytes of 1514 are the application's; AMP-FG's deep cuts leave 0.85.
            let max = 1448.0 / 1514.0 + 1e-3;
            assert!(
                (0.8..max).contains(&share),
                "{} x {subflows}: {share}",
                entry.name
            );
        }
    }
}
