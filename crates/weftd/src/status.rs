//! The state of the daemon, as `weftd status` shows it.

use std::fmt;
use std::io::{self, BufWriter, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::daemon::blackholes::RESET;

/// A daemon and its connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's process.
    pub process: u32,
    /// Seconds since it started.
    pub uptime_s: f64,
    /// Registered congestion controls.
    pub algorithms: Vec<String>,
    /// Connections in the programs' map, TCP's included.
    pub entries: usize,
    /// Namespaces that are configured or have been found by name.
    #[serde(default)]
    pub namespaces: Vec<NamespaceStatus>,
    /// Seconds since the start of a reload's trial, if the successor does not answer by itself yet. Only the process number
    /// is known then.
    #[serde(default)]
    pub trial_s: Option<f64>,
    /// Settings on which the doctor's advice depends.
    #[serde(default)]
    pub settings: StatusSettings,
    /// All connections.
    pub connections: Vec<ConnectionStatus>,
    /// Times from a decision of an algorithm until the kernel has been notified.
    pub decisions: Decisions,
}

/// Settings of a daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSettings {
    /// True if all subflows of a connection have the addresses of the first one.
    pub one_address_pair: bool,
    /// Whether sockets of every user may choose the algorithms.
    pub unprivileged: bool,
    /// Address of the metrics, if they are served.
    pub metrics: Option<SocketAddr>,
}

/// A network namespace that the daemon manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceStatus {
    /// Path of the namespace; empty for the daemon's own.
    pub name: String,
    /// Whether the namespace exists and is served.
    pub served: bool,
    /// Number of times that the kernel has switched MPTCP off for new connections since the daemon manages the namespace.
    pub blackholes: u64,
    /// Number of connections that were opened without MPTCP in the meantime.
    pub plain_connections: u64,
}

/// Times from a decision until the kernel has been notified, of the last thousand decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decisions {
    /// Number of decisions since the daemon started.
    pub count: u64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// MPTCP's token.
    pub token: u32,
    /// Network namespace of the connection; empty for the daemon's own.
    pub namespace: String,
    /// `"client"` or `"server"`.
    pub role: String,
    /// The algorithm of weftd that couples the subflows, if there is one.
    pub algorithm: Option<String>,
    /// The reason why not all subflows are coupled.
    pub uncoupled: Option<String>,
    /// Whether the kernel has been notified to suppress all subflows but one.
    pub suppressed: bool,
    /// Number of suppressions that the algorithm decided.
    pub suppressions: u64,
    /// Number of releases that the algorithm decided.
    pub releases: u64,
    /// Subflows of the connection, the oldest first.
    pub subflows: Vec<SubflowStatus>,
}

/// A subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubflowStatus {
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Whether the subflow is flagged as backup.
    pub backup: bool,
    /// Congestion control of the subflow, as the kernel names it.
    pub congestion: String,
    /// The state of the congestion control, if it is a program of weftd.
    pub window: Option<WindowStatus>,
}

/// A subflow's window and what has happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowStatus {
    /// Whether the algorithm lets the subflow carry new data.
    pub active: bool,
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Slow-start threshold, packets; none before the first cut.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time, microseconds.
    pub srtt_us: f64,
    /// Packets acknowledged.
    pub acked: u64,
    /// Of those, reported as marked.
    pub marked: u64,
    /// Cuts by marks.
    pub marks: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
}

/// Listens where `weftd status` asks; root only.
///
/// # Errors
/// The socket cannot be made.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Only root can use the folder, so no other user connects between bind and chmod.
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers one caller, within a time limit. The text is never in memory as a whole: with 10,000 connections that cost 20 MB, which
/// the C library kept.
pub fn answer(stream: &UnixStream, status: &Status) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut out = BufWriter::new(stream);
    serde_json::to_writer(&mut out, status)?;
    out.flush()
}

