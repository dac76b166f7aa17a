//! Namespaces that come and go.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tracing::{debug, info, warn};

use super::served::{Change, Served};
use super::{Daemon, FIRST, SECOND, now, settings};
use crate::Failure;
use crate::path_manager::{NAMED, Namespace, endpoints};

impl Daemon {
    /// Serves namespaces that have come, and lets go of those that have gone. What cannot be served is an error at the start, and
    /// tried again later.
    pub(super) fn follow(&mut self, start: bool) -> Result<(), Failure> {
        self.follow = now() + SECOND;
        if self.all_named {
            self.find_named();
        }
        for namespace in 0..self.served.len() {
            match self.served[namespace].follow() {
                Ok(Change::Nothing) => {}
                Ok(Change::Gone) => {
                    info!(namespace = %self.served[namespace].name(), "the namespace has gone");
                    self.connections.forget_namespace(namespace);
                }
                Ok(Change::Came) => {
                    self.connections.forget_namespace(namespace);
                    if let Err(failure) = self.begin(namespace) {
                        if start {
                            return Err(failure);
                        }
                        warn!("{failure}");
                    }
                }
                Err(error) if start && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(Failure::Missing(format!(
                        "{error}: the path manager takes root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for other namespaces)"
                    )));
                }
                Err(error) if start && self.served[namespace].namespace == Namespace::own() => {
                    return Err(Failure::Missing(error.to_string()));
                }
                Err(error) => debug!(%error, "a namespace cannot be served yet"),
            }
            if start && !self.served[namespace].is_open() {
                warn!(namespace = %self.served[namespace].name(), "there is no such namespace yet; it is served when it comes");
            }
        }
        Ok(())
    }

    pub(super) fn serves(&self, namespace: &Namespace) -> bool {
        self.served.iter().any(|served| served.namespace == *namespace)
    }

    /// Names of namespaces that are not known yet take the places of those that have gone.
    pub(super) fn find_named(&mut self) {
        for namespace in Namespace::all_named() {
            if self.serves(&namespace) {
                continue;
            }
            let served = Served::new(namespace);
            match self.served.iter_mut().find(|served| !served.is_open()) {
                Some(gone) => *gone = served,
                None => self.served.push(served),
            }
        }
    }

    /// Changes the settings of a namespace that has come, and takes over its connections.
    pub(super) fn begin(&mut self, namespace: usize) -> Result<(), Failure> {
        let served = &self.served[namespace];
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
        if let Ok(count @ 1..) = endpoints(&served.namespace) {
            warn!(
                namespace = %served.name(),
                count,
                "`ip mptcp endpoint`s are not used while weftd serves; subflows.addresses stands for them"
            );
        }
        if let Some(events) = served.events() {
            let descriptor = events.as_fd().as_raw_fd();
            self.watch(descriptor, FIRST + namespace)
                .map_err(Failure::about("poll"))?;
        }
        let mut told = Vec::new();
        self.resync(namespace, &mut told);
        self.tell(told);
        Ok(())
    }
}

/// Tells when names of namespaces come and go. None where there is no folder for them yet, and then they are looked for.
pub(super) fn names_of_namespaces() -> Option<Inotify> {
    let names = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
    let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MOVED_TO;
    names.add_watch(NAMED, changes).ok()?;
    Some(names)
}
