//! Tests of the segments that a receiver acknowledges, and of the time at which it does (RFC 5681,
//! section 4.2; RFC 2018).

use proptest::prelude::*;

use super::*;

/// Returns the number of segments that each acknowledgement so far has covered.
fn acknowledged(run: &Run) -> Vec<u32> {
    run.acks().iter().map(|seen| seen.packet.seq / 1448).collect()
}

/// Every n-th segment is acknowledged, after those that are acknowledged immediately when a subflow
/// starts. The last segment of the connection is acknowledged immediately.
#[test]
fn every_nth_segment_is_acknowledged() {
    let table: [(u32, u32, u64, &[u32]); 6] = [
        (1, 0, 4, &[1, 2, 3, 4]),
        (2, 0, 6, &[2, 4, 6]),
        (2, 0, 7, &[2, 4, 6, 7]),
        (3, 0, 10, &[3, 6, 9, 10]),
        (2, 3, 8, &[1, 2, 3, 5, 7, 8]),
        (2, 16, 4, &[1, 2, 3, 4]),
    ];
    for (ack_every, quick_acks, segments, expected) in table {
        let mut test = TestConnection::with_window(20.0, segments);
        test.profile.acks.ack_every = ack_every;
        test.profile.acks.quick_acks = quick_acks;
        let run = test.run(100 * MS, pass);
        assert_eq!(
            acknowledged(&run),
            expected,
            "every {ack_every}, quick {quick_acks}"
        );
        assert!(run.finished());
        // No acknowledgement comes later: the timer of a delayed acknowledgement is off once it was
        // sent.
        assert!(run.all().last().unwrap().time < MS);
    }
}

/// A segment that is not followed by a second one is acknowledged when the timer of 40 ms expires.
#[test]
fn a_delayed_acknowledgement_is_sent_by_its_timer() {
    for timeout in [40 * MS, 3 * MS] {
        let mut test = TestConnection::with_window(1.0, 5);
        test.profile.acks.ack_every = 2;
        test.profile.acks.delayed_ack_timeout = Time(timeout);
        let run = test.run(1_000 * MS, pass);
        let between = 2 * DELAY + serialisation(1514) + serialisation(66);
        for (data, ack) in run.data().iter().zip(run.acks()).take(4) {
            assert_eq!(ack.time - data.time, between + timeout);
        }
        // The last segment is not delayed.
        assert_eq!(run.acks()[4].time - run.data()[4].time, between);
        assert_eq!(run.subflow(0).stats().timeouts, 0);
    }
}

/// A second segment before the timeout stops the timer, and the next single segment restarts it.
#[test]
fn the_timer_runs_from_the_first_unacknowledged_segment() {
    let mut test = TestConnection::with_window(3.0, 300);
    test.profile.acks.ack_every = 2;
    let run = test.run(10_000 * MS, pass);
    let between = 2 * DELAY + serialisation(1514) + serialisation(66);
    // Of three segments, two are acknowledged together. The third waits for the two that this
    // acknowledgement allows.
    for seen in run.acks() {
        let data = run.data();
        let newest = data
            .iter()
            .rfind(|data| data.time + between <= seen.time)
            .unwrap();
        assert_eq!(
            seen.time - newest.time,
            between,
            "{} segments",
            seen.packet.seq / 1448
        );
    }
    assert!(run.finished() && run.all().last().unwrap().time < 10 * MS);
}

/// A segment that is out of order or fills a hole is acknowledged immediately. The acknowledgement
/// reports the range that the segment is part of, if the sender uses SACK for recovery.
#[test]
fn segments_out_of_order_are_acknowledged_at_once() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut test = TestConnection::with_window(8.0, 8).recovering_by(recovery);
        test.profile.acks.ack_every = 3;
        test.profile.loss.dupack_threshold = 4;
        let run = test.run(1_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                (PacketKind::Data, 1 | 4, 0) => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let found: Vec<[u32; 3]> = run
            .acks()
            .iter()
            .map(|seen| [seen.packet.seq, seen.packet.lo, seen.packet.hi].map(|seq| seq / 1448))
            .collect();
        let ranges = [[1, 2, 3], [1, 2, 4], [1, 5, 6], [1, 5, 7], [1, 5, 8]];
        let expected = ranges.map(|range| match recovery {
            Recovery::NewReno => [1, 0, 0],
            _ => range,
        });
        assert_eq!(found[..5], expected, "{recovery:?}");
        // The retransmissions follow, each of which fills a hole.
        assert_eq!(found.last().unwrap()[0], 8);
        assert!(run.finished());
    }
}

