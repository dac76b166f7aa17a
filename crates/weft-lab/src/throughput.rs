//! The recorder of throughput over time: the run stops at the end of each interval, and the bytes that have arrived
//! are read. A run without this probe has no additional cost, and stops change no result.

use std::collections::{BTreeMap, HashSet};

use weft_run::{ActiveRun, FlowRecord, Plan, Probe, ProbedFlows, ThroughputRecord};
use weft_spec::Time;

/// The flows that are recorded at one interval.
struct Recorder {
    interval: Time,
    flows: HashSet<ProbedFlows>,
    /// Number of static flows and of generators, from which the generator of a flow follows.
    static_flows: u32,
    all_generators: u32,
    /// End of the last interval, and the bytes that had arrived by then.
    last: Time,
    delivered: BTreeMap<u32, u64>,
}

/// The recorders of a run, one for each interval.
#[derive(Default)]
pub(crate) struct ThroughputRecorders {
    recorders: Vec<Recorder>,
    records: Vec<ThroughputRecord>,
}

impl Recorder {
    fn records(&self, flow: u32) -> bool {
        let generator = || {
            flow.checked_sub(self.static_flows)
                .map(|n| n % self.all_generators.max(1))
        };
        self.flows.contains(&ProbedFlows::One(flow))
            || generator().is_some_and(|g| self.flows.contains(&ProbedFlows::Generated(g)))
    }

    /// Returns the end of the current interval.
    fn next(&self) -> Time {
        Time(self.last.0.saturating_add(self.interval.0))
    }

    /// Records the increase of bytes since the last interval, which ends now.
    fn record(&mut self, now: Time, delivered: &[(u32, u64)], records: &mut Vec<ThroughputRecord>) {
        let interval = Time(now.0 - self.last.0);
        for &(flow, bytes) in delivered {
            if !self.records(flow) {
                continue;
            }
            let before = self.delivered.insert(flow, bytes).unwrap_or(0);
            if bytes > before {
                records.push(ThroughputRecord {
                    end: now,
                    interval,
                    flow,
                    bytes: bytes - before,
                });
            }
        }
        self.last = now;
    }
}

impl ThroughputRecorders {
    /// Creates the recorders that the probes of a plan ask for.
    pub fn new(plan: &Plan) -> Self {
        let mut recorders: BTreeMap<Time, Recorder> = BTreeMap::new();
        for probe in &plan.probes {
            let Probe::Throughput { flows, interval } = *probe else {
                continue;
            };
            let recorder = recorders.entry(interval).or_insert_with(|| Recorder {
                interval,
                flows: HashSet::new(),
                static_flows: plan.flows.len() as u32,
                all_generators: plan.generators.len() as u32,
                last: Time(0),
                delivered: BTreeMap::new(),
            });
            recorder.flows.insert(flows);
        }
        Self {
            recorders: recorders.into_values().collect(),
            records: Vec::new(),
        }
    }

    /// Returns the next time at which the run has to stop; `None` if nothing is recorded.
    pub fn next_stop(&self) -> Option<Time> {
        self.recorders.iter().map(Recorder::next).min()
    }

    /// Records the intervals that end at `now`.
    pub fn record(&mut self, now: Time, run: &dyn ActiveRun) {
        if self.next_stop().is_none_or(|stop| stop > now) {
            return;
        }
        let delivered = run.delivered_bytes();
        for recorder in self
            .recorders
            .iter_mut()
            .filter(|recorder| recorder.next() == now)
        {
            recorder.record(now, &delivered, &mut self.records);
        }
    }

    /// Records the part of an interval in which the run ends.
    pub fn finish(&mut self, end: Time, run: &dyn ActiveRun) {
        let delivered = if self.recorders.is_empty() {
            Vec::new()
        } else {
            run.delivered_bytes()
        };
        // Records of flows that have left the run were made for a whole interval.
        for record in self.records.iter_mut().filter(|record| record.end > end) {
            record.interval.0 -= record.end.0 - end.0;
            record.end = end;
        }
        for recorder in self.recorders.iter_mut().filter(|recorder| recorder.last < end) {
            recorder.record(end, &delivered, &mut self.records);
        }
    }

    /// Records what flows have delivered whose records leave the run. Their bytes count in the interval that ends
    /// next.
    pub fn on_taken(&mut self, flows: &[FlowRecord]) {
        for recorder in &mut self.recorders {
            let (end, interval) = (recorder.next(), recorder.interval);
            for record in flows {
                if !recorder.records(record.flow) {
                    continue;
                }
                let before = recorder.delivered.remove(&record.flow).unwrap_or(0);
                if record.delivered_bytes > before {
                    self.records.push(ThroughputRecord {
                        end,
                        interval,
                        flow: record.flow,
                        bytes: record.delivered_bytes - before,
                    });
                }
            }
        }
    }

    /// Returns the number of records so far.
    pub fn rows(&self) -> usize {
        self.records.len()
    }

    /// Returns the records in the order of time, then of the flow.
    pub fn into_records(mut self) -> Vec<ThroughputRecord> {
        self.records
            .sort_by_key(|record| (record.end, record.flow, record.interval));
        self.records
    }
}
