//! A network namespace that the daemon serves.

use std::io;
use std::path::{Display, Path};

use crate::Failure;
use crate::path_manager::{Commands, Connection, Events, Namespace, Seen, Token, census, open};
use crate::programs::ConnectionStats;
use crate::status::{ConnectionStatus, SubflowStatus, WindowStatus};

pub(super) struct Served {
    pub namespace: Namespace,
    pub commands: Commands,
    pub events: Events,
}

impl Served {
    pub fn open(namespace: Namespace) -> Result<Self, Failure> {
        let (commands, events) = open(&namespace).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Failure::Missing(format!(
                "{error}: the path manager takes root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for other namespaces)"
            )),
            _ => Failure::Missing(error.to_string()),
        })?;
        Ok(Self {
            namespace,
            commands,
            events,
        })
    }

    pub fn name(&self) -> Display<'_> {
        self.namespace.path().display()
    }

    pub fn census(&self) -> io::Result<Vec<Seen>> {
        census(&self.namespace)
    }
}

/// A connection for the status.
pub(super) fn describe(
    token: Token,
    connection: &Connection,
    namespace: &Path,
    windows: Option<&ConnectionStats>,
) -> ConnectionStatus {
    ConnectionStatus {
        token,
        namespace: namespace.display().to_string(),
        role: if connection.server { "server" } else { "client" }.to_owned(),
        algorithm: windows.map(|windows| windows.algorithm.kernel().to_owned()),
        suppressed: connection.suppressed,
        suppressions: windows.map_or(0, |windows| windows.suppressions),
        releases: windows.map_or(0, |windows| windows.releases),
        subflows: connection
            .subflows
            .iter()
            .map(|subflow| SubflowStatus {
                local: subflow.local,
                remote: subflow.remote,
                backup: subflow.backup,
                window: windows
                    .and_then(|windows| {
                        windows
                            .subflows
                            .iter()
                            .find(|window| (window.local, window.remote) == subflow.ends())
                    })
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
