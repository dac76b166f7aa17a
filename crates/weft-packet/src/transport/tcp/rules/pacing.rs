//! Departure times of paced packets.

use super::*;

/// Returns the times between data packets, in order.
fn gaps(run: &Run) -> Vec<u64> {
    let times: Vec<u64> = run.data().iter().map(|seen| seen.time).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// `tcp_update_pacing_rate` and `tcp_update_skb_after_send`: from the eleventh packet on, each is
/// sent 1 / 2 of its share of a round trip after the previous one in slow start, 1 / 1.2
/// afterwards. Of a delay, half at most is made up for.
#[test]
fn packets_leave_at_two_windows_a_round_trip_and_then_at_one_fifth_more_than_one() {
    for (ssthresh, gain) in [(f64::INFINITY, 2.0), (10.0, 1.2)] {
        let mut test = TestConnection::with_window(10.0, 200);
        test.profile.window.pacing = true;
        test.profile.window.initial_ssthresh = ssthresh;
        let run = test.run(100 * MS, pass);
        assert!(run.finished() && run.delivered() == 200 * 1448);
        let gaps = gaps(&run);
        assert!(
            gaps[..9].iter().all(|&gap| gap == serialisation(1514)),
            "{gaps:?}"
        );
        // The round trip is that of idle links, once the first ten packets have passed.
        let share = round_trip(1514, &Profile::linux()) as f64 / (10.0 * gain);
        let min = *gaps[60..190].iter().min().unwrap() as f64;
        assert!((0.45 * share..1.05 * share).contains(&min), "{min} of {share}");
        // A window is sent in no less than a round trip over the gain.
        let whole: u64 = gaps[100..110].iter().sum();
        assert!(whole as f64 > 0.9 * 10.0 * share, "{whole} of {share}");
    }
}

/// The rate that congestion control asks for is kept, whatever the profile says.
#[test]
fn a_rate_that_is_asked_for_is_kept() {
    for pacing in [false, true] {
        let mut test = TestConnection::with_window(20.0, 200);
        test.cc = Script::steady(20.0).paced(100_000.0).algorithm();
        test.profile.window.pacing = pacing;
        let run = test.run(100 * MS, pass);
        assert!(run.finished());
        // Ten packets are sent back to back, the others 10 us apart; 20 packets per round trip of
        // 42 us would be much faster. The eleventh waits for the link.
        let times: Vec<u64> = run.data().iter().map(|seen| seen.time).collect();
        for (i, time) in (0..).zip(&times).skip(11) {
            assert_eq!(time - times[0], (i - 9) * 10 * US, "{times:?}");
        }
    }
}

/// A loss is repaired at the same rate, and no subflow waits forever.
#[test]
fn what_is_lost_goes_again_at_the_same_pace() {
    let mut test = TestConnection::with_window(20.0, 200);
    test.cc = Script::steady(20.0).paced(100_000.0).algorithm();
    let run = test.run(1_000 * MS, |seen| {
        let lost = seen.kind == PacketKind::Data && (40..50).contains(&seen.nth) && seen.again == 0;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert!(run.finished() && run.delivered() == 200 * 1448);
    assert_eq!(run.subflow(0).stats().timeouts, 0);
    assert!(gaps(&run)[20..].iter().all(|&gap| gap >= 5 * US));
}
