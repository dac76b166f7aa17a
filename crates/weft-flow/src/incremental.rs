//! Max-min fair rates while flows come and go.
//!
//! Flows over one path are a *bundle*, because their rates are equal. A link that is full is the bottleneck of some
//! bundles; they have one rate, the *level* of the link. So the state is a level per link and a bottleneck per bundle.
//! A change of levels leaves most bundles alone: only those that change their bottleneck are visited.
//!
//! Progressive filling (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2) fixes links in the order of their
//! levels, and a link depends only on those before it. [`solve`](IncrementalMaxMin::solve) therefore fixes again only
//! links that are *active*, in that order:
//!
//! - The links of a new or removed flow become active at once.
//! - The level of an active link is a water level `x`: the sum of `min(x, rate)` over its bundles is its capacity.
//!   The rate of a bundle is the level of its bottleneck elsewhere. Bundles without one have no bound.
//!   Rates of bundles that are fixed later than the link do not matter, because they are higher.
//! - An active link that is not fixed at its previous level loses its bundles: they rise, and their links become active.
//! - A link that is fixed takes over the bundles that had higher rates; those that now have lower rates than before make
//!   their links active.
//!
//! If any set of bundles is subtracted at full rate, the others share what is left at a lower bound of the water level.
//! Bounds that are out of date are therefore safe. A bound is made exact when it is the lowest of all.

use crate::Error;

/// Relative difference below which two rates are equal.
const EQUAL: f64 = 1e-12;

/// Relative excess over a capacity that rounding explains.
const ROUNDING: f64 = 1e-10;

/// Relative excess over a capacity that is an error.
const MAX_EXCESS: f64 = 1e-6;

/// A bundle on a link.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bundle: u32,
    /// The bottleneck of the bundle.
    bottleneck: u32,
    /// Number of its flows, which is never above 2^32.
    flows: f64,
}

/// The progress of a link during a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its flows have the rates that they had.
    Idle,
    /// Its level is not known yet.
    Active,
    /// Its level is known.
    Fixed,
}

/// Returns the sum of the rates below a threshold, and the number of flows with other rates.
///
/// The sums are over entries in lanes, which the processor adds at the same time, with masks in place of branches, which
/// it would not predict. Most of the work is here.
fn sums(entries: &[Entry], levels: &[f64], threshold: f64) -> (f64, f64) {
    let (mut used, mut rising) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = entries.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let Entry {
                bottleneck, flows, ..
            } = chunk[lane];
            let rate = levels[bottleneck as usize];
            let mask = if rate < threshold { u64::MAX } else { 0 };
            used[lane] += f64::from_bits(rate.to_bits() & mask) * flows;
            rising[lane] += f64::from_bits(flows.to_bits() & !mask);
        }
    }
    for entry in rest {
        let rate = levels[entry.bottleneck as usize];
        let mask = if rate < threshold { u64::MAX } else { 0 };
        used[0] += f64::from_bits(rate.to_bits() & mask) * entry.flows;
        rising[0] += f64::from_bits(entry.flows.to_bits() & !mask);
    }
    (used.iter().sum(), rising.iter().sum())
}

/// Number of entries that are added up at a time.
const LANES: usize = 4;

/// A link and the bundles on it.
#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    /// Its bundles; those whose bottleneck it is come first.
    entries: Vec<Entry>,
    /// Number of bundles whose bottleneck it is, and of their flows.
    limited: usize,
    limited_flows: f64,
    /// Lower bound of its level, or the level once it is fixed.
    bound: f64,
    /// Bundles with rates below this are subtracted in `free`.
    threshold: f64,
    /// Capacity less the rates below `threshold`.
    free: f64,
    /// Number of all other flows.
    rising: f64,
    /// Its number in the queue.
    queued: usize,
}

/// Flows over one path. It has no flows if its number is free.
#[derive(Clone, Debug)]
struct Bundle {
    /// Links, each with the position among its entries.
    path: Vec<(u32, u32)>,
    flows: u32,
    bottleneck: u32,
    /// Whether it is in [`IncrementalMaxMin::moved`].
    has_moved: bool,
}

