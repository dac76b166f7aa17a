//! The state of a subflow: its handshake (RFC 9293; RFC 8684, section 3.2), fast recovery (RFC 6582,
//! RFC 6937), and the recovery from a timeout (RFC 6298, RFC 5682).

use super::prr::Prr;
use super::undo::Undo;

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
