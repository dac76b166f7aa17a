//! Max-min fair rates of connections with one path each, by progressive filling: Bertsekas and Gallager, "Data Networks"
//! (1992), section 6.5.2.
//!
//! All rates rise together. A link is full at the level `(capacity - rates settled on it) / connections still rising`;
//! whoever crosses it settles there. Settling somebody else at a lower level only raises that level, so a heap of levels
//! may be stale on the low side, and a level that is still right when it comes first is the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Error, Instance};

/// The max-min fair rate of every connection, in bit/s, at most `demands[c]` where demands are given.
///
/// # Errors
/// A connection with more than one subflow.
///
/// # Panics
/// With another number of demands than connections.
pub fn max_min(instance: &mut Instance, demands: Option<&[f64]>) -> Result<Vec<f64>, Error> {
    if let Some(connection) = (0..instance.connections()).find(|&c| instance.subflows_of(c).len() != 1) {
        let subflows = instance.subflows_of(connection).len();
        return Err(Error::Multipath { connection, subflows });
    }
    assert!(
        demands.is_none_or(|d| d.len() == instance.connections()),
        "a demand for each connection"
    );
    instance.index();
    let links = instance.capacities().len();
    let mut left = instance.capacities().to_vec();
    let mut rising: Vec<u32> = (0..links).map(|l| instance.users(l).len() as u32).collect();
    let level = |left: f64, rising: u32| left / f64::from(rising);
    let mut heap: BinaryHeap<Reverse<(Level, u32)>> = (0..links)
        .filter(|&l| rising[l] > 0)
        .map(|l| Reverse((Level(level(left[l], rising[l])), l as u32)))
        .collect();
    let mut rates = vec![f64::NAN; instance.connections()];
    let mut by_demand: Vec<u32> = demands.map_or_else(Vec::new, |_| (0..rates.len() as u32).collect());
    let demand = |c: u32| demands.map_or(f64::INFINITY, |d| d[c as usize]);
    by_demand.sort_by(|&a, &b| demand(b).total_cmp(&demand(a)));
    let settle = |c: usize, rate: f64, rates: &mut [f64], left: &mut [f64], rising: &mut [u32]| {
        rates[c] = rate;
        for &link in instance.path(c) {
            // What is left is a difference of sums and may end a rounding error below 0.
            left[link as usize] = (left[link as usize] - rate).max(0.0);
            rising[link as usize] -= 1;
        }
    };
    while let Some(Reverse((Level(known), link))) = heap.pop() {
        let l = link as usize;
        if rising[l] == 0 {
            continue;
        }
        let now = level(left[l], rising[l]);
        if now > known {
            heap.push(Reverse((Level(now), link)));
            continue;
        }
        // Those who want no more than the level are content before the link is full.
        let mut content = false;
        while let Some(&c) = by_demand.last() {
            if rates[c as usize].is_nan() {
                if demand(c) > now {
                    break;
                }
                settle(c as usize, demand(c), &mut rates, &mut left, &mut rising);
                content = true;
            }
            by_demand.pop();
        }
        if content {
            if rising[l] > 0 {
                heap.push(Reverse((Level(level(left[l], rising[l])), link)));
            }
            continue;
        }
        for &c in instance.users(l) {
            if rates[c as usize].is_nan() {
                settle(c as usize, now, &mut rates, &mut left, &mut rising);
            }
        }
    }
    Ok(rates)
}

/// Is every connection at its demand, or on a full link on which nobody has a larger rate? That is equivalent to max-min
/// fairness (Bertsekas and Gallager, section 6.5.2, proposition). It looks at nothing that the solver leaves behind;
/// `tolerance` is relative.
///
/// Returns the first connection without such a link, or the first link above its capacity, in words.
///
/// # Errors
/// What is wrong.
pub fn certify(
    instance: &Instance,
    demands: Option<&[f64]>,
    rates: &[f64],
    tolerance: f64,
) -> Result<(), String> {
    let links = instance.capacities().len();
    let (mut load, mut largest) = (vec![0.0; links], vec![0.0_f64; links]);
    for (c, &rate) in rates.iter().enumerate() {
        if rate.is_nan() || rate < 0.0 {
            return Err(format!("connection {c} has a rate of {rate} bit/s"));
        }
        for &link in instance.path(c) {
            load[link as usize] += rate;
            largest[link as usize] = largest[link as usize].max(rate);
        }
    }
    for (l, (&load, &capacity)) in load.iter().zip(instance.capacities()).enumerate() {
        if load > capacity * (1.0 + tolerance) {
            return Err(format!("link {l} carries {load} of {capacity} bit/s"));
        }
    }
    for (c, &rate) in rates.iter().enumerate() {
        let content = demands.is_some_and(|d| rate >= d[c] * (1.0 - tolerance));
        let held = |&link: &u32| {
            let l = link as usize;
            load[l] >= instance.capacities()[l] * (1.0 - tolerance) && rate >= largest[l] * (1.0 - tolerance)
        };
        if !content && !instance.path(c).iter().any(held) {
            return Err(format!("connection {c} at {rate} bit/s has no bottleneck"));
        }
    }
    Ok(())
}

