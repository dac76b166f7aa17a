//! The tables `jobs`, `ranks`, `steps` and `suppressions`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{FlowGenerator, Job, RankedJobs, Step};

use super::TableContext;
use super::columns::Columns;
use crate::{Error, GeneratorRank, GeneratorStep, JobRecord, Outcome};

/// A row of the table `jobs`.
struct Row {
    record: JobRecord,
    traffic: u32,
    /// Slot, client and servers of a job of requests.
    requests: Option<Job>,
    /// Facts on a job of ranks.
    ranked: Option<RankedRow>,
}

/// The part of a row that only jobs of ranks have.
struct RankedRow {
    facts: RankedJobs,
    last_rank: Option<u32>,
    /// The largest time during which a rank computed.
    busy: Time,
    /// The message of the critical path that took longest beyond its time alone, as an index of the table of flows.
    slowest_flow: Option<u32>,
    slowest_link: Option<u32>,
}

impl Row {
    /// Returns the seconds that the job took, if it has ended.
    fn seconds(&self) -> Option<f64> {
        let time = self.record.end?.0.checked_sub(self.record.start.0)?;
        Some(Time(time).seconds())
    }

    fn bytes(&self) -> Option<u64> {
        self.ranked.as_ref().and_then(|ranked| ranked.facts.bytes)
    }

    /// Returns the bytes of the operation divided by its time, in bits per second.
    fn algorithm_bandwidth(&self) -> Option<f64> {
        let seconds = self.seconds().filter(|&seconds| seconds > 0.0)?;
        Some(8.0 * self.bytes()? as f64 / seconds)
    }

    fn bus_bandwidth(&self) -> Option<f64> {
        Some(self.algorithm_bandwidth()? * self.ranked.as_ref()?.facts.bus_factor?)
    }

    fn last_rank(&self) -> Option<u32> {
        self.ranked.as_ref().and_then(|ranked| ranked.last_rank)
    }

    /// Returns the part of the job's time beyond the computing of each rank.
    fn exposed(&self) -> Option<f64> {
        Some(self.seconds()? - self.ranked.as_ref()?.busy.seconds())
    }

    fn slowest_flow(&self) -> Option<u32> {
        self.ranked.as_ref().and_then(|ranked| ranked.slowest_flow)
    }

    fn slowest_link(&self) -> Option<u32> {
        self.ranked.as_ref().and_then(|ranked| ranked.slowest_link)
    }
}

/// Returns the row of a job of ranks; `None` if no rank has begun it.
fn ranked_row(ranks: &[GeneratorRank], facts: RankedJobs) -> Option<Row> {
    let first = ranks.first()?;
    let records = || ranks.iter().map(|rank| &rank.record);
    let ends: Option<Vec<Time>> = records().map(|record| record.end).collect();
    let end = ends.and_then(|ends| ends.into_iter().max());
    // If several ranks end at the same time, the job ends with the one of the lowest number.
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
        ranked: Some(RankedRow {
            facts,
            last_rank: last.map(|record| record.rank),
            busy: records().map(|record| record.busy).max().unwrap_or_default(),
            slowest_flow: None,
            slowest_link: None,
        }),
    })
}

/// The message that made a job slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slowest {
    /// Time beyond that of the message alone.
    beyond: u64,
    /// Number of the message in its generator.
    message: u32,
    /// The most utilised link of its paths.
    link: Option<u32>,
}

/// The message that made each job slow, by generator and job.
pub(super) type SlowestMessages = HashMap<(u32, u32), Slowest>;

/// Returns the message of each job's critical path that took longest beyond its time alone. Of equal ones the first counts.
pub(super) fn slowest_messages(
    context: &TableContext,
    outcome: &Outcome,
    ideal: &[Option<Time>],
    links_of: impl Fn(u32, u32) -> Vec<u32>,
) -> SlowestMessages {
    let mut slowest = HashMap::new();
    for (step, alone) in outcome.steps.iter().zip(ideal) {
        let Step {
            job,
            start,
            is_critical: true,
            message: Some(message),
            end: Some(end),
            ..
        } = step.record
        else {
            continue;
        };
        let beyond = (end.0 - start.0).saturating_sub(alone.map_or(0, |time| time.0));
        let new = Slowest {
            beyond,
            message,
            link: None,
        };
        let found = slowest.entry((step.generator, job)).or_insert(new);
        if beyond > found.beyond {
            *found = new;
        }
    }
    for (&(generator, _), found) in &mut slowest {
        found.link = most_utilised(context, outcome, &links_of(generator, found.message));
    }
    slowest
}

/// Returns the link with the most delivered bytes for its rate, the first of equal ones. Links have no records before the end
/// of a run.
fn most_utilised(context: &TableContext, outcome: &Outcome, links: &[u32]) -> Option<u32> {
    let records = outcome.measured_links();
    let seconds = |link: u32| {
        let bytes = records.get(link as usize)?.delivered_bytes;
        Some(bytes as f64 / context.links[link as usize].rate.0.max(1) as f64)
    };
    let found = links.iter().filter_map(|&link| Some((link, seconds(link)?)));
    let most = found.reduce(|most, next| if next.1 > most.1 { next } else { most });
    most.map(|(link, _)| link)
}

