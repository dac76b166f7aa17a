//! Records: the results of a run before they become tables.

use std::collections::BTreeMap;

use weft_spec::Time;
use weft_traffic::{Flow, OperationRecord, RankRecord, Step};

use crate::measurement::MeasuredWindow;

/// The record of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRecord {
    /// Index of the flow: that of the plan, or that of a generator's flow.
    pub flow: u32,
    /// Time at which the SYN/ACK of subflow 0 arrived.
    pub established: Option<Time>,
    /// Time at which the receiver had all data.
    pub finish: Option<Time>,
    /// Time at which all data was acknowledged at the sender. `None` also if a level cannot observe
    /// it.
    pub acked: Option<Time>,
    /// Application bytes that the receiver has, each counted once.
    pub delivered_bytes: u64,
    /// Part of `delivered_bytes` that arrived in the measurement window.
    pub measured_bytes: u64,
    /// Number of chunks that were reinjected on another subflow.
    pub reinjected: u64,
    /// Number of times that the connection's set of active subflows became smaller than that of its
    /// established ones.
    pub suppressions: u64,
    /// One record per subflow, in order.
    pub subflows: Vec<SubflowRecord>,
}

impl FlowRecord {
    /// Creates the record of a flow that did not open.
    pub fn unopened(flow: u32) -> Self {
        Self {
            flow,
            ..Self::default()
        }
    }
}

/// The record of a subflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubflowRecord {
    /// Time at which the handshake completed.
    pub established: Option<Time>,
    /// Data packets sent, including retransmissions.
    pub packets_sent: u64,
    /// Data packets retransmitted.
    pub retransmitted: u64,
    /// Data packets that reached the receiver, including duplicates.
    pub packets_received: u64,
    /// Data packets dropped or lost in the network.
    pub packets_dropped: u64,
    /// Data packets of which only headers arrived, at the receiver or back at the sender.
    pub packets_trimmed: u64,
    /// Data packets that waited at a paused port because of packets for other ports, once per port.
    pub packets_blocked: u64,
    /// Sum of the times that these packets waited because of such pauses.
    pub blocked: Time,
    /// Data packets still in the network when the run ended.
    pub packets_in_flight: u64,
    /// Packets acknowledged that carried a mark; `None` if acknowledgements echo no mark.
    pub marked: Option<u64>,
    /// Recovery episodes started by duplicate or selective acknowledgements; `None` if the kind has none.
    pub fast_retransmits: Option<u64>,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Timeouts of SYNs; `None` if the kind has none.
    pub syn_timeouts: Option<u64>,
    /// Time for which the send buffer, and not the window, limited the subflow; `None` if the kind
    /// has no send buffer.
    pub send_buffer_limited: Option<Time>,
    /// Payload bytes acknowledged at subflow level; `None` if acknowledgements do not count them.
    pub acked_bytes: Option<u64>,
    /// Congestion window at the end, in packets.
    pub cwnd: f64,
    /// Last smoothed RTT in seconds; 0 without a sample.
    pub srtt: f64,
    /// Packets without payload, of transports that count them.
    pub control: Option<ControlCounters>,
}

/// Counts of packets without payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounters {
    /// Acknowledgements that arrived at the sender.
    pub acks: u64,
    /// Reports of trimmed or missing packets that arrived there.
    pub nacks: u64,
    /// Pulls, or grants of credit, that arrived there; `None` if the kind has none.
    pub pulls: Option<u64>,
    /// Requests to send that the sender sent; `None` if the kind has none.
    pub rts: Option<u64>,
    /// Requests to send that the sender sent again after a timeout; `None` if the kind has none.
    pub repeated_rts: Option<u64>,
    /// Congestion notifications that arrived at the sender; `None` if the kind has none.
    pub cnps: Option<u64>,
}

/// The record of a job of a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Index of the generator in the plan.
    pub generator: u32,
    /// The number of the job in its generator.
    pub job: u32,
    /// Time at which the job's requests opened.
    pub start: Time,
    /// Time at which the last block was complete at the client.
    pub end: Option<Time>,
}

/// The part of a rank in a job of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorRank {
    /// Index of the generator in the plan.
    pub generator: u32,
    /// The record of the rank.
    pub record: RankRecord,
}

impl GeneratorRank {
    /// Returns the key that orders records: generator, job and rank.
    pub fn key(&self) -> (u32, u32, u32) {
        (self.generator, self.record.job, self.record.rank)
    }
}

/// A step of a job of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorStep {
    /// Index of the generator in the plan.
    pub generator: u32,
    /// The record of the step.
    pub record: Step,
}

/// A collective operation of a job of a generator.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorOperation {
    /// Index of the generator in the plan.
    pub generator: u32,
    /// The record of the operation.
    pub record: OperationRecord,
}

/// An episode of suppression. It begins when fewer subflows of a connection are active than before,
/// and ends when their number is as large again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionRecord {
    /// Index of the flow.
    pub flow: u32,
    /// Time at which the first subflow was suppressed.
    pub start: Time,
    /// Time at which the last suppressed subflow was released or the connection ended.
    pub end: Option<Time>,
}