/// Links, and the flows on them at their max-min fair rates.
#[derive(Clone, Debug)]
pub struct IncrementalMaxMin {
    links: Vec<Link>,
    /// Progress of each link.
    states: Vec<State>,
    /// The rate of the bundles whose bottleneck a link is; infinite if there is none, and while these bundles rise. The
    /// last element belongs to bundles that have no bottleneck yet.
    levels: Vec<f64>,
    bundles: Vec<Bundle>,
    free_bundles: Vec<u32>,
    /// Links that a flow has joined or left since the last solution.
    dirty: Vec<u32>,
    /// Links that the last solution made active.
    touched: Vec<u32>,
    /// Bundles to which the last solution gave another bottleneck, with the one before.
    moved: Vec<(u32, Option<u32>)>,
    /// The levels at which links are due, numbered as in `touched`.
    queue: MinTree,
    /// The level that the solution has reached.
    reached: f64,
    /// Links to become active; kept for its memory.
    pending: Vec<u32>,
    /// Bundles to get another bottleneck; kept for its memory.
    moving: Vec<u32>,
    /// Number of entries visited by all solutions.
    visited_entries: u64,
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
            entries: Vec::new(),
            limited: 0,
            limited_flows: 0.0,
            bound: 0.0,
            threshold: 0.0,
            free: 0.0,
            rising: 0.0,
            queued: 0,
        };
        Ok(Self {
            links: capacities.iter().map(link).collect(),
            states: vec![State::Idle; capacities.len()],
            levels: vec![f64::INFINITY; capacities.len() + 1],
            bundles: Vec::new(),
            free_bundles: Vec::new(),
            dirty: Vec::new(),
            touched: Vec::new(),
            moved: Vec::new(),
            queue: MinTree::default(),
            reached: 0.0,
            pending: Vec::new(),
            moving: Vec::new(),
            visited_entries: 0,
            overload: None,
        })
    }

    /// Adds a flow over `path` and returns the number of its bundle. It has a rate after the next solution. Numbers of
    /// bundles without flows are used for new ones.
    ///
    /// # Panics
    /// Panics if the path is empty or a link does not exist.
    pub fn add(&mut self, path: &[u32]) -> u32 {
        assert!(!path.is_empty(), "a path of at least one link");
        let entries = path.iter().map(|&link| &self.links[link as usize].entries);
        let fewest = entries.min_by_key(|entries| entries.len()).into_iter().flatten();
        let mut same = fewest.map(|entry| entry.bundle).filter(|&bundle| {
            let links = self.bundles[bundle as usize].path.iter();
            links.map(|&(link, _)| link).eq(path.iter().copied())
        });
        let bundle = same.next();
        let bundle = bundle.unwrap_or_else(|| self.new_bundle(path));
        self.change_flows(bundle, 1);
        bundle
    }

    /// Removes a flow of a bundle.
    ///
    /// # Panics
    /// Panics if the bundle has no flow.
    pub fn remove(&mut self, bundle: u32) {
        self.change_flows(bundle, -1);
        if self.bundles[bundle as usize].flows > 0 {
            return;
        }
        self.stop_limiting(bundle);
        while let Some((link, position)) = self.bundles[bundle as usize].path.pop() {
            let last = self.links[link as usize].entries.len() as u32 - 1;
            self.bundles[bundle as usize].path.push((link, position));
            self.swap_entries(link, position, last);
            self.bundles[bundle as usize].path.pop();
            self.links[link as usize].entries.pop();
        }
        self.free_bundles.push(bundle);
    }

    /// Returns the rate of each flow of a bundle, in bit/s. It is infinite before the first solution with the bundle.
    pub fn rate(&self, bundle: u32) -> f64 {
        self.levels[self.bundles[bundle as usize].bottleneck as usize]
    }

    /// Returns the link whose level is the rate of a bundle, or `None` before the first solution with the bundle.
    pub fn bottleneck(&self, bundle: u32) -> Option<u32> {
        self.to_link(self.bundles[bundle as usize].bottleneck)
    }

    /// Returns the rate of the flows whose bottleneck a link is, in bit/s; infinite if there are none.
    pub fn level(&self, link: u32) -> f64 {
        self.levels[link as usize]
    }

    /// Returns the links whose level the last solution may have changed.
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Returns the bundles to which the last solution gave a bottleneck, with the one that they had before. A new bundle
    /// had none.
    pub fn moved(&self) -> &[(u32, Option<u32>)] {
        &self.moved
    }

    /// Returns the number of entries, each a bundle on a link, that all solutions have visited: a measure of the work.
    pub fn visited_entries(&self) -> u64 {
        self.visited_entries
    }

    /// Returns a link whose flows exceed its capacity, and the sum of their rates in bit/s. There is one only if the solver is wrong.
    pub fn overload(&self) -> Option<(u32, f64)> {
        self.overload
    }

    fn to_link(&self, bottleneck: u32) -> Option<u32> {
        ((bottleneck as usize) < self.links.len()).then_some(bottleneck)
    }

    fn new_bundle(&mut self, path: &[u32]) -> u32 {
        let none = self.links.len() as u32;
        let bundle = self.free_bundles.pop().unwrap_or(self.bundles.len() as u32);
        if bundle as usize == self.bundles.len() {
            self.bundles.push(Bundle {
                path: Vec::new(),
                flows: 0,
                bottleneck: none,
                has_moved: false,
            });
        }
        for &link in path {
            let entries = &mut self.links[link as usize].entries;
            let position = entries.len() as u32;
            self.bundles[bundle as usize].path.push((link, position));
            entries.push(Entry {
                bundle,
                bottleneck: none,
                flows: 0.0,
            });
        }
        bundle
    }

    fn change_flows(&mut self, bundle: u32, change: i32) {
        let bundle = &mut self.bundles[bundle as usize];
        let flows = bundle.flows.checked_add_signed(change);
        assert!(flows.is_some(), "the bundle has a flow");
        bundle.flows = flows.unwrap_or_default();
        for &(link, position) in &bundle.path {
            let state = &mut self.links[link as usize];
            state.entries[position as usize].flows = f64::from(bundle.flows);
            if bundle.bottleneck == link {
                state.limited_flows += f64::from(change);
            }
            self.dirty.push(link);
        }
    }

    /// Swaps two entries of a link.
    fn swap_entries(&mut self, link: u32, a: u32, b: u32) {
        let entries = &mut self.links[link as usize].entries;
        entries.swap(a as usize, b as usize);
        let [first, second] = [b, a].map(|position| entries[position as usize].bundle);
        let find =
            |bundle: &Bundle, position| bundle.path.iter().position(|&place| place == (link, position));
        let places = [(first, a), (second, b)];
        let places = places.map(|(bundle, from)| find(&self.bundles[bundle as usize], from));
        for ((bundle, to), place) in [(first, b), (second, a)].into_iter().zip(places) {
            if let Some(place) = place {
                self.bundles[bundle as usize].path[place].1 = to;
            }
        }
    }

    /// Makes a bundle one without a bottleneck.
    fn stop_limiting(&mut self, bundle: u32) {
        let none = self.links.len() as u32;
        let stopped = &mut self.bundles[bundle as usize];
        let (link, flows) = (stopped.bottleneck, f64::from(stopped.flows));
        if link == none {
            return;
        }
        stopped.bottleneck = none;
        for place in 0..self.bundles[bundle as usize].path.len() {
            let (crossed, position) = self.bundles[bundle as usize].path[place];
            self.links[crossed as usize].entries[position as usize].bottleneck = none;
            if crossed == link {
                let state = &mut self.links[link as usize];
                state.limited -= 1;
                state.limited_flows -= flows;
                if state.limited == 0 {
                    self.levels[link as usize] = f64::INFINITY;
                }
                let last = state.limited as u32;
                self.swap_entries(link, position, last);
            }
        }
    }

    /// Makes a link the bottleneck of a bundle.
    fn change_bottleneck(&mut self, bundle: u32, link: u32) {
        let previous = self.bottleneck(bundle);
        self.stop_limiting(bundle);
        let moved = &mut self.bundles[bundle as usize];
        moved.bottleneck = link;
        let flows = f64::from(moved.flows);
        if !std::mem::replace(&mut moved.has_moved, true) {
            self.moved.push((bundle, previous));
        }
        for place in 0..self.bundles[bundle as usize].path.len() {
            let (crossed, position) = self.bundles[bundle as usize].path[place];
            self.links[crossed as usize].entries[position as usize].bottleneck = link;
            if crossed == link {
                let state = &mut self.links[link as usize];
                let end = state.limited as u32;
                state.limited += 1;
                state.limited_flows += flows;
                self.swap_entries(link, position, end);
            }
        }
    }

    /// Solves for the rates after all changes since the last solution.
    pub fn solve(&mut self) {
        for (bundle, _) in self.moved.drain(..) {
            self.bundles[bundle as usize].has_moved = false;
        }
        self.touched.clear();
        self.queue.clear();
        self.reached = 0.0;
        std::mem::swap(&mut self.pending, &mut self.dirty);
        self.activate_pending();
        while let Some((queued, due)) = self.queue.min() {
            let link = self.touched[queued];
            self.reached = self.reached.max(due);
            let level = self.levels[link as usize];
            if self.links[link as usize].bound <= level * (1.0 + EQUAL) {
                self.tighten(link, self.reached);
            }
            let bound = self.links[link as usize].bound;
            if bound.min(level) > self.reached * (1.0 + EQUAL) {
                self.schedule(link);
            } else if bound <= level * (1.0 + EQUAL) {
                self.queue.set(queued, f64::INFINITY);
                self.fix(link);
            } else {
                self.release(link);
                self.schedule(link);
            }
        }
        for index in 0..self.touched.len() {
            self.close(self.touched[index]);
        }
    }

    /// Makes pending links active that are idle.
    fn activate_pending(&mut self) {
        while let Some(link) = self.pending.pop() {
            if self.states[link as usize] != State::Idle {
                continue;
            }
            self.states[link as usize] = State::Active;
            let state = &mut self.links[link as usize];
            state.queued = self.queue.push();
            self.touched.push(link);
            self.tighten(link, self.levels[link as usize]);
            self.schedule(link);
        }
    }

    /// Schedules an active link for its bound or for its previous level, whichever is lower. A link without both has room.
    fn schedule(&mut self, link: u32) {
        let state = &self.links[link as usize];
        let due = state.bound.min(self.levels[link as usize]);
        self.queue.set(state.queued, due);
    }

    /// Computes a lower bound of the water level of a link: a step of Newton's method, exact if no rate is between the
    /// threshold and the bound.
    fn tighten(&mut self, link: u32, threshold: f64) {
        let state = &mut self.links[link as usize];
        state.threshold = threshold;
        let others = &state.entries[state.limited..];
        let (used, others) = sums(others, &self.levels, state.threshold);
        self.visited_entries += (state.entries.len() - state.limited) as u64;
        state.free = state.capacity - used;
        state.rising = state.limited_flows + others;
        let is_full = state.free < -ROUNDING * state.capacity;
        state.bound = if state.rising > 0.0 || is_full {
            state.level().max(self.reached)
        } else {
            f64::INFINITY
        };
    }

    /// Fixes the level of a link at its bound. It becomes the bottleneck of the bundles that had higher rates.
    fn fix(&mut self, link: u32) {
        let previous = self.levels[link as usize];
        let state = &mut self.links[link as usize];
        if state.bound >= previous * (1.0 - EQUAL) {
            state.bound = previous;
        }
        self.states[link as usize] = State::Fixed;
        let level = state.bound;
        let highest = level * (1.0 + EQUAL);
        self.visited_entries += state.entries.len() as u64;
        let (own, others) = state.entries.split_at(state.limited);
        // Without a previous level, bundles have risen, and their other links are active.
        if level < previous && previous < f64::INFINITY {
            for entry in own {
                let bundle = &self.bundles[entry.bundle as usize];
                let idle = idle_bottlenecks(bundle, &self.states, &self.levels);
                self.pending.extend(idle);
            }
        }
        let is_higher = |entry: &&Entry| self.levels[entry.bottleneck as usize] > highest;
        self.moving
            .extend(others.iter().filter(is_higher).map(|entry| entry.bundle));
        while let Some(bundle) = self.moving.pop() {
            let idle = idle_bottlenecks(&self.bundles[bundle as usize], &self.states, &self.levels);
            self.pending.extend(idle);
            self.change_bottleneck(bundle, link);
        }
        if self.links[link as usize].limited > 0 {
            self.levels[link as usize] = level;
        }
        self.activate_pending();
    }

    /// Lets the bundles rise whose bottleneck an active link was, because its level is higher than before. If another link
    /// of a bundle is fixed at the same level, that link is the bottleneck.
    fn release(&mut self, link: u32) {
        let previous = std::mem::replace(&mut self.levels[link as usize], f64::INFINITY);
        let entries = std::mem::take(&mut self.links[link as usize].entries);
        let own = &entries[..self.links[link as usize].limited];
        self.visited_entries += own.len() as u64;
        for entry in own {
            let path = &self.bundles[entry.bundle as usize].path;
            if path
                .iter()
                .any(|&(other, _)| self.states[other as usize] == State::Fixed)
            {
                self.moving.push(entry.bundle);
                continue;
            }
            for &(other, _) in path {
                if self.states[other as usize] == State::Idle {
                    self.pending.push(other);
                    continue;
                }
                let state = &mut self.links[other as usize];
                if previous < state.threshold && other != link {
                    state.free += previous * entry.flows;
                    state.rising += entry.flows;
                    state.bound = state.level().max(self.reached);
                    self.queue.lower(state.queued, state.bound);
                }
            }
        }
        self.links[link as usize].entries = entries;
        while let Some(bundle) = self.moving.pop() {
            let links = self.bundles[bundle as usize].path.iter().map(|&(link, _)| link);
            let fixed = links.filter(|&link| self.states[link as usize] == State::Fixed);
            let bound = |link: &u32| self.links[*link as usize].bound;
            if let Some(fixed) = fixed.min_by(|a, b| bound(a).total_cmp(&bound(b))) {
                self.change_bottleneck(bundle, fixed);
                self.levels[fixed as usize] = self.links[fixed as usize].bound;
            }
        }
        self.activate_pending();
    }

    /// Checks the sum of the rates of a link that was active.
    fn close(&mut self, link: u32) {
        let state = &self.links[link as usize];
        self.states[link as usize] = State::Idle;
        let (load, rising) = sums(&state.entries, &self.levels, f64::INFINITY);
        self.visited_entries += state.entries.len() as u64;
        // A bundle without a bottleneck has an infinite rate.
        if rising > 0.0 || load > state.capacity * (1.0 + MAX_EXCESS) {
            self.overload = Some((link, load));
        }
    }
}

