//! Estimation of the memory of a run before anything is built.
//!
//! The memory of a run follows from its spec, except for the number of flows that are open at the
//! same time. That depends on the congestion that the run is to determine. The estimate assumes
//! that every link carries only its own flows. A flow then lasts at least until the links of its
//! sender and its receiver have carried it and everything before it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::size_of;

use weft_fabric::{Fabric, NetworkSize};
use weft_run::{FlowRecord, LINK_RESULT_BYTES, SubflowRecord};
use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator};
use weft_transports::TransportConfig;

use crate::engine;
use crate::transport::{self, Host};

/// Bytes of a host and of its index in the engine.
const HOST_BYTES: usize = size_of::<Host>() + size_of::<(u32, u32)>();

/// Returns the bytes of a network of this size, with idle hosts, and of the results of its links.
pub fn network_bytes(size: NetworkSize) -> u64 {
    size.fabric_bytes()
        + size.nodes * engine::NODE_BYTES as u64
        + size.hosts * HOST_BYTES as u64
        + size.links * (engine::LINK_BYTES + LINK_RESULT_BYTES) as u64
}

/// Bytes of a flow in the list of flows, of its copy for the tables, and of its timer.
pub const FLOW_BYTES: u64 = (2 * size_of::<Flow>() + engine::TIMER_BYTES) as u64;

/// Returns the bytes of an open flow at both ends, as its kind of transport estimates them.
pub fn open_flow_bytes(transport: &TransportConfig) -> u64 {
    let kind = transport::transports()
        .iter()
        .find(|kind| kind.name() == transport.kind);
    kind.map_or(0, |kind| kind.open_flow_bytes(transport))
}

/// Returns the bytes of the rows of a finished flow, until they are written.
pub fn row_bytes(transport: &TransportConfig) -> u64 {
    (size_of::<FlowRecord>() + transport.subflows() as usize * size_of::<SubflowRecord>()) as u64
}

/// Estimates the bytes of a run. `available_bytes` is the free memory: the estimate is coarse if
/// the run fits even with all its flows open. Without `streaming`, rows stay in memory until the
/// end.
pub fn run_bytes(
    fabric: &Fabric,
    transports: &[TransportConfig],
    flows: &[Flow],
    generators: &[impl AsRef<dyn FlowGenerator>],
    duration: Time,
    streaming: bool,
    available_bytes: u64,
) -> u64 {
    let [nodes, hosts, links] =
        [fabric.nodes.len(), fabric.hosts.len(), fabric.links.len()].map(|count| count as u64);
    let open: Vec<u64> = transports.iter().map(open_flow_bytes).collect();
    let rows: Vec<u64> = transports.iter().map(row_bytes).collect();
    let each = |per: &[u64]| -> u64 { flows.iter().map(|flow| per[flow.transport as usize]).sum() };
    let generated = generators.iter().map(|generator| {
        let generator = generator.as_ref();
        (generator.timed_actions().len() + generator.connections().len()) as u64
            * open[generator.flow(0).transport as usize]
    });
    let certain = network_bytes(NetworkSize { nodes, hosts, links })
        + flows.len() as u64 * FLOW_BYTES
        + generated.sum::<u64>()
        + if streaming { 0 } else { each(&rows) };
    let peak = certain + each(&open);
    if peak <= available_bytes {
        return peak;
    }
    certain + peak_open_bytes(fabric, flows, &open, duration)
}

/// Returns the maximum bytes of open flows at a time, if links carry only the flows' bytes, one
/// flow after the other.
fn peak_open_bytes(fabric: &Fabric, flows: &[Flow], bytes: &[u64], duration: Time) -> u64 {
    let mut rates = vec![0_u64; fabric.nodes.len()];
    for link in &fabric.links {
        rates[link.from as usize] += link.rate.0;
    }
    let rate = |host: u32| rates[fabric.hosts[host as usize] as usize].max(1);
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_unstable_by_key(|&flow| flows[flow as usize].start);
    // For each host, the times at which its links out and in are free.
    let mut free = vec![[Time(0); 2]; fabric.hosts.len()];
    let mut open = BinaryHeap::new();
    let (mut now, mut peak) = (0, 0);
    for flow in order.into_iter().map(|flow| &flows[flow as usize]) {
        if flow.start >= duration {
            break;
        }
        while let Some(&Reverse((end, bytes))) = open.peek()
            && end <= flow.start
        {
            now -= bytes;
            open.pop();
        }
        let end = flow.size.map_or(flow.stop.unwrap_or(duration), |size| {
            let mut end = flow.start;
            for (host, direction) in [(flow.from, 0), (flow.to, 1)] {
                let free = &mut free[host as usize][direction];
                let takes = u128::from(size.0) * 8_000_000_000_000 / u128::from(rate(host));
                *free = Time((*free).max(flow.start).0.saturating_add(takes as u64));
                end = end.max(*free);
            }
            end
        });
        let bytes = bytes[flow.transport as usize];
        open.push(Reverse((end, bytes)));
        now += bytes;
        peak = peak.max(now);
    }
    peak
}

#[cfg(test)]
mod tests {
    use weft_fabric::{PortQueues, QueueConfig, TOPOLOGIES};
    use weft_spec::{QueueSize, Size, find};

    use super::*;

    fn fabric() -> Fabric {
        let table = "senders = 4\nrate = \"1Gbps\"\ndelay = \"1us\"".parse().unwrap();
        let topology = (find(TOPOLOGIES, "kind", "many-to-one").unwrap().parse)(&table).unwrap();
        let queue = QueueConfig {
            limit: QueueSize::Packets(10),
            mark: None,
        };
        topology
            .value
            .build(&PortQueues {
                switch: queue,
                host: queue,
            })
            .unwrap()
    }

    fn flow(from: u32, start: Time, size: Size) -> Flow {
        Flow {
            id: 0,
            from,
            to: 4,
            size: Some(size),
            start,
            stop: None,
            transport: 0,
            traffic: 0,
            class: 0,
            round: 0,
            rate: None,
        }
    }

    fn peak(flows: &[Flow]) -> u64 {
        peak_open_bytes(&fabric(), flows, &[1], Time::from_ms(1_000))
    }

    #[test]
    fn flows_in_a_row_are_open_one_at_a_time() {
        // 125 KB take 1 ms at 1 Gbps.
        let flows: Vec<Flow> = (0..10)
            .map(|i| flow(0, Time::from_ms(i), Size(125_000)))
            .collect();
        assert_eq!(peak(&flows), 1);
    }

    #[test]
    fn the_receivers_link_carries_one_after_the_other() {
        let at_once: Vec<Flow> = (0..4)
            .map(|from| flow(from, Time::from_ms(0), Size(125_000)))
            .collect();
        assert_eq!(peak(&at_once), 4);
        // A flow begins each half millisecond and takes a millisecond, so half of them wait at the
        // end.
        let flows: Vec<Flow> = (0..40)
            .map(|i| flow(i % 4, Time::from_us(500 * u64::from(i)), Size(125_000)))
            .collect();
        assert_eq!(peak(&flows), 21);
    }

    #[test]
    fn a_flow_after_the_end_is_never_open() {
        assert_eq!(peak(&[flow(0, Time::from_ms(2_000), Size(1))]), 0);
    }
}
