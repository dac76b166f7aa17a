//! A run in time: flows arrive, are served at shared rates, and leave.
//!
//! Between two changes rates are constant. Flows without a size go on, and their rates are the equilibrium of their congestion
//! control. Where flows of a size come and go over one subflow each, rates are max-min fair and solved anew only where a change
//! touches them. The data of a flow with a size begins a round-trip time after it opens, and its last byte arrives half of one
//! after it was sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_cc::{CongestionControl, Echo};
use weft_paths::{PathPolicy, Paths, Way};
use weft_run::{
    Change, Counted, Counters, FlowRecord, Found, LinkRecord, Measuring, Next, Outcome, Plan, Reacting,
    Running, SubflowRecord, What,
};
use weft_spec::{Profile, Time};
use weft_traffic::Flow;

use crate::equilibrium::Search;
use crate::home::is_max_min;
use crate::placing::Ways;
use crate::{Instance, Settings, Sharing};

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

/// An open flow.
#[derive(Debug)]
struct Served {
    index: u32,
    flow: Flow,
    ways: Chosen,
    /// Bits on the wire that each subflow has delivered, and delivers in a second.
    delivered: Vec<f64>,
    rates: Vec<f64>,
    /// Bits on the wire still to be delivered.
    left: f64,
    /// Until when all that is accounted for.
    since: Time,
    established: Time,
    /// Its departure in the heap is right only if it was put there at this number.
    version: u32,
    phase: Phase,
    /// Its number in the sharing.
    shared: Option<u32>,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Handshake,
    Served,
    /// All is sent, the last byte under way.
    Sent,
    Gone,
}

/// The paths of a flow's subflows.
#[derive(Debug, Default)]
struct Chosen {
    /// Links of all subflows in a row, and where each subflow's end.
    links: Vec<u32>,
    ends: Vec<u32>,
    /// In seconds, without queues.
    rtts: Vec<f64>,
}

impl Chosen {
    fn path(&self, subflow: usize) -> &[u32] {
        let start = subflow.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.links[start as usize..self.ends[subflow] as usize]
    }
}

/// How rates are shared.
enum Rates {
    MaxMin {
        sharing: Sharing,
        /// Places by the sharing's numbers.
        places: Vec<u32>,
    },
    Equilibrium {
        /// Of the equilibrium before.
        prices: Option<Vec<f64>>,
        search: Option<Box<Solving>>,
    },
}

/// A search under way.
struct Solving {
    instance: Instance,
    rtts: Vec<f64>,
    /// Place and subflow of each of the instance's.
    subflows: Vec<(u32, u32)>,
    search: Search,
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
    departures: BinaryHeap<Reverse<(Time, u32, u32)>>,
    now: Time,
    /// Bits that each link has carried.
    carried: Vec<f64>,
    ended: Vec<(FlowRecord, Flow)>,
    completions: Vec<Vec<Time>>,
    measuring: Option<Measuring>,
    solutions: u64,
    iterations: u64,
    residual: f64,
    given_up: u64,
    subflows: u64,
}

