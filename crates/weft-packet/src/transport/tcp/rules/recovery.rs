//! Loss recovery: fast retransmit (RFC 5681, section 3.2), `NewReno` (RFC 6582), SACK (RFC 6675), retransmissions lost again
//! (RFC 8985's order of sending), limited transmit (RFC 3042).

use super::*;

const ALL: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];

/// Drops the given chunks the first time they pass.
fn lose(chunks: &'static [u32]) -> impl FnMut(&ObservedPacket) -> Fate + Send {
    move |seen| {
        let lost = seen.kind == PacketKind::Data && seen.again == 0 && chunks.contains(&seen.packet.chunk);
        if lost { Fate::Drop } else { Fate::Pass }
    }
}

/// Returns the number of duplicate acknowledgements (of `seq`) that the sender had when it
/// retransmitted `chunk`.
fn duplicates_before_resending(run: &Run, chunk: u32) -> usize {
    let seq = chunk * 1448;
    let resent = run.times_of(chunk)[1] - DELAY - serialisation(1514);
    let reached = |seen: &&ObservedPacket| seen.time + DELAY + serialisation(66) <= resent;
    let acks = run.acks().into_iter().filter(|seen| seen.packet.seq == seq);
    // The first of them is not a duplicate: it acknowledged the previous segment.
    acks.filter(reached).count() - 1
}

/// Returns the number of duplicate acknowledgements of data before `chunk`.
fn duplicates(run: &Run, chunk: u32) -> usize {
    let acks = run.acks().into_iter();
    acks.filter(|seen| seen.packet.seq == chunk * 1448).count() - 1
}

/// A segment is retransmitted at exactly as many duplicates as the threshold says, for all loss
/// detections. With fewer duplicates it is retransmitted by the timer, or by RACK's timer if there
/// is at least one.
#[test]
fn fast_retransmit_takes_exactly_the_threshold_of_duplicates() {
    for recovery in ALL {
        for threshold in [1, 2, 3, 5] {
            for after in [threshold - 1, threshold, threshold + 2] {
                let mut test =
                    TestConnection::with_window(20.0, u64::from(4 + after)).recovering_by(recovery);
                test.profile.loss.dupack_threshold = threshold;
                let run = test.run(1_000 * MS, lose(&[3]));
                let what =
                    format!("{recovery:?}, threshold {threshold}, {after} segments after the lost one");
                // With fewer, RACK waits for the reordering window (RFC 8985, section 6.2, step 4).
                let fast = u64::from(after >= threshold || recovery == Recovery::Rack && after > 0);
                let stats = run.subflow(0).stats();
                assert_eq!(
                    (stats.fast_retransmits, stats.timeouts),
                    (fast, 1 - fast),
                    "{what}"
                );
                let expected = threshold.min(after);
                assert_eq!(duplicates_before_resending(&run, 3), expected as usize, "{what}");
                // After a timeout, NewReno goes back to the hole and retransmits everything.
                let goes_back = recovery == Recovery::NewReno && fast == 0;
                let again = if goes_back { 1 + after } else { 1 };
                assert_eq!(stats.retransmitted, u64::from(again), "{what}");
                assert_eq!(run.delivered(), u64::from(4 + after) * 1448);
            }
        }
    }
}

/// The last segment is lost as well, so that nothing is sacked after the first repair. The retransmission has overtaken it, and
/// RACK retransmits it without a timeout (RFC 8985, section 6.2, step 5).
#[test]
fn a_retransmission_shows_that_the_last_segment_is_lost() {
    let test = TestConnection::with_window(20.0, 10).recovering_by(Recovery::Rack);
    let run = test.run(1_000 * MS, lose(&[7, 9]));
    let stats = run.subflow(0).stats();
    assert_eq!(
        (stats.fast_retransmits, stats.timeouts, stats.retransmitted),
        (1, 0, 2)
    );
    assert!(run.finished());
}

/// Congestion control is notified of one episode, however many segments of the window are lost.
#[test]
fn an_episode_is_told_once_and_ends_when_all_is_acknowledged() {
    for recovery in ALL {
        let script = Script::steady(20.0);
        let mut test = TestConnection::with_window(20.0, 200).recovering_by(recovery);
        test.cc = script.algorithm();
        let run = test.run(1_000 * MS, lose(&[30, 32, 33, 37, 100]));
        assert_eq!(
            script.count(|e| *e == Event::FastRetransmit(0)),
            2,
            "{recovery:?}"
        );
        assert_eq!(
            script.count(|e| matches!(e, Event::Timeout(..))),
            0,
            "{recovery:?}"
        );
        assert_eq!(run.subflow(0).stats().retransmitted, 5, "{recovery:?}");
        assert!(run.finished());
    }
}

