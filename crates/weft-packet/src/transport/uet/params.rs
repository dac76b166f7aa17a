//! The constants of a transport that follow from the network and the configuration.

use weft_transports::UetConfig;

/// Returns the bytes that the host's link sends in a time in picoseconds.
pub fn bytes_in(time: u64, config: &UetConfig) -> i64 {
    (u128::from(time) * u128::from(config.rate.0) / 8_000_000_000_000) as i64
}

/// Returns the maximum window of a flow with this base round-trip time.
pub fn max_window(base_rtt: u64, config: &UetConfig) -> i64 {
    bytes_in(base_rtt, config) * 3 / 2
}

/// Returns the maximum window of a flow with the longest round-trip time of the network.
pub fn longest_window(config: &UetConfig) -> i64 {
    max_window(config.network_rtt.0, config)
}
