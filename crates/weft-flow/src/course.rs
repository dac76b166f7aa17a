//! A run in time: flows arrive, are served at shared rates, and leave.
//!
//! Between two changes rates are constant: the equilibrium of the congestion control, or max-min fair rates.
//! Where flows with a size come and go over one subflow each, rates are max-min fair unless the spec chooses
//! otherwise, and a change re-solves only the rates that it affects. The data of a flow with a size starts a
//! round-trip time after it opens, and its last byte arrives half a round-trip time after it was sent.

mod flows;
mod rates;
mod records;
mod solving;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_cc::{CongestionControl, Echo};
use weft_run::{
    Change, Counters, FlowRecord, Found, Measuring, Next, Outcome, Plan, Reacting, Running, What, learned,
};
use weft_spec::Time;
use weft_traffic::Flow;

use crate::home::{is_max_min, may_share};
use crate::placing::Ways;
use crate::{Settings, Sharing};
use flows::{Phase, Served};
use rates::{Departure, Rates};
use solving::Method;

/// What is due at a time; at one time in the order in which it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A link changes.
    Change(u32),
    /// Routing learns of it.
    Notice(u32),
    /// A flow of the spec opens.
    Open(u32),
    /// A program's flow or job begins.
    Next(Next),
    /// The handshake of the flow at this place is over.
    Serve(u32),
    /// Its application stops.
    Stop(u32),
    /// Its last byte arrives.
    Arrive(u32),
}

/// A run in progress.
pub struct Course {
    plan: Plan,
    settings: Settings,
    ways: Ways,
    /// Bit/s of each link, and whether it is up.
    capacities: Vec<f64>,
    up: Vec<bool>,
    rates: Rates,
    /// Are rates to be solved before time goes on?
    stale: bool,
    reacting: Reacting,
    agenda: BinaryHeap<Reverse<(Time, u64, Step)>>,
    noted: u64,
    served: Vec<Served>,
    free: Vec<u32>,
    departures: BinaryHeap<Reverse<Departure>>,
    now: Time,
    /// Bits that each link has carried.
    carried: Vec<f64>,
    ended: Vec<(FlowRecord, Flow)>,
    completions: Vec<Vec<Time>>,
    measuring: Option<Measuring>,
    /// Changes and flows with new rates since the clock was looked at.
    unlooked: usize,
    solutions: u64,
    iterations: u64,
    residual: f64,
    given_up: u64,
    subflows: u64,
}

/// A run is looked at after about as long, so that it can be stopped.
const MOMENT: Duration = Duration::from_millis(50);

/// Changes and flows with new rates until the clock is looked at again: that costs as much as a change of a few flows.
const LOOK_AFTER: usize = 1_000;

impl Course {
    /// Before anything happens.
    ///
    /// # Errors
    /// A link without capacity.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, weft_run::Error> {
        let links = plan.fabric.links.len();
        let capacities: Vec<f64> = plan.fabric.links.iter().map(|link| link.rate.0 as f64).collect();
        let profile = &plan.transports[0].profile;
        let settings = Settings {
            packet_bits: 8.0 * f64::from(profile.wire_size()),
            marks: plan.transports[0].cc.echo() != Echo::Off,
            threads,
            ..Settings::default()
        };
        let max_min = is_max_min(&plan);
        let rates = if max_min && may_share(&plan) {
            Rates::Shared {
                sharing: Sharing::new(&capacities).map_err(refused)?,
                places: Vec::new(),
            }
        } else {
            Rates::Solved {
                method: if max_min {
                    Method::MaxMin
                } else {
                    Method::Equilibrium
                },
                prices: None,
                solving: None,
            }
        };
        let mut course = Self {
            settings,
            ways: Ways::new(&plan.fabric),
            up: vec![true; links],
            capacities,
            rates,
            stale: false,
            reacting: Reacting::new(&plan.programs, plan.flows.len() as u32),
            agenda: BinaryHeap::new(),
            noted: 0,
            served: Vec::new(),
            free: Vec::new(),
            departures: BinaryHeap::new(),
            now: Time(0),
            carried: vec![0.0; links],
            ended: Vec::new(),
            completions: Vec::new(),
            measuring: plan.measure.map(|(from, to)| Measuring::new(from, to)),
            unlooked: 0,
            solutions: 0,
            iterations: 0,
            residual: 0.0,
            given_up: 0,
            subflows: 0,
            plan,
        };
        for (i, notice) in (0..).zip(learned(&course.plan.events)) {
            course.note(course.plan.events[i as usize].at, Step::Change(i));
            if let Some(time) = notice {
                course.note(time, Step::Notice(i));
            }
        }
        for i in 0..course.plan.flows.len() {
            course.note(course.plan.flows[i].start, Step::Open(i as u32));
        }
        for (time, next) in course.reacting.first() {
            course.note(time, Step::Next(next));
        }
        Ok(course)
    }

    fn note(&mut self, time: Time, step: Step) {
        self.agenda.push(Reverse((time, self.noted, step)));
        self.noted += 1;
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Change(event) => self.change(event),
            Step::Notice(event) => self.notice(event),
            Step::Open(index) => {
                let flow = self.plan.flows[index as usize].clone();
                self.open(index, flow);
            }
            Step::Next(Next { program, what }) => {
                let flows = match what {
                    What::Flow(n) => vec![n],
                    What::Job(job) => self.reacting.begin(program, job, self.now),
                };
                for n in flows {
                    // Beyond 32 bits nothing has a number.
                    if let Some((index, flow)) = self.reacting.flow(program, n) {
                        let start = self.now;
                        self.open(index, Flow { start, ..flow });
                    }
                }
            }
            Step::Serve(place) => self.serve(place),
            Step::Stop(place) => self.stop(place),
            Step::Arrive(place) => self.arrive(place),
        }
    }

    fn change(&mut self, event: u32) {
        let event = self.plan.events[event as usize];
        let link = event.link as usize;
        match event.change {
            Change::Down => self.up[link] = false,
            Change::Up => self.up[link] = true,
            Change::Rate(rate) => self.capacities[link] = rate.0 as f64,
            // Refused before the run.
            Change::Delay(_) => {}
        }
        self.share_anew();
    }

    /// Routing learns that a link is dead or alive: all flows choose new paths.
    fn notice(&mut self, event: u32) {
        let event = self.plan.events[event as usize];
        self.ways
            .note(event.link, event.change == Change::Down, self.capacities.len());
        for place in 0..self.served.len() as u32 {
            if self.served[place as usize].phase == Phase::Served {
                self.account(place);
            }
            let served = &self.served[place as usize];
            if matches!(served.phase, Phase::Served | Phase::Handshake) {
                self.served[place as usize].ways = self.choose_paths(served.index, &served.flow);
            }
        }
        self.share_anew();
    }
}