/// Returns the idle links of a bundle whose levels depend on its rate, which falls. A link without a level has
/// more room then.
fn idle_bottlenecks<'a>(
    bundle: &'a Bundle,
    states: &'a [State],
    levels: &'a [f64],
) -> impl Iterator<Item = u32> + 'a {
    let links = bundle.path.iter().map(|&(link, _)| link);
    links.filter(|&link| states[link as usize] == State::Idle && levels[link as usize] < f64::INFINITY)
}

/// Numbers in a tree whose nodes have the smaller number of their two children.
#[derive(Clone, Debug, Default)]
struct MinTree {
    /// The root is at 1, and the children of `i` at `2i` and `2i + 1`. The second half are the leaves.
    nodes: Vec<f64>,
    len: usize,
}

impl MinTree {
    /// Removes all numbers, which are infinite.
    fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an infinite number, and returns its index.
    fn push(&mut self) -> usize {
        let leaves = self.nodes.len() / 2;
        if self.len == leaves {
            let mut nodes = vec![f64::INFINITY; 4 * leaves.max(1)];
            let end = nodes.len() / 2;
            nodes[end..end + leaves].copy_from_slice(&self.nodes[leaves..]);
            for node in (1..end).rev() {
                nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
            }
            self.nodes = nodes;
        }
        self.len += 1;
        self.len - 1
    }