/// Algorithms read this of a window, as AMP does before it suppresses.
#[test]
fn a_window_is_in_recovery_until_the_losses_are_repaired() {
    for recovery in ALL {
        let seen = Arc::<Mutex<Vec<bool>>>::default();
        let record = Arc::clone(&seen);
        let script = Script::new(move |w, _, _| {
            w[0].cwnd = 20.0;
            record.lock().unwrap().push(w[0].in_recovery);
        });
        let mut test = TestConnection::with_window(20.0, 200).recovering_by(recovery);
        test.cc = script.algorithm();
        let run = test.run(1_000 * MS, lose(&[30]));
        let mut changes = std::mem::take(&mut *seen.lock().unwrap());
        changes.dedup();
        assert_eq!(changes, [false, true, false], "{recovery:?}");
        assert!(run.finished());
    }
}

/// RFC 8985, section 6.2, step 4: without reordering so far and with fewer duplicates than the threshold, RACK waits for a
/// quarter of the round trip before it retransmits.
#[test]
fn a_segment_that_two_others_overtake_is_not_lost() {
    let mut test = TestConnection::with_window(20.0, 100).recovering_by(Recovery::Rack);
    test.cc = Script::steady(20.0).algorithm();
    let run = test.run(1_000 * MS, |seen| {
        match (seen.kind, seen.packet.chunk, seen.again) {
            (PacketKind::Data, 30, 0) => Fate::Late(2 * serialisation(1514) + US / 2),
            _ => Fate::Pass,
        }
    });
    assert_eq!(duplicates(&run, 30), 2);
    assert_eq!(run.subflow(0).stats().retransmitted, 0);
    assert!(run.finished());
}

/// `NewReno` detects one hole per round trip, by partial acknowledgements; selective
/// acknowledgements report all holes.
#[test]
fn newreno_repairs_a_hole_a_round_trip_and_sack_all_at_once() {
    for recovery in ALL {
        let run = TestConnection::with_window(20.0, 60)
            .recovering_by(recovery)
            .run(1_000 * MS, lose(&[20, 23, 26, 29]));
        let resent: Vec<u64> = [20, 23, 26, 29].map(|chunk| run.times_of(chunk)[1]).to_vec();
        let rtt = round_trip(1514, &run.profile);
        for gap in Run::gaps(&resent) {
            if recovery == Recovery::NewReno {
                assert!((rtt..rtt + 20 * serialisation(1514)).contains(&gap), "{gap}");
            } else {
                assert!(gap < rtt / 4, "{gap}");
            }
        }
        let stats = run.subflow(0).stats();
        assert_eq!(
            (stats.fast_retransmits, stats.timeouts, stats.retransmitted),
            (1, 0, 4)
        );
        assert!(run.finished());
    }
}

/// RFC 3042: each of the first two duplicates allows one new segment although the window is full.
/// With selective acknowledgements the pipe allows it anyway (RFC 6675, section 5, step 3),
/// whatever the profile says.
#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    for recovery in ALL {
        let off = if recovery == Recovery::NewReno { 0 } else { 2 };
        for (limited_transmit, expected) in [(true, 2), (false, off)] {
            let mut test = TestConnection::with_window(8.0, 100).recovering_by(recovery);
            test.profile.loss.limited_transmit = limited_transmit;
            let run = test.run(1_000 * MS, lose(&[20]));
            // New data between the last acknowledgement before the hole and the retransmission.
            let data = run.data();
            let resent = data.iter().position(|seen| seen.again > 0).unwrap();
            let highest = data[..resent].iter().map(|seen| seen.packet.chunk).max().unwrap();
            // The window at the last acknowledgement before the hole: 20 to 27.
            assert_eq!(
                highest - 27,
                expected,
                "{recovery:?}, limited transmit {limited_transmit}"
            );
            assert_eq!(run.subflow(0).stats().timeouts, 0);
        }
    }
}

