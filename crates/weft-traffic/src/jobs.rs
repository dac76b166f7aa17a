//! Request/response jobs: a client sends requests to several servers at once, as in a parallel
//! read. Kheirkhah and Lee, AMP, section 5.3, have 2 KB to each of 10 servers, 64 KB back from
//! each, and 8 concurrent jobs.
//!
//! Requests and blocks are separate connections; a server opens its connection as soon as the whole
//! request has arrived. The hosts of a job are drawn when it begins, independently of those of
//! other jobs. If the client of a job is not the client of the previous job in its slot, a packet
//! notifies it that the previous job has ended. This packet has the size of an acknowledgement and
//! is neither dropped nor marked, so there is a one-way delay between the two jobs.

use std::sync::Arc;

use rand::RngExt;
use rand::seq::index::sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, refuse};

use crate::closed_loop::check_start_before_stop;
use crate::flow::FlowSource;
use crate::random::{self, RngStreams};
use crate::{
    Action, Flow, FlowGenerator, HostSet, Job, OnDelivered, Pattern, PatternContext, PossiblePairs,
    SizeDistribution,
};

/// Jobs of one client and several servers each: the client sends requests, and every server replies
/// with a block. Several jobs may run concurrently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// Servers per job.
    #[schemars(range(min = 1))]
    pub servers: u32,
    /// Application bytes of a request.
    pub request: Size,
    /// Application bytes of a block: a size, or a distribution of sizes.
    pub block: SizeDistribution,
    /// Number of concurrent jobs.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1, max = MAX_SLOTS))]
    pub slots: u32,
    /// Hosts from which a job's client is drawn; by default all.
    pub client_hosts: Option<HostSet>,
    /// Hosts from which a job's servers are drawn, without its client; by default all.
    pub server_hosts: Option<HostSet>,
    /// Time at which the first jobs begin.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each first job.
    #[serde(default)]
    pub jitter: Time,
    /// Time from which on no job begins; by default the end of the experiment.
    pub stop: Option<Time>,
}

/// Maximum number of concurrent jobs.
const MAX_SLOTS: u32 = 1_000_000;

impl Pattern for Jobs {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let set = |set: &Option<HostSet>, field: &str| -> Result<Vec<u32>, SpecError> {
            let mut hosts = match set {
                None => (0..context.hosts.len() as u32).collect(),
                Some(set) => set.resolve(context).within(field)?,
            };
            hosts.sort_unstable();
            if hosts.is_empty() {
                return refuse(field, "no hosts", "at least one host");
            }
            Ok(hosts)
        };
        let (clients, servers) = (
            set(&self.client_hosts, "client_hosts")?,
            set(&self.server_hosts, "server_hosts")?,
        );
        // A client that is among the servers is not a server of its own job.
        let overlap = clients.iter().any(|client| servers.binary_search(client).is_ok());
        let most = servers.len() as u32 - u32::from(overlap);
        if !(1..=most).contains(&self.servers) {
            let given = self.servers.to_string();
            return Err(match most {
                0 => SpecError::conflict(
                    "servers",
                    "no host other than the client exists",
                    "add hosts to server_hosts",
                ),
                most => SpecError::new("servers", given, format!("1 to {most}")),
            });
        }
        self.request.above_zero("request")?;
        check_start_before_stop(self.start, self.stop, context)?;
        Ok(Some(Arc::new(JobGenerator {
            spec: self.clone(),
            clients,
            servers,
            source: context.source.clone(),
            streams: context.streams(),
        })))
    }
}

/// A generator whose job j has the flows from 2 j s on, where s is its number of servers: first the
/// requests, then the blocks in the same order.
#[derive(Debug)]
struct JobGenerator {
    spec: Jobs,
    /// Possible clients, sorted.
    clients: Vec<u32>,
    /// Possible servers, sorted.
    servers: Vec<u32>,
    source: FlowSource,
    streams: RngStreams,
}

impl JobGenerator {
    /// Draws a job: the start that applies if the job is the first of its slot, the client, and the
    /// servers, which exclude the client.
    fn draw_job(&self, job: u32) -> (Time, u32, Vec<u32>) {
        let mut rng = self.streams.nth(job);
        let client = self.clients[rng.random_range(0..self.clients.len())];
        let start = Time(self.spec.start.0 + random::uniform_up_to(self.spec.jitter, &mut rng).0);
        let itself = self.servers.binary_search(&client).ok();
        let candidates = self.servers.len() - usize::from(itself.is_some());
        let servers = sample(&mut rng, candidates, self.spec.servers as usize)
            .into_iter()
            .map(|i| self.servers[i + usize::from(itself.is_some_and(|itself| i >= itself))])
            .collect();
        (start, client, servers)
    }

    fn flows_per_job(&self) -> u32 {
        2 * self.spec.servers
    }

    fn stop(&self) -> Time {
        self.spec.stop.unwrap_or(Time::MAX)
    }
}

impl FlowGenerator for JobGenerator {
    fn flow(&self, n: u32) -> Flow {
        let servers = self.spec.servers;
        let (job, i) = (n / self.flows_per_job(), n % self.flows_per_job());
        let (start, client, drawn) = self.draw_job(job);
        let server = drawn[(i % servers) as usize];
        let (from, to, size) = if i < servers {
            (client, server, self.spec.request)
        } else {
            // Jobs use the streams from the lowest number up, blocks from the highest down.
            let size = self.spec.block.sample(&mut self.streams.nth(u32::MAX - n));
            (server, client, size)
        };
        Flow {
            round: job / self.spec.slots,
            ..self.source.flow(n, [from, to], Some(size), start)
        }
    }

    fn timed_actions(&self) -> Vec<(Time, u32, Action)> {
        let first = |job| {
            let (start, client, _) = self.draw_job(job);
            (start, client, Action::StartJob(job))
        };
        // Jitter may delay a job beyond the stop.
        (0..self.spec.slots)
            .map(first)
            .filter(|(at, ..)| *at < self.stop())
            .collect()
    }

    fn on_delivered(&self, n: u32) -> OnDelivered {
        let servers = self.spec.servers;
        if n % self.flows_per_job() < servers {
            OnDelivered::Reply(n + servers)
        } else {
            OnDelivered::JobBlock(n / self.flows_per_job())
        }
    }

    fn job(&self, n: u32) -> Option<Job> {
        let (_, client, servers) = self.draw_job(n);
        Some(Job {
            slot: n % self.spec.slots,
            client,
            servers,
            first_request: n.checked_mul(self.flows_per_job())?,
        })
    }

    fn job_of(&self, n: u32) -> Option<u32> {
        Some(n / self.flows_per_job())
    }

    fn next_job(&self, n: u32, now: Time) -> Option<u32> {
        let next = n.checked_add(self.spec.slots)?;
        // All flows of the job must have numbers.
        next.checked_add(1)?.checked_mul(self.flows_per_job())?;
        (now < self.stop()).then_some(next)
    }

    fn pairs(&self) -> PossiblePairs {
        let (clients, servers) = (self.clients.clone(), self.servers.clone());
        if clients == servers {
            PossiblePairs::Product(clients, servers)
        } else {
            PossiblePairs::BothWays(clients, servers)
        }
    }
}