/// Data that arrives twice is acknowledged immediately and counted once.
#[test]
fn duplicates_are_acknowledged_at_once() {
    let mut test = TestConnection::with_window(4.0, 4);
    test.profile.acks.ack_every = 2;
    let run = test.run(1_000 * MS, |seen| match seen.kind {
        PacketKind::Ack if seen.nth < 2 => Fate::Drop,
        _ => Fate::Pass,
    });
    // Both acknowledgements are lost, so the timer retransmits a segment that the receiver holds.
    assert_eq!(acknowledged(&run)[..3], [2, 4, 4]);
    assert_eq!(run.subflow(0).stats().timeouts, 1);
    assert_eq!(run.delivered(), 4 * 1448);
    assert!(run.finished());
}

/// A segment that is only late also times out. The segment and its retransmission count as one.
#[test]
fn a_late_segment_counts_once() {
    let run = TestConnection::with_window(4.0, 20).run(3_000 * MS, |seen| {
        let late = seen.kind == PacketKind::Data && seen.packet.chunk == 19 && seen.again == 0;
        if late { Fate::Late(250 * MS) } else { Fate::Pass }
    });
    assert_eq!(run.subflow(0).stats().timeouts, 1);
    assert_eq!(run.host(1).subflow_receiver(0, 0).unwrap().packets(), 21);
    assert_eq!(run.delivered(), 20 * 1448);
    assert!(run.finished_before(202 * MS));
}

/// A later acknowledgement replaces lost ones.
#[test]
fn acknowledgements_are_cumulative() {
    let run = TestConnection::with_window(10.0, 500).run(1_000 * MS, |seen| match seen.kind {
        PacketKind::Ack if seen.nth % 3 != 2 && seen.nth < 490 => Fate::Drop,
        _ => Fate::Pass,
    });
    let stats = run.subflow(0).stats();
    assert_eq!((stats.timeouts, stats.retransmitted), (0, 0));
    assert!(run.finished());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The segment that completes a connection's data is acknowledged immediately, regardless of
    /// its subflow, as Linux answers a `DATA_FIN` (RFC 8684, section 3.3.3). The end of a stopped
    /// flow is acknowledged immediately, too. A flow without loss therefore finishes at most one
    /// RTT after the receiver has its last byte.
    #[test]
    fn a_flow_ends_an_rtt_after_its_last_byte(
        delays in prop::collection::vec(1..20_u64, 1..5),
        (cwnd, segments) in (1..20_u32, 1..150_u64),
        (ack_every, quick_acks) in (1..5_u32, 0..17_u32),
        stop in prop::option::of(50..2_000_u64),
        scheduler in prop::sample::select(vec![Scheduler::RoundRobin, Scheduler::LowestRtt, Scheduler::Linux]),
        confirmed_joins in any::<bool>(),
    ) {
        let delays: Vec<u64> = delays.into_iter().map(|delay| delay * DELAY / 4).collect();
        let mut test = TestConnection {
            subflows: delays.len() as u32,
            delays: delays.clone(),
            ..TestConnection::with_window(f64::from(cwnd), segments)
        };
        test.profile.acks.ack_every = ack_every;
        test.profile.acks.quick_acks = quick_acks;
        test.profile.joins.confirmed_joins = confirmed_joins;
        test.profile.loss.tail_loss_probe = true;
        test.scheduler = scheduler;
        if let Some(stop) = stop {
            test.bytes = None;
            test.stop = Some(stop * US);
        }
        // Windows of one packet wait for the timer of delayed acknowledgements.
        let run = test.run(20_000 * MS, pass);
        let arrivals = run.data().into_iter().map(|seen| {
            seen.time + delays[seen.subflow as usize] + serialisation(seen.packet.size.into())
        });
        let slowest = delays.iter().max().unwrap();
        let rtt = 4 * slowest + 2 * serialisation(1514) + 2 * serialisation(66);
        // A stopped flow finishes when its sender stops, if nothing is outstanding.
        let last = arrivals.max().unwrap_or(0).max(stop.unwrap_or(0) * US);
        let finished = run.connection().lifetime.finished().unwrap();
        prop_assert!(finished <= last + rtt, "{} after {}, RTT {}", finished, last, rtt);
    }
}

