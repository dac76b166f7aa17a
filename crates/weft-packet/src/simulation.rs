//! A packet-level run: hosts with transports on the window engine.

use std::sync::Arc;

use weft_fabric::QueueParameters;
use weft_run::{CounterSnapshot, MeasurementWindow, Probe, QueueRecord, records_steps};
use weft_spec::Time;
use weft_traffic::Flow;
use weft_transports::TransportConfig;

use crate::clocks;
use crate::config::SimulationConfig;
use crate::controller::ControllerState;
use crate::down_links::DownLinks;
use crate::engine::route::HopBits;
use crate::engine::{Engine, EngineConfig, SampleTarget};
use crate::events::LinkSchedule;
use crate::reclaim::{FinishedRecords, ReclaimSchedule};
use crate::transport::{
    FlowKind, FlowProbes, Host, HostTimer, Shared, ShortestReturns, TELEMETRY, TransportKind, host_timer,
};
use crate::validate::{check, check_events, check_links, max_burst_after_delay_cut};

/// A packet-level run in progress.
pub struct PacketSimulation {
    pub(crate) engine: Engine<Host>,
    pub(crate) shared: Arc<Shared>,
    /// Records of finished flows.
    pub(crate) finished: FinishedRecords,
    /// Link events to come, and their detection.
    pub(crate) link_schedule: LinkSchedule,
    /// The schedule of searches for finished flows whose memory can be reclaimed.
    pub(crate) reclaim_schedule: ReclaimSchedule,
    /// The controller that assigns paths to subflows, if the spec configures one.
    pub(crate) controller: Option<ControllerState>,
    /// Links for which the distribution of the queue length is recorded.
    distributions: Vec<u32>,
    /// The measurement window; `None` if the whole run is measured.
    pub(crate) measurement: Option<MeasurementWindow>,
}

impl PacketSimulation {
    /// Creates a run.
    ///
    /// # Errors
    /// Returns an error if the run cannot be simulated. Reasons are a path longer than a packet's
    /// route field, a flow between hosts that do not exist, and a size that a connection cannot
    /// number.
    pub fn new(config: SimulationConfig) -> Result<Self, String> {
        let SimulationConfig {
            mut fabric,
            transports,
            kinds,
            flows,
            generators,
            probes,
            jitter,
            clock_ppm,
            nic,
            offload,
            mut events,
            controller,
            seed,
            threads,
            trace_hash,
        } = config;
        clocks::apply(&mut fabric, &mut events, clock_ppm, seed);
        let numbers = kind_numbers(&transports, kinds)?;
        let sizes = packet_sizes(&transports, &numbers, kinds);
        let trimmed = fabric.links.iter().filter_map(|link| link.kind.trims_to());
        let smallest = sizes.iter().map(|&(min, _)| min).chain(trimmed);
        let min_packet = smallest.chain(fabric.pause_frame()).min().unwrap_or(1);
        let max_packet = sizes.iter().map(|&(_, max)| max).max().unwrap_or(1);
        let mut engine_config = EngineConfig {
            seed,
            jitter,
            trace: trace_hash,
            telemetry: telemetry_flags(&transports),
            changes: events.iter().map(|event| (event.link, event.change)).collect(),
            ..EngineConfig::new(min_packet, max_packet, threads)
        };
        let flow_kinds = FlowKind::by_transport(&transports, &numbers, &sizes, &fabric);
        let shared = Arc::new(Shared {
            probes: FlowProbes::new(&probes),
            records_steps: (0..generators.len() as u32)
                .map(|generator| records_steps(&probes, generator))
                .collect(),
            hops: HopBits::new(fabric.max_ports()),
            down_links: DownLinks::new(if events.is_empty() { 0 } else { fabric.links.len() }),
            fabric,
            tcp: transports
                .iter()
                .map(|transport| transport.tcp().cloned())
                .collect(),
            transports,
            kinds: numbers,
            flow_kinds,
            flows,
            generators,
            nic,
            offload,
            seed,
        });
        check_links(&shared.fabric, min_packet)?;
        check_events(&shared, &events, min_packet)?;
        engine_config.arrivals -= max_burst_after_delay_cut(&shared.fabric, &events, min_packet)?;
        check(&shared, kinds)?;
        observe(&probes, &mut engine_config);
        engine_config.return_routes = Some(Arc::new(ShortestReturns::new(Arc::clone(&shared))));
        let mut engine = Engine::new(&shared.fabric, &engine_config, |host| {
            Host::new(&shared, host, kinds)
        });
        set_first_timers(&mut engine, &shared);
        Ok(Self {
            link_schedule: LinkSchedule::new(&events),
            reclaim_schedule: ReclaimSchedule::new(engine.window(), engine.next_window_start()),
            controller: controller.map(ControllerState::new),
            engine,
            shared,
            finished: FinishedRecords::default(),
            distributions: engine_config.distributions,
            measurement: None,
        })
    }

