//! The tables `packets` and `pause_frames`.

use arrow_array::RecordBatch;

use super::TableContext;
use super::columns::Columns;
use crate::{Error, Outcome, PacketRecord};

pub(super) fn packets(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.packets;
    let flag = |read: fn(&PacketRecord) -> bool| rows.iter().map(read);
    Columns::new("packets", context.provided, rows.len())
        .number("time_s", rows.iter().map(|row| row.time.seconds()))
        .index("link", rows.iter().map(|row| row.link))
        .index("flow", rows.iter().map(|row| row.flow))
        .index("subflow", rows.iter().map(|row| row.subflow))
        .text("kind", rows.iter().map(|row| row.kind.name()))
        .index("seq", rows.iter().map(|row| row.seq))
        .index("bytes", rows.iter().map(|row| row.bytes))
        .index("chunk", rows.iter().map(|row| row.chunk))
        .index_or_null("sack_from", rows.iter().map(|row| row.sack.map(|(from, _)| from)))
        .index_or_null("sack_to", rows.iter().map(|row| row.sack.map(|(_, to)| to)))
        .flag("ect", flag(|row| row.ect))
        .flag("ce", flag(|row| row.ce))
        .flag("ece", flag(|row| row.ece))
        .flag("cwr", flag(|row| row.cwr))
        .flag("retransmission", flag(|row| row.retransmission))
        .finish()
}

pub(super) fn pause_frames(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.pause_frames;
    Columns::new("pause_frames", context.provided, rows.len())
        .number("time_s", rows.iter().map(|row| row.time.seconds()))
        .index("link", rows.iter().map(|row| row.link))
        .index("traffic_class", rows.iter().map(|row| u32::from(row.class)))
        .flag("paused", rows.iter().map(|row| row.is_paused))
        .finish()
}
