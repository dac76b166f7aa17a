//! Traffic that reacts: flows that open when others end.
//!
//! A program's flows and jobs are numbered from 0. Flow or job `n` is a pure function of the spec, the seed
//! and `n`, so that both ends of a connection compute it on their own; only its opening time depends on the
//! run. The event that opens a flow happens at the host that opens it, except for a job that follows a job of
//! another client.

use std::fmt;

use weft_spec::Time;

use crate::Flow;

/// What a host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opens this flow.
    Open(u32),
    /// Begins this job: opens all its requests.
    Begin(u32),
}

/// What the complete delivery of a flow means at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing.
    Plain,
    /// A request: the receiver answers with this flow.
    Request(u32),
    /// A block of this job, which ends when all are in.
    Block(u32),
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

/// Traffic that reacts.
pub trait Program: Send + Sync + fmt::Debug {
    /// Flow `n`; its `start` is known only if it opens by the clock.
    fn flow(&self, n: u32) -> Flow;
    /// What happens by the clock: when, at which host, what.
    fn first(&self) -> Vec<(Time, u32, Step)>;
    /// What the sender of flow `n` does once all of it is acknowledged, and when.
    fn acknowledged(&self, n: u32, now: Time) -> Option<(Time, Step)> {
        let _ = (n, now);
        None
    }
    /// What the receiver of flow `n` makes of it once all of it has arrived.
    fn delivered(&self, n: u32) -> Delivery {
        let _ = n;
        Delivery::Plain
    }
    /// Job `n` of a program that has jobs.
    fn job(&self, n: u32) -> Option<Job> {
        let _ = n;
        None
    }
    /// The job that flow `n` is a part of.
    fn job_of(&self, n: u32) -> Option<u32> {
        let _ = n;
        None
    }
    /// The job that follows job `n`, which ended at `now`.
    fn after(&self, n: u32, now: Time) -> Option<u32> {
        let _ = (n, now);
        None
    }
    /// Hosts that may send and hosts that may receive.
    fn ends(&self) -> (Vec<u32>, Vec<u32>);
}
