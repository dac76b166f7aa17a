//! The results of a run.

use weft_spec::Time;
use weft_traffic::Flow;

use crate::measurement::MeasuredWindow;

/// The result of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// Its index: that in the setup, or that of a program's flow.
    pub flow: u32,
    /// When subflow 0's SYN/ACK arrived.
    pub established: Option<Time>,
    /// When the receiver had all of its data.
    pub finish: Option<Time>,
    /// When all of it was acknowledged at the sender. Also none if a level cannot know that.
    pub acked: Option<Time>,
    /// Application bytes the receiver has, each counted once.
    pub delivered_bytes: u64,
    /// Those of them that arrived in the measured part of the run.
    pub measured_bytes: u64,
    /// Chunks given to a second subflow.
    pub reinjected: u64,
    /// Times the connection's set of active subflows shrank to fewer than its established ones.
    pub suppressions: u64,
    /// One entry a subflow, in order.
    pub subflows: Vec<SubflowRecord>,
}

impl FlowRecord {
    /// Of a flow that never opened.
    pub fn unopened(flow: u32) -> Self {
        Self {
            flow,
            established: None,
            finish: None,
            acked: None,
            delivered_bytes: 0,
            measured_bytes: 0,
            reinjected: 0,
            suppressions: 0,
            subflows: Vec::new(),
        }
    }
}

/// One subflow's counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubflowRecord {
    /// When its handshake completed.
    pub established: Option<Time>,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Data packets that reached the receiver, duplicates included.
    pub packets_received: u64,
    /// Data packets dropped on the way.
    pub packets_dropped: u64,
    /// Data packets still in the network when the run ended.
    pub packets_in_flight: u64,
    /// Packets acknowledged that carried a mark.
    pub marked: u64,
    /// Recovery episodes started by duplicate or selective acknowledgements.
    pub fast_retransmits: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Timeouts of SYNs.
    pub syn_timeouts: u64,
    /// Payload bytes acknowledged at subflow level.
    pub acked_bytes: u64,
    /// cwnd at the end, in packets.
    pub cwnd: f64,
    /// Last smoothed RTT in seconds; 0 without a sample.
    pub srtt: f64,
}

/// One job of a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Index of the generator in the plan.
    pub generator: u32,
    /// The number of the job in its generator.
    pub job: u32,
    /// When its requests opened.
    pub start: Time,
    /// When the last block was complete at the client.
    pub end: Option<Time>,
}

/// An episode of suppression: from when fewer of a connection's subflows were active until as many as before
/// were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionRecord {
    /// Index of the flow.
    pub flow: u32,
    /// When the first subflow was suppressed.
    pub start: Time,
    /// When the last suppressed one was released or the connection ended.
    pub end: Option<Time>,
}

/// One link's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRecord {
    /// Packets accepted by the queue, without those that it lost when the link failed, which count as
    /// dropped.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets handed to the far end.
    pub delivered: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Packets queued or on the wire when the run ended.
    pub in_flight: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
}

/// A probed queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// Link index.
    pub link: u32,
    /// `time_at_length[n]`: how long exactly `n` packets waited, since the run began.
    pub time_at_length: Vec<Time>,
}

/// One sample of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Of a queue.
    Queue {
        /// When.
        time: Time,
        /// Link index.
        link: u32,
        /// Packets waiting.
        length: u32,
        /// Packets marked since the run began.
        marks: u64,
        /// Packets dropped since the run began.
        drops: u64,
    },
    /// Of a subflow.
    Subflow {
        /// When.
        time: Time,
        /// Flow index.
        flow: u32,
        /// Subflow index.
        subflow: u32,
        /// Packets.
        cwnd: f64,
        /// Packets.
        ssthresh: f64,
        /// May it send new data?
        active: bool,
    },
}

/// The delivery of one chunk of a flow's data: an MSS, except for the last chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyRecord {
    /// Index of the flow.
    pub flow: u32,
    /// Its number in the flow, from 0.
    pub chunk: u32,
    /// When it was sent first, by whichever subflow.
    pub sent: Time,
    /// When the receiving application had it, and with it all data before.
    pub delivered: Time,
}