    /// Restricts the records of links, queues and goodput to events at or after `from` and before
    /// `to`. Must be called before the run begins.
    pub fn measure(&mut self, from: Time, to: Time) {
        self.measurement = Some(MeasurementWindow::new(from, to));
    }

    /// Simulates all events before `end`. May be called more than once with a later end; the
    /// results do not depend on the ends of slices.
    pub fn run_until(&mut self, end: Time) {
        while let Some(cut) = self
            .measurement
            .as_ref()
            .and_then(MeasurementWindow::next_snapshot_time)
            && cut <= end
        {
            self.advance(cut);
            let snapshot = self.snapshot();
            if let Some(measurement) = &mut self.measurement {
                measurement.record(snapshot);
            }
        }
        self.advance(end);
    }

    fn advance(&mut self, end: Time) {
        loop {
            let due = self
                .reclaim_schedule
                .next
                .min(self.link_schedule.next_time())
                .min(self.next_control_time());
            if due >= end.0 {
                break;
            }
            self.engine.run_until(due);
            self.collect_captures();
            self.apply_due(due);
            if due == self.next_control_time() {
                self.run_controller();
            }
            if due == self.reclaim_schedule.next {
                self.reclaim_finished();
                self.reclaim_schedule
                    .advance_past(self.engine.next_window_start());
            }
        }
        self.engine.run_until(end.0);
        self.collect_captures();
    }

    pub(crate) fn snapshot(&self) -> CounterSnapshot {
        CounterSnapshot {
            links: self.link_records(),
            classes: self.class_records(),
            queues: self.queues(),
            bytes: self.hosts().flat_map(Host::received_bytes).collect(),
        }
    }

    pub(crate) fn queues(&self) -> Vec<QueueRecord> {
        let record = |&link: &u32| {
            let time_at = self.engine.distribution(link).unwrap_or_default();
            QueueRecord {
                link,
                time_at_length: time_at.into_iter().map(Time).collect(),
            }
        };
        self.distributions.iter().map(record).collect()
    }

    /// Returns the fraction of the time that flows were open during which they stood still until a
    /// delayed acknowledgement was sent.
    pub fn delayed_ack_stall(&self) -> f64 {
        let now = self.engine.now();
        let stall: u64 = self.hosts().map(|host| host.tcp().delayed_ack_stall()).sum();
        let open: u64 = self.hosts().map(|host| host.tcp().open_time(now)).sum();
        stall as f64 / open.max(1) as f64
    }

    /// Returns the fraction of the time of flows for which the send buffer limited them.
    pub fn send_buffer_limited(&self) -> f64 {
        let now = self.engine.now();
        let limited: u64 = self.hosts().map(|host| host.tcp().sndbuf_limited()).sum();
        let open: u64 = self.hosts().map(|host| host.tcp().open_time(now)).sum();
        limited as f64 / open.max(1) as f64
    }

    /// Returns the number of open flows that cannot send, because all their established subflows are
    /// inactive.
    pub fn inactive_flows(&self) -> usize {
        self.hosts().map(|host| host.tcp().inactive_connections()).sum()
    }