/// A run is looked at after about as long, so that it can be stopped.
const MOMENT: Duration = Duration::from_millis(50);

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
        let rates = if is_max_min(&plan) {
            Rates::MaxMin {
                sharing: Sharing::new(&capacities).map_err(refused)?,
                places: Vec::new(),
            }
        } else {
            Rates::Equilibrium {
                prices: None,
                search: None,
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
            solutions: 0,
            iterations: 0,
            residual: 0.0,
            given_up: 0,
            subflows: 0,
            plan,
        };
        for i in 0..course.plan.events.len() {
            let event = course.plan.events[i];
            course.note(event.at, Step::Change(i as u32));
            if matches!(event.change, Change::Down | Change::Up) {
                let notice = Time(event.at.0.saturating_add(event.detect.0));
                course.note(notice, Step::Notice(i as u32));
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

    /// When the next flow has sent all, and which, if nothing changes before.
    fn next_departure(&mut self) -> Option<(Time, u32)> {
        while let Some(&Reverse((time, place, version))) = self.departures.peek() {
            let served = &self.served[place as usize];
            if served.version == version && served.phase == Phase::Served {
                return Some((time, place));
            }
            self.departures.pop();
        }
        None
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

    /// A flow opens: its paths are chosen, and its handshake takes a round-trip time.
    fn open(&mut self, index: u32, flow: Flow) {
        let profile = &self.plan.transports[flow.transport as usize].profile;
        let ways = self.choose_paths(index, &flow);
        let subflows = ways.ends.len();
        // Of a flow without a size no start is modelled; that all begin at once makes one equilibrium of them.
        let handshake = if flow.size.is_some() { ways.rtts[0] } else { 0.0 };
        let established = later(self.now, handshake);
        let stop = flow.stop;
        let mut served = Served {
            index,
            left: flow.size.map_or(f64::INFINITY, |size| wire_bits(profile, size.0)),
            flow,
            ways,
            delivered: vec![0.0; subflows],
            rates: vec![0.0; subflows],
            since: self.now,
            established,
            version: 0,
            phase: Phase::Handshake,
            shared: None,
        };
        self.subflows += subflows as u64;
        let place = self.free.pop().unwrap_or(self.served.len() as u32);
        if let Some(free) = self.served.get_mut(place as usize) {
            // Its versions go on, so that no departure of the flow before is taken for its own.
            served.version = free.version + 1;
            *free = served;
        } else {
            self.served.push(served);
        }
        self.note(established, Step::Serve(place));
        if let Some(stop) = stop {
            self.note(stop.max(established), Step::Stop(place));
        }
    }

    /// The paths that the transport's policy gives a flow, around links known to be dead.
    fn choose_paths(&self, index: u32, flow: &Flow) -> Chosen {
        let fabric = &self.plan.fabric;
        let transport = &self.plan.transports[flow.transport as usize];
        let [from, to] = [flow.from, flow.to].map(|host| fabric.hosts[host as usize]);
        let mut ways = Chosen::default();
        // That there is a path was checked.
        let Some(paths) = Paths::between(fabric, from, to) else {
            return ways;
        };
        let hop = 8.0 * f64::from(transport.profile.wire_size());
        for subflow in 0..transport.subflows {
            let way = Way {
                flow: index,
                subflow,
                subflows: transport.subflows,
                back: false,
            };
            let seed = self.plan.spec.seed;
            let chosen = transport.paths.path(paths, seed, way);
            let begin = ways.links.len();
            let delay = self.ways.living_path(
                fabric,
                (from, to),
                chosen,
                paths.count,
                (seed, way),
                &mut ways.links,
            );
            let path = &ways.links[begin..];
            let sending: f64 = path
                .iter()
                .map(|&link| hop / fabric.links[link as usize].rate.0 as f64)
                .sum();
            ways.rtts.push(2.0 * delay.seconds() + sending);
            ways.ends.push(ways.links.len() as u32);
        }
        ways
    }

    /// A flow's data begins.
    fn serve(&mut self, place: u32) {
        let served = &mut self.served[place as usize];
        served.phase = Phase::Served;
        served.since = self.now;
        self.join(place);
    }

    /// Lets a flow have its share, where its path is up.
    fn join(&mut self, place: u32) {
        let Rates::MaxMin { sharing, places } = &mut self.rates else {
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
    fn part(&mut self, place: u32) {
        self.account(place);
        let served = &mut self.served[place as usize];
        served.rates.fill(0.0);
        served.version += 1;
        match &mut self.rates {
            Rates::Equilibrium { .. } => self.stale = true,
            Rates::MaxMin { sharing, .. } => {
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
        let Rates::MaxMin { sharing, places } = &self.rates else {
            return;
        };
        let moved: Vec<(u32, f64)> = sharing
            .moved()
            .iter()
            .map(|&(number, _)| (places[number as usize], sharing.rate(number)))
            .collect();
        for (place, rate) in moved {
            self.account(place);
            self.served[place as usize].rates[0] = rate;
            self.schedule(place);
        }
    }

    /// Notes what a flow has got up to now.
    fn account(&mut self, place: u32) {
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

    /// Works out when a flow will have sent all.
    fn schedule(&mut self, place: u32) {
        let served = &mut self.served[place as usize];
        served.version += 1;
        let rate: f64 = served.rates.iter().sum();
        if rate > 0.0 && served.left.is_finite() {
            let departure = later(self.now, served.left.max(0.0) / rate);
            self.departures.push(Reverse((departure, place, served.version)));
        }
    }

    /// The application has no more data.
    fn stop(&mut self, place: u32) {
        if self.served[place as usize].phase == Phase::Served {
            self.depart(place);
        }
    }

    /// All is sent; the last byte is under way.
    fn depart(&mut self, place: u32) {
        self.part(place);
        let served = &mut self.served[place as usize];
        served.phase = Phase::Sent;
        let arrival = later(self.now, served.ways.rtts[0] / 2.0);
        self.note(arrival, Step::Arrive(place));
    }

    fn arrive(&mut self, place: u32) {
        let (record, flow) = self.record(place, Some(self.now));
        let served = &mut self.served[place as usize];
        served.phase = Phase::Gone;
        let (index, class) = (served.index, flow.class as usize);
        if self.completions.len() <= class {
            self.completions.resize(class + 1, Vec::new());
        }
        self.completions[class].push(self.now);
        self.ended.push((record, flow));
        self.free.push(place);
        for (time, next) in self.reacting.arrived(index, self.now) {
            self.note(time, Step::Next(next));
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

    /// Routing learns that a link is dead or alive: all flows choose their paths anew.
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

    /// Shares all rates from nothing.
    fn share_anew(&mut self) {
        self.stale = true;
        let Rates::MaxMin { sharing, places } = &mut self.rates else {
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

    /// Goes on with the search for the equilibrium. Is it found?
    ///
    /// # Errors
    /// A link without capacity.
    fn solve(&mut self, began: Instant) -> Result<bool, weft_run::Error> {
        let Rates::Equilibrium { prices, search } = &mut self.rates else {
            self.stale = false;
            return Ok(true);
        };
        let mut solving = match search.take() {
            Some(solving) => solving,
            None => Box::new(
                Solving::new(
                    &self.served,
                    &self.capacities,
                    &self.up,
                    prices.as_deref(),
                    self.settings,
                )
                .map_err(refused)?,
            ),
        };
        // The same for all transports, as was checked.
        if let Some(response) = self.plan.transports[0].cc.response() {
            while !solving.search.over() {
                solving.search.step(&solving.instance, &solving.rtts, response);
                if began.elapsed() > MOMENT && !solving.search.over() {
                    *search = Some(solving);
                    return Ok(false);
                }
            }
        }
        let found = solving.search.found(&solving.instance);
        self.solutions += 1;
        self.iterations += u64::from(found.iterations);
        self.residual = self.residual.max(found.residual);
        self.given_up += u64::from(!found.reached);
        let mut places = Vec::new();
        for place in 0..self.served.len() as u32 {
            if self.served[place as usize].phase == Phase::Served {
                self.account(place);
                self.served[place as usize].rates.fill(0.0);
                places.push(place);
            }
        }
        for (&(place, subflow), goodput) in solving.subflows.iter().zip(&found.goodputs) {
            self.served[place as usize].rates[subflow as usize] = *goodput;
        }
        if let Rates::Equilibrium { prices, .. } = &mut self.rates {
            *prices = Some(found.prices);
        }
        for place in places {
            self.schedule(place);
        }
        self.stale = false;
        Ok(true)
    }

    /// What a flow left by now; `finish` is when its last byte arrived.
    fn record(&self, place: u32, finish: Option<Time>) -> (FlowRecord, Flow) {
        let served = &self.served[place as usize];
        let profile = &self.plan.transports[served.flow.transport as usize].profile;
        let payload = f64::from(profile.mss) / f64::from(profile.wire_size()) / 8.0;
        let subflow = |&bits: &f64| SubflowRecord {
            acked_bytes: (bits * payload) as u64,
            ..SubflowRecord::default()
        };
        let subflows: Vec<SubflowRecord> = served.delivered.iter().map(subflow).collect();
        let delivered: f64 = served.delivered.iter().sum();
        let delivered_bytes = match (finish, served.flow.size) {
            (Some(_), Some(size)) => size.0,
            (None, Some(size)) => ((delivered * payload) as u64).min(size.0),
            (_, None) => (delivered * payload) as u64,
        };
        let measured_bytes = match &self.measuring {
            None => delivered_bytes,
            Some(measuring) => measuring.bytes(served.index, delivered_bytes),
        };
        let record = FlowRecord {
            established: (served.established <= self.now).then_some(served.established),
            finish,
            acked: None,
            delivered_bytes,
            measured_bytes,
            subflows,
            ..FlowRecord::unopened(served.index)
        };
        (record, served.flow.clone())
    }

    fn open_places(&self) -> impl Iterator<Item = u32> {
        let open = self.served.iter().zip(0..);
        open.filter(|(served, _)| served.phase != Phase::Gone)
            .map(|(_, place)| place)
    }

    fn link_records(&self) -> Vec<LinkRecord> {
        let record = |&bits: &f64| LinkRecord {
            bytes: (bits / 8.0) as u64,
            delivered_bytes: (bits / 8.0) as u64,
            ..LinkRecord::default()
        };
        self.carried.iter().map(record).collect()
    }

    /// All that was counted by now. Everything must be accounted for.
    fn counted(&self) -> Counted {
        let bytes = self.open_places().map(|place| {
            let (record, _) = self.record(place, None);
            (record.flow, record.delivered_bytes)
        });
        Counted {
            links: self.link_records(),
            queues: Vec::new(),
            bytes: bytes.collect(),
        }
    }

    fn account_all(&mut self) {
        for place in 0..self.served.len() as u32 {
            self.account(place);
        }
    }

    fn outcome(&mut self) -> Outcome {
        self.account_all();
        let mut flows = std::mem::take(&mut self.ended);
        let open: Vec<u32> = self.open_places().collect();
        flows.extend(open.into_iter().map(|place| self.record(place, None)));
        let unopened = (0_u32..).zip(&self.plan.flows);
        let unopened = unopened.filter(|(_, flow)| flow.start >= self.now);
        flows.extend(unopened.map(|(index, flow)| (FlowRecord::unopened(index), flow.clone())));
        let counted = self.measuring.as_ref().map(|_| self.counted());
        let measured = self.measuring.as_ref().zip(counted);
        let mut outcome = self.told(flows);
        outcome.measured = measured.map(|(measuring, counted)| measuring.measured(self.now, counted));
        outcome.links = self.link_records();
        outcome.jobs = std::mem::replace(&mut self.reacting, Reacting::new(&[], 0)).jobs();
        outcome
    }

    fn told(&self, mut flows: Vec<(FlowRecord, Flow)>) -> Outcome {
        flows.sort_by_key(|(record, _)| record.flow);
        let statics = self.plan.flows.len() as u32;
        let opened = flows.iter().filter(|(record, _)| record.flow >= statics);
        Outcome {
            end: self.now,
            opened: opened.map(|(_, flow)| flow.clone()).collect(),
            measured: self.measuring.as_ref().map(Measuring::whole),
            flows: flows.into_iter().map(|(record, _)| record).collect(),
            ..Outcome::default()
        }
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
            if began.elapsed() > MOMENT {
                return Ok(self.now);
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
        let line = format!(
            "level \"flow\": {} of {} equilibria were not reached; the worst link was {:.1e} of its capacity away",
            self.given_up, self.solutions, self.residual
        );
        Vec::from_iter((self.given_up > 0).then_some(line))
    }

    fn facts(&self) -> Vec<(String, Value)> {
        let rates = match self.rates {
            Rates::MaxMin { .. } => "max-min",
            Rates::Equilibrium { .. } => "equilibrium",
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

impl Solving {
    /// Of the flows that are served. Links that are down have nobody on them.
    fn new(
        served: &[Served],
        capacities: &[f64],
        up: &[bool],
        prices: Option<&[f64]>,
        settings: Settings,
    ) -> Result<Self, crate::Error> {
        let mut instance = Instance::new(capacities.to_vec())?;
        let (mut rtts, mut subflows, mut alive) = (Vec::new(), Vec::new(), Vec::new());
        for (it, place) in served.iter().zip(0_u32..) {
            if it.phase != Phase::Served {
                continue;
            }
            let ways = &it.ways;
            alive.clear();
            alive
                .extend((0..ways.ends.len()).filter(|&s| ways.path(s).iter().all(|&link| up[link as usize])));
            if alive.is_empty() {
                continue;
            }
            instance.connect(alive.iter().map(|&s| ways.path(s)))?;
            rtts.extend(alive.iter().map(|&s| ways.rtts[s]));
            subflows.extend(alive.iter().map(|&s| (place, s as u32)));
        }
        let search = Search::new(&mut instance, &rtts, prices, settings);
        Ok(Self {
            instance,
            rtts,
            subflows,
            search,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: crate::Error) -> weft_run::Error {
    weft_run::Error::Refused(error.to_string())
}

/// Bits on the wire of so much data: each packet has its headers.
fn wire_bits(profile: &Profile, bytes: u64) -> f64 {
    let packets = bytes.div_ceil(u64::from(profile.mss).max(1));
    let headers = u64::from(profile.wire_size() - profile.mss);
    8.0 * (bytes + packets * headers) as f64
}

fn later(time: Time, seconds: f64) -> Time {
    Time(time.0.saturating_add((seconds * 1e12).ceil() as u64))
}
