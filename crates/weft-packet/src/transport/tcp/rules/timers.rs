//! Handshake, RTT samples and the retransmission timer (RFC 6298).

use super::*;

/// Returns a rule that drops data `n` times.
fn lose_first_data(n: u32) -> impl FnMut(&ObservedPacket) -> Fate + Send {
    let mut left = n;
    move |seen| {
        if seen.kind == PacketKind::Data && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Pass
    }
}

/// Rules 2.1 and 2.2: before a sample the RTO is the initial one. After the handshake, which gives
/// a sample if the profile says so, it is SRTT + 4 RTTVAR = 3 RTT. In Linux, the part beyond SRTT is
/// no less than the minimum.
#[test]
fn the_first_rto_is_that_of_the_handshake_or_the_initial_one() {
    let handshake = round_trip(66, &Profile::linux());
    for (sampled, min_rto, expected) in [
        (true, 200 * MS, handshake + 200 * MS),
        (true, US, 3 * handshake),
        (false, 200 * MS, 1_000 * MS),
        (false, US, 1_000 * MS),
    ] {
        let mut test = TestConnection::with_window(1.0, 1);
        test.profile.handshake.sample_handshake_rtt = sampled;
        test.profile.rto.min_rto = Time(min_rto);
        let mut run = test.start(lose_first_data(1));
        run.until(handshake + 1);
        let subflow = run.subflow(0);
        assert_eq!(subflow.stats().established, Some(handshake));
        assert_eq!(subflow.rtt.srtt(), if sampled { handshake } else { 0 });
        run.until(3_000 * MS);
        assert_eq!(
            Run::gaps(&run.times_of(0)),
            [expected],
            "sampled: {sampled}, minimum {min_rto}"
        );
        assert_eq!(run.subflow(0).stats().timeouts, 1);
        assert!(run.finished());
    }
}

/// A SYN is retransmitted after the initial RTO, then after twice as long each time, up to the
/// maximum; also if the SYN/ACK is lost. A retransmitted SYN gives no sample (Karn), and the
/// receiver accepts a subflow once.
#[test]
fn syns_are_sent_again_at_doubling_intervals() {
    for lost in [PacketKind::Syn, PacketKind::SynAck] {
        let mut test = TestConnection::with_window(1.0, 1);
        test.profile.rto.max_rto = Time(3_000 * MS);
        let run = test.run(20_000 * MS, move |seen| match seen.kind {
            kind if kind == lost && seen.nth < 4 => Fate::Drop,
            _ => Fate::Pass,
        });
        let times: Vec<u64> = run
            .of_kind(PacketKind::Syn)
            .iter()
            .map(|seen| seen.time)
            .collect();
        let gaps: Vec<u64> = Run::gaps(&times).iter().map(|gap| gap / MS).collect();
        assert_eq!(gaps, [1_000, 2_000, 3_000, 3_000], "{lost:?}");
        assert_eq!(run.subflow(0).stats().syn_timeouts, 4);
        assert_eq!(run.subflow(0).stats().timeouts, 0);
        assert!(run.finished());
        assert_eq!(run.delivered(), 1448);
        // The only sample is that of the data.
        assert_eq!(run.subflow(0).rtt.srtt(), round_trip(1514, &run.profile));
    }
}

/// Rules 5.4 to 5.7 with Karn's algorithm: each timeout doubles the RTO, up to the maximum. The
/// acknowledgement of a retransmission gives no sample and leaves the RTO doubled; the next sample
/// ends the backoff.
#[test]
fn timeouts_back_off_until_a_sample() {
    let mut test = TestConnection::with_window(1.0, 4);
    test.profile.rto.max_rto = Time(900 * MS);
    // Chunk 0 is lost three times, 1 once, 2 never, 3 once.
    let losses = [3, 1, 0, 1];
    let run = test.run(20_000 * MS, move |seen| {
        let lost = seen.kind == PacketKind::Data && seen.again < losses[seen.packet.chunk as usize];
        if lost { Fate::Drop } else { Fate::Pass }
    });
    let gaps = |chunk| -> Vec<u64> {
        Run::gaps(&run.times_of(chunk))
            .iter()
            .map(|gap| gap / MS)
            .collect()
    };
    assert_eq!(gaps(0), [200, 400, 800]);
    assert_eq!(gaps(1), [900]);
    assert_eq!(gaps(2), [0; 0]);
    assert_eq!(gaps(3), [200]);
    assert_eq!(run.subflow(0).stats().timeouts, 5);
    assert_eq!(run.subflow(0).stats().retransmitted, 5);
    // Handshake and chunk 2 are the only samples.
    let (first, second) = (round_trip(66, &run.profile), round_trip(1514, &run.profile));
    assert_eq!(run.subflow(0).rtt.srtt(), (7 * first + second) / 8);
}

