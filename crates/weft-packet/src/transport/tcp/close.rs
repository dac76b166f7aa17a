//! The end of a connection: its application stops, or all of its data is acknowledged.
//!
//! With `full_handshakes`, some packets have no effect at either end: the last one of opening a
//! subflow and those of closing it. They refer to no sender or receiver, so they can outlive the
//! connection.

use weft_cc::CongestionControl;
use weft_paths::SubflowDirection;

use crate::engine::Context;
use crate::packet::Packet;
use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::subflow::SubflowSender;
use super::timers::{TcpTimer, timer_key};
use super::wire;

impl TcpEndpoint {
    /// Stops a flow: its application has no more data.
    pub(super) fn stop_flow(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(&index) = self.slots.senders.get(&flow) else {
            return;
        };
        let connection = &mut self.connections[index as usize];
        if connection.data.has_unsent() {
            // Chunks that the application has handed over are still sent.
            let nxt = connection.data.nxt();
            let queues = connection.send_queues.as_ref();
            let total = queues.map_or(nxt, |queues| queues.written().max(nxt));
            connection.data.stop(total);
            connection.begin_close(cx);
            self.send_data_fin(index, cx);
        }
        self.finish_if_done(index, cx);
    }

    /// Closes a connection whose data is all acknowledged. Returns true if the connection has
    /// finished. A persistent connection stays open; its messages are done.
    pub(super) fn finish_if_done(&mut self, index: u32, cx: &mut HostContext<'_, '_>) -> bool {
        let connection = &mut self.connections[index as usize];
        if connection.data.messages().is_some() {
            while let Some(flow) = connection.data.take_acknowledged(cx.now) {
                cx.on_acked(flow);
            }
            return false;
        }
        let connection = &self.connections[index as usize];
        if !connection.data.is_acknowledged() || connection.data.is_unlimited() {
            return false;
        }
        if connection.lifetime.is_finished() {
            return true;
        }
        let profile = &self.shared.tcp(connection.transport).profile;
        let outstanding = |s: &SubflowSender| !s.segments.is_empty();
        if !profile.connection.complete_on_data_ack && self.subflows_of(connection).iter().any(outstanding) {
            return false;
        }
        let connection = &mut self.connections[index as usize];
        if connection.options.traced {
            let now = cx.now;
            let tracer = cx.host.tracer();
            tracer.finish(connection.flow, connection.windows(), now);
            connection.set_traced(false);
        }
        connection.lifetime.on_finished(cx.now);
        connection.record_suppression(cx.now);
        connection.drop_waiting();
        let first = connection.first_subflow as usize;
        for s in 0..connection.windows().len() {
            let subflow = &mut self.subflows[first + s];
            subflow.state.close();
            subflow.timer.stop();
            subflow.segments.clear();
            if connection.windows()[s].established {
                connection.congestion.close(s);
            }
        }
        let flow = connection.flow;
        self.stop_path_monitor(index);
        self.ended.push(index);
        cx.on_acked(flow);
        true
    }
}

impl ConnectionSender {
    /// Begins to close the subflows when no new data is left, if the profile closes them and this
    /// has not begun.
    pub fn begin_close(&mut self, cx: &mut Context<'_>) {
        if self.lifetime.begin_close(cx.now) {
            cx.set_timer(cx.now, timer_key(TcpTimer::Close, self.first_subflow));
        }
    }
}

impl TcpEndpoint {
    /// Closes a subflow once all data has been sent, each by a FIN of its own (RFC 8684, section
    /// 3.3.3). Subflow 0 closes immediately, the others within the time in which they joined.
    pub(super) fn close(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &self.subflows[slot as usize];
        let (index, connection) = (
            subflow.index(),
            &mut self.connections[subflow.connection() as usize],
        );
        let (flow, subflows) = (connection.flow, connection.windows().len() as u32);
        if index == 0 {
            let tcp = self.shared.tcp(connection.transport);
            connection
                .lifetime
                .close_until(cx.now + tcp.profile.joins.join_delay.0);
        }
        if subflow.stats().established.is_some() {
            self.send_control(flow, index, wire::FIN, cx);
        }
        if index == 0 {
            for other in 1..subflows {
                let delay = self.join_delay(flow, other, 0x636C_6F73);
                let time = cx.now + delay;
                cx.set_timer(time, timer_key(TcpTimer::Close, slot + other));
            }
        }
    }

    /// Sends a control packet with these flags to the other end of a flow's subflow.
    pub(super) fn send_control(&self, flow: u32, subflow: u32, flags: u16, cx: &mut HostContext<'_, '_>) {
        let shared = &self.shared;
        let spec = shared.flow(flow);
        let transport = &shared.transports[spec.transport as usize];
        let tcp = shared.tcp(spec.transport);
        let direction = SubflowDirection {
            flow: spec.id,
            subflow,
            subflows: tcp.subflows,
            reverse: self.index == spec.to,
        };
        let there = if direction.reverse { spec.from } else { spec.to };
        let [here, there] = [self.index, there].map(|host| shared.fabric.hosts[host as usize]);
        // The set-up of the run has checked that routes fit.
        let route = shared
            .route(spec.transport, direction, here, there)
            .unwrap_or_default();
        let class = if direction.reverse {
            transport.ack_class
        } else {
            transport.class
        };
        cx.send(&Packet {
            route,
            ..wire::control(flags, (flow, subflow), class, &tcp.profile, tcp.cc.echo())
        });
    }
}
