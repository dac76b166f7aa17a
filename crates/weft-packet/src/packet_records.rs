//! Conversion of captured packets to records, with the flow and the kind of each packet.

use std::collections::HashMap;

use weft_run::{PacketKind, PacketRecord};
use weft_spec::Time;

use crate::packet::{ACK, CE, CONTROL_ONLY, CWR, DATA, ECE, ECT, LAST, PROTECTED, Packet, RETRANSMIT, SYN};
use crate::simulation::PacketSimulation;
use crate::transport::{DATA_FIN, JOIN_ACK, NEXT_JOB, OTHER};

impl PacketSimulation {
    /// Collects the packets captured so far. Must run before slots of finished flows are reclaimed,
    /// because an ACK carries only the slot that it is for.
    pub(crate) fn collect_captures(&mut self) {
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

    /// Returns the record of a packet that crossed a link; `None` if it has no counterpart in TCP.
    /// `hosts` maps nodes to hosts.
    fn packet_record(&self, link: u32, packet: &Packet, hosts: &HashMap<u32, u32>) -> Option<PacketRecord> {
        let kind = packet_kind(packet.flags)?;
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
                let header = self.shared.transports[transport as usize].profile.header;
                record.bytes = u32::from(packet.size) - header;
                record.cwr = packet.flags & CWR != 0;
            }
            PacketKind::Ack => {
                let to = self.shared.fabric.links[link as usize].to;
                let node = self.destination(to, packet.route);
                let host = self.engine.endpoint(*hosts.get(&node)?).tcp();
                (record.flow, record.subflow) = host.subflow_at(packet.slot)?;
                record.sack = (packet.lo != packet.hi).then_some((packet.lo, packet.hi));
                record.ece = packet.flags & ECE != 0;
                // In an ACK, the flag describes the acknowledged packet.
                record.retransmission = false;
            }
            // The other fields have no counterpart in TCP.
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

/// Returns the kind of a packet by its flags; `None` if it has no counterpart in TCP.
fn packet_kind(flags: u16) -> Option<PacketKind> {
    const FIN: u16 = SYN | CONTROL_ONLY | LAST;
    const FIN_ACK: u16 = FIN | ACK;
    const HANDSHAKE_ACK: u16 = SYN | CONTROL_ONLY;
    const SYN_ACK: u16 = SYN | ACK;
    const CONFIRMED: u16 = JOIN_ACK | ACK;
    if flags & OTHER != 0 {
        return None;
    }
    if flags & DATA != 0 {
        return Some(PacketKind::Data);
    }
    if flags & SYN == 0 {
        return Some(PacketKind::Ack);
    }
    if flags == NEXT_JOB {
        return None;
    }
    match flags & !PROTECTED {
        SYN => Some(PacketKind::Syn),
        SYN_ACK => Some(PacketKind::SynAck),
        HANDSHAKE_ACK => Some(PacketKind::HandshakeAck),
        JOIN_ACK => Some(PacketKind::JoinAck),
        CONFIRMED => Some(PacketKind::JoinConfirmed),
        DATA_FIN => Some(PacketKind::DataFin),
        FIN => Some(PacketKind::Fin),
        FIN_ACK => Some(PacketKind::FinAck),
        _ => None,
    }
}
