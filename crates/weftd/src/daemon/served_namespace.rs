//! A network namespace that the daemon serves.

use std::io;
use std::path::{Display, Path};

use super::blackholes::Blackholes;
use super::budget::Budget;
use crate::status::{ConnectionStatus, NamespaceStatus, SubflowStatus, WindowStatus};
use weft_kernel::path_manager::{
    AddressChanges, Command, Commands, Connection, Counters, DiagSubflow, Events, FourTuple, Namespace,
    Refusal, Token, UncoupledReason, mptcp_subflows, open, sockets,
};
use weft_kernel::programs::{ConnectionStats, Subflow as Window};

/// A namespace, whether it is there or not.
pub(super) struct ServedNamespace {
    pub namespace: Namespace,
    /// Time that events of its sockets take.
    pub budget: Budget,
    open: Option<OpenSockets>,
}

struct OpenSockets {
    identity: (u64, u64),
    inode: Option<u64>,
    commands: Commands,
    events: Events,
    /// `None` if all subflows have the addresses of the first one.
    addresses: Option<AddressChanges>,
    /// `None` if the kernel has no file of counters.
    counters: Option<Counters>,
    blackholes: Blackholes,
}

/// The change of a namespace since the last sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamespaceChange {
    Unchanged,
    Removed,
    /// The namespace exists now; it may have replaced another one.
    Added,
}

impl ServedNamespace {
    pub fn new(namespace: Namespace) -> Self {
        Self {
            namespace,
            budget: Budget::default(),
            open: None,
        }
    }

    /// Opens the namespace if it exists now, and closes it if it no longer exists. With `addresses`, changes of addresses are
    /// reported as well.
    pub fn sync(&mut self, addresses: bool) -> io::Result<NamespaceChange> {
        let identity = self.namespace.identity();
        if self.open.as_ref().map(|open| open.identity) == identity {
            return Ok(NamespaceChange::Unchanged);
        }
        let gone = if self.open.take().is_some() {
            NamespaceChange::Removed
        } else {
            NamespaceChange::Unchanged
        };
        let Some(identity) = identity else {
            return Ok(gone);
        };
        let (commands, events) = open(&self.namespace)?;
        let watch = || AddressChanges::watch(&self.namespace);
        let addresses = addresses.then(watch).transpose()?;
        let counters = Counters::open(&self.namespace).ok();
        let counted = counters.as_ref().and_then(|counters| counters.read().ok());
        self.open = Some(OpenSockets {
            identity,
            inode: self.namespace.inode(),
            commands,
            events,
            addresses,
            counters,
            blackholes: Blackholes::new(counted.unwrap_or_default()),
        });
        Ok(NamespaceChange::Added)
    }

    /// Closes its sockets, so that the next sync opens them again.
    pub fn close(&mut self) {
        self.open = None;
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The number by which the programs know it, if it is there.
    pub fn inode(&self) -> Option<u32> {
        u32::try_from(self.open.as_ref()?.inode?).ok()
    }

    pub fn name(&self) -> Display<'_> {
        self.namespace.path().display()
    }

    pub fn events(&self) -> Option<&Events> {
        self.open.as_ref().map(|open| &open.events)
    }

    pub fn addresses(&self) -> Option<&AddressChanges> {
        self.open.as_ref()?.addresses.as_ref()
    }

    /// The kernel's counters, and the detections of blackholes that follow from them.
    pub fn counters(&mut self) -> Option<(&Counters, &mut Blackholes)> {
        let open = self.open.as_mut()?;
        Some((open.counters.as_ref()?, &mut open.blackholes))
    }

    /// The namespace for the status.
    pub fn status(&self) -> NamespaceStatus {
        let blackholes = self.open.as_ref().map(|open| open.blackholes).unwrap_or_default();
        NamespaceStatus {
            name: self.name().to_string(),
            served: self.is_open(),
            blackholes: blackholes.detected,
            plain_connections: blackholes.plain_connections,
        }
    }

    pub fn send(&self, commands: &[Command]) -> io::Result<Vec<Refusal>> {
        match &self.open {
            Some(open) => open.commands.send(commands),
            None => Ok(Vec::new()),
        }
    }

    /// The ends of all that may have a window. None of one that is not there.
    pub fn sockets(&self) -> io::Result<Vec<FourTuple>> {
        match &self.open {
            Some(_) => sockets(&self.namespace),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the MPTCP subflows; none if the namespace does not exist.
    pub fn mptcp_subflows(&self) -> io::Result<Vec<DiagSubflow>> {
        match &self.open {
            Some(_) => mptcp_subflows(&self.namespace),
            None => Ok(Vec::new()),
        }
    }
}

/// Why not all subflows of a connection are coupled, if they are not.
fn why_uncoupled(
    connection: &Connection,
    windows: Option<&ConnectionStats>,
    seen: &[&DiagSubflow],
) -> Option<String> {
    if let Some(why) = connection.uncoupled {
        let why = match why {
            UncoupledReason::NoEcn => {
                "no ECN: the other end refused it, or the algorithm was chosen after connect"
            }
            UncoupledReason::NoSlot => "no free slot: congestion.max_connections connections were open",
        };
        return Some(why.to_owned());
    }
    let coupled = |seen: &&DiagSubflow| {
        let window = windows.and_then(|windows| window_of(windows, seen.subflow.four_tuple()));
        window.is_some()
    };
    let first = seen.iter().find(|seen| !coupled(seen))?;
    Some(match first.congestion.as_str() {
        ours if ours.starts_with("weft_") => format!("{ours} of an earlier weftd, whose maps are gone"),
        "reno" => "reno: chosen, or no slot was free, or no ECN".to_owned(),
        other => format!("its congestion control is {other}"),
    })
}

fn window_of(windows: &ConnectionStats, four_tuple: FourTuple) -> Option<&Window> {
    windows
        .subflows
        .iter()
        .find(|window| (window.local, window.remote) == four_tuple)
}

/// A connection for the status.
pub(super) fn connection_status(
    token: Token,
    connection: &Connection,
    namespace: &Path,
    windows: Option<&ConnectionStats>,
    seen: &[&DiagSubflow],
) -> ConnectionStatus {
    let congestion = |four_tuple| {
        let seen = seen.iter().find(|seen| seen.subflow.four_tuple() == four_tuple);
        seen.map_or(String::new(), |seen| seen.congestion.clone())
    };
    ConnectionStatus {
        token,
        namespace: namespace.display().to_string(),
        role: if connection.server { "server" } else { "client" }.to_owned(),
        algorithm: windows.map(|windows| windows.algorithm.kernel().to_owned()),
        uncoupled: why_uncoupled(connection, windows, seen),
        suppressed: connection.is_suppressed(),
        suppressions: windows.map_or(0, |windows| windows.suppressions),
        releases: windows.map_or(0, |windows| windows.releases),
        subflows: connection
            .subflows
            .iter()
            .map(|subflow| SubflowStatus {
                local: subflow.local,
                remote: subflow.remote,
                backup: subflow.backup,
                congestion: congestion(subflow.four_tuple()),
                window: windows
                    .and_then(|windows| window_of(windows, subflow.four_tuple()))
                    .map(|window| WindowStatus {
                        active: window.active,
                        cwnd: window.cwnd,
                        ssthresh: Some(window.ssthresh).filter(|ssthresh| ssthresh.is_finite()),
                        srtt_us: window.srtt * 1e6,
                        acked: window.acked,
                        marked: window.marked,
                        marks: window.marks,
                        fast_retransmits: window.fast_retransmits,
                        timeouts: window.timeouts,
                    }),
            })
            .collect(),
    }
}