    /// Returns the names of the links of a deadlock: links that are paused and wait for each other.
    pub fn deadlock(&self) -> Option<Vec<String>> {
        let fabric = &self.shared.fabric;
        let name = |(link, _): &(u32, u8)| {
            let link = &fabric.links[*link as usize];
            let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
            format!("{from}->{to}")
        };
        Some(self.engine.deadlock()?.iter().map(name).collect())
    }

    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        (0..self.shared.fabric.hosts.len() as u32).map(|host| self.engine.endpoint(host))
    }

    /// Returns the flows of the configuration.
    pub fn flows(&self) -> &[Flow] {
        &self.shared.flows
    }
}

/// Lets the engine record what probes of links and buffers ask for. Probes of flows are attached when the flows open;
/// hosts and the run record the others.
fn observe(probes: &[Probe], engine: &mut EngineConfig) {
    let mut sample = |target, interval: Time| engine.samples.push((target, interval.0.max(1)));
    for probe in probes {
        match *probe {
            Probe::Queue { link } => engine.distributions.push(link),
            Probe::QueueTrace { link, interval } => sample(SampleTarget::Queue { link }, interval),
            Probe::Buffer { node, interval } => sample(SampleTarget::Buffer { node }, interval),
            Probe::Packets { link } => engine.captures.push(link),
            Probe::Flow { .. } | Probe::Latency { .. } | Probe::Steps { .. } | Probe::Throughput { .. } => {}
        }
    }
}

/// Returns the flags of packets that ask for telemetry, if a transport reads it.
fn telemetry_flags(transports: &[TransportConfig]) -> Option<u16> {
    let mut parameters = transports.iter().map(|transport| &transport.parameters);
    let is_read = parameters.any(|parameters| parameters.reads_telemetry());
    is_read.then_some(TELEMETRY)
}

/// Returns the size of the smallest and of the largest packet of each transport.
fn packet_sizes(
    transports: &[TransportConfig],
    numbers: &[u8],
    kinds: &[&dyn TransportKind],
) -> Vec<(u32, u32)> {
    let transports = transports.iter().zip(numbers);
    transports
        .map(|(transport, &kind)| kinds[usize::from(kind)].packet_sizes(transport))
        .collect()
}

/// Returns the kind of each transport: its index in `kinds`.
pub(crate) fn kind_numbers(
    transports: &[TransportConfig],
    kinds: &[&'static dyn TransportKind],
) -> Result<Vec<u8>, String> {
    let number = |transport: &TransportConfig| {
        let number = kinds.iter().position(|kind| kind.name() == transport.kind);
        let names = || {
            kinds
                .iter()
                .map(|kind| kind.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        number
            .map(|number| number as u8)
            .ok_or_else(|| format!("transport of kind {}; allowed: {}", transport.kind, names()))
    };
    transports.iter().map(number).collect()
}

/// Sets the timers at which flows start and stop and generators act.
fn set_first_timers(engine: &mut Engine<Host>, shared: &Shared) {
    for (flow, spec) in shared.flows.iter().enumerate() {
        let node = shared.fabric.hosts[spec.from as usize];
        engine.set_timer(
            spec.from,
            node,
            spec.start.0,
            host_timer(HostTimer::Start, flow as u32),
        );
        if let Some(stop) = spec.stop {
            engine.set_timer(spec.from, node, stop.0, host_timer(HostTimer::Stop, flow as u32));
        }
    }
    for (index, generator) in (0_u32..).zip(&shared.generators) {
        for connection in generator.connections() {
            let host = generator.flow(connection).from;
            if let Some(flow) = shared.flow_index(index, connection) {
                let node = shared.fabric.hosts[host as usize];
                engine.set_timer(host, node, 0, host_timer(HostTimer::Connect, flow));
            }
        }
        for (time, host, step) in generator.timed_actions() {
            let node = shared.fabric.hosts[host as usize];
            if let Some(key) = shared.action_timer_key(index, step) {
                engine.set_timer(host, node, time.0, key);
            }
        }
    }
}