    /// Sets a number.
    fn set(&mut self, index: usize, value: f64) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            let smaller = if left < right { left } else { right };
            if self.nodes[node] == smaller {
                break;
            }
            self.nodes[node] = smaller;
        }
    }

    /// Sets a number if it becomes smaller.
    fn lower(&mut self, index: usize, value: f64) {
        let mut node = self.nodes.len() / 2 + index;
        while node > 0 && value < self.nodes[node] {
            self.nodes[node] = value;
            node /= 2;
        }
    }

    /// Returns the index of the smallest number and the number, unless it is infinite.
    fn min(&self) -> Option<(usize, f64)> {
        let smallest = *self.nodes.get(1)?;
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node = 2 * node + usize::from(self.nodes[2 * node] != smallest);
        }
        (smallest < f64::INFINITY).then_some((node - leaves, smallest))
    }
}

impl Link {
    /// Returns the level at which the rising flows fill what is free.
    fn level(&self) -> f64 {
        self.free / self.rising
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{Instance, max_min};

    fn sharing(capacities: &[f64]) -> IncrementalMaxMin {
        IncrementalMaxMin::new(capacities).unwrap()
    }

    #[test]
    fn the_rest_of_the_network_is_left_alone() {
        let mut sharing = sharing(&[1.0, 1.0, 10.0]);
        let far = sharing.add(&[2]);
        let first = sharing.add(&[0, 1]);
        sharing.solve();
        let mut moved = sharing.moved().to_vec();
        moved.sort_unstable();
        assert_eq!(moved, [(far, None), (first, None)]);
        let second = sharing.add(&[1]);
        sharing.solve();
        assert_eq!((sharing.rate(first), sharing.rate(second)), (0.5, 0.5));
        assert!(!sharing.touched().contains(&2));
        sharing.remove(second);
        sharing.solve();
        assert_eq!((sharing.rate(first), sharing.rate(far)), (1.0, 10.0));
        assert!(!sharing.touched().contains(&2));
        assert_eq!(sharing.add(&[1]), second, "its number is used again");
    }

    #[test]
    fn flows_over_one_path_are_a_bundle() {
        let mut sharing = sharing(&[12.0, 100.0]);
        let bundle = sharing.add(&[0, 1]);
        assert_eq!(sharing.add(&[0, 1]), bundle);
        let other = sharing.add(&[0]);
        assert_ne!(other, bundle);
        sharing.solve();
        assert_eq!((sharing.rate(bundle), sharing.rate(other)), (4.0, 4.0));
        assert_eq!((sharing.level(0), sharing.level(1)), (4.0, f64::INFINITY));
        sharing.remove(bundle);
        sharing.solve();
        assert_eq!((sharing.rate(bundle), sharing.rate(other)), (6.0, 6.0));
    }

    /// A flow that ends frees its link; flows that were limited there grow and reduce others elsewhere.
    #[test]
    fn a_change_spreads_as_far_as_it_has_to() {
        let mut sharing = sharing(&[1.0, 1.0]);
        let b = [sharing.add(&[1]), sharing.add(&[0, 1])];
        let a = sharing.add(&[0]);
        (0..2).for_each(|_| _ = sharing.add(&[0]));
        sharing.solve();
        assert_eq!(b.map(|bundle| sharing.rate(bundle)), [0.75, 0.25]);
        (0..3).for_each(|_| sharing.remove(a));
        sharing.solve();
        assert_eq!(b.map(|bundle| sharing.rate(bundle)), [0.5, 0.5]);
    }

    #[test]
    fn a_path_may_cross_a_link_twice() {
        let mut sharing = sharing(&[6.0, 9.0]);
        let twice = sharing.add(&[0, 1, 0]);
        let once = sharing.add(&[0]);
        sharing.solve();
        assert_eq!((sharing.rate(twice), sharing.rate(once)), (2.0, 2.0));
        sharing.remove(twice);
        sharing.solve();
        assert_eq!(sharing.rate(once), 6.0);
    }

    /// A shuffle on a switch, whose flows leave one by one: a change visits each entry a few times at most, although it may
    /// change most rates.
    #[test]
    fn a_departure_costs_a_few_visits_of_each_entry() {
        let hosts = 40;
        let mut sharing = sharing(&vec![1e9; 2 * hosts as usize]);
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        let mut present: Vec<u32> = pairs.map(|(from, to)| sharing.add(&[from, hosts + to])).collect();
        sharing.solve();
        let (mut state, mut entries) = (1_u64, 0);
        while !present.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            sharing.remove(present.swap_remove((state >> 33) as usize % present.len()));
            sharing.solve();
            entries += 2 * present.len() as u64;
        }
        let visits = sharing.visited_entries() as f64 / entries as f64;
        assert!(
            visits > 0.0 && visits < 8.0,
            "{visits} visits of each entry per departure"
        );
    }

