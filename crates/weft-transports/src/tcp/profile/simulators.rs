//! Profiles of the simulators of papers, apart from that of AMP's authors.

use weft_spec::Time;

use super::{Profile, Recovery, RtoEstimator, WindowValidation};

/// Receive buffer of simulators that have none.
const UNLIMITED_BYTES: u64 = 1_000_000_000;
/// ns-2's `window_` in packets, which bounds the window of a sender and is its first slow-start threshold.
const NS2_WINDOW: u32 = 20;

impl Profile {
    /// The TCP that simulators have in common: an acknowledgement per packet, and none of Linux's additions.
    fn plain() -> Self {
        Self::linux().with(|p| {
            p.window.window_validation = WindowValidation::HalfUsed;
            p.window.slow_start_after_idle = false;
            p.window.count_all_after_timeout = false;
            p.rto.rto_estimator = RtoEstimator::Rfc6298;
            p.loss.tail_loss_probe = false;
            p.loss.limited_transmit = false;
            p.options.prr = false;
            p.options.frto = false;
            p.options.timestamps = false;
            p.acks.ack_every = 1;
            p.acks.quick_acks = 0;
            p.joins.confirmed_joins = false;
            p.connection.reinject = false;
            p.connection.receive_buffer = UNLIMITED_BYTES;
            p.connection.send_buffer = super::MAX_WINDOW_BYTES;
        })
    }

    /// htsim, the simulator of the data-centre study of multipath TCP (Raiciu et al., SIGCOMM 2011), which "models TCP
    /// very similarly to ns2". Initial window, initial RTO and recovery are those of htsim's later public versions;
    /// the minimum RTO is that of ns-2. A lost SYN would take 3 s, longer than many of the study's runs.
    pub fn htsim_2011() -> Self {
        Self::plain().with(|p| {
            p.window.initial_cwnd = 2.0;
            p.rto.initial_rto = Time::from_ms(3_000);
            p.loss.recovery = Recovery::NewReno;
            p.handshake.protect_handshake = true;
        })
    }

    /// ns-2's `FullTcp` with selective acknowledgements, on which the DCTCP and MPTCP of `MPTCP_OPN`'s ns-2 are based.
    /// Initial window, sizes and `window_` are ns-2's; the paper has an RTO of 200 ms, which a lost SYN takes as well.
    pub fn ns2_2019() -> Self {
        Self::plain().with(|p| {
            (p.sizes.mss, p.sizes.header, p.sizes.ack_size) = (1460, 40, 40);
            p.window.initial_cwnd = 2.0;
            p.window.initial_ssthresh = NS2_WINDOW.into();
            p.connection.subflow_receive_buffer = u64::from(NS2_WINDOW * p.sizes.mss);
            p.rto.initial_rto = p.rto.min_rto;
            p.loss.recovery = Recovery::Sack;
        })
    }

    /// ns-3.21, the simulator of AMP-FG, which has no selective acknowledgements. Initial window, first slow-start
    /// threshold and buffers are the defaults of its `TcpSocket`, and equation (2) of the paper supposes an
    /// acknowledgement per packet.
    pub fn ns_3_21() -> Self {
        Self::plain().with(|p| {
            p.window.initial_cwnd = 1.0;
            p.window.initial_ssthresh = 65_535.0 / f64::from(p.sizes.mss);
            // `RcvBufSize`; `SndBufSize` is as large, and so does not bound the window further.
            p.connection.subflow_receive_buffer = 131_072;
            p.loss.recovery = Recovery::NewReno;
        })
    }
}
