//! Max-min fair rates of connections with one path each, by progressive filling: Bertsekas and Gallager, "Data Networks"
//! (1992), section 6.5.2.
//!
//! All rates rise together. A link is full at the level `(capacity - rates settled on it) / connections still rising`;
//! the connections that cross it settle there. If another connection settles at a lower level, that level only rises.
//! A link fills before its connections settle elsewhere if its level is the lowest that each of them meets. That does
//! not depend on the rest of the network. All such links fill in one round, in any order.
//!
//! A link that one connection crosses only bounds the rate of that connection, as a demand does, and takes no part in
//! the rounds.

use crate::{Error, Instance};

/// A link that is crossed more than once, while rates rise.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The rate of rising connections at which the link is full.
    level: f64,
    /// Capacity less the rates that have settled.
    free: f64,
    rising: u32,
    /// The last round in which a connection on it met a lower level elsewhere.
    blocked_round: u32,
    /// The last round in which a connection on it settled.
    changed_round: u32,
}

/// A connection that has not settled.
#[derive(Clone, Copy, Debug)]
struct Rising {
    /// The lowest level on the connection's links, or `max_rate`: the rate of the connection once it settles.
    rate: f64,
    /// Demand of the connection, or the capacity of a link that no other connection crosses.
    max_rate: f64,
    connection: u32,
    /// Range of the connection's links in the list of all links.
    links: (u32, u32),
}

/// Connections, each with its links.
struct SinglePathFilling {
    links: Vec<Link>,
    /// Indices into `links`, those of one connection in a row.
    crossed: Vec<u32>,
    rising: Vec<Rising>,
}

/// The max-min fair rate of every connection, in bit/s, at most `demands[c]` where demands are given.
///
/// # Errors
/// Returns an error if a connection has more than one subflow.
///
/// # Panics
/// Panics if the number of demands is not the number of connections.
pub fn max_min(instance: &Instance, demands: Option<&[f64]>) -> Result<Vec<f64>, Error> {
    let connections = instance.connections();
    if instance.subflows() != connections {
        let several = |&c: &usize| instance.subflows_of(c).len() != 1;
        let connection = (0..connections).find(several).unwrap_or(0);
        let subflows = instance.subflows_of(connection).len();
        return Err(Error::Multipath { connection, subflows });
    }
    assert!(
        demands.is_none_or(|d| d.len() == connections),
        "a demand for each connection"
    );
    let mut rates = vec![0.0; connections];
    let SinglePathFilling {
        mut links,
        crossed,
        mut rising,
    } = SinglePathFilling::new(instance, demands);
    let path = |connection: &Rising| &crossed[connection.links.0 as usize..connection.links.1 as usize];
    let mut changed: Vec<u32> = Vec::new();
    for round in 1.. {
        if rising.is_empty() {
            break;
        }
        for connection in &mut rising {
            let levels = path(connection).iter().map(|&link| links[link as usize].level);
            connection.rate = levels.fold(connection.max_rate, f64::min);
            for &link in path(connection) {
                let link = &mut links[link as usize];
                if link.level > connection.rate {
                    link.blocked_round = round;
                }
            }
        }
        rising.retain(|connection| {
            let fills = |&link: &u32| {
                let link = &links[link as usize];
                link.level <= connection.rate && link.blocked_round != round
            };
            if connection.rate < connection.max_rate && !path(connection).iter().any(fills) {
                return true;
            }
            rates[connection.connection as usize] = connection.rate;
            for &l in path(connection) {
                let link = &mut links[l as usize];
                // The rest is a difference of sums and may end a rounding error below 0.
                link.free = (link.free - connection.rate).max(0.0);
                link.rising -= 1;
                if link.changed_round != round {
                    link.changed_round = round;
                    changed.push(l);
                }
            }
            false
        });
        for link in changed.drain(..) {
            let link = &mut links[link as usize];
            link.level = if link.rising > 0 {
                link.free / f64::from(link.rising)
            } else {
                f64::INFINITY
            };
        }
    }
    Ok(rates)
}

impl SinglePathFilling {
    /// Creates the state before the first round. Links are in the order in which connections meet them, so that those of one are near each other.
    fn new(instance: &Instance, demands: Option<&[f64]>) -> Self {
        /// Marks the number of a link, where before there was how often it is crossed.
        const NUMBERED: u32 = 1 << 31;
        let capacities = instance.capacities();
        let mut known = vec![0_u32; capacities.len()];
        for &link in instance.crossed() {
            known[link as usize] += 1;
        }
        let mut links = Vec::new();
        let mut crossed = Vec::with_capacity(instance.crossed().len());
        let mut rising = Vec::with_capacity(instance.connections());
        for connection in 0..instance.connections() {
            let first = crossed.len() as u32;
            let mut max_rate = demands.map_or(f64::INFINITY, |demands| demands[connection]);
            for &link in instance.path(connection) {
                let capacity = capacities[link as usize];
                let known = &mut known[link as usize];
                if *known == 1 {
                    max_rate = max_rate.min(capacity);
                    continue;
                }
                if *known & NUMBERED == 0 {
                    links.push(Link {
                        level: capacity / f64::from(*known),
                        free: capacity,
                        rising: *known,
                        blocked_round: 0,
                        changed_round: 0,
                    });
                    *known = NUMBERED | (links.len() as u32 - 1);
                }
                crossed.push(*known & !NUMBERED);
            }
            rising.push(Rising {
                rate: 0.0,
                max_rate,
                connection: connection as u32,
                links: (first, crossed.len() as u32),
            });
        }
        Self {
            links,
            crossed,
            rising,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::certify;

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
        let line = instance(&[1.0, 1.0, 1.0], &[&[0, 1, 2], &[0], &[1], &[2], &[2]]);
        let rates = max_min(&line, None).unwrap();
        let third = 1.0 / 3.0;
        for (rate, expected) in rates.iter().zip([third, 1.0 - third, 1.0 - third, third, third]) {
            assert!((rate - expected).abs() < 1e-12, "{rates:?}");
        }
        certify(&line, None, &rates, 1e-9).unwrap();
    }

    #[test]
    fn who_wants_less_leaves_the_rest_to_others() {
        let one = instance(&[10.0], &[&[0], &[0], &[0]]);
        let demands = [1.0, f64::INFINITY, f64::INFINITY];
        let rates = max_min(&one, Some(&demands)).unwrap();
        assert_eq!(rates, [1.0, 4.5, 4.5]);
        certify(&one, Some(&demands), &rates, 1e-12).unwrap();
        assert!(certify(&one, None, &rates, 1e-12).is_err());
    }

    #[test]
    fn more_than_one_subflow_is_refused() {
        let mut two = Instance::new(vec![1.0]).unwrap();
        two.connect([&[0][..], &[0]]).unwrap();
        assert_eq!(
            max_min(&two, None),
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
                let rates = max_min(&any, demands).unwrap();
                let certificate = certify(&any, demands, &rates, 1e-9);
                prop_assert!(certificate.is_ok(), "{certificate:?}");
            }
        }
    }
}