    /// Checks all rates against a solution from scratch, and the state against its definition.
    fn check(sharing: &IncrementalMaxMin, present: &[(u32, Vec<u32>)]) -> Result<(), TestCaseError> {
        let capacities: Vec<f64> = sharing.links.iter().map(|link| link.capacity).collect();
        let mut instance = Instance::new(capacities.clone()).unwrap();
        for (_, path) in present {
            instance.connect([&path[..]]).unwrap();
        }
        let mut loads = vec![0.0; capacities.len()];
        let mut limited = vec![BTreeSet::new(); capacities.len()];
        for ((bundle, path), expected) in present.iter().zip(max_min(&instance, None).unwrap()) {
            let rate = sharing.rate(*bundle);
            prop_assert!(
                (rate - expected).abs() <= 1e-9 * expected,
                "{rate} and not {expected}"
            );
            let bottleneck = sharing.bottleneck(*bundle).unwrap();
            prop_assert!(path.contains(&bottleneck));
            limited[bottleneck as usize].insert(*bundle);
            for &link in path {
                loads[link as usize] += rate;
            }
        }
        for (link, load) in (0_u32..).zip(loads) {
            let capacity = capacities[link as usize];
            let limited = &limited[link as usize];
            prop_assert_eq!(sharing.level(link).is_finite(), !limited.is_empty());
            prop_assert!(limited.is_empty() || load >= capacity * (1.0 - 1e-9));
            prop_assert_eq!(sharing.links[link as usize].limited, limited.len());
        }
        prop_assert_eq!(sharing.overload(), None);
        Ok(())
    }

