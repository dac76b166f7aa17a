//! Events of the kernel and of the BPF programs, and the commands that follow from them.

use tracing::{debug, info, warn};

use super::namespaces::{addresses_of, events_of};
use super::{ADDRESS_INTERVAL, Daemon, EINVAL, next_poll_time, now};
use crate::Failure;
use weft_kernel::events::{Event, EventKind};
use weft_kernel::path_manager::{Command, CommandBatch, Decision, Refusal, Token, UncoupledReason};

impl Daemon {
    pub(super) fn handle_pm_events(
        &mut self,
        ready: impl Fn(usize) -> bool,
        batches: &mut Vec<CommandBatch>,
    ) {
        for namespace in 0..self.namespaces.len() {
            let token = events_of(namespace);
            let was_unread = self.unread.remove(&token);
            let Some(events) = self.namespaces[namespace]
                .events()
                .filter(|_| was_unread || ready(token))
            else {
                continue;
            };
            let began = now();
            if self.namespaces[namespace].budget.ready_at() > began {
                self.unread.insert(token);
                continue;
            }
            let connections = &mut self.connections;
            let outcome = events.receive(|event| {
                debug!(?event, "kernel");
                connections.on_event(namespace, &event, began, batches);
            });
            self.namespaces[namespace].budget.spend(began, now());
            match outcome {
                Ok(false) => {}
                Ok(true) => {
                    self.unread.insert(token);
                }
                Err(error) => {
                    debug!(namespace = %self.namespaces[namespace].name(), %error, "events were lost; reading all connections");
                    self.metrics.overruns.inc();
                    self.to_resync.insert(namespace);
                    self.unread.insert(token);
                }
            }
        }
    }

    pub(super) fn handle_address_changes(
        &mut self,
        ready: impl Fn(usize) -> bool,
        batches: &mut Vec<CommandBatch>,
    ) {
        for namespace in 0..self.namespaces.len() {
            let token = addresses_of(namespace);
            let was_unread = self.unread.remove(&token);
            let Some(changes) = self.namespaces[namespace].addresses() else {
                continue;
            };
            if was_unread || ready(token) {
                let began = now();
                if self.namespaces[namespace].budget.ready_at() > began {
                    self.unread.insert(token);
                    continue;
                }
                let (any, more) = changes.discard();
                self.namespaces[namespace].budget.spend(began, now());
                if any {
                    self.changed_addresses.insert(namespace);
                }
                if more {
                    self.unread.insert(token);
                }
            }
        }
        let started = now();
        if self.changed_addresses.is_empty() || started < self.next_addresses {
            return;
        }
        for namespace in std::mem::take(&mut self.changed_addresses) {
            self.learn_addresses(namespace, batches);
        }
        self.next_addresses = next_poll_time(started, ADDRESS_INTERVAL);
    }

    pub(super) fn handle_bpf_events(&mut self, batches: &mut Vec<CommandBatch>) -> Result<(), Failure> {
        let events = self
            .bpf_events
            .read()
            .map_err(|error| Failure::Failed(error.to_string()))?;
        let mut decided = Vec::new();
        for event in events {
            debug!(?event, "programs");
            let subflow = (event.local, event.remote);
            match event.kind {
                EventKind::Suppress => self.on_request(&event, true, &mut decided, batches),
                EventKind::Release => self.on_request(&event, false, &mut decided, batches),
                EventKind::BulkThreshold => self.connections.on_bulk(event.token, event.ktime_ns, batches),
                EventKind::Deactivate => {
                    self.read_direction(&event, batches);
                    self.connections
                        .on_active_changed(event.token, subflow, false, batches);
                }
                EventKind::Activate => {
                    self.connections
                        .on_active_changed(event.token, subflow, true, batches);
                }
                EventKind::Failed => self.failed_paths.suspect(event),
                EventKind::NoEcn => self.on_uncoupled(&event, UncoupledReason::NoEcn, batches),
                EventKind::NoSlot => self.on_uncoupled(&event, UncoupledReason::NoSlot, batches),
                EventKind::Joined => self.connections.set_has_bpf_events(event.token, true),
                EventKind::Left => self.connections.set_has_bpf_events(event.token, false),
            }
        }
        self.connections.apply_requests(decided, now(), batches);
        Ok(())
    }

    /// Records a request of the algorithm. `decided` lists the connections with requests, once for requests in a row.
    fn on_request(
        &mut self,
        event: &Event,
        suppress: bool,
        decided: &mut Vec<Token>,
        batches: &mut Vec<CommandBatch>,
    ) {
        if decided.last() != Some(&event.token) {
            if suppress {
                self.read_direction(event, batches);
            }
            decided.push(event.token);
        }
        self.connections
            .on_request(event.token, (event.local, event.remote), suppress, event.ktime_ns);
    }

    fn on_uncoupled(&mut self, event: &Event, why: UncoupledReason, batches: &mut Vec<CommandBatch>) {
        self.connections.on_uncoupled(
            event.token,
            (event.local, event.remote),
            why,
            event.ktime_ns,
            batches,
        );
    }

    /// Sends commands, and keeps account of them.
    pub(super) fn send_commands(&mut self, batches: Vec<CommandBatch>) {
        for CommandBatch {
            namespace,
            commands,
            suppression,
        } in batches
        {
            let sent = self.namespaces[namespace].send(&commands);
            let after = now();
            match sent {
                Ok(refusals) => {
                    self.metrics.refusals.inc_by(refusals.len() as u64);
                    for Refusal { command, error } in refusals {
                        if let Command::SetBackup {
                            token,
                            local,
                            remote,
                            backup,
                        } = command
                        {
                            // As every subflow of a connection that is closing, for some seconds.
                            debug!(?command, %error, "refused by the kernel");
                            self.connections
                                .on_flag_refused(token, (local, remote), backup, after);
                            continue;
                        }
                        if let Command::DestroySubflow { token, local, remote } = command {
                            debug!(?command, %error, "refused by the kernel");
                            self.connections.on_destroy_refused(token, (local, remote), after);
                            continue;
                        }
                        info!(?command, %error, "refused by the kernel");
                        let Command::CreateSubflow {
                            token, local, remote, ..
                        } = command
                        else {
                            continue;
                        };
                        if error.raw_os_error() == Some(EINVAL) {
                            self.connections.on_invalid(token, (local, remote), after);
                        } else {
                            self.connections.on_refused(token, (local, remote), after);
                        }
                    }
                }
                Err(error) => warn!(%error, "commands were not sent"),
            }
            let joins = commands
                .iter()
                .filter(|command| matches!(command, Command::CreateSubflow { .. }));
            self.metrics.joins.inc_by(joins.count() as u64);
            if let Some(Decision { suppress, due }) = suppression {
                let seconds = after.saturating_sub(due) as f64 * 1e-9;
                debug!(suppress, us = seconds * 1e6, "notified");
                self.metrics.observe_decision(seconds);
                if suppress {
                    self.metrics.suppressions.inc();
                } else {
                    self.metrics.releases.inc();
                }
            }
        }
    }
}
