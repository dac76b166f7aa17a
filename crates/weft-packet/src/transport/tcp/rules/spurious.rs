//! Recoveries that are undone because nothing was lost: by timestamps (RFC 3522), F-RTO (RFC 5682)
//! and D-SACK (RFC 2883, RFC 3708).

use super::*;

/// Returns an algorithm that halves windows at losses, reduces them to `after_timeout` packets at timeouts, and
/// never grows them.
fn halving(after_timeout: f64) -> Script {
    Script::new(move |w, event, _| match event {
        Event::Open(_) => w[0].cwnd = 10.0,
        Event::FastRetransmit(_) => w[0].cwnd = 5.0,
        Event::Timeout(..) => w[0].cwnd = after_timeout,
        _ => {}
    })
}

/// With either means, a spurious timeout causes one needless retransmission, and the window is
/// restored. With none, all data that was late is retransmitted.
#[test]
fn a_spurious_timeout_is_undone() {
    // Timestamps, F-RTO, maximum of retransmissions, whether the window is restored. RACK also uses
    // D-SACK.
    for (recovery, timestamps, frto, max, restored) in [
        (Recovery::Rack, true, false, 1, true),
        (Recovery::Rack, false, true, 1, true),
        (Recovery::Rack, true, true, 1, true),
        (Recovery::Rack, false, false, 10, true),
        (Recovery::Sack, true, false, 1, true),
        (Recovery::Sack, false, true, 1, true),
        (Recovery::Sack, false, false, 10, false),
        (Recovery::NewReno, true, false, 1, true),
        (Recovery::NewReno, false, true, 1, true),
        (Recovery::NewReno, false, false, 10, false),
    ] {
        let what = format!("{recovery:?}, timestamps {timestamps}, F-RTO {frto}");
        let script = halving(1.0);
        let mut test = TestConnection::with_window(10.0, 300).recovering_by(recovery);
        test.cc = script.algorithm();
        test.profile.options.timestamps = timestamps;
        test.profile.options.frto = frto;
        let run = test.run(3_000 * MS, stalled(300 * US, 250 * MS));
        let stats = run.subflow(0).stats();
        assert_eq!(stats.timeouts, 1, "{what}");
        assert!(
            (1..=max).contains(&stats.retransmitted),
            "{what}: {}",
            stats.retransmitted
        );
        assert_eq!(stats.retransmitted > 1, max > 1, "{what}");
        let cwnd = run.connection().windows()[0].cwnd;
        assert_eq!(cwnd == 10.0, restored, "{what}: {cwnd}");
        assert!(run.finished());
    }
}

/// RFC 5682, section 3.1, step 3a: if the loss was real, the new data is answered by duplicates,
/// and retransmission continues.
#[test]
fn a_real_loss_is_not_undone() {
    let cases = [(true, false), (false, true), (true, true)];
    for (recovery, (timestamps, frto)) in [Recovery::NewReno, Recovery::Rack]
        .into_iter()
        .flat_map(|recovery| cases.map(|case| (recovery, case)))
    {
        // Without selective acknowledgements, the new data counts as in flight until it is acknowledged, so that a window
        // of one packet would wait for a second timeout.
        let script = halving(2.0);
        let mut test = TestConnection::with_window(10.0, 300).recovering_by(recovery);
        test.cc = script.algorithm();
        test.profile.options.timestamps = timestamps;
        test.profile.options.frto = frto;
        let run = test.run(3_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                (PacketKind::Data, 30..40, 0) => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let stats = run.subflow(0).stats();
        assert_eq!(
            (stats.timeouts, stats.retransmitted),
            (1, 10),
            "{recovery:?}, {timestamps}, {frto}"
        );
        assert_eq!(run.connection().windows()[0].cwnd, 2.0);
        assert!(run.finished());
    }
}

/// Duplicates that come after the timeout, but before any new data of F-RTO, are of data that was sent before it. They let
/// nothing more be sent.
#[test]
fn late_duplicates_open_no_window() {
    let mut test = TestConnection::with_window(10.0, 300).recovering_by(Recovery::NewReno);
    test.cc = halving(1.0).algorithm();
    test.profile.options.frto = true;
    test.profile.options.timestamps = false;
    let mut acks = 0;
    let run = test.run(3_000 * MS, move |seen| {
        let is_ack = seen.kind == PacketKind::Ack && seen.packet.seq == 30 * 1448;
        acks += u32::from(is_ack);
        match (seen.kind, seen.packet.chunk, seen.again) {
            (PacketKind::Data, 30, 0 | 1) => Fate::Drop,
            _ if is_ack && acks > 1 => Fate::Late(250 * MS),
            _ => Fate::Pass,
        }
    });
    let stats = run.subflow(0).stats();
    assert_eq!(
        (stats.timeouts, run.times_of(30).len(), run.times_of(31).len()),
        (2, 3, 1)
    );
    assert!(run.finished());
}

/// Without new data to send, the conventional recovery continues (step 2b).
#[test]
fn without_new_data_retransmission_goes_on() {
    let mut test = TestConnection::with_window(10.0, 40);
    test.profile.options.frto = true;
    let run = test.run(3_000 * MS, |seen| {
        match (seen.kind, seen.packet.chunk, seen.again) {
            (PacketKind::Data, 30..40, 0) => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    assert_eq!(run.subflow(0).stats().timeouts, 1);
    assert!(run.finished_before(230 * MS));
}

/// A needless fast retransmit of a segment that was only late: the receiver reports a duplicate,
/// and the window is restored.
#[test]
fn a_fast_retransmit_in_vain_is_undone() {
    let script = halving(1.0);
    let mut test = TestConnection::with_window(10.0, 300);
    test.cc = script.algorithm();
    let run = test.run(3_000 * MS, |seen| {
        match (seen.kind, seen.packet.chunk, seen.again) {
            (PacketKind::Data, 30, 0) => Fate::Late(6 * serialisation(1514)),
            _ => Fate::Pass,
        }
    });
    let stats = run.subflow(0).stats();
    assert_eq!(
        (stats.timeouts, stats.fast_retransmits, stats.retransmitted),
        (0, 1, 1)
    );
    assert_eq!(run.connection().windows()[0].cwnd, 10.0);
}

/// RFC 7323: the acknowledgement of a retransmission is a sample and ends the backoff; without
/// timestamps it is not (Karn).
#[test]
fn timestamps_end_a_backoff() {
    for (timestamps, second) in [(true, 200), (false, 800)] {
        let mut test = TestConnection::with_window(1.0, 4);
        test.profile.options.timestamps = timestamps;
        // Chunk 1 is lost twice, chunk 2 once.
        let run = test.run(20_000 * MS, |seen| {
            match (seen.kind, seen.packet.chunk, seen.again) {
                (PacketKind::Data, 1, 0 | 1) | (PacketKind::Data, 2, 0) => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let gaps = |chunk| -> Vec<u64> {
            Run::gaps(&run.times_of(chunk))
                .iter()
                .map(|gap| gap / MS)
                .collect()
        };
        assert_eq!(
            (gaps(1), gaps(2)),
            (vec![200, 400], vec![second]),
            "timestamps {timestamps}"
        );
    }
}
