//! The backend of the packet level.

use std::thread::available_parallelism;

use weft_fabric::NetworkSize;
use weft_paths::draw_seed;
use weft_run::{
    ActiveRun, Backend, Counters, Error, Feature, Level, MeasurementWindow, Outcome, Plan, RunOptions,
    RunOutput, WireFormat,
};
use weft_spec::{HostJitter, HostQueues, Hosts, Spec, SpecError, Time, conflict};
use weft_transports::{NamedProfile, PROFILES, TransportConfig, profile_name};

use crate::transport::{Host, transports};
use crate::{Jitter, NicConfig, Offload, PacketSimulation, SimulationConfig, Threads, footprint};

/// The packet level.
pub struct PacketBackend;

impl Backend for PacketBackend {
    fn level(&self) -> &'static Level {
        &Level {
            name: "packet",
            about: "packet-level simulation: every packet, queue and timer (default)",
            deterministic: true,
            exclusive: false,
            features: &[Feature::Controllers, Feature::WriteRates, Feature::QueueKinds],
        }
    }

    fn transport_kinds(&self) -> Vec<&'static str> {
        transports().iter().map(|kind| kind.name()).collect()
    }

    /// Fills in the behaviour of hosts: as the spec says, else as the profile of all transports,
    /// else as the default profile.
    fn fill_defaults(&self, spec: &mut Spec) -> Result<(), SpecError> {
        let is_profile_of_all = |profile: &&NamedProfile| {
            spec.transports
                .values()
                .all(|transport| profile_name(&transport.params) == profile.name)
        };
        let profile = PROFILES.iter().find(is_profile_of_all).unwrap_or(&PROFILES[0]);
        let nic = match spec.hosts.qdisc {
            _ if spec.queues.host == HostQueues::default() => spec.hosts.qdisc.or(profile.hosts.qdisc),
            None | Some(weft_spec::Qdisc::Switch) => Some(weft_spec::Qdisc::Switch),
            Some(weft_spec::Qdisc::Fq | weft_spec::Qdisc::Fifo) => {
                return conflict(
                    "queues.host",
                    "the ports of hosts have no queue with this hosts.qdisc",
                    "remove this table or set hosts.qdisc = \"switch\"",
                );
            }
        };
        spec.hosts = Hosts {
            jitter: spec.hosts.jitter.or(profile.hosts.jitter),
            clock_ppm: spec.hosts.clock_ppm.or(profile.hosts.clock_ppm),
            qdisc: nic,
            bql_limit: spec.hosts.bql_limit.or(profile.hosts.bql_limit),
            ..spec.hosts
        };
        Ok(())
    }

    fn network_bytes(&self, size: NetworkSize) -> u64 {
        footprint::network_bytes(size)
    }

    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        footprint::open_flow_bytes(transport)
    }

    fn estimate_run_bytes(&self, plan: &Plan, streaming: bool, available_bytes: u64) -> u64 {
        footprint::run_bytes(
            &plan.fabric,
            &plan.transports,
            &plan.flows,
            &plan.generators,
            plan.spec.duration,
            streaming,
            available_bytes,
        )
    }

    fn wire_format(&self, transport: &TransportConfig) -> Option<WireFormat> {
        let kind = transports().iter().find(|kind| kind.name() == transport.kind)?;
        Some(kind.wire_format(transport))
    }

    fn start(&self, plan: Plan, options: RunOptions) -> Result<Box<dyn ActiveRun>, Error> {
        let measure = plan.measure;
        let mut simulation =
            PacketSimulation::new(SimulationConfig::from_plan(plan, options)).map_err(Error::CannotRun)?;
        if let Some((from, to)) = measure {
            simulation.measure(from, to);
        }
        Ok(Box::new(simulation))
    }
}

/// Minimum jitter that matters: the time in which a NIC fetches a packet over a PCI bus (Neugebauer
/// et al., SIGCOMM 2018).
const MIN_JITTER: Time = Time::from_ns(500);

fn jitter(spec: Option<HostJitter>, transports: &[TransportConfig]) -> Jitter {
    match spec {
        None => Jitter::default(),
        Some(HostJitter::Time(time)) => Jitter {
            time: time.0,
            packet: 0,
        },
        Some(HostJitter::Packet) => Jitter {
            time: MIN_JITTER.0,
            packet: transports
                .iter()
                .map(|transport| transport.sizes().full())
                .max()
                .unwrap_or(0) as u16,
        },
    }
}

impl SimulationConfig {
    /// Creates the configuration of a plan.
    pub fn from_plan(plan: Plan, options: RunOptions) -> Self {
        let RunOptions { threads, trace_hash } = options;
        let cores = || available_parallelism().map_or(1, usize::from);
        let jitter = jitter(plan.spec.hosts.jitter, &plan.transports);
        Self {
            fabric: plan.fabric,
            transports: plan.transports,
            kinds: transports(),
            flows: plan.flows,
            generators: plan.generators,
            probes: plan.probes,
            jitter,
            clock_ppm: plan.spec.hosts.clock_ppm.unwrap_or(0),
            nic: nic(&plan.spec.hosts),
            offload: Offload {
                tso: plan.spec.hosts.tso,
                gro: plan.spec.hosts.gro_flush_timeout,
            },
            events: plan.events,
            controller: plan.controller,
            seed: draw_seed(plan.spec.seed),
            threads: Threads::UpTo(threads.unwrap_or_else(cores)),
            trace_hash,
        }
    }
}

