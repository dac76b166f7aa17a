//! Flows with a size that arrive, are served at max-min fair rates, and leave: processor sharing on a network.
//!
//! Flows whose bottleneck is the same link have the same rate, the level of the link.
//! Each receives the *service* of the link, which is the integral of its level over time.
//! It is like the virtual time of fair queueing (Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993,
//! section III).
//! A flow leaves when that service has grown by its size.
//! A change of a level therefore concerns the first departure of its link only.
//! A bundle of flows is visited if it changes its bottleneck, and a flow if it arrives or leaves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_spec::Time;

use crate::{Error, IncrementalMaxMin};

/// A fraction of a picosecond by which rounding errors of a service may delay a departure.
const ROUNDING_PS: f64 = 0.01;

/// A number that orders as a float does, which is at least 0.
fn order_bits(value: f64) -> u64 {
    value.max(0.0).to_bits()
}

/// A flow, by its number.
#[derive(Clone, Copy, Debug, Default)]
struct FluidFlow {
    bundle: Option<u32>,
    /// Service of the bundle up to which data was collected.
    collected: f64,
    /// Service of the bundle at which the flow leaves.
    finish: f64,
    /// An entry in a heap is valid only if it has this version.
    version: u32,
}

/// The flows of a bundle.
#[derive(Clone, Debug, Default)]
struct FluidBundle {
    /// Service of the bundle less that of its bottleneck. Each begins at 0.
    offset: f64,
    /// An entry in a heap is valid only if it has this version.
    version: u32,
    /// Flows by the service at which they leave, with their versions.
    departures: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

/// The service of a link.
#[derive(Clone, Debug, Default)]
struct FluidLink {
    /// Bits that each flow has received whose bottleneck was this link all the time, up to `updated_at`.
    service: f64,
    updated_at: Time,
    /// Bits per second of each of these flows.
    level: f64,
    /// Bundles by the service at which their first flow leaves, with their versions.
    departures: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// An entry in a heap is valid only if it has this version.
    version: u32,
    /// Length of the heap after entries that were not valid were last removed.
    compact_len: usize,
    /// Whether the first departure may have changed.
    is_stale: bool,
}

/// A departure: time, link and version in one number, because a heap compares thousands of them for each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Departure(u128);

impl Departure {
    fn new(time: Time, link: u32, version: u32) -> Self {
        Self(u128::from(time.0) << 64 | u128::from(link) << 32 | u128::from(version))
    }

    fn parts(self) -> (Time, u32, u32) {
        (Time((self.0 >> 64) as u64), (self.0 >> 32) as u32, self.0 as u32)
    }
}

/// A network on which flows are served. Callers number flows, and may use the number of a flow that has left for another.
#[derive(Clone, Debug)]
pub struct Fluid {
    sharing: IncrementalMaxMin,
    flows: Vec<FluidFlow>,
    bundles: Vec<FluidBundle>,
    links: Vec<FluidLink>,
    departures: BinaryHeap<Reverse<Departure>>,
    /// Length of that heap after entries that were not valid were last removed.
    compact_len: usize,
    now: Time,
    active_flows: usize,
}

impl Fluid {
    /// Creates links of `capacities` bit/s at a time.
    ///
    /// # Errors
    /// Returns an error if a capacity is not a number above 0.
    pub fn new(capacities: &[f64], now: Time) -> Result<Self, Error> {
        let link = FluidLink {
            updated_at: now,
            ..FluidLink::default()
        };
        Ok(Self {
            sharing: IncrementalMaxMin::new(capacities)?,
            flows: Vec::new(),
            bundles: Vec::new(),
            links: vec![link; capacities.len()],
            departures: BinaryHeap::new(),
            compact_len: 0,
            now,
            active_flows: 0,
        })
    }

    /// Returns the time of the last change.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of active flows.
    pub fn active_flows(&self) -> usize {
        self.active_flows
    }

    /// Returns the max-min fair rates after the last [`settle`](Self::settle).
    pub fn sharing(&self) -> &IncrementalMaxMin {
        &self.sharing
    }

    /// Returns whether a flow has arrived and not left.
    pub fn is_active(&self, flow: u32) -> bool {
        self.flows
            .get(flow as usize)
            .is_some_and(|flow| flow.bundle.is_some())
    }

