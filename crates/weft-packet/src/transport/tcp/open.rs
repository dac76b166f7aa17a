//! Opening of a connection and its subflows: SYNs, their answers, the state that they establish, and
//! additional subflows that join (RFC 8684, section 3.2).

use std::sync::Arc;

use weft_cc::{CongestionControl, Window};
use weft_paths::{SubflowDirection, draw};
use weft_transports::Profile;

use crate::packet::{DATA, Packet, class_flags};
use crate::transport::nic::NicFlow;
use crate::transport::state::HostContext;

use super::congestion::Congestion;
use super::connection::{ConnectionSender, JoinSchedule, Lifetime, Rotation, SendOptions};
use super::endpoint::{TcpEndpoint, insert};
use super::path::{PathSelector, SubflowPath};
use super::receiver::{ConnectionReceiver, SubflowReceiver};
use super::rtt::RttEstimator;
use super::scatter_phase::{join_after, raise_dupack_threshold};
use super::send_data::{ReinjectQueue, SendData, max_outstanding};
use super::send_queues::SendQueues;
use super::subflow::{BlockReasons, SubflowSender};
use super::timers::{TcpTimer, timer_key};
use super::{INDEX, wire};

impl TcpEndpoint {
    /// Opens a persistent connection, which has no data yet, unless it is open.
    pub(super) fn open_persistent(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        if !self.sends(flow) {
            self.open_connection(flow, cx);
        }
    }

    /// Hands the data of a flow to the persistent connection that carries it.
    pub(super) fn append_to(&mut self, connection: u32, flow: u32, cx: &mut HostContext<'_, '_>) {
        self.open_persistent(connection, cx);
        let bytes = self.shared.flow(flow).size.map_or(0, |size| size.0);
        let index = self.slots.senders[&connection];
        self.connections[index as usize].data.append(flow, bytes, cx.now);
        self.send_written(index, cx);
    }

    /// Opens the connection of a flow: sends the SYN of subflow 0. The initial window is a setting
    /// (RFC 5681, section 3.1, has two to four segments).
    pub(super) fn open_connection(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let shared = &self.shared;
        let spec = shared.flow(flow);
        let transport = &shared.transports[spec.transport as usize];
        let tcp = shared.tcp(spec.transport);
        let profile = &tcp.profile;
        let reused = self.free_slots.take_run(tcp.subflows);
        let first = reused.unwrap_or(self.subflows.len() as u32);
        let slots = first..first + tcp.subflows;
        for slot in slots.filter(|_| reused.is_some()) {
            cx.host.nics.forget_credit(NicFlow {
                kind: INDEX as u32,
                index: slot,
            });
        }
        let is_persistent = shared.connection_of(flow).is_some();
        let (mss, outstanding) = (
            profile.sizes.mss,
            max_outstanding(&profile.connection, tcp.subflows),
        );
        let connection = ConnectionSender {
            flow,
            transport: spec.transport,
            first_subflow: first,
            congestion: Congestion::new(
                tcp.cc.clone(),
                Window {
                    paced: profile.window.pacing,
                    ..Window::new(profile.window.initial_cwnd, profile.window.initial_ssthresh)
                },
                tcp.subflows,
                profile.window.slow_start_after_idle,
            ),
            data: if is_persistent {
                SendData::of_messages(mss, outstanding)
            } else {
                SendData::new(
                    spec.size.map(|size| size.0),
                    mss,
                    outstanding,
                    spec.rate.is_none(),
                )
            },
            joins: JoinSchedule::new(join_at(
                join_after(tcp, transport.mode()).0,
                profile.sizes.mss,
                profile.joins.confirmed_joins,
            )),
            reinject: ReinjectQueue::default(),
            send_queues: tcp
                .uses_send_queues()
                .then(|| {
                    SendQueues::new(
                        tcp.subflows,
                        tcp.cc.extra_sndbuf_bursts(),
                        profile.sizes.mss,
                        profile.connection.send_buffer,
                    )
                })
                .map(Box::new),
            rotation: Rotation::default(),
            lifetime: Lifetime::new(cx.now, profile.handshake.full_handshakes && !is_persistent),
            options: SendOptions {
                data_flags: DATA | class_flags(transport.class),
                paced: profile.window.pacing,
                sets_push: profile.acks.ack_pushed,
                traced: false,
            },
        };
        let index = insert(
            &mut self.connections,
            &mut self.free_slots.connections,
            connection,
        );
        self.add_subflows(index, first, flow);
        self.slots.senders.insert(flow, index);
        let connection = &mut self.connections[index as usize];
        let traced = cx.attach_probes(flow, connection.windows());
        connection.set_traced(traced);
        self.start_path_monitor(index, cx);
        self.send_syn(first, cx);
        if self.shared.flow(flow).rate.is_some() {
            self.on_application_write(flow, cx);
        }
    }