/// Returns the NIC of the hosts; `None` if a host's port is that of a switch.
fn nic(hosts: &Hosts) -> Option<NicConfig> {
    let fair = match hosts.qdisc? {
        weft_spec::Qdisc::Switch => return None,
        weft_spec::Qdisc::Fq => true,
        weft_spec::Qdisc::Fifo => false,
    };
    let bql_limit = hosts.bql_limit?.0 as u32;
    Some(NicConfig { bql_limit, fair })
}

impl ActiveRun for PacketSimulation {
    fn slice_granularity(&self) -> Time {
        Time(self.engine.window())
    }

    fn run_until(&mut self, end: Time) -> Result<Time, Error> {
        self.run_until(end);
        Ok(end)
    }

    fn counters(&self) -> Counters {
        let (packet_hops, timers) = self.engine.events();
        let (drops, marks) = self.engine.drops_and_marks();
        let (trims, pauses) = self.engine.trims_and_pauses();
        let timeouts = self.hosts().map(Host::timeouts).sum();
        Counters {
            packet_hops,
            timers,
            windows: self.engine.windows(),
            drops,
            losses: self.engine.lost(),
            marks,
            trims,
            pauses,
            timeouts,
        }
    }

    fn packet_hops(&self) -> u64 {
        self.engine.events().0
    }

    fn threads(&self) -> usize {
        self.engine.threads()
    }

    fn delivered_bytes(&self) -> Vec<(u32, u64)> {
        let finished = self.finished.flows.iter();
        let finished = finished.map(|(record, _)| (record.flow, record.delivered_bytes));
        self.hosts()
            .flat_map(Host::received_bytes)
            .chain(finished)
            .collect()
    }

    fn sample_rows(&self) -> usize {
        let of_hosts = self.hosts().map(|host| host.samples().len() + host.latencies());
        let captured = self.finished.packets.len() + self.finished.pause_frames.len();
        captured + of_hosts.sum::<usize>()
    }

    fn finished_rows(&self) -> usize {
        let jobs: usize = self.hosts().map(Host::finished_jobs).sum();
        self.finished.flows.len() + self.finished.suppressions.len() + jobs + self.sample_rows()
    }

    fn take_finished(&mut self) -> Outcome {
        let finished = std::mem::take(&mut self.finished);
        let (flows, opened) = self.sorted(finished.flows);
        let mut outcome = Outcome {
            end: Time(self.engine.now()),
            measured: self.measurement.as_ref().map(MeasurementWindow::bounds),
            flows,
            opened,
            suppressions: finished.suppressions,
            samples: self.sorted_samples(),
            latencies: self.latencies(),
            packets: finished.packets,
            pause_frames: finished.pause_frames,
            ..Outcome::default()
        };
        self.engine.drop_samples();
        self.drop_latencies();
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            let host = self.engine.endpoint_mut(host);
            host.drop_samples();
            outcome.jobs.append(&mut host.take_jobs());
        }
        outcome.jobs.sort_by_key(|job| (job.generator, job.job));
        outcome
            .suppressions
            .sort_by_key(|episode| (episode.flow, episode.start));
        outcome
    }

    fn completed_flows(&self, class: u32) -> u64 {
        let completions = self.hosts().map(|host| host.state().completions(class));
        completions.map(|times| times.len() as u64).sum()
    }

    fn nth_completion(&self, class: u32, n: u64) -> Option<Time> {
        let completions = self.hosts().map(|host| host.state().completions(class));
        let mut times: Vec<u64> = completions.flatten().copied().collect();
        times.sort_unstable();
        times
            .get(usize::try_from(n.checked_sub(1)?).ok()?)
            .map(|&t| Time(t))
    }

    fn warnings(&self) -> Vec<String> {
        let stall = self.delayed_ack_stall();
        let warning = || {
            format!(
                "delayed acknowledgements: flows stood still for {:.1} % of the time that they were open; compare with \
                 tcp.ack_every = 1 or a shorter tcp.delayed_ack_timeout",
                100.0 * stall
            )
        };
        let limited = self.send_buffer_limited();
        let by_send_buffer = || {
            format!(
                "send buffers: they were full for {:.1} % of the time that flows were open, and limited these instead of \
                 their windows; compare with a larger tcp.send_buffer",
                100.0 * limited
            )
        };
        let inactive = self.inactive_flows();
        let without_subflow = || {
            format!(
                "inactive subflows: {inactive} flows could not send at the end, because the congestion control had \
                 deactivated all their subflows; keep one subflow of each connection active"
            )
        };
        let deadlock = self.deadlock().map(|links| {
            format!(
                "deadlock: at the end, the links {} are paused and wait for each other; use paths without a cycle, or \
                 set watchdog in queues.kind",
                links.join(", ")
            )
        });
        let lines = [
            deadlock,
            (stall > MAX_SILENT_STALL).then(warning),
            (limited > MAX_SILENT_STALL).then(by_send_buffer),
            (inactive > 0).then(without_subflow),
        ];
        lines.into_iter().flatten().collect()
    }

    fn finish(self: Box<Self>) -> Result<RunOutput, Error> {
        Ok(RunOutput::Records(Box::new(self.into_outcome())))
    }
}

/// Fraction of the time of flows above which standstills on delayed acknowledgements and full send
/// buffers are reported.
const MAX_SILENT_STALL: f64 = 0.01;
