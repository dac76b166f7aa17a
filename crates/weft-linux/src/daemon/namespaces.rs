//! Namespaces that come and go.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tracing::{debug, info, warn};

use super::served_namespace::{NamespaceChange, ServedNamespace};
use super::{Daemon, FIRST, SECOND, now, settings};
use crate::Failure;
use crate::path_manager::{CommandBatch, JoinPolicy, NAMED, Namespace, eligible, endpoints, present};
use crate::programs::scope::Scope;

impl Daemon {
    /// Serves namespaces that have come, and lets go of those that have gone. A namespace that cannot be served is an error at the start, and
    /// tried again later.
    pub(super) fn sync_namespaces(&mut self, start: bool) -> Result<(), Failure> {
        self.next_sync = now() + SECOND;
        if let Some(Err(error)) = self.scope.as_mut().map(Scope::follow) {
            warn!(%error, "rules are not renewed");
        }
        if self.all_named {
            self.scan_named();
        }
        let addresses = self.connections.joins().policy == JoinPolicy::Fullmesh;
        for namespace in 0..self.namespaces.len() {
            match self.namespaces[namespace].sync(addresses) {
                Ok(NamespaceChange::Unchanged) => {}
                Ok(NamespaceChange::Removed) => {
                    info!(namespace = %self.namespaces[namespace].name(), "the namespace has gone");
                    self.metrics
                        .forget_namespace(&self.namespaces[namespace].name().to_string());
                    self.connections.forget_namespace(namespace);
                }
                Ok(NamespaceChange::Added) => {
                    self.connections.forget_namespace(namespace);
                    match self.adopt_namespace(namespace) {
                        Ok(()) => {
                            self.to_resync.insert(namespace);
                        }
                        Err(failure) if start => return Err(failure),
                        Err(failure) => {
                            warn!(namespace = %self.namespaces[namespace].name(), "not served yet: {failure}");
                            // Otherwise the kernel would accept joins without a limit. The next sync tries again.
                            self.namespaces[namespace].close();
                        }
                    }
                }
                Err(error) if start && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(Failure::Missing(format!(
                        "{error}: the path manager takes root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for other namespaces)"
                    )));
                }
                Err(error) if start && self.namespaces[namespace].namespace == Namespace::current() => {
                    return Err(Failure::Missing(error.to_string()));
                }
                Err(error) => debug!(%error, "a namespace cannot be served yet"),
            }
            if start && !self.namespaces[namespace].is_open() {
                warn!(namespace = %self.namespaces[namespace].name(), "the namespace does not exist yet; it is served once it appears");
            }
        }
        if start {
            let mut batches = Vec::new();
            self.resync(&mut batches);
            self.send_commands(batches);
        }
        Ok(())
    }

    /// Looks up the addresses of a namespace, if they matter.
    pub(super) fn learn_addresses(&mut self, namespace: usize, batches: &mut Vec<CommandBatch>) {
        let served = &self.namespaces[namespace];
        if served.addresses().is_none() {
            return;
        }
        let there =
            present(&served.namespace).and_then(|present| Ok((present, endpoints(&served.namespace)?)));
        match there {
            Ok((present, endpoints)) => {
                let addresses = eligible(&present, &self.connections.joins().addresses, &endpoints);
                debug!(namespace = %served.name(), ?addresses, "addresses");
                self.connections
                    .on_addresses(namespace, addresses, &present, now(), batches);
            }
            Err(error) => warn!(namespace = %served.name(), %error, "cannot look up addresses"),
        }
    }

    pub(super) fn manages(&self, namespace: &Namespace) -> bool {
        self.namespaces
            .iter()
            .any(|served| served.namespace == *namespace)
    }

    /// Names of namespaces that are not known yet take the places of those that have gone.
    pub(super) fn scan_named(&mut self) {
        for namespace in Namespace::all_named() {
            if self.manages(&namespace) {
                continue;
            }
            let served = ServedNamespace::new(namespace);
            match self.namespaces.iter_mut().find(|served| !served.is_open()) {
                Some(gone) => *gone = served,
                None => self.namespaces.push(served),
            }
        }
    }

    /// Changes the settings of a namespace that has come, and takes over its connections.
    pub(super) fn adopt_namespace(&mut self, namespace: usize) -> Result<(), Failure> {
        let served = &self.namespaces[namespace];
        // A SYN that is sent again asks for ECN again.
        let settings = [("net.mptcp.pm_type", "1"), ("net.ipv4.tcp_ecn_fallback", "0")];
        let default = self.default.as_deref();
        let default = default.map(|name| (settings::DEFAULT, name));
        for (key, value) in settings.into_iter().chain(default) {
            let changed = self.settings.change(&served.namespace, key, value);
            if changed.map_err(Failure::about(key))? {
                info!(namespace = %served.name(), key, value, "setting changed");
            }
        }
        if served.addresses().is_none()
            && let Ok(endpoints) = endpoints(&served.namespace)
            && !endpoints.is_empty()
        {
            warn!(
                namespace = %served.name(),
                count = endpoints.len(),
                "`ip mptcp endpoint`s are not used while weftd serves, unless subflows.policy is \"fullmesh\""
            );
        }
        let events = served
            .events()
            .map(|events| (events.as_fd().as_raw_fd(), events_of(namespace)));
        let addresses = served.addresses();
        let addresses = addresses.map(|changes| (changes.as_fd().as_raw_fd(), addresses_of(namespace)));
        for (descriptor, token) in events.into_iter().chain(addresses) {
            self.register(descriptor, token).map_err(Failure::about("poll"))?;
        }
        let mut batches = Vec::new();
        self.learn_addresses(namespace, &mut batches);
        self.send_commands(batches);
        Ok(())
    }
}

/// Places of a namespace among what is waited for.
pub(super) fn events_of(namespace: usize) -> usize {
    FIRST + 2 * namespace
}

pub(super) fn addresses_of(namespace: usize) -> usize {
    FIRST + 2 * namespace + 1
}

/// Readable when names of namespaces come and go, and cgroups in these folders. None where there is no folder for them yet; then
/// they are looked for.
pub(super) fn names_of_namespaces(cgroups: impl Iterator<Item = PathBuf>) -> Option<Inotify> {
    let names = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
    let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MOVED_TO;
    let all = std::iter::once(PathBuf::from(NAMED)).chain(cgroups);
    let watched = all
        .filter(|folder| names.add_watch(folder, changes).is_ok())
        .count();
    (watched > 0).then_some(names)
}
