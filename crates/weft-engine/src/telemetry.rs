//! In-band network telemetry: what the ports of switches report of packets whose senders ask for it.
//!
//! A record is that of a port at the time at which it begins to send the packet. Nothing travels with the packet. Each
//! port sends its record to the partition of the packet's sender, where the sender reads all of them when the
//! acknowledgement of the packet arrives. A packet that does not ask has no part in this, and a network without
//! such senders has no telemetry.
//!
//! The departures of a FIFO are known when packets arrive, but not what arrives behind them in the meantime. So a port
//! lists the packets that ask and have not begun, and completes their records before the next packet arrives after that,
//! or at the end of the window in which they begin. A packet reaches the next node in a later window.

use std::collections::{HashMap, VecDeque};

use weft_spec::Rate;

use crate::packet::Packet;
use crate::port::Port;

/// Maximum number of records of a packet, that of the header of HPCC (Li et al., SIGCOMM 2019, section 4.1). Ports after
/// these add nothing.
pub const MAX_HOPS: usize = 5;

/// The state of a port at the time at which it begins to send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRecord {
    /// The time in picoseconds.
    pub time: u64,
    /// Bytes that the port has sent before the packet.
    pub sent: u64,
    /// Bytes that wait in the port, without the packet.
    pub queue: u64,
    /// Rate of the link.
    pub rate: Rate,
}

/// The records of the ports that a packet has passed, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRecord {
    hops: [HopRecord; MAX_HOPS],
    len: usize,
}

impl PathRecord {
    /// The records of a packet that has passed no port.
    const EMPTY: Self = Self {
        hops: [HopRecord {
            time: 0,
            sent: 0,
            queue: 0,
            rate: Rate(0),
        }; MAX_HOPS],
        len: 0,
    };

    /// Returns a path of these records, at most [`MAX_HOPS`].
    pub fn of(hops: &[HopRecord]) -> Self {
        let mut path = Self::EMPTY;
        for hop in hops {
            path.push(*hop);
        }
        path
    }

    /// Returns the records.
    pub fn hops(&self) -> &[HopRecord] {
        &self.hops[..self.len]
    }

    fn push(&mut self, hop: HopRecord) {
        if let Some(slot) = self.hops.get_mut(self.len) {
            *slot = hop;
            self.len += 1;
        }
    }
}

/// The packet to which a record belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// The node that sent it.
    node: u32,
    flow: u32,
    /// Number of the transmission among those of the flow.
    number: u32,
}

/// A record on its way to the sender of the packet.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    key: Key,
    hop: HopRecord,
}

/// A packet of a FIFO that asks for telemetry and whose transmission has not begun.
struct Pending {
    key: Key,
    /// The time at which it will begin.
    start: u64,
    /// Bytes that the port accepted before the packet, and with it.
    before: u64,
    after: u64,
}

/// The telemetry of a port.
struct PortTelemetry {
    rate: Rate,
    /// Bytes of packets whose transmission has begun, of a scheduled queue.
    begun: u64,
    /// Packets of a FIFO, in their order.
    pending: VecDeque<Pending>,
}

/// Reports of switches on the packets of a flow, kept at its sender.
#[derive(Default)]
struct FlowRecords {
    /// Number of the first transmission in `paths`.
    first: u32,
    paths: VecDeque<PathRecord>,
}

/// The telemetry of a partition.
pub struct Telemetry {
    /// Flags of the packets that ask for telemetry, which have all of them.
    flags: u16,
    /// First node of each partition, and the number of nodes.
    bounds: Vec<u32>,
    /// Number of this partition.
    partition: usize,
    /// The ports of switches; `None` for those of hosts.
    ports: Vec<Option<PortTelemetry>>,
    /// Open flows whose senders are in the partition and ask for telemetry.
    flows: HashMap<u32, FlowRecords>,
    /// For each partition, the records for its senders.
    pub outboxes: Vec<Vec<Report>>,
}

impl Telemetry {
    /// Creates the telemetry of a partition. `rates` has the rates of the links of its ports, `None` for ports of hosts.
    pub fn new(
        flags: u16,
        bounds: Vec<u32>,
        partition: usize,
        rates: impl Iterator<Item = Option<Rate>>,
    ) -> Self {
        let port = |rate: Option<Rate>| {
            rate.map(|rate| PortTelemetry {
                rate,
                begun: 0,
                pending: VecDeque::new(),
            })
        };
        Self {
            flags,
            outboxes: vec![Vec::new(); bounds.len() - 1],
            bounds,
            partition,
            ports: rates.map(port).collect(),
            flows: HashMap::new(),
        }
    }

