//! The table `throughput`.

use arrow_array::RecordBatch;

use super::TableContext;
use super::columns::Columns;
use crate::{Error, Outcome};

pub(super) fn throughput(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let records = &outcome.throughput;
    Columns::new("throughput", context.provided, records.len())
        .number("time_s", records.iter().map(|record| record.end.seconds()))
        .number(
            "interval_s",
            records.iter().map(|record| record.interval.seconds()),
        )
        .index("flow", records.iter().map(|record| record.flow))
        .count("delivered_bytes", records.iter().map(|record| record.bytes))
        .number(
            "goodput_bps",
            records
                .iter()
                .map(|record| 8.0 * record.bytes as f64 / record.interval.seconds()),
        )
        .finish()
}