/// Quick acknowledgements restart after a pause longer than the minimum RTO. A retransmission in
/// order by the timer therefore does not wait for a delayed acknowledgement.
#[test]
fn acknowledgements_are_quick_after_a_pause() {
    for (quick_acks, delayed) in [(4, false), (0, true)] {
        let mut test = TestConnection::with_window(4.0, 40);
        test.profile.acks.ack_every = 2;
        test.profile.acks.quick_acks = quick_acks;
        test.profile.loss.recovery = Recovery::Sack;
        // A whole window is lost.
        let run = test.run(3_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                (PacketKind::Data, 12..=15, 0) => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        assert_eq!(run.subflow(0).stats().timeouts, 1);
        let again = run.times_of(12)[1];
        let answer = run.acks().into_iter().find(|seen| seen.time > again).unwrap();
        // The constant window allows all four segments at the same time, so that only the
        // acknowledgement of the first one shows the effect.
        let first = answer.packet.seq / 1448;
        assert_eq!(first == 14, delayed, "quick {quick_acks}: {first}");
    }
}

/// A segment with PSH, the last one that a subflow had to send, is acknowledged as soon as the application has read everything
/// (Linux's `tcp_cleanup_rbuf`). Without this rule a lone segment waits for the timer of 40 ms.
#[test]
fn the_last_segment_to_send_is_acknowledged_when_it_has_been_read() {
    for (ack_pushed, wait) in [(true, 0), (false, 3 * MS)] {
        let mut test = TestConnection::with_window(10.0, 6);
        test.profile.acks.ack_every = 2;
        test.profile.acks.ack_pushed = ack_pushed;
        test.profile.acks.delayed_ack_timeout = Time(3 * MS);
        // The application writes a segment every 5 ms.
        test.rate = Some(Rate(u64::from(test.profile.sizes.mss) * 8 * 200));
        let run = test.run(100 * MS, pass);
        let between = 2 * DELAY + serialisation(1514) + serialisation(66);
        let (data, acks) = (run.data(), run.acks());
        assert_eq!((data.len(), acks.len()), (6, 6));
        for (data, ack) in data.iter().zip(&acks).take(5) {
            assert_eq!(ack.time - data.time, between + wait, "ack_pushed = {ack_pushed}");
        }
    }
}

/// While data of another subflow is missing, the application cannot read everything
/// (`mptcp_cleanup_rbuf` checks the memory of the whole connection). The acknowledgement is sent
/// when the missing data arrives.
#[test]
fn a_pushed_segment_waits_for_missing_data_of_other_subflows() {
    let mut test = TestConnection::with_window(10.0, 20);
    test.subflows = 2;
    test.delays = vec![4 * MS, DELAY];
    test.profile.acks.ack_every = 100;
    test.profile.acks.delayed_ack_timeout = Time(1_000 * MS);
    // A segment every 5 ms, alternating between the slow and the fast path.
    test.rate = Some(Rate(u64::from(test.profile.sizes.mss) * 8 * 200));
    let run = test.run(200 * MS, pass);
    let data = run.data();
    let on_fast_path = data
        .iter()
        .filter(|seen| seen.subflow == 1 && (8..18).contains(&seen.packet.chunk));
    let mut compared = 0;
    for fast in on_fast_path {
        let missing = data
            .iter()
            .find(|seen| seen.packet.chunk == fast.packet.chunk - 1)
            .unwrap();
        assert_eq!(missing.subflow, 0);
        let arrival = missing.time + 4 * MS + serialisation(1514);
        let ack = run
            .acks()
            .into_iter()
            .find(|ack| ack.subflow == 1 && ack.time > fast.time)
            .unwrap();
        assert_eq!(ack.time, arrival + DELAY + serialisation(66));
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}
