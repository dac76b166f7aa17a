//! The table `throughput`.

use arrow_array::RecordBatch;

use super::TableContext;
use super::columns::Columns;
use crate::{Error, Outcome};

pub(super) fn throughput(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let records = &outcome.throughput;
    Columns::new("throughput", context.provided, records)
        .time("time_s", |record| record.end)
        .time("interval_s", |record| record.interval)
        .index("flow", |record| record.flow)
        .count("delivered_bytes", |record| record.bytes)
        .number("goodput_bps", |record| {
            8.0 * record.bytes as f64 / record.interval.seconds()
        })
        .finish()
}