pub(super) fn jobs(
    context: &TableContext,
    static_flows: u32,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
    slowest: &SlowestMessages,
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
    for row in &mut rows {
        let key = (row.record.generator, row.record.job);
        if let (Some(ranked), Some(slowest)) = (&mut row.ranked, slowest.get(&key)) {
            ranked.slowest_flow = Some(index_of(static_flows, generators, key.0, slowest.message));
            ranked.slowest_link = slowest.link;
        }
    }
    rows.sort_by_key(|row| (row.record.generator, row.record.job));
    Columns::new("jobs", context.provided, &rows)
        .index("job", |row| row.record.job)
        .text("traffic", |row| context.traffic[row.traffic as usize].as_str())
        .index_or_null("slot", |row| Some(row.requests.as_ref()?.slot))
        .text_or_null("client", |row| Some(context.host(row.requests.as_ref()?.client)))
        .texts("servers", |row| {
            let servers = row.requests.iter().flat_map(|job| &job.servers);
            servers.map(|&host| context.host(host)).collect()
        })
        .time("start_s", |row| row.record.start)
        .time_or_null("end_s", |row| row.record.end)
        .number_or_null("jct_s", Row::seconds)
        .time_or_null("finish_s", |row| row.record.end)
        .count_or_null("size_bytes", Row::bytes)
        .number_or_null("algorithm_bps", Row::algorithm_bandwidth)
        .number_or_null("bus_bps", Row::bus_bandwidth)
        .index_or_null("last_rank", Row::last_rank)
        .number_or_null("exposed_s", Row::exposed)
        .index_or_null("slowest_flow", Row::slowest_flow)
        .index_or_null("slowest_link", Row::slowest_link)
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
    let spans = job_spans(outcome);
    let ended = |rank: &GeneratorRank| {
        let (start, end) = (rank.record.start?, rank.record.end?);
        Some(Time(end.0 - start.0).seconds())
    };
    let exposed = |(rank, _): &(&GeneratorRank, _)| Some(ended(rank)? - rank.record.busy.seconds());
    let idle = |(rank, _): &(&GeneratorRank, _)| {
        let (start, end) = spans[&(rank.generator, rank.record.job)];
        Some(Time(end?.0 - start?.0).seconds() - ended(rank)?)
    };
    Columns::new("ranks", context.provided, &rows)
        .index("job", |(rank, _)| rank.record.job)
        .text("traffic", |(_, facts)| {
            context.traffic[facts.traffic as usize].as_str()
        })
        .index("rank", |(rank, _)| rank.record.rank)
        .text("host", |(rank, facts)| {
            context.host(facts.hosts[rank.record.rank as usize])
        })
        .time_or_null("start_s", |(rank, _)| rank.record.start)
        .time_or_null("finish_s", |(rank, _)| rank.record.end)
        .time("computed_s", |(rank, _)| rank.record.computed)
        .number_or_null("exposed_s", exposed)
        .number_or_null("idle_s", idle)
        .finish()
}

/// Returns the start of each job of ranks and its end, if all ranks have ended, by generator and job.
fn job_spans(outcome: &Outcome) -> HashMap<(u32, u32), (Option<Time>, Option<Time>)> {
    let by_job = outcome
        .ranks
        .chunk_by(|a, b| (a.generator, a.record.job) == (b.generator, b.record.job));
    let span = |ranks: &[GeneratorRank]| {
        let ends: Option<Vec<Time>> = ranks.iter().map(|rank| rank.record.end).collect();
        (
            ranks.iter().filter_map(|rank| rank.record.start).min(),
            ends.and_then(|ends| ends.into_iter().max()),
        )
    };
    by_job
        .map(|ranks| ((ranks[0].generator, ranks[0].record.job), span(ranks)))
        .collect()
}

/// Returns the index of flow `n` of a generator in the tables.
fn index_of(static_flows: u32, generators: &[Arc<dyn FlowGenerator>], generator: u32, n: u32) -> u32 {
    static_flows + n * generators.len() as u32 + generator
}

pub(super) fn steps(
    context: &TableContext,
    static_flows: u32,
    generators: &[Arc<dyn FlowGenerator>],
    outcome: &Outcome,
    ideal: &[Option<Time>],
) -> Result<RecordBatch, Error> {
    let facts: Vec<Option<RankedJobs>> = generators
        .iter()
        .map(|generator| generator.ranked_jobs())
        .collect();
    let rows: Vec<(&GeneratorStep, &RankedJobs, Option<Time>)> = outcome
        .steps
        .iter()
        .zip(ideal)
        .filter_map(|(step, &ideal)| Some((step, facts[step.generator as usize].as_ref()?, ideal)))
        .collect();
    Columns::new("steps", context.provided, &rows)
        .index("job", |(step, ..)| step.record.job)
        .text("traffic", |(_, facts, _)| {
            context.traffic[facts.traffic as usize].as_str()
        })
        .index("rank", |(step, ..)| step.record.rank)
        .text("host", |(step, facts, _)| {
            context.host(facts.hosts[step.record.rank as usize])
        })
        .index_or_null("to_rank", |(step, ..)| step.record.to)
        .index_or_null("flow", |(step, ..)| {
            let message = step.record.message?;
            Some(index_of(static_flows, generators, step.generator, message))
        })
        .time("start_s", |(step, ..)| step.record.start)
        .time_or_null("end_s", |(step, ..)| step.record.end)
        .time_or_null("ideal_s", |(.., ideal)| *ideal)
        .flag("critical", |(step, ..)| step.record.is_critical)
        .finish()
}

pub(super) fn suppressions(context: &TableContext, outcome: &Outcome) -> Result<RecordBatch, Error> {
    let rows = &outcome.suppressions;
    Columns::new("suppressions", context.provided, rows)
        .index("flow", |episode| episode.flow)
        .time("start_s", |episode| episode.start)
        .time_or_null("end_s", |episode| episode.end)
        .finish()
}
