//! The tail of a flight: RACK's reordering window and the tail loss probe (RFC 8985), where there
//! are too few duplicates for other loss detection.

use super::*;

const SLACK: u64 = 2 * MS;

/// Creates a test connection with loss probes.
fn probing(cwnd: f64, segments: u64) -> TestConnection {
    let mut test = TestConnection::with_window(cwnd, segments);
    test.profile.loss.tail_loss_probe = true;
    test
}

/// Drops the given chunks the first time they pass.
fn lose(chunks: std::ops::Range<u32>) -> impl FnMut(&ObservedPacket) -> Fate + Send {
    move |seen| {
        let lost = seen.kind == PacketKind::Data && seen.again == 0 && chunks.contains(&seen.packet.chunk);
        if lost { Fate::Drop } else { Fate::Pass }
    }
}

/// Returns when the last acknowledgement before `time` reached the sender.
fn last_acknowledgement(run: &Run, time: u64) -> u64 {
    let reached = run
        .acks()
        .into_iter()
        .map(|seen| seen.time + DELAY + serialisation(66));
    reached.filter(|&reached| reached < time).max().unwrap()
}

/// Section 7.2: "PTO = 2 * SRTT", here with Linux's slack of two ticks, from the last
/// acknowledgement. With one segment outstanding the receiver may delay its acknowledgement, for
/// which Linux allows the minimum RTO, but no more than the RTO.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    for (lost, probe, again, lone) in [
        // The whole last window is lost: its last segment is the probe, and reveals the loss of the
        // others.
        (6..10, 9, 4, false),
        (8..10, 9, 2, false),
        (9..10, 9, 1, true),
    ] {
        let run = probing(4.0, 10).run(2_000 * MS, lose(lost.clone()));
        let stats = run.subflow(0).stats();
        assert_eq!((stats.timeouts, stats.retransmitted), (0, again), "{lost:?}");
        let sent = run.times_of(probe)[1] - DELAY - serialisation(1514);
        let waited = sent - last_acknowledgement(&run, sent);
        let rtt = round_trip(1514, &run.profile);
        let expected = if lone { 200 * MS } else { SLACK };
        let max = expected + 2 * rtt;
        assert!((expected..=max).contains(&waited), "{lost:?}: {waited} of {max}");
        assert!(run.finished());
    }
}

/// Section 7.3: new data is sent first, whatever the window.
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let run = probing(4.0, 100).run(2_000 * MS, lose(20..24));
    let stats = run.subflow(0).stats();
    assert_eq!(
        (stats.timeouts, stats.fast_retransmits, stats.retransmitted),
        (0, 1, 4)
    );
    // The probe, beyond the window of 20 to 23, is the first packet after them.
    let chunks = run.chunks();
    let lost = chunks.iter().position(|&chunk| chunk == 23).unwrap();
    assert_eq!(chunks[lost + 1], 24);
    assert!(run.finished());
}

/// Section 7.4: a loss that the probe itself repaired reduces the window, once it is clear that it did.
#[test]
fn a_loss_repaired_by_its_probe_is_told() {
    let script = Script::steady(4.0);
    let mut test = probing(4.0, 200);
    test.cc = script.algorithm();
    test.profile.connection.receive_buffer = 4 * 1448;
    // The receive window keeps new data back, so that the last segment is retransmitted; then it
    // opens.
    let run = test.run(2_000 * MS, lose(23..24));
    assert_eq!(run.subflow(0).stats().timeouts, 0);
    assert_eq!(script.count(|event| *event == Event::FastRetransmit(0)), 1);
    assert!(run.finished());
}

/// A probe whose original arrived late is answered by a D-SACK (RFC 2883): no loss.
#[test]
fn a_probe_in_vain_is_no_loss() {
    let script = Script::steady(4.0);
    let mut test = probing(4.0, 200);
    test.cc = script.algorithm();
    test.profile.connection.receive_buffer = 4 * 1448;
    let run = test.run(2_000 * MS, stalled(300 * US, 10 * MS));
    assert_eq!(run.subflow(0).stats().retransmitted, 1);
    assert_eq!(script.count(|event| *event == Event::FastRetransmit(0)), 0);
    assert_eq!(run.subflow(0).stats().timeouts, 0);
    assert!(run.finished());
}

/// Section 6.2, steps 4 and 5: with fewer duplicates than the threshold, an overtaken segment is
/// lost after a quarter of the minimum RTT, and not before.
#[test]
fn one_duplicate_is_enough_after_the_reordering_window() {
    let run = TestConnection::with_window(4.0, 10).run(2_000 * MS, lose(8..9));
    let stats = run.subflow(0).stats();
    assert_eq!(
        (stats.timeouts, stats.fast_retransmits, stats.retransmitted),
        (0, 1, 1)
    );
    let sent = run.times_of(8)[1] - DELAY - serialisation(1514);
    let waited = sent - last_acknowledgement(&run, sent);
    let quarter = round_trip(66, &run.profile) / 4;
    // The segment itself was sent shortly before the one that overtook it.
    let before = serialisation(1514);
    assert!(
        (SLACK + quarter - before..=SLACK + quarter).contains(&waited),
        "{waited}"
    );
}

