//! MMPTCP's first phase: the first subflow of a connection scatters its packets over all paths
//! until other subflows replace it.

use weft_paths::{Paths, SubflowDirection};
use weft_spec::Size;
use weft_transports::{TcpConfig, TcpMode};

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::subflow::BlockReasons;
use super::subflow::SubflowSender;

/// Returns the bytes that have to be acknowledged before the additional subflows join.
pub fn join_after(tcp: &TcpConfig, mode: TcpMode<'_>) -> Size {
    mode.scatter().map_or(tcp.join_after, |scatter| scatter.threshold)
}

/// Raises the duplicate threshold of a subflow whose packets overtake each other by policy, so that
/// segments are considered lost later.
pub fn raise_dupack_threshold(
    subflow: &mut SubflowSender,
    (tcp, mode): (&TcpConfig, TcpMode<'_>),
    paths: Paths,
    direction: SubflowDirection,
) {
    let usual = tcp.profile.loss.dupack_threshold;
    let scatter = mode.scatter();
    if let Some(duplicates) =
        scatter.and_then(|scatter| scatter.dupack_threshold(paths, direction.subflow, usual))
    {
        subflow.reordering.expect_scattering(duplicates);
    }
}

impl TcpEndpoint {
    /// Ends the scatter phase when another subflow is established: if the policy has such a phase,
    /// the first subflow gets no more new data.
    pub(super) fn end_scatter_phase(&mut self, index: u32, now: u64) {
        let connection = &mut self.connections[index as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        if transport.mode().scatter().is_none() {
            return;
        }
        let subflow = &mut self.subflows[connection.first_subflow as usize];
        subflow.gate.block(BlockReasons::DRAINING);
        if subflow.segments.is_empty() && subflow.state.is_open() && connection.queued(0) == 0 {
            close_drained(connection, subflow, now);
        }
    }
}

/// Closes a subflow whose data is all acknowledged, so that congestion control stops counting it.
#[cold]
pub fn close_drained(connection: &mut ConnectionSender, subflow: &mut SubflowSender, now: u64) {
    let s = subflow.index() as usize;
    subflow.state.close();
    subflow.timer.stop();
    connection.congestion.close(s);
    connection.record_suppression(now);
    connection.rotation.set_checks_all(true);
}
