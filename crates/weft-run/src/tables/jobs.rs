//! The tables `jobs`, `ranks` and `steps`.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use weft_spec::Time;
use weft_traffic::{Job, RankedJobs, Step};

use super::{TableBuilder, TableContext};
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

    /// Returns the part of the job's time beyond the computing of each rank.
    fn exposed(&self) -> Option<f64> {
        Some(self.seconds()? - self.ranked.as_ref()?.busy.seconds())
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

impl TableBuilder<'_> {
    pub(super) fn jobs(&self) -> Result<RecordBatch, Error> {
        let of_requests = self.outcome.jobs.iter().filter_map(|record| {
            let generator = &self.generators[record.generator as usize];
            let job = generator.job(record.job)?;
            Some(Row {
                record: record.clone(),
                traffic: generator.flow(job.first_request).traffic,
                requests: Some(job),
                ranked: None,
            })
        });
        let by_job = self
            .outcome
            .ranks
            .chunk_by(|a, b| (a.generator, a.record.job) == (b.generator, b.record.job));
        let of_ranks = by_job.filter_map(|ranks| {
            let generator = ranks.first()?.generator;
            ranked_row(ranks, self.generators[generator as usize].ranked_jobs()?)
        });
        let mut rows: Vec<Row> = of_requests.chain(of_ranks).collect();
        for row in &mut rows {
            let key = (row.record.generator, row.record.job);
            if let (Some(ranked), Some(slowest)) = (&mut row.ranked, self.slowest.get(&key)) {
                ranked.slowest_flow = Some(self.index_of(key.0, slowest.message));
                ranked.slowest_link = slowest.link;
            }
        }
        rows.sort_by_key(|row| (row.record.generator, row.record.job));
        self.columns("jobs", &rows)
            .index("job", |row| row.record.job)
            .text("traffic", |row| self.traffic(row.traffic))
            .index_or_null("slot", |row| Some(row.requests.as_ref()?.slot))
            .text_or_null("client", |row| {
                Some(self.context.host(row.requests.as_ref()?.client))
            })
            .texts("servers", |row| {
                let servers = row.requests.iter().flat_map(|job| &job.servers);
                servers.map(|&host| self.context.host(host)).collect()
            })
            .time("start_s", |row| row.record.start)
            .time_or_null("end_s", |row| row.record.end)
            .number_or_null("jct_s", Row::seconds)
            .time_or_null("finish_s", |row| row.record.end)
            .count_or_null("size_bytes", Row::bytes)
            .number_or_null("algorithm_bps", Row::algorithm_bandwidth)
            .number_or_null("bus_bps", Row::bus_bandwidth)
            .index_or_null("last_rank", |row| row.ranked.as_ref()?.last_rank)
            .number_or_null("exposed_s", Row::exposed)
            .index_or_null("slowest_flow", |row| row.ranked.as_ref()?.slowest_flow)
            .index_or_null("slowest_link", |row| row.ranked.as_ref()?.slowest_link)
            .finish()
    }

    pub(super) fn ranks(&self) -> Result<RecordBatch, Error> {
        let facts = self.ranked_jobs();
        let rows: Vec<(&GeneratorRank, &RankedJobs)> = self
            .outcome
            .ranks
            .iter()
            .filter(|rank| rank.record.start.is_some())
            .filter_map(|rank| Some((rank, facts[rank.generator as usize].as_ref()?)))
            .collect();
        let spans = job_spans(self.outcome);
        let ended = |rank: &GeneratorRank| {
            let (start, end) = (rank.record.start?, rank.record.end?);
            Some(Time(end.0 - start.0).seconds())
        };
        let exposed = |(rank, _): &(&GeneratorRank, _)| Some(ended(rank)? - rank.record.busy.seconds());
        let idle = |(rank, _): &(&GeneratorRank, _)| {
            let (start, end) = spans[&(rank.generator, rank.record.job)];
            Some(Time(end?.0 - start?.0).seconds() - ended(rank)?)
        };
        self.columns("ranks", &rows)
            .index("job", |(rank, _)| rank.record.job)
            .text("traffic", |(_, facts)| self.traffic(facts.traffic))
            .index("rank", |(rank, _)| rank.record.rank)
            .text("host", |(rank, facts)| {
                self.context.host(facts.hosts[rank.record.rank as usize])
            })
            .time_or_null("start_s", |(rank, _)| rank.record.start)
            .time_or_null("finish_s", |(rank, _)| rank.record.end)
            .time("computed_s", |(rank, _)| rank.record.computed)
            .number_or_null("exposed_s", exposed)
            .number_or_null("idle_s", idle)
            .finish()
    }

    pub(super) fn steps(&self) -> Result<RecordBatch, Error> {
        let facts = self.ranked_jobs();
        let rows: Vec<(&GeneratorStep, &RankedJobs, Option<Time>)> = self
            .outcome
            .steps
            .iter()
            .zip(&self.ideal_steps)
            .filter_map(|(step, &ideal)| Some((step, facts[step.generator as usize].as_ref()?, ideal)))
            .collect();
        self.columns("steps", &rows)
            .index("job", |(step, ..)| step.record.job)
            .text("traffic", |(_, facts, _)| self.traffic(facts.traffic))
            .index("rank", |(step, ..)| step.record.rank)
            .text("host", |(step, facts, _)| {
                self.context.host(facts.hosts[step.record.rank as usize])
            })
            .index_or_null("to_rank", |(step, ..)| step.record.to)
            .index_or_null("flow", |(step, ..)| {
                let message = step.record.message?;
                Some(self.index_of(step.generator, message))
            })
            .time("start_s", |(step, ..)| step.record.start)
            .time_or_null("end_s", |(step, ..)| step.record.end)
            .time_or_null("ideal_s", |(.., ideal)| *ideal)
            .flag("critical", |(step, ..)| step.record.is_critical)
            .finish()
    }
}
