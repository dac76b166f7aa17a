//! The tables `links`, `queues`, `traffic_classes` and `drops`.

use arrow_array::RecordBatch;
use weft_fabric::Link;
use weft_spec::Time;

use super::TableBuilder;
use crate::{ClassRecord, Error, LinkRecord, QueueRecord};

impl TableBuilder<'_> {
    pub(super) fn links(&self) -> Result<RecordBatch, Error> {
        let Self { context, outcome, .. } = self;
        let (from, to) = outcome.measurement_window();
        let time = Time(to.0 - from.0);
        let rows: Vec<(u32, &Link, &LinkRecord)> = (0..)
            .zip(&context.links)
            .zip(outcome.measured_links())
            .map(|((number, link), record)| (number, link, record))
            .collect();
        self.columns("links", &rows)
            .index("link", |(number, ..)| *number)
            .text("from", |(number, ..)| context.ends(*number).0)
            .text("to", |(number, ..)| context.ends(*number).1)
            .text("layer", |(_, link, _)| link.layer)
            .count("rate_bps", |(_, link, _)| link.rate.0)
            .time("delay_s", |(_, link, _)| link.delay)
            .count("packets", |(.., record)| record.packets)
            .count("bytes", |(.., record)| record.bytes)
            .count("delivered_packets", |(.., record)| record.delivered)
            .count("in_flight", |(.., record)| record.in_flight)
            .count("drops", |(.., record)| record.drops)
            .count("losses", |(.., record)| record.losses)
            .count("marks", |(.., record)| record.marks)
            .number_or_null("utilisation", |(_, link, record)| utilisation(link, record, time))
            .number_or_null("loss", |(.., record)| loss(record))
            .count("pauses", |(.., record)| record.pauses)
            .time("paused_s", |(.., record)| record.paused)
            .count("expired_pauses", |(.., record)| record.expired_pauses)
            .finish()
    }

    pub(super) fn queues(&self) -> Result<RecordBatch, Error> {
        let Self { context, outcome, .. } = self;
        let queues = outcome.measured_queues();
        let record = |queue: &QueueRecord| &outcome.measured_links()[queue.link as usize];
        let longest = |queue: &QueueRecord| {
            queue
                .time_at_length
                .iter()
                .rposition(|&time| time > Time(0))
                .unwrap_or(0)
        };
        self.columns("queues", queues)
            .index("link", |queue| queue.link)
            .text("from", |queue| context.ends(queue.link).0)
            .text("to", |queue| context.ends(queue.link).1)
            .text("layer", |queue| context.links[queue.link as usize].layer)
            .count("packets", |queue| record(queue).packets)
            .count("marks", |queue| record(queue).marks)
            .count("drops", |queue| record(queue).drops)
            .number_or_null("mean_packets", mean)
            .index("max_packets", |queue| longest(queue) as u32)
            .numbers("time_at_length_s", |queue| {
                queue.time_at_length.iter().map(|time| time.seconds()).collect()
            })
            .finish()
    }

    pub(super) fn classes(&self) -> Result<RecordBatch, Error> {
        let Self { context, outcome, .. } = self;
        let classes = outcome.measured_classes();
        let of = |class: &ClassRecord| &context.links[class.link as usize];
        self.columns("traffic_classes", classes)
            .index("link", |class| class.link)
            .text("from", |class| context.ends(class.link).0)
            .text("to", |class| context.ends(class.link).1)
            .text("layer", |class| of(class).layer)
            .index("traffic_class", |class| class.class)
            .count("packets", |class| class.packets)
            .count("bytes", |class| class.bytes)
            .count("drops", |class| class.drops)
            .count("marks", |class| class.marks)
            .count("trims", |class| class.trims)
            .finish()
    }

    pub(super) fn drops(&self) -> Result<RecordBatch, Error> {
        let context = self.context;
        self.columns("drops", &self.outcome.drops)
            .index("link", |drop| drop.link)
            .text("from", |drop| context.ends(drop.link).0)
            .text("to", |drop| context.ends(drop.link).1)
            .text("reason", |drop| drop.reason)
            .index_or_null("flow", |drop| drop.subflow.map(|(flow, _)| flow))
            .index_or_null("subflow", |drop| drop.subflow.map(|(_, subflow)| subflow))
            .count("packets", |drop| drop.packets)
            .finish()
    }
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
