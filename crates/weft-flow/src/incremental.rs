//! Max-min fair rates while flows come and go. After each change some flows are *open*: their rates are
//! solved for while the rates of all other flows stay. A new flow is open, and so is each flow whose
//! bottleneck a flow has left.
//!
//! [`fill`](IncrementalMaxMin::fill) solves the open flows by progressive filling. After that, another
//! flow on their links may have lost its bottleneck, or may have a higher rate than an open flow on the
//! link that limits that open flow. [`reopen`](IncrementalMaxMin::reopen) opens such flows. The two steps
//! repeat until no flow opens. Rates are max-min fair exactly if every flow has a bottleneck
//! ([`certify`](crate::certify)), so they equal those of a solution from scratch.

use crate::Error;

/// Relative difference below which a link is full and two rates are equal.
const TOLERANCE: f64 = 1e-9;

/// Relative excess over a capacity that is an error.
const MAX_EXCESS: f64 = 1e-6;

/// Index that stands for no link.
const NONE: u32 = u32::MAX;

/// A link and the flows on it.
#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    flows: Vec<u32>,
    /// Capacity less the rates that are fixed while a solution is in progress. These are the rates of
    /// closed flows and of open flows that have their bottleneck.
    free: f64,
    /// Number of open flows without a bottleneck, while a solution is in progress.
    rising: u32,
    /// Index in [`IncrementalMaxMin::touched`], or [`NONE`].
    touched: u32,
}

impl Link {
    /// Returns the equal rate of all open flows without a bottleneck at which the link is full.
    fn level(&self) -> f64 {
        if self.rising == 0 {
            f64::INFINITY
        } else {
            self.free.max(0.0) / f64::from(self.rising)
        }
    }
}

/// A flow, or a free slot, whose path is empty.
#[derive(Clone, Debug)]
struct FlowEntry {
    path: Vec<u32>,
    rate: f64,
    /// A full link of the path on which no flow has a higher rate; [`NONE`] until it is found.
    bottleneck: u32,
    /// Whether the rate is being solved for.
    open: bool,
}

/// Links, and the flows on them at their max-min fair rates.
#[derive(Clone, Debug)]
pub struct IncrementalMaxMin {
    links: Vec<Link>,
    flows: Vec<FlowEntry>,
    free_slots: Vec<u32>,
    /// Open flows in the order in which they opened.
    open: Vec<u32>,
    /// Links on the paths of open flows.
    touched: Vec<u32>,
    /// Level of each link in `touched`.
    levels: Vec<f64>,
    /// Rate of each flow in `open` before the change.
    before: Vec<f64>,
    /// Flows whose rates the last change moved, with the rates before.
    moved: Vec<(u32, f64)>,
    /// Number of rates solved for, over all changes.
    solved_rates: u64,
    /// A link with more than its capacity, and the sum of rates on it.
    overload: Option<(u32, f64)>,
}

impl IncrementalMaxMin {
    /// Creates links of `capacities` bit/s without flows.
    ///
    /// # Errors
    /// Returns an error if a capacity is not a number above 0.
    pub fn new(capacities: &[f64]) -> Result<Self, Error> {
        let bad = capacities.iter().position(|c| !(c.is_finite() && *c > 0.0));
        if let Some(link) = bad {
            let capacity = capacities[link];
            return Err(Error::Capacity { link, capacity });
        }
        let link = |&capacity| Link {
            capacity,
            flows: Vec::new(),
            free: 0.0,
            rising: 0,
            touched: NONE,
        };
        Ok(Self {
            links: capacities.iter().map(link).collect(),
            flows: Vec::new(),
            free_slots: Vec::new(),
            open: Vec::new(),
            touched: Vec::new(),
            levels: Vec::new(),
            before: Vec::new(),
            moved: Vec::new(),
            solved_rates: 0,
            overload: None,
        })
    }

    /// Adds a flow over `path` and returns its number. Numbers of removed flows are used for new ones.
    ///
    /// # Panics
    /// Panics if the path is empty or a link does not exist.
    pub fn add(&mut self, path: &[u32]) -> u32 {
        assert!(!path.is_empty(), "a path of at least one link");
        let flow = self.free_slots.pop().unwrap_or(self.flows.len() as u32);
        if flow as usize == self.flows.len() {
            self.flows.push(FlowEntry {
                path: Vec::new(),
                rate: 0.0,
                bottleneck: NONE,
                open: false,
            });
        }
        let entry = &mut self.flows[flow as usize];
        entry.path.clear();
        entry.path.extend_from_slice(path);
        entry.rate = 0.0;
        entry.bottleneck = NONE;
        for &link in path {
            self.links[link as usize].flows.push(flow);
        }
        self.open(flow);
        self.solve();
        flow
    }

