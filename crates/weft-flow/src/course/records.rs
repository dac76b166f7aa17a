//! What a run leaves: records of flows and links.

use weft_run::{Counted, FlowRecord, LinkRecord, Measuring, Outcome, Reacting, SubflowRecord};
use weft_spec::Time;
use weft_traffic::Flow;

use super::Course;
use super::flows::Phase;

impl Course {
    /// What a flow left by now; `finish` is when its last byte arrived.
    pub(super) fn record(&self, place: u32, finish: Option<Time>) -> (FlowRecord, Flow) {
        let served = &self.served[place as usize];
        let profile = &self.plan.transports[served.flow.transport as usize].profile;
        let payload = f64::from(profile.mss) / f64::from(profile.wire_size()) / 8.0;
        let subflow = |&bits: &f64| SubflowRecord {
            acked_bytes: (bits * payload) as u64,
            ..SubflowRecord::default()
        };
        let subflows: Vec<SubflowRecord> = served.delivered.iter().map(subflow).collect();
        let delivered: f64 = served.delivered.iter().sum();
        let delivered_bytes = match (finish, served.flow.size) {
            (Some(_), Some(size)) => size.0,
            (None, Some(size)) => ((delivered * payload) as u64).min(size.0),
            (_, None) => (delivered * payload) as u64,
        };
        let measured_bytes = match &self.measuring {
            None => delivered_bytes,
            Some(measuring) => measuring.bytes(served.index, delivered_bytes),
        };
        let record = FlowRecord {
            established: (served.established <= self.now).then_some(served.established),
            finish,
            acked: None,
            delivered_bytes,
            measured_bytes,
            subflows,
            ..FlowRecord::unopened(served.index)
        };
        (record, served.flow.clone())
    }

    fn open_places(&self) -> impl Iterator<Item = u32> {
        let open = self.served.iter().zip(0..);
        open.filter(|(served, _)| served.phase != Phase::Gone)
            .map(|(_, place)| place)
    }

    pub(super) fn link_records(&self) -> Vec<LinkRecord> {
        let record = |&bits: &f64| LinkRecord {
            bytes: (bits / 8.0) as u64,
            delivered_bytes: (bits / 8.0) as u64,
            ..LinkRecord::default()
        };
        self.carried.iter().map(record).collect()
    }

    /// All that was counted by now. Everything must be accounted for.
    pub(super) fn counted(&self) -> Counted {
        let bytes = self.open_places().map(|place| {
            let (record, _) = self.record(place, None);
            (record.flow, record.delivered_bytes)
        });
        Counted {
            links: self.link_records(),
            queues: Vec::new(),
            bytes: bytes.collect(),
        }
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        self.account_all();
        let mut flows = std::mem::take(&mut self.ended);
        let open: Vec<u32> = self.open_places().collect();
        flows.extend(open.into_iter().map(|place| self.record(place, None)));
        let unopened = (0_u32..).zip(&self.plan.flows);
        let unopened = unopened.filter(|(_, flow)| flow.start >= self.now);
        flows.extend(unopened.map(|(index, flow)| (FlowRecord::unopened(index), flow.clone())));
        let counted = self.measuring.as_ref().map(|_| self.counted());
        let measured = self.measuring.as_ref().zip(counted);
        let mut outcome = self.told(flows);
        outcome.measured = measured.map(|(measuring, counted)| measuring.measured(self.now, counted));
        outcome.links = self.link_records();
        outcome.jobs = std::mem::replace(&mut self.reacting, Reacting::new(&[], 0)).jobs();
        outcome
    }

    pub(super) fn told(&self, mut flows: Vec<(FlowRecord, Flow)>) -> Outcome {
        flows.sort_by_key(|(record, _)| record.flow);
        let statics = self.plan.flows.len() as u32;
        let opened = flows.iter().filter(|(record, _)| record.flow >= statics);
        Outcome {
            end: self.now,
            opened: opened.map(|(_, flow)| flow.clone()).collect(),
            measured: self.measuring.as_ref().map(Measuring::whole),
            flows: flows.into_iter().map(|(record, _)| record).collect(),
            ..Outcome::default()
        }
    }
}
