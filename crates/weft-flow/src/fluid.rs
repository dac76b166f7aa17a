//! Flows with a size that arrive, are served at max-min fair rates, and leave: processor sharing on a
//! network.
//!
//! Time is in seconds. Between two changes rates are constant, so that the next departure is known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Error, IncrementalMaxMin};

/// A flow that is being served.
#[derive(Clone, Copy, Debug)]
struct FluidFlow {
    /// Bits left at `since`.
    left: f64,
    since: f64,
    /// Departures in the heap are right only if they were put there at this number.
    version: u32,
}

/// A departure to come: time, flow, version. The time is a finite number above 0, whose bits order as it does.
type Departure = Reverse<(u64, u32, u32)>;

/// A network on which flows are served.
#[derive(Clone, Debug)]
pub struct Fluid {
    sharing: IncrementalMaxMin,
    flows: Vec<FluidFlow>,
    departures: BinaryHeap<Departure>,
    now: f64,
    active_flows: usize,
}

impl Fluid {
    /// Links of `capacities` bit/s, at time 0.
    ///
    /// # Errors
    /// A capacity that is not a number above 0.
    pub fn new(capacities: &[f64]) -> Result<Self, Error> {
        Ok(Self {
            sharing: IncrementalMaxMin::new(capacities)?,
            flows: Vec::new(),
            departures: BinaryHeap::new(),
            now: 0.0,
            active_flows: 0,
        })
    }

    /// The time of the last change, in seconds.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Returns the number of active flows.
    pub fn active_flows(&self) -> usize {
        self.active_flows
    }

    /// Rates solved so far: a measure of the work.
    pub fn solved_rates(&self) -> u64 {
        self.sharing.solved_rates()
    }

    /// A flow of `bits` over `path` comes at `time`. Its number is used again once it has gone.
    ///
    /// # Panics
    /// With a time before the last change or after the next departure, a size that is not above 0, or an empty path.
    pub fn arrive(&mut self, time: f64, path: &[u32], bits: f64) -> u32 {
        assert!(bits > 0.0, "a size above 0");
        assert!(time >= self.now, "time goes on");
        let next = self.next_departure();
        assert!(next.is_none_or(|(next, _)| time <= next), "departures come first");
        self.now = time;
        let flow = self.sharing.add(path);
        let fresh = FluidFlow {
            left: bits,
            since: time,
            version: 0,
        };
        match self.flows.get_mut(flow as usize) {
            // Its versions go on, so that no departure of the flow before is taken for its own.
            Some(flow) => {
                *flow = FluidFlow {
                    version: flow.version,
                    ..fresh
                }
            }
            None => self.flows.push(fresh),
        }
        self.active_flows += 1;
        self.reschedule(Some(flow));
        flow
    }

    /// When the next flow goes if none comes before, and which.
    pub fn next_departure(&mut self) -> Option<(f64, u32)> {
        while let Some(&Reverse((time, flow, version))) = self.departures.peek() {
            if self.flows[flow as usize].version == version {
                return Some((f64::from_bits(time), flow));
            }
            self.departures.pop();
        }
        None
    }

    /// Lets the flow of [`next_departure`](Self::next_departure) go; returns when, and which.
    pub fn depart(&mut self) -> Option<(f64, u32)> {
        let (time, flow) = self.next_departure()?;
        self.now = time;
        self.flows[flow as usize].version += 1;
        self.sharing.remove(flow);
        self.active_flows -= 1;
        self.reschedule(None);
        Some((time, flow))
    }

    /// Serves the flows whose rate has just changed up to now, at the previous rate, and computes when they leave. A `fresh` flow was not
    /// served yet.
    fn reschedule(&mut self, fresh: Option<u32>) {
        for at in 0..self.sharing.moved().len() {
            let (flow, before) = self.sharing.moved()[at];
            let served = &mut self.flows[flow as usize];
            if fresh != Some(flow) {
                served.left = (served.left - before * (self.now - served.since)).max(0.0);
                served.since = self.now;
            }
            served.version += 1;
            let rate = self.sharing.rate(flow);
            if rate > 0.0 {
                let departure = self.now + served.left / rate;
                self.departures
                    .push(Reverse((departure.to_bits(), flow, served.version)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_flows_share_a_link_while_both_are_there() {
        let mut fluid = Fluid::new(&[10.0]).unwrap();
        let long = fluid.arrive(0.0, &[0], 100.0);
        let short = fluid.arrive(2.0, &[0], 20.0);
        // 20 of the long one's bits have gone by 2; then each has 5 bit/s, and the short one takes 4 s.
        assert_eq!(fluid.depart(), Some((6.0, short)));
        // 60 are left.
        assert_eq!(fluid.depart(), Some((12.0, long)));
        assert_eq!((fluid.depart(), fluid.active_flows()), (None, 0));
    }

    #[test]
    fn a_slot_that_is_reused_owes_nothing_to_the_flow_before() {
        let mut fluid = Fluid::new(&[1.0, 1.0]).unwrap();
        fluid.arrive(0.0, &[0], 1.0);
        fluid.depart();
        let other = fluid.arrive(1.0, &[1], 5.0);
        assert_eq!(fluid.depart(), Some((6.0, other)));
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
        let mut fluid = Fluid::new(&[5.0]).unwrap();
        let mut came: Vec<(f64, f64)> = Vec::new();
        let mut slowdowns = [Vec::new(), Vec::new()];
        for _ in 0..60_000 {
            clock -= uniform().ln() / load;
            while let Some((time, flow)) = fluid.next_departure().filter(|&(time, _)| time <= clock) {
                fluid.depart();
                let (start, bits) = came[flow as usize];
                slowdowns[usize::from(bits > 5.0)].push((time - start) * 5.0 / bits);
            }
            let bits = if uniform() < 0.5 { 1.0 } else { 9.0 };
            let flow = fluid.arrive(clock, &[0], bits) as usize;
            came.resize(came.len().max(flow + 1), (0.0, 0.0));
            came[flow] = (clock, bits);
        }
        for slowdowns in slowdowns {
            let mean = slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
            assert!((mean * (1.0 - load) - 1.0).abs() < 0.05, "{mean}");
        }
    }
}