    /// Adds the senders of a connection's subflows from slot `first` on.
    fn add_subflows(&mut self, connection: u32, first: u32, flow: u32) {
        let shared = &self.shared;
        let spec = shared.flow(flow);
        let tcp = shared.tcp(spec.transport);
        let mode = shared.transports[spec.transport as usize].mode();
        let nodes = &shared.fabric.hosts;
        let (from, to) = (nodes[self.index as usize], nodes[spec.to as usize]);
        for s in 0..tcp.subflows {
            // Whether routes fit was checked when the run was set up.
            let direction = SubflowDirection {
                flow: spec.id,
                subflow: s,
                subflows: tcp.subflows,
                reverse: false,
            };
            let route = shared
                .route(spec.transport, direction, from, to)
                .unwrap_or_default();
            let selector = PathSelector::new(shared, spec.transport, direction, from, to);
            let path = SubflowPath::new(route, selector);
            let mut subflow = SubflowSender::new(connection, s, path, &tcp.profile);
            if let Some(paths) = subflow.path.paths() {
                raise_dupack_threshold(&mut subflow, (tcp, mode), paths, direction);
            }
            match self.subflows.get_mut((first + s) as usize) {
                Some(slot) => *slot = subflow,
                None => self.subflows.push(subflow),
            }
        }
    }

