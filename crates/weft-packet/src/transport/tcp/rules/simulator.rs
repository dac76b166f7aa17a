//! Additional behaviour of the simulator of AMP's authors (`amp-2019`): it sends the handshake
//! packets without data, waits for joins, and has no acknowledgement of data at connection level.
//! Also its fault, which no profile has.

use super::*;

/// Creates a connection of two subflows with that profile. Their windows are 0 until both are
/// established and two packets afterwards: chunks are sent in the order 0, 1, 0, 1.
fn two_subflows(chunks: u64) -> TestConnection {
    let profile = Profile::amp_2019();
    TestConnection {
        bytes: Some(chunks * u64::from(profile.sizes.mss)),
        profile,
        cc: open_together(2, 2.0),
        subflows: 2,
        delays: vec![DELAY; 2],
        ..TestConnection::new()
    }
}

/// The last acknowledgement of the handshake is sent when the SYN/ACK has arrived. A FIN is sent
/// when the last data has been sent, on subflow 0 immediately, on others within the time in which
/// they joined. A FIN/ACK and the last acknowledgement answer it.
#[test]
fn handshakes_may_be_whole() {
    for full_handshakes in [true, false] {
        let mut test = two_subflows(4);
        test.profile.handshake.full_handshakes = full_handshakes;
        let run = test.run(10 * MS, pass);
        assert!(run.finished());
        for subflow in 0..2 {
            let packets = run.all().into_iter().filter(|seen| seen.subflow == subflow);
            let is_inert = |seen: &&ObservedPacket| {
                matches!(
                    seen.kind,
                    PacketKind::HandshakeAck | PacketKind::Fin | PacketKind::FinAck
                )
            };
            let inert: Vec<&ObservedPacket> = packets.filter(is_inert).collect();
            assert_eq!(inert.len(), if full_handshakes { 4 } else { 0 });
            if full_handshakes {
                assert!(inert.iter().all(|seen| seen.packet.size == 42));
                let to_middle = DELAY + serialisation(42);
                let stats = run.subflow(subflow as usize).stats();
                assert_eq!(inert[0].time, stats.established.unwrap() + to_middle);
                let handed_out = run.data().last().unwrap().time;
                let min = if subflow == 0 { 0 } else { 42 * 800 };
                let closed = inert[1].time.checked_sub(handed_out + min);
                assert!(closed.is_some_and(|late| late <= u64::from(subflow) * 49 * US + 42 * 800));
                // A FIN may wait behind the data before it.
                let rtt = 2 * (DELAY + serialisation(42));
                let late = inert[2].time - inert[1].time - rtt;
                assert!(late <= serialisation(1462), "{late}");
                assert_eq!(inert[3].time, inert[2].time + rtt);
            }
        }
    }
}

/// When round robin reaches a subflow that is being opened, a connection sends no new data until
/// the SYN/ACK has arrived.
#[test]
fn the_turn_may_wait_for_a_join() {
    for round_robin_waits_for_join in [true, false] {
        let mut test = two_subflows(100);
        test.cc = Script::steady(2.0).algorithm();
        test.delays = vec![DELAY, 20 * DELAY];
        test.profile.joins.join_delay = Time(0);
        test.profile.joins.round_robin_waits_for_join = round_robin_waits_for_join;
        let run = test.run(10 * MS, pass);
        let joined = run.subflow(1).stats().established.unwrap();
        let before = run.data().into_iter().filter(|seen| seen.time < joined).count();
        // A window of two packets is sent before the join's SYN, and one packet more, because
        // subflow 0 was the only one.
        assert_eq!(before > 3, !round_robin_waits_for_join, "{before} packets");
        assert!(before >= 3, "{before} packets");
        assert!(run.finished());
    }
}

/// Subflows are numbered in the order in which they are opened, so that round robin reaches the one
/// that answers first before the others.
#[test]
fn joins_are_numbered_as_they_start() {
    for seed in 1..=20 {
        let mut test = two_subflows(100);
        test.cc = Script::steady(2.0).algorithm();
        test.subflows = 4;
        test.delays = vec![DELAY; 4];
        test.seed = seed;
        let run = test.run(10 * MS, pass);
        let times = (0..4).map(|s| run.subflow(s).stats().established);
        let established: Vec<u64> = times.map(Option::unwrap).collect();
        assert!(established.is_sorted(), "{established:?}");
        assert!(established[3] > established[1], "{established:?}");
    }
}

/// If acknowledgements do not cover the connection's data, the connection finishes when all data of
/// each subflow is acknowledged.
#[test]
fn the_end_may_need_every_subflows_acknowledgements() {
    for complete_on_data_ack in [true, false] {
        let mut test = two_subflows(4);
        test.profile.connection.complete_on_data_ack = complete_on_data_ack;
        test.delays[0] = 2 * DELAY;
        let run = test.run(4_000 * MS, |seen| {
            let lost = seen.kind == PacketKind::Ack && seen.subflow == 1 && seen.time < 100 * MS;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        assert!(run.finished());
        assert_eq!(run.subflow(1).stats().timeouts, u64::from(!complete_on_data_ack));
        assert_eq!(run.finished_before(MS), complete_on_data_ack);
    }
}

/// Chunks 0 and 1, each the first of its subflow, are lost, and the retransmission of 0 is lost,
/// too. After the retransmission of 1, chunk 3 is held behind it. The fault is that it stays held,
/// because the connection expects 0: its retransmission advances nothing, and subflow 1 times out
/// again after 0 has arrived.
#[test]
fn what_the_connection_holds_may_stall_its_subflow() {
    for stall_on_held_data in [true, false] {
        let mut test = two_subflows(4);
        test.profile.connection.stall_on_held_data = stall_on_held_data;
        let run = test.run(10_000 * MS, |seen| {
            let lost = seen.kind == PacketKind::Data && seen.packet.chunk < 2;
            let lost = lost && seen.again < 2 - seen.packet.chunk;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        assert!(run.finished() && run.delivered() == 4 * 1400);
        let timeouts = [0, 1].map(|s| run.subflow(s).stats().timeouts);
        assert_eq!(timeouts, [2, 1 + u64::from(stall_on_held_data)]);
        assert_eq!(run.times_of(3).len(), 2 + usize::from(stall_on_held_data));
    }
}