    /// Changes of flows: the links of a new one, or the one that leaves.
    fn changes() -> impl Strategy<Value = Vec<(BTreeSet<u32>, bool, prop::sample::Index)>> {
        let path = prop::collection::btree_set(0_u32..10, 1..4);
        prop::collection::vec(
            (path, prop::bool::weighted(0.4), any::<prop::sample::Index>()),
            1..80,
        )
    }

    fn follow(
        capacities: &[f64],
        changes: Vec<(BTreeSet<u32>, bool, prop::sample::Index)>,
        changes_per_solution: usize,
    ) -> Result<(), TestCaseError> {
        let links = capacities.len() as u32;
        let mut sharing = sharing(capacities);
        let mut present: Vec<(u32, Vec<u32>)> = Vec::new();
        for (n, (path, leaves, which)) in changes.into_iter().enumerate() {
            if leaves && !present.is_empty() {
                let (bundle, _) = present.swap_remove(which.index(present.len()));
                sharing.remove(bundle);
            } else {
                let path: BTreeSet<u32> = path.iter().map(|l| l % links).collect();
                let path: Vec<u32> = path.into_iter().collect();
                present.push((sharing.add(&path), path));
            }
            if n % changes_per_solution == 0 {
                let before: Vec<_> = (0..sharing.bundles.len() as u32)
                    .map(|b| sharing.bottleneck(b))
                    .collect();
                sharing.solve();
                for (bundle, before) in (0..).zip(before) {
                    let moved = sharing.moved().iter().filter(|&&(moved, _)| moved == bundle);
                    let moved: Vec<_> = moved.map(|&(_, from)| from).collect();
                    if !moved.is_empty() || before != sharing.bottleneck(bundle) {
                        prop_assert_eq!(moved, [before]);
                    }
                }
                check(&sharing, &present)?;
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn after_every_change_rates_are_those_of_a_solution_from_nothing(
            capacities in prop::collection::vec(0.5..4.0_f64, 2..10),
            changes in changes(),
            changes_per_solution in 1_usize..5,
        ) {
            follow(&capacities, changes, changes_per_solution)?;
        }

        /// Small whole numbers make many levels equal.
        #[test]
        fn equal_levels_are_no_exception(
            capacities in prop::collection::vec((1_u32..4).prop_map(f64::from), 2..10),
            changes in changes(),
            changes_per_solution in 1_usize..5,
        ) {
            follow(&capacities, changes, changes_per_solution)?;
        }
    }
}
