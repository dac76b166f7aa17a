//! A packet-level run: hosts with transports over the window engine.

use std::collections::HashMap;
use std::sync::Arc;

use weft_fabric::Fabric;
use weft_spec::Time;
use weft_traffic::Flow;

use crate::engine::packet::DATA;
use crate::engine::{Engine, Plan};
use crate::outcome::{
    Counters, FlowRecord, JobRecord, Outcome, QueueRecord, Sample, SubflowRecord, SuppressionRecord,
};
use crate::paths::Ecmp;
use crate::setup::{Probe, Setup};
use crate::transport::{FlowProbe, Host, Shared, TimerKind, timer_key};

/// A packet-level run in progress.
pub struct Simulation {
    engine: Engine<Host>,
    shared: Arc<Shared>,
    /// Links whose distribution is kept.
    distributions: Vec<u32>,
    /// Links that are sampled, by probe of the engine.
    sampled: Vec<u32>,
}

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// What cannot be simulated, in words: a path longer than a packet's route field, a flow between hosts that do not
    /// exist, a size beyond what a connection can number.
    pub fn new(setup: Setup) -> Result<Self, String> {
        let Setup {
            fabric,
            transports,
            flows,
            programs,
            probes,
            seed,
            threads,
            trace_hash,
        } = setup;
        let mut plan = Plan {
            // The last segment of a flow may be a byte.
            min_packet: transports
                .iter()
                .map(|t| t.profile.ack_size.min(t.profile.header + 1))
                .min()
                .unwrap_or(1),
            max_packet: transports
                .iter()
                .map(|t| (t.profile.mss + t.profile.header).max(t.profile.ack_size))
                .max()
                .unwrap_or(1),
            threads,
            trace: trace_hash,
            distributions: Vec::new(),
            samples: Vec::new(),
        };
        let ecmp = Ecmp::new(&fabric, seed);
        let shared = Arc::new(Shared {
            fabric,
            transports,
            flows,
            programs,
            ecmp,
            seed,
        });
        check_links(&shared.fabric, plan.min_packet)?;
        check(&shared)?;
        let mut flow_probes: HashMap<u32, Vec<FlowProbe>> = HashMap::new();
        for probe in &probes {
            match *probe {
                Probe::Queue { link } => plan.distributions.push(link),
                Probe::QueueTrace { link, every } => plan.samples.push((link, every.0.max(1))),
                Probe::Flow { flow, every } => {
                    let from = shared.flows[flow as usize].from;
                    flow_probes.entry(from).or_default().push(FlowProbe {
                        flow,
                        every: every.0.max(1),
                    });
                }
            }
        }
        let mut engine = Engine::new(&shared.fabric, &plan, |host| {
            let mut endpoint = Host::new(Arc::clone(&shared), host);
            endpoint.probes = flow_probes.remove(&host).unwrap_or_default();
            endpoint
        });
        for (host, &node) in shared.fabric.hosts.iter().enumerate() {
            for probe in 0..engine.endpoint(host as u32).probes.len() as u32 {
                let every = engine.endpoint(host as u32).probes[probe as usize].every;
                engine.set_timer(host as u32, node, every, timer_key(TimerKind::Sample, probe));
            }
        }
        for (flow, spec) in shared.flows.iter().enumerate() {
            let node = shared.fabric.hosts[spec.from as usize];
            engine.set_timer(
                spec.from,
                node,
                spec.start.0,
                timer_key(TimerKind::Start, flow as u32),
            );
            if let Some(stop) = spec.stop {
                engine.set_timer(spec.from, node, stop.0, timer_key(TimerKind::Stop, flow as u32));
            }
        }
        for (program, it) in (0_u32..).zip(&shared.programs) {
            for (time, host, step) in it.first() {
                let node = shared.fabric.hosts[host as usize];
                if let Some(key) = shared.step_key(program, step) {
                    engine.set_timer(host, node, time.0, key);
                }
            }
        }
        let sampled = plan.samples.iter().map(|&(link, _)| link).collect();
        Ok(Self {
            engine,
            shared,
            distributions: plan.distributions,
            sampled,
        })
    }

    /// What is simulated at a time: slices that end at its multiples cut no window in two.
    pub fn window(&self) -> Time {
        Time(self.engine.window())
    }

    /// Simulates up to `end` (all events before it). May be called again with a later end; the results do not depend on
    /// where a run was cut.
    pub fn run_until(&mut self, end: Time) {
        self.engine.run_until(end.0);
    }

    /// The totals as they stand; cheap, so that progress can be told after every slice. Marks, drops and timeouts are
    /// those of links and senders so far.
    pub fn counters(&self) -> Counters {
        let (packet_hops, timers) = self.engine.events();
        let (drops, marks) = self.engine.drops_and_marks();
        let timeouts = self.hosts().map(Host::timeouts).sum();
        Counters {
            packet_hops,
            timers,
            windows: self.engine.windows(),
            drops,
            marks,
            timeouts,
        }
    }

    /// Flows of this class whose data is all acknowledged.
    pub fn completed(&self, class: u32) -> u64 {
        let completed = self.hosts().map(|host| host.completed.get(class as usize));
        completed.flatten().sum()
    }

    /// When the `n`-th flow of this class (from 1) had all its data acknowledged, if so many have.
    pub fn completion(&self, class: u32, n: u64) -> Option<Time> {
        let finished = self.hosts().flat_map(|host| &host.connections);
        let mut times: Vec<u64> = finished
            .filter(|c| c.finished != u64::MAX && self.shared.flow(c.flow).class == class)
            .map(|c| c.finished)
            .collect();
        times.sort_unstable();
        times
            .get(usize::try_from(n.checked_sub(1)?).ok()?)
            .map(|&t| Time(t))
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        (0..self.shared.fabric.hosts.len() as u32).map(|host| self.engine.endpoint(host))
    }

    /// The tables as they stand.
    pub fn outcome(&self) -> Outcome {
        let mut in_flight: HashMap<(u32, u32), u64> = HashMap::new();
        for packet in self.engine.in_flight().filter(|p| p.flags & DATA != 0) {
            *in_flight.entry((packet.lo, packet.hi)).or_default() += 1;
        }
        let mut dropped: HashMap<(u32, u32), u64> = HashMap::new();
        for (key, n) in self.engine.drops() {
            *dropped.entry(key).or_default() += n;
        }
        let statics = self.shared.flows.len() as u32;
        let connections = || self.hosts().flat_map(|host| &host.connections);
        let mut opened: Vec<(u32, u64)> = connections()
            .filter(|c| c.flow >= statics)
            .map(|c| (c.flow, c.opened))
            .collect();
        opened.sort_unstable();
        let flows = (0..statics)
            .chain(opened.iter().map(|&(flow, _)| flow))
            .map(|flow| self.flow(flow, &in_flight, &dropped))
            .collect();
        let opened = opened.iter().map(|&(flow, start)| Flow {
            start: Time(start),
            ..self.shared.flow(flow)
        });
        let jobs = self.hosts().flat_map(|host| &host.jobs);
        let mut jobs: Vec<JobRecord> = jobs.map(|job| job.record.clone()).collect();
        jobs.sort_by_key(|job| (job.program, job.job));
        let mut suppressions: Vec<SuppressionRecord> = connections()
            .flat_map(|c| {
                let since = Some(c.suppressed_since).filter(|&since| since != u64::MAX);
                let ended = c.episodes.iter().map(|&(start, end)| (start, Some(Time(end))));
                ended
                    .chain(since.map(|start| (start, None)))
                    .map(|(start, end)| SuppressionRecord {
                        flow: c.flow,
                        start: Time(start),
                        end,
                    })
            })
            .collect();
        suppressions.sort_by_key(|episode| (episode.flow, episode.start));
        let mut samples: Vec<Sample> = self.hosts().flat_map(|h| h.samples.iter().cloned()).collect();
        samples.extend(self.engine.queue_samples().map(|s| Sample::Queue {
            time: Time(s.time),
            link: self.sampled[s.probe as usize],
            length: s.length,
        }));
        samples.sort_by_key(|s| match *s {
            Sample::Queue { time, link, .. } => (time, 0, link, 0),
            Sample::Subflow {
                time, flow, subflow, ..
            } => (time, 1, flow, subflow),
        });
        let queue = |&link: &u32| QueueRecord {
            link,
            time_at: self
                .engine
                .distribution(link)
                .unwrap_or_default()
                .into_iter()
                .map(Time)
                .collect(),
        };
        Outcome {
            end: Time(self.engine.now()),
            flows,
            opened: opened.collect(),
            jobs,
            suppressions,
            links: self.engine.link_records(),
            queues: self.distributions.iter().map(queue).collect(),
            samples,
            counters: self.counters(),
            trace_hash: self.engine.trace_hash(),
        }
    }

    fn flow(
        &self,
        flow: u32,
        in_flight: &HashMap<(u32, u32), u64>,
        dropped: &HashMap<(u32, u32), u64>,
    ) -> FlowRecord {
        let spec = self.shared.flow(flow);
        let sender = self.engine.endpoint(spec.from);
        let receiver = self.engine.endpoint(spec.to);
        let Some((connection, subflows)) = sender.connection(flow) else {
            return FlowRecord {
                flow,
                established: None,
                finish: None,
                delivered_bytes: 0,
                reinjected: 0,
                suppressions: 0,
                subflows: Vec::new(),
            };
        };
        let time = |t: u64| (t != u64::MAX).then_some(Time(t));
        let subflows = (0_u32..).zip(subflows).map(|(s, subflow)| SubflowRecord {
            established: time(subflow.stats.established),
            packets_sent: subflow.stats.packets_sent,
            retransmitted: subflow.stats.retransmitted,
            packets_received: receiver.receiver(flow, s).map_or(0, |r| r.packets),
            packets_dropped: dropped.get(&(flow, s)).copied().unwrap_or(0),
            packets_in_flight: in_flight.get(&(flow, s)).copied().unwrap_or(0),
            marked: subflow.stats.marked,
            fast_retransmits: subflow.stats.fast_retransmits,
            timeouts: subflow.stats.timeouts,
            syn_timeouts: subflow.stats.syn_timeouts,
            acked_bytes: subflow.una,
            cwnd: connection.windows[s as usize].cwnd,
            srtt: connection.windows[s as usize].srtt,
        });
        FlowRecord {
            flow,
            established: time(connection.established),
            finish: time(connection.finished),
            delivered_bytes: receiver.assembly(flow).map_or(0, |a| a.bytes),
            reinjected: connection.reinjected,
            suppressions: connection.suppressions,
            subflows: subflows.collect(),
        }
    }
}

