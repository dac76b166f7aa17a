//! Notifications of congestion control, and the time at which its changes take effect.

use weft_cc::Elapsed;
use weft_transports::WindowValidation;

use super::*;

fn acks(script: &Script) -> Vec<Ack> {
    let events = script.events();
    let acks = events.iter().filter_map(|event| match *event {
        Event::Ack(_, ack) => Some(ack),
        _ => None,
    });
    acks.collect()
}

/// Congestion control is notified of every acknowledgement, of duplicates with the mark that each
/// brings, and of whether the window may grow.
#[test]
fn every_acknowledgement_is_told_in_recovery_and_duplicates_too() {
    for recovery in [Recovery::NewReno, Recovery::Rack] {
        let script = Script::steady(10.0).echoing(Echo::Dctcp);
        let mut test = TestConnection::with_window(10.0, 60).recovering_by(recovery);
        test.cc = script.algorithm();
        let run = test.run(1_000 * MS, |seen| match (seen.kind, seen.packet.chunk) {
            _ if seen.again > 0 => Fate::Pass,
            (PacketKind::Data, 20) => Fate::Drop,
            (PacketKind::Data, 24 | 26) => Fate::Mark,
            _ => Fate::Pass,
        });
        assert!(run.finished());
        let reported = acks(&script);
        assert_eq!(reported.len(), run.acks().len(), "{recovery:?}");
        // NewReno's acknowledgement of the repair counts as one segment (RFC 3465, section 2.3):
        // the other segments that it covers were reported by duplicates.
        let acked = reported.iter().map(|ack| ack.acked).sum::<u32>();
        let expected = if recovery == Recovery::NewReno { 49 } else { 60 };
        assert_eq!(acked, expected, "{recovery:?}");
        // 21 to 29 were in flight.
        let duplicates = &reported[20..29];
        let newly_held = u32::from(recovery == Recovery::Rack);
        assert!(
            duplicates.iter().all(|ack| ack.acked == newly_held),
            "{recovery:?}"
        );
        let marked: Vec<_> = duplicates.iter().map(|ack| ack.marked).collect();
        assert_eq!(marked[..9], [0, 0, 0, 1, 0, 1, 0, 0, 0]);
        assert!(duplicates.iter().all(|ack| !ack.may_grow && ack.rtt == 0.0));
        assert!(reported[..20].iter().all(|ack| ack.acked == 1 && ack.may_grow));
    }
}

/// The reported time is that since the connection opened, and the sample is that of the
/// acknowledgement itself.
#[test]
fn an_acknowledgement_brings_its_time_and_its_sample() {
    let script = Script::steady(1.0);
    let mut test = TestConnection::with_window(1.0, 3);
    test.cc = script.algorithm();
    let (syn, full) = (
        round_trip(test.profile.sizes.ack_size, &test.profile),
        round_trip(test.profile.wire_size(), &test.profile),
    );
    test.run(100 * MS, pass);
    for (n, ack) in (1..).zip(acks(&script)) {
        assert_eq!(ack.now, Elapsed(syn + n * full));
        assert_eq!(ack.rtt, full as f64 * 1e-12);
    }
}

/// A window that its application does not fill may not grow in congestion avoidance, and in slow
/// start up to twice what was outstanding (`tcp_is_cwnd_limited`). Simulators' rule asks only for
/// half of it.
#[test]
fn a_window_that_the_application_does_not_fill_may_not_grow() {
    use WindowValidation::{HalfUsed, Linux};
    // About seven segments per round trip of 45 us.
    let rate = Rate(1_800_000_000);
    for (validation, ssthresh, cwnd, expected) in [
        (Linux, f64::INFINITY, 10.0, true),
        (Linux, f64::INFINITY, 20.0, false),
        (Linux, 2.0, 10.0, false),
        (Linux, 2.0, 6.0, true),
        (HalfUsed, 2.0, 10.0, true),
        (HalfUsed, 2.0, 20.0, false),
    ] {
        let script = Script::steady(cwnd);
        let mut test = TestConnection::with_window(cwnd, 300);
        (test.cc, test.rate) = (script.algorithm(), Some(rate));
        test.profile.window.window_validation = validation;
        test.profile.window.initial_ssthresh = ssthresh;
        test.run(100 * MS, pass);
        let acks = acks(&script);
        let may_grow = acks[50..250].iter().filter(|ack| ack.may_grow).count();
        let expected = if expected { 200 } else { 0 };
        assert_eq!(may_grow, expected, "{validation:?}, {ssthresh}, {cwnd}");
    }
}

