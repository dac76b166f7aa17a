//! Namespaces that come and go.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tracing::{debug, info, warn};

use super::served_namespace::{NamespaceChange, ServedNamespace};
use super::successor::Stage;
use super::{Daemon, FIRST, SECOND, now, settings};
use crate::Failure;
use weft_kernel::path_manager::{CommandBatch, JoinPolicy, NAMED, Namespace, eligible, endpoints, present};
use weft_kernel::programs::scope::Scope;

impl Daemon {
    /// Serves new namespaces and closes those that are gone. A namespace that cannot be served is an error at a start that
    /// [is strict](Stage::is_strict), and is tried again in any other case.
    pub(super) fn sync_namespaces(&mut self, start: Option<Stage>) -> Result<(), Failure> {
        self.next_sync = now() + SECOND;
        let strict = start.is_some_and(Stage::is_strict);
        self.record_inherited_defaults();
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
                        Err(failure) if strict => return Err(failure),
                        Err(failure) => {
                            warn!(namespace = %self.namespaces[namespace].name(), "not served yet: {failure}");
                            // Otherwise the kernel would accept joins without a limit. The next sync tries again.
                            self.namespaces[namespace].close();
                        }
                    }
                }
                Err(error) if strict && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(Failure::Missing(format!(
                        "{error}: the path manager takes root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for other namespaces)"
                    )));
                }
                Err(error) if strict && self.namespaces[namespace].namespace == Namespace::current() => {
                    return Err(Failure::Missing(error.to_string()));
                }
                Err(error) => debug!(%error, "a namespace cannot be served yet"),
            }
            if start.is_some() && !self.namespaces[namespace].is_open() {
                warn!(namespace = %self.namespaces[namespace].name(), "the namespace does not exist yet; it is served once it appears");
            }
        }
        self.report_served();
        if start.is_some() {
            let mut batches = Vec::new();
            self.resync(&mut batches);
            self.send_commands(batches);
        }
        Ok(())
    }

    /// Restores the settings of namespaces that an earlier configuration named and this one does not.
    pub(super) fn leave_unserved(&mut self) {
        let served: Vec<_> = self
            .namespaces
            .iter()
            .map(|served| served.namespace.clone())
            .collect();
        let inodes: BTreeSet<_> = served.iter().filter_map(Namespace::inode).collect();
        let is_served = |namespace: &Namespace| {
            served.contains(namespace) || namespace.inode().is_some_and(|inode| inodes.contains(&inode))
        };
        let (left, wrong) = self.settings.restore_unserved(is_served);
        for namespace in left {
            info!(namespace = %namespace.path().display(), "no longer served; its settings are restored");
        }
        for wrong in wrong {
            warn!("{wrong}");
        }
    }

    /// Makes the programs report events of the namespaces that are served now.
    fn report_served(&mut self) {
        let served: BTreeSet<u32> = self
            .namespaces
            .iter()
            .filter_map(ServedNamespace::inode)
            .collect();
        if self.reported.as_ref() == Some(&served) {
            return;
        }
        match self
            .programs
            .report_only(&served.iter().copied().collect::<Vec<_>>())
        {
            Ok(()) => self.reported = Some(served),
            Err(error) => warn!(%error, "events of namespaces that are not served are reported, too"),
        }
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

    /// Renews defaults of namespaces that are not served. Those of served namespaces are renewed when they are adopted.
    pub(super) fn renew_other_defaults(&self) {
        let others = all_namespaces().filter(|namespace| !self.manages(namespace));
        others.for_each(|namespace| renew_default(&namespace));
    }

    /// Records new namespaces that took over the default that the machine's own namespace has from this daemon.
    fn record_inherited_defaults(&mut self) {
        let names = named();
        for name in names.difference(&self.known_names) {
            let namespace = Namespace::named(name);
            match self.settings.record_inherited(&Namespace::current(), &namespace) {
                Ok(true) => debug!(namespace = %name.display(), "the default is inherited"),
                Ok(false) => {}
                Err(error) => debug!(%error, "a default that may be inherited"),
            }
        }
        self.known_names = names;
    }

    /// Reports defaults that name one of Weft's congestion controls and were not set by this daemon.
    pub(super) fn report_kept_defaults(&self) {
        let mut all: Vec<_> = all_namespaces().collect();
        for served in &self.namespaces {
            if !all.contains(&served.namespace) {
                all.push(served.namespace.clone());
            }
        }
        for namespace in &all {
            if let Some(default) = settings::default_of(namespace) {
                warn!(
                    namespace = %namespace.path().display(),
                    "the default stays {default}, which weftd has not set; new sockets use the program of the stopped weftd until \
                     {} changes",
                    settings::DEFAULT
                );
            }
        }
    }

    pub(super) fn manages(&self, namespace: &Namespace) -> bool {
        self.namespaces
            .iter()
            .any(|served| served.namespace == *namespace)
    }

    /// Reuses the slots of namespaces that no longer exist for names that are new.
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
        let default = self.default.as_deref();
        let default = default.map(|name| (settings::DEFAULT, name));
        let own = [
            settings::path_manager(&served.namespace),
            ("net.mptcp.stale_loss_cnt", &self.stale_timeouts),
        ];
        for (key, value) in own.into_iter().chain(default) {
            let changed = self.settings.change(&served.namespace, key, value);
            if changed.map_err(Failure::about(key))? {
                info!(namespace = %served.name(), key, value, "setting changed");
            }
        }
        if default.is_none() {
            renew_default(&served.namespace);
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

/// The daemon's own namespace and all that have a name.
fn all_namespaces() -> impl Iterator<Item = Namespace> {
    std::iter::once(Namespace::current()).chain(Namespace::all_named())
}

/// The paths of all namespaces that have a name and can be entered already: a name exists before its namespace.
pub(super) fn named() -> BTreeSet<PathBuf> {
    let all = Namespace::all_named().into_iter();
    let all = all.filter(|namespace| !namespace.is_placeholder());
    all.map(|namespace| namespace.path().to_owned()).collect()
}

/// Renews the default of a namespace, so that new sockets do not use the program of an earlier process.
fn renew_default(namespace: &Namespace) {
    let name = namespace.path().display();
    match settings::renew_default(namespace) {
        Ok(Some(default)) => debug!(namespace = %name, default, "the default is renewed"),
        Ok(None) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => debug!(%error, "a default stays"),
        Err(error) => warn!(
            namespace = %name,
            "the default stays an algorithm of an earlier weftd: {error}; add it to congestion.algorithms, or set another default"
        ),
    }
}

/// Places of a namespace among what is waited for.
pub(super) fn events_of(namespace: usize) -> usize {
    FIRST + 2 * namespace
}

pub(super) fn addresses_of(namespace: usize) -> usize {
    FIRST + 2 * namespace + 1
}

/// The namespace of such a place.
pub(super) fn namespace_of(token: usize) -> usize {
    token.saturating_sub(FIRST) / 2
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
