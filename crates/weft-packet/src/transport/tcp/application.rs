//! Applications that write their data at a given rate.

use super::endpoint::TcpEndpoint;
use super::timer_keys::{TcpTimer, timer_key};
use crate::transport::state::HostContext;

use weft_spec::Rate;

/// Bits per byte times picoseconds per second.
const BITS_PER_BYTE_PS: u128 = 8 * 1_000_000_000_000;

/// Returns the number of chunks of `mss` bytes that an application with this rate has written after
/// `elapsed` picoseconds.
fn chunks_written_by(elapsed: u64, rate: Rate, mss: u32) -> u64 {
    (u128::from(elapsed) * u128::from(rate.0) / (BITS_PER_BYTE_PS * u128::from(mss))) as u64
}

/// Returns the picoseconds that it takes to write this many chunks.
fn write_time(chunks: u64, rate: Rate, mss: u32) -> u64 {
    let bits = u128::from(chunks) * u128::from(mss) * BITS_PER_BYTE_PS;
    u64::try_from(bits.div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX)
}

impl TcpEndpoint {
    /// Handles the timer of an application that has written another chunk, which may be sent.
    #[cold]
    pub(super) fn on_application_write(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(&index) = self.slots.senders.get(&flow) else {
            return;
        };
        let Some(rate) = self.shared.flow(flow).rate else {
            return;
        };
        let connection = &mut self.connections[index as usize];
        if connection.data.written() >= connection.data.total() {
            return; // stopped, or all there is
        }
        let mss = self.shared.tcp(connection.transport).profile.sizes.mss;
        let chunks = chunks_written_by(cx.now - connection.lifetime.opened(), rate, mss);
        connection.data.set_written(chunks);
        if connection.data.written() < connection.data.total() {
            let next = connection
                .lifetime
                .opened()
                .saturating_add(write_time(chunks + 1, rate, mss));
            cx.set_timer(next, timer_key(TcpTimer::Write, flow));
        }
        self.send_written(index, cx);
    }

    /// Sends what the application of a connection has written, as windows allow.
    fn send_written(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        connection.rotation.set_checks_all(true);
        let first = connection.first_subflow;
        self.transmit_pending(index, first, cx);
    }

    /// Sets the number of chunks that the application of a flow has written.
    #[cfg(test)]
    pub(super) fn set_written(&mut self, flow: u32, chunks: u64, cx: &mut HostContext<'_, '_>) {
        let index = self.slots.senders[&flow];
        self.connections[index as usize].data.set_written(chunks);
        self.send_written(index, cx);
    }

    /// Makes a subflow active, or a backup.
    #[cfg(test)]
    pub(super) fn set_active(&mut self, flow: u32, subflow: usize, active: bool) {
        let index = self.slots.senders[&flow];
        let connection = &mut self.connections[index as usize];
        let set = |windows: &mut [weft_cc::Window]| windows[subflow].active = active;
        connection.congestion.notify(|_, windows| set(windows));
        connection.rotation.set_checks_all(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_written_when_its_time_has_come_and_not_before() {
        for rate in [10_000, 50_000_000, 3_333_333_333, 100_000_000_000_000] {
            let rate = Rate(rate);
            for chunks in [1, 2, 7, 100_000] {
                let time = write_time(chunks, rate, 1_460);
                assert!(chunks_written_by(time, rate, 1_460) >= chunks);
                assert!(chunks_written_by(time - 1, rate, 1_460) < chunks);
            }
        }
    }

    /// 1,250 bytes at 10 Mbps take a millisecond.
    #[test]
    fn the_time_is_that_of_the_bits() {
        assert_eq!(write_time(3, Rate(10_000_000), 1_250), 3_000_000_000);
    }
}
