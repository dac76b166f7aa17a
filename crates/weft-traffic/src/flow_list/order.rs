//! The order of flows that start others: columns `after` and `compute_s` of CSV, and triggers of htsim's matrices.
//!
//! A host knows only of flows that it sends or receives, so a flow waits for flows from or to its sender. A trigger of htsim may also
//! start a flow at the receiver of the flow whose sender gives the signal. The receiver then computes the time of the signal.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use weft_spec::Time;

use super::ParseError;
use crate::Flow;
use crate::tasks::{TaskGraph, TaskGraphBuilder, Work};

/// The fields of a flow that concern its order.
#[derive(Debug, Default)]
pub(super) struct Order<'a> {
    /// Line of the flow in the file, from 0.
    pub line: usize,
    /// Name by which other flows wait for this one.
    pub id: Option<Cow<'a, str>>,
    /// Names of the flows for which this one waits.
    pub after: Vec<String>,
    /// Time for which the sender computes before the flow opens.
    pub compute: Time,
    /// The trigger that opens the flow.
    pub trigger: Option<u64>,
    /// The trigger that gets a signal once the sender has all acknowledgements.
    pub send_done: Option<u64>,
    /// The trigger that gets a signal once the receiver has all data.
    pub receive_done: Option<u64>,
}

/// A trigger of htsim, which opens flows when it gets signals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trigger {
    /// Line of the trigger in the file, from 0.
    pub line: usize,
    /// Number by which flows name the trigger.
    pub id: u64,
    /// Rule by which signals open flows.
    pub kind: TriggerKind,
}

/// Rule by which the signals of a trigger open its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TriggerKind {
    /// The only signal opens all flows.
    Oneshot,
    /// The n-th signal opens the n-th flow.
    Multishot,
    /// The signal with this number opens all flows.
    Barrier(u64),
}

/// An end of a flow, at which its last byte or the last acknowledgement arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// The error of a line from 0.
type LineError = (usize, ParseError);

/// The flows of a file as tasks of their hosts.
pub(super) struct OrderedFlows<'a> {
    flows: &'a [Flow],
    orders: &'a [Order<'a>],
    builder: TaskGraphBuilder,
    hosts: Vec<u32>,
    /// The tasks that compute, send and receive, of each flow.
    tasks: Vec<[u32; 3]>,
    /// Function that returns the time that the last acknowledgement of a flow takes, if it is known.
    return_time: &'a dyn Fn(&Flow) -> Option<Time>,
}

