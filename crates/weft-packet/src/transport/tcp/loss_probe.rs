//! Acknowledgements of tail loss probes (RFC 8985, section 7.4).

use weft_cc::CongestionControl;

use super::connection::ConnectionSender;
use super::subflow::SubflowSender;

/// Handles an acknowledgement of all bytes before `ack` while a loss probe is outstanding (RFC
/// 8985, section 7.4).
pub fn on_probe_acknowledged(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    ack: u64,
    duplicate: bool,
    now: u64,
) {
    if ack < subflow.tlp_high_seq {
        return;
    }
    if subflow.tlp_retrans && !duplicate {
        if ack == subflow.tlp_high_seq {
            // Which copy was acknowledged is not known yet.
            return;
        }
        // The probe repaired a loss, which counts as one loss.
        let s = subflow.index as usize;
        subflow.stats.fast_retransmits += 1;
        connection.windows[s].save_prior();
        connection.notify_cc(now, |cc, windows| cc.on_fast_retransmit(windows, s));
    }
    subflow.tlp_high_seq = 0;
}
