//! The testbed: an experiment on this machine's kernel, in network namespaces of its own, with real TCP and MPTCP sockets.
//!
//! Its namespaces, interfaces, queues and programs have no names outside this process, and only its open files refer to them.
//! Nothing is left when the process ends, even by SIGKILL.

mod algorithms;
mod check;
mod command;
mod connection;
mod driver;
mod layout;
mod lock;
mod namespace;
mod netlink;
mod network;
mod path_manager;
mod records;
mod requirements;
mod sockets;
mod switch;
mod tap;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_lab::Experiment;
use weft_run::{
    CounterSnapshot, DropRecord, Error, GeneratorDriver, GeneratorRecords, MeasurementWindow, Outcome, Plan,
    Probe, ProbedFlows, RunResult, SuppressionRecord,
};
use weft_spec::{SpecError, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, TcpSpec};

pub use command::{Arguments, run_command};

use connection::Connection;
use driver::{DriverReport, FlowRun, TrafficDriver};
use layout::AddressPlan;
use network::Network;
use path_manager::{Report, Shared};
use records::LatencyRecorder;
use sockets::SocketOptions;
use switch::Switch;
use tap::Tap;

/// Runs an experiment of level "linux". `report_progress` receives the progress, from 0 to 1. If `stop` is set, the tables so far are marked partial.
///
/// # Errors
/// [`Error::Unsupported`]: this level cannot give what the spec asks. [`Error::MissingRequirement`]: this machine cannot give this level.
pub fn run(
    experiment: &Experiment,
    stop: &AtomicBool,
    report_progress: impl FnMut(f64),
) -> Result<RunResult, Error> {
    let (plan, builder) = experiment.plan_external()?;
    check::check(&plan).map_err(refused)?;
    requirements::check().map_err(Error::MissingRequirement)?;
    let _lock = lock::acquire_lock(stop).map_err(Error::MissingRequirement)?;
    let began = Instant::now();
    let testbed = Testbed::set_up(&plan)?;
    let (outcome, facts) = testbed.run(&plan, stop, report_progress)?;
    builder.build(outcome, began.elapsed(), facts)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: SpecError) -> Error {
    Error::Unsupported(error.to_string())
}

/// Everything that an experiment needs of the kernel.
struct Testbed {
    layout: AddressPlan,
    network: Network,
    switch: Switch,
    socket_options: Vec<SocketOptions>,
}

impl Testbed {
    fn set_up(plan: &Plan) -> Result<Self, Error> {
        let layout = AddressPlan::new(&plan.fabric).map_err(Error::Unsupported)?;
        let profiles = profiles(plan).map_err(refused)?;
        let profile = profiles.first().cloned().unwrap_or_else(Profile::linux);
        let classic_ecn = algorithms::classic_ecn(plan).map_err(refused)?;
        let network = Network::build(&plan.fabric, &layout, &profile, classic_ecn)
            .map_err(Error::MissingRequirement)?;
        let switch =
            Switch::attach(&plan.fabric, &network, profile.wire_size()).map_err(Error::MissingRequirement)?;
        let socket_options = algorithms::tcp_specs(plan)
            .map_err(refused)?
            .iter()
            .zip(&profiles)
            .map(|((_, transport), profile)| {
                Ok(SocketOptions {
                    cc: algorithms::in_kernel(&transport.cc)?.to_owned(),
                    multipath: transport.subflows > 1,
                    receive_buffer: (*profile != Profile::linux())
                        .then_some(profile.connection.receive_buffer as usize),
                    segment: profile.sizes.mss - if transport.subflows > 1 { DSS } else { 0 },
                })
            })
            .collect::<Result<_, SpecError>>()
            .map_err(refused)?;
        Ok(Self {
            layout,
            network,
            switch,
            socket_options,
        })
    }

