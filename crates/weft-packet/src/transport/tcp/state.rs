//! The state of a subflow: its handshake (RFC 9293; RFC 8684, section 3.2), fast recovery (RFC 6582,
//! RFC 6937), the recovery from a timeout (RFC 6298, RFC 5682), and what undoes recoveries that proved
//! spurious: Eifel (RFC 3522, RFC 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

/// The phase of a subflow, with what belongs to it alone.
enum Phase {
    /// Closed, or not opened yet.
    Closed,
    /// SYN sent.
    SynSent,
    /// A join whose third handshake packet is not acknowledged yet (RFC 8684, figure 8).
    PreEstablished,
    /// Established, nothing lost.
    Open,
    /// Fast recovery, with proportional rate reduction if the profile has it.
    FastRecovery(Option<Prr>),
    /// The recovery from a timeout.
    LossRecovery(Timeout),
}

/// The last timeout of a subflow that recovers from it.
#[derive(Clone, Copy)]
struct Timeout {
    /// First byte that was not acknowledged.
    una: u64,
    frto: Frto,
}

/// Whether the timeout may prove spurious (F-RTO, RFC 5682).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frto {
    /// No: the profile has no F-RTO, or the loss was real.
    Off,
    /// It may, by an acknowledgement of data that was not retransmitted.
    Possible,
    /// Retransmissions wait for the acknowledgements of new data (section 3.1, step 2b).
    AwaitsNewData,
}

/// The state of a subflow.
pub struct SubflowState {
    phase: Phase,
    /// A recovery ends when this byte is acknowledged (`recover`, RFC 6582).
    recover: u64,
    /// True if the next retransmission is sent even if the window does not allow it.
    forces_retransmission: bool,
    /// The state to restore if nothing was lost.
    pub undo: Undo,
}

impl SubflowState {
    /// Creates the state of a subflow that is not opened yet.
    pub fn new() -> Self {
        Self {
            phase: Phase::Closed,
            recover: 0,
            forces_retransmission: false,
            undo: Undo::default(),
        }
    }

    /// Returns true if the subflow is closed, or not opened yet.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns true if the SYN is not answered yet.
    pub fn is_syn_sent(&self) -> bool {
        matches!(self.phase, Phase::SynSent)
    }

    /// Returns true if the third packet of a join's handshake is not acknowledged yet.
    pub fn is_pre_established(&self) -> bool {
        matches!(self.phase, Phase::PreEstablished)
    }

    /// Returns true if the subflow can carry data.
    #[inline(always)]
    pub fn is_established(&self) -> bool {
        !matches!(self.phase, Phase::Closed | Phase::SynSent | Phase::PreEstablished)
    }

    /// Returns true if the subflow is established and nothing is lost.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Returns true in fast recovery.
    #[inline(always)]
    pub fn is_fast_recovery(&self) -> bool {
        matches!(self.phase, Phase::FastRecovery(_))
    }

    /// Returns true in the recovery from a timeout.
    #[inline(always)]
    pub fn is_loss_recovery(&self) -> bool {
        matches!(self.phase, Phase::LossRecovery(_))
    }

    /// Returns true if the last timeout happened when `una` was the first byte that was not
    /// acknowledged, and the recovery from it is in progress.
    pub fn timed_out_at(&self, una: u64) -> bool {
        matches!(self.phase, Phase::LossRecovery(timeout) if timeout.una == una)
    }

    /// Returns the byte whose acknowledgement ends the last recovery; 0 if there was none.
    pub fn recover(&self) -> u64 {
        self.recover
    }

    /// Returns whether the last timeout may prove spurious.
    #[inline(always)]
    pub fn frto(&self) -> Frto {
        match self.phase {
            Phase::LossRecovery(timeout) => timeout.frto,
            _ => Frto::Off,
        }
    }

    /// Returns the rate reduction in progress.
    #[inline(always)]
    pub fn prr(&self) -> Option<&Prr> {
        match &self.phase {
            Phase::FastRecovery(prr) => prr.as_ref(),
            _ => None,
        }
    }

    /// Returns the rate reduction in progress, to change it.
    #[inline(always)]
    pub fn prr_mut(&mut self) -> Option<&mut Prr> {
        match &mut self.phase {
            Phase::FastRecovery(prr) => prr.as_mut(),
            _ => None,
        }
    }

    /// Returns true if the next retransmission is sent whatever the window.
    #[inline(always)]
    pub fn forces_retransmission(&self) -> bool {
        self.forces_retransmission
    }

