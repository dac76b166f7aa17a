//! The marking switch: `weft_switch.bpf.c` of `weft-bpf` at the head of every link, and what it counted.

use std::os::fd::AsFd;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, TC_EGRESS, TcHookBuilder};
use nix::time::{ClockId, clock_gettime};
use weft_fabric::{Fabric, Link};
use weft_run::{LinkRecord, QueueRecord};
use weft_spec::{QueueSize, Time};

use super::layout::Interface;
use super::network::{Network, index};

/// The program and its map; detached with the interfaces.
pub struct Switch {
    object: Object,
}

impl Switch {
    /// Puts the program before every queue. `wire` are the bytes of a full packet.
    ///
    /// # Errors
    /// Returns the request that the kernel refused, in words.
    pub fn attach(fabric: &Fabric, network: &Network, wire: u32) -> Result<Self, String> {
        let failed = |what: &str, error: libbpf_rs::Error| format!("{what}: {error}");
        let object = ObjectBuilder::default()
            .open_memory(PROGRAM)
            .and_then(libbpf_rs::OpenObject::load)
            .map_err(|error| {
                failed(
                    "the switch's BPF program cannot be loaded (CONFIG_NET_CLS_BPF, BTF)",
                    error,
                )
            })?;
        let switch = Self { object };
        for (i, link) in (0..).zip(&fabric.links) {
            switch
                .configure(i, link, wire)
                .map_err(|error| failed("the switch's BPF map", error))?;
        }
        let program = switch
            .object
            .progs()
            .find(|program| program.name() == "weft_switch")
            .ok_or("the switch's BPF program has another name")?;
        for (i, link) in (0..).zip(&fabric.links) {
            let attached = network.within(link.from, || {
                let mut hook = TcHookBuilder::new(program.as_fd())
                    .ifindex(index(i).cast_signed())
                    .handle(1)
                    .priority(1)
                    .hook(TC_EGRESS);
                hook.create()
                    .and_then(|mut hook| hook.attach())
                    .map_err(std::io::Error::other)
            });
            attached.map_err(|error| {
                format!("the switch's program cannot be attached (CONFIG_NET_SCH_INGRESS): {error}")
            })?;
        }
        Ok(switch)
    }

    fn configure(&self, port: Interface, link: &Link, wire: u32) -> Result<(), libbpf_rs::Error> {
        let packets = |amount| match amount {
            QueueSize::Packets(packets) => packets,
            QueueSize::Bytes(_) => u32::MAX, // refused before
        };
        let service_ns = (8e9 * f64::from(wire) / link.rate.0 as f64) as u32;
        let mut value = vec![0; VALUE];
        write_u32(&mut value, LIMIT, packets(link.queue.limit));
        write_u32(&mut value, MARK, link.queue.mark.map_or(u32::MAX, packets));
        write_u32(&mut value, SERVICE, service_ns);
        self.map()?.update(&port.to_ne_bytes(), &value, MapFlags::ANY)
    }

    fn map(&self) -> Result<libbpf_rs::Map<'_>, libbpf_rs::Error> {
        self.object
            .maps()
            .find(|map| map.name() == "ports")
            .ok_or_else(|| libbpf_rs::Error::from(std::io::Error::other("no map \"ports\"")))
    }

    /// Returns the counters of a port.
    ///
    /// # Errors
    /// Returns the reason in words.
    pub fn read(&self, port: Interface) -> Result<Port, String> {
        let value = self
            .map()
            .and_then(|map| map.lookup(&port.to_ne_bytes(), MapFlags::LOCK))
            .map_err(|error| format!("the switch's counters: {error}"))?
            .filter(|value| value.len() >= VALUE)
            .ok_or("the switch's counters: none")?;
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        let read_ns = now.as_nanos() as u64;
        Ok(Port { value, read_ns })
    }
}

/// A copy of one port's counters.
pub struct Port {
    value: Vec<u8>,
    /// When, by the clock of the program.
    read_ns: u64,
}