/// Bytes of a link's records, at the start and the end of the window, and of its row: an index, 14 numbers
/// and three texts of some 7 bytes.
pub const LINK_RESULT_BYTES: usize = 2 * size_of::<LinkRecord>() + 4 + 14 * 8 + 3 * (4 + 7);

/// The record of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRecord {
    /// Packets whose last bit has left the port.
    pub packets: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Packets delivered to the receiving node.
    pub delivered: u64,
    /// Bytes of the delivered packets on the wire.
    pub delivered_bytes: u64,
    /// Packets queued or on the wire when the run ended.
    pub in_flight: u64,
    /// Packets among them whose last bit has not left the port: those that wait and the one that is being
    /// sent.
    pub unsent: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets that the link lost.
    pub losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Pauses that the receiving node has announced, the sum over the classes.
    pub pauses: u64,
    /// Time for which the link was paused, the sum over the classes.
    pub paused: Time,
    /// Pauses after which a watchdog dropped packets.
    pub expired_pauses: u64,
}

/// The record of a traffic class of a queue that has classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRecord {
    /// Index of the link.
    pub link: u32,
    /// Number of the class, from 0.
    pub class: u32,
    /// Packets whose last bit has left the port.
    pub packets: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets cut to headers, without those whose headers were dropped at once.
    pub trims: u64,
}

/// Packets that the queue of a link dropped, or the link lost, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRecord {
    /// Index of the link.
    pub link: u32,
    /// The reason, as in tables.
    pub reason: &'static str,
    /// True if the link lost the packets, false if its queue dropped them.
    pub is_loss: bool,
    /// Index of the flow and number of the subflow of data packets; `None` for packets without payload.
    pub subflow: Option<(u32, u32)>,
    /// Number of packets.
    pub packets: u64,
}

/// The record of a probed queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// Index of the link.
    pub link: u32,
    /// `time_at_length[n]`: total time during which exactly `n` packets waited.
    pub time_at_length: Vec<Time>,
}

/// One sample of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A sample of a queue.
    Queue {
        /// Time of the sample.
        time: Time,
        /// Index of the link.
        link: u32,
        /// Number of packets waiting.
        length: u32,
        /// Number of packets marked since the run began.
        marks: u64,
        /// Number of packets dropped since the run began.
        drops: u64,
    },
    /// A sample of the buffer of a node.
    Buffer {
        /// Time of the sample.
        time: Time,
        /// Index of the node.
        node: u32,
        /// Number of bytes waiting.
        bytes: u64,
    },
    /// A sample of a subflow.
    Subflow {
        /// Time of the sample.
        time: Time,
        /// Index of the flow.
        flow: u32,
        /// Number of the subflow.
        subflow: u32,
        /// Congestion window in packets.
        cwnd: f64,
        /// Slow-start threshold in packets.
        ssthresh: f64,
        /// True if the subflow may send new data.
        active: bool,
    },
    /// A sample of the sender of a flow of another kind than TCP.
    Sender {
        /// Time of the sample.
        time: Time,
        /// Index of the flow.
        flow: u32,
        /// Congestion window in packets; `None` if the flow has none.
        cwnd: Option<f64>,
        /// Rate in bits per second; `None` if no rate limits the flow.
        rate: Option<f64>,
    },
}

/// The delivery of one chunk of a flow's data: an MSS, except for the last chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyRecord {
    /// Index of the flow.
    pub flow: u32,
    /// Number of the chunk in the flow, from 0.
    pub chunk: u32,
    /// Time at which any subflow first sent the chunk.
    pub sent: Time,
    /// Time at which the receiving application had the chunk and all data before it.
    pub delivered: Time,
}

/// The bytes that the receiver of a flow got in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputRecord {
    /// End of the interval, which excludes it.
    pub end: Time,
    /// Length of the interval.
    pub interval: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Application bytes, each counted once, at least 1.
    pub bytes: u64,
}

/// The kind of a packet. The first kind of each pair goes from a flow's sender to its receiver, the
/// second in the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Request for a subflow.
    Syn,
    /// Reply to a SYN.
    SynAck,
    /// The last packet of a handshake, or of a close.
    HandshakeAck,
    /// The third packet of a join's handshake.
    JoinAck,
    /// Reply to a join's third packet.
    JoinConfirmed,
    /// Data.
    Data,
    /// Acknowledgement of data.
    Ack,
    /// End of the data of a stopped flow.
    DataFin,
    /// Request to close a subflow.
    Fin,
    /// Reply to a FIN.
    FinAck,
}

