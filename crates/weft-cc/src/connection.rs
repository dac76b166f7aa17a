//! The contract between congestion control and a transport.
//!
//! An algorithm sees the whole connection: a slice of subflow windows, subflow 0 first, any of which it may
//! change at any event. It sees no packets and no I/O, and the only time it knows is that of an
//! acknowledgement. It allocates only when a subflow opens or when its state for a window outgrows all
//! earlier windows. It is deterministic, so the same file serves a simulator, a test with hand-computed
//! values and a comparison with a kernel's implementation.

use crate::Response;

/// One subflow's congestion window, shared by the algorithm (which owns `cwnd`, `ssthresh`, `active` and
/// `slot`) and the transport (which owns the rest and obeys).
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Congestion window in packets of one MSS. The transport sends while fewer than `floor(cwnd)` are in flight.
    pub cwnd: f64,
    /// Slow-start threshold in packets.
    pub ssthresh: f64,
    /// May the scheduler give this subflow new data? Suppression clears this field, release sets it.
    pub active: bool,
    /// Has the subflow's handshake completed, and is the subflow not yet closed?
    pub established: bool,
    /// Is the subflow in fast recovery or recovering from a timeout?
    pub in_recovery: bool,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub srtt: f64,
    /// Smallest round-trip time seen, in seconds; 0 before the first sample.
    pub min_rtt: f64,
    /// State an algorithm keeps per subflow; each file names its own indices.
    pub slot: [f64; 4],
}

impl Window {
    /// A window as the transport opens it, not yet established.
    pub fn new(initial_cwnd: f64, initial_ssthresh: f64) -> Self {
        Self {
            cwnd: initial_cwnd,
            ssthresh: initial_ssthresh,
            active: true,
            established: false,
            in_recovery: false,
            srtt: 0.0,
            min_rtt: 0.0,
            slot: [0.0; 4],
        }
    }
}

/// What one acknowledgement brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// Packets newly delivered: those that this acknowledgement, cumulative or selective, is the first to
    /// report. 0 for a plain duplicate.
    pub acked: u32,
    /// Packets reported as marked (CE), among those newly delivered or, for a plain duplicate, among those
    /// that made the receiver send it.
    pub marked: u32,
    /// May the window grow? Not in fast recovery, not on a duplicate, not if the application leaves more than
    /// half of the window unused (RFC 7661), and, if the profile says so, not between a cut for a mark and
    /// the end of that window.
    pub may_grow: bool,
    /// The RTT sample that it gave, in seconds; 0 if it gave none.
    pub rtt: f64,
    /// When it arrived.
    pub now: Elapsed,
}

/// Time since the connection opened, in picoseconds. An algorithm that does not need seconds avoids the
/// conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elapsed(pub u64);

impl Elapsed {
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

/// One round of a subflow: the acknowledgements from when `snd_una` passed the previous round's end until it
/// passed what was `snd_nxt` then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Packets acknowledged in the round.
    pub acked: u32,
    /// How many of them were marked.
    pub marked: u32,
}

/// How a receiver echoes CE marks to the sender, if the algorithm uses ECN at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Not ECN-capable: packets are sent Not-ECT. They are never marked, and dropped only at the limit.
    Off,
    /// RFC 3168: ECE on every acknowledgement until CWR is seen.
    Classic,
    /// RFC 8257, section 3.2: ECE mirrors CE exactly, delayed acknowledgements included.
    Dctcp,
    /// XMP: each acknowledgement carries the number of marks (up to 3) since the last one.
    Count,
}

/// A coupled congestion control. Every event names the subflow `s` it happened on; `w` holds all subflows.
///
/// The order on one acknowledgement is: [`on_round`](Self::on_round) if it ends a round,
/// [`on_ack`](Self::on_ack), then [`on_mark`](Self::on_mark) if it carries the first mark since the last cut
/// was fully acknowledged, or [`on_fast_retransmit`](Self::on_fast_retransmit) if it reveals a loss.
pub trait CongestionControl {
    /// The ECN echo the algorithm wants of its receivers.
    fn echo(&self) -> Echo;
    /// A subflow's handshake completed; `w[s].established` is already set.
    fn on_open(&mut self, w: &mut [Window], s: usize) {
        let _ = (w, s);
    }
    /// An acknowledgement arrived: one that acknowledges something, or a duplicate while data is outstanding.
    /// [`Ack::may_grow`] says whether the window may grow.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack);
    /// Does a mark on `s` in the acknowledgement last reported cut windows? If it does not, [`on_mark`](Self::on_mark) is not called,
    /// and no window of that mark begins in which others are not heeded and `s` may not grow.
    fn reacts_to_mark(&self, s: usize) -> bool {
        let _ = s;
        true
    }
    /// Bursts of Linux's packet scheduler that a subflow's send buffer has room for beyond the two windows of every other
    /// (`sndbuf_expand`). A subflow keeps the connection's data that its window has no room for; where many have small windows, the
    /// rest of the connection stands still until it has sent them.
    fn extra_sndbuf_bursts(&self) -> u32 {
        0
    }
    /// First mark of a window: at most one call until everything in flight at that moment is acknowledged.
    fn on_mark(&mut self, w: &mut [Window], s: usize);
    /// A round of subflow `s` ended.
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        let _ = (w, s, round);
    }
    /// Loss found by duplicate or selective acknowledgements; once per recovery episode. Sets `ssthresh` and `cwnd`.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize);
    /// Retransmission timeout. Sets `cwnd` (RFC 5681: one packet) and, if `first`, `ssthresh`: where "the
    /// given segment has already been retransmitted by way of the retransmission timer at least once, the
    /// value of ssthresh is held constant" (RFC 5681, section 3.1).
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool);
    /// The subflow closed; `w[s].established` is already cleared.
    fn on_close(&mut self, w: &mut [Window], s: usize) {
        let _ = (w, s);
    }
    /// The pacing rate of subflow `s` in packets per second; none to send as the window allows. Built-in
    /// algorithms return none. Called whenever a packet leaves.
    fn pacing_rate(&self, w: &[Window], s: usize) -> Option<f64> {
        let _ = (w, s);
        None
    }
    /// May acknowledgements, marks and fast retransmits change any `active`? The transport looks for a change
    /// after every other event in any case. After these events it looks only if this returns true, because
    /// that costs a look at all windows per packet. User-defined algorithms ([`Custom`](crate::Custom)) are
    /// always checked.
    fn may_suppress_on_ack(&self) -> bool {
        false
    }
    /// Its response function, if it has one. Without it a model of flows cannot run the algorithm.
    fn response(&self) -> Option<&dyn Response> {
        None
    }
}

/// Slow start (RFC 5681, section 3.1): one packet per packet acknowledged, up to `ssthresh`. Returns the packets of
/// `acked` that remain for congestion avoidance, 0 while slow start lasts.
pub fn slow_start(w: &mut Window, acked: u32) -> u32 {
    if w.cwnd >= w.ssthresh {
        return acked;
    }
    let grown = w.cwnd + f64::from(acked);
    if grown <= w.ssthresh {
        w.cwnd = grown;
        return 0;
    }
    // ssthresh need not be whole: what crosses it is left to congestion avoidance in whole packets.
    let left = (grown - w.ssthresh).floor();
    w.cwnd = grown - left;
    left as u32
}
