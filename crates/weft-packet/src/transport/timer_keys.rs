//! Keys of timers: the upper half of a key says who handles the timer, the lower half is an index.
//!
//! Simultaneous timers of a host fire in the order of their keys, so the numbers are part of the
//! results.

/// Timers that the host itself handles. TCP has the other numbers below [`FIRST_ENDPOINT`]
/// (`TcpTimer`).
#[derive(Clone, Copy)]
pub enum HostTimer {
    /// Opens a flow. Index: flow.
    Start = 0,
    /// The application stops. Index: flow.
    Stop = 1,
    /// A sample of a flow. Index: sampler of this host.
    Sample = 5,
    /// A job starts. Index: `job * generators + generator`.
    StartJob = 6,
    /// A port has drained, and a socket is the first flow that waits for it. Index: port.
    Nic = 8,
    /// The progress of a generator resumes. Index: generator.
    Resume = 12,
    /// A persistent connection opens. Index: the first flow that it may carry.
    Connect = 13,
}

/// First number of the timers of transports other than TCP: this number plus the index of the kind
/// in the list of kinds.
pub const FIRST_ENDPOINT: u64 = 16;

/// Number of the timers of ports for which hardware waits, the last of all timers of a host. The engine uses keys from
/// 2^62 on.
pub const LATE_NIC: u64 = (1 << 30) - 1;

/// Returns the key of the timer of a port for which hardware waits.
pub fn late_nic_timer(port: u32) -> u64 {
    LATE_NIC << 32 | u64::from(u32::MAX - port)
}

/// Returns the key of a timer that the host handles.
pub fn host_timer(timer: HostTimer, index: u32) -> u64 {
    (timer as u64) << 32 | u64::from(index)
}

/// Returns the key of a timer of the transport whose kind has this index.
pub fn endpoint_timer(kind: usize, index: u32) -> u64 {
    (FIRST_ENDPOINT + kind as u64) << 32 | u64::from(index)
}
