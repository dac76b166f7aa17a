//! RCCC at the sender: credit that the receiver grants.

use weft_transports::UetConfig;

use super::params::longest_window;

/// Bytes of a quantum of credit.
pub const QUANTUM: i64 = 256;

/// The credit of a flow.
pub struct Credit {
    /// Bytes that may be sent; below 0 if the last packet needed more.
    bytes: i64,
    /// Highest granted number of quanta, and the maximum credit in bytes.
    granted: i64,
    cap: i64,
    /// True until the receiver answers.
    speculating: bool,
    /// Number of quanta that the last data packet asked for.
    target: u32,
}

/// The backlog of a flow when it asks for credit.
pub struct Backlog {
    /// Bytes that were not sent, and those that wait to be sent again.
    pub new: i64,
    pub queued: i64,
    /// The window, if there is one.
    pub window: Option<i64>,
    /// Number of flows that wait at the NIC.
    pub waiting: u32,
}

impl Credit {
    /// Creates the credit of a flow that begins, which may send without a grant.
    pub fn new(config: &UetConfig) -> Self {
        let cap = longest_window(config);
        Self {
            bytes: cap,
            granted: 0,
            cap,
            speculating: true,
            target: 0,
        }
    }

    /// Returns true if a packet may be sent.
    pub fn allows(&self) -> bool {
        self.bytes > 0
    }

    /// Returns true until the receiver answers.
    pub fn is_speculating(&self) -> bool {
        self.speculating
    }

    /// Takes the credit of a packet.
    pub fn charge(&mut self, size: u16) {
        self.bytes -= i64::from(size);
    }

    /// Forfeits the rest of the credit that was not granted.
    pub fn stop_speculating(&mut self) {
        if self.speculating {
            self.speculating = false;
            self.bytes = self.bytes.min(0);
        }
    }

    /// Adds granted credit. Returns true if there is more than before.
    pub fn on_pull(&mut self, granted: u32) -> bool {
        let more = i64::from(granted.wrapping_sub(self.granted as u32).cast_signed());
        if more <= 0 {
            return false;
        }
        self.bytes = self.cap.min(self.bytes + QUANTUM * more);
        self.granted += more;
        true
    }

    /// Returns the number of quanta that a data packet asks for.
    pub fn ask(&mut self, backlog: &Backlog, mtu: i64) -> u32 {
        let mut bytes = backlog.new + backlog.queued;
        if let Some(window) = backlog.window {
            bytes = bytes.min(window + mtu);
        }
        bytes = bytes.min(self.cap) - self.bytes;
        if self.speculating && bytes < mtu && backlog.new > 0 {
            bytes = mtu;
        }
        bytes /= i64::from(backlog.waiting.max(1));
        let quanta = (bytes + QUANTUM - 1).div_euclid(QUANTUM);
        self.target = (self.granted + quanta) as u32;
        self.target
    }

    /// Returns the number of quanta that the last data packet asked for.
    pub fn target(&self) -> u32 {
        self.target
    }
}
