//! Bursts, and acknowledgements of several segments.

use super::*;

fn acknowledged(run: &Run) -> Vec<u32> {
    run.acks().iter().map(|seen| seen.packet.seq / 1448).collect()
}

/// Packets that arrive back to back are acknowledged once, up to 64 KB; the last segment of the
/// connection is acknowledged immediately.
#[test]
fn segments_in_a_row_are_acknowledged_once() {
    let apart = serialisation(1514);
    let table: [(u64, u32, u64, &[u32]); 6] = [
        (2 * apart, 2, 20, &[20]),
        (2 * apart, 2, 60, &[45, 60]),
        (2 * apart, 1, 20, &[20]),
        // No packet arrives this soon.
        (apart / 2, 2, 6, &[2, 4, 6]),
        (0, 2, 6, &[2, 4, 6]),
        (0, 1, 3, &[1, 2, 3]),
    ];
    for (gro, ack_every, segments, expected) in table {
        let mut test = TestConnection::with_window(100.0, segments);
        test.profile.acks.ack_every = ack_every;
        test.offload.gro = Time(gro);
        let run = test.run(100 * MS, pass);
        assert_eq!(acknowledged(&run), expected, "{gro} ps, every {ack_every}");
        assert!(run.finished());
    }
}

/// A gap ends the sequence, and the acknowledgement is sent when the merge time is over. A single
/// segment waits for the timer, as without offload.
#[test]
fn a_gap_ends_the_row() {
    let gro = 3 * US;
    let mut test = TestConnection::with_window(100.0, 14);
    test.profile.acks.ack_every = 2;
    test.offload.gro = Time(gro);
    let run = test.run(100 * MS, |seen| match (seen.kind, seen.nth) {
        (PacketKind::Data, 8..=12) => Fate::Late(50 * US),
        (PacketKind::Data, 13) => Fate::Late(90 * US),
        _ => Fate::Pass,
    });
    assert_eq!(acknowledged(&run), [8, 13, 14]);
    let (data, acks) = (run.data(), run.acks());
    let way = 2 * DELAY + serialisation(1514) + serialisation(66);
    assert_eq!(acks[0].time - data[7].time, way + gro);
    let mut test = TestConnection::with_window(1.0, 3);
    test.profile.acks.ack_every = 2;
    test.offload.gro = Time(gro);
    let run = test.run(1_000 * MS, pass);
    assert_eq!(run.acks()[0].time - run.data()[0].time, way + 40 * MS);
}

/// RFC 8257, section 3.2: segments with another mark are not merged with earlier ones.
#[test]
fn a_mark_ends_the_row() {
    let mut test = TestConnection::with_window(100.0, 20);
    test.cc = Script::steady(100.0).echoing(Echo::Dctcp).algorithm();
    test.profile.acks.ack_every = 2;
    test.offload.gro = Time(3 * US);
    let run = test.run(100 * MS, |seen| {
        if seen.kind == PacketKind::Data && seen.nth == 9 {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    assert_eq!(acknowledged(&run), [9, 10, 11, 20]);
}

/// `tcp_tso_should_defer`: data waits until a third of the window is free.
#[test]
fn data_leaves_in_bursts_of_a_third_of_the_window() {
    let bursts = |tso| {
        let mut test = TestConnection::with_window(12.0, 600);
        test.offload.tso = tso;
        let run = test.run(100 * MS, |seen| match (seen.kind, seen.nth) {
            // The first window is spread over the round trip.
            (PacketKind::Data, nth) if nth < 12 => Fate::Late(u64::from(nth) * 3 * US),
            _ => Fate::Pass,
        });
        assert!(run.finished() && run.delivered() == 600 * 1448);
        let times: Vec<u64> = run.data().iter().map(|seen| seen.time).collect();
        let mut lengths = vec![1];
        for pair in times[12..580].windows(2) {
            if pair[1] - pair[0] > serialisation(1514) {
                lengths.push(1);
            } else {
                *lengths.last_mut().unwrap() += 1;
            }
        }
        lengths
    };
    let (with, without) = (bursts(true), bursts(false));
    assert!(without.iter().all(|&length| length <= 3), "{without:?}");
    let whole = &with[1..with.len() - 1];
    assert!(whole.iter().all(|&length| length >= 4), "{with:?}");
}

/// A lost burst is repaired and no subflow waits forever, with and without merging.
#[test]
fn what_is_lost_is_repaired() {
    for gro in [0, 5 * US] {
        let mut test = TestConnection::with_window(20.0, 300);
        test.profile.acks.ack_every = 2;
        test.offload = Offload {
            tso: true,
            gro: Time(gro),
        };
        let run = test.run(2_000 * MS, |seen| {
            let lost = seen.kind == PacketKind::Data && (40..50).contains(&seen.nth) && seen.again == 0;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        assert!(run.finished() && run.delivered() == 300 * 1448);
        assert_eq!(run.subflow(0).stats().timeouts, 0);
    }
}