/// Rule 5.3: an acknowledgement of new data restarts the timer. Only the timer detects a loss at
/// the tail.
#[test]
fn a_lost_tail_times_out_an_rto_after_the_last_acknowledgement() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let test = TestConnection::with_window(10.0, 10).recovering_by(recovery);
        let run = test.run(2_000 * MS, |seen| {
            let tail = seen.kind == PacketKind::Data && seen.packet.chunk == 9 && seen.again == 0;
            if tail { Fate::Drop } else { Fate::Pass }
        });
        let acks = run.acks();
        // From the middlebox to the sender, and from the sender to the middlebox.
        let returned = acks[8].time + DELAY + serialisation(66);
        let sent_again = run.times_of(9)[1] - DELAY - serialisation(1514);
        let rto = run.subflow(0).rtt.srtt() + 200 * MS;
        assert_eq!(sent_again - returned, rto, "{recovery:?}");
        assert_eq!(
            (
                run.subflow(0).stats().timeouts,
                run.subflow(0).stats().fast_retransmits
            ),
            (1, 0)
        );
        assert!(run.finished());
    }
}

/// A timeout retransmits what is not known to be held, from a window of one packet (RFC 5681,
/// section 3.1): with selective acknowledgements only the holes, without them everything.
#[test]
fn a_timeout_goes_back() {
    for (recovery, again) in [
        (Recovery::NewReno, vec![0, 1, 2, 3, 4, 5]),
        (Recovery::Sack, vec![0, 1, 2, 3]),
    ] {
        let mut test = TestConnection::with_window(6.0, 6).recovering_by(recovery);
        test.cc = reno(&mut test.profile, 6.0);
        // Two duplicates are not enough for another loss detection.
        let run = test.run(2_000 * MS, |seen| {
            let lost = seen.kind == PacketKind::Data && seen.packet.chunk < 4 && seen.again == 0;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        let resent = run.data().into_iter().filter(|seen| seen.again > 0);
        let resent: Vec<(u32, u64)> = resent.map(|seen| (seen.packet.chunk, seen.time)).collect();
        let chunks: Vec<u32> = resent.iter().map(|&(chunk, _)| chunk).collect();
        // The acknowledgement of chunk 3 shows that the receiver already holds 4 and 5, so NewReno
        // may not need to retransmit both.
        assert!(
            again.starts_with(&chunks) && chunks.len() >= 4,
            "{recovery:?}: {chunks:?}"
        );
        // One packet, then two by slow start.
        let rtt = round_trip(1514, &run.profile);
        assert!(resent[1].1 - resent[0].1 >= rtt && resent[2].1 - resent[1].1 < rtt);
        assert_eq!(
            (
                run.subflow(0).stats().timeouts,
                run.subflow(0).stats().fast_retransmits
            ),
            (1, 0)
        );
        assert_eq!(run.delivered(), 6 * 1448);
    }
}

/// The RTT of a segment is that of the links, to the picosecond, and a retransmitted segment never
/// changes it.
#[test]
fn samples_are_those_of_segments_sent_once() {
    let run = TestConnection::with_window(1.0, 200).run(3_000 * MS, |seen| {
        let lost = seen.kind == PacketKind::Data && seen.packet.chunk % 50 == 49 && seen.again == 0;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert_eq!(run.subflow(0).stats().timeouts, 4);
    let rtt = round_trip(1514, &run.profile);
    // The mean approaches the RTT from the handshake's shorter one; integer division keeps it a few picoseconds below.
    let srtt = run.subflow(0).rtt.srtt();
    assert!((rtt - 8..=rtt).contains(&srtt), "{srtt} for {rtt}");
    let seconds = run.connection().windows()[0].min_rtt;
    assert_eq!((seconds * 1e12).round() as u64, round_trip(66, &run.profile));
}

/// Linux since 6.5: the first four SYNs are retransmitted one second apart, then at doubling
/// intervals. With timestamps, the answer to the last SYN is a sample.
#[test]
fn the_first_syns_are_sent_again_at_equal_intervals() {
    let mut test = TestConnection::with_window(1.0, 1);
    test.profile.handshake.syn_linear_timeouts = 4;
    test.profile.options.timestamps = true;
    let mut run = test.start(|seen| match seen.kind {
        PacketKind::Syn if seen.nth < 6 => Fate::Drop,
        _ => Fate::Pass,
    });
    run.until(7_000 * MS + round_trip(66, &run.profile) + 1);
    let times: Vec<u64> = run
        .of_kind(PacketKind::Syn)
        .iter()
        .map(|seen| seen.time)
        .collect();
    let gaps: Vec<u64> = Run::gaps(&times).iter().map(|gap| gap / MS).collect();
    assert_eq!(gaps, [1_000, 1_000, 1_000, 1_000, 1_000, 2_000]);
    let subflow = run.subflow(0);
    assert_eq!(subflow.rtt.srtt(), round_trip(66, &run.profile));
    assert_eq!(subflow.rtt.rto(), subflow.rtt.srtt() + 200 * MS);
}

/// RFC 7323, section 4: with timestamps, the answer to the first SYN is a sample even after the
/// second SYN was sent.
#[test]
fn the_late_answer_to_a_syn_is_a_sample() {
    let mut test = TestConnection::with_window(10.0, 10);
    test.profile.options.timestamps = true;
    test.delays = vec![300 * MS];
    let run = test.run(10_000 * MS, pass);
    let stats = run.subflow(0).stats();
    assert_eq!((stats.syn_timeouts, stats.timeouts), (1, 0));
    let min_rtt = (run.connection().windows()[0].min_rtt * 1e12).round() as u64;
    assert_eq!(min_rtt, 4 * 300 * MS + 4 * serialisation(66));
}

/// RFC 5681, section 3.1: the initial window is one segment if SYNs were lost. Linux allows for one
/// lost SYN, and for a late answer.
#[test]
fn lost_syns_shrink_the_initial_window() {
    for (lost, delay, expected) in [(0, DELAY, 10), (1, DELAY, 10), (2, DELAY, 1), (0, 600 * MS, 10)] {
        let mut test = TestConnection::with_window(10.0, 20);
        test.cc = reno(&mut test.profile, 10.0);
        test.profile.options.timestamps = true;
        test.delays = vec![delay];
        let run = test.run(20_000 * MS, move |seen| match seen.kind {
            PacketKind::Syn if seen.nth < lost => Fate::Drop,
            _ => Fate::Pass,
        });
        let times: Vec<u64> = run.data().iter().map(|seen| seen.time).collect();
        let first = times.iter().filter(|&&time| time < times[0] + 4 * delay).count();
        assert_eq!(first, expected, "{lost} lost, {delay}");
    }
}

/// Linux adds the minimum RTO to SRTT, so that on a long path without variance the RTO is not the
/// round trip itself (`__tcp_set_rto`).
#[test]
fn the_minimum_rto_may_come_on_top_of_the_round_trip() {
    for (rto_estimator, rtt, expected) in [
        (RtoEstimator::Rfc6298, 40 * MS, 200),
        (RtoEstimator::Linux, 40 * MS, 240),
        (RtoEstimator::Rfc6298, 400 * MS, 400),
        (RtoEstimator::Linux, 400 * MS, 600),
    ] {
        let mut test = TestConnection::with_window(1.0, 100);
        test.profile.rto.rto_estimator = rto_estimator;
        test.delays = vec![rtt / 4];
        let run = test.run(60_000 * MS, pass);
        assert!(run.finished());
        assert_eq!(
            run.subflow(0).rtt.rto() / MS,
            expected,
            "{rto_estimator:?}, {rtt}"
        );
    }
}

/// 20 packets wait at a bottleneck, so that round trips are 200 ms: only Linux's RTO has room for
/// their variation.
#[test]
fn round_trips_of_the_minimum_rto_do_not_time_out() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut test = TestConnection::with_window(10.0, 500).recovering_by(recovery);
        test.delays = vec![50 * MS];
        let run = test.run(60_000 * MS, |seen| {
            let late = seen.kind == PacketKind::Data && seen.packet.chunk % 25 == 24;
            if late { Fate::Late(40 * MS) } else { Fate::Pass }
        });
        assert!(run.finished());
        assert_eq!(run.subflow(0).stats().timeouts, 0, "{recovery:?}");
    }
}
