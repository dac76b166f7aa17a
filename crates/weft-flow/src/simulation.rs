//! The flow-level simulation: flows open, transfer at shared rates, and close.
//!
//! Between two changes rates are constant: the equilibrium of the congestion control, or max-min fair rates.
//! The rates of flows with a size are max-min fair unless the spec chooses otherwise. If each has one subflow,
//! a change re-solves only the rates that it affects. The data of a flow with a size starts a
//! round-trip time after it opens, and its last byte arrives half a round-trip time after it was sent. A persistent connection
//! opens at the beginning of the run, and carries one flow after another.

mod batch;
mod event_queue;
mod flows;
mod rates;
mod records;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_cc::{CongestionControl, Echo, Response};
use weft_run::{
    ActiveRun, Counters, FlowRecord, GeneratorDriver, LinkChange, MeasurementWindow, Outcome, Plan,
    RunOutput, detection_times,
};
use weft_spec::Time;
use weft_traffic::Flow;
use weft_transports::Profile;

use crate::backend::{is_max_min, is_single_path_sized, used_transports};
use crate::placement::PathResolver;
use crate::{Fluid, Settings};
use batch::Method;
use event_queue::{Event, EventQueue};
use flows::{FlowSlots, Phase};
use rates::{Departure, RateModel, SolverStats};

/// A flow-level run in progress.
pub struct FlowSimulation {
    plan: Plan,
    settings: Settings,
    network: Network,
    rates: RateModel,
    /// True if rates must be computed before time advances.
    rates_stale: bool,
    generators: GeneratorDriver,
    events: EventQueue,
    flows: FlowSlots,
    /// The flows that each busy persistent connection carries, in order. The first one has the connection.
    connections: HashMap<u32, VecDeque<u32>>,
    departures: BinaryHeap<Reverse<Departure>>,
    now: Time,
    finished: Vec<(FlowRecord, Flow)>,
    completions: Vec<Vec<Time>>,
    measurement: Option<MeasurementWindow>,
    /// Events and links with new rates since the clock was last read.
    work_since_check: usize,
    stats: SolverStats,
    /// Indices of the transports with traffic.
    used: Vec<usize>,
    subflows: u64,
}

/// The links of the fabric as they are now.
struct Network {
    resolver: PathResolver,
    /// Bit/s of each link, and whether it is up.
    capacities: Vec<f64>,
    up: Vec<bool>,
    /// Bits that each link has carried.
    link_bits: Vec<f64>,
}

/// Wall-clock time after which a run returns to its caller, so that it can be stopped.
const SLICE_BUDGET: Duration = Duration::from_millis(50);

/// Events and links with new rates between two readings of the clock, one of which costs as much as a change of a few flows.
const CHECK_AFTER: usize = 1_000;

