//! Connections: joins, schedulers, the receive buffer, reinjection, suppression, sizes, and the end of a bulk flow.

use super::*;

/// Creates a test connection with paths of these delays and a subflow on each.
fn on_paths(delays: &[u64], cc: Algorithm) -> TestConnection {
    TestConnection {
        subflows: delays.len() as u32,
        delays: delays.to_vec(),
        cc,
        ..TestConnection::new()
    }
}

/// Returns the subflows of new data, in the order in which the sender sent it.
fn scheduled(run: &Run, delays: &[u64]) -> Vec<u32> {
    let mut data: Vec<&ObservedPacket> = run.data().into_iter().filter(|seen| seen.again == 0).collect();
    data.sort_by_key(|seen| seen.time - delays[seen.subflow as usize]);
    data.sort_by_key(|seen| seen.packet.chunk);
    data.iter().map(|seen| seen.subflow).collect()
}

/// Joins start when subflow 0 is established, each after a random time of its own up to the
/// profile's limit. Each has its own handshake and carries no data before it.
#[test]
fn joins_follow_subflow_0_within_their_delay() {
    let delays = [DELAY; 5];
    let established = round_trip(66, &Profile::linux());
    let mut joined = Vec::new();
    for seed in 1..=5 {
        let mut test = on_paths(&delays, Script::steady(4.0).algorithm());
        test.profile.joins.join_delay = Time(49 * US);
        test.seed = seed;
        let run = test.run(3 * MS, pass);
        for s in 0..5 {
            let packets: Vec<&ObservedPacket> =
                run.all().into_iter().filter(|seen| seen.subflow == s).collect();
            let kinds: Vec<PacketKind> = packets.iter().map(|seen| seen.kind).take(3).collect();
            assert_eq!(kinds, [PacketKind::Syn, PacketKind::SynAck, PacketKind::Data]);
            let opened = packets[0].time - DELAY - serialisation(66);
            if s == 0 {
                assert_eq!(opened, 0);
            } else {
                assert!(
                    (established..=established + 49 * US).contains(&opened),
                    "{opened}"
                );
                joined.push(opened - established);
            }
            assert_eq!(
                run.subflow(s as usize).stats().established,
                Some(opened + established)
            );
        }
    }
    // Twenty draws from 0 to 49 us: no two alike, and spread.
    joined.sort_unstable();
    joined.dedup();
    assert_eq!(joined.len(), 20);
    assert!(joined[4] < 25 * US && joined[15] > 25 * US, "{joined:?}");
    // Without a delay they start immediately.
    let run = on_paths(&delays, Script::steady(4.0).algorithm()).run(MS, pass);
    let syns = run.of_kind(PacketKind::Syn);
    let rest = syns[1..].iter().map(|seen| seen.time - DELAY - serialisation(66));
    assert!(rest.eq([established; 4]));
}

/// RFC 8684, sections 3.1 and 3.2: joins start once data of subflow 0 is acknowledged. They carry
/// data once the third packet of their handshake is acknowledged, two round trips later than if the
/// SYN/ACK sufficed. Lost packets of the handshake are retransmitted.
#[test]
fn confirmed_joins_take_two_round_trips_more() {
    let mut test = on_paths(&[DELAY; 3], Script::steady(1.0).algorithm());
    test.profile.joins.confirmed_joins = true;
    test.profile.rto.min_rto = Time(500 * US);
    let (syn, full) = (round_trip(66, &test.profile), round_trip(1514, &test.profile));
    let run = test.run(3 * MS, |seen| match (seen.kind, seen.subflow, seen.nth) {
        (PacketKind::JoinAck | PacketKind::JoinConfirmed, 2, 0) => Fate::Drop,
        _ => Fate::Pass,
    });
    let opened = |s| {
        let syns = run
            .of_kind(PacketKind::Syn)
            .into_iter()
            .filter(move |seen| seen.subflow == s);
        syns.map(|seen| seen.time - DELAY - serialisation(66))
            .next()
            .unwrap()
    };
    assert_eq!([opened(1), opened(2)], [syn + full; 2]);
    assert_eq!(run.subflow(1).stats().established, Some(syn + full + 2 * syn));
    let first = run.data().into_iter().find(|seen| seen.subflow == 1).unwrap();
    assert_eq!(first.time, syn + full + 2 * syn + DELAY + serialisation(1514));
    // Each of the other join's two packets is lost once: two timeouts of the third packet.
    let second = run.subflow(2).stats().established.unwrap();
    assert!(
        (syn + full + 2 * syn + 1_500 * US..2_900 * US).contains(&second),
        "{second}"
    );
}

