//! Records of flows and links.

use weft_run::{
    CounterSnapshot, FlowRecord, GeneratorDriver, LinkRecord, MeasurementWindow, Outcome, SubflowRecord,
};
use weft_spec::Time;
use weft_traffic::Flow;

use super::FlowSimulation;
use super::flows::Phase;

impl FlowSimulation {
    /// Returns the record of a flow; `finish` is the time at which its last byte arrived.
    pub(super) fn record(&self, slot: u32, finish: Option<Time>) -> (FlowRecord, Flow) {
        let active = &self.flows[slot];
        let profile = &self.plan.transports[active.flow.transport as usize]
            .expect_tcp()
            .profile;
        let payload = f64::from(profile.sizes.mss) / f64::from(profile.wire_size()) / 8.0;
        let delivered: f64 = active.delivered.iter().sum();
        let delivered_bytes = match (finish, active.flow.size) {
            (Some(_), Some(size)) => size.0,
            (None, Some(size)) => ((delivered * payload) as u64).min(size.0),
            (_, None) => (delivered * payload) as u64,
        };
        let subflows = split_bytes(delivered_bytes, &active.delivered);
        let subflows = subflows.map(|acked_bytes| SubflowRecord {
            acked_bytes: Some(acked_bytes),
            ..SubflowRecord::default()
        });
        let subflows = subflows.collect();
        let measured_bytes = match &self.measurement {
            None => delivered_bytes,
            Some(window) => window.bytes_in(active.index, delivered_bytes),
        };
        let record = FlowRecord {
            established: (active.established <= self.now).then_some(active.established),
            finish,
            acked: None,
            delivered_bytes,
            measured_bytes,
            subflows,
            ..FlowRecord::unopened(active.index)
        };
        (record, active.flow.clone())
    }

    fn open_slots(&self) -> impl Iterator<Item = u32> {
        let slots = self.flows.slots();
        slots.filter(|&slot| self.flows[slot].phase != Phase::Done)
    }

    /// Returns the bytes that have been delivered by now, by flow. Unlike [`integrate_all`](Self::integrate_all), this
    /// changes nothing: sums in other steps would have other roundings.
    pub(super) fn bytes_now(&self) -> Vec<(u32, u64)> {
        let open = self.open_slots().map(|slot| {
            let active = &self.flows[slot];
            let profile = &self.plan.transports[active.flow.transport as usize]
                .expect_tcp()
                .profile;
            let payload = f64::from(profile.sizes.mss) / f64::from(profile.wire_size()) / 8.0;
            let mut bits: f64 = active.delivered.iter().sum();
            if active.phase == Phase::Transferring {
                let rate: f64 = active.rates.iter().sum();
                bits += rate * (self.now.seconds() - active.updated_at.seconds()).max(0.0);
            }
            let bytes = (bits * payload) as u64;
            (
                active.index,
                active.flow.size.map_or(bytes, |size| bytes.min(size.0)),
            )
        });
        let finished = self
            .finished
            .iter()
            .map(|(record, _)| (record.flow, record.delivered_bytes));
        open.chain(finished).collect()
    }

    pub(super) fn link_records(&self) -> Vec<LinkRecord> {
        let record = |&bits: &f64| LinkRecord {
            bytes: (bits / 8.0) as u64,
            delivered_bytes: (bits / 8.0) as u64,
            ..LinkRecord::default()
        };
        self.network.link_bits.iter().map(record).collect()
    }

    /// Returns the counters now. All rates must be integrated up to now.
    pub(super) fn counter_snapshot(&self) -> CounterSnapshot {
        let bytes = self.open_slots().map(|slot| {
            let (record, _) = self.record(slot, None);
            (record.flow, record.delivered_bytes)
        });
        CounterSnapshot {
            links: self.link_records(),
            classes: Vec::new(),
            queues: Vec::new(),
            bytes: bytes.collect(),
        }
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        self.integrate_all();
        let mut flows = std::mem::take(&mut self.finished);
        let open: Vec<u32> = self.open_slots().collect();
        flows.extend(open.into_iter().map(|slot| self.record(slot, None)));
        let unopened = (0_u32..).zip(&self.plan.flows);
        let unopened = unopened.filter(|(_, flow)| flow.start >= self.now);
        flows.extend(unopened.map(|(index, flow)| (FlowRecord::unopened(index), flow.clone())));
        let counted = self.measurement.as_ref().map(|_| self.counter_snapshot());
        let measured = self.measurement.as_ref().zip(counted);
        let mut outcome = self.partial_outcome(flows);
        outcome.measured = measured.map(|(window, counted)| window.finish(self.now, &counted));
        outcome.links = self.link_records();
        let generators = std::mem::replace(&mut self.generators, GeneratorDriver::new(&[], 0, &[]));
        let records = generators.into_records();
        (outcome.jobs, outcome.ranks) = (records.jobs, records.ranks);
        (outcome.steps, outcome.operations) = (records.steps, records.operations);
        outcome
    }

    pub(super) fn partial_outcome(&self, mut flows: Vec<(FlowRecord, Flow)>) -> Outcome {
        flows.sort_by_key(|(record, _)| record.flow);
        let static_flows = self.plan.flows.len() as u32;
        let opened = flows.iter().filter(|(record, _)| record.flow >= static_flows);
        Outcome {
            end: self.now,
            opened: opened.map(|(record, flow)| (record.flow, flow.clone())).collect(),
            measured: self.measurement.as_ref().map(MeasurementWindow::bounds),
            flows: flows.into_iter().map(|(record, _)| record).collect(),
            ..Outcome::default()
        }
    }
}

/// Splits bytes in the ratio of `parts`, to whole bytes that add up to `bytes`.
fn split_bytes(bytes: u64, parts: &[f64]) -> impl Iterator<Item = u64> {
    let total: f64 = parts.iter().sum();
    let (mut sum, mut split) = (0.0, 0);
    parts.iter().map(move |part| {
        sum += part;
        let until = if sum >= total {
            if total > 0.0 { bytes } else { 0 }
        } else {
            ((bytes as f64 * (sum / total)) as u64).clamp(split, bytes)
        };
        let own = until - split;
        split = until;
        own
    })
}

#[cfg(test)]
mod tests {
    use super::split_bytes;

    #[test]
    fn the_bytes_of_subflows_add_up_to_those_of_the_flow() {
        let split = |bytes, parts: &[f64]| split_bytes(bytes, parts).collect::<Vec<u64>>();
        assert_eq!(split(1_000, &[1_019.0]), [1_000]);
        assert_eq!(split(1_000, &[1.0, 1.0, 1.0]), [333, 333, 334]);
        assert_eq!(split(1_000, &[0.0, 3.0, 0.0]), [0, 1_000, 0]);
        assert_eq!(split(0, &[0.0, 0.0]), [0, 0]);
    }
}