/// A level in the heap: finite, so that the order is total.
#[derive(Clone, Copy, PartialEq)]
struct Level(f64);

impl Eq for Level {}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn instance(capacities: &[f64], paths: &[&[u32]]) -> Instance {
        let mut instance = Instance::new(capacities.to_vec()).unwrap();
        for &path in paths {
            instance.connect([path]).unwrap();
        }
        instance
    }

    /// Bertsekas and Gallager's example: a line of links, a connection over all of it, one on each link, and another on the
    /// last.
    #[test]
    fn a_line_of_links() {
        let mut line = instance(&[1.0, 1.0, 1.0], &[&[0, 1, 2], &[0], &[1], &[2], &[2]]);
        let rates = max_min(&mut line, None).unwrap();
        let third = 1.0 / 3.0;
        for (rate, expected) in rates.iter().zip([third, 1.0 - third, 1.0 - third, third, third]) {
            assert!((rate - expected).abs() < 1e-12, "{rates:?}");
        }
        certify(&line, None, &rates, 1e-9).unwrap();
    }

    #[test]
    fn who_wants_less_leaves_the_rest_to_others() {
        let mut one = instance(&[10.0], &[&[0], &[0], &[0]]);
        let demands = [1.0, f64::INFINITY, f64::INFINITY];
        let rates = max_min(&mut one, Some(&demands)).unwrap();
        assert_eq!(rates, [1.0, 4.5, 4.5]);
        certify(&one, Some(&demands), &rates, 1e-12).unwrap();
        assert!(certify(&one, None, &rates, 1e-12).is_err());
    }

    #[test]
    fn the_certificate_refuses_what_is_not_fair() {
        let line = instance(&[1.0, 1.0], &[&[0, 1], &[0], &[1]]);
        certify(&line, None, &[0.5, 0.5, 0.5], 1e-9).unwrap();
        for unfair in [[0.4, 0.6, 0.6], [0.6, 0.4, 0.4], [0.4, 0.5, 0.6], [0.6, 0.6, 0.4]] {
            assert!(certify(&line, None, &unfair, 1e-9).is_err(), "{unfair:?}");
        }
    }

    #[test]
    fn more_than_one_subflow_is_refused() {
        let mut two = Instance::new(vec![1.0]).unwrap();
        two.connect([&[0][..], &[0]]).unwrap();
        assert_eq!(
            max_min(&mut two, None),
            Err(Error::Multipath {
                connection: 0,
                subflows: 2
            })
        );
    }

    proptest! {
        #[test]
        fn any_network_gets_its_certificate(
            capacities in prop::collection::vec(0.1..10.0_f64, 1..12),
            paths in prop::collection::vec(prop::collection::btree_set(0_u32..12, 1..5), 1..40),
            demands in prop::collection::vec(prop_oneof![Just(f64::INFINITY), 0.0..3.0_f64], 40),
        ) {
            let links = capacities.len() as u32;
            let mut any = Instance::new(capacities).unwrap();
            for path in paths {
                let path: std::collections::BTreeSet<u32> = path.iter().map(|l| l % links).collect();
                any.connect([&path.into_iter().collect::<Vec<_>>()[..]]).unwrap();
            }
            let demands = &demands[..any.connections()];
            for demands in [None, Some(demands)] {
                let rates = max_min(&mut any, demands).unwrap();
                let certificate = certify(&any, demands, &rates, 1e-9);
                prop_assert!(certificate.is_ok(), "{certificate:?}");
            }
        }
    }
}