/// Section 6.2, step 3: once reordering was detected, by a segment that was late but not
/// retransmitted, the window is kept even with three duplicates. A segment that is late by less is
/// not retransmitted.
#[test]
fn reordering_seen_once_is_not_taken_for_loss() {
    let late = |by: u64| {
        move |seen: &ObservedPacket| match (seen.kind, seen.packet.chunk % 40) {
            (PacketKind::Data, 20) if seen.again == 0 => Fate::Late(by),
            _ => Fate::Pass,
        }
    };
    for (first, fast_retransmits) in [(2, 0), (8, 10)] {
        // Chunk 20, then 60, 100, ...: those overtaken by eight.
        let [first, then] = [first, 8].map(|segments| late(segments * serialisation(1514)));
        let run = TestConnection::with_window(12.0, 400).run(2_000 * MS, move |seen| {
            if seen.packet.chunk < 40 {
                first(seen)
            } else {
                then(seen)
            }
        });
        let stats = run.subflow(0).stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (0, fast_retransmits));
        assert!(run.finished());
    }
}

/// Creates a test connection with probes whose application writes segments this many picoseconds
/// apart.
fn written_every(interval: u64, segments: u64) -> TestConnection {
    let mut test = probing(10.0, segments);
    let bits = u64::from(test.profile.sizes.mss) * 8;
    test.rate = Some(Rate(bits * 1_000_000_000_000 / interval));
    test
}

/// Section 7.2: new data restarts the probe's timer. The first segment of each pair waits for the
/// second one, and has waited for longer than the PTO when the acknowledgement of both arrives.
#[test]
fn new_data_puts_the_probe_off() {
    let mut test = written_every(15 * MS, 200);
    test.profile.acks.ack_every = 2;
    test.delays = vec![2_500 * US];
    let run = test.run(4_000 * MS, pass);
    assert_eq!(run.subflow(0).stats().retransmitted, 0);
    assert!(run.finished());
}

/// New data also ends the longer wait that a single segment is allowed: with two outstanding, the
/// probe is due earlier.
#[test]
fn a_probe_that_waited_for_a_single_segment_goes_soon_after_another() {
    let run = written_every(12 * MS, 30).run(2_000 * MS, lose(10..12));
    assert_eq!(run.subflow(0).stats().timeouts, 0);
    let times = run.times_of(11);
    assert!((2 * MS..3 * MS).contains(&(times[1] - times[0])), "{times:?}");
}

/// Section 7.4.2: the D-SACK of a needless probe may arrive when nothing is outstanding any more;
/// it does not indicate a loss then, either.
#[test]
fn a_probe_in_vain_is_no_loss_when_all_is_acknowledged() {
    let script = Script::steady(10.0);
    let mut test = written_every(15 * MS, 20);
    test.cc = script.algorithm();
    test.profile.rto.min_rto = Time(5 * MS);
    // The tenth segment, alone, and its probe 5 ms later, arrive 8 ms late.
    let run = test.run(1_000 * MS, stalled(9 * 15 * MS - MS, 9 * MS));
    let stats = run.subflow(0).stats();
    assert_eq!((stats.retransmitted, stats.timeouts), (1, 0));
    assert_eq!(script.count(|event| *event == Event::FastRetransmit(0)), 0);
    assert!(run.finished());
}

/// Section 6.2, step 5: a probe may also be lost, and is considered lost when segments sent after
/// it have arrived.
#[test]
fn a_lost_probe_is_overtaken_like_any_segment() {
    let run = written_every(12 * MS, 30).run(2_000 * MS, |seen| {
        let chunk = seen.packet.chunk;
        let lost = seen.kind == PacketKind::Data
            && (chunk == 10 && seen.again == 0 || chunk == 11 && seen.again < 2);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!(run.subflow(0).stats().timeouts, 0);
    let times = run.times_of(11);
    assert!(times.len() == 3 && times[2] - times[0] < 20 * MS, "{times:?}");
    assert!(run.finished());
}

/// A suppressed subflow gets no new data, not even as a probe: the probe is its last segment.
#[test]
fn a_suppressed_subflow_probes_with_its_last_segment() {
    let script = Script::new(|w, event, _| {
        for w in w.iter_mut() {
            w.cwnd = 4.0;
        }
        if matches!(event, Event::Ack(1, _)) {
            w[1].active = false;
        }
    });
    let test = TestConnection {
        subflows: 2,
        delays: vec![DELAY; 2],
        cc: script.algorithm(),
        ..probing(4.0, 4_000)
    };
    let run = test.run(100 * MS, |seen| {
        let is_tail = seen.subflow == 1 && (2..4).contains(&seen.nth) && seen.again == 0;
        let lost = seen.kind == PacketKind::Data && is_tail;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    let on_1 = run.data().into_iter().filter(|seen| seen.subflow == 1);
    let sent: Vec<_> = on_1.map(|seen| (seen.packet.seq / 1448, seen.again)).collect();
    assert_eq!(sent, [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (2, 1)]);
    assert_eq!(run.subflow(1).stats().timeouts, 0);
}
