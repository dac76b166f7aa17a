//! The tables `flows` and `subflows`.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::Flow;
use weft_transports::FctFrom;

use super::{TableBuilder, TableContext, generator_of};
use crate::{Error, FlowRecord, Outcome, SubflowRecord};

impl TableBuilder<'_> {
    pub(super) fn flows(&self) -> Result<RecordBatch, Error> {
        let Self { context, outcome, .. } = self;
        let rows: Vec<(&Flow, &FlowRecord, Option<Time>)> = self
            .flows
            .iter()
            .zip(&outcome.flows)
            .zip(&self.ideal)
            .map(|((flow, record), ideal)| (flow, record, *ideal))
            .collect();
        let suppressed = suppressed(outcome);
        self.columns("flows", &rows)
            .index("flow", |(_, record, _)| record.flow)
            .text("traffic", |(flow, ..)| self.traffic(flow.traffic))
            .text("transport", |(flow, ..)| {
                context.transports[flow.transport as usize].as_str()
            })
            .text("from", |(flow, ..)| context.host(flow.from))
            .text("to", |(flow, ..)| context.host(flow.to))
            .index("round", |(flow, ..)| flow.round)
            .count_or_null("size_bytes", |(flow, ..)| flow.size.map(|size| size.0))
            .time("start_s", |(flow, ..)| flow.start)
            .time_or_null("stop_s", |(flow, ..)| flow.stop)
            .time_or_null("established_s", |(_, record, _)| record.established)
            .time_or_null("finish_s", |(_, record, _)| record.finish)
            .number_or_null("fct_s", |(flow, record, _)| {
                completion_time(context, flow, record)
            })
            .count("delivered_bytes", |(_, record, _)| record.delivered_bytes)
            .number_or_null("goodput_bps", |(flow, record, _)| {
                goodput(flow, record, outcome.measurement_window())
            })
            .index("subflows", |(_, record, _)| record.subflows.len() as u32)
            .count("packets_sent", sum(|subflow| subflow.packets_sent))
            .count("retransmitted", sum(|subflow| subflow.retransmitted))
            .count("packets_dropped", sum(|subflow| subflow.packets_dropped))
            .count("marked", sum(|subflow| subflow.marked.unwrap_or(0)))
            .count("fast_retransmits", sum(|s| s.fast_retransmits.unwrap_or(0)))
            .count("timeouts", sum(|subflow| subflow.timeouts))
            .count("syn_timeouts", sum(|subflow| subflow.syn_timeouts.unwrap_or(0)))
            .count("reinjected", |(_, record, _)| record.reinjected)
            .count("suppressions", |(_, record, _)| record.suppressions)
            .text("class", |(flow, ..)| {
                context.classes[flow.class as usize].as_str()
            })
            .index_or_null("job", |(_, record, _)| {
                let (generator, n) = generator_of(self.generators, self.static_flows, record.flow)?;
                generator.job_of(n)
            })
            .time("suppressed_s", |(_, record, _)| {
                Time(suppressed.get(&record.flow).copied().unwrap_or(0))
            })
            .time_or_null("acked_s", |(_, record, _)| record.acked)
            .count("measured_bytes", |(_, record, _)| record.measured_bytes)
            .number_or_null("unfinished_s", |(flow, record, _)| {
                unfinished(context, flow, record, outcome.end)
            })
            .count("packets_trimmed", sum(|subflow| subflow.packets_trimmed))
            .count("packets_blocked", sum(|subflow| subflow.packets_blocked))
            .time("blocked_s", |(_, record, _)| {
                Time(record.subflows.iter().map(|subflow| subflow.blocked.0).sum())
            })
            .time_or_null("ideal_s", |(.., ideal)| *ideal)
            .number_or_null("slowdown", |(flow, record, ideal)| {
                Some(completion_time(context, flow, record)? / ideal.as_ref()?.seconds())
            })
            .number_or_null("slowdown_at_least", |(flow, record, ideal)| {
                Some(unfinished(context, flow, record, outcome.end)? / ideal.as_ref()?.seconds())
            })
            .finish()
    }

    pub(super) fn subflows(&self) -> Result<RecordBatch, Error> {
        let rows: Vec<(u32, u32, &SubflowRecord)> = self
            .outcome
            .flows
            .iter()
            .flat_map(|record| {
                (0..)
                    .zip(&record.subflows)
                    .map(move |(i, subflow)| (record.flow, i, subflow))
            })
            .collect();
        self.columns("subflows", &rows)
            .index("flow", |(flow, ..)| *flow)
            .index("subflow", |(_, i, _)| *i)
            .time_or_null("established_s", |(.., subflow)| subflow.established)
            .count("packets_sent", |(.., subflow)| subflow.packets_sent)
            .count("retransmitted", |(.., subflow)| subflow.retransmitted)
            .count("packets_received", |(.., subflow)| subflow.packets_received)
            .count("packets_dropped", |(.., subflow)| subflow.packets_dropped)
            .count("packets_in_flight", |(.., subflow)| subflow.packets_in_flight)
            .count_or_null("marked", |(.., subflow)| subflow.marked)
            .count_or_null("fast_retransmits", |(.., subflow)| subflow.fast_retransmits)
            .count("timeouts", |(.., subflow)| subflow.timeouts)
            .count_or_null("syn_timeouts", |(.., subflow)| subflow.syn_timeouts)
            .count_or_null("acked_bytes", |(.., subflow)| subflow.acked_bytes)
            .number_or_null("cwnd_packets", |(.., subflow)| {
                Some(subflow.cwnd).filter(|&cwnd| cwnd > 0.0)
            })
            .number_or_null("srtt_s", |(.., subflow)| {
                Some(subflow.srtt).filter(|&srtt| srtt > 0.0)
            })
            .count("packets_trimmed", |(.., subflow)| subflow.packets_trimmed)
            .count_or_null("acks_received", |(.., subflow)| Some(subflow.control?.acks))
            .count_or_null("nacks_received", |(.., subflow)| Some(subflow.control?.nacks))
            .count_or_null("pulls_received", |(.., subflow)| subflow.control?.pulls)
            .count_or_null("rts_sent", |(.., subflow)| subflow.control?.rts)
            .count_or_null("rts_repeated", |(.., subflow)| subflow.control?.repeated_rts)
            .count_or_null("cnps_received", |(.., subflow)| subflow.control?.cnps)
            .count("packets_blocked", |(.., subflow)| subflow.packets_blocked)
            .time("blocked_s", |(.., subflow)| subflow.blocked)
            .time_or_null("send_buffer_limited_s", |(.., subflow)| {
                subflow.send_buffer_limited
            })
            .finish()
    }
}