    /// Makes the next retransmission be sent whatever the window, or not.
    #[inline(always)]
    pub fn force_retransmission(&mut self, forces: bool) {
        self.forces_retransmission = forces;
    }

    /// Records that the SYN was sent.
    pub fn on_syn_sent(&mut self) {
        self.phase = Phase::SynSent;
    }

    /// Records that the third packet of a join's handshake was sent.
    pub fn on_join_ack_sent(&mut self) {
        self.phase = Phase::PreEstablished;
    }

    /// Opens the subflow: it can carry data.
    pub fn open(&mut self) {
        self.phase = Phase::Open;
    }

    /// Closes the subflow.
    pub fn close(&mut self) {
        self.phase = Phase::Closed;
    }

    /// Enters fast recovery, which ends when `nxt` is acknowledged.
    pub fn enter_fast_recovery(&mut self, nxt: u64, undo: Undo) {
        self.undo = undo;
        self.phase = Phase::FastRecovery(None);
        self.recover = nxt;
        self.forces_retransmission = true;
    }

    /// Starts a rate reduction in fast recovery.
    pub fn reduce_rate(&mut self, prr: Prr) {
        self.phase = Phase::FastRecovery(Some(prr));
    }

    /// Enters the recovery from a timeout, which ends when `nxt` is acknowledged (RFC 6582, section
    /// 3.2, step 4); `una` is the first byte that is not. Without `undo`, what could be undone before stays.
    pub fn enter_loss_recovery(&mut self, una: u64, nxt: u64, has_frto: bool, undo: Option<Undo>) {
        self.undo = undo.unwrap_or(self.undo);
        let frto = if has_frto { Frto::Possible } else { Frto::Off };
        self.phase = Phase::LossRecovery(Timeout { una, frto });
        self.recover = nxt;
        self.forces_retransmission = true;
    }

    /// Ends a recovery.
    pub fn exit_recovery(&mut self) {
        self.phase = Phase::Open;
        self.forces_retransmission = false;
    }

    /// Sets whether the last timeout may prove spurious.
    pub fn set_frto(&mut self, frto: Frto) {
        if let Phase::LossRecovery(timeout) = &mut self.phase {
            timeout.frto = frto;
        }
    }

    /// Lets retransmissions wait for the acknowledgements of new data. The recovery ends when
    /// `nxt` is acknowledged.
    pub fn await_new_data(&mut self, nxt: u64) {
        self.recover = nxt;
        self.set_frto(Frto::AwaitsNewData);
    }

    /// Returns true if new data is sent although segments are lost.
    #[inline(always)]
    pub fn awaits_new_data(&self) -> bool {
        self.frto() == Frto::AwaitsNewData
    }
}

/// The state of one recovery, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prr {
    /// Window at the end of the recovery (`ssthresh`).
    ssthresh: u32,
    /// Packets outstanding at the beginning (`RecoverFS`), at least 1. RFC 9937 subtracts what was
    /// sacked before; here it counts, as in RFC 6937.
    recover_fs: u32,
    /// Packets delivered since then (`prr_delivered`).
    delivered: u32,
    /// Packets sent in total when the recovery began.
    sent_before: u64,
    /// Packets that may be in the network now.
    cwnd: u32,
}

impl Prr {
    /// Starts a recovery. `sent` counts all packets ever sent.
    pub fn new(target: f64, outstanding: u32, sent: u64) -> Self {
        Self {
            ssthresh: target as u32,
            recover_fs: outstanding.max(1),
            delivered: 0,
            sent_before: sent,
            cwnd: 0,
        }
    }

    /// Returns the number of packets that may be in the network.
    #[inline(always)]
    pub fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Handles an acknowledgement by which `delivered` more packets have arrived; `pipe` packets
    /// are believed to be in the network.
    ///
    /// While `pipe > ssthresh`, `sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out`.
    /// Otherwise the window grows in slow start up to `ssthresh`, by as many packets as were
    /// delivered. It grows by one more if the acknowledgement made `progress`, that is, it advanced
    /// and reported no additional loss (`SafeACK`). At least one packet is sent on entering recovery.
    /// See RFC 9937, section 6.
    pub fn on_ack(&mut self, delivered: u32, pipe: u32, progress: bool, sent: u64) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let out = sent - self.sent_before;
        let may = if pipe > self.ssthresh {
            let share = u64::from(self.delivered) * u64::from(self.ssthresh);
            share.div_ceil(u64::from(self.recover_fs)).saturating_sub(out)
        } else {
            let room = u64::from(self.ssthresh - pipe);
            let owed = u64::from(self.delivered)
                .saturating_sub(out)
                .max(u64::from(delivered));
            (owed + u64::from(progress)).min(room)
        };
        // The first retransmission is sent whatever the window.
        self.cwnd = pipe + (may as u32).max(u32::from(out == 0));
    }
}