    /// Removes a flow.
    ///
    /// # Panics
    /// Panics if there is no such flow.
    pub fn remove(&mut self, flow: u32) {
        let path = std::mem::take(&mut self.flows[flow as usize].path);
        assert!(!path.is_empty(), "flow {flow} exists");
        for &link in &path {
            let flows = &mut self.links[link as usize].flows;
            if let Some(at) = flows.iter().position(|&f| f == flow) {
                flows.swap_remove(at);
            }
        }
        for &link in &path {
            for at in 0..self.links[link as usize].flows.len() {
                let other = self.links[link as usize].flows[at];
                if self.flows[other as usize].bottleneck == link {
                    self.open(other);
                }
            }
        }
        self.flows[flow as usize].path = path;
        self.flows[flow as usize].path.clear();
        self.free_slots.push(flow);
        self.solve();
    }

    /// Returns the rate of a flow, in bit/s.
    pub fn rate(&self, flow: u32) -> f64 {
        self.flows[flow as usize].rate
    }

    /// Returns the flows whose rates the last change moved, with their rates before. A new flow is among them, with 0.
    pub fn moved(&self) -> &[(u32, f64)] {
        &self.moved
    }

    /// Returns the number of rates solved for, over all changes.
    pub fn solved_rates(&self) -> u64 {
        self.solved_rates
    }

    /// Returns a link whose flows exceed its capacity, and the sum of their rates in bit/s. There is one only if the solver is wrong.
    pub fn overload(&self) -> Option<(u32, f64)> {
        self.overload
    }

    /// Opens a flow unless it is open.
    fn open(&mut self, flow: u32) {
        let entry = &mut self.flows[flow as usize];
        if !entry.open {
            entry.open = true;
            self.open.push(flow);
            self.before.push(entry.rate);
        }
    }

    /// Solves for the rates of open flows, and of all that these open. Then closes them.
    fn solve(&mut self) {
        self.moved.clear();
        loop {
            self.fill();
            let before = self.open.len();
            self.reopen();
            if self.open.len() == before {
                break;
            }
        }
        for (flow, before) in self.open.drain(..).zip(self.before.drain(..)) {
            let entry = &mut self.flows[flow as usize];
            entry.open = false;
            if entry.rate != before {
                self.moved.push((flow, before));
            }
        }
        for link in self.touched.drain(..) {
            let state = &mut self.links[link as usize];
            state.touched = NONE;
            if state.free < -MAX_EXCESS * state.capacity {
                self.overload = Some((link, state.capacity - state.free));
            }
        }
    }

    /// Solves for the rates of open flows by progressive filling of the capacity that closed flows do not use. The link with the
    /// lowest level is the bottleneck of those of its open flows that have none yet.
    fn fill(&mut self) {
        for &flow in &self.open {
            for &link in &self.flows[flow as usize].path {
                let state = &mut self.links[link as usize];
                if state.touched == NONE {
                    state.touched = self.touched.len() as u32;
                    self.touched.push(link);
                }
            }
        }
        self.levels.clear();
        for &link in &self.touched {
            let state = &mut self.links[link as usize];
            (state.free, state.rising) = (state.capacity, 0);
            for &flow in &state.flows {
                let entry = &self.flows[flow as usize];
                if entry.open {
                    state.rising += 1;
                } else {
                    state.free -= entry.rate;
                }
            }
            self.levels.push(state.level());
        }
        for &flow in &self.open {
            self.flows[flow as usize].bottleneck = NONE;
        }
        self.solved_rates += self.open.len() as u64;
        while let Some((touched, rate)) = argmin(&self.levels) {
            let link = self.touched[touched];
            for at in 0..self.links[link as usize].flows.len() {
                let flow = self.links[link as usize].flows[at];
                let entry = &mut self.flows[flow as usize];
                if !entry.open || entry.bottleneck != NONE {
                    continue;
                }
                entry.rate = rate;
                entry.bottleneck = link;
                for &crossed in &entry.path {
                    let crossed = &mut self.links[crossed as usize];
                    crossed.free -= rate;
                    crossed.rising -= 1;
                    self.levels[crossed.touched as usize] = crossed.level();
                }
            }
        }
    }

    /// Opens flows that have lost their bottleneck, and flows with a higher rate than an open flow on the bottleneck of that flow.
    fn reopen(&mut self) {
        for t in 0..self.touched.len() {
            let link = self.touched[t];
            let state = &self.links[link as usize];
            let full = state.free <= TOLERANCE * state.capacity;
            let (mut largest, mut settled) = (0.0_f64, f64::INFINITY);
            for &flow in &state.flows {
                let entry = &self.flows[flow as usize];
                if entry.open {
                    largest = largest.max(entry.rate);
                    if entry.bottleneck == link {
                        settled = settled.min(entry.rate);
                    }
                }
            }
            for at in 0..self.links[link as usize].flows.len() {
                let flow = self.links[link as usize].flows[at];
                let entry = &self.flows[flow as usize];
                let lost = entry.bottleneck == link && (!full || entry.rate < largest * (1.0 - TOLERANCE));
                let more = entry.rate > settled * (1.0 + TOLERANCE);
                if !entry.open && (lost || more) {
                    self.open(flow);
                }
            }
        }
    }
}

