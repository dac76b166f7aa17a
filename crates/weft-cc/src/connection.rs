//! The contract between congestion control and a transport.
//!
//! An algorithm sees the whole connection: a slice of subflow windows, subflow 0 first, any of
//! which it may change at any event. It sees no packets and no I/O, and the only time that it gets
//! is that of an acknowledgement. It allocates only when a subflow opens or when its state for a
//! window outgrows all earlier windows. It is deterministic, so the same file serves a simulator,
//! tests with values computed by hand, and a comparison with the implementation of a kernel.

use crate::Response;

/// The congestion-control state of one subflow. The algorithm owns `cwnd`, `ssthresh`, `active` and
/// `state`; the transport owns the other fields and applies those of the algorithm.
#[derive(Clone, Debug, PartialEq)]
// Each flag is a state of its own; the flags do not exclude one another.
#[allow(clippy::struct_excessive_bools)]
pub struct Window {
    /// Congestion window in packets of one MSS. The transport sends while fewer than `floor(cwnd)`
    /// are in flight. Below 1, an algorithm outside this crate sends a packet at a time, every `srtt /
    /// cwnd`; built-in algorithms keep at least 1.
    pub cwnd: f64,
    /// Slow-start threshold in packets.
    pub ssthresh: f64,
    /// Whether the scheduler may give this subflow new data. Suppression clears this field, release
    /// sets it.
    pub active: bool,
    /// True if the subflow's handshake has completed and the subflow has not closed.
    pub established: bool,
    /// True if the subflow is in fast recovery or recovers from a timeout.
    pub in_recovery: bool,
    /// True if the transport paces the subflow's packets (Linux `sk_pacing_status`).
    pub paced: bool,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub srtt: f64,
    /// Smallest round-trip time seen, in seconds; 0 before the first sample.
    pub min_rtt: f64,
    /// The algorithm's own state of the subflow; each algorithm's file names the indices.
    pub state: [f64; 4],
    /// `cwnd` before the last reduction that may prove spurious (Linux `prior_cwnd`); the transport
    /// saves it.
    pub prior_cwnd: f64,
    /// `ssthresh` before that reduction (Linux `prior_ssthresh`).
    pub prior_ssthresh: f64,
    /// `state` before that reduction.
    pub prior_state: [f64; 4],
}

impl Window {
    /// Creates the window of a subflow that is not yet established.
    pub fn new(initial_cwnd: f64, initial_ssthresh: f64) -> Self {
        Self {
            cwnd: initial_cwnd,
            ssthresh: initial_ssthresh,
            active: true,
            established: false,
            in_recovery: false,
            paced: false,
            srtt: 0.0,
            min_rtt: 0.0,
            state: [0.0; 4],
            prior_cwnd: 0.0,
            prior_ssthresh: 0.0,
            prior_state: [0.0; 4],
        }
    }

    /// Saves the window for a later [`undo`](Self::undo). A transport calls this before
    /// [`on_fast_retransmit`](CongestionControl::on_fast_retransmit), and before
    /// [`on_timeout`](CongestionControl::on_timeout) if the timeout is the `first`.
    pub fn save_prior(&mut self) {
        (self.prior_cwnd, self.prior_ssthresh) = (self.cwnd, self.ssthresh);
        self.prior_state = self.state;
    }

    /// Raises the window to its value before the last reduction (Linux `tcp_reno_undo_cwnd` and
    /// `tcp_undo_cwnd_reduction`). A larger window is kept.
    pub fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.ssthresh = self.ssthresh.max(self.prior_ssthresh);
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// Packets newly delivered: those that this acknowledgement, cumulative or selective, is the
    /// first to report. 0 for a plain duplicate.
    pub acked: u32,
    /// Packets reported as marked (CE), among those newly delivered or, for a plain duplicate,
    /// among those that made the receiver send it.
    pub marked: u32,
    /// True if the window may grow. It may not in fast recovery. On a duplicate it may only if this
    /// reports data on a path that reorders much (Linux `tcp_may_raise_cwnd`). By the rule of the
    /// profile it must limit the sender (Linux `tcp_is_cwnd_limited`). If the profile
    /// says so, it also may not grow between a cut for a mark and the end of that window.
    pub may_grow: bool,
    /// The RTT sample of this acknowledgement in seconds; 0 without a sample.
    pub rtt: f64,
    /// The time at which the acknowledgement arrived.
    pub now: Elapsed,
}

/// Time since the connection opened, in picoseconds. An algorithm that does not need seconds avoids
/// the conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elapsed(pub u64);

impl Elapsed {
    /// Returns the time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

/// One round of a subflow: the acknowledgements between the ends of two rounds. A round ends when
/// `snd_una` passes the value that `snd_nxt` had at the end of the previous round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Packets acknowledged in the round.
    pub acked: u32,
    /// Packets of `acked` that were marked.
    pub marked: u32,
}

/// The way in which a receiver echoes CE marks to the sender, if the algorithm uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// No ECN: packets are sent as Not-ECT, which queues never mark.
    Off,
    /// RFC 3168: ECE on every acknowledgement until the sender sets CWR.
    Classic,
    /// RFC 8257, section 3.2: ECE mirrors CE exactly, also with delayed acknowledgements.
    Dctcp,
    /// XMP: each acknowledgement carries the number of marks (up to 3) since the previous one.
    Count,
}

impl Echo {
    /// Returns true if all packets are ECN-capable: also SYNs, acknowledgements and retransmissions (RFC 8257,
    /// section 3.6; `TCP_CONG_NEEDS_ECN` and `tcp_ecn_send` of Linux). With ECN of RFC 3168, only new data is
    /// (sections 6.1.1, 6.1.4 and 6.1.5).
    pub fn covers_all_packets(self) -> bool {
        matches!(self, Self::Dctcp | Self::Count)
    }
}