/// Time between two ticks of the clock of Linux's timestamps, in picoseconds.
const TICK: u64 = 1_000_000_000;

/// Whether a recovery may still prove spurious, and the retransmissions since it began. The window before it is saved in
/// [`Window`](weft_cc::Window).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "the kernel's name")]
pub struct Undo {
    /// True if there is a reduction to undo.
    armed: bool,
    /// Next byte to send when the recovery began: segments sent before that were sent before any
    /// retransmission.
    end: u64,
    /// Time of the first transmission of the first segment; `None` if it had been retransmitted
    /// before.
    head_sent_at: Option<u64>,
    /// Retransmissions that the receiver has not reported as duplicates (`undo_retrans`).
    undo_retrans: u32,
    /// Time of the first retransmission; `None` if there was none (`retrans_stamp`).
    first_retransmit_at: Option<u64>,
}

impl Undo {
    /// Prepares the undo of a recovery that begins. `end` is the next byte to send, `head_sent_at`
    /// the time at which the first segment was sent if it was sent only once. The caller saves the
    /// window.
    pub fn arm(end: u64, head_sent_at: Option<u64>) -> Self {
        Self {
            armed: true,
            end,
            head_sent_at,
            undo_retrans: 0,
            first_retransmit_at: None,
        }
    }

    /// Drops what was to be undone.
    pub fn disarm(&mut self) {
        self.armed = false;
    }

    /// Returns the byte before which data was sent before any retransmission; `None` if there is
    /// nothing to undo.
    pub fn end(&self) -> Option<u64> {
        self.armed.then_some(self.end)
    }

    /// Returns the time of the first transmission of the first segment, if it was sent only once.
    pub fn head_sent_at(&self) -> Option<u64> {
        self.head_sent_at
    }

    /// Returns true if the timestamps of the first segment and of the first retransmission differ, so
    /// that an echo shows which one has arrived (`tcp_tsopt_ecr_before`).
    pub fn timestamps_differ(&self) -> bool {
        self.head_sent_at
            .zip(self.first_retransmit_at)
            .is_some_and(|(first, again)| first / TICK < again / TICK)
    }

    /// Counts a retransmission at `now`.
    pub fn on_retransmit(&mut self, now: u64) {
        self.undo_retrans += 1;
        self.first_retransmit_at.get_or_insert(now);
    }

    /// Handles a D-SACK. Returns whether all retransmissions were needless.
    pub fn on_dsack(&mut self) -> bool {
        self.undo_retrans = self.undo_retrans.saturating_sub(1);
        self.armed && self.first_retransmit_at.is_some() && self.undo_retrans == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, section 4, first example: 20 packets are out, the first is lost, and `ssthresh` is
    /// 10. "each ACK ... sends one for every other": 19 duplicates allow ten packets, including the
    /// retransmission, and the pipe ends at `ssthresh`.
    #[test]
    fn one_loss_sends_a_packet_for_every_second_delivered() {
        let mut prr = Prr::new(10.0, 20, 100);
        let (mut pipe, mut sent) = (19, 100);
        let mut sends = Vec::new();
        for _ in 0..19 {
            pipe -= 1;
            prr.on_ack(1, pipe, false, sent);
            let now = prr.cwnd - pipe;
            pipe += now;
            sent += u64::from(now);
            sends.push(now);
        }
        assert_eq!(sends[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!((sent - 100, pipe), (10, 10));
    }

    /// RFC 6937, section 4, second example: the first 15 of 20 packets are lost and five are
    /// delivered. As many packets are sent as were delivered, and one for progress, because the
    /// pipe is below `ssthresh`.
    #[test]
    fn many_losses_send_what_was_delivered() {
        let mut prr = Prr::new(10.0, 20, 0);
        prr.on_ack(1, 4, false, 0);
        assert_eq!(prr.cwnd, 5);
        prr.on_ack(1, 4, false, 1);
        assert_eq!(prr.cwnd, 5);
        prr.on_ack(1, 4, true, 2);
        assert_eq!(prr.cwnd, 6);
        // Never above the target.
        prr.on_ack(8, 4, true, 4);
        assert_eq!(prr.cwnd, 10);
    }
}