/// Returns a function that sums a count over the subflows of a flow.
fn sum(count: fn(&SubflowRecord) -> u64) -> impl Fn(&(&Flow, &FlowRecord, Option<Time>)) -> u64 {
    move |(_, record, _)| record.subflows.iter().map(count).sum()
}

/// Returns the picoseconds of suppression by flow; an episode that has not ended lasts until the
/// end of the run.
fn suppressed(outcome: &Outcome) -> HashMap<u32, u64> {
    let mut total: HashMap<u32, u64> = HashMap::new();
    for episode in &outcome.suppressions {
        let end = episode.end.unwrap_or(outcome.end);
        *total.entry(episode.flow).or_default() += end.0.saturating_sub(episode.start.0);
    }
    total
}

/// Returns the start of a flow's completion time.
fn fct_start(context: &TableContext, flow: &Flow, record: &FlowRecord) -> Option<Time> {
    match context.fct_from[flow.transport as usize] {
        FctFrom::Open => Some(flow.start),
        FctFrom::Established => record.established,
    }
}

/// Returns the completion time in seconds, from the start that the profile defines until the
/// receiver has the last byte.
fn completion_time(context: &TableContext, flow: &Flow, record: &FlowRecord) -> Option<f64> {
    let from = fct_start(context, flow, record)?;
    // The difference of exact times, not of rounded seconds.
    Some(Time(record.finish?.0.checked_sub(from.0)?).seconds())
}

/// Returns the seconds from the start of the completion time until `end`, for an unfinished flow
/// that has a size or was stopped before `end`. The result is 0 if the completion time has not
/// started.
fn unfinished(context: &TableContext, flow: &Flow, record: &FlowRecord, end: Time) -> Option<f64> {
    let was_to_end = flow.size.is_some() || flow.stop.is_some_and(|stop| stop < end);
    if record.finish.is_some() || !was_to_end || flow.start >= end {
        return None;
    }
    let from = fct_start(context, flow, record).unwrap_or(end);
    Some(Time(end.0 - from.0).seconds())
}

/// Returns the application bits delivered in the window divided by the time that the flow had in
/// it, from its start to its finish; `None` if that time is 0.
fn goodput(flow: &Flow, record: &FlowRecord, (from, to): (Time, Time)) -> Option<f64> {
    let end = record.finish.map_or(to, |finish| finish.min(to));
    let time = end
        .0
        .checked_sub(flow.start.max(from).0)
        .filter(|&time| time > 0)?;
    Some(8.0 * record.measured_bytes as f64 / Time(time).seconds())
}