impl FlowSimulation {
    /// Creates a simulation at time 0.
    ///
    /// # Errors
    /// Returns an error if a link has no capacity.
    pub fn new(plan: Plan, threads: usize) -> Result<Self, weft_run::Error> {
        let links = plan.fabric.links.len();
        let capacities: Vec<f64> = plan.fabric.links.iter().map(|link| link.rate.0 as f64).collect();
        let used = used_transports(&plan);
        let used: Vec<usize> = (0..used.len()).filter(|&i| used[i]).collect();
        let packet_bits = used
            .iter()
            .map(|&i| packet_bits(&plan.transports[i].expect_tcp().profile));
        let settings = Settings {
            packet_bits: packet_bits.fold(0.0, f64::max),
            // All respond to the same signal at an equilibrium, which is checked before the run.
            marks: used
                .iter()
                .any(|&i| plan.transports[i].expect_tcp().cc.echo() != Echo::Off),
            threads,
            ..Settings::default()
        };
        let max_min = is_max_min(&plan);
        let rates = if max_min && is_single_path_sized(&plan) {
            RateModel::Incremental(Fluid::new(&capacities, Time(0)).map_err(cannot_run)?)
        } else {
            RateModel::Batch {
                method: if max_min {
                    Method::MaxMin
                } else {
                    Method::Equilibrium
                },
                prices: None,
                solver: None,
            }
        };
        let mut simulation = Self {
            settings,
            network: Network {
                resolver: PathResolver::new(&plan.fabric),
                capacities,
                up: vec![true; links],
                link_bits: vec![0.0; links],
            },
            rates,
            rates_stale: false,
            generators: GeneratorDriver::new(&plan.generators, plan.flows.len() as u32, &plan.probes),
            events: EventQueue::default(),
            flows: FlowSlots::default(),
            connections: HashMap::new(),
            departures: BinaryHeap::new(),
            now: Time(0),
            finished: Vec::new(),
            completions: Vec::new(),
            measurement: plan.measure.map(|(from, to)| MeasurementWindow::new(from, to)),
            work_since_check: 0,
            stats: SolverStats::default(),
            used,
            subflows: 0,
            plan,
        };
        for (i, notice) in (0..).zip(detection_times(&simulation.plan.events)) {
            simulation
                .events
                .schedule(simulation.plan.events[i as usize].at, Event::LinkChange(i));
            if let Some(time) = notice {
                simulation.events.schedule(time, Event::RoutingUpdate(i));
            }
        }
        for i in 0..simulation.plan.flows.len() {
            simulation
                .events
                .schedule(simulation.plan.flows[i].start, Event::OpenFlow(i as u32));
        }
        for (time, action) in simulation.generators.timed_actions() {
            simulation.events.schedule(time, Event::GeneratorAction(action));
        }
        Ok(simulation)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::LinkChange(index) => self.on_link_change(index),
            Event::RoutingUpdate(index) => self.on_routing_update(index),
            Event::OpenFlow(index) => {
                let flow = self.plan.flows[index as usize].clone();
                self.open(index, flow);
            }
            Event::GeneratorAction(action) => {
                let performed = self.generators.perform(action, self.now);
                for (time, action) in performed.next {
                    self.events.schedule(time, Event::GeneratorAction(action));
                }
                for n in performed.open {
                    // Flows beyond 32 bits have no index.
                    if let Some((index, flow)) = self.generators.flow(action.generator, n) {
                        let start = self.now;
                        self.open(index, Flow { start, ..flow });
                    }
                }
            }
            Event::StartTransfer(slot) => self.start_transfer(slot),
            Event::StopFlow(slot) => self.stop(slot),
            Event::Deliver(slot) => self.on_delivered(slot),
        }
    }

    fn on_link_change(&mut self, index: u32) {
        let event = self.plan.events[index as usize];
        let link = event.link as usize;
        match event.change {
            LinkChange::Down => self.network.up[link] = false,
            LinkChange::Up => self.network.up[link] = true,
            LinkChange::Rate(rate) => self.network.capacities[link] = rate.0 as f64,
            // Refused before the run.
            LinkChange::Delay(_) => {}
        }
        self.recompute_all();
    }

    /// Routing learns that a link is down or up, and all flows choose new paths.
    fn on_routing_update(&mut self, index: u32) {
        let event = self.plan.events[index as usize];
        self.network.resolver.set_down(
            event.link,
            event.change == LinkChange::Down,
            self.network.capacities.len(),
        );
        for slot in self.flows.slots() {
            if self.flows[slot].phase == Phase::Transferring {
                self.integrate(slot);
            }
            let active = &self.flows[slot];
            if matches!(active.phase, Phase::Transferring | Phase::Waiting) {
                self.flows[slot].paths = self.choose_paths(&active.flow);
            }
        }
        self.recompute_all();
    }
}

impl ActiveRun for FlowSimulation {
    fn slice_granularity(&self) -> Time {
        Time((self.plan.spec.duration.0 / 1_000).max(1))
    }

