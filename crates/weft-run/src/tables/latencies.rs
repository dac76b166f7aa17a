//! The table `latencies`.

use arrow_array::RecordBatch;
use weft_spec::Time;

use super::TableContext;
use super::columns::Columns;
use crate::{Error, LatencyRecord, Outcome};

pub(super) fn latencies(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.latencies;
    let took = |row: &LatencyRecord| Time(row.delivered.0.saturating_sub(row.sent.0)).seconds();
    Columns::new("latencies", context.provided, rows)
        .index("flow", |row| row.flow)
        .index("chunk", |row| row.chunk)
        .time("sent_s", |row| row.sent)
        .number("latency_s", took)
        .finish()
}