/// In `NewReno`'s recovery each additional duplicate allows one new segment (RFC 5681, section 3.2,
/// step 4) and no more: the data in the network never exceeds the window.
#[test]
fn recovery_keeps_to_the_window() {
    for recovery in ALL {
        let window = 20;
        let run = TestConnection::with_window(f64::from(window), 400)
            .recovering_by(recovery)
            .run(1_000 * MS, lose(&[100, 103, 104, 200]));
        // Sent minus delivered or lost, as the middlebox observes it: events in order of time at
        // the sender.
        let mut events: Vec<(u64, i32)> = Vec::new();
        for seen in run.data() {
            events.push((seen.time - DELAY - serialisation(1514), 1));
            let lost = seen.again == 0 && [100, 103, 104, 200].contains(&seen.packet.chunk);
            if lost {
                // The sender learns of the loss only at the threshold of duplicates.
                events.push((
                    seen.time + round_trip(1514, &run.profile) / 2 + 4 * serialisation(1514),
                    -1,
                ));
            }
        }
        for seen in run.acks() {
            events.push((seen.time + DELAY + serialisation(66), -1));
        }
        events.sort_unstable();
        let mut flying = 0;
        for (time, change) in events {
            flying += change;
            assert!(
                flying <= window + 4,
                "{recovery:?}: {flying} packets in the network at {time}"
            );
        }
        assert_eq!(run.subflow(0).stats().timeouts, 0, "{recovery:?}");
    }
}

/// A retransmission that is also lost is detected by selective acknowledgements of data that was
/// sent after it (RACK; Linux until 4.3, `tcp_mark_lost_retrans`), else by the timer.
#[test]
fn a_lost_retransmission_times_out_without_selective_acknowledgements() {
    for (recovery, timeouts) in [(Recovery::NewReno, 1), (Recovery::Sack, 0), (Recovery::Rack, 0)] {
        let run = TestConnection::with_window(20.0, 200)
            .recovering_by(recovery)
            .run(1_000 * MS, |seen| {
                let lost = seen.kind == PacketKind::Data && seen.packet.chunk == 40 && seen.again < 2;
                if lost { Fate::Drop } else { Fate::Pass }
            });
        let stats = run.subflow(0).stats();
        assert_eq!(
            (stats.timeouts, stats.fast_retransmits),
            (timeouts, 1),
            "{recovery:?}"
        );
        let times = run.times_of(40);
        assert_eq!(times.len(), 3);
        let rtt = round_trip(1514, &run.profile);
        let found = times[2] - times[1] < 2 * rtt;
        assert_eq!(found, recovery != Recovery::NewReno, "{recovery:?}");
        assert!(run.finished());
    }
}

/// `tcp_mark_lost_retrans`: only new data that was sent after the retransmission counts. Without
/// new data to send, the timer detects the loss. A segment that is lost four times is retransmitted
/// once per round trip.
#[test]
fn a_lost_retransmission_needs_new_data_after_it_with_sack() {
    for (segments, again, timeouts) in [(44, 2, 1), (200, 2, 0), (200, 4, 0)] {
        let run = TestConnection::with_window(20.0, segments)
            .recovering_by(Recovery::Sack)
            .run(1_000 * MS, move |seen| {
                let lost = seen.kind == PacketKind::Data && seen.packet.chunk == 40 && seen.again < again;
                if lost { Fate::Drop } else { Fate::Pass }
            });
        let stats = run.subflow(0).stats();
        assert_eq!(
            (stats.timeouts, stats.retransmitted),
            (timeouts, again.into()),
            "{segments} segments, lost {again} times"
        );
        assert!(run.finished());
    }
}

/// SACK's recovery never retransmits segments that arrived, and `NewReno`'s only after a timeout.
#[test]
fn only_what_was_lost_is_sent_again() {
    for recovery in ALL {
        let mut losses = 0;
        let run = TestConnection::with_window(15.0, 3_000)
            .recovering_by(recovery)
            .run(5_000 * MS, |_| Fate::Pass);
        losses += run.subflow(0).stats().retransmitted;
        assert_eq!(losses, 0);
        let run = TestConnection::with_window(15.0, 3_000)
            .recovering_by(recovery)
            .run(5_000 * MS, |seen| {
                // About one in forty, and never twice.
                let lost = seen.kind == PacketKind::Data
                    && seen.again == 0
                    && seen.packet.chunk < 2_900
                    && seen.packet.chunk.wrapping_mul(2_654_435_761) >> 24 < 6;
                if lost { Fate::Drop } else { Fate::Pass }
            });
        let stats = run.subflow(0).stats();
        let lost = (0..2_900_u32)
            .filter(|c| c.wrapping_mul(2_654_435_761) >> 24 < 6)
            .count();
        assert_eq!(
            (stats.retransmitted, stats.timeouts),
            (lost as u64, 0),
            "{recovery:?}"
        );
        assert_eq!(run.delivered(), 3_000 * 1448);
    }
}