    /// Generates the traffic while a path manager runs.
    fn run(
        &self,
        plan: &Plan,
        stop: &AtomicBool,
        report_progress: impl FnMut(f64),
    ) -> Result<(Outcome, Vec<(String, Value)>), Error> {
        let shared = Shared::default();
        let (ready, ready_receiver) = mpsc::channel();
        thread::scope(|scope| {
            let (layout, network, shared) = (&self.layout, &self.network, &shared);
            let manager = scope.spawn(move || path_manager::manage(plan, layout, network, shared, &ready));
            let driven = ready_receiver
                .recv()
                .unwrap_or_else(|_| Err(Error::Internal("the path manager ended".to_owned())))
                .and_then(|()| self.drive(plan, shared, stop, report_progress));
            shared.finished.store(true, Ordering::Relaxed);
            let report = manager
                .join()
                .map_err(|_| Error::Internal("the path manager panicked".to_owned()))?;
            if let Ok(Err(error)) = ready_receiver.try_recv() {
                return Err(error);
            }
            let (flow_runs, jobs, driven) = driven?;
            self.outcome(plan, flow_runs, jobs, driven, &report)
        })
    }

    fn drive(
        &self,
        plan: &Plan,
        shared: &Shared,
        stop: &AtomicBool,
        report_progress: impl FnMut(f64),
    ) -> Result<(Vec<FlowRun>, GeneratorRecords, DriverReport), Error> {
        let missing = |error: std::io::Error| Error::MissingRequirement(format!("a socket: {error}"));
        let listeners = self.listeners(plan).map_err(missing)?;
        let connect = |index: u32, flow: &Flow| self.connection(plan, index, flow);
        let run = |(flow, index): (&Flow, u32)| {
            Ok(FlowRun {
                index,
                flow: flow.clone(),
                connection: connect(index, flow)?,
            })
        };
        let flow_runs = plan.flows.iter().zip(0..).map(run);
        let mut driver = TrafficDriver {
            flow_runs: flow_runs.collect::<std::io::Result<_>>().map_err(missing)?,
            generators: GeneratorDriver::new(&plan.generators, plan.flows.len() as u32, &plan.probes),
            connect: &connect,
            listeners,
            taps: self.taps(plan).map_err(missing)?,
            probes: &plan.probes,
            switch: &self.switch,
            measurement: plan.measure.map(|(from, to)| MeasurementWindow::new(from, to)),
            counted: &|at| self.counted(plan, at).map_err(std::io::Error::other),
            duration: plan.spec.duration,
            active: &|token, subflow| shared.active(token, subflow),
        };
        let report = driver
            .run(stop, report_progress)
            .map_err(|error| Error::Internal(format!("the testbed: {error}")))?;
        if let Some((flow, error)) = report.failures.first() {
            return Err(Error::Internal(format!("flow {flow} failed: {error}")));
        }
        Ok((driver.flow_runs, driver.generators.into_records(), report))
    }

    /// One for every transport at every host that receives with it.
    fn listeners(&self, plan: &Plan) -> std::io::Result<Vec<socket2::Socket>> {
        let listening: BTreeSet<_> = ends(plan)
            .into_iter()
            .map(|(_, to, transport)| (to, transport))
            .collect();
        listening
            .into_iter()
            .map(|(host, transport)| {
                let node = plan.fabric.hosts[host as usize];
                let options = &self.socket_options[transport as usize];
                self.network
                    .within(node, || sockets::listener(options, port(transport)))
            })
            .collect()
    }

    /// The connection of a flow, ready to connect. Where its paths are not bound to interfaces, chance has it begin on one.
    fn connection(&self, plan: &Plan, index: u32, flow: &Flow) -> std::io::Result<Connection> {
        let [from, to] = [flow.from, flow.to].map(|host| plan.fabric.hosts[host as usize]);
        let transport = plan.spec.transports.values().nth(flow.transport as usize);
        let tcp = transport.and_then(|transport| TcpSpec::from_spec(transport).ok());
        let policy = tcp.and_then(|tcp| tcp.paths);
        let number = if policy.is_some_and(|policy| policy.name == check::BY_INTERFACE) {
            0
        } else {
            let paths = layout::path_count(&plan.fabric, from, to).max(1);
            (mixed(plan.spec.seed, index.into()) % u64::from(paths)) as u32
        };
        let pair = self
            .layout
            .pair(&plan.fabric, from, to, number)
            .ok_or_else(|| std::io::Error::other("two hosts have no addresses for each other"))?;
        let options = &self.socket_options[flow.transport as usize];
        let socket = self
            .network
            .within(from, || sockets::sender(options, pair.from))?;
        let to = SocketAddr::from((pair.to, port(flow.transport)));
        let size = flow.size.map(|size| size.0);
        let mut connection = Connection::new(socket, to, options.multipath, size);
        connection.records = has_latencies(plan, index).then(|| LatencyRecorder::new(options.segment.into()));
        Ok(connection)
    }

