//! The tables with a row per record: `suppressions`, `latencies`, `packets`, `pause_frames` and `throughput`.

use arrow_array::RecordBatch;
use weft_spec::Time;

use super::TableBuilder;
use crate::{Error, LatencyRecord};

impl TableBuilder<'_> {
    pub(super) fn suppressions(&self) -> Result<RecordBatch, Error> {
        self.columns("suppressions", &self.outcome.suppressions)
            .index("flow", |episode| episode.flow)
            .time("start_s", |episode| episode.start)
            .time_or_null("end_s", |episode| episode.end)
            .finish()
    }

    pub(super) fn latencies(&self) -> Result<RecordBatch, Error> {
        let took = |row: &LatencyRecord| Time(row.delivered.0.saturating_sub(row.sent.0)).seconds();
        self.columns("latencies", &self.outcome.latencies)
            .index("flow", |row| row.flow)
            .index("chunk", |row| row.chunk)
            .time("sent_s", |row| row.sent)
            .number("latency_s", took)
            .finish()
    }

    pub(super) fn packets(&self) -> Result<RecordBatch, Error> {
        self.columns("packets", &self.outcome.packets)
            .time("time_s", |row| row.time)
            .index("link", |row| row.link)
            .index("flow", |row| row.flow)
            .index("subflow", |row| row.subflow)
            .text("kind", |row| row.kind.name())
            .index("seq", |row| row.seq)
            .index("bytes", |row| row.bytes)
            .index("chunk", |row| row.chunk)
            .index_or_null("sack_from", |row| row.sack.map(|(from, _)| from))
            .index_or_null("sack_to", |row| row.sack.map(|(_, to)| to))
            .flag("ect", |row| row.ect)
            .flag("ce", |row| row.ce)
            .flag("ece", |row| row.ece)
            .flag("cwr", |row| row.cwr)
            .flag("retransmission", |row| row.retransmission)
            .finish()
    }

    pub(super) fn pause_frames(&self) -> Result<RecordBatch, Error> {
        self.columns("pause_frames", &self.outcome.pause_frames)
            .time("time_s", |row| row.time)
            .index("link", |row| row.link)
            .index("traffic_class", |row| u32::from(row.class))
            .flag("paused", |row| row.is_paused)
            .finish()
    }

    pub(super) fn throughput(&self) -> Result<RecordBatch, Error> {
        self.columns("throughput", &self.outcome.throughput)
            .time("time_s", |record| record.end)
            .time("interval_s", |record| record.interval)
            .index("flow", |record| record.flow)
            .count("delivered_bytes", |record| record.bytes)
            .number("goodput_bps", |record| {
                8.0 * record.bytes as f64 / record.interval.seconds()
            })
            .finish()
    }
}
