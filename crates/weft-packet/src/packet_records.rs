//! Converts captured packets to records, and finds the flow and the kind of each packet.

use std::collections::HashMap;

use weft_run::{PacketKind, PacketRecord, PauseFrameRecord};
use weft_spec::Time;

use crate::packet::{CE, CLASS, DATA, ECT, Packet, RETRANSMIT};
use crate::simulation::PacketSimulation;
use crate::transport::tcp::wire::{self, CWR, ECE};
use crate::transport::{NEXT_JOB, NON_TCP};

impl PacketSimulation {
    /// Records the packets captured so far. It must run before the slots of finished flows are
    /// reclaimed, because an ACK identifies its subflow only by its slot at the receiving host.
    pub(crate) fn collect_captures(&mut self) {
        let frames = self.engine.take_captured_pauses();
        let frames = frames.iter().map(|frame| PauseFrameRecord {
            time: Time(frame.time),
            link: frame.link,
            class: frame.class,
            is_paused: frame.is_paused,
        });
        self.finished.pause_frames.extend(frames);
        let captured = self.engine.take_captured();
        if captured.is_empty() {
            return;
        }
        let hosts: HashMap<u32, u32> = self.shared.fabric.hosts.iter().copied().zip(0..).collect();
        let records = captured
            .iter()
            .filter_map(|(link, packet)| self.packet_record(*link, packet, &hosts));
        let records: Vec<_> = records.collect();
        self.finished.packets.extend(records);
    }

    /// Returns the record of a packet that crossed a link. Returns `None` if TCP has no such packet,
    /// or if the receiving host has reclaimed the slot of an ACK. `hosts` has the index of each
    /// node that is a host.
    fn packet_record(&self, link: u32, packet: &Packet, hosts: &HashMap<u32, u32>) -> Option<PacketRecord> {
        let kind = packet_kind(packet)?;
        let mut record = PacketRecord {
            time: Time(packet.time),
            link,
            flow: packet.lo,
            subflow: packet.hi,
            kind,
            seq: packet.seq,
            bytes: 0,
            chunk: packet.chunk,
            sack: None,
            ect: packet.flags & ECT != 0,
            ce: packet.flags & CE != 0,
            ece: false,
            cwr: false,
            retransmission: packet.flags & RETRANSMIT != 0,
        };
        match kind {
            PacketKind::Data => {
                let transport = self.shared.flow(packet.lo).transport;
                let header = self.shared.transports[transport as usize].sizes().header;
                let payload = u32::from(packet.size).saturating_sub(header);
                record.bytes = if packet.is_trimmed() { 0 } else { payload };
                record.cwr = packet.flags & CWR != 0;
            }
            PacketKind::Ack => {
                // The node at which the rest of the route ends.
                let to = self.shared.fabric.links[link as usize].to;
                let node = self.destination(to, packet.route);
                let host = self.engine.endpoint(*hosts.get(&node)?).tcp();
                (record.flow, record.subflow) = host.subflow_at(packet.slot)?;
                record.sack = wire::has_sack_block(packet).then_some((packet.lo, packet.hi));
                record.ece = packet.flags & ECE != 0;
                // In an ACK, RETRANSMIT describes the acknowledged packet.
                record.retransmission = false;
            }
            // `seq` and `chunk` of a control packet are values of the simulator. Only the chunk of a
            // DATA_FIN has a counterpart: the end of the data.
            _ => {
                record.seq = 0;
                if kind != PacketKind::DataFin {
                    record.chunk = 0;
                }
            }
        }
        Some(record)
    }
}

/// Returns the kind of a packet in the records. Returns `None` for packets without data of transports
/// other than TCP, and for those that start a job.
fn packet_kind(packet: &Packet) -> Option<PacketKind> {
    if packet.flags & NON_TCP != 0 {
        (packet.flags & DATA != 0).then_some(PacketKind::Data)
    } else if packet.flags & !CLASS == NEXT_JOB {
        None
    } else {
        wire::kind(packet)
    }
}
