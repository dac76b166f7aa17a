//! The tables `packets` and `pause_frames`.

use arrow_array::RecordBatch;

use super::TableContext;
use super::columns::Columns;
use crate::{Error, Outcome};

pub(super) fn packets(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.packets;
    Columns::new("packets", context.provided, rows)
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

pub(super) fn pause_frames(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.pause_frames;
    Columns::new("pause_frames", context.provided, rows)
        .time("time_s", |row| row.time)
        .index("link", |row| row.link)
        .index("traffic_class", |row| u32::from(row.class))
        .flag("paused", |row| row.is_paused)
        .finish()
}
