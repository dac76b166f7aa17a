//! The admission of a subflow's packet to a link: by bursts, by pacing, and by the NIC, which all flows of the host share.

use crate::engine::Context;
use crate::transport::nic::{Feed, NicFlow, Nics, Request, WINDOW};
use crate::transport::shared::Shared;

use super::INDEX;
use super::connection::ConnectionSender;
use super::gate::BlockReasons;
use super::pacing::may_pace;
use super::subflow::SubflowSender;

/// The causes that may hold packets back in a run.
#[derive(Clone, Copy)]
pub struct Admission {
    /// True if any subflow may be paced.
    paces: bool,
    /// True if data is sent in bursts.
    tso: bool,
    /// True if any cause exists, which may be the NIC alone.
    enabled: bool,
}

impl Admission {
    /// Determines the causes.
    pub fn new(shared: &Shared) -> Self {
        let mut transports = shared.tcp.iter().flatten();
        let paces = transports.any(|tcp| may_pace(tcp.profile.window.pacing, &tcp.cc));
        let tso = shared.offload.tso;
        Self {
            paces,
            tso,
            enabled: paces || tso || shared.nic.is_some(),
        }
    }

    /// Returns true if `subflow`, in slot `slot`, may hand a packet to its port now. Otherwise the
    /// subflow waits and is served when it may. A data packet has this many header bytes.
    #[inline(always)]
    pub fn admit(
        self,
        nics: &mut Nics,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        (slot, header): (u32, u32),
        cx: &mut Context<'_>,
    ) -> bool {
        if !self.enabled {
            true
        } else if self.tso || self.paces {
            self.admit_burst(nics, connection, subflow, (slot, header), cx)
        } else {
            nic_admits(nics, connection, subflow, (slot, header), 1, cx)
        }
    }

    /// Returns the answer of [`admit`](Self::admit) if data is paced or sent in bursts.
    fn admit_burst(
        self,
        nics: &mut Nics,
        connection: &ConnectionSender,
        subflow: &mut SubflowSender,
        (slot, header): (u32, u32),
        cx: &mut Context<'_>,
    ) -> bool {
        if subflow.gate.take_from_burst() {
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
            return true;
        }
        let burst = if self.tso {
            connection.burst(subflow, cx.now)
        } else {
            Some(1)
        };
        let Some(burst) = burst else {
            subflow.gate.block(BlockReasons::TSO_DEFERRED);
            return false;
        };
        if self.paces && !subflow.pacing_allows(slot, cx) {
            return false;
        }
        let passes = nic_admits(nics, connection, subflow, (slot, header), burst, cx);
        if passes {
            subflow.gate.start_burst(burst - 1);
            if self.paces {
                connection.on_paced_send(subflow, cx.now);
            }
        }
        passes
    }

    /// Handles an acknowledgement of `subflow`.
    #[inline(always)]
    pub fn on_ack(self, subflow: &mut SubflowSender) {
        if self.tso {
            if subflow.gate.is_blocked_by(BlockReasons::TSO_DEFERRED) {
                // The window limits a sender that waits for a longer burst (`tcp_tso_should_defer`).
                subflow.usage.set_limited(subflow.seq.nxt());
            }
            subflow.gate.on_ack();
        }
    }
}

/// Returns true if the NIC takes a burst of `subflow` now. Otherwise the subflow waits for its turn.
#[inline(always)]
fn nic_admits(
    nics: &mut Nics,
    connection: &ConnectionSender,
    subflow: &mut SubflowSender,
    (slot, header): (u32, u32),
    burst: u32,
    cx: &mut Context<'_>,
) -> bool {
    if subflow.gate.is_blocked_by(BlockReasons::THROTTLED) {
        return false;
    }
    let flow = NicFlow {
        kind: INDEX as u32,
        index: slot,
    };
    let request = || Request {
        flow,
        feed: Feed::Ring,
        class: connection.options.data_flags,
        size: connection.data.mss() + header,
        backlog: WINDOW,
    };
    let port = cx.port_of(subflow.path.route());
    let admitted = nics.admit(flow, port, burst, request, cx);
    if !admitted {
        subflow.gate.block(BlockReasons::THROTTLED);
    }
    admitted
}
