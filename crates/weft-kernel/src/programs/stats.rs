//! Connections in the maps of the programs, as numbers with units.

use std::net::SocketAddr;

use zerocopy::FromBytes;

use super::KernelAlgorithm;
use crate::abi::{self, PACKET, SUBFLOWS};
use crate::events::address;

/// One connection: MPTCP's, or a TCP socket's, which has one subflow.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionStats {
    /// Key of the entry in the map.
    pub(super) key: u64,
    /// Inode number of the connection's network namespace.
    pub netns: u64,
    /// MPTCP's token, as `mptcp_pm` netlink and `ss -M` call the connection; 0 of a TCP socket.
    pub token: u32,
    /// Congestion control algorithm of the connection.
    pub algorithm: KernelAlgorithm,
    /// Whether all subflows but the initial one are suppressed.
    pub suppressed: bool,
    /// The slot of the subflow that is never suppressed.
    pub initial: usize,
    /// Number of suppressions of the connection; for Warp, number of deactivations of a subflow.
    pub suppressions: u64,
    /// Number of releases; for Warp, number of activations of a subflow.
    pub releases: u64,
    /// Time of the last suppression or release in nanoseconds of `CLOCK_MONOTONIC`; 0 if there was none.
    pub changed_ns: u64,
    /// Time at which the first subflow opened, in nanoseconds of `CLOCK_MONOTONIC`.
    pub opened_ns: u64,
    /// The subflows that are open, by slot.
    pub subflows: Vec<Subflow>,
}

/// One subflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Subflow {
    /// Slot of the subflow in the connection.
    pub slot: usize,
    /// Random number that distinguishes the subflow from a later one in the same slot.
    pub owner: u32,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Slow-start threshold in packets; infinite before the first cut.
    pub ssthresh: f64,
    /// Whether the subflow may carry new data.
    pub active: bool,
    /// Whether the subflow recovers from a loss.
    pub in_recovery: bool,
    /// DCTCP's, DCM's and Warp's estimate of the fraction of marked packets; AMP-FG's part of the window that a round with marks takes.
    pub alpha: Option<f64>,
    /// Warp's share of the connection's window, in packets.
    pub share: Option<f64>,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub srtt: f64,
    /// Segment size in bytes.
    pub mss: u32,
    /// Packets delivered.
    pub acked: u64,
    /// Of those, packets reported as marked.
    pub marked: u64,
    /// Cuts by marks.
    pub marks: u64,
    /// Rounds ended.
    pub rounds: u64,
    /// Losses found by duplicate or selective acknowledgements, once per recovery.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// When something was acknowledged last, or it began; microseconds of `CLOCK_MONOTONIC`.
    pub last_ack_us: u64,
    /// Bytes acknowledged, as of the last round.
    pub sent: u64,
    /// Bytes received; some 64 KB of the newest may be missing.
    pub received: u64,
}

/// Counts of connections, subflows and events that were not handled as intended, since loading (or since the folder
/// of [`Options::pin`](super::Options::pin) was new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Connections ever opened.
    pub connections: u64,
    /// Subflows ever opened.
    pub subflows: u64,
    /// Subflows that fell back to Reno because the other end knows no ECN.
    pub without_ecn: u64,
    /// Subflows that fell back to Reno because no slot was free.
    pub without_slot: u64,
    /// Events that found the ring full.
    pub lost_events: u64,
}

impl ConnectionStats {
    pub(super) fn read(key: &[u8], bytes: &[u8]) -> Option<Self> {
        let c = abi::Connection::read_from_bytes(bytes).ok()?;
        let algorithm = KernelAlgorithm::from_number(c.algorithm)?;
        // Most connections have one subflow, and `collect` would allocate room for four.
        let mut subflows = Vec::with_capacity(c.open.count_ones() as usize);
        let open = (0..SUBFLOWS).filter(|s| c.open & 1 << s != 0);
        subflows.extend(open.map(|s| Subflow::read(&c, algorithm, s)));
        (!subflows.is_empty()).then_some(Self {
            key: u64::from_ne_bytes(key.try_into().ok()?),
            netns: c.netns,
            token: c.token,
            algorithm,
            suppressed: c.suppressed != 0,
            initial: c.initial as usize,
            suppressions: c.suppressions,
            releases: c.releases,
            changed_ns: c.changed,
            opened_ns: c.opened,
            subflows,
        })
    }
}

impl Subflow {
    fn read(c: &abi::Connection, algorithm: KernelAlgorithm, s: usize) -> Self {
        /// The scale of `DCTCP_ALPHA`, `AMP_FG_ALPHA` and `WARP_ALPHA`.
        const ALPHA: f64 = 1_073_741_824.0;
        /// `TCP_INFINITE_SSTHRESH`.
        const INFINITE: u64 = 0x7fff_ffff << 24;
        let (w, subflow) = (&c.w[s], &c.subflow[s]);
        let alpha = match algorithm {
            KernelAlgorithm::AmpFg | KernelAlgorithm::Dcm | KernelAlgorithm::Dctcp => Some(0),
            KernelAlgorithm::Warp => Some(1),
            KernelAlgorithm::Amp
            | KernelAlgorithm::Balia
            | KernelAlgorithm::Lia
            | KernelAlgorithm::Olia
            | KernelAlgorithm::Wvegas
            | KernelAlgorithm::Xmp => None,
        };
        Self {
            slot: s,
            owner: subflow.owner,
            local: address(subflow.family, subflow.local, subflow.local_port),
            remote: address(subflow.family, subflow.remote, subflow.remote_port),
            cwnd: w.cwnd as f64 / PACKET,
            ssthresh: if w.ssthresh >= INFINITE {
                f64::INFINITY
            } else {
                w.ssthresh as f64 / PACKET
            },
            active: w.active != 0,
            in_recovery: w.in_recovery != 0,
            alpha: alpha.map(|slot| w.state[slot] as f64 / ALPHA),
            share: (algorithm == KernelAlgorithm::Warp).then(|| w.state[0] as f64 / PACKET),
            srtt: f64::from(w.srtt) / 8e6,
            mss: subflow.mss,
            acked: subflow.acked,
            marked: subflow.marked,
            marks: subflow.marks,
            rounds: subflow.rounds,
            fast_retransmits: subflow.fast_retransmits,
            timeouts: subflow.timeouts,
            last_ack_us: subflow.last_ack,
            sent: subflow.sent,
            received: subflow.received,
        }
    }
}

impl Totals {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let totals = abi::Totals::read_from_bytes(bytes).ok()?;
        Some(Self {
            connections: totals.connections,
            subflows: totals.subflows,
            without_ecn: totals.without_ecn,
            without_slot: totals.without_slot,
            lost_events: totals.lost_events,
        })
    }
}