/// What a packet is. The first kind of each pair goes from a flow's sender to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Opens a subflow.
    Syn,
    /// Answers it.
    SynAck,
    /// The last packet of a handshake, or of a close.
    HandshakeAck,
    /// The third packet of a join's handshake.
    JoinAck,
    /// Answers it.
    JoinConfirmed,
    /// Data.
    Data,
    /// Acknowledges data.
    Ack,
    /// Says that a stopped flow has no more data.
    DataFin,
    /// Closes a subflow.
    Fin,
    /// Answers it.
    FinAck,
}

impl PacketKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::HandshakeAck => "handshake-ack",
            Self::JoinAck => "join-ack",
            Self::JoinConfirmed => "join-confirmed",
            Self::Data => "data",
            Self::Ack => "ack",
            Self::DataFin => "data-fin",
            Self::Fin => "fin",
            Self::FinAck => "fin-ack",
        }
    }
}

/// A packet that arrived over a link on record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of a header")]
pub struct PacketRecord {
    /// When.
    pub time: Time,
    /// Link index.
    pub link: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Which of its subflows.
    pub subflow: u32,
    /// What it is.
    pub kind: PacketKind,
    /// Data: its first byte in the subflow, from 0, modulo 2^32. Acknowledgement: the next byte expected.
    pub seq: u32,
    /// Payload bytes.
    pub bytes: u32,
    /// Data: its chunk in the connection. Acknowledgement: the next chunk expected. End of data: chunks in all.
    pub chunk: u32,
    /// The selective acknowledgement that it carries, from and to.
    pub sack: Option<(u32, u32)>,
    /// ECN-capable transport?
    pub ect: bool,
    /// Marked?
    pub ce: bool,
    /// ECN echo?
    pub ece: bool,
    /// Congestion window reduced?
    pub cwr: bool,
    /// Sent before?
    pub retransmission: bool,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// One packet (data or ACK) over one link.
    pub packet_hops: u64,
    /// Timers that fired.
    pub timers: u64,
    /// Windows the engine processed.
    pub windows: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Retransmission timeouts, of SYNs too.
    pub timeouts: u64,
}

/// Everything a run yields, in the order of the setup's flows and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Simulated time reached.
    pub end: Time,
    /// A record per flow: those of the setup, then those that programs opened by their index.
    pub flows: Vec<FlowRecord>,
    /// What programs opened, in the order of `flows`, with the time of opening.
    pub opened: Vec<Flow>,
    /// A record per job that began, by program and job.
    pub jobs: Vec<JobRecord>,
    /// Episodes of suppression, by flow and start.
    pub suppressions: Vec<SuppressionRecord>,
    /// A record per link.
    pub links: Vec<LinkRecord>,
    /// A record per probed queue.
    pub queues: Vec<QueueRecord>,
    /// Links and queues in the part of the run that is measured; none: all of it.
    pub measured: Option<MeasuredWindow>,
    /// Samples in order of time, then of what was probed.
    pub samples: Vec<Sample>,
    /// Data delivered of flows whose latencies are probed, by flow and chunk.
    pub latencies: Vec<LatencyRecord>,
    /// Packets on record, in order of time, then of link.
    pub packets: Vec<PacketRecord>,
    /// Totals.
    pub counters: Counters,
    /// Hash of all events in order at each node, if asked for.
    pub trace_hash: Option<u64>,
}

impl Outcome {
    /// The part of the run that is measured.
    pub fn measurement_window(&self) -> (Time, Time) {
        let window = |measured: &MeasuredWindow| (measured.from, measured.to);
        self.measured.as_ref().map_or((Time(0), self.end), window)
    }

    /// Records of links in it.
    pub fn measured_links(&self) -> &[LinkRecord] {
        self.measured
            .as_ref()
            .map_or(&self.links, |measured| &measured.links)
    }

    /// Records of probed queues in it.
    pub fn measured_queues(&self) -> &[QueueRecord] {
        self.measured
            .as_ref()
            .map_or(&self.queues, |measured| &measured.queues)
    }
}