/// Mathis et al., Computer Communication Review 27(3), 1997, section 2. If every n-th packet is lost, the mean window of Reno is `W = sqrt(3 n / 2)`, with or
/// without delayed acknowledgements (growth counts packets). The band is W up to 1 % above and 2.5
/// packets below. The window does not grow from the lost packet's round until the recovery's end,
/// two rounds of each cycle, and `NewReno` counts the acknowledgement that ends it as one.
#[test]
fn periodic_losses_give_the_square_root_law() {
    for recovery in ALL {
        for ack_every in [1, 2] {
            for n in [100, 400, 1600] {
                let mut test = TestConnection::new().recovering_by(recovery);
                test.profile.acks.ack_every = ack_every;
                let law = (1.5 * f64::from(n)).sqrt();
                test.cc = reno(&mut test.profile, law.floor());
                // More than any window, so that no queue makes the RTT longer.
                test.delays = vec![10 * DELAY];
                let mut passed = 0;
                let end = 300 * MS;
                let run = test.run(end, move |seen| {
                    if seen.kind != PacketKind::Data {
                        return Fate::Pass;
                    }
                    passed += 1;
                    if passed % n == 0 { Fate::Drop } else { Fate::Pass }
                });
                assert_eq!(run.subflow(0).stats().timeouts, 0);
                let rtt = 36 * DELAY + round_trip(1514, &run.profile);
                let window = run.delivered() as f64 / 1448.0 * rtt as f64 / end as f64;
                let ratio = window / law;
                let what = format!("{recovery:?}, 1 of {n}, every {ack_every}: {ratio}");
                assert!((1.0 - 2.5 / law..1.01).contains(&ratio), "{what}");
            }
        }
    }
}

/// Mean windows over time of Linux 6.18 on a path of 11 ms on which every n-th packet is lost, the
/// mean of two runs of 20 s. During a recovery `snd_cwnd` is the window of the rate reduction, here as well. The
/// deviation is at most 5 %.
#[test]
fn periodic_losses_give_the_windows_of_linux() {
    for (algorithm, n, linux) in [
        ("reno", 100, 10.8),
        ("reno", 200, 15.9),
        ("cubic", 100, 10.3),
        ("cubic", 200, 13.85),
    ] {
        let mut test = TestConnection::new();
        test.profile = Profile::linux();
        test.cc = Algorithm::build(algorithm, &[]).unwrap();
        test.delays = vec![2_750 * US];
        let mut passed = 0;
        let mut run = test.start(move |seen| {
            if seen.kind != PacketKind::Data {
                return Fate::Pass;
            }
            passed += 1;
            if passed % n == 0 { Fate::Drop } else { Fate::Pass }
        });
        let (from, to) = (2_000, 20_000);
        let windows = (from..to).map(|step| {
            run.until(step * MS);
            let (connection, subflows) = run.host(0).connection(0).unwrap();
            match subflows[0].state.prr() {
                Some(prr) => f64::from(prr.cwnd()),
                None => connection.windows()[0].cwnd.floor(),
            }
        });
        let mean = windows.sum::<f64>() / (to - from) as f64;
        assert!(
            (0.95..1.05).contains(&(mean / linux)),
            "{algorithm}, 1 of {n}: {mean}"
        );
    }
}

/// Segments that were sacked before a timeout were counted then. The acknowledgement that fills the
/// hole grows a window in slow start by the one segment that it newly reports. RFC 5681, section
/// 3.1, counts "the number of previously unacknowledged bytes", and RFC 6675 removes sacked
/// segments from the pipe.
#[test]
fn one_acknowledgement_after_a_timeout_does_not_restore_the_window() {
    for recovery in ALL {
        let mut test = TestConnection::with_window(20.0, 60).recovering_by(recovery);
        test.cc = reno(&mut test.profile, 20.0);
        test.profile.window.initial_ssthresh = f64::INFINITY;
        test.profile.window.count_all_after_timeout = false;
        // The retransmission is also lost, so that the receiver holds the rest of the window when
        // the timer expires.
        let mut run = test.start(|seen| match (seen.kind, seen.packet.chunk, seen.again) {
            (PacketKind::Data, 20, 0 | 1) => Fate::Drop,
            (PacketKind::Data, 21.., 0) if seen.packet.chunk > 45 => Fate::Drop,
            _ => Fate::Pass,
        });
        let (mut timed_out, mut grown) = (false, None);
        for step in 1..400_000 {
            run.until(step * US);
            let Some((connection, subflows)) = run.host(0).connection(0) else {
                continue;
            };
            let cwnd = connection.windows()[0].cwnd;
            timed_out |= subflows[0].stats().timeouts > 0;
            if timed_out && cwnd > 1.0 {
                grown = Some(cwnd);
                break;
            }
        }
        assert_eq!(grown, Some(2.0), "{recovery:?}");
    }
}