    /// Opens a flow whose sender is in the partition.
    pub fn open(&mut self, flow: u32) {
        self.flows.insert(flow, FlowRecords::default());
    }

    /// Closes a flow: records of its packets are no longer kept.
    pub fn close(&mut self, flow: u32) {
        self.flows.remove(&flow);
    }

    /// Takes the records of a transmission of an open flow, and drops those of earlier ones.
    pub fn take(&mut self, flow: u32, number: u32) -> Option<PathRecord> {
        let records = self.flows.get_mut(&flow)?;
        let index = number.checked_sub(records.first)? as usize;
        records.first = number + 1;
        let mut taken = records.paths.drain(..records.paths.len().min(index + 1));
        taken.nth(index)
    }

    /// Adds a record to those of its packet, unless the sender does not need it any more.
    pub fn receive(&mut self, report: &Report) {
        let Report { key, hop } = report;
        let Some(records) = self.flows.get_mut(&key.flow) else {
            return;
        };
        let Some(index) = key.number.checked_sub(records.first) else {
            return;
        };
        let index = index as usize;
        if records.paths.len() <= index {
            records.paths.resize(index + 1, PathRecord::EMPTY);
        }
        records.paths[index].push(*hop);
    }

    /// Returns the key of a packet that asks for telemetry. The node of its sender is in `chunk`, and the number of the
    /// transmission in `slot`.
    fn key(&self, packet: &Packet) -> Option<Key> {
        (packet.flags & self.flags == self.flags).then_some(Key {
            node: packet.chunk,
            flow: packet.lo,
            number: packet.slot,
        })
    }

    /// Sends a record to the partition of the packet's sender.
    fn report(&mut self, key: Key, hop: HopRecord) {
        let to = self.bounds.partition_point(|&first| first <= key.node) - 1;
        let report = Report { key, hop };
        if to == self.partition {
            self.receive(&report);
        } else {
            self.outboxes[to].push(report);
        }
    }

    /// Records that port `index`, which has a scheduled queue, begins to send a packet.
    pub fn begin(&mut self, index: usize, port: &Port, now: u64, packet: &Packet) {
        let key = self.key(packet);
        let Some(telemetry) = &mut self.ports[index] else {
            return;
        };
        let sent = telemetry.begun;
        telemetry.begun += u64::from(packet.size);
        let hop = HopRecord {
            time: now,
            sent,
            queue: port.bytes - telemetry.begun,
            rate: telemetry.rate,
        };
        if let Some(key) = key {
            self.report(key, hop);
        }
    }

    /// Records that a FIFO has accepted a packet, whose transmission begins at `start`. Returns true if the packet asks
    /// for telemetry and does not begin `now`.
    pub fn accept(&mut self, index: usize, port: &Port, start: u64, now: u64, packet: &Packet) -> bool {
        let key = self.key(packet);
        let Some((telemetry, key)) = self.ports[index].as_mut().zip(key) else {
            return false;
        };
        let after = port.bytes;
        telemetry.pending.push_back(Pending {
            key,
            start,
            before: after - u64::from(packet.size),
            after,
        });
        self.complete(index, port, now).is_some()
    }

    /// Completes the records of the packets of a FIFO that have begun by `now`. No packet has arrived since then. Returns the
    /// time at which the next one begins.
    pub fn complete(&mut self, index: usize, port: &Port, now: u64) -> Option<u64> {
        loop {
            let telemetry = self.ports[index].as_mut()?;
            let next = telemetry.pending.front()?;
            if next.start > now {
                return Some(next.start);
            }
            let hop = HopRecord {
                time: next.start,
                sent: next.before,
                queue: port.bytes - next.after,
                rate: telemetry.rate,
            };
            let key = next.key;
            telemetry.pending.pop_front();
            self.report(key, hop);
        }
    }

    /// Records that the link of a port has failed, after packets that have not left are no longer counted.
    pub fn fail(&mut self, index: usize, port: &Port) {
        if let Some(telemetry) = &mut self.ports[index] {
            telemetry.begun = port.bytes;
            telemetry.pending.clear();
        }
    }

    /// Records a change of the rate of a link. `starts` returns when a FIFO sends the packet before which it has accepted
    /// this many bytes.
    pub fn set_rate(&mut self, index: usize, rate: Rate, starts: impl Fn(u64) -> Option<u64>) {
        if let Some(telemetry) = &mut self.ports[index] {
            telemetry.rate = rate;
            for pending in &mut telemetry.pending {
                pending.start = starts(pending.before).unwrap_or(pending.start);
            }
        }
    }
}
