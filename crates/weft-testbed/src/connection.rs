//! One flow: a sending and a receiving socket, and what became of its bytes.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Instant;

use socket2::Socket;
use weft_run::{FlowRecord, SubflowRecord};
use weft_spec::Time;

use super::records::LatencyRecorder;
use super::sockets::{self, TcpInfo};
use super::tap::CapturedPacket;

/// A flow from its first to its last byte. Times are since the experiment began.
pub struct Connection {
    /// The sender's socket, until the flow is over.
    pub sender: Option<Socket>,
    /// The receiver's, from when it was accepted on.
    pub receiver: Option<Socket>,
    /// Local address of the first subflow.
    pub from: Option<SocketAddrV4>,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Whether the connection uses MPTCP.
    pub multipath: bool,
    /// Bytes to send; none sends until stopped.
    pub size: Option<u64>,
    /// Handshake done.
    pub established: Option<Time>,
    /// Last byte at the receiving application.
    pub finish: Option<Time>,
    /// Bytes at the receiving application.
    pub delivered: u64,
    /// Token of an MPTCP connection in the kernel.
    pub token: Option<u32>,
    /// Latencies, if they are recorded.
    pub records: Option<LatencyRecorder>,
    written: u64,
    /// True if the application writes no more data.
    closed: bool,
    subflows: Vec<SubflowRecord>,
}

impl Connection {
    /// Creates a connection that is not connected yet.
    pub fn new(sender: Socket, to: SocketAddr, multipath: bool, size: Option<u64>) -> Self {
        let from = sender.local_addr().ok().and_then(|from| from.as_socket_ipv4());
        Self {
            from,
            sender: Some(sender),
            receiver: None,
            to,
            multipath,
            size,
            established: None,
            finish: None,
            delivered: 0,
            token: None,
            records: None,
            written: 0,
            closed: false,
            subflows: Vec::new(),
        }
    }

    /// The sender's socket can take bytes, or its handshake is done. Returns whether more is to be written later.
    ///
    /// # Errors
    /// The connection failed.
    pub fn write(&mut self, now: Time) -> io::Result<bool> {
        let Some(socket) = &self.sender else {
            return Ok(false);
        };
        if self.established.is_none() {
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
            self.established = Some(now);
            if self.multipath {
                self.token = sockets::token(socket)?;
            }
        }
        while !self.closed {
            let left = self.size.map_or(CHUNK.len() as u64, |size| size - self.written);
            if left == 0 {
                self.close()?;
                break;
            }
            match socket.send(&CHUNK[..CHUNK.len().min(left as usize)]) {
                Ok(written) => self.written += written as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The application has no more to send.
    pub fn close(&mut self) -> io::Result<()> {
        if !self.closed
            && let Some(socket) = &self.sender
        {
            self.closed = true;
            if self.established.is_some() {
                socket.shutdown(std::net::Shutdown::Write)?;
            }
        }
        Ok(())
    }

    /// Reads from the receiver's socket. Returns true if the flow has ended.
    pub fn read(&mut self, now: Time, buffer: &mut [MaybeUninit<u8>]) -> io::Result<bool> {
        let Some(socket) = &self.receiver else {
            return Ok(false);
        };
        // A few reads per call, so that no flow delays the others.
        for _ in 0..4 {
            match sockets::discard(socket, buffer) {
                Ok(0) => {
                    self.finish.get_or_insert(now);
                    return Ok(true);
                }
                Ok(read) => self.delivered += read as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if Some(self.delivered) == self.size {
            self.finish.get_or_insert(now);
        }
        Ok(false)
    }

    /// A packet with data left the sender's host, perhaps of this flow.
    pub fn on_sent(&mut self, packet: &CapturedPacket, at: Instant) {
        if let Some(records) = &mut self.records
            && (self.from == Some(packet.from) || records.matches(packet))
        {
            records.on_sent(packet, at);
        }
    }

    /// The receiving application had at that time all that has been read.
    pub fn record_read(&mut self, at: Instant) {
        if let Some(records) = &mut self.records {
            records.on_read(self.delivered, self.size, at);
        }
    }

    /// Returns the current state of TCP for each subflow of the sender.
    pub fn windows(&self) -> Vec<TcpInfo> {
        let socket = self.sender.as_ref().filter(|_| self.established.is_some());
        socket
            .and_then(|socket| sockets::subflows(socket, self.multipath).ok())
            .unwrap_or_default()
    }

    /// Writes down the subflows' counters and lets go of the sockets. The second time nothing is left to write down.
    pub fn end(&mut self) {
        if self.sender.is_none() && self.receiver.is_none() {
            return;
        }
        let received = self
            .receiver
            .as_ref()
            .and_then(|socket| sockets::subflows(socket, self.multipath).ok())
            .unwrap_or_default();
        let sent = self.windows();
        let received = received.iter().map(Some).chain(std::iter::repeat(None));
        self.subflows = sent
            .iter()
            .zip(received)
            .zip(0..)
            .map(|((sent, received), i)| record(sent, received, self.established.filter(|_| i == 0)))
            .collect();
        (self.sender, self.receiver) = (None, None);
    }

    /// Returns the row of the table of flows.
    pub fn record(&self, flow: u32, suppressions: u64) -> FlowRecord {
        FlowRecord {
            flow,
            established: self.established,
            finish: self.finish,
            acked: None,
            delivered_bytes: self.delivered,
            measured_bytes: self.delivered,
            reinjected: 0,
            suppressions,
            subflows: self.subflows.clone(),
        }
    }
}

/// Subflows' sockets on both sides are in the order in which they were opened, so the n-th belong together.
fn record(sent: &TcpInfo, received: Option<&TcpInfo>, established: Option<Time>) -> SubflowRecord {
    let packets_received = received.map_or(0, |received| u64::from(received.received));
    let lost_or_on_the_way = u64::from(sent.sent).saturating_sub(packets_received);
    let packets_in_flight = u64::from(sent.unacked).min(lost_or_on_the_way);
    SubflowRecord {
        established,
        packets_sent: sent.sent.into(),
        retransmitted: sent.retransmitted.into(),
        packets_received,
        packets_dropped: lost_or_on_the_way - packets_in_flight,
        packets_in_flight,
        marked: Some(sent.marked.into()),
        timeouts: sent.timeouts.into(),
        acked_bytes: Some(sent.acked_bytes),
        send_buffer_limited: Some(Time::from_us(sent.sndbuf_limited_us)),
        cwnd: sent.cwnd.into(),
        srtt: f64::from(sent.rtt_us) * 1e-6,
        ..SubflowRecord::default()
    }
}

/// Data that is written repeatedly.
static CHUNK: [u8; 1 << 16] = [0; 1 << 16];