impl PacketKind {
    /// Returns the name of the kind in tables.
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

/// A packet that arrived over a link whose packets are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of a header")]
pub struct PacketRecord {
    /// Time of the arrival.
    pub time: Time,
    /// Index of the link.
    pub link: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Number of the subflow.
    pub subflow: u32,
    /// Kind of the packet.
    pub kind: PacketKind,
    /// Data: position of the first byte in the subflow, from 0, modulo 2^32. Acknowledgement: the
    /// next byte expected.
    pub seq: u32,
    /// Payload bytes.
    pub bytes: u32,
    /// Data: number of the chunk in the connection. Acknowledgement: the next chunk expected. End
    /// of data: the total number of chunks.
    pub chunk: u32,
    /// Bounds of the SACK range that the packet carries.
    pub sack: Option<(u32, u32)>,
    /// True if the packet is ECN-capable (ECT).
    pub ect: bool,
    /// True if the packet is marked (CE).
    pub ce: bool,
    /// True if the packet carries an ECN echo (ECE).
    pub ece: bool,
    /// True if the sender has reduced its congestion window (CWR).
    pub cwr: bool,
    /// True if the packet is a retransmission.
    pub retransmission: bool,
}

/// A traffic class in a pause frame that arrived over a link whose packets are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrameRecord {
    /// Time of the arrival.
    pub time: Time,
    /// Index of the link. The frame pauses the link in the other direction.
    pub link: u32,
    /// Traffic class.
    pub class: u8,
    /// True if the pause begins, false if it ends.
    pub is_paused: bool,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Number of packet-hops: one packet (data or ACK) over one link.
    pub packet_hops: u64,
    /// Number of timers that fired.
    pub timers: u64,
    /// Number of lookahead windows that the engine processed.
    pub windows: u64,
    /// Number of packets dropped by queues.
    pub drops: u64,
    /// Number of packets that links lost.
    pub losses: u64,
    /// Number of packets marked.
    pub marks: u64,
    /// Number of packets cut to headers, without those whose headers were dropped at once.
    pub trims: u64,
    /// Number of pauses of links, per class.
    pub pauses: u64,
    /// Number of retransmission timeouts, including those of SYNs.
    pub timeouts: u64,
}

/// All records of a run, in the order of the plan's flows and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Simulated time that the run reached.
    pub end: Time,
    /// One record per flow: first the flows of the plan, then those that generators opened, by
    /// index.
    pub flows: Vec<FlowRecord>,
    /// Flows in `flows` that generators opened, by index, with the time of opening.
    pub opened: BTreeMap<u32, Flow>,
    /// One record per job that started, by generator and job.
    pub jobs: Vec<JobRecord>,
    /// One record per rank of each job of a generator that runs on ranks, by generator, job and rank.
    pub ranks: Vec<GeneratorRank>,
    /// Steps of the jobs of probed generators, by generator, job and start.
    pub steps: Vec<GeneratorStep>,
    /// Operations of the jobs of probed generators, by generator, job and start.
    pub operations: Vec<GeneratorOperation>,
    /// Episodes of suppression, by flow and start.
    pub suppressions: Vec<SuppressionRecord>,
    /// One record per link.
    pub links: Vec<LinkRecord>,
    /// One record per class of the queues that have traffic classes, by link and class.
    pub classes: Vec<ClassRecord>,
    /// Packets dropped or lost, by link, reason and subflow.
    pub drops: Vec<DropRecord>,
    /// One record per probed queue.
    pub queues: Vec<QueueRecord>,
    /// Links and queues within the measurement window; `None` if the whole run is measured.
    pub measured: Option<MeasuredWindow>,
    /// Samples in order of time, then of the probed object.
    pub samples: Vec<Sample>,
    /// Latencies of delivered chunks of probed flows, by flow and chunk.
    pub latencies: Vec<LatencyRecord>,
    /// Bytes of probed flows by interval, in order of time, then of the flow.
    pub throughput: Vec<ThroughputRecord>,
    /// Recorded packets, in order of time, then of link.
    pub packets: Vec<PacketRecord>,
    /// Classes of recorded pause frames, in order of time, then of link and class.
    pub pause_frames: Vec<PauseFrameRecord>,
    /// Totals.
    pub counters: Counters,
    /// Hash of all events at each node in order, if the options request it.
    pub trace_hash: Option<u64>,
}

impl Outcome {
    /// Returns the bounds of the measurement window.
    pub fn measurement_window(&self) -> (Time, Time) {
        let window = |measured: &MeasuredWindow| (measured.from, measured.to);
        self.measured.as_ref().map_or((Time(0), self.end), window)
    }

    /// Returns the records of links within the measurement window.
    pub fn measured_links(&self) -> &[LinkRecord] {
        self.measured
            .as_ref()
            .map_or(&self.links, |measured| &measured.links)
    }

    /// Returns the records of traffic classes within the measurement window.
    pub fn measured_classes(&self) -> &[ClassRecord] {
        self.measured
            .as_ref()
            .map_or(&self.classes, |measured| &measured.classes)
    }

    /// Returns the records of probed queues within the measurement window.
    pub fn measured_queues(&self) -> &[QueueRecord] {
        self.measured
            .as_ref()
            .map_or(&self.queues, |measured| &measured.queues)
    }
}
