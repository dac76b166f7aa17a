//! The end of a connection: its application stops, or all of its data is acknowledged.

use super::endpoint::TcpEndpoint;
use super::subflow::SubflowSender;
use crate::transport::state::HostContext;

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
    /// finished.
    pub(super) fn finish_if_done(&mut self, index: u32, cx: &mut HostContext<'_, '_>) -> bool {
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
        let (flow, monitored) = (connection.flow, connection.path_monitor.is_some());
        if monitored {
            self.stop_path_monitor(index);
        }
        self.ended.push(index);
        cx.on_acked(flow);
        true
    }
}