/// An application that writes a segment every 250 ms: the RTO of 200 ms has passed at each of them, and
/// the window halves, down to the initial one. It stays with a segment every 150 ms, as on Linux 6.18,
/// and if the algorithm or the profile excludes it.
#[test]
fn an_idle_time_reduces_the_window() {
    for (interval_ms, allows, linux, expected) in [
        (250, true, true, [80.0, 40.0, 20.0, 10.0, 10.0]),
        (150, true, true, [80.0; 5]),
        (250, false, true, [80.0; 5]),
        (250, true, false, [80.0; 5]),
    ] {
        let windows = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&windows);
        let mut script = Script::new(move |w, event, n| {
            if n == 0 {
                w[0].cwnd = 80.0;
            }
            if let Event::Ack(..) = event {
                seen.lock().unwrap().push(w[0].cwnd);
            }
        });
        if allows {
            script = script.restarting_after_idle();
        }
        let mut test = TestConnection::with_window(10.0, 5);
        (test.cc, test.rate) = (script.algorithm(), Some(Rate(1448 * 8 * 1000 / interval_ms)));
        test.profile.rto.min_rto = Time::from_ms(200);
        test.profile.window.slow_start_after_idle = linux;
        test.run(2_000 * MS, pass);
        assert_eq!(*windows.lock().unwrap(), expected, "{interval_ms} ms");
    }
}

/// A window that was full stays so for Linux while acknowledgements arrive without transmissions:
/// the last ones of a flow.
#[test]
fn a_full_window_counts_until_it_is_acknowledged() {
    let script = Script::steady(10.0);
    let mut test = TestConnection::with_window(10.0, 30);
    test.cc = script.algorithm();
    test.profile.window.initial_ssthresh = 2.0;
    test.run(100 * MS, pass);
    assert_eq!(acks(&script).len(), 30);
    assert!(acks(&script).iter().all(|ack| ack.may_grow));
}

/// If most of the window is not used, it may not grow.
#[test]
fn an_unused_window_may_not_grow() {
    let script = Script::steady(10.0);
    let mut test = TestConnection::with_window(10.0, 4);
    test.cc = script.algorithm();
    test.run(100 * MS, pass);
    assert_eq!(acks(&script).len(), 4);
    assert!(acks(&script).iter().all(|ack| !ack.may_grow));
}

/// Suppression may be set at any event; it counts, and its episode begins, at that event.
#[test]
fn suppression_at_an_acknowledgement_begins_and_ends_there() {
    let script = Script::new(|w, event, _| {
        for w in &mut *w {
            w.cwnd = 10.0;
        }
        if let Event::Ack(0, ack) = event {
            let (from, to) = (Elapsed(500 * US), Elapsed(900 * US));
            w[1].active = !(from..to).contains(&ack.now);
        }
    });
    let mut test = TestConnection::new();
    (test.subflows, test.delays, test.cc) = (2, vec![DELAY; 2], script.algorithm());
    let run = test.run(2 * MS, pass);
    let events = script.events();
    let first_from = |time| {
        let later = events.iter().filter_map(|event| match event {
            Event::Ack(0, ack) if ack.now >= Elapsed(time) => Some(ack.now.0),
            _ => None,
        });
        Time(later.min().unwrap())
    };
    let connection = run.connection();
    let episodes: Vec<_> = connection
        .congestion
        .suppressions()
        .episodes(connection.flow)
        .map(|episode| (episode.start, episode.end))
        .collect();
    assert_eq!(episodes, [(first_from(500 * US), Some(first_from(900 * US)))]);
    assert_eq!(connection.congestion.suppressions().count(), 1);
}
