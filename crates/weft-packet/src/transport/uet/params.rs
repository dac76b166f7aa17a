//! The constants that all flows of a transport share. They follow from the network and the configuration.

use weft_transports::{TransportConfig, UetConfig};

use crate::packet::class_flags;
use crate::transport::spray::{HEADER, Segments};

/// The reference network of NSCC: 100 Gbps and 12 us.
const REFERENCE_BYTES: f64 = 150_000.0;
const REFERENCE_RTT_PS: f64 = 12e6;

/// The constants of a transport. Times are in picoseconds.
pub struct Params {
    pub config: UetConfig,
    /// Bytes of a full packet, and the division of data into packets.
    pub mtu: i64,
    pub segments: Segments,
    /// Longest unloaded round-trip time of the network.
    pub network_rtt: u64,
    /// Queueing delay that NSCC aims at.
    pub target_delay: u64,
    /// Increase per byte and picosecond below the target (alpha).
    pub proportional: f64,
    /// Increase per byte at or above the target without a mark (fi).
    pub fair: f64,
    /// Increase per round-trip time of the network (eta).
    pub per_rtt: f64,
    /// Increase per byte if there is no queue.
    pub fast: f64,
    /// Flags of the traffic class of packets of senders and of receivers.
    pub class: u16,
    pub ack_class: u16,
}

impl Params {
    /// Returns the division of data into packets.
    pub fn segments(config: &UetConfig) -> Segments {
        Segments::new(
            u64::from(config.mtu - HEADER),
            config.message_size.map(|size| size.0),
        )
    }

    /// Computes the constants of a transport of this kind.
    pub fn new(transport: &TransportConfig, config: UetConfig) -> Self {
        let mss = f64::from(config.mtu - HEADER);
        let network_rtt = config.network_rtt.0;
        let target = config.target_delay.0 as f64;
        let scale = bytes_in(network_rtt, config.rate.0) as f64 / REFERENCE_BYTES;
        Self {
            mtu: config.mtu.into(),
            segments: Self::segments(&config),
            network_rtt,
            target_delay: config.target_delay.0,
            proportional: 4.0 * mss * scale * (target / REFERENCE_RTT_PS) / target,
            fair: 5.0 * mss * scale,
            per_rtt: 0.15 * mss * scale,
            fast: 0.25 * scale,
            class: class_flags(transport.class),
            ack_class: class_flags(transport.ack_class),
            config,
        }
    }

    /// Returns the bytes that the host's link sends in a time.
    pub fn bytes_in(&self, time: u64) -> i64 {
        bytes_in(time, self.config.rate.0)
    }

    /// Returns the maximum window of a flow with this base round-trip time.
    pub fn max_window(&self, base_rtt: u64) -> i64 {
        self.bytes_in(base_rtt) * 3 / 2
    }
}

fn bytes_in(time: u64, rate: u64) -> i64 {
    (u128::from(time) * u128::from(rate) / 8_000_000_000_000) as i64
}