impl Running for Course {
    fn window(&self) -> Time {
        Time((self.plan.spec.duration.0 / 1_000).max(1))
    }

    fn run_until(&mut self, end: Time) -> Result<Time, weft_run::Error> {
        let began = Instant::now();
        loop {
            if self.stale && !self.solve(began)? {
                return Ok(self.now);
            }
            let step = self.agenda.peek().map(|&Reverse((time, ..))| time);
            let departure = self.next_departure().map(|(time, _)| time);
            let cut = self.measuring.as_ref().and_then(Measuring::next);
            let due = [step, departure, cut].into_iter().flatten().min();
            let Some(due) = due.filter(|&due| due < end) else {
                self.now = self.now.max(end);
                return Ok(self.now);
            };
            self.now = due;
            if cut == Some(due) {
                self.account_all();
                let counted = self.counted();
                if let Some(measuring) = &mut self.measuring {
                    measuring.note(counted);
                }
                continue;
            }
            while let Some((_, place)) = self.next_departure().filter(|&(time, _)| time == due) {
                self.depart(place);
            }
            while let Some(&Reverse((time, _, step))) = self.agenda.peek()
                && time == due
            {
                self.agenda.pop();
                self.take(step);
            }
            self.unlooked += 1;
            if self.unlooked > LOOK_AFTER || matches!(self.rates, Rates::Solved { .. }) {
                self.unlooked = 0;
                if began.elapsed() > MOMENT {
                    return Ok(self.now);
                }
            }
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn ended(&self) -> usize {
        self.ended.len()
    }

    fn take_ended(&mut self) -> Outcome {
        let ended = std::mem::take(&mut self.ended);
        self.told(ended)
    }

    fn completed(&self, class: u32) -> u64 {
        self.completions
            .get(class as usize)
            .map_or(0, |times| times.len() as u64)
    }

    fn completion(&self, class: u32, n: u64) -> Option<Time> {
        let nth = usize::try_from(n.checked_sub(1)?).ok()?;
        self.completions.get(class as usize)?.get(nth).copied()
    }

    fn warnings(&self) -> Vec<String> {
        let (given_up, solutions) = (self.given_up, self.solutions);
        let line = if is_max_min(&self.plan) {
            format!(
                "level \"flow\": {given_up} of {solutions} max-min solutions were given up before all had their share"
            )
        } else {
            format!(
                "level \"flow\": {given_up} of {solutions} equilibria were not reached; the worst link was {:.1e} of its capacity away, and rates are means over the search",
                self.residual
            )
        };
        Vec::from_iter((given_up > 0).then_some(line))
    }

    fn facts(&self) -> Vec<(String, Value)> {
        let rates = if is_max_min(&self.plan) {
            "max-min"
        } else {
            "equilibrium"
        };
        let facts = json!({
            "rates": rates,
            "hosts": self.plan.fabric.hosts.len(),
            "subflows": self.subflows,
            "solutions": self.solutions,
            "iterations": self.iterations,
            "residual": self.residual,
        });
        vec![("flow".to_owned(), facts)]
    }

    fn finish(mut self: Box<Self>) -> Result<Found, weft_run::Error> {
        Ok(Found::Records(Box::new(self.outcome())))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: crate::Error) -> weft_run::Error {
    weft_run::Error::Refused(error.to_string())
}

fn later(time: Time, seconds: f64) -> Time {
    Time(time.0.saturating_add((seconds * 1e12).ceil() as u64))
}