/// Joins wait until this many bytes of subflow 0 are acknowledged; a shorter flow uses one subflow.
#[test]
fn joins_wait_for_bytes() {
    for (join_after, chunks) in [(1, 1), (1448, 1), (1449, 2), (20 * 1448, 20)] {
        let mut test = on_paths(&[DELAY; 2], Script::steady(1.0).algorithm());
        test.join_after = join_after;
        let (syn, full) = (round_trip(66, &test.profile), round_trip(1514, &test.profile));
        let run = test.run(3 * MS, pass);
        let join = run.of_kind(PacketKind::Syn)[1].time - DELAY - serialisation(66);
        assert_eq!(join, syn + chunks * full, "after {join_after} bytes");
    }
    let mut test = on_paths(&[DELAY; 2], Script::steady(1.0).algorithm());
    test.join_after = 20 * 1448;
    test.bytes = Some(20 * 1448);
    let run = test.run(100 * MS, pass);
    assert_eq!(run.of_kind(PacketKind::Syn).len(), 1);
    assert!(run.finished());
}

/// A join whose SYNs are lost does not delay the connection.
#[test]
fn a_join_that_fails_leaves_the_rest_alone() {
    let mut test = on_paths(&[DELAY; 2], Script::steady(10.0).algorithm());
    test.bytes = Some(1_000 * 1448);
    let run = test.run(10_000 * MS, |seen| {
        let lost = seen.subflow == 1 && seen.kind == PacketKind::Syn;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert!(run.finished_before(10 * MS));
    // The join does not retry once the connection has finished.
    assert_eq!(run.of_kind(PacketKind::Syn).len(), 2);
}

/// Subflows with window space are served in turn.
#[test]
fn round_robin_serves_subflows_in_turn() {
    let delays = [DELAY, 3 * DELAY, 2 * DELAY];
    let run = on_paths(&delays, open_together(3, 4.0)).run(200 * US, pass);
    let order = scheduled(&run, &delays);
    assert_eq!(order[..12], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

/// The subflow with the lowest smoothed round-trip time is filled first, then the next one.
#[test]
fn lowest_rtt_fills_the_nearest_subflow_first() {
    let delays = [2 * DELAY, DELAY, 3 * DELAY];
    let mut test = on_paths(&delays, open_together(3, 4.0));
    test.scheduler = Scheduler::LowestRtt;
    let run = test.run(300 * US, pass);
    let order = scheduled(&run, &delays);
    assert_eq!(order[..12], [1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2]);
}

/// Returns the chunks that a subflow sent, each once, in order.
fn sent_by(run: &Run, subflow: u32) -> Vec<u32> {
    let of = run.data().into_iter().filter(|seen| seen.subflow == subflow);
    let mut chunks: Vec<u32> = of.map(|seen| seen.packet.chunk).collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}

/// `mptcp_subflow_get_send`: a burst of 64 KB, 45 segments, is assigned ahead of the window to the
/// subflow that would have sent all it holds first. The scheduler continues until that subflow's
/// send buffer is full, even if other buffers have space. `__subflow_push_pending` assigns it in
/// fragments of 32 KB, 23 segments, and checks the buffer between them: 87,040 bytes, in which 37
/// segments fit.
#[test]
fn linux_gives_bursts_to_the_subflow_that_is_done_first() {
    let mut test = on_paths(&[DELAY, 2 * DELAY], open_together(2, 4.0));
    test.scheduler = Scheduler::Linux;
    test.bytes = Some(400 * 1448);
    let run = test.run(100 * MS, pass);
    assert!(run.finished() && run.delivered() == 400 * 1448);
    let (near, far) = (sent_by(&run, 0), sent_by(&run, 1));
    // At first only the subflow with the shorter RTT is established; the other one is empty then.
    assert_eq!(near[..45], (0..45).collect::<Vec<_>>()[..]);
    assert_eq!(far[..45], (45..90).collect::<Vec<_>>()[..]);
    // From then on the subflow with the shorter RTT is done first, and gets a fragment at a time,
    // whenever fewer than 37 segments are left.
    assert_eq!(near[45..68], (90..113).collect::<Vec<_>>()[..]);
    // Approximately in proportion to the rates.
    let share = near.len() as f64 / far.len() as f64;
    assert!((1.3..3.0).contains(&share), "{share}");
}

/// A suppressed subflow, which the kernel calls backup, sends what was assigned to it and gets no
/// more data unless all subflows are suppressed.
#[test]
fn linux_drains_what_a_suppressed_subflow_was_given() {
    let script = Script::new(|w, event, _| {
        for w in w.iter_mut() {
            w.cwnd = 4.0;
        }
        if matches!(event, Event::Open(1)) {
            w[1].active = true;
        } else if matches!(event, Event::Round(1, _)) {
            w[1].active = false;
        }
    });
    let mut test = on_paths(&[DELAY; 2], script.algorithm());
    test.scheduler = Scheduler::Linux;
    test.bytes = Some(600 * 1448);
    let run = test.run(100 * MS, pass);
    assert!(run.finished());
    // One burst, far more than a window.
    assert_eq!(sent_by(&run, 1).len(), 45);
}

/// The application fills a connection's own send buffer, which is as large as those of its subflows
/// together plus 4 KB (`__mptcp_sync_sndbuf`). It holds 123 segments here, by which other subflows
/// may get ahead of a slow path. The application is asked for more data when two thirds, 82
/// segments, are left (`sk_stream_is_writeable`); the acknowledgements of a window are in flight
/// then. With space for a burst of 46 segments beyond two windows of ten, a subflow's buffer holds
/// seven windows (`sndbuf_expand`), and the connection's buffer 423 segments.
#[test]
fn linux_holds_as_much_as_the_subflows_buffers_do() {
    for (bursts, allowed) in [(0, 72..=123), (1, 247..=423)] {
        let mut test = on_paths(
            &[DELAY, 200 * DELAY],
            Script::steady(10.0).with_extra_bursts(bursts).algorithm(),
        );
        test.scheduler = Scheduler::Linux;
        test.bytes = Some(8_000 * 1448);
        let run = test.run(8_000 * MS, pass);
        assert!(run.finished());
        let (mut held, mut max) = (0, 0);
        for seen in run.all() {
            match seen.kind {
                PacketKind::Ack => held = held.max(seen.packet.chunk),
                PacketKind::Data => max = max.max((seen.packet.chunk + 1).saturating_sub(held)),
                _ => {}
            }
        }
        assert!(allowed.contains(&max), "{bursts}: {max}");
    }
}

/// When a subflow times out, a subflow that holds nothing sends what is missing of the oldest
/// fragment, 23 segments (`mptcp_subflow_get_retrans`, `__mptcp_retrans`), whether it was sent or
/// not.
#[test]
fn linux_reinjects_the_oldest_fragment_by_whoever_is_idle() {
    let mut test = on_paths(&[DELAY; 2], Script::steady(5.0).algorithm());
    test.scheduler = Scheduler::Linux;
    test.bytes = Some(100 * 1448);
    let run = test.run(900 * MS, |seen| {
        let dead = seen.subflow == 1 && seen.kind == PacketKind::Data && seen.nth >= 10;
        if dead { Fate::Drop } else { Fate::Pass }
    });
    // Of the 45 assigned segments, 10 arrived; there is a timeout for 23 of the others, and one for
    // the last 12.
    assert!(run.finished());
    assert_eq!(
        (run.subflow(1).stats().timeouts, run.connection().reinject.count()),
        (2, 35)
    );
}

/// `mptcp_pm_subflow_chk_stale`: a subflow that does not answer keeps all data while it is
/// considered the faster one. Once it is stale, the other subflows get what it held and all new
/// data.
#[test]
fn linux_gives_up_a_subflow_that_does_not_answer() {
    let mut test = on_paths(&[20 * DELAY, DELAY], Script::steady(5.0).algorithm());
    test.scheduler = Scheduler::Linux;
    test.bytes = Some(1_000 * 1448);
    let run = test.run(10_000 * MS, |seen| {
        let dead = seen.subflow == 1 && seen.kind == PacketKind::Data && seen.nth >= 10;
        if dead { Fate::Drop } else { Fate::Pass }
    });
    assert!(run.finished());
    assert!(run.finished_before(2_000 * MS));
    // Timeouts after 200, 400 and 800 ms.
    assert_eq!(run.subflow(1).stats().timeouts, 3);
}

/// Data outstanding on a subflow that timed out is reinjected on the others, once, if the profile
/// says so. Otherwise it waits for its own subflow, which is down here.
#[test]
fn data_of_a_dead_subflow_is_reinjected() {
    for reinject in [true, false] {
        let mut test = on_paths(&[DELAY; 2], Script::steady(5.0).algorithm());
        test.profile.connection.reinject = reinject;
        test.bytes = Some(100 * 1448);
        let run = test.run(900 * MS, |seen| {
            let dead = seen.subflow == 1 && seen.kind == PacketKind::Data && seen.nth >= 10;
            if dead { Fate::Drop } else { Fate::Pass }
        });
        assert!(run.subflow(1).stats().timeouts >= 1);
        assert_eq!(run.finished(), reinject);
        let dead: Vec<u32> = run
            .data()
            .iter()
            .filter(|seen| seen.subflow == 1 && seen.nth >= 10 && seen.again == 0)
            .map(|seen| seen.packet.chunk)
            .collect();
        assert_eq!(dead.len(), 5, "a window");
        let on_0: Vec<u32> = run
            .data()
            .iter()
            .filter(|seen| seen.subflow == 0 && dead.contains(&seen.packet.chunk))
            .map(|seen| seen.packet.chunk)
            .collect();
        let expected: &[u32] = if reinject { &dead } else { &[] };
        assert_eq!(on_0, expected);
        assert_eq!(run.connection().reinject.count(), expected.len() as u64);
        let delivered = if reinject { 100 } else { 95 };
        assert_eq!(run.delivered(), delivered * 1448);
    }
}

/// A connection with one subflow has no subflow on which to reinject data.
#[test]
fn a_single_subflow_reinjects_nothing() {
    let run = TestConnection::with_window(5.0, 20).run(3_000 * MS, |seen| {
        let lost = seen.kind == PacketKind::Data && seen.packet.chunk >= 15 && seen.again == 0;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!(
        (run.connection().reinject.count(), run.delivered()),
        (0, 20 * 1448)
    );
    assert!(run.finished());
}

/// The shared receive buffer bounds what is in flight at connection level, on all subflows together, and is used in full.
#[test]
fn the_receive_buffer_bounds_data_in_flight() {
    for (buffer, segments) in [(5 * 1448, 5), (5 * 1448 + 700, 5), (30 * 1448, 30)] {
        // The second path is much longer, so that data waits until holes are filled.
        let mut test = on_paths(&[DELAY, 20 * DELAY], Script::steady(20.0).algorithm());
        test.profile.connection.receive_buffer = buffer;
        test.bytes = Some(2_000 * 1448);
        let run = test.run(2_000 * MS, pass);
        assert!(run.finished());
        let mut held = 0;
        let mut max = 0;
        // As the middleboxes observe it, which receive acknowledgements before the sender does.
        for seen in run.all() {
            match seen.kind {
                PacketKind::Ack => held = held.max(seen.packet.chunk),
                PacketKind::Data => {
                    let ahead = (seen.packet.chunk + 1).saturating_sub(held);
                    assert!(ahead <= segments, "{ahead} segments, buffer {buffer}");
                    max = max.max(ahead);
                }
                _ => {}
            }
        }
        assert_eq!(max, segments);
        assert_eq!(
            run.subflow(0).stats().retransmitted + run.subflow(1).stats().retransmitted,
            0
        );
    }
}

/// Returns the bytes that each of the first two subflows had in flight at most, as middleboxes
/// observe it.
fn max_in_flight(run: &Run) -> [u64; 2] {
    let (mut held, mut max) = ([0; 2], [0; 2]);
    for seen in run.all() {
        let s = seen.subflow as usize;
        match seen.kind {
            PacketKind::Ack => held[s] = held[s].max(u64::from(seen.packet.seq)),
            PacketKind::Data => {
                let end = u64::from(seen.packet.seq) + 1448;
                max[s] = max[s].max(end.saturating_sub(held[s]));
            }
            _ => {}
        }
    }
    max
}

/// A subflow's own receive buffer bounds what it has in flight, and other subflows are not affected.
#[test]
fn the_buffer_of_a_subflow_bounds_its_data_in_flight() {
    for scheduler in [Scheduler::RoundRobin, Scheduler::Linux] {
        for segments in [1, 5, 30] {
            let mut test = on_paths(&[DELAY, 20 * DELAY], Script::steady(20.0).algorithm());
            test.scheduler = scheduler;
            test.profile.connection.subflow_receive_buffer = segments * 1448 + 700;
            test.bytes = Some(2_000 * 1448);
            let run = test.run(60_000 * MS, pass);
            assert!(run.finished());
            let max = max_in_flight(&run);
            if segments < 20 {
                assert_eq!(max, [segments * 1448; 2], "{scheduler:?}");
            } else {
                // The window of 20 segments limits both.
                assert!(
                    max.iter().all(|&max| (15 * 1448..=20 * 1448).contains(&max)),
                    "{max:?}"
                );
            }
        }
    }
}

/// A send buffer at its maximum bounds what a subflow has in flight, the only one like each of
/// several (`sk_stream_memory_free`). One of 66,056 bytes has space for 45 segments, and the next
/// larger one for 90, so that the window of 60 segments is the limit.
#[test]
fn the_send_buffer_of_a_subflow_bounds_its_data_in_flight() {
    for (scheduler, paths) in [
        (Scheduler::Linux, &[20 * DELAY][..]),
        (Scheduler::Linux, &[20 * DELAY, 30 * DELAY]),
        (Scheduler::RoundRobin, &[20 * DELAY, 30 * DELAY]),
    ] {
        for (buffer, segments) in [(66_056, 45..=45), (66_057, 45..=60)] {
            let mut test = on_paths(paths, Script::steady(60.0).algorithm());
            test.scheduler = scheduler;
            test.profile.connection.send_buffer = buffer;
            test.bytes = Some(4_000 * 1448);
            let run = test.run(60_000 * MS, pass);
            assert!(run.finished());
            for (s, max) in max_in_flight(&run).into_iter().enumerate().take(paths.len()) {
                assert!(
                    segments.contains(&(max / 1448)),
                    "{scheduler:?}, subflow {s} of {}: {max}",
                    paths.len()
                );
                let limited = run.subflow(s).stats().sndbuf_limited;
                assert_eq!(limited > 0, buffer == 66_056);
            }
        }
    }
}

/// A suppressed subflow gets no new data, finishes what is outstanding, including a loss, and is
/// used again once it is released.
#[test]
fn suppression_is_obeyed() {
    let script = Script::new(|w, event, before| {
        for w in w.iter_mut() {
            w.cwnd = 5.0;
        }
        // The events are mostly acknowledgements of both subflows.
        if matches!(event, Event::Round(0, _)) {
            w[1].active = !(40..200).contains(&before);
        }
    });
    let mut test = on_paths(&[DELAY; 2], script.algorithm());
    test.bytes = Some(600 * 1448);
    let mut run = test.start(|seen| {
        // One of the chunks that are outstanding when the subflow is suppressed.
        let lost = seen.subflow == 1 && seen.kind == PacketKind::Data && seen.nth == 18 && seen.again == 0;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    // The steps: chunks sent while the subflow is inactive, and chunks outstanding.
    let (mut suppressed, mut released, mut idle_steps) = (None, None, 0);
    for step in 1..40_000 {
        run.until(step * US / 4);
        let Some((connection, subflows)) = run.host(0).connection(0) else {
            continue;
        };
        let active = connection.windows()[1].active;
        match (suppressed, active) {
            (None, false) => suppressed = Some((step, subflows[1].seq.nxt())),
            (Some((_, nxt)), false) => {
                assert_eq!(subflows[1].seq.nxt(), nxt, "new data on a suppressed subflow");
                idle_steps += u32::from(subflows[1].segments.is_empty());
            }
            (Some(_), true) if released.is_none() => released = Some(step),
            _ => {}
        }
    }
    assert!(run.finished() && run.delivered() == 600 * 1448);
    assert!(suppressed.is_some() && released.is_some());
    assert!(idle_steps > 100, "outstanding data was never finished");
    assert_eq!(run.connection().congestion.suppressions().count(), 1);
    let stats = run.subflow(1).stats();
    assert_eq!(
        stats.timeouts + stats.retransmitted,
        1,
        "the loss was repaired while suppressed"
    );
    let after = run.data().into_iter().filter(|seen| seen.subflow == 1);
    let released = released.unwrap() * US / 4;
    assert!(
        after.filter(|seen| seen.time > released).count() > 20,
        "unused after its release"
    );
}

/// An application that stops sends nothing new. The flow finishes when all data that was sent is
/// acknowledged and losses are repaired.
#[test]
fn a_bulk_flow_stops() {
    let stop = 500 * US;
    let mut test = TestConnection::new();
    test.stop = Some(stop);
    let mut last = None;
    let run = test.run(1_000 * MS, move |seen| {
        // The last full window is sent about 40 us before the stop. One of its segments is lost.
        if seen.kind == PacketKind::Data && seen.again == 0 && seen.time > stop - 30 * US && last.is_none() {
            last = Some(seen.packet.chunk);
            return Fate::Drop;
        }
        Fate::Pass
    });
    let data = run.data();
    let newest = data.iter().rfind(|seen| seen.again == 0).unwrap();
    assert!(
        newest.time - DELAY - serialisation(1514) <= stop,
        "new data after the stop"
    );
    assert!(newest.time > stop - 50 * US, "no data before the stop");
    assert!(data.iter().any(|seen| seen.again > 0));
    assert!(run.finished() && !run.finished_before(stop + 1));
    assert_eq!(run.delivered(), u64::from(newest.packet.chunk + 1) * 1448);
}

/// A flow that is stopped before it is established finishes immediately: no data, no join, and a
/// late SYN/ACK changes nothing.
#[test]
fn a_flow_that_stops_before_it_is_established_sends_nothing() {
    let mut test = on_paths(&[DELAY; 2], Script::steady(5.0).algorithm());
    test.stop = Some(30 * US);
    let run = test.run(3_000 * MS, pass);
    assert_eq!(run.connection().lifetime.finished(), Some(30 * US));
    assert_eq!(run.connection().lifetime.established(), None);
    let kinds: Vec<PacketKind> = run.all().iter().map(|seen| seen.kind).collect();
    assert_eq!(kinds, [PacketKind::Syn, PacketKind::SynAck]);
    assert_eq!(run.delivered(), 0);
}

/// Data of any size arrives completely, in the minimum number of segments.
#[test]
fn sizes_are_exact() {
    let table: [(u64, &[u16]); 6] = [
        (1, &[1]),
        (1447, &[1447]),
        (1448, &[1448]),
        (1449, &[1448, 1]),
        (2896, &[1448, 1448]),
        (3000, &[1448, 1448, 104]),
    ];
    for (bytes, payloads) in table {
        for subflows in [1, 2] {
            let mut test = on_paths(&vec![DELAY; subflows], Script::steady(10.0).algorithm());
            test.bytes = Some(bytes);
            let run = test.run(100 * MS, pass);
            let found: Vec<u16> = run.data().iter().map(|seen| seen.packet.size - 66).collect();
            assert_eq!(found, payloads, "{bytes} bytes");
            assert_eq!(run.delivered(), bytes);
            assert!(run.finished());
        }
    }
}

/// Of a window that is not an integer, the integer part is used.
#[test]
fn a_window_of_two_and_a_half_lets_two_packets_go() {
    for (cwnd, packets) in [(1.0, 1), (1.99, 1), (2.0, 2), (2.5, 2), (3.0, 3)] {
        let mut test = TestConnection::new();
        test.cc = Script::steady(cwnd).algorithm();
        // Until just before the first acknowledgement returns.
        let run = test.run(
            round_trip(66, &Profile::linux()) + round_trip(1514, &Profile::linux()),
            pass,
        );
        assert_eq!(run.chunks().len(), packets, "cwnd {cwnd}");
    }
}
