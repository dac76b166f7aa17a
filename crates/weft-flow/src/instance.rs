//! The input of a solver: links with capacities, connections with subflows, and the links that each subflow
//! crosses.

/// Why an instance cannot be solved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A link has no capacity, or one that is not a number.
    #[error("link {link} has a capacity of {capacity} bit/s; a capacity above 0 is needed")]
    Capacity {
        /// Index of the link.
        link: usize,
        /// As given, in bit/s.
        capacity: f64,
    },
    /// A subflow crosses no link.
    #[error("subflow {subflow} of connection {connection} crosses no link")]
    NoPath {
        /// Index of the connection.
        connection: usize,
        /// Index of the subflow in its connection.
        subflow: usize,
    },
    /// A subflow crosses a link that does not exist.
    #[error("subflow {subflow} of connection {connection} crosses link {link}; there are {links} links")]
    NoLink {
        /// Index of the connection.
        connection: usize,
        /// Index of the subflow in its connection.
        subflow: usize,
        /// The link as given.
        link: u32,
        /// Number of links.
        links: usize,
    },
    /// A connection has no subflow.
    #[error("connection {connection} has no subflow")]
    NoSubflow {
        /// Index of the connection.
        connection: usize,
    },
    /// The solver shares rates between connections of one subflow only.
    #[error(
        "connection {connection} has {subflows} subflows; max-min fairness is solved for one subflow each"
    )]
    Multipath {
        /// Index of the connection.
        connection: usize,
        /// Number of subflows of the connection.
        subflows: usize,
    },
}

/// Links, connections, subflows. Subflows are numbered over all connections, those of one connection in a row.
#[derive(Clone, Debug)]
pub struct Instance {
    capacities: Vec<f64>,
    /// Connection `c` has the subflows `subflows[c] .. subflows[c + 1]`.
    subflows: Vec<u32>,
    /// Subflow `s` crosses `crossed[paths[s] .. paths[s + 1]]`.
    paths: Vec<u32>,
    crossed: Vec<u32>,
    /// Link `l` is crossed at the positions `hops[first_hop[l] .. first_hop[l + 1]]` of `crossed`, in ascending order.
    first_hop: Vec<u32>,
    hops: Vec<u32>,
}

impl Instance {
    /// Links of `capacities` bit/s and no connections.
    ///
    /// # Errors
    /// A capacity that is not a number above 0.
    pub fn new(capacities: Vec<f64>) -> Result<Self, Error> {
        let bad = capacities.iter().position(|c| !(c.is_finite() && *c > 0.0));
        if let Some(link) = bad {
            let capacity = capacities[link];
            return Err(Error::Capacity { link, capacity });
        }
        Ok(Self {
            capacities,
            subflows: vec![0],
            paths: vec![0],
            crossed: Vec::new(),
            first_hop: Vec::new(),
            hops: Vec::new(),
        })
    }

    /// Adds a connection with a subflow for each of `paths`, which are lists of links.
    ///
    /// # Errors
    /// No subflow, a subflow without a link, a link that does not exist. The instance is then as it was.
    pub fn connect<'a>(&mut self, paths: impl IntoIterator<Item = &'a [u32]>) -> Result<(), Error> {
        let (subflows, links) = (self.paths.len(), self.crossed.len());
        let added = self.add_subflows(paths);
        if added.is_err() {
            self.paths.truncate(subflows);
            self.crossed.truncate(links);
        } else {
            self.subflows.push(self.paths.len() as u32 - 1);
            self.first_hop.clear();
        }
        added
    }

    fn add_subflows<'a>(&mut self, paths: impl IntoIterator<Item = &'a [u32]>) -> Result<(), Error> {
        let connection = self.connections();
        let links = self.capacities.len();
        let mut none = true;
        for (subflow, path) in paths.into_iter().enumerate() {
            none = false;
            if path.is_empty() {
                return Err(Error::NoPath { connection, subflow });
            }
            if let Some(&link) = path.iter().find(|&&link| link as usize >= links) {
                return Err(Error::NoLink {
                    connection,
                    subflow,
                    link,
                    links,
                });
            }
            self.crossed.extend_from_slice(path);
            self.paths.push(self.crossed.len() as u32);
        }
        if none {
            return Err(Error::NoSubflow { connection });
        }
        Ok(())
    }

    /// Capacities of the links, in bit/s.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.subflows.len() - 1
    }

    /// Returns the number of subflows of all connections.
    pub fn subflows(&self) -> usize {
        self.paths.len() - 1
    }

    /// The subflows of a connection, numbered over all connections.
    #[inline]
    pub fn subflows_of(&self, connection: usize) -> std::ops::Range<usize> {
        self.subflows[connection] as usize..self.subflows[connection + 1] as usize
    }

    /// The links that a subflow crosses, in order.
    #[inline]
    pub fn path(&self, subflow: usize) -> &[u32] {
        &self.crossed[self.paths[subflow] as usize..self.paths[subflow + 1] as usize]
    }

    /// The links that all subflows cross, in a row.
    pub(crate) fn crossed(&self) -> &[u32] {
        &self.crossed
    }

    /// The positions in [`crossed`](Self::crossed) at which a link is crossed, in ascending order. [`index`](Self::index) has to
    /// come first.
    #[inline]
    pub(crate) fn hops_on(&self, link: usize) -> &[u32] {
        &self.hops[self.first_hop[link] as usize..self.first_hop[link + 1] as usize]
    }

    /// Finds the hops on each link, unless they are known.
    pub(crate) fn index(&mut self) {
        if !self.first_hop.is_empty() {
            return;
        }
        self.first_hop = vec![0; self.capacities.len() + 1];
        for &link in &self.crossed {
            self.first_hop[link as usize + 1] += 1;
        }
        for link in 0..self.capacities.len() {
            self.first_hop[link + 1] += self.first_hop[link];
        }
        let mut next = self.first_hop.clone();
        self.hops = vec![0; self.crossed.len()];
        for (hop, &link) in (0..).zip(&self.crossed) {
            let next = &mut next[link as usize];
            self.hops[*next as usize] = hop;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_refused_and_changes_nothing() {
        let refused = Instance::new(vec![1.0, 0.0]).map(|_| ());
        assert_eq!(
            refused,
            Err(Error::Capacity {
                link: 1,
                capacity: 0.0
            })
        );
        assert!(Instance::new(vec![f64::NAN]).is_err());
        let mut instance = Instance::new(vec![1.0, 1.0]).unwrap();
        instance.connect([&[0, 1][..]]).unwrap();
        let none: [&[u32]; 0] = [];
        assert_eq!(instance.connect(none), Err(Error::NoSubflow { connection: 1 }));
        assert_eq!(
            instance.connect([&[0][..], &[]]),
            Err(Error::NoPath {
                connection: 1,
                subflow: 1
            })
        );
        let beyond = instance.connect([&[0][..], &[2]]).unwrap_err();
        assert_eq!(
            beyond.to_string(),
            "subflow 1 of connection 1 crosses link 2; there are 2 links"
        );
        assert_eq!((instance.connections(), instance.subflows()), (1, 1));
        instance.connect([&[1][..], &[0]]).unwrap();
        instance.index();
        assert_eq!(instance.hops_on(0), [0, 3]);
        assert_eq!(instance.hops_on(1), [1, 2]);
    }
}
