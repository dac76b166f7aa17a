//! Certificates of max-min fairness. They use nothing but their arguments, so that a test that checks them does not trust
//! the solver.

use crate::{Bottleneck, Instance};

/// Checks that every connection has its demand, or crosses a full link on which no connection has a larger rate. That is
/// equivalent to max-min fairness (Bertsekas and Gallager, section 6.5.2, proposition). `tolerance` is relative.
///
/// # Errors
/// Returns the first connection without such a link, or the first link above its capacity, in words.
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

/// Checks that a connection can have more only if one of at most its rate has less, where a connection's rate is the sum
/// over its subflows. `rates` are those of the subflows; `tolerance` is relative.
///
/// The prices of a bottleneck show that by duality. All that priced links carry is worth at most their capacities at these
/// prices. A connection pays at least its rate times the price of its cheapest path. Let the connections up to the
/// bottleneck's rate pay for the capacities but a difference. A connection that pays `q` per bit then gains at most that
/// difference over `q` unless one of them loses. If connections have one path each and one link has a price, it is a full
/// link on which no connection has a larger rate.
///
/// # Errors
/// Returns the first link above its capacity, the first connection without such a bottleneck, or a price below 0, in words.
pub fn certify_coupled(
    instance: &Instance,
    rates: &[f64],
    bottlenecks: &[Bottleneck],
    tolerance: f64,
) -> Result<(), String> {
    let links = instance.capacities().len();
    let mut load = vec![0.0; links];
    for (s, &rate) in rates.iter().enumerate() {
        if rate.is_nan() || rate < 0.0 {
            return Err(format!("subflow {s} has a rate of {rate} bit/s"));
        }
        for &link in instance.path(s) {
            load[link as usize] += rate;
        }
    }
    for (l, (&load, &capacity)) in load.iter().zip(instance.capacities()).enumerate() {
        if load > capacity * (1.0 + tolerance) {
            return Err(format!("link {l} carries {load} of {capacity} bit/s"));
        }
    }
    let sum = |c: usize| rates[instance.subflows_of(c)].iter().sum::<f64>();
    let sums: Vec<f64> = (0..instance.connections()).map(sum).collect();
    // The largest gain of each connection, by the best of the bottlenecks.
    let mut gains = vec![f64::INFINITY; sums.len()];
    let mut price = vec![0.0; links];
    for bottleneck in bottlenecks {
        let mut unpaid = 0.0;
        for &(link, value) in &bottleneck.prices {
            if value.is_nan() || value < 0.0 {
                return Err(format!("link {link} has a price of {value}"));
            }
            price[link as usize] = value;
            unpaid += value * instance.capacities()[link as usize];
        }
        let cheapest = |c: usize| {
            let paths = instance.subflows_of(c).map(|s| instance.path(s));
            let path_price = |path: &[u32]| path.iter().map(|&link| price[link as usize]).sum::<f64>();
            paths.map(path_price).fold(f64::INFINITY, f64::min)
        };
        let paid: Vec<f64> = (0..sums.len()).map(cheapest).collect();
        for (&sum, &paid) in sums.iter().zip(&paid) {
            if sum <= bottleneck.rate * (1.0 + tolerance) {
                unpaid -= paid * sum;
            }
        }
        for ((gain, &sum), &paid) in gains.iter_mut().zip(&sums).zip(&paid) {
            if paid > 0.0 && sum >= bottleneck.rate * (1.0 - tolerance) {
                *gain = gain.min(unpaid / paid);
            }
        }
        for &(link, _) in &bottleneck.prices {
            price[link as usize] = 0.0;
        }
    }
    for (c, (&sum, &gain)) in sums.iter().zip(&gains).enumerate() {
        if gain > tolerance * sum {
            return Err(format!(
                "connection {c} at {sum} bit/s may have {gain} more for all the bottlenecks say"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_refuses_what_is_not_fair() {
        let mut line = Instance::new(vec![1.0, 1.0]).unwrap();
        for path in [&[0, 1][..], &[0], &[1]] {
            line.connect([path]).unwrap();
        }
        certify(&line, None, &[0.5, 0.5, 0.5], 1e-9).unwrap();
        for unfair in [[0.4, 0.6, 0.6], [0.6, 0.4, 0.4], [0.4, 0.5, 0.6], [0.6, 0.6, 0.4]] {
            assert!(certify(&line, None, &unfair, 1e-9).is_err(), "{unfair:?}");
        }
    }

    /// Links of 1 and 2, and two connections with a path over either: one and a half each, in any division of the links.
    #[test]
    fn the_certificate_of_several_paths_refuses_what_is_not_fair_or_not_shown() {
        let mut two = Instance::new(vec![1.0, 2.0]).unwrap();
        two.connect([&[0][..], &[1]]).unwrap();
        two.connect([&[0][..], &[1]]).unwrap();
        let both = |rate| Bottleneck {
            rate,
            prices: vec![(0, 1.0), (1, 1.0)],
        };
        certify_coupled(&two, &[1.0, 0.5, 0.0, 1.5], &[both(1.5)], 1e-12).unwrap();
        certify_coupled(&two, &[0.25, 1.25, 0.75, 0.75], &[both(1.5)], 1e-12).unwrap();
        for (rates, bottleneck) in [
            // Not fair, room left, a link too full, a rate below 0.
            ([1.0, 0.6, 0.0, 1.4], both(1.6)),
            ([1.0, 0.4, 0.0, 1.4], both(1.4)),
            ([1.0, 0.5, 0.1, 1.4], both(1.5)),
            ([1.5, 0.0, -0.5, 2.0], both(1.5)),
            // Right, but not shown: of a rate that no connection has, no price on one of the links, and one below 0.
            ([1.0, 0.5, 0.0, 1.5], both(1.4)),
            (
                [1.0, 0.5, 0.0, 1.5],
                Bottleneck {
                    rate: 1.5,
                    prices: vec![(1, 1.0)],
                },
            ),
            (
                [1.0, 0.5, 0.0, 1.5],
                Bottleneck {
                    rate: 1.5,
                    prices: vec![(0, -1.0), (1, 1.0)],
                },
            ),
        ] {
            let certificate = certify_coupled(&two, &rates, &[bottleneck], 1e-9);
            assert!(certificate.is_err(), "{rates:?}");
        }
    }
}
