//! Natural demands, the rates of flows if only hosts limited them: Al-Fares et al., "Hedera:
//! Dynamic Flow Scheduling for Data Center Networks" (NSDI 2010), section 4.2, figure 4.

use std::collections::BTreeMap;

use weft_fabric::NodeId;

/// A flow in the estimation of its natural demand.
#[derive(Clone, Copy)]
struct Flow {
    demand: f64,
    /// True if the receiver limits the flow.
    converged: bool,
}

/// Returns the natural demand of each flow (sender, receiver), in the unit of the capacities. The
/// capacity of senders and receivers is shared fairly.
pub fn natural_demands(
    flows: &[(NodeId, NodeId)],
    sends: impl Fn(NodeId) -> f64,
    receives: impl Fn(NodeId) -> f64,
) -> Vec<f64> {
    let (mut from, mut to) = (
        BTreeMap::<NodeId, Vec<usize>>::new(),
        BTreeMap::<NodeId, Vec<usize>>::new(),
    );
    for (i, &(sender, receiver)) in flows.iter().enumerate() {
        from.entry(sender).or_default().push(i);
        to.entry(receiver).or_default().push(i);
    }
    let idle = Flow {
        demand: 0.0,
        converged: false,
    };
    let mut estimates = vec![idle; flows.len()];
    // In each round but the last, a receiver limits a flow that no receiver limited before.
    for _ in 0..=flows.len() {
        let before = estimates.iter().filter(|flow| flow.converged).count();
        for (&sender, ours) in &from {
            estimate_src(ours, sends(sender), &mut estimates);
        }
        for (&receiver, ours) in &to {
            estimate_dst(ours, receives(receiver), &mut estimates);
        }
        if estimates.iter().filter(|flow| flow.converged).count() == before {
            break;
        }
    }
    estimates.into_iter().map(|flow| flow.demand).collect()
}

/// Divides the capacity that converged flows leave between the other flows.
fn estimate_src(ours: &[usize], capacity: f64, flows: &mut [Flow]) {
    let (converged, others): (Vec<usize>, Vec<usize>) = ours.iter().partition(|&&i| flows[i].converged);
    let taken: f64 = converged.iter().map(|&i| flows[i].demand).sum();
    let share = (capacity - taken).max(0.0) / others.len() as f64;
    for i in others {
        flows[i].demand = share;
    }
}

/// If senders would send more than fits, limits the flows above a fair share to that share.
fn estimate_dst(ours: &[usize], capacity: f64, flows: &mut [Flow]) {
    let total: f64 = ours.iter().map(|&i| flows[i].demand).sum();
    if total <= capacity * (1.0 + 1e-9) {
        return;
    }
    let mut limited = ours.to_vec();
    let mut share = capacity / limited.len() as f64;
    loop {
        let (small, large): (Vec<usize>, Vec<usize>) = limited
            .iter()
            .partition(|&&i| flows[i].demand < share * (1.0 - 1e-9));
        if small.is_empty() || large.is_empty() {
            break;
        }
        limited = large;
        let apart = ours.iter().filter(|&i| !limited.contains(i));
        let taken: f64 = apart.map(|&i| flows[i].demand).sum();
        share = (capacity - taken) / limited.len() as f64;
    }
    for i in limited {
        flows[i] = Flow {
            demand: share,
            converged: true,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(flows: &[(NodeId, NodeId)]) -> Vec<f64> {
        natural_demands(flows, |_| 1.0, |_| 1.0)
    }

    #[track_caller]
    fn assert_close(found: &[f64], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(
            close && found.len() == expected.len(),
            "{found:?}, not {expected:?}"
        );
    }

    #[test]
    fn a_flow_alone_could_send_all() {
        assert_close(&demands(&[(0, 1)]), &[1.0]);
        assert_close(&demands(&[]), &[]);
    }

    #[test]
    fn senders_and_receivers_share() {
        assert_close(&demands(&[(0, 1), (0, 2)]), &[0.5, 0.5]);
        assert_close(&demands(&[(0, 2), (1, 2), (3, 2)]), &[1.0 / 3.0; 3]);
    }

    /// Hedera's figure 5. Host 0 sends to 1, 2 and 3 once each; host 1 to 0 twice and to 2 once.
    /// Host 2 sends to 0 and to 3 once each; host 3 to 1 twice.
    #[test]
    fn the_example_of_the_paper() {
        let third = 1.0 / 3.0;
        let flows = [
            (0, 1),
            (0, 2),
            (0, 3),
            (1, 0),
            (1, 0),
            (1, 2),
            (2, 0),
            (2, 3),
            (3, 1),
            (3, 1),
        ];
        let expected = [
            third,
            third,
            third,
            third,
            third,
            third,
            third,
            2.0 * third,
            third,
            third,
        ];
        assert_close(&demands(&flows), &expected);
    }

    #[test]
    fn what_a_receiver_refuses_others_get() {
        // Each of three flows to 9 gets a third, so that host 0 has two thirds left for its other
        // flow.
        let flows = [(0, 9), (1, 9), (2, 9), (0, 8)];
        assert_close(&demands(&flows), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]);
    }
}