    /// Sends or retransmits a subflow's SYN.
    pub(super) fn send_syn(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let connection = &self.connections[subflow.connection() as usize];
        if connection.lifetime.is_finished() {
            return;
        }
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        let profile = &tcp.profile;
        subflow.on_syn_sent(cx.now);
        subflow.arm(slot, cx);
        cx.send(&Packet {
            route: subflow.path.route(),
            slot,
            seq: subflow.path.switches_for_peer(),
            chunk: subflow.stats().syn_timeouts as u32,
            ..wire::control(
                wire::SYN,
                (connection.flow, subflow.index()),
                transport.class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles a SYN: a subflow is opened, or its SYN/ACK was late or lost.
    pub(super) fn on_syn(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let (flow, index) = (packet.lo, packet.hi);
        let shared = Arc::clone(&self.shared);
        let spec = shared.flow(flow);
        let transport = &shared.transports[spec.transport as usize];
        let tcp = shared.tcp(spec.transport);
        let profile = &tcp.profile;
        let connection = if let Some(&known) = self.slots.receivers.get(&flow) {
            known
        } else {
            let new = if shared.connection_of(flow).is_some() {
                let notify_at = cx.host.track_receiver(flow, u64::MAX);
                ConnectionReceiver::of_messages(flow, spec.transport, notify_at)
            } else {
                let notify_at = cx.host.track_receiver(flow, shared.notify_at(flow, &spec));
                ConnectionReceiver::new(flow, spec.transport, notify_at)
            };
            let slot = insert(
                &mut self.connection_receivers,
                &mut self.free_slots.connection_receivers,
                new,
            );
            self.slots.receivers.insert(flow, slot);
            slot
        };
        let (receivers, free) = (
            &mut self.subflow_receivers,
            &mut self.free_slots.subflow_receivers,
        );
        let receiver = *self
            .slots
            .subflow_receivers
            .entry((flow, index))
            .or_insert_with(|| {
                let nodes = &shared.fabric.hosts;
                let (here, there) = (nodes[self.index as usize], nodes[spec.from as usize]);
                let direction = SubflowDirection {
                    flow: spec.id,
                    subflow: index,
                    subflows: tcp.subflows,
                    reverse: true,
                };
                let path = SubflowPath::new(
                    shared
                        .route(spec.transport, direction, here, there)
                        .unwrap_or_default(),
                    PathSelector::new(&shared, spec.transport, direction, here, there),
                );
                let echo = tcp.cc.echo();
                let mut new =
                    SubflowReceiver::new(connection, packet.slot, path, echo, transport.ack_class, profile);
                if packet.seq != 0 {
                    new.path.switch_to(packet.seq.into());
                }
                insert(receivers, free, new)
            });
        cx.send(&Packet {
            route: self.subflow_receivers[receiver as usize].path.route(),
            slot: packet.slot,
            seq: receiver,
            chunk: packet.chunk,
            ..wire::control(
                wire::SYN_ACK,
                (flow, index),
                transport.ack_class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles a SYN/ACK. Its number shows which SYN it answers, as a timestamp would; without
    /// timestamps, an answer to a retransmitted SYN gives no RTT sample (Karn). "If the SYN or
    /// SYN/ACK is lost, the initial window [...] MUST be one segment" (RFC 5681, section 3.1);
    /// Linux allows for one loss, and for a late answer to the first SYN (`tcp_init_transfer`,
    /// `tcp_try_undo_spurious_syn`).
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        if !subflow.state.is_syn_sent() {
            return;
        }
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let s = subflow.index() as usize;
        subflow.set_peer(packet.seq);
        let timeouts = subflow.stats().syn_timeouts;
        if profile.handshake.sample_handshake_rtt && (profile.options.timestamps || timeouts == 0) {
            subflow.rtt.sample(
                cx.now - syn_sent_at(subflow, packet.chunk.into(), profile),
                &subflow.seq,
            );
            let rtt = subflow.rtt.srtt() as f64 * 1e-12;
            connection.congestion.set_rtt(s, rtt, rtt);
        }
        if timeouts > 1 && !(profile.options.timestamps && packet.chunk == 0) {
            connection.congestion.limit_to_one_packet(s);
        }
        if s > 0 && profile.joins.confirmed_joins {
            self.send_join_ack(packet.slot, cx);
        } else {
            self.establish(packet.slot, cx);
        }
    }

    /// Marks a subflow as established: it may carry data. After subflow 0, the others join.
    pub(super) fn establish(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let full_handshakes = profile.handshake.full_handshakes;
        let s = subflow.index() as usize;
        subflow.timer.stop();
        subflow.on_established(cx.now);
        connection.congestion.open(s);
        connection.record_suppression(cx.now);
        connection.rotation.set_checks_all(true);
        let is_joining = connection.congestion.any_joining();
        connection
            .joins
            .set_holds_back(profile.joins.round_robin_waits_for_join && is_joining);
        if s == 0 {
            connection.lifetime.on_established(cx.now);
            if connection.joins.starts_at(0) {
                self.open_joins(index, cx);
            }
        } else {
            self.end_scatter_phase(index, cx.now);
        }
        if full_handshakes {
            let flow = self.connections[index as usize].flow;
            self.send_control(flow, s as u32, wire::HANDSHAKE_ACK, cx);
        }
        self.transmit_pending(index, slot, cx);
    }

    /// Handles the timeout of a SYN, or of the third packet of a join. If the profile says so, the
    /// first SYNs are retransmitted at equal intervals, as by Linux since 6.5. The RTO for data is
    /// then the backed-off one, not 3 seconds (RFC 6298, section 5, rule 5.7).
    pub(super) fn syn_timed_out(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.state.is_pre_established() {
            subflow.rtt.back_off();
            self.send_join_ack(slot, cx);
            return;
        }
        let connection = &self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        subflow.count_syn_timeout();
        subflow.path.on_timeout(false, cx.now);
        if subflow.stats().syn_timeouts > profile.handshake.syn_linear_timeouts.into() {
            subflow.rtt.back_off();
        }
        self.send_syn(slot, cx);
    }

    /// Returns a uniformly random time up to `join_delay`, from a random stream for each `purpose`.
    pub(super) fn join_delay(&self, flow: u32, subflow: u32, purpose: u64) -> u64 {
        let spec = self.shared.flow(flow);
        let profile = &self.shared.tcp(spec.transport).profile;
        let which = spec.id.rotate_left(32) ^ u64::from(subflow);
        let hash = draw(&[self.shared.seed, which, purpose]);
        let range = u128::from(profile.joins.join_delay.0) + 1;
        ((u128::from(hash) * range) >> 64) as u64
    }
}

/// Returns when a subflow's `nth` SYN was sent: each one after the first at the end of the timeout
/// of the previous one.
fn syn_sent_at(subflow: &SubflowSender, nth: u64, profile: &Profile) -> u64 {
    let mut rtt = RttEstimator::from_profile(profile);
    let mut sent = subflow.stats().first_syn_at;
    for timeouts in 1..=nth {
        sent += rtt.rto();
        if timeouts > profile.handshake.syn_linear_timeouts.into() {
            rtt.back_off();
        }
    }
    sent
}

/// Returns the number of acknowledged chunks from which on the additional subflows join: those of
/// `after` bytes. It is at least one if a connection has to be fully established, for which a
/// `DATA_ACK` is needed (RFC 8684, section 3.1). With 0 they join immediately.
pub fn join_at(after: u64, mss: u32, confirmed: bool) -> u32 {
    let chunks = after.div_ceil(mss.into()).max(confirmed.into());
    chunks.min(u64::from(u32::MAX) - 1) as u32
}

impl TcpEndpoint {
    /// Starts the joins of a connection's additional subflows, each after a delay of its own.
    #[cold]
    pub(super) fn open_joins(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        connection.joins.start(cx.now);
        let (flow, first, subflows) = (
            connection.flow,
            connection.first_subflow,
            connection.windows().len() as u32,
        );
        // Subflows are numbered in the order in which they start, which is that of round robin.
        let delays = (1..subflows).map(|other| self.join_delay(flow, other, 0x6A6F_696E));
        let mut delays: Vec<u64> = delays.collect();
        delays.sort_unstable();
        for (other, delay) in (1..subflows).zip(delays) {
            let time = cx.now + delay;
            cx.set_timer(time, timer_key(TcpTimer::Join, first + other));
        }
    }

    /// Starts a join that is due, unless its subflow is not selected: it then joins when it is
    /// selected.
    pub(super) fn join(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &self.subflows[slot as usize];
        if !subflow.gate.is_blocked_by(BlockReasons::NOT_SELECTED) && subflow.state.is_closed() {
            self.send_syn(slot, cx);
        }
    }

    /// Sends the third packet of a join, when its SYN/ACK arrived or the third packet timed out.
    /// The subflow carries no data before the other end has acknowledged that packet ("Host A ...
    /// MUST NOT send data ... until it receives an ACK", RFC 8684, section 3.2).
    pub(super) fn send_join_ack(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let connection = &self.connections[subflow.connection() as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        let profile = &tcp.profile;
        subflow.state.on_join_ack_sent();
        subflow.arm(slot, cx);
        cx.send(&Packet {
            route: subflow.path.route(),
            slot: subflow.peer(),
            ..wire::control(
                wire::JOIN_ACK,
                (connection.flow, subflow.index()),
                transport.class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the third packet of a join, which the other end sends.
    pub(super) fn on_join_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let Some(receiver) = self.subflow_receivers.get(packet.slot as usize) else {
            return;
        };
        let connection = &self.connection_receivers[receiver.connection as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        cx.send(&Packet {
            route: receiver.path.route(),
            slot: receiver.peer,
            ..wire::control(
                wire::JOIN_CONFIRMED,
                (packet.lo, packet.hi),
                transport.ack_class,
                &tcp.profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the fourth packet of a join: the subflow may carry data.
    pub(super) fn on_join_confirmed(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if self.subflows[packet.slot as usize].state.is_pre_established() {
            self.establish(packet.slot, cx);
        }
    }

    /// Announces to the other end that a stopped flow has no more data than was sent.
    pub(super) fn send_data_fin(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &self.connections[index as usize];
        let subflow = &self.subflows[connection.first_subflow as usize];
        if connection.data.is_acknowledged() || subflow.peer() == u32::MAX {
            return;
        }
        let transport = &self.shared.transports[connection.transport as usize];
        let tcp = self.shared.tcp(connection.transport);
        let profile = &tcp.profile;
        if profile.acks.ack_every == 1 {
            // No acknowledgement is delayed.
            return;
        }
        cx.send(&Packet {
            route: subflow.path.route(),
            slot: subflow.peer(),
            chunk: connection.data.total(),
            ..wire::control(
                wire::DATA_FIN,
                (connection.flow, 0),
                transport.class,
                profile,
                tcp.cc.echo(),
            )
        });
    }

    /// Handles the announcement that a flow has stopped: delayed acknowledgements are sent, and the
    /// one that completes the data is not delayed.
    pub(super) fn on_data_fin(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let shared = Arc::clone(&self.shared);
        let Some(&index) = self.slots.receivers.get(&packet.lo) else {
            return;
        };
        let connection = &mut self.connection_receivers[index as usize];
        connection.set_total(packet.chunk);
        let tcp = shared.tcp(connection.transport);
        for s in 0..tcp.subflows {
            let Some(&receiver) = self.slots.subflow_receivers.get(&(packet.lo, s)) else {
                continue;
            };
            let receiver = &mut self.subflow_receivers[receiver as usize];
            if receiver.unacked() > 0 {
                cx.send(&receiver.acknowledge(connection.chunks(), 0, 0, &tcp.profile));
            }
        }
    }
}