    /// Creates a tap at every host that sends flows whose latencies are recorded, with those flows.
    fn taps(&self, plan: &Plan) -> std::io::Result<Vec<(Tap, Vec<u32>)>> {
        let mut flows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (flow, i) in plan
            .flows
            .iter()
            .zip(0..)
            .filter(|&(_, i)| has_latencies(plan, i))
        {
            flows.entry(flow.from).or_default().push(i);
        }
        let open = |(host, flows): (u32, Vec<u32>)| {
            let node = plan.fabric.hosts[host as usize];
            Ok((self.network.within(node, Tap::open)?, flows))
        };
        flows.into_iter().map(open).collect()
    }

    /// Links, and queues where they are probed, at a time of the experiment.
    fn counted(&self, plan: &Plan, at: Time) -> Result<CounterSnapshot, String> {
        let mut counted = CounterSnapshot::default();
        for link in 0..plan.fabric.links.len() as u32 {
            let port = self.switch.read(link)?;
            if port.aggregated() > 0 {
                let count = port.aggregated();
                return Err(format!(
                    "{count} packets were larger than a packet: an offload is on"
                ));
            }
            counted.links.push(port.link());
            let probed = |probe: &Probe| matches!(probe, Probe::Queue { link: probed } if *probed == link);
            if plan.probes.iter().any(probed) {
                counted
                    .queues
                    .push(port.queue(link, Duration::from_nanos(at.0 / 1000)));
            }
        }
        Ok(counted)
    }

    fn outcome(
        &self,
        plan: &Plan,
        mut flow_runs: Vec<FlowRun>,
        jobs: GeneratorRecords,
        driven: DriverReport,
        report: &Report,
    ) -> Result<(Outcome, Vec<(String, Value)>), Error> {
        flow_runs.sort_by_key(|run| run.index);
        let suppressions = suppressions(&flow_runs, report, driven.began_ns);
        let episodes = |flow: u32| suppressions.iter().filter(|episode| episode.flow == flow).count() as u64;
        let records = flow_runs
            .iter()
            .filter_map(|run| Some((run.index, run.connection.records.as_ref()?)));
        let uncaptured: u64 = records.clone().map(|(_, records)| records.uncaptured()).sum();
        let latencies = records
            .flat_map(|(flow, records)| records.latencies(flow, driven.began))
            .collect();
        let mut outcome = Outcome {
            end: driven.end.min(plan.spec.duration),
            flows: flow_runs
                .iter()
                .map(|run| run.connection.record(run.index, episodes(run.index)))
                .collect(),
            opened: flow_runs
                .drain(plan.flows.len()..)
                .map(|run| (run.index, run.flow))
                .collect(),
            jobs: jobs.jobs,
            ranks: jobs.ranks,
            suppressions,
            samples: driven.samples,
            latencies,
            ..Outcome::default()
        };
        let counted = self.counted(plan, outcome.end).map_err(Error::Internal)?;
        for (link, record) in (0..).zip(&counted.links) {
            if record.drops > 0 {
                outcome.drops.push(DropRecord {
                    link,
                    reason: "unknown",
                    is_loss: false,
                    subflow: None,
                    packets: record.drops,
                });
            }
            outcome.counters.packet_hops += record.packets;
            outcome.counters.drops += record.drops;
            outcome.counters.marks += record.marks;
        }
        if let Some(measurement) = &driven.measurement {
            for flow in &mut outcome.flows {
                flow.measured_bytes = measurement.bytes_in(flow.flow, flow.delivered_bytes);
            }
            outcome.measured = Some(measurement.finish(outcome.end, &counted));
        }
        (outcome.links, outcome.queues) = (counted.links, counted.queues);
        let subflows = outcome.flows.iter().flat_map(|flow| &flow.subflows);
        outcome.counters.timeouts = subflows.map(|subflow| subflow.timeouts).sum();
        let mut facts = facts(report);
        facts.push((
            "late_ms_max".to_owned(),
            json!(driven.max_lateness.seconds() * 1e3),
        ));
        facts.push(("latencies_unseen".to_owned(), json!(uncaptured)));
        Ok((outcome, facts))
    }
}

