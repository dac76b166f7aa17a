//! The tables `jobs` and `suppressions`.

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{FlowGenerator, Job};

use super::TableContext;
use super::columns::Columns;
use crate::{Error, JobRecord, Outcome};

pub(super) fn jobs(
    context: &TableContext,
    generators: &[std::sync::Arc<dyn FlowGenerator>],
    outcome: &Outcome,
) -> Result<RecordBatch, Error> {
    let rows: Vec<(u32, &JobRecord, Job)> = outcome
        .jobs
        .iter()
        .filter_map(|record| {
            let generator = &generators[record.generator as usize];
            let job = generator.job(record.job)?;
            Some((generator.flow(job.first_request).traffic, record, job))
        })
        .collect();
    let took = |record: &JobRecord| Some(Time(record.end?.0.checked_sub(record.start.0)?).seconds());
    Columns::new("jobs", context.omissions, rows.len())
        .index("job", rows.iter().map(|(_, record, _)| record.job))
        .text(
            "traffic",
            rows.iter()
                .map(|(traffic, ..)| context.traffic[*traffic as usize].as_str()),
        )
        .index("slot", rows.iter().map(|(.., job)| job.slot))
        .text("client", rows.iter().map(|(.., job)| context.host(job.client)))
        .texts(
            "servers",
            rows.iter()
                .map(|(.., job)| job.servers.iter().map(|&host| context.host(host)).collect()),
        )
        .number(
            "start_s",
            rows.iter().map(|(_, record, _)| record.start.seconds()),
        )
        .number_or_null(
            "end_s",
            rows.iter().map(|(_, record, _)| record.end.map(Time::seconds)),
        )
        .number_or_null("jct_s", rows.iter().map(|(_, record, _)| took(record)))
        .finish()
}

pub(super) fn suppressions(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.suppressions;
    Columns::new("suppressions", context.omissions, rows.len())
        .index("flow", rows.iter().map(|episode| episode.flow))
        .number("start_s", rows.iter().map(|episode| episode.start.seconds()))
        .number_or_null("end_s", rows.iter().map(|episode| episode.end.map(Time::seconds)))
        .finish()
}
