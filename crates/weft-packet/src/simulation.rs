//! A packet-level run: hosts with transports over the window engine.

use std::collections::HashMap;
use std::sync::Arc;

use weft_fabric::{Fabric, Link};
use weft_run::{
    Change, Counted, Counters, FlowRecord, JobRecord, LatencyRecord, LinkEvent, Measuring, Outcome, Probe,
    QueueRecord, Sample, SubflowRecord,
};
use weft_spec::{Rate, Time};
use weft_traffic::Flow;

use crate::controlling::Controlling;
use crate::engine::packet::DATA;
use crate::engine::route::HopBits;
use crate::engine::{Engine, MOST_ARRIVALS, Plan};
use crate::events::Agenda;
use crate::paths::Dead;
use crate::retiring::{Ended, Searches};
use crate::setup::Setup;
use crate::transport::{Connection, FlowProbes, Host, Shared, TimerKind, timer_key};

/// A packet-level run in progress.
pub struct Simulation {
    pub(crate) engine: Engine<Host>,
    pub(crate) shared: Arc<Shared>,
    /// What flows that have ended left.
    pub(crate) ended: Ended,
    /// What is still to happen to links.
    pub(crate) agenda: Agenda,
    /// When more of them are looked for.
    pub(crate) searches: Searches,
    /// Who gives subflows their paths, if anyone does.
    pub(crate) controlling: Option<Controlling>,
    /// Links whose distribution is kept.
    distributions: Vec<u32>,
    /// Links that are sampled, by probe of the engine.
    sampled: Vec<u32>,
    /// The part of the run that is measured; none: all of it.
    measuring: Option<Measuring>,
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
            mut transports,
            flows,
            programs,
            probes,
            jitter,
            nic,
            events,
            controller,
            seed,
            threads,
            trace_hash,
        } = setup;
        for transport in &mut transports {
            transport.profile = transport.profile.clone().framed();
        }
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
            seed,
            arrivals: MOST_ARRIVALS,
            jitter: jitter.0,
            threads,
            trace: trace_hash,
            distributions: Vec::new(),
            samples: Vec::new(),
            changes: events.iter().map(|event| (event.link, event.change)).collect(),
        };
        let shared = Arc::new(Shared {
            probes: FlowProbes::new(&probes),
            hops: HopBits::of(&fabric),
            dead: Dead::of(if events.is_empty() { 0 } else { fabric.links.len() }),
            fabric,
            transports,
            flows,
            programs,
            nic,
            seed,
        });
        check_links(&shared.fabric, plan.min_packet)?;
        check_events(&shared, &events, plan.min_packet)?;
        plan.arrivals -= burst(&shared.fabric, &events, plan.min_packet)?;
        check(&shared)?;
        for probe in &probes {
            match *probe {
                Probe::Queue { link } => plan.distributions.push(link),
                Probe::QueueTrace { link, every } => plan.samples.push((link, every.0.max(1))),
                // placed when the flows open
                Probe::Flow { .. }
                | Probe::Program { .. }
                | Probe::Latency { .. }
                | Probe::ProgramLatency { .. } => {}
            }
        }
        let mut engine = Engine::new(&shared.fabric, &plan, |host| Host::new(Arc::clone(&shared), host));
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
            agenda: Agenda::new(&events),
            searches: Searches::new(engine.window(), engine.next()),
            controlling: controller.map(Controlling::new),
            engine,
            shared,
            ended: Ended::default(),
            distributions: plan.distributions,
            sampled,
            measuring: None,
        })
    }

    /// Links, queues and goodput are told of events from `from` on and before `to` only. To be called before the run begins.
    pub fn measure(&mut self, from: Time, to: Time) {
        self.measuring = Some(Measuring::new(from, to));
    }

    /// What is simulated at a time: slices that end at its multiples cut no window in two.
    pub fn window(&self) -> Time {
        Time(self.engine.window())
    }

    /// Simulates up to `end` (all events before it). May be called again with a later end; the results do not depend on
    /// where a run was cut.
    pub fn run_until(&mut self, end: Time) {
        while let Some(cut) = self.measuring.as_ref().and_then(Measuring::next)
            && cut <= end
        {
            self.advance(cut);
            let counted = self.counted();
            if let Some(measuring) = &mut self.measuring {
                measuring.note(counted);
            }
        }
        self.advance(end);
    }

    fn advance(&mut self, end: Time) {
        loop {
            let due = self.searches.next.min(self.agenda.time()).min(self.control_due());
            if due >= end.0 {
                break;
            }
            self.engine.run_until(due);
            self.take_steps(due);
            if due == self.control_due() {
                self.control();
            }
            if due == self.searches.next {
                self.retire();
                self.searches.next_after(self.engine.next());
            }
        }
        self.engine.run_until(end.0);
    }

    fn counted(&self) -> Counted {
        let assemblies = self.hosts().flat_map(Host::assemblies);
        Counted {
            links: self.engine.link_records(),
            queues: self.queues(),
            bytes: assemblies.map(|it| (it.flow, it.bytes)).collect(),
        }
    }

    fn queues(&self) -> Vec<QueueRecord> {
        let record = |&link: &u32| {
            let time_at = self.engine.distribution(link).unwrap_or_default();
            QueueRecord {
                link,
                time_at: time_at.into_iter().map(Time).collect(),
            }
        };
        self.distributions.iter().map(record).collect()
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

    /// Rows of traces and latencies of flows so far.
    pub fn samples(&self) -> usize {
        self.hosts()
            .map(|host| host.samples.len() + host.latencies())
            .sum()
    }

    /// Flows of this class whose data is all acknowledged.
    pub fn completed(&self, class: u32) -> u64 {
        let completions = self
            .hosts()
            .filter_map(|host| host.completions.get(class as usize));
        completions.map(|times| times.len() as u64).sum()
    }

    /// When the `n`-th flow of this class (from 1) had all its data acknowledged, if so many have.
    pub fn completion(&self, class: u32, n: u64) -> Option<Time> {
        let completions = self
            .hosts()
            .filter_map(|host| host.completions.get(class as usize));
        let mut times: Vec<u64> = completions.flatten().copied().collect();
        times.sort_unstable();
        times
            .get(usize::try_from(n.checked_sub(1)?).ok()?)
            .map(|&t| Time(t))
    }

    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        (0..self.shared.fabric.hosts.len() as u32).map(|host| self.engine.endpoint(host))
    }

    /// The flows of the setup.
    pub fn flows(&self) -> &[Flow] {
        &self.shared.flows
    }

    /// The tables as they stand, without what was taken before.
    pub fn outcome(&self) -> Outcome {
        self.outcome_with(self.ended.clone())
    }

    /// The tables at the end, without what was taken before.
    pub fn into_outcome(mut self) -> Outcome {
        let ended = std::mem::take(&mut self.ended);
        self.outcome_with(ended)
    }

    /// How many rows [`take_ended`](Self::take_ended) would yield, but for those of subflows.
    pub fn ended(&self) -> usize {
        let jobs: usize = self.hosts().map(|host| host.jobs.len()).sum();
        self.ended.flows.len() + self.ended.suppressions.len() + jobs + self.samples()
    }

    /// Hands over, and forgets, the flows of which nothing is left and the jobs that have ended, and the samples so far. Links
    /// and queues are not told of.
    pub fn take_ended(&mut self) -> Outcome {
        let ended = std::mem::take(&mut self.ended);
        let (flows, opened) = self.sorted(ended.flows);
        let mut outcome = Outcome {
            end: Time(self.engine.now()),
            measured: self.measuring.as_ref().map(Measuring::whole),
            flows,
            opened,
            suppressions: ended.suppressions,
            samples: self.sorted_samples(),
            latencies: self.latencies(),
            ..Outcome::default()
        };
        self.engine.forget_queue_samples();
        self.forget_latencies();
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            let host = self.engine.endpoint_mut(host);
            host.samples = Vec::new();
            outcome.jobs.append(&mut host.jobs);
        }
        outcome.jobs.sort_by_key(|job| (job.program, job.job));
        outcome
            .suppressions
            .sort_by_key(|episode| (episode.flow, episode.start));
        outcome
    }

    fn outcome_with(&self, ended: Ended) -> Outcome {
        let Ended {
            mut flows,
            mut suppressions,
        } = ended;
        let in_flight = self.data_in_flight();
        for host in self.hosts() {
            for connection in host.connections() {
                let record = self.record(host, connection, &in_flight);
                flows.push((record, Time(connection.opened)));
                suppressions.extend(connection.episodes());
            }
        }
        let unopened = (0_u32..).zip(&self.shared.flows);
        let unopened = unopened.filter(|(_, flow)| flow.start.0 >= self.engine.now());
        flows.extend(unopened.map(|(flow, spec)| (FlowRecord::unopened(flow), spec.start)));
        suppressions.sort_by_key(|episode| (episode.flow, episode.start));
        let (flows, opened) = self.sorted(flows);
        let running = |host: &Host| {
            host.running
                .values()
                .map(|job| job.record.clone())
                .collect::<Vec<_>>()
        };
        let jobs = self.hosts().flat_map(|host| [host.jobs.clone(), running(host)]);
        let mut jobs: Vec<JobRecord> = jobs.flatten().collect();
        jobs.sort_by_key(|job| (job.program, job.job));
        let end = Time(self.engine.now());
        let measured = self.measuring.as_ref();
        Outcome {
            end,
            flows,
            opened,
            jobs,
            suppressions,
            links: self.engine.link_records(),
            queues: self.queues(),
            measured: measured.map(|it| it.measured(end, self.counted())),
            samples: self.sorted_samples(),
            latencies: self.latencies(),
            counters: self.counters(),
            trace_hash: self.engine.trace_hash(),
        }
    }

    /// Records in the order of their flows, and those among the flows that programs opened.
    fn sorted(&self, mut flows: Vec<(FlowRecord, Time)>) -> (Vec<FlowRecord>, Vec<Flow>) {
        flows.sort_by_key(|(record, _)| record.flow);
        let statics = self.shared.flows.len() as u32;
        let opened = flows.iter().filter(|(record, _)| record.flow >= statics);
        let opened = opened.map(|(record, start)| Flow {
            start: *start,
            ..self.shared.flow(record.flow)
        });
        let opened = opened.collect();
        (flows.into_iter().map(|(record, _)| record).collect(), opened)
    }

    fn sorted_samples(&self) -> Vec<Sample> {
        let mut samples: Vec<Sample> = self.hosts().flat_map(|h| h.samples.iter().cloned()).collect();
        let covers = |time| self.measuring.as_ref().is_none_or(|it| it.covers(time));
        let queues = self.engine.queue_samples().filter(|s| covers(Time(s.time)));
        samples.extend(queues.map(|s| Sample::Queue {
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
        samples
    }

    fn latencies(&self) -> Vec<LatencyRecord> {
        let flows = self.hosts().zip(0..);
        let flows = flows.flat_map(|(host, to)| host.flows_with_latencies().map(move |flow| (flow, to)));
        let mut flows: Vec<(u32, u32)> = flows.collect();
        flows.sort_unstable();
        let of = |(flow, to): (u32, u32)| {
            let sender = self.engine.endpoint(self.shared.flow(flow).from);
            self.engine.endpoint(to).latencies_of(flow, sender)
        };
        flows.into_iter().flat_map(of).collect()
    }

    fn forget_latencies(&mut self) {
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            for (flow, chunks) in self.engine.endpoint_mut(host).forget_delivered() {
                let sender = self.shared.flow(flow).from;
                self.engine.endpoint_mut(sender).forget_sent(flow, chunks);
            }
        }
    }

    fn data_in_flight(&self) -> HashMap<(u32, u32), u64> {
        let mut in_flight = HashMap::new();
        for (_, packet) in self.engine.in_flight().filter(|(_, p)| p.flags & DATA != 0) {
            *in_flight.entry((packet.lo, packet.hi)).or_default() += 1;
        }
        in_flight
    }

    /// A flow's record as it stands.
    pub(crate) fn record(
        &self,
        sender: &Host,
        connection: &Connection,
        in_flight: &HashMap<(u32, u32), u64>,
    ) -> FlowRecord {
        let flow = connection.flow;
        let receiver = self.engine.endpoint(self.shared.flow(flow).to);
        let time = |t: u64| (t != u64::MAX).then_some(Time(t));
        let subflows = (0_u32..)
            .zip(sender.subflows_of(connection))
            .map(|(s, subflow)| SubflowRecord {
                established: time(subflow.stats.established),
                packets_sent: subflow.stats.packets_sent,
                retransmitted: subflow.stats.retransmitted,
                packets_received: receiver.receiver(flow, s).map_or(0, |r| r.packets),
                packets_dropped: self.engine.drops_of((flow, s)),
                packets_in_flight: in_flight.get(&(flow, s)).copied().unwrap_or(0),
                marked: subflow.stats.marked,
                fast_retransmits: subflow.stats.fast_retransmits,
                timeouts: subflow.stats.timeouts,
                syn_timeouts: subflow.stats.syn_timeouts,
                acked_bytes: subflow.una,
                cwnd: connection.windows[s as usize].cwnd,
                srtt: connection.windows[s as usize].srtt,
            });
        let assembly = receiver.assembly(flow);
        let finish = match assembly {
            // stopped before it had sent a byte: over when the sender says so
            _ if connection.total == 0 => time(connection.finished),
            Some(assembly) if assembly.chunks.next() == connection.total => Some(Time(assembly.newest)),
            _ => None,
        };
        let delivered = assembly.map_or(0, |a| a.bytes);
        let measuring = self.measuring.as_ref();
        FlowRecord {
            flow,
            established: time(connection.established),
            finish,
            acked: time(connection.finished),
            delivered_bytes: delivered,
            measured_bytes: measuring.map_or(delivered, |it| it.bytes(flow, delivered)),
            reinjected: connection.reinjected,
            suppressions: connection.suppressions,
            subflows: subflows.collect(),
        }
    }
}

/// Refuses links that [`check_link`] refuses, and nodes with more links than can be told apart.
fn check_links(fabric: &Fabric, min_packet: u32) -> Result<(), String> {
    let mut links_into = vec![0_u64; fabric.nodes.len()];
    for link in &fabric.links {
        links_into[link.to as usize] += 1;
        if links_into[link.to as usize] > MOST_ARRIVALS {
            let to = &fabric.nodes[link.to as usize].name;
            return Err(format!(
                "more than {MOST_ARRIVALS} links to {to}; allowed: so many"
            ));
        }
        check_link(fabric, link, min_packet)?;
    }
    Ok(())
}

/// Refuses a link onto which the smallest packet goes in no time, which leaves no order of cause and effect, or which it crosses
/// in more than a window can be long.
fn check_link(fabric: &Fabric, link: &Link, min_packet: u32) -> Result<(), String> {
    const LONGEST: Time = Time::from_ms(10_000);
    let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
    let sending = u128::from(min_packet) * 8_000_000_000_000 / u128::from(link.rate.0);
    let crossing = Time(link.delay.0.saturating_add(sending as u64));
    // Of what is simulated up to a picosecond is cut off.
    if sending < 2 {
        return Err(format!(
            "link from {from} to {to}: a packet of {min_packet}B is sent in {}; allowed: at least 2ps",
            Time(sending as u64)
        ));
    }
    if crossing > LONGEST {
        return Err(format!(
            "link from {from} to {to}: a packet of {min_packet}B takes {crossing}; allowed: at most {LONGEST}"
        ));
    }
    Ok(())
}

/// Refuses events of links that do not exist or that no link could be after. A job's end is told to the next client by a packet that
/// must not be lost, so that jobs do without dead links.
fn check_events(shared: &Shared, events: &[LinkEvent], min_packet: u32) -> Result<(), String> {
    let links = &shared.fabric.links;
    for event in events {
        let link = links.get(event.link as usize);
        let link = link.ok_or(format!(
            "an event of link {}; allowed: below {}",
            event.link,
            links.len()
        ))?;
        let changed = match event.change {
            Change::Down if shared.programs.iter().any(|program| program.job(0).is_some()) => {
                return Err("a link goes down beside jobs; allowed: traffic of other kinds".to_owned());
            }
            Change::Down | Change::Up => continue,
            Change::Rate(rate) => Link { rate, ..link.clone() },
            Change::Delay(delay) => Link {
                delay,
                ..link.clone()
            },
        };
        check_link(&shared.fabric, &changed, min_packet)?;
    }
    Ok(())
}

/// The most packets that a node gets at once because the delay of links to it is cut: those that were under way for longer than they
/// are from then on.
fn burst(fabric: &Fabric, events: &[LinkEvent], min_packet: u32) -> Result<u64, String> {
    const MOST: u64 = MOST_ARRIVALS / 2;
    // Of each link whose delay changes: the shortest and the longest that it ever has, and the highest rate.
    let mut changing: HashMap<u32, (Time, Time, Rate)> = HashMap::new();
    for event in events {
        let link = &fabric.links[event.link as usize];
        let (least, most, rate) = changing
            .entry(event.link)
            .or_insert((link.delay, link.delay, link.rate));
        match event.change {
            Change::Delay(delay) => (*least, *most) = ((*least).min(delay), (*most).max(delay)),
            Change::Rate(changed) => *rate = (*rate).max(changed),
            Change::Down | Change::Up => {}
        }
    }
    let mut at_once: HashMap<u32, u64> = HashMap::new();
    for (&link, &(least, most, rate)) in &changing {
        let bits = u128::from(most.0 - least.0) * u128::from(rate.0) / 1_000_000_000_000;
        let packets = u64::try_from(bits / (8 * u128::from(min_packet))).unwrap_or(u64::MAX);
        let sum = at_once.entry(fabric.links[link as usize].to).or_default();
        *sum = sum.saturating_add(packets);
    }
    let worst = at_once.into_iter().max_by_key(|&(node, packets)| (packets, node));
    match worst {
        Some((node, packets)) if packets > MOST => {
            let to = &fabric.nodes[node as usize].name;
            Err(format!(
                "events cut the delay of links to {to}, so that up to {packets} packets arrive at once; allowed: {MOST}, with \
                 a smaller cut or rate"
            ))
        }
        worst => Ok(worst.map_or(0, |(_, packets)| packets)),
    }
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
        for (a, b) in [(from, to), (to, from)] {
            shared.check_routes(a, b)?;
        }
    }
    Ok(())
}
