//! The packets into which the data of a flow is divided. A packet carries data of one message only.

use weft_transports::TransportConfig;

/// How data is divided.
#[derive(Clone, Copy)]
pub struct Segments {
    /// Payload bytes of a full packet.
    mss: u64,
    /// Bytes of a message; `u64::MAX` if a flow is one message.
    message: u64,
    /// Number of packets of a message.
    per_message: u64,
}

impl Segments {
    /// Returns the division of the data of a transport's flows.
    pub fn for_transport(transport: &TransportConfig) -> Self {
        let message = transport.parameters.message_size();
        Self::new(transport.sizes().payload.into(), message.map(|size| size.0))
    }

    /// Returns the division into packets of up to `mss` payload bytes, and into messages of this size; `None` if
    /// a flow is one message.
    pub fn new(mss: u64, message: Option<u64>) -> Self {
        let message = message.unwrap_or(u64::MAX);
        Self {
            mss,
            message,
            per_message: message.div_ceil(mss),
        }
    }

    /// Returns the number of packets of this many bytes.
    pub fn count(&self, bytes: u64) -> u64 {
        bytes / self.message * self.per_message + (bytes % self.message).div_ceil(self.mss)
    }

    /// Returns the bytes before packet `n`, which is not after the end of the data.
    pub fn bytes_before(&self, n: u64) -> u64 {
        n / self.per_message * self.message + n % self.per_message * self.mss
    }

    /// Returns the payload bytes of packet `n` of a flow of `size` bytes; `None` if the flow has no end.
    pub fn payload(&self, n: u64, size: Option<u64>) -> u64 {
        let before = self.bytes_before(n);
        let message = (n / self.per_message + 1).saturating_mul(self.message);
        self.mss.min(message.min(size.unwrap_or(u64::MAX)) - before)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_add_up_and_do_not_cross_messages(mss in 1..50_u64, message in 1..200_u64, size in 1..2000_u64) {
            for message in [message, u64::MAX] {
                let segments = Segments { mss, message, per_message: message.div_ceil(mss) };
                let mut sum = 0;
                for n in 0..segments.count(size) {
                    prop_assert_eq!(segments.bytes_before(n), sum);
                    let payload = segments.payload(n, Some(size));
                    prop_assert!((1..=mss).contains(&payload));
                    prop_assert_eq!(sum / message, (sum + payload - 1) / message);
                    prop_assert!(payload == mss || (sum + payload).is_multiple_of(message) || sum + payload == size);
                    sum += payload;
                }
                prop_assert_eq!(sum, size);
            }
        }
    }
}
