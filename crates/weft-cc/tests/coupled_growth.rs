//! The growth of all subflows of a coupled connection together in congestion avoidance: no more
//! than that of one TCP flow.
//!
//! LIA and DCM (RFC 6356, section 3; AMP's paper, equation (1)): in the time of the smallest RTT,
//! subflow s receives `w_s rtt_min / rtt_s` acknowledgements. In that time all windows together
//! grow by at most one packet, because `sum_s w_s rtt_min / rtt_s * max_r(w_r / rtt_r^2) / (sum_r
//! w_r / rtt_r)^2 <= rtt_min max_r(1 / rtt_r) = 1`. Recomputing alpha within that time does not
//! change the bound. If growth raises alpha / total at all, the left side is below 1/2 at first and
//! below 1 at last.
//!
//! AMP (section 4.2): in one round of every subflow, at any RTTs, all windows together grow by at
//! most one packet, because `sum_s w_s / w_total = 1` and `w_total` only grows.
//!
//! The bound of XMP involves fractions of a packet that it saves; it is part of XMP's unit tests.

use proptest::prelude::*;
use weft_cc::{Ack, Algorithm, CongestionControl, Elapsed, Round, Window};

const ONE: Ack = Ack {
    acked: 1,
    marked: 0,
    may_grow: true,
    rtt: 0.0,
    now: Elapsed(0),
};

fn connection(subflows: &[(f64, f64)]) -> Vec<Window> {
    let window = |&(cwnd, rtt): &(f64, f64)| Window {
        established: true,
        srtt: rtt,
        ..Window::new(cwnd, 1.0)
    };
    subflows.iter().map(window).collect()
}

fn total(w: &[Window]) -> f64 {
    w.iter().map(|r| r.cwnd).sum()
}

/// Generates subflows with windows from 1 to 300 packets and RTTs from 10 us to 10 ms.
fn subflows() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((1.0..300.0_f64, 1e-5..1e-2_f64), 1..20)
}

/// Opens all subflows and gives subflow s `acks[s]` acknowledgements, in a random order. Returns
/// the growth.
fn grow(cc: &mut Algorithm, w: &mut [Window], acks: &[u32], order: &prop::test_runner::TestRng) -> f64 {
    for s in 0..w.len() {
        cc.on_open(w, s);
        cc.on_round(w, s, Round { acked: 1, marked: 0 });
    }
    let mut queue: Vec<usize> = acks
        .iter()
        .enumerate()
        .flat_map(|(s, &n)| vec![s; n as usize])
        .collect();
    shuffle(&mut queue, order.clone());
    let before = total(w);
    for s in queue {
        cc.on_ack(w, s, ONE);
    }
    total(w) - before
}

fn shuffle(queue: &mut [usize], mut rng: prop::test_runner::TestRng) {
    for i in (1..queue.len()).rev() {
        queue.swap(i, rng.random_range(0..=i));
    }
}

proptest! {
    #[test]
    fn lia_and_dcm_add_at_most_a_packet_in_the_smallest_rtt(
        subflows in subflows(),
        algorithm in prop::sample::select(vec!["lia", "dcm"]),
        per_ack in prop::sample::select(vec![0.0, 1.0]),
        order in any::<u64>().prop_perturb(|_, rng| rng),
    ) {
        let mut cc = Algorithm::build(algorithm, &[("per_ack".to_owned(), per_ack)]).unwrap();
        let rtt_min = subflows.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
        let acks: Vec<u32> = subflows.iter().map(|(w, rtt)| (w * rtt_min / rtt).floor() as u32).collect();
        let growth = grow(&mut cc, &mut connection(&subflows), &acks, &order);
        prop_assert!(growth <= 1.0 + 1e-9, "{growth}");
    }

    #[test]
    fn amp_adds_at_most_a_packet_a_round(
        subflows in subflows(),
        order in any::<u64>().prop_perturb(|_, rng| rng),
    ) {
        let mut cc = Algorithm::build("amp", &[]).unwrap();
        let acks: Vec<u32> = subflows.iter().map(|(w, _)| w.floor() as u32).collect();
        let w_total: f64 = subflows.iter().map(|s| s.0).sum();
        let growth = grow(&mut cc, &mut connection(&subflows), &acks, &order);
        prop_assert!(growth <= 1.0 + 1e-9, "{growth}");
        // The lower bound: the growth of these acknowledgements with the final windows.
        let least = f64::from(acks.iter().sum::<u32>()) / (w_total + 1.0);
        prop_assert!(growth >= least - 1e-9, "{growth} < {least}");
    }
}