/// Whether the latencies of a flow are to be recorded.
fn has_latencies(plan: &Plan, flow: u32) -> bool {
    let flows = ProbedFlows::One(flow);
    plan.probes.contains(&Probe::Latency { flows })
}

/// Returns entries for the manifest.
fn facts(report: &Report) -> Vec<(String, Value)> {
    let mut notify_latency_us = report.notify_latency_us.clone();
    notify_latency_us.sort_by(f64::total_cmp);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    vec![
        ("kernel".to_owned(), json!(kernel.trim())),
        (
            "suppression_notify_us_median".to_owned(),
            json!(notify_latency_us.get(notify_latency_us.len() / 2)),
        ),
        ("commands_refused".to_owned(), json!(report.refused)),
        ("subflows_without_program".to_owned(), json!(report.uncoupled)),
        (
            "not_counted".to_owned(),
            json!(["fast_retransmits", "syn_timeouts", "reinjected"]),
        ),
    ]
}

/// Times of the kernel's clock become times since the experiment began.
fn suppressions(flow_runs: &[FlowRun], report: &Report, began_ns: u64) -> Vec<SuppressionRecord> {
    let time = |ns: u64| Time::from_ns(ns.saturating_sub(began_ns));
    let by_token: BTreeMap<u32, u32> = flow_runs
        .iter()
        .filter_map(|run| Some((run.connection.token?, run.index)))
        .collect();
    let mut records: Vec<_> = report
        .episodes
        .iter()
        .filter_map(|episode| {
            Some(SuppressionRecord {
                flow: *by_token.get(&episode.token)?,
                start: time(episode.start),
                end: episode.end.map(time),
            })
        })
        .collect();
    records.sort_by_key(|record| (record.flow, record.start));
    records
}

fn profiles(plan: &Plan) -> Result<Vec<Profile>, SpecError> {
    let transports = algorithms::tcp_specs(plan)?;
    transports
        .iter()
        .map(|(_, transport)| transport.tcp.apply(&Profile::linux()))
        .collect()
}

/// Sender, receiver and transport of all flows that may open, without duplicates.
fn ends(plan: &Plan) -> BTreeSet<(u32, u32, u32)> {
    let flows = plan.flows.iter();
    let mut ends: BTreeSet<_> = flows.map(|flow| (flow.from, flow.to, flow.transport)).collect();
    let transport = |name: &String| plan.spec.transports.keys().position(|known| known == name);
    for generator in &plan.generators {
        let entry = &plan.spec.traffic[generator.flow(0).traffic as usize];
        let names = entry.classes.iter().map(|class| &class.transport);
        let transports: BTreeSet<_> = names.chain([&entry.transport]).filter_map(transport).collect();
        for (from, to) in generator.pairs().every(1) {
            ends.extend(transports.iter().map(|&transport| (from, to, transport as u32)));
        }
    }
    ends
}

/// Returns the port of the listeners of a transport.
fn port(transport: u32) -> u16 {
    FIRST_PORT + transport as u16
}

/// A number that looks random, the same for the same seed and flow (`SplitMix64`).
fn mixed(seed: u64, flow: u64) -> u64 {
    let mut bits = seed.wrapping_add((flow + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

const FIRST_PORT: u16 = 5000;
/// Bytes of the option with which MPTCP maps a packet's data (RFC 8684, section 3.3): 64-bit sequence number and acknowledgement.
const DSS: u32 = 28;
