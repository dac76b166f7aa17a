//! Reports of the programs to the daemon.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use zerocopy::FromBytes;

use crate::abi;
use crate::programs::{Error, KernelAlgorithm};

/// The kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The subflow is to carry no new data.
    Suppress,
    /// The subflow may carry data again. Comes for every subflow of the connection.
    Release,
    /// The subflow has come to an MPTCP connection, also the first one. If the others are suppressed, it is not
    /// [`active`](Event::active).
    Joined,
    /// The subflow has closed.
    Left,
    /// The connection has carried [`Options::join_after`](crate::programs::Options::join_after) bytes on this subflow, its first one
    /// to do so.
    BulkThreshold,
    /// The subflow has no ECN and runs Reno, so it has no map entry.
    NoEcn,
    /// The subflow runs Reno because no slot of the map was free.
    NoSlot,
    /// The subflow must not carry new data, independently of the other subflows.
    Deactivate,
    /// The subflow may carry data again.
    Activate,
    /// The subflow has timed out, with a whole window lost or for the second time in a row, while another subflow progressed.
    Failed,
}

/// Something that happened to one subflow of an MPTCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of the report.
    pub kind: EventKind,
    /// The connection, as `mptcp_pm` netlink and `ss -M` call it.
    pub token: u32,
    /// Congestion control algorithm of the connection.
    pub algorithm: KernelAlgorithm,
    /// Slot of the subflow, as in [`Subflow::slot`](crate::programs::Subflow::slot).
    pub slot: usize,
    /// Local address and port of the subflow.
    pub local: SocketAddr,
    /// Remote address and port of the subflow.
    pub remote: SocketAddr,
    /// Whether the algorithm lets the subflow carry new data now.
    pub active: bool,
    /// Time of the decision in nanoseconds of `CLOCK_MONOTONIC`.
    pub ktime_ns: u64,
}

/// The events' ring. Readable, in the sense of `poll` and `epoll`, when there are any.
pub struct Events {
    ring: RingBuffer<'static>,
    received: Receiver<Event>,
}

impl Events {
    pub(crate) fn new(map: &MapHandle) -> Result<Self, Error> {
        let (sender, received) = channel();
        let mut builder = RingBufferBuilder::new();
        builder
            .add(map, move |bytes| {
                if let Some(event) = Event::read(bytes) {
                    // The receiver lives as long as the ring.
                    let _ = sender.send(event);
                }
                0
            })
            .and_then(|builder| std::mem::take(builder).build())
            .map(|ring| Self { ring, received })
            .map_err(|error| Error::kernel("the ring of events", &error))
    }

    /// All events there are, oldest first; does not wait.
    ///
    /// # Errors
    /// The kernel's, if the ring cannot be read.
    pub fn read(&self) -> Result<Vec<Event>, Error> {
        self.wait(Duration::ZERO)
    }

    /// All events there are, oldest first; waits for the first one, at most `timeout`.
    ///
    /// # Errors
    /// The kernel's, if the ring cannot be read.
    pub fn wait(&self, timeout: Duration) -> Result<Vec<Event>, Error> {
        match self.ring.poll(timeout) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::Interrupted => {
                Err(Error::kernel("the ring of events", &error))
            }
            _ => Ok(self.received.try_iter().collect()),
        }
    }

    /// Returns the descriptor for `epoll`.
    pub fn raw_fd(&self) -> RawFd {
        self.ring.epoll_fd()
    }
}

impl Event {
    /// Reads a record of the ring; `None` if its kind or its size is not known.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (event, _) = abi::Event::read_from_prefix(bytes).ok()?;
        Some(Self {
            kind: match event.kind {
                1 => EventKind::Suppress,
                2 => EventKind::Release,
                3 => EventKind::Joined,
                4 => EventKind::Left,
                5 => EventKind::BulkThreshold,
                6 => EventKind::NoEcn,
                7 => EventKind::NoSlot,
                8 => EventKind::Deactivate,
                9 => EventKind::Activate,
                10 => EventKind::Failed,
                _ => return None,
            },
            token: event.token,
            algorithm: KernelAlgorithm::from_number(event.algorithm)?,
            slot: event.slot as usize,
            local: address(event.family, event.local, event.local_port),
            remote: address(event.family, event.remote, event.remote_port),
            active: event.active != 0,
            ktime_ns: event.time,
        })
    }
}

/// Converts an address as the programs store it; ports are in the order of the host.
pub(crate) fn address(family: u16, bytes: [u8; 16], port: u16) -> SocketAddr {
    const AF_INET6: u16 = 10;
    let ip = if family == AF_INET6 {
        IpAddr::V6(Ipv6Addr::from(bytes))
    } else {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    };
    SocketAddr::new(ip, port)
}
