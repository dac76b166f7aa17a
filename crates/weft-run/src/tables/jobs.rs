//! The tables `jobs`, `ranks` and `suppressions`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{FlowGenerator, Job, RankedJobs};

use super::TableContext;
use super::columns::Columns;
use crate::{Error, GeneratorRank, JobRecord, Outcome};

/// A row of the table `jobs`.
struct Row {
    record: JobRecord,
    traffic: u32,
    /// Slot, client and servers of a job of requests.
    requests: Option<Job>,
    /// The last rank and the facts on a job of ranks.
    ranked: Option<(Option<u32>, RankedJobs)>,
}

impl Row {
    /// Returns the seconds that the job took, if it has ended.
    fn seconds(&self) -> Option<f64> {
        let time = self.record.end?.0.checked_sub(self.record.start.0)?;
        Some(Time(time).seconds())
    }

    fn bytes(&self) -> Option<u64> {
        self.ranked.as_ref().and_then(|(_, jobs)| jobs.bytes)
    }

    /// Returns the bytes of the operation divided by its time, in bits per second.
    fn algorithm_bandwidth(&self) -> Option<f64> {
        let seconds = self.seconds().filter(|&seconds| seconds > 0.0)?;
        Some(8.0 * self.bytes()? as f64 / seconds)
    }

    fn bus_bandwidth(&self) -> Option<f64> {
        let (_, jobs) = self.ranked.as_ref()?;
        Some(self.algorithm_bandwidth()? * jobs.bus_factor?)
    }

    fn last_rank(&self) -> Option<u32> {
        self.ranked.as_ref().and_then(|(last, _)| *last)
    }
}

/// Returns the row of a job of ranks; `None` if no rank has begun it.
fn ranked_row(ranks: &[GeneratorRank], facts: RankedJobs) -> Option<Row> {
    let first = ranks.first()?;
    let records = || ranks.iter().map(|rank| &rank.record);
    let ends: Option<Vec<Time>> = records().map(|record| record.end).collect();
    let end = ends.and_then(|ends| ends.into_iter().max());
    // Of ranks that end at the same time, the first one counts.
    let last = records().find(|record| end.is_some() && record.end == end);
    Some(Row {
        record: JobRecord {
            generator: first.generator,
            job: first.record.job,
            start: records().filter_map(|record| record.start).min()?,
            end,
        },
        traffic: facts.traffic,
        requests: None,
        ranked: Some((last.map(|record| record.rank), facts)),
    })
}

pub(super) fn jobs(
    context: &TableContext,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
) -> Result<RecordBatch, Error> {
    let of_requests = outcome.jobs.iter().filter_map(|record| {
        let generator = &generators[record.generator as usize];
        let job = generator.job(record.job)?;
        Some(Row {
            record: record.clone(),
            traffic: generator.flow(job.first_request).traffic,
            requests: Some(job),
            ranked: None,
        })
    });
    let by_job = outcome
        .ranks
        .chunk_by(|a, b| (a.generator, a.record.job) == (b.generator, b.record.job));
    let of_ranks = by_job.filter_map(|ranks| {
        let generator = ranks.first()?.generator;
        ranked_row(ranks, generators[generator as usize].ranked_jobs()?)
    });
    let mut rows: Vec<Row> = of_requests.chain(of_ranks).collect();
    rows.sort_by_key(|row| (row.record.generator, row.record.job));
    Columns::new("jobs", context.provided, rows.len())
        .index("job", rows.iter().map(|row| row.record.job))
        .text(
            "traffic",
            rows.iter()
                .map(|row| context.traffic[row.traffic as usize].as_str()),
        )
        .index_or_null("slot", rows.iter().map(|row| Some(row.requests.as_ref()?.slot)))
        .text_or_null(
            "client",
            rows.iter()
                .map(|row| Some(context.host(row.requests.as_ref()?.client))),
        )
        .texts(
            "servers",
            rows.iter().map(|row| {
                let servers = row.requests.iter().flat_map(|job| &job.servers);
                servers.map(|&host| context.host(host)).collect()
            }),
        )
        .number("start_s", rows.iter().map(|row| row.record.start.seconds()))
        .number_or_null("end_s", rows.iter().map(|row| row.record.end.map(Time::seconds)))
        .number_or_null("jct_s", rows.iter().map(Row::seconds))
        .number_or_null(
            "finish_s",
            rows.iter().map(|row| row.record.end.map(Time::seconds)),
        )
        .count_or_null("size_bytes", rows.iter().map(Row::bytes))
        .number_or_null("algorithm_bps", rows.iter().map(Row::algorithm_bandwidth))
        .number_or_null("bus_bps", rows.iter().map(Row::bus_bandwidth))
        .index_or_null("last_rank", rows.iter().map(Row::last_rank))
        .finish()
}

pub(super) fn ranks(
    context: &TableContext,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
) -> Result<RecordBatch, Error> {
    let facts: Vec<Option<RankedJobs>> = generators
        .iter()
        .map(|generator| generator.ranked_jobs())
        .collect();
    let rows: Vec<(&GeneratorRank, &RankedJobs)> = outcome
        .ranks
        .iter()
        .filter(|rank| rank.record.start.is_some())
        .filter_map(|rank| Some((rank, facts[rank.generator as usize].as_ref()?)))
        .collect();
    let records = || rows.iter().map(|(rank, _)| &rank.record);
    Columns::new("ranks", context.provided, rows.len())
        .index("job", records().map(|record| record.job))
        .text(
            "traffic",
            rows.iter()
                .map(|(_, facts)| context.traffic[facts.traffic as usize].as_str()),
        )
        .index("rank", records().map(|record| record.rank))
        .text(
            "host",
            rows.iter()
                .map(|(rank, facts)| context.host(facts.hosts[rank.record.rank as usize])),
        )
        .number_or_null("start_s", records().map(|record| record.start.map(Time::seconds)))
        .number_or_null("finish_s", records().map(|record| record.end.map(Time::seconds)))
        .number("computed_s", records().map(|record| record.computed.seconds()))
        .finish()
}

pub(super) fn suppressions(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.suppressions;
    Columns::new("suppressions", context.provided, rows.len())
        .index("flow", rows.iter().map(|episode| episode.flow))
        .number("start_s", rows.iter().map(|episode| episode.start.seconds()))
        .number_or_null("end_s", rows.iter().map(|episode| episode.end.map(Time::seconds)))
        .finish()
}