    fn run_until(&mut self, end: Time) -> Result<Time, weft_run::Error> {
        let began = Instant::now();
        loop {
            if self.rates_stale && !self.solve(began)? {
                return Ok(self.now);
            }
            let event = self.events.next_time();
            let departure = self.next_departure().map(|(time, _)| time);
            let snapshot = self
                .measurement
                .as_ref()
                .and_then(MeasurementWindow::next_snapshot_time);
            let due = [event, departure, snapshot].into_iter().flatten().min();
            let Some(due) = due.filter(|&due| due < end) else {
                self.now = self.now.max(end);
                return Ok(self.now);
            };
            self.now = due;
            if snapshot == Some(due) {
                self.integrate_all();
                let counted = self.counter_snapshot();
                if let Some(window) = &mut self.measurement {
                    window.record(counted);
                }
                continue;
            }
            while let Some((_, slot)) = self.next_departure().filter(|&(time, _)| time == due) {
                self.finish_sending(slot);
            }
            while let Some(event) = self.events.pop_at(due) {
                self.handle(event);
            }
            self.work_since_check += 1;
            if self.work_since_check > CHECK_AFTER || matches!(self.rates, RateModel::Batch { .. }) {
                self.work_since_check = 0;
                if began.elapsed() > SLICE_BUDGET {
                    return Ok(self.now);
                }
            }
        }
    }

    fn threads(&self) -> usize {
        self.settings.threads
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn finished_rows(&self) -> usize {
        self.finished.len()
    }

    fn take_finished(&mut self) -> Outcome {
        let finished = std::mem::take(&mut self.finished);
        self.partial_outcome(finished)
    }

    fn completed_flows(&self, class: u32) -> u64 {
        self.completions
            .get(class as usize)
            .map_or(0, |times| times.len() as u64)
    }

    fn nth_completion(&self, class: u32, n: u64) -> Option<Time> {
        let nth = usize::try_from(n.checked_sub(1)?).ok()?;
        self.completions.get(class as usize)?.get(nth).copied()
    }

    fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let (unconverged, solutions) = (self.stats.unconverged, self.stats.solutions);
        if unconverged > 0 {
            lines.push(if is_max_min(&self.plan) {
                format!(
                    "level \"flow\": {unconverged} of {solutions} max-min solutions were given up before all had their share"
                )
            } else {
                format!(
                    "level \"flow\": {unconverged} of {solutions} equilibria were not reached; the worst link was {:.1e} of its capacity away, and rates are means over the search",
                    self.stats.residual
                )
            });
        }
        let (small, connections) = self.stats.small_windows;
        if small > 0 {
            let responses = responses(&self.plan, &self.used);
            let mut floors: Vec<f64> = responses.iter().map(|response| response.min_window()).collect();
            floors.sort_by(f64::total_cmp);
            floors.dedup();
            let floors: Vec<String> = floors.iter().map(f64::to_string).collect();
            let floor = floors.join(" or ");
            lines.push(format!(
                "level \"flow\": {small} of {connections} connections have windows below {floor} packets, where the response function does not hold; simulate them at level \"packet\""
            ));
        }
        lines
    }

    /// Rates have been constant since the last change of a flow.
    fn delivered_bytes(&self) -> Vec<(u32, u64)> {
        self.bytes_now()
    }

    fn manifest_entries(&self) -> Vec<(String, Value)> {
        let rates = if is_max_min(&self.plan) {
            "max-min"
        } else {
            "equilibrium"
        };
        let facts = json!({
            "rates": rates,
            "hosts": self.plan.fabric.hosts.len(),
            "subflows": self.subflows,
            "solutions": self.stats.solutions,
            "iterations": self.stats.iterations,
            "residual": self.stats.residual,
        });
        vec![("flow".to_owned(), facts)]
    }

    fn finish(mut self: Box<Self>) -> Result<RunOutput, weft_run::Error> {
        Ok(RunOutput::Records(Box::new(self.outcome())))
    }
}

/// Returns the response functions of the transports with traffic, in the order of `used`. At an equilibrium each has one, which is
/// checked before the run.
fn responses<'a>(plan: &'a Plan, used: &[usize]) -> Vec<&'a dyn Response> {
    let transports = used.iter().map(|&transport| &plan.transports[transport]);
    transports
        .filter_map(|transport| transport.expect_tcp().cc.response())
        .collect()
}

/// Bits of a full packet on the wire.
fn packet_bits(profile: &Profile) -> f64 {
    8.0 * f64::from(profile.wire_size())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn cannot_run(error: crate::Error) -> weft_run::Error {
    weft_run::Error::CannotRun(error.to_string())
}

fn add_seconds(time: Time, seconds: f64) -> Time {
    Time(time.0.saturating_add((seconds * 1e12).ceil() as u64))
}
