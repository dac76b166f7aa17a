//! The outcome of a run: the records of its flows, links, samples and jobs.

use std::collections::{BTreeMap, HashMap};

use weft_run::{
    ActiveRun, ClassRecord, DropRecord, FlowRecord, GeneratorRank, JobRecord, LatencyRecord, LinkRecord,
    Outcome, Sample, steps_and_operations,
};
use weft_spec::Time;
use weft_traffic::Flow;

use crate::engine::{DropReason, LinkCounters, Reading};
use crate::packet::DATA;
use crate::reclaim::FinishedRecords;
use crate::simulation::PacketSimulation;
use crate::transport::SentFlow;

impl PacketSimulation {
    /// Returns the records so far, without those already taken.
    pub fn outcome(&self) -> Outcome {
        self.outcome_of(self.finished.clone())
    }

    /// Returns the records at the end, without those already taken.
    pub fn into_outcome(mut self) -> Outcome {
        let finished = std::mem::take(&mut self.finished);
        self.outcome_of(finished)
    }

    /// Returns the counters of every link, in the order of the fabric.
    pub(crate) fn link_records(&self) -> Vec<LinkRecord> {
        let record = |(counters, link): (LinkCounters, u32)| {
            let pauses = self.engine.pause_counters(link).unwrap_or_default();
            LinkRecord {
                packets: counters.packets - counters.unsent.packets,
                bytes: counters.bytes - counters.unsent.bytes,
                delivered: counters.delivered,
                delivered_bytes: counters.delivered_bytes,
                in_flight: counters.in_flight,
                unsent: counters.unsent.packets,
                drops: counters.drops,
                losses: counters.lost,
                marks: counters.marks,
                pauses: pauses.pauses,
                paused: Time(pauses.time),
                expired_pauses: pauses.expired,
            }
        };
        self.engine
            .link_counters()
            .into_iter()
            .zip(0..)
            .map(record)
            .collect()
    }

    /// Returns the counters of every traffic class, by link.
    pub(crate) fn class_records(&self) -> Vec<ClassRecord> {
        let links = 0..self.shared.fabric.links.len() as u32;
        let of_link = |link| {
            let unsent = self.engine.unsent_by_class(link);
            let classes = self.engine.class_counters(link).iter().zip(unsent).zip(0..);
            classes.map(move |((counters, unsent), class)| ClassRecord {
                link,
                class,
                packets: counters.packets - unsent.packets,
                bytes: counters.bytes - unsent.bytes,
                drops: counters.drops,
                marks: counters.marks,
                trims: counters.trims,
            })
        };
        links.flat_map(of_link).collect()
    }

    /// Returns the packets that were dropped or lost, by link, reason and subflow.
    fn drop_records(&self) -> Vec<DropRecord> {
        let dropped = self.engine.dropped_packets().into_iter();
        let records = dropped.map(|dropped| DropRecord {
            link: dropped.link,
            reason: dropped.reason.name(),
            is_loss: dropped.reason == DropReason::Loss,
            subflow: dropped.key,
            packets: dropped.packets,
        });
        records.collect()
    }

    fn outcome_of(&self, finished: FinishedRecords) -> Outcome {
        let FinishedRecords {
            mut flows,
            mut suppressions,
            packets,
            pause_frames,
        } = finished;
        let in_flight = self.data_in_flight();
        for host in self.hosts() {
            for sent in host.sent_flows() {
                let opened = sent.opened;
                suppressions.extend_from_slice(&sent.suppressions);
                flows.push((self.record(sent, &in_flight), opened));
            }
        }
        let unopened = (0_u32..).zip(&self.shared.flows);
        let unopened = unopened.filter(|(_, flow)| flow.start.0 >= self.engine.now());
        flows.extend(unopened.map(|(flow, spec)| (FlowRecord::unopened(flow), spec.start)));
        suppressions.sort_by_key(|episode| (episode.flow, episode.start));
        let (flows, opened) = self.sorted(flows);
        let jobs = self.hosts().flat_map(|host| host.state().jobs().cloned());
        let mut jobs: Vec<JobRecord> = jobs.collect();
        jobs.sort_by_key(|job| (job.generator, job.job));
        let ranks = self.hosts().flat_map(|host| host.state().ranks());
        let mut ranks: Vec<_> = ranks
            .map(|(generator, record)| GeneratorRank { generator, record })
            .collect();
        ranks.sort_by_key(GeneratorRank::key);
        let tasks: Vec<_> = self.hosts().flat_map(|host| host.state().tasks()).collect();
        let (steps, operations) = steps_and_operations(&self.shared.generators, &tasks);
        let end = Time(self.engine.now());
        let measured = self.measurement.as_ref();
        Outcome {
            end,
            flows,
            opened,
            jobs,
            ranks,
            steps,
            operations,
            suppressions,
            links: self.link_records(),
            classes: self.class_records(),
            queues: self.queues(),
            drops: self.drop_records(),
            measured: measured.map(|window| window.finish(end, &self.snapshot())),
            samples: self.sorted_samples(),
            latencies: self.latencies(),
            throughput: Vec::new(),
            packets,
            pause_frames,
            counters: self.counters(),
            trace_hash: self.engine.trace_hash(),
        }
    }

