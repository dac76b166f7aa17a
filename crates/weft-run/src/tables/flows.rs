//! The tables `flows` and `subflows`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator};
use weft_transports::FctFrom;

use super::columns::Columns;
use super::{TableContext, generator_of};
use crate::{ControlCounters, Error, FlowRecord, Outcome, SubflowRecord};

pub(super) fn flows(
    context: &TableContext,
    flows: &[Flow],
    static_flows: u32,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
    ideal: &[Option<Time>],
) -> Result<RecordBatch, Error> {
    let records = &outcome.flows;
    let both = || flows.iter().zip(records);
    let sum = |count: fn(&SubflowRecord) -> u64| {
        records
            .iter()
            .map(move |record| record.subflows.iter().map(count).sum::<u64>())
    };
    let suppressed = suppressed(outcome);
    let columns = Columns::new("flows", context.provided, flows.len())
        .index("flow", records.iter().map(|record| record.flow))
        .text(
            "traffic",
            flows
                .iter()
                .map(|flow| context.traffic[flow.traffic as usize].as_str()),
        )
        .text(
            "transport",
            flows
                .iter()
                .map(|flow| context.transports[flow.transport as usize].as_str()),
        )
        .text("from", flows.iter().map(|flow| context.host(flow.from)))
        .text("to", flows.iter().map(|flow| context.host(flow.to)))
        .index("round", flows.iter().map(|flow| flow.round))
        .count_or_null(
            "size_bytes",
            flows.iter().map(|flow| flow.size.map(|size| size.0)),
        )
        .number("start_s", flows.iter().map(|flow| flow.start.seconds()))
        .number_or_null("stop_s", flows.iter().map(|flow| flow.stop.map(Time::seconds)))
        .number_or_null(
            "established_s",
            records.iter().map(|record| record.established.map(Time::seconds)),
        )
        .number_or_null(
            "finish_s",
            records.iter().map(|record| record.finish.map(Time::seconds)),
        )
        .number_or_null(
            "fct_s",
            both().map(|(flow, record)| completion_time(context, flow, record)),
        )
        .count(
            "delivered_bytes",
            records.iter().map(|record| record.delivered_bytes),
        )
        .number_or_null(
            "goodput_bps",
            both().map(|(flow, record)| goodput(flow, record, outcome.measurement_window())),
        )
        .index(
            "subflows",
            records.iter().map(|record| record.subflows.len() as u32),
        )
        .count("packets_sent", sum(|subflow| subflow.packets_sent))
        .count("retransmitted", sum(|subflow| subflow.retransmitted))
        .count("packets_dropped", sum(|subflow| subflow.packets_dropped))
        .count("marked", sum(|subflow| subflow.marked.unwrap_or(0)))
        .count("fast_retransmits", sum(|s| s.fast_retransmits.unwrap_or(0)))
        .count("timeouts", sum(|subflow| subflow.timeouts))
        .count("syn_timeouts", sum(|subflow| subflow.syn_timeouts.unwrap_or(0)))
        .count("reinjected", records.iter().map(|record| record.reinjected))
        .count("suppressions", records.iter().map(|record| record.suppressions))
        .text(
            "class",
            flows
                .iter()
                .map(|flow| context.classes[flow.class as usize].as_str()),
        )
        .index_or_null(
            "job",
            records.iter().map(|record| {
                let (generator, n) = generator_of(generators, static_flows, record.flow)?;
                generator.job_of(n)
            }),
        )
        .number(
            "suppressed_s",
            records
                .iter()
                .map(|record| Time(suppressed.get(&record.flow).copied().unwrap_or(0)).seconds()),
        )
        .number_or_null(
            "acked_s",
            records.iter().map(|record| record.acked.map(Time::seconds)),
        )
        .count(
            "measured_bytes",
            records.iter().map(|record| record.measured_bytes),
        )
        .number_or_null(
            "unfinished_s",
            both().map(|(flow, record)| unfinished(context, flow, record, outcome.end)),
        )
        .count("packets_trimmed", sum(|subflow| subflow.packets_trimmed))
        .count("packets_blocked", sum(|subflow| subflow.packets_blocked))
        .number("blocked_s", sum(|subflow| subflow.blocked.0).map(seconds));
    with_slowdown(columns, context, flows, outcome, ideal).finish()
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

/// Returns a time in picoseconds in seconds.
fn seconds(time: u64) -> f64 {
    Time(time).seconds()
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

/// Adds the ideal completion times and the multiples of them that flows took.
fn with_slowdown(
    columns: Columns,
    context: &TableContext,
    flows: &[Flow],
    outcome: &Outcome,
    ideal: &[Option<Time>],
) -> Columns {
    let both = || flows.iter().zip(&outcome.flows);
    let ideal = || ideal.iter().map(|ideal| ideal.map(Time::seconds));
    let completion = both().map(|(flow, record)| completion_time(context, flow, record));
    let at_least = both().map(|(flow, record)| unfinished(context, flow, record, outcome.end));
    columns
        .number_or_null("ideal_s", ideal())
        .number_or_null("slowdown", ratios(completion, ideal()))
        .number_or_null("slowdown_at_least", ratios(at_least, ideal()))
}

/// Returns the times as multiples of the ideal ones.
fn ratios(
    times: impl Iterator<Item = Option<f64>>,
    ideal: impl Iterator<Item = Option<f64>>,
) -> impl Iterator<Item = Option<f64>> {
    times.zip(ideal).map(|(time, ideal)| Some(time? / ideal?))
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

pub(super) fn subflows(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows: Vec<(u32, u32, &SubflowRecord)> = outcome
        .flows
        .iter()
        .flat_map(|record| {
            (0..)
                .zip(&record.subflows)
                .map(move |(i, subflow)| (record.flow, i, subflow))
        })
        .collect();
    let each = |count: fn(&SubflowRecord) -> u64| rows.iter().map(move |(.., subflow)| count(subflow));
    let each_or_null =
        |count: fn(&SubflowRecord) -> Option<u64>| rows.iter().map(move |(.., subflow)| count(subflow));
    let control = |count: fn(&ControlCounters) -> u64| {
        rows.iter()
            .map(move |(.., subflow)| subflow.control.as_ref().map(count))
    };
    let of_kind = |count: fn(&ControlCounters) -> Option<u64>| {
        rows.iter()
            .map(move |(.., subflow)| subflow.control.as_ref().and_then(count))
    };
    Columns::new("subflows", context.provided, rows.len())
        .index("flow", rows.iter().map(|(flow, ..)| *flow))
        .index("subflow", rows.iter().map(|(_, i, _)| *i))
        .number_or_null(
            "established_s",
            rows.iter()
                .map(|(.., subflow)| subflow.established.map(Time::seconds)),
        )
        .count("packets_sent", each(|subflow| subflow.packets_sent))
        .count("retransmitted", each(|subflow| subflow.retransmitted))
        .count("packets_received", each(|subflow| subflow.packets_received))
        .count("packets_dropped", each(|subflow| subflow.packets_dropped))
        .count("packets_in_flight", each(|subflow| subflow.packets_in_flight))
        .count_or_null("marked", each_or_null(|subflow| subflow.marked))
        .count_or_null(
            "fast_retransmits",
            each_or_null(|subflow| subflow.fast_retransmits),
        )
        .count("timeouts", each(|subflow| subflow.timeouts))
        .count_or_null("syn_timeouts", each_or_null(|subflow| subflow.syn_timeouts))
        .count_or_null("acked_bytes", each_or_null(|subflow| subflow.acked_bytes))
        .number_or_null(
            "cwnd_packets",
            rows.iter()
                .map(|(.., subflow)| Some(subflow.cwnd).filter(|&cwnd| cwnd > 0.0)),
        )
        .number_or_null(
            "srtt_s",
            rows.iter()
                .map(|(.., subflow)| Some(subflow.srtt).filter(|&srtt| srtt > 0.0)),
        )
        .count("packets_trimmed", each(|subflow| subflow.packets_trimmed))
        .count_or_null("acks_received", control(|control| control.acks))
        .count_or_null("nacks_received", control(|control| control.nacks))
        .count_or_null("pulls_received", of_kind(|control| control.pulls))
        .count_or_null("rts_sent", of_kind(|control| control.rts))
        .count_or_null("rts_repeated", of_kind(|control| control.repeated_rts))
        .count_or_null("cnps_received", of_kind(|control| control.cnps))
        .count("packets_blocked", each(|subflow| subflow.packets_blocked))
        .number(
            "blocked_s",
            rows.iter().map(|(.., subflow)| subflow.blocked.seconds()),
        )
        .number_or_null(
            "send_buffer_limited_s",
            rows.iter()
                .map(|(.., subflow)| subflow.send_buffer_limited.map(Time::seconds)),
        )
        .finish()
}
