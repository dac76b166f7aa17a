//! Flow generators: traffic that opens flows while the run goes on, for example when others end.
//!
//! A generator's flows and jobs are numbered from 0. Flow or job `n` is a pure function of the spec, the seed
//! and `n`, so that both ends of a connection compute it on their own; only its opening time depends on the
//! run. The event that opens a flow happens at the host that opens it, except for a job that follows a job of
//! another client.

use std::fmt;

use weft_spec::Time;

use crate::Flow;

/// An action of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Opens a flow.
    OpenFlow(u32),
    /// Starts a job: opens all its requests.
    StartJob(u32),
}

/// What the receiver of a flow does once all its data is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelivered {
    /// Nothing.
    Nothing,
    /// The flow is a request: the receiver replies with this flow.
    Reply(u32),
    /// The flow is a block of this job, which ends when all its blocks are delivered.
    JobBlock(u32),
}

/// A job: a client asks servers, each answers with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which of the jobs side by side it is.
    pub slot: u32,
    /// The asking host.
    pub client: u32,
    /// The asked hosts.
    pub servers: Vec<u32>,
    /// The first request; those of the other servers follow in order.
    pub first_request: u32,
}

/// Traffic that opens flows while the run goes on.
pub trait FlowGenerator: Send + Sync + fmt::Debug {
    /// Flow `n`; its `start` is known only if it opens by the clock.
    fn flow(&self, n: u32) -> Flow;
    /// Actions at known times, each with its host.
    fn timed_actions(&self) -> Vec<(Time, u32, Action)>;
    /// Returns the action of the sender of flow `n` once all its data is acknowledged, and the action's time.
    fn on_acked(&self, n: u32, now: Time) -> Option<(Time, Action)> {
        let _ = (n, now);
        None
    }
    /// Returns what the receiver of flow `n` does once all its data is delivered.
    fn on_delivered(&self, n: u32) -> OnDelivered {
        let _ = n;
        OnDelivered::Nothing
    }
    /// Returns job `n` of a generator that has jobs.
    fn job(&self, n: u32) -> Option<Job> {
        let _ = n;
        None
    }
    /// Returns the job that flow `n` is a part of.
    fn job_of(&self, n: u32) -> Option<u32> {
        let _ = n;
        None
    }
    /// Returns the job that follows job `n`, which ended at `now`.
    fn next_job(&self, n: u32, now: Time) -> Option<u32> {
        let _ = (n, now);
        None
    }
    /// Hosts that may send and hosts that may receive.
    fn hosts(&self) -> (Vec<u32>, Vec<u32>);
}
