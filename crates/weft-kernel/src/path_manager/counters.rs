//! The kernel's counters of a namespace, which `nstat` shows as well.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Namespace;

/// Counters of connections for which the kernel gave up MPTCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MptcpCounters {
    /// Times that a SYN with MPTCP was lost and one without it was answered (`MPTcpExtBlackhole`). From then on, the kernel
    /// opens no MPTCP connection for `net.mptcp.blackhole_timeout` (`mptcp_active_disable`).
    pub blackholes: u64,
    /// Connections that were opened without MPTCP for this reason (`MPTcpExtMPCapableSYNTXDisabled`).
    pub plain_connections: u64,
}

/// The open file of the counters.
#[derive(Debug)]
pub struct Counters(File);

impl Counters {
    /// Opens the counters of a namespace.
    ///
    /// # Errors
    /// Returns an error if the namespace cannot be entered or has no counters.
    pub fn open(namespace: &Namespace) -> io::Result<Self> {
        namespace.run_in(|| File::open(FILE)).map(Self)
    }

    /// Reads the counters. A kernel without them has counted nothing.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn read(&self) -> io::Result<MptcpCounters> {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = self.0.read_at(&mut buffer, text.len() as u64)?;
            if length == 0 {
                return Ok(parse(&String::from_utf8_lossy(&text)));
            }
            text.extend(buffer.iter().take(length));
        }
    }
}

/// Parses pairs of lines, the first with names and the second with values.
fn parse(text: &str) -> MptcpCounters {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(PREFIX));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return MptcpCounters::default();
    };
    let mut counters = MptcpCounters::default();
    for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
        let value = value.parse().unwrap_or(0);
        match name {
            "Blackhole" => counters.blackholes = value,
            "MPCapableSYNTXDisabled" => counters.plain_connections = value,
            _ => {}
        }
    }
    counters
}

const FILE: &str = "/proc/thread-self/net/netstat";
const PREFIX: &str = "MPTcpExt:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "TcpExt: Blackhole\nTcpExt: 7\n\
            MPTcpExt: MPCapableSYNRX MPCapableSYNTXDisabled Blackhole Other\nMPTcpExt: 1 1456 2 3\n";
        let expected = MptcpCounters {
            blackholes: 2,
            plain_connections: 1456,
        };
        assert_eq!(parse(text), expected);
        for without in ["", "MPTcpExt: Blackhole\n", "MPTcpExt: Other\nMPTcpExt: 5\n"] {
            assert_eq!(parse(without), MptcpCounters::default(), "{without:?}");
        }
    }

    #[test]
    fn the_kernels_file_can_be_read_again() {
        let counters = Counters::open(&Namespace::current()).unwrap();
        let first = counters.read().unwrap();
        assert!(counters.read().unwrap().plain_connections >= first.plain_connections);
    }
}