    /// Returns the records in the order of their flows, and the flows among them that generators
    /// opened.
    pub(crate) fn sorted(
        &self,
        mut flows: Vec<(FlowRecord, Time)>,
    ) -> (Vec<FlowRecord>, BTreeMap<u32, Flow>) {
        flows.sort_by_key(|(record, _)| record.flow);
        let static_flows = self.shared.flows.len() as u32;
        let opened = flows.iter().filter(|(record, _)| record.flow >= static_flows);
        let opened = opened.map(|(record, start)| {
            let flow = self.shared.flow(record.flow);
            (
                record.flow,
                Flow {
                    start: *start,
                    ..flow
                },
            )
        });
        let opened = opened.collect();
        (flows.into_iter().map(|(record, _)| record).collect(), opened)
    }

    pub(crate) fn sorted_samples(&self) -> Vec<Sample> {
        let mut samples: Vec<Sample> = self.hosts().flat_map(|h| h.samples().iter().cloned()).collect();
        let covers = |time| {
            self.measurement
                .as_ref()
                .is_none_or(|window| window.contains(time))
        };
        let of_engine = self.engine.samples().filter(|s| covers(Time(s.time)));
        samples.extend(of_engine.map(|s| sample(Time(s.time), s.reading)));
        samples.sort_by_key(|s| match *s {
            Sample::Queue { time, link, .. } => (time, 0, link, 0),
            Sample::Buffer { time, node, .. } => (time, 2, node, 0),
            Sample::Subflow {
                time, flow, subflow, ..
            } => (time, 1, flow, subflow),
            Sample::Sender { time, flow, .. } => (time, 1, flow, 0),
        });
        samples
    }

    pub(crate) fn latencies(&self) -> Vec<LatencyRecord> {
        let flows = self.hosts().zip(0..);
        let flows = flows.flat_map(|(host, to)| host.flows_with_latencies().map(move |flow| (flow, to)));
        let mut flows: Vec<(u32, u32)> = flows.collect();
        flows.sort_unstable();
        let latencies_of = |(flow, to): (u32, u32)| {
            let sender = self.engine.endpoint(self.shared.flow(flow).from);
            self.engine.endpoint(to).latencies_of(flow, sender)
        };
        flows.into_iter().flat_map(latencies_of).collect()
    }

    pub(crate) fn drop_latencies(&mut self) {
        for host in 0..self.shared.fabric.hosts.len() as u32 {
            for (flow, chunks) in self.engine.endpoint_mut(host).drop_delivered() {
                let sender = self.shared.flow(flow).from;
                self.engine.endpoint_mut(sender).drop_sent(flow, chunks);
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

    /// Completes the record of a flow with what its receiver and the network have recorded.
    pub(crate) fn record(&self, sent: SentFlow, in_flight: &HashMap<(u32, u32), u64>) -> FlowRecord {
        let SentFlow {
            mut record,
            chunks,
            connection,
            ..
        } = sent;
        let flow = record.flow;
        let host = self.engine.endpoint(self.shared.flow(flow).to);
        let received = match &connection {
            None => host.received_flow(flow, chunks),
            Some(carrier) => host.tcp().received_message(carrier, chunks),
        };
        // The numbers by which packets of the subflows are counted.
        let counted = connection
            .as_ref()
            .map_or(std::slice::from_ref(&flow), |carrier| &carrier.flows);
        for (s, subflow) in (0_u32..).zip(&mut record.subflows) {
            let packets = received.as_ref().and_then(|part| part.packets.get(s as usize));
            subflow.packets_received = packets.copied().unwrap_or(0);
            let ends = [self.shared.flow(flow).from, self.shared.flow(flow).to];
            for &flow in counted {
                let trimmed = ends.map(|host| self.engine.endpoint(host).trimmed_packets(flow, s));
                subflow.packets_trimmed += trimmed.iter().sum::<u64>();
                subflow.packets_dropped += self.engine.drops_of((flow, s));
                let blocked = self.engine.blocked_of((flow, s));
                subflow.packets_blocked += blocked.packets;
                subflow.blocked.0 += blocked.time;
                subflow.packets_in_flight += in_flight.get(&(flow, s)).copied().unwrap_or(0);
            }
        }
        // A flow that was stopped before it had sent a byte is over at the time at which the sender
        // finished.
        record.finish = if chunks == 0 {
            record.acked
        } else {
            received.as_ref().and_then(|part| part.finish)
        };
        let delivered = received.map_or(0, |part| part.bytes);
        let measurement = self.measurement.as_ref();
        record.delivered_bytes = delivered;
        record.measured_bytes = measurement.map_or(delivered, |window| window.bytes_in(flow, delivered));
        record
    }
}

/// Returns the record of a sample that the engine has taken.
fn sample(time: Time, reading: Reading) -> Sample {
    match reading {
        Reading::Queue {
            link,
            length,
            marks,
            drops,
        } => Sample::Queue {
            time,
            link,
            length,
            marks,
            drops,
        },
        Reading::Buffer { node, bytes } => Sample::Buffer { time, node, bytes },
    }
}
