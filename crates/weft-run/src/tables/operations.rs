//! The table `operations`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{FlowGenerator, OperationRecord, RankedJobs};

use super::TableContext;
use super::columns::Columns;
use crate::{Error, Outcome};

/// Returns the bytes of an operation divided by its time, in bits per second.
fn algorithm_bandwidth(record: &OperationRecord) -> Option<f64> {
    let time = Time(record.end?.0 - record.start.0);
    (time > Time(0)).then(|| 8.0 * record.facts.bytes as f64 / time.seconds())
}

pub(super) fn operations(
    context: &TableContext,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
) -> Result<RecordBatch, Error> {
    let jobs: Vec<Option<RankedJobs>> = generators
        .iter()
        .map(|generator| generator.ranked_jobs())
        .collect();
    let rows: Vec<(&OperationRecord, u32)> = outcome
        .operations
        .iter()
        .filter_map(|row| Some((&row.record, jobs[row.generator as usize].as_ref()?.traffic)))
        .collect();
    let records = || rows.iter().map(|(record, _)| *record);
    let facts = || records().map(|record| &record.facts);
    let bus = |record: &OperationRecord| {
        Some(algorithm_bandwidth(record)? * record.facts.operation.bus_factor(record.ranks))
    };
    Columns::new("operations", context.provided, rows.len())
        .index("job", records().map(|record| record.job))
        .text(
            "traffic",
            rows.iter()
                .map(|&(_, traffic)| context.traffic[traffic as usize].as_str()),
        )
        .text("operation", facts().map(|facts| facts.operation.name()))
        .text_or_null("group", facts().map(|facts| facts.group.as_deref()))
        .index_or_null("layer", facts().map(|facts| facts.layer))
        .text_or_null("pass", facts().map(|facts| facts.pass))
        .index("first_rank", records().map(|record| record.first_rank))
        .index("ranks", records().map(|record| record.ranks))
        .count("size_bytes", facts().map(|facts| facts.bytes))
        .number("start_s", records().map(|record| record.start.seconds()))
        .number_or_null("ready_s", records().map(|record| record.ready.map(Time::seconds)))
        .number_or_null("end_s", records().map(|record| record.end.map(Time::seconds)))
        .number_or_null("algorithm_bps", records().map(algorithm_bandwidth))
        .number_or_null("bus_bps", records().map(bus))
        .index_or_null("last_rank", records().map(|record| record.last_rank))
        .number_or_null(
            "exposed_s",
            records().map(|record| record.exposed.map(Time::seconds)),
        )
        .finish()
}