impl Port {
    /// Returns the row of the table of links; a packet that the queue accepted counts as delivered.
    pub fn link(&self) -> LinkRecord {
        let packets = self.read_u64(PACKETS);
        LinkRecord {
            packets,
            bytes: self.read_u64(BYTES),
            delivered: packets,
            delivered_bytes: self.read_u64(BYTES),
            in_flight: 0,
            drops: self.read_u64(DROPS),
            marks: self.read_u64(MARKS),
            ..LinkRecord::default()
        }
    }

    /// Packets that an offload had made of several.
    pub fn aggregated(&self) -> u64 {
        self.read_u64(AGGREGATED)
    }

    /// Returns the distribution of the queue's length over `elapsed`. Before the first arrival the queue is empty, and after the
    /// last one it drains. The time since the last arrival is counted as the program will count it at the next one. A later record
    /// therefore never has a smaller number than an earlier one.
    pub fn queue(&self, link: Interface, elapsed: Duration) -> QueueRecord {
        let mut time_at: Vec<Time> = self.value[TIME_AT..]
            .chunks_exact(8)
            .map(|bytes| Time::from_ns(u64::from_ne_bytes(bytes.try_into().unwrap_or_default())))
            .collect();
        let counted: u64 = time_at.iter().map(|time| time.0).sum();
        let elapsed = Time::from_ns(elapsed.as_nanos() as u64);
        let uncounted = elapsed.0.saturating_sub(counted);
        let mut draining = Time::from_ns(self.since_last()).0.min(uncounted);
        time_at[0].0 += uncounted - draining;
        let service = Time::from_ns(self.read_u32(SERVICE).into()).0;
        for length in (1..LENGTHS.min(self.read_u32(LENGTH) + 1)).rev() {
            let stayed = draining.min(service);
            time_at[length as usize].0 += stayed;
            draining -= stayed;
        }
        time_at[0].0 += draining;
        let longest = time_at.iter().rposition(|time| time.0 > 0).unwrap_or(0);
        time_at.truncate(longest + 1);
        QueueRecord {
            link,
            time_at_length: time_at,
        }
    }

    /// Packets waiting when it was read, by the length after the last arrival and what the link has carried since.
    pub fn length(&self) -> u32 {
        let gone = self.since_last() / u64::from(self.read_u32(SERVICE).max(1));
        u64::from(self.read_u32(LENGTH)).saturating_sub(gone) as u32
    }

    /// Nanoseconds from the last arrival until the counters were read; 0 where nothing has arrived.
    fn since_last(&self) -> u64 {
        match self.read_u64(SINCE) {
            0 => 0,
            last => self.read_ns.saturating_sub(last),
        }
    }

    fn read_u32(&self, at: usize) -> u32 {
        let bytes = self.value[at..at + 4].try_into();
        bytes.map_or(0, u32::from_ne_bytes)
    }

    fn read_u64(&self, at: usize) -> u64 {
        let bytes = self.value[at..at + 8].try_into();
        bytes.map_or(0, u64::from_ne_bytes)
    }
}

fn write_u32(value: &mut [u8], at: usize, number: u32) {
    value[at..at + 4].copy_from_slice(&number.to_ne_bytes());
}

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/weft_switch.o"));

/// Queue lengths that the program distinguishes: no limit reaches it.
pub const LENGTHS: u32 = 1024;
/// Ports of one experiment that the program's map has room for.
pub const PORTS: usize = 1024;

// `struct port`, field by field: its lock is at 0.
const LIMIT: usize = 4;
const MARK: usize = 8;
const SERVICE: usize = 12;
const LENGTH: usize = 16;
const SINCE: usize = 24;
const PACKETS: usize = 32;
const BYTES: usize = 40;
const DROPS: usize = 48;
const MARKS: usize = 56;
const AGGREGATED: usize = 64;
const TIME_AT: usize = 72;
const VALUE: usize = TIME_AT + 8 * LENGTHS as usize;