/// Segments that waited behind a hole give no RTT sample (RFC 6298, section 3; Linux takes none from an acknowledgement that
/// covers anything sent again).
#[test]
fn nothing_is_sampled_across_a_repair() {
    for recovery in ALL {
        for lost in [1, 4] {
            let mut test = TestConnection::with_window(8.0, 80).recovering_by(recovery);
            test.cc = reno(&mut test.profile, 8.0);
            let run = test.run(3_000 * MS, move |seen| match (seen.kind, seen.packet.chunk) {
                (PacketKind::Data, 30) if seen.again < lost => Fate::Drop,
                _ => Fate::Pass,
            });
            // Eight segments may queue at the sender.
            let max = round_trip(1514, &run.profile) + 8 * serialisation(1514);
            let srtt = run.subflow(0).rtt.srtt();
            assert!(srtt <= max, "{recovery:?}, lost {lost} times: {srtt} of {max}");
        }
    }
}

/// RFC 6582, section 3.2, step 2: duplicates that answer retransmissions of go-back-N start no fast
/// retransmit.
#[test]
fn duplicates_after_a_timeout_start_nothing() {
    for recovery in ALL {
        let mut test = TestConnection::with_window(12.0, 300).recovering_by(recovery);
        test.cc = reno(&mut test.profile, 12.0);
        let run = test.run(3_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                // Every acknowledgement of a window is lost, so that the whole window is
                // retransmitted needlessly.
                (PacketKind::Ack, ..) if (20..32).contains(&(seen.packet.seq / 1448)) && seen.nth < 40 => {
                    Fate::Drop
                }
                _ => Fate::Pass,
            }
        });
        let stats = run.subflow(0).stats();
        assert_eq!(stats.fast_retransmits, 0, "{recovery:?}");
        assert!(stats.timeouts <= 1 && run.finished(), "{recovery:?}");
    }
}

/// RFC 5681, section 3.1: where a segment times out again, "the value of ssthresh is held constant".
#[test]
fn a_repeated_timeout_is_told_as_such() {
    for recovery in ALL {
        let script = Script::steady(4.0);
        let mut test = TestConnection::with_window(4.0, 40).recovering_by(recovery);
        test.cc = script.algorithm();
        let run = test.run(20_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                (PacketKind::Data, 8..=11, 0..=2) | (PacketKind::Data, 20..=23, 0) => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let timeouts = script.events().into_iter().filter_map(|event| match event {
            Event::Timeout(_, first) => Some(first),
            _ => None,
        });
        let timeouts: Vec<bool> = timeouts.collect();
        assert_eq!(timeouts[..4], [true, false, false, true], "{recovery:?}");
        assert!(run.finished());
    }
}

/// RFC 6937, section 3.1: when a window of 20 is reduced to 10, one packet is sent for every two
/// delivered, from the first acknowledgement on. Without PRR no packet is sent in the first half of
/// the round.
#[test]
fn the_window_is_reduced_bit_by_bit() {
    for (proportional, most_silent) in [(true, 3), (false, 9)] {
        let script = Script::new(|w, event, _| match event {
            Event::Open(_) => w[0].cwnd = 20.0,
            Event::FastRetransmit(_) => w[0].cwnd = 10.0,
            _ => {}
        });
        let mut test = TestConnection::with_window(20.0, 200);
        test.cc = script.algorithm();
        test.profile.options.prr = proportional;
        let run = test.run(1_000 * MS, lose(&[60]));
        let stats = run.subflow(0).stats();
        assert_eq!((stats.timeouts, stats.retransmitted), (0, 1));
        // Acknowledgements that reached the sender between two of its packets after the retransmission.
        let resent = run.times_of(60)[1];
        let sent = run.data().into_iter().filter(|seen| seen.time >= resent).take(9);
        let sent: Vec<u64> = sent.map(|seen| seen.time - DELAY - serialisation(1514)).collect();
        let silent = sent.windows(2).map(|pair| {
            let reached = run
                .acks()
                .into_iter()
                .map(|seen| seen.time + DELAY + serialisation(66));
            reached
                .filter(|reached| (pair[0]..pair[1]).contains(reached))
                .count()
        });
        let silent = silent.max().unwrap();
        if proportional {
            assert!(silent <= most_silent, "{silent}");
        } else {
            assert!(silent >= 5, "{silent}");
        }
        assert!(run.finished());
    }
}