    /// Lets a flow of `bits` over `path` arrive. It has a rate after [`settle`](Self::settle). If `bits` is infinite, it stays
    /// until it is removed.
    ///
    /// # Panics
    /// Panics if the time is before the last change, the flow is active, or the path is empty.
    pub fn arrive(&mut self, now: Time, flow: u32, path: &[u32], bits: f64) {
        assert!(now >= self.now, "time goes on");
        assert!(!self.is_active(flow), "the flow is not active");
        self.now = now;
        let bundle = self.sharing.add(path);
        if self.bundles.len() <= bundle as usize {
            self.bundles
                .resize_with(bundle as usize + 1, FluidBundle::default);
        }
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, FluidFlow::default());
        }
        let service = self.bundle_service(bundle);
        let arrived = &mut self.flows[flow as usize];
        *arrived = FluidFlow {
            bundle: Some(bundle),
            collected: service,
            finish: service + bits,
            version: arrived.version.wrapping_add(1),
        };
        self.active_flows += 1;
        if bits.is_finite() {
            let entry = (order_bits(arrived.finish), flow, arrived.version);
            let departures = &mut self.bundles[bundle as usize].departures;
            departures.push(Reverse(entry));
            let is_first = departures.peek() == Some(&Reverse(entry));
            if is_first && let Some(link) = self.sharing.bottleneck(bundle) {
                self.enqueue(bundle, link);
            }
        }
    }

    /// Removes a flow.
    ///
    /// # Panics
    /// Panics if the time is before the last change or the flow is not active.
    pub fn remove(&mut self, now: Time, flow: u32) {
        assert!(now >= self.now, "time goes on");
        self.now = now;
        let removed = &mut self.flows[flow as usize];
        removed.version = removed.version.wrapping_add(1);
        let bundle = removed.bundle.take();
        assert!(bundle.is_some(), "the flow is active");
        let bundle = bundle.unwrap_or_default();
        self.active_flows -= 1;
        let bottleneck = self.sharing.bottleneck(bundle);
        self.sharing.remove(bundle);
        if self.sharing.bottleneck(bundle).is_none() {
            // It has no flow, and its number may be used for another bundle.
            let emptied = &mut self.bundles[bundle as usize];
            emptied.departures.clear();
            emptied.offset = 0.0;
            emptied.version = emptied.version.wrapping_add(1);
            if let Some(link) = bottleneck {
                self.links[link as usize].is_stale = true;
                self.reschedule(link);
            }
        } else if let Some(link) = bottleneck {
            self.enqueue(bundle, link);
            self.reschedule(link);
        }
    }

    /// Solves for the rates after all arrivals and departures of this moment. Returns the number of links with new rates.
    pub fn settle(&mut self) -> usize {
        self.sharing.solve();
        let touched = self.sharing.touched().len();
        for index in 0..touched {
            self.update(self.sharing.touched()[index]);
        }
        for index in 0..self.sharing.moved().len() {
            let (bundle, previous) = self.sharing.moved()[index];
            let Some(link) = self.sharing.bottleneck(bundle) else {
                continue;
            };
            let service = |link: u32| self.links[link as usize].service;
            let moved = &self.bundles[bundle as usize];
            let received = previous.map_or(0.0, |previous| service(previous) + moved.offset);
            self.bundles[bundle as usize].offset = received - service(link);
            if let Some(previous) = previous {
                self.links[previous as usize].is_stale = true;
            }
            self.enqueue(bundle, link);
        }
        for index in 0..touched {
            let link = self.sharing.touched()[index];
            let state = &mut self.links[link as usize];
            let level = self.sharing.level(link);
            let level = if level.is_finite() { level } else { 0.0 };
            if level != state.level {
                state.level = level;
                state.is_stale = true;
            }
            if state.is_stale {
                self.reschedule(link);
            }
        }
        touched
    }

    /// Returns the time and the number of the flow that leaves next if no flow arrives before.
    pub fn next_departure(&mut self) -> Option<(Time, u32)> {
        while let Some(&Reverse(departure)) = self.departures.peek() {
            let (time, link, version) = departure.parts();
            let state = &self.links[link as usize];
            if state.version == version
                && let Some(&Reverse((_, bundle, _))) = state.departures.peek()
                && let Some(&Reverse((_, flow, _))) = self.bundles[bundle as usize].departures.peek()
            {
                return Some((time, flow));
            }
            self.departures.pop();
        }
        None
    }

    /// Returns the bits that an active flow has received since the last call.
    pub fn collect(&mut self, now: Time, flow: u32) -> f64 {
        let Some(bundle) = self.flows[flow as usize].bundle else {
            return 0.0;
        };
        let received = match self.sharing.bottleneck(bundle) {
            Some(link) => {
                let state = &self.links[link as usize];
                let since = state.level * Time(now.0 - state.updated_at.0).seconds();
                state.service + since + self.bundles[bundle as usize].offset
            }
            None => 0.0,
        };
        let collected = &mut self.flows[flow as usize].collected;
        received - std::mem::replace(collected, received)
    }

    /// Returns the service of a bundle now.
    fn bundle_service(&mut self, bundle: u32) -> f64 {
        let Some(link) = self.sharing.bottleneck(bundle) else {
            return 0.0;
        };
        self.update(link);
        self.links[link as usize].service + self.bundles[bundle as usize].offset
    }

    /// Integrates the rates of a link up to now.
    fn update(&mut self, link: u32) {
        let state = &mut self.links[link as usize];
        let seconds = Time(self.now.0 - state.updated_at.0).seconds();
        state.updated_at = self.now;
        state.service += state.level * seconds;
    }

    /// Puts the first departure of a bundle into the heap of its bottleneck, in place of the one before.
    fn enqueue(&mut self, bundle: u32, link: u32) {
        let first = &mut self.bundles[bundle as usize];
        first.version = first.version.wrapping_add(1);
        while let Some(&Reverse((_, flow, version))) = first.departures.peek() {
            let flow = &self.flows[flow as usize];
            if flow.version == version {
                let entry = (order_bits(flow.finish - first.offset), bundle, first.version);
                self.links[link as usize].departures.push(Reverse(entry));
                break;
            }
            first.departures.pop();
        }
        self.links[link as usize].is_stale = true;
    }

    /// Schedules the first departure of a link in place of the one before.
    fn reschedule(&mut self, link: u32) {
        self.update(link);
        let state = &mut self.links[link as usize];
        state.is_stale = false;
        state.version = state.version.wrapping_add(1);
        let bundles = &self.bundles;
        let is_valid = |&Reverse((_, bundle, version)): &Reverse<(u64, u32, u32)>| {
            bundles[bundle as usize].version == version
        };
        if needs_compaction(state.departures.len(), state.compact_len) {
            state.departures.retain(is_valid);
            state.compact_len = state.departures.len();
        }
        while state.departures.peek().is_some_and(|entry| !is_valid(entry)) {
            state.departures.pop();
        }
        let Some(&Reverse((service, ..))) = state.departures.peek() else {
            if state.level == 0.0 {
                // Without flows, its service begins again, which keeps the sum exact.
                state.service = 0.0;
            }
            return;
        };
        if state.level > 0.0 {
            let seconds = (f64::from_bits(service) - state.service).max(0.0) / state.level;
            let picoseconds = (seconds * 1e12 - ROUNDING_PS).ceil() as u64;
            let departure = Departure::new(Time(self.now.0.saturating_add(picoseconds)), link, state.version);
            self.departures.push(Reverse(departure));
            if needs_compaction(self.departures.len(), self.compact_len) {
                let links = &self.links;
                self.departures.retain(|Reverse(departure)| {
                    let (_, link, version) = departure.parts();
                    links[link as usize].version == version
                });
                self.compact_len = self.departures.len();
            }
        }
    }
}