impl<'a> OrderedFlows<'a> {
    /// Creates the tasks of all flows. Each opens after its `start` and its computing.
    ///
    /// # Errors
    /// Returns an error if a flow has no size.
    pub fn new(
        flows: &'a [Flow],
        orders: &'a [Order<'a>],
        return_time: &'a dyn Fn(&Flow) -> Option<Time>,
    ) -> Result<Self, LineError> {
        let hosts: BTreeSet<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        let hosts: Vec<u32> = hosts.into_iter().collect();
        let ranks: HashMap<u32, u32> = (0..).zip(&hosts).map(|(rank, &host)| (host, rank)).collect();
        let mut builder = TaskGraphBuilder::new(hosts.len() as u32);
        let mut tasks = Vec::with_capacity(flows.len());
        for (flow, order) in flows.iter().zip(orders) {
            let Some(size) = flow.size else {
                let given = "a flow without a size in a list in which flows wait for others";
                return Err((order.line, (given.to_owned(), "a size".to_owned())));
            };
            let [from, to] = [flow.from, flow.to].map(|host| ranks[&host]);
            let (send, receive) = builder.message(from, to, size.0);
            let compute = builder.add(from, Work::Compute(order.compute), None);
            builder.after(send, compute);
            if flow.start > Time(0) {
                let pause = builder.add(from, Work::Pause(flow.start), None);
                builder.after(compute, pause);
            }
            tasks.push([compute, send, receive]);
        }
        Ok(Self {
            flows,
            orders,
            builder,
            hosts,
            tasks,
            return_time,
        })
    }

    /// Returns the task that is done when a flow has reached an end.
    fn task_at(&self, flow: usize, end: End) -> u32 {
        self.tasks[flow][match end {
            End::Sender => 1,
            End::Receiver => 2,
        }]
    }

    fn host_at(&self, flow: usize, end: End) -> u32 {
        match end {
            End::Sender => self.flows[flow].from,
            End::Receiver => self.flows[flow].to,
        }
    }

    /// Lets flows wait for those that they name.
    ///
    /// # Errors
    /// Returns an error if a name occurs twice or not at all, or belongs to a flow between other hosts.
    pub fn add_names(&mut self) -> Result<(), LineError> {
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (flow, order) in self.orders.iter().enumerate() {
            if let Some(id) = &order.id
                && by_id.insert(id, flow).is_some()
            {
                let given = format!("id {id:?} for the second time");
                return Err((order.line, (given, "an id per flow".to_owned())));
            }
        }
        for (flow, order) in self.orders.iter().enumerate() {
            for name in &order.after {
                let Some(&before) = by_id.get(name.as_str()) else {
                    let allowed = "values of the column id".to_owned();
                    return Err((order.line, (format!("after {name:?}"), allowed)));
                };
                let from = self.flows[flow].from;
                // A flow that its sender has sent is done once it is acknowledged.
                let end = [End::Receiver, End::Sender]
                    .into_iter()
                    .find(|&end| self.host_at(before, end) == from);
                let Some(end) = end else {
                    let given = format!("after {name:?}, a flow neither from nor to the sender");
                    let allowed = "flows that the sender sends or receives".to_owned();
                    return Err((order.line, (given, allowed)));
                };
                let task = self.task_at(before, end);
                self.builder.after(self.tasks[flow][0], task);
            }
        }
        Ok(())
    }

    /// Lets flows wait for signals of triggers.
    ///
    /// # Errors
    /// Returns an error if a trigger is unknown, never opens all of its flows, or opens a flow of a host that does not know of the
    /// signal.
    pub fn add_triggers(&mut self, triggers: &[Trigger]) -> Result<(), LineError> {
        let known: HashSet<u64> = triggers.iter().map(|trigger| trigger.id).collect();
        let mut signals: HashMap<u64, Vec<(usize, End)>> = HashMap::new();
        let mut opened: HashMap<u64, Vec<usize>> = HashMap::new();
        for (flow, order) in self.orders.iter().enumerate() {
            let named = [
                (order.send_done, End::Sender),
                (order.receive_done, End::Receiver),
            ];
            for (id, end) in named {
                if let Some(id) = id {
                    signals.entry(id).or_default().push((flow, end));
                }
            }
            if let Some(id) = order.trigger {
                opened.entry(id).or_default().push(flow);
            }
            for id in [order.trigger, order.send_done, order.receive_done]
                .into_iter()
                .flatten()
            {
                if !known.contains(&id) {
                    let allowed = "a trigger with a line of its own".to_owned();
                    return Err((order.line, (format!("trigger {id}"), allowed)));
                }
            }
        }
        for trigger in triggers {
            let signals = signals.remove(&trigger.id).unwrap_or_default();
            let flows = opened.remove(&trigger.id).unwrap_or_default();
            self.add_trigger(*trigger, &signals, &flows)?;
        }
        Ok(())
    }

    /// Returns the task at a host that is done when a flow has reached an end; `None` if the host does not know of it.
    fn signal_at(&mut self, host: u32, flow: usize, end: End) -> Option<u32> {
        if self.host_at(flow, end) == host {
            return Some(self.task_at(flow, end));
        }
        if self.host_at(flow, End::Receiver) != host {
            return None;
        }
        let time = (self.return_time)(&self.flows[flow])?;
        let rank = self.rank_of(host);
        let pause = self.builder.add(rank, Work::Pause(time), None);
        let received = self.task_at(flow, End::Receiver);
        self.builder.after(pause, received);
        Some(pause)
    }

    fn add_trigger(
        &mut self,
        trigger: Trigger,
        signals: &[(usize, End)],
        flows: &[usize],
    ) -> Result<(), LineError> {
        let refuse = |given: String, allowed: &str| Err((trigger.line, (given, allowed.to_owned())));
        let (id, given) = (trigger.id, signals.len());
        match trigger.kind {
            TriggerKind::Oneshot if given > 1 => {
                return refuse(format!("oneshot trigger {id} with {given} signals"), "one signal");
            }
            TriggerKind::Barrier(count) if given as u64 != count => {
                let given = format!("barrier {id} of {count} with {given} signals");
                return refuse(given, "as many signals as its count");
            }
            TriggerKind::Multishot if given < flows.len() => {
                let given = format!(
                    "multishot trigger {id} of {} flows with {given} signals",
                    flows.len()
                );
                return refuse(given, "at least a signal per flow");
            }
            TriggerKind::Oneshot if given == 0 && !flows.is_empty() => {
                return refuse(format!("trigger {id} without a signal"), "one signal");
            }
            _ => {}
        }
        let elsewhere = |orders: &[Order<'_>], flow: usize, other: usize| {
            let given = format!(
                "trigger {id} opens the flow of line {} at another host than that of the signal of line {}",
                orders[flow].line + 1,
                orders[other].line + 1,
            );
            let allowed =
                "signals at the sender of the flow, or signal_delay for those of its receiver's flows";
            (trigger.line, (given, allowed.to_owned()))
        };
        if trigger.kind != TriggerKind::Multishot {
            for &flow in flows {
                for &(other, end) in signals {
                    let signal = self.signal_at(self.flows[flow].from, other, end);
                    let signal = signal.ok_or_else(|| elsewhere(self.orders, flow, other))?;
                    self.builder.after(self.tasks[flow][0], signal);
                }
            }
            return Ok(());
        }
        let Some(&first) = flows.first() else {
            return Ok(());
        };
        // Signals are messages of a host to itself, which receives take in the order in which they arrive.
        let tag = trigger.line as u32;
        let host = self.flows[first].from;
        let rank = self.rank_of(host);
        for &(other, end) in signals {
            let task = self.signal_at(host, other, end);
            let task = task.ok_or_else(|| elsewhere(self.orders, first, other))?;
            let signal = self.builder.send(rank, rank, 0, tag, None);
            self.builder.after(signal, task);
        }
        for &flow in flows {
            if self.flows[flow].from != host {
                let given = format!("multishot trigger {id} with flows from several hosts");
                return refuse(given, "flows from one host");
            }
            let work = Work::ReceiveAny {
                from: Some(rank),
                tag: Some(tag),
            };
            let receive = self.builder.add(rank, work, None);
            self.builder.after(self.tasks[flow][0], receive);
        }
        Ok(())
    }

    fn rank_of(&self, host: u32) -> u32 {
        self.hosts.partition_point(|&other| other < host) as u32
    }

    /// Builds the graph. Returns it with the host of each rank.
    ///
    /// # Errors
    /// Returns the line of a flow that waits for itself.
    pub fn build(self) -> Result<(TaskGraph, Vec<u32>), LineError> {
        let (tasks, orders) = (self.tasks, self.orders);
        let graph = self.builder.build().map_err(|stuck| {
            let flow = tasks.iter().position(|tasks| tasks.contains(&stuck.task));
            let given = "a flow that waits for itself, through the others of a cycle".to_owned();
            let line = flow.map_or(0, |flow| orders[flow].line);
            (line, (given, "an order without cycles".to_owned()))
        })?;
        Ok((graph, self.hosts))
    }
}
