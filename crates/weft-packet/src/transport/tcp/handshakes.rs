//! Handshake packets that have no effect at either end (`full_handshakes`): the last one of opening
//! a subflow and those of closing it. They refer to no sender or receiver, so they can outlive the
//! connection.

use weft_cc::CongestionControl;
use weft_paths::SubflowDirection;

use crate::engine::Context;
use crate::packet::Packet;
use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::timer_keys::{TcpTimer, timer_key};
use super::wire;

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
        // That routes fit was checked when the run was set up.
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