/// Returns whether most entries of a heap may be invalid. They stay until they come first, or until this is so.
fn needs_compaction(len: usize, compact_len: usize) -> bool {
    len > 256 && len > 4 * compact_len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time((seconds * 1e12).round() as u64)
    }

    /// Lets the next flow leave; returns the time in seconds and the flow.
    fn depart(fluid: &mut Fluid) -> Option<(f64, u32)> {
        let (time, flow) = fluid.next_departure()?;
        fluid.remove(time, flow);
        fluid.settle();
        Some((time.seconds(), flow))
    }

    #[test]
    fn two_flows_share_a_link_while_both_are_there() {
        let mut fluid = Fluid::new(&[10.0], Time(0)).unwrap();
        fluid.arrive(Time(0), 0, &[0], 100.0);
        fluid.settle();
        fluid.arrive(at(2.0), 1, &[0], 20.0);
        fluid.settle();
        // 20 bits of the long one have left by 2; then each has 5 bit/s, and the short one takes 4 s.
        assert_eq!(depart(&mut fluid), Some((6.0, 1)));
        assert_eq!(fluid.collect(at(6.0), 0), 40.0);
        // 60 are left.
        assert_eq!(depart(&mut fluid), Some((12.0, 0)));
        assert_eq!((depart(&mut fluid), fluid.active_flows()), (None, 0));
    }

    /// A flow whose bottleneck changes keeps what it has received: 10 bits alone on the second link, 4 of 8 s on the first
    /// with three others, which leave.
    #[test]
    fn service_follows_the_bottleneck() {
        let mut fluid = Fluid::new(&[8.0, 5.0], Time(0)).unwrap();
        fluid.arrive(Time(0), 0, &[0, 1], 33.0);
        fluid.settle();
        assert_eq!(fluid.sharing().bottleneck(0), Some(1));
        (1..4).for_each(|flow| fluid.arrive(at(2.0), flow, &[0], 8.0));
        fluid.settle();
        assert_eq!(fluid.sharing().bottleneck(0), Some(0));
        for flow in 1..4 {
            assert_eq!(depart(&mut fluid), Some((6.0, flow)));
        }
        assert_eq!(fluid.collect(at(6.0), 0), 18.0);
        assert_eq!(depart(&mut fluid), Some((9.0, 0)), "15 bits at 5 bit/s");
    }

    #[test]
    fn a_flow_may_be_removed_before_it_would_leave() {
        let mut fluid = Fluid::new(&[6.0], Time(0)).unwrap();
        fluid.arrive(Time(0), 7, &[0], 3.0);
        fluid.arrive(Time(0), 3, &[0], 4.0);
        fluid.arrive(Time(0), 5, &[0], f64::INFINITY);
        fluid.settle();
        fluid.remove(at(1.0), 7);
        fluid.settle();
        // 2 bits of flow 3 have left, and 2 at 3 bit/s are to come.
        let (time, flow) = fluid.next_departure().unwrap();
        assert_eq!((flow, time), (3, Time(1_666_666_666_667)));
        fluid.remove(time, flow);
        fluid.settle();
        assert_eq!((fluid.next_departure(), fluid.is_active(5)), (None, true));
    }

    #[test]
    fn a_number_that_is_used_again_owes_nothing_to_the_flow_before() {
        let mut fluid = Fluid::new(&[1.0, 1.0], Time(0)).unwrap();
        fluid.arrive(Time(0), 0, &[0], 1.0);
        fluid.settle();
        assert_eq!(depart(&mut fluid), Some((1.0, 0)));
        fluid.arrive(at(1.0), 0, &[1], 5.0);
        fluid.settle();
        assert_eq!(depart(&mut fluid), Some((6.0, 0)));
    }

    /// Equal flows over different links leave at one time, however long their links have been in use.
    #[test]
    fn equal_flows_leave_together() {
        let mut fluid = Fluid::new(&[1e9, 1e9, 1e9], Time(0)).unwrap();
        for (flow, size) in [(0, 1e9 / 3.0), (1, 1e9 / 7.0)] {
            fluid.arrive(Time(0), flow, &[flow], size);
        }
        fluid.settle();
        let start = at(0.1);
        (10..13).for_each(|flow| fluid.arrive(start, flow, &[flow - 10], 3e9));
        (10..13).for_each(|flow| fluid.arrive(start, flow + 10, &[flow - 10], f64::INFINITY));
        fluid.settle();
        let mut times = Vec::new();
        while let Some((time, flow)) = depart(&mut fluid) {
            times.extend((flow == 12).then_some(time));
        }
        assert_eq!(times, [6.1]);
    }

    /// M/G/1 processor sharing: the mean time in the system is the service time over 1 - load, whatever the distribution of
    /// sizes (Kleinrock, "Queueing Systems", volume 2, section 4.4). Sizes of 1 and 9 with equal odds.
    #[test]
    fn processor_sharing_slows_all_sizes_alike() {
        let (mut state, mut clock) = (7_u64, 0.0);
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let load = 0.6;
        let mut fluid = Fluid::new(&[5.0], Time(0)).unwrap();
        let mut free: Vec<u32> = (0..10_000).rev().collect();
        let mut arrivals = vec![(0.0, 0.0); free.len()];
        let mut slowdowns = [Vec::new(), Vec::new()];
        for _ in 0..60_000 {
            clock -= uniform().ln() / load;
            while let Some((time, flow)) = fluid.next_departure().filter(|&(time, _)| time <= at(clock)) {
                fluid.remove(time, flow);
                fluid.settle();
                free.push(flow);
                let (start, bits) = arrivals[flow as usize];
                slowdowns[usize::from(bits > 5.0)].push((time.seconds() - start) * 5.0 / bits);
            }
            let bits = if uniform() < 0.5 { 1.0 } else { 9.0 };
            let flow = free.pop().unwrap();
            fluid.arrive(at(clock), flow, &[0], bits);
            fluid.settle();
            arrivals[flow as usize] = (clock, bits);
        }
        for slowdowns in slowdowns {
            let mean = slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
            assert!((mean * (1.0 - load) - 1.0).abs() < 0.05, "{mean}");
        }
    }
}