/// Refuses links that the smallest packet crosses in no time, which leaves no order of cause and effect, or in more than a
/// window can be long.
fn check_links(fabric: &Fabric, min_packet: u32) -> Result<(), String> {
    const ALLOWED: std::ops::RangeInclusive<Time> = Time(1)..=Time::from_ms(10_000);
    for link in &fabric.links {
        let serialisation = u128::from(min_packet) * 8_000_000_000_000 / u128::from(link.rate.0);
        let time = Time(link.delay.0.saturating_add(serialisation as u64));
        if !ALLOWED.contains(&time) {
            let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
            return Err(format!(
                "link from {from} to {to}: a packet of {min_packet}B takes {time}; allowed: {} to {}",
                ALLOWED.start(),
                ALLOWED.end()
            ));
        }
    }
    Ok(())
}

/// Refuses what cannot be simulated. Of a program's flows the first stands for all, whose sizes have a bound.
fn check(shared: &Shared) -> Result<(), String> {
    let hosts = &shared.fabric.hosts;
    let firsts: Vec<Flow> = shared.programs.iter().map(|program| program.flow(0)).collect();
    for (flow, spec) in (0_u32..).zip(shared.flows.iter().chain(&firsts)) {
        let node = |host: u32| {
            hosts
                .get(host as usize)
                .ok_or(format!("flow {flow}: no host {host}"))
        };
        let (from, to) = (*node(spec.from)?, *node(spec.to)?);
        if from == to {
            return Err(format!("flow {flow}: from a host to itself"));
        }
        let transport = shared
            .transports
            .get(spec.transport as usize)
            .ok_or(format!("flow {flow}: no transport {}", spec.transport))?;
        let chunks = spec
            .size
            .map_or(0, |s| s.0.div_ceil(u64::from(transport.profile.mss)));
        if spec.size.is_some() && !(1..1 << 31).contains(&chunks) {
            return Err(format!(
                "flow {flow}: {chunks} segments; allowed: 1 to 2147483647"
            ));
        }
        // Paths of one topology differ little in length, so the first subflow's two directions stand for all.
        for back in [false, true] {
            let (a, b) = if back { (to, from) } else { (from, to) };
            shared.ecmp.route(&shared.fabric, a, b, flow, 0, back)?;
        }
    }
    Ok(())
}
