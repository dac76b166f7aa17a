//! The rates of flows, constant between two changes. A change re-solves only the rates that it affects, or all of them.

use std::cmp::Reverse;
use std::time::Instant;

use weft_cc::CongestionControl;
use weft_spec::Time;

use super::flows::Phase;
use super::solving::{Method, Solving};
use super::{Course, MOMENT, later, refused};
use crate::Sharing;

/// How rates follow when flows come and go.
pub(super) enum Rates {
    /// Max-min fair ones, solved only where a change touches them.
    Shared {
        sharing: Sharing,
        /// Places by the sharing's numbers.
        places: Vec<u32>,
    },
    /// All of them are solved at every change.
    Solved {
        method: Method,
        /// Of the equilibrium before.
        prices: Option<Vec<f64>>,
        solving: Option<Box<Solving>>,
    },
}

/// A departure to come: time, place and version in one number, of which a heap compares thousands for each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Departure(u128);

impl Departure {
    fn new(time: Time, place: u32, version: u32) -> Self {
        Self(u128::from(time.0) << 64 | u128::from(place) << 32 | u128::from(version))
    }

    fn parts(self) -> (Time, u32, u32) {
        (Time((self.0 >> 64) as u64), (self.0 >> 32) as u32, self.0 as u32)
    }
}

impl Course {
    /// When the next flow has sent all, and which, if nothing changes before.
    pub(super) fn next_departure(&mut self) -> Option<(Time, u32)> {
        while let Some(&Reverse(departure)) = self.departures.peek() {
            let (time, place, version) = departure.parts();
            let served = &self.served[place as usize];
            if served.version == version && served.phase == Phase::Served {
                return Some((time, place));
            }
            self.departures.pop();
        }
        None
    }

    /// Lets a flow have its share, where its path is up.
    pub(super) fn join(&mut self, place: u32) {
        let Rates::Shared { sharing, places } = &mut self.rates else {
            self.stale = true;
            return;
        };
        let served = &mut self.served[place as usize];
        if !served.ways.links.iter().all(|&link| self.up[link as usize]) {
            served.rates[0] = 0.0;
            served.version += 1;
            return;
        }
        let number = sharing.add(served.ways.path(0));
        served.shared = Some(number);
        if number as usize == places.len() {
            places.push(place);
        } else {
            places[number as usize] = place;
        }
        self.solutions += 1;
        self.share();
    }

    /// Takes a flow's share away.
    pub(super) fn part(&mut self, place: u32) {
        self.account(place);
        let served = &mut self.served[place as usize];
        served.rates.fill(0.0);
        served.version += 1;
        match &mut self.rates {
            Rates::Solved { .. } => self.stale = true,
            Rates::Shared { sharing, .. } => {
                if let Some(number) = served.shared.take() {
                    sharing.remove(number);
                    self.solutions += 1;
                    self.share();
                }
            }
        }
    }

    /// Takes over the rates that the last change of the sharing moved.
    fn share(&mut self) {
        let mut at = 0;
        while let Rates::Shared { sharing, places } = &self.rates
            && let Some(&(number, _)) = sharing.moved().get(at)
        {
            let (place, rate) = (places[number as usize], sharing.rate(number));
            self.account(place);
            self.served[place as usize].rates[0] = rate;
            self.schedule(place);
            at += 1;
        }
        self.unlooked += at;
    }

    /// Notes what a flow has got up to now.
    pub(super) fn account(&mut self, place: u32) {
        let served = &mut self.served[place as usize];
        if served.phase != Phase::Served {
            return;
        }
        let seconds = Time(self.now.0 - served.since.0).seconds();
        served.since = self.now;
        for subflow in 0..served.rates.len() {
            let bits = served.rates[subflow] * seconds;
            if bits == 0.0 {
                continue;
            }
            served.delivered[subflow] += bits;
            served.left -= bits;
            for &link in served.ways.path(subflow) {
                self.carried[link as usize] += bits;
            }
        }
    }

    pub(super) fn account_all(&mut self) {
        for place in 0..self.served.len() as u32 {
            self.account(place);
        }
    }

    /// Works out when a flow will have sent all.
    fn schedule(&mut self, place: u32) {
        let served = &mut self.served[place as usize];
        served.version += 1;
        let rate: f64 = served.rates.iter().sum();
        if rate > 0.0 && served.left.is_finite() {
            let time = later(self.now, served.left.max(0.0) / rate);
            let departure = Departure::new(time, place, served.version);
            self.departures.push(Reverse(departure));
        }
    }

    /// Shares all rates from nothing.
    pub(super) fn share_anew(&mut self) {
        self.stale = true;
        let Rates::Shared { sharing, places } = &mut self.rates else {
            return;
        };
        // That links have capacities was checked.
        if let Ok(empty) = Sharing::new(&self.capacities) {
            *sharing = empty;
        }
        places.clear();
        for place in 0..self.served.len() as u32 {
            if self.served[place as usize].phase == Phase::Served {
                self.account(place);
                let served = &mut self.served[place as usize];
                served.shared = None;
                self.join(place);
            }
        }
    }

    /// Goes on with the solution. Is it found?
    ///
    /// # Errors
    /// A link without capacity.
    pub(super) fn solve(&mut self, began: Instant) -> Result<bool, weft_run::Error> {
        let Rates::Solved {
            method,
            prices,
            solving,
        } = &mut self.rates
        else {
            self.stale = false;
            return Ok(true);
        };
        let mut under_way = if let Some(under_way) = solving.take() {
            under_way
        } else {
            let network = (&self.capacities[..], &self.up[..]);
            let fabric = &self.plan.fabric;
            let new = Solving::new(
                *method,
                &self.served,
                fabric,
                network,
                prices.as_deref(),
                self.settings,
            );
            Box::new(new.map_err(refused)?)
        };
        // The same for all transports, as was checked.
        let response = self.plan.transports[0].cc.response();
        while !under_way.over() {
            under_way.step(response);
            if began.elapsed() > MOMENT && !under_way.over() {
                *solving = Some(under_way);
                return Ok(false);
            }
        }
        let found = under_way.found();
        *prices = found.prices;
        self.solutions += 1;
        self.iterations += u64::from(found.iterations);
        self.residual = self.residual.max(found.residual);
        self.given_up += u64::from(!found.reached);
        self.account_all();
        for served in &mut self.served {
            served.rates.fill(0.0);
        }
        for (&(place, subflow), rate) in found.subflows.iter().zip(&found.rates) {
            self.served[place as usize].rates[subflow as usize] = *rate;
        }
        for place in 0..self.served.len() as u32 {
            if self.served[place as usize].phase == Phase::Served {
                self.schedule(place);
            }
        }
        self.stale = false;
        Ok(true)
    }
}