/// Returns the index of the lowest of `levels`, the first of equal ones, and the level. Returns `None` if all are infinite.
fn argmin(levels: &[f64]) -> Option<(usize, f64)> {
    // Four independent minima let the processor compare in parallel.
    let chunks = levels.chunks_exact(4);
    let rest = chunks.remainder();
    let lower = |a: f64, b: f64| if b < a { b } else { a };
    let mut lowest = [f64::INFINITY; 4];
    for chunk in chunks {
        for (lowest, &level) in lowest.iter_mut().zip(chunk) {
            *lowest = lower(*lowest, level);
        }
    }
    let lowest = lowest
        .into_iter()
        .chain(rest.iter().copied())
        .fold(f64::INFINITY, lower);
    let index = levels.iter().position(|&level| level == lowest)?;
    lowest.is_finite().then_some((index, lowest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Instance, max_min};

    #[test]
    fn the_rest_of_the_network_is_left_alone() {
        let mut sharing = IncrementalMaxMin::new(&[1.0, 1.0, 10.0]).unwrap();
        let far = sharing.add(&[2]);
        let first = sharing.add(&[0, 1]);
        let second = sharing.add(&[1]);
        assert_eq!((sharing.rate(first), sharing.rate(second)), (0.5, 0.5));
        assert!(sharing.moved().iter().all(|&(flow, _)| flow != far));
        sharing.remove(second);
        assert_eq!((sharing.rate(first), sharing.moved()), (1.0, &[(first, 0.5)][..]));
        assert_eq!(sharing.rate(far), 10.0);
        assert_eq!(sharing.add(&[1]), second, "its entry is used again");
    }

    /// A flow that ends frees its link; flows that were limited there grow and reduce others elsewhere.
    #[test]
    fn a_change_spreads_as_far_as_it_has_to() {
        let mut sharing = IncrementalMaxMin::new(&[1.0, 1.0]).unwrap();
        let _b = [sharing.add(&[1]), sharing.add(&[0, 1])];
        let a: Vec<u32> = (0..3).map(|_| sharing.add(&[0])).collect();
        assert_eq!(sharing.rate(1), 0.25);
        assert_eq!(sharing.rate(0), 0.75);
        for flow in a {
            sharing.remove(flow);
        }
        assert_eq!((sharing.rate(0), sharing.rate(1)), (0.5, 0.5));
    }

    proptest! {
        #[test]
        fn the_first_of_the_lowest_levels_is_found(
            levels in prop::collection::vec(prop_oneof![Just(f64::INFINITY), (0_u32..6).prop_map(f64::from)], 0..40),
        ) {
            let finite = levels.iter().copied().enumerate().filter(|(_, level)| level.is_finite());
            let expected = finite.min_by(|a, b| a.1.total_cmp(&b.1));
            prop_assert_eq!(argmin(&levels), expected);
        }

        #[test]
        fn after_every_change_rates_are_those_of_a_solution_from_nothing(
            capacities in prop::collection::vec(0.5..4.0_f64, 2..10),
            changes in prop::collection::vec((prop::collection::btree_set(0_u32..10, 1..4), any::<bool>(), any::<prop::sample::Index>()), 1..60),
        ) {
            let links = capacities.len() as u32;
            let mut sharing = IncrementalMaxMin::new(&capacities).unwrap();
            let mut present: Vec<(u32, Vec<u32>)> = Vec::new();
            for (path, leaves, which) in changes {
                if leaves && !present.is_empty() {
                    let (flow, _) = present.swap_remove(which.index(present.len()));
                    sharing.remove(flow);
                } else {
                    let path: std::collections::BTreeSet<u32> = path.iter().map(|l| l % links).collect();
                    let path: Vec<u32> = path.into_iter().collect();
                    let flow = sharing.add(&path);
                    present.push((flow, path));
                }
                let mut instance = Instance::new(capacities.clone()).unwrap();
                for (_, path) in &present {
                    instance.connect([&path[..]]).unwrap();
                }
                let expected = max_min(&instance, None).unwrap();
                for ((flow, _), expected) in present.iter().zip(expected) {
                    let rate = sharing.rate(*flow);
                    prop_assert!((rate - expected).abs() <= 1e-6 * expected, "{rate}, not {expected}");
                }
                prop_assert_eq!(sharing.overload(), None);
            }
        }
    }
}
