//! Proportional rate reduction (RFC 9937, which obsoletes RFC 6937): limits what a recovery sends, so that the window falls
//! gradually to the target.

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
