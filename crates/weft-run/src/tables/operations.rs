//! The table `operations`.

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::OperationRecord;

use super::TableBuilder;
use crate::Error;

/// Returns the bytes of an operation divided by its time, in bits per second.
fn algorithm_bandwidth(record: &OperationRecord) -> Option<f64> {
    let time = Time(record.end?.0 - record.start.0);
    (time > Time(0)).then(|| 8.0 * record.facts.bytes as f64 / time.seconds())
}

impl TableBuilder<'_> {
    pub(super) fn operations(&self) -> Result<RecordBatch, Error> {
        let jobs = self.ranked_jobs();
        let rows: Vec<(&OperationRecord, u32)> = self
            .outcome
            .operations
            .iter()
            .filter_map(|row| Some((&row.record, jobs[row.generator as usize].as_ref()?.traffic)))
            .collect();
        let bus = |record: &OperationRecord| {
            Some(algorithm_bandwidth(record)? * record.facts.operation.bus_factor(record.ranks))
        };
        self.columns("operations", &rows)
            .index("job", |(record, _)| record.job)
            .text("traffic", |&(_, traffic)| self.traffic(traffic))
            .text("operation", |(record, _)| record.facts.operation.name())
            .text_or_null("group", |(record, _)| record.facts.group.as_deref())
            .index_or_null("layer", |(record, _)| record.facts.layer)
            .text_or_null("pass", |(record, _)| record.facts.pass)
            .index("first_rank", |(record, _)| record.first_rank)
            .index("ranks", |(record, _)| record.ranks)
            .count("size_bytes", |(record, _)| record.facts.bytes)
            .time("start_s", |(record, _)| record.start)
            .time_or_null("ready_s", |(record, _)| record.ready)
            .time_or_null("end_s", |(record, _)| record.end)
            .number_or_null("algorithm_bps", |(record, _)| algorithm_bandwidth(record))
            .number_or_null("bus_bps", |(record, _)| bus(record))
            .index_or_null("last_rank", |(record, _)| record.last_rank)
            .time_or_null("exposed_s", |(record, _)| record.exposed)
            .finish()
    }
}