/// Asks the daemon that listens at `path`.
///
/// # Errors
/// [`Failure::Failed`]: none runs; [`Failure::Missing`]: not allowed.
pub fn ask(path: &Path) -> Result<Status, Failure> {
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::Missing(format!(
            "{}: {error}; only root may read the status",
            path.display()
        )),
        _ => Failure::Failed(format!("no weftd runs: {}: {error}", path.display())),
    })?;
    let mut text = String::new();
    stream
        .set_read_timeout(Some(CLIENT_TIMEOUT))
        .and_then(|()| stream.read_to_string(&mut text))
        .map_err(Failure::about(path.display()))?;
    if text.is_empty() {
        return Err(Failure::Failed(
            "weftd answers other callers; try again".to_owned(),
        ));
    }
    serde_json::from_str(&text).map_err(Failure::about("weftd's answer"))
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decisions {
            count,
            p50_us,
            p99_us,
        } = self.decisions;
        if let Some(seconds) = self.trial_s {
            return writeln!(
                f,
                "weftd {}: its successor has been on trial for {seconds:.0} s and does not answer yet",
                self.process
            );
        }
        writeln!(f, "weftd {} up {:.0} s", self.process, self.uptime_s)?;
        writeln!(f, "algorithms  {}", self.algorithms.join(" "))?;
        if count > 0 {
            writeln!(
                f,
                "decisions   {count}, kernel notified after {p50_us:.0} us (median), {p99_us:.0} us (99 %)"
            )?;
        }
        for namespace in &self.namespaces {
            namespace.write_problems(f)?;
        }
        writeln!(f, "connections {}", self.connections.len())?;
        for connection in &self.connections {
            let namespace = match connection.namespace.as_str() {
                "" => String::new(),
                name => format!(" in {name}"),
            };
            writeln!(
                f,
                "\n{:08x} {} {}{namespace}{}, {} suppressions, {} releases",
                connection.token,
                connection.role,
                connection.algorithm.as_deref().unwrap_or("not coupled"),
                if connection.suppressed { ", SUPPRESSED" } else { "" },
                connection.suppressions,
                connection.releases,
            )?;
            if let Some(why) = &connection.uncoupled {
                writeln!(f, "  not coupled: {why}")?;
            }
            for subflow in &connection.subflows {
                write!(f, "  {} -> {}", subflow.local, subflow.remote)?;
                if let Some(window) = subflow.window {
                    write!(
                        f,
                        "  cwnd {:.1}  srtt {:.0} us  acked {}  marked {}  cuts {}  lost {}+{}",
                        window.cwnd,
                        window.srtt_us,
                        window.acked,
                        window.marked,
                        window.marks,
                        window.fast_retransmits,
                        window.timeouts,
                    )?;
                }
                writeln!(f, "{}", if subflow.backup { "  backup" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl NamespaceStatus {
    fn write_problems(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.blackholes == 0 && self.plain_connections == 0 {
            return Ok(());
        }
        let name = match self.name.as_str() {
            "" => "weftd's own",
            name => name,
        };
        writeln!(
            f,
            "blackholes  {} in {name}, {} connections without MPTCP: {RESET}",
            self.blackholes, self.plain_connections
        )
    }
}

/// Connections, a line each, as `weftd list` shows them.
pub struct List<'a>(pub &'a Status);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for namespace in &self.0.namespaces {
            namespace.write_problems(f)?;
        }
        writeln!(
            f,
            "{:8}  {:6}  {:12}  {:>8}  {:10}  {:24}  PEER",
            "TOKEN", "ROLE", "ALGORITHM", "SUBFLOWS", "STATE", "NAMESPACE"
        )?;
        for connection in &self.0.connections {
            let state = match (&connection.uncoupled, connection.suppressed) {
                (Some(_), _) => "uncoupled",
                (None, true) => "suppressed",
                (None, false) => "active",
            };
            let first = connection.subflows.first();
            writeln!(
                f,
                "{:08x}  {:6}  {:12}  {:8}  {state:10}  {:24}  {}",
                connection.token,
                connection.role,
                connection.algorithm.as_deref().unwrap_or("-"),
                connection.subflows.len(),
                if connection.namespace.is_empty() {
                    "-"
                } else {
                    &connection.namespace
                },
                first.map_or("-".to_owned(), |first| first.remote.to_string()),
            )?;
        }
        Ok(())
    }
}

/// Maximum time for the process at the other end of the local socket.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