/// A coupled congestion control. Every event names the subflow `s` on which it happened; `w` holds
/// all subflows.
///
/// An acknowledgement that ends a round first calls [`on_round`](Self::on_round). Then it calls
/// [`on_ack`](Self::on_ack). Last, [`on_mark`](Self::on_mark) is called if the acknowledgement
/// carries the first mark since the last cut was fully acknowledged, or
/// [`on_fast_retransmit`](Self::on_fast_retransmit) if it reveals a loss.
pub trait CongestionControl {
    /// Returns the ECN echo that the algorithm needs from receivers.
    fn echo(&self) -> Echo;
    /// Handles the completed handshake of subflow `s`; `w[s].established` is already set.
    fn on_open(&mut self, _w: &mut [Window], _s: usize) {}
    /// Handles an acknowledgement, which acknowledges data or is a duplicate while data is
    /// outstanding. The window may grow only if [`Ack::may_grow`] is true.
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack);
    /// Returns true if a mark on `s` in the last acknowledgement reduces windows. Otherwise
    /// [`on_mark`](Self::on_mark) is not called, and the mark does not start a window in which more
    /// marks are ignored and `s` may not grow.
    fn reacts_to_mark(&self, _w: &[Window], _s: usize) -> bool {
        true
    }
    /// Returns true if the transport reduces windows after an idle time of more than an RTO (RFC
    /// 2861), as Linux does for algorithms without `cong_control`. Otherwise only the algorithm
    /// changes its windows.
    fn restarts_after_idle(&self) -> bool {
        false
    }
    /// Returns true if a round lasts until data that was sent after its end is acknowledged, as in
    /// Linux's `tcp_cubic.c`. Otherwise the profile decides whether it ends with its data.
    fn rounds_end_beyond(&self) -> bool {
        false
    }
    /// Returns the number of bursts of Linux's packet scheduler that a subflow's send buffer holds
    /// beyond two windows (`sndbuf_expand`). A subflow keeps data that the scheduler has assigned
    /// to it but its window does not admit. If many subflows have small windows, the connection
    /// waits for the slowest of them.
    fn extra_sndbuf_bursts(&self) -> u32 {
        0
    }
    /// Handles the first mark of a window. The next call comes only after everything in flight at
    /// this time has been acknowledged.
    fn on_mark(&mut self, w: &mut [Window], s: usize);
    /// Handles the first packet after a time in which nothing was outstanding on subflow `s`, at
    /// `now`. `idle` is the time in seconds since the last packet was sent (`CA_EVENT_TX_START`).
    /// It is reported if [`restarts_after_idle`](Self::restarts_after_idle) is true.
    fn on_restart(&mut self, _w: &mut [Window], _s: usize, _idle: f64, _now: Elapsed) {}
    /// Handles the end of a round of subflow `s`.
    fn on_round(&mut self, _w: &mut [Window], _s: usize, _round: Round) {}
    /// Handles a loss found by duplicate or selective acknowledgements, once per recovery episode.
    /// Sets `ssthresh` and `cwnd`.
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize);
    /// Handles a retransmission timeout. Sets `cwnd` (RFC 5681: one packet) and, if `first`,
    /// `ssthresh`. Otherwise "the given segment has already been retransmitted by way of the
    /// retransmission timer at least once, the value of ssthresh is held constant" (RFC 5681,
    /// section 3.1).
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool);
    /// Undoes the last fast retransmit or timeout of subflow `s`, which proved spurious (Eifel, RFC
    /// 4015; F-RTO, RFC 5682; D-SACK, RFC 3708). Restores every window and the algorithm's state.
    /// An algorithm without state besides `cwnd` and `ssthresh` needs only [`Window::undo`].
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        w[s].undo();
    }
    /// Handles the close of subflow `s`; `w[s].established` is already cleared.
    fn on_close(&mut self, _w: &mut [Window], _s: usize) {}
    /// Returns the pacing rate of subflow `s` in packets per second, or `None` to send as the
    /// window allows. Built-in algorithms return `None`. The transport calls this whenever a packet
    /// leaves.
    fn pacing_rate(&self, _w: &[Window], _s: usize) -> Option<f64> {
        None
    }
    /// Returns true if acknowledgements, marks and fast retransmits may change any `active`. The
    /// transport checks for a change after every other event in any case. After these events it
    /// checks only if this returns true, because the check reads all windows per packet.
    /// User-defined algorithms ([`Custom`](crate::Custom)) are always checked.
    fn may_suppress_on_ack(&self) -> bool {
        false
    }
    /// Returns the response function of the algorithm, if it has one. The flow level needs it.
    fn response(&self) -> Option<&dyn Response> {
        None
    }
}

/// Slow start (RFC 5681, section 3.1): adds one packet per packet acknowledged, up to `ssthresh`.
/// Returns the packets of `acked` that remain for congestion avoidance; 0 while slow start lasts.
pub fn slow_start(w: &mut Window, acked: u32) -> u32 {
    if w.cwnd >= w.ssthresh {
        return acked;
    }
    let grown = w.cwnd + f64::from(acked);
    if grown <= w.ssthresh {
        w.cwnd = grown;
        return 0;
    }
    // ssthresh may have a fraction: only whole packets beyond it are left to congestion avoidance.
    let left = (grown - w.ssthresh).floor();
    w.cwnd = grown - left;
    left as u32
}
