//! The tables `links`, `queues`, `traffic_classes` and `drops`.

use arrow_array::RecordBatch;
use weft_fabric::Link;
use weft_spec::Time;

use super::TableContext;
use super::columns::Columns;
use crate::{ClassRecord, Error, LinkRecord, Outcome, QueueRecord};

pub(super) fn links(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let (links, records) = (&context.links, outcome.measured_links());
    let indices = 0..links.len() as u32;
    let (from, to) = outcome.measurement_window();
    let use_of = |(link, record)| utilisation(link, record, Time(to.0 - from.0));
    Columns::new("links", context.provided, links.len())
        .index("link", indices.clone())
        .text("from", indices.clone().map(|link| context.ends(link).0))
        .text("to", indices.map(|link| context.ends(link).1))
        .text("layer", links.iter().map(|link| link.layer))
        .count("rate_bps", links.iter().map(|link| link.rate.0))
        .number("delay_s", links.iter().map(|link| link.delay.seconds()))
        .count("packets", records.iter().map(|record| record.packets))
        .count("bytes", records.iter().map(|record| record.bytes))
        .count("delivered_packets", records.iter().map(|record| record.delivered))
        .count("in_flight", records.iter().map(|record| record.in_flight))
        .count("drops", records.iter().map(|record| record.drops))
        .count("losses", records.iter().map(|record| record.losses))
        .count("marks", records.iter().map(|record| record.marks))
        .number_or_null("utilisation", links.iter().zip(records).map(use_of))
        .number_or_null("loss", records.iter().map(loss))
        .count("pauses", records.iter().map(|record| record.pauses))
        .number("paused_s", records.iter().map(|record| record.paused.seconds()))
        .count(
            "expired_pauses",
            records.iter().map(|record| record.expired_pauses),
        )
        .finish()
}

/// Returns the bits delivered to the receiving node as a fraction of the capacity in that time.
fn utilisation(link: &Link, record: &LinkRecord, time: Time) -> Option<f64> {
    let could = link.rate.0 as f64 * time.seconds();
    (could > 0.0).then(|| 8.0 * record.delivered_bytes as f64 / could)
}

/// Returns the share of the packets that came to the queue which were dropped or lost.
fn loss(record: &LinkRecord) -> Option<f64> {
    let came = record.packets + record.drops;
    (came > 0).then(|| (record.drops + record.losses) as f64 / came as f64)
}

pub(super) fn queues(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let queues = outcome.measured_queues();
    let record = |queue: &QueueRecord| &outcome.measured_links()[queue.link as usize];
    let longest = |queue: &QueueRecord| {
        queue
            .time_at_length
            .iter()
            .rposition(|&time| time > Time(0))
            .unwrap_or(0)
    };
    Columns::new("queues", context.provided, queues.len())
        .index("link", queues.iter().map(|queue| queue.link))
        .text("from", queues.iter().map(|queue| context.ends(queue.link).0))
        .text("to", queues.iter().map(|queue| context.ends(queue.link).1))
        .text(
            "layer",
            queues
                .iter()
                .map(|queue| context.links[queue.link as usize].layer),
        )
        .count("packets", queues.iter().map(|queue| record(queue).packets))
        .count("marks", queues.iter().map(|queue| record(queue).marks))
        .count("drops", queues.iter().map(|queue| record(queue).drops))
        .number_or_null("mean_packets", queues.iter().map(mean))
        .index("max_packets", queues.iter().map(|queue| longest(queue) as u32))
        .numbers(
            "time_at_length_s",
            queues
                .iter()
                .map(|queue| queue.time_at_length.iter().map(|time| time.seconds()).collect()),
        )
        .finish()
}

pub(super) fn classes(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let classes = outcome.measured_classes();
    let of = |class: &ClassRecord| &context.links[class.link as usize];
    Columns::new("traffic_classes", context.provided, classes.len())
        .index("link", classes.iter().map(|class| class.link))
        .text("from", classes.iter().map(|class| context.ends(class.link).0))
        .text("to", classes.iter().map(|class| context.ends(class.link).1))
        .text("layer", classes.iter().map(|class| of(class).layer))
        .index("traffic_class", classes.iter().map(|class| class.class))
        .count("packets", classes.iter().map(|class| class.packets))
        .count("bytes", classes.iter().map(|class| class.bytes))
        .count("drops", classes.iter().map(|class| class.drops))
        .count("marks", classes.iter().map(|class| class.marks))
        .count("trims", classes.iter().map(|class| class.trims))
        .finish()
}

pub(super) fn drops(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let drops = &outcome.drops;
    Columns::new("drops", context.provided, drops.len())
        .index("link", drops.iter().map(|drop| drop.link))
        .text("from", drops.iter().map(|drop| context.ends(drop.link).0))
        .text("to", drops.iter().map(|drop| context.ends(drop.link).1))
        .text("reason", drops.iter().map(|drop| drop.reason))
        .index_or_null(
            "flow",
            drops.iter().map(|drop| drop.subflow.map(|(flow, _)| flow)),
        )
        .index_or_null(
            "subflow",
            drops.iter().map(|drop| drop.subflow.map(|(_, subflow)| subflow)),
        )
        .count("packets", drops.iter().map(|drop| drop.packets))
        .finish()
}

/// Returns the time-weighted mean length; `None` if the time is 0.
fn mean(queue: &QueueRecord) -> Option<f64> {
    let total: f64 = queue.time_at_length.iter().map(|time| time.seconds()).sum();
    let weighted: f64 = queue
        .time_at_length
        .iter()
        .enumerate()
        .map(|(n, time)| n as f64 * time.seconds())
        .sum();
    (total > 0.0).then(|| weighted / total)
}
