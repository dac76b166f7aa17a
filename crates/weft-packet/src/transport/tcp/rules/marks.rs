//! ECN: the three echoes (RFC 3168; RFC 8257, section 3.2; XMP's count), and when congestion
//! control is notified of marks.

use proptest::prelude::*;

use weft_transports::RoundEnd;

use super::*;
use crate::packet::{ECT, PROTECTED};
use crate::transport::tcp::wire::{COUNT_MASK, COUNT_SHIFT, CWR, ECE};

/// Number of segments after those under test, so that the window is in use while these are
/// acknowledged.
const MORE: u64 = 200;

/// Returns a rule that marks the segments for whose number `marked` is true.
fn mark(marked: impl Fn(u32) -> bool + Send) -> impl FnMut(&ObservedPacket) -> Fate + Send {
    move |seen| {
        if seen.kind == PacketKind::Data && seen.again == 0 && marked(seen.packet.chunk) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    }
}

/// Creates a test connection whose window may grow at every acknowledgement.
fn echoing(echo: Echo, cwnd: f64, segments: u64) -> (TestConnection, Script) {
    let script = Script::steady(cwnd).echoing(echo);
    let mut test = TestConnection::with_window(cwnd, segments);
    test.cc = script.algorithm();
    test.profile.marks.grow_after_mark = true;
    (test, script)
}

fn acks(script: &Script) -> Vec<Ack> {
    let events = script.events();
    let acks = events.iter().filter_map(|event| match *event {
        Event::Ack(_, ack) => Some(ack),
        _ => None,
    });
    acks.collect()
}

fn echoes(run: &Run) -> Vec<(u32, bool)> {
    let acks = run.acks();
    acks.iter()
        .map(|seen| (seen.packet.seq / 1448, seen.packet.flags & ECE != 0))
        .collect()
}

/// RFC 8257, section 3.2: where the mark changes, earlier segments are acknowledged immediately
/// with the old echo, and the segment itself with the new one: "send an immediate ACK".
#[test]
fn dctcp_acknowledges_at_once_where_marks_begin_and_end() {
    let (mut test, _) = echoing(Echo::Dctcp, 12.0, 12);
    test.profile.acks.ack_every = 4;
    let run = test.run(100 * MS, mark(|chunk| matches!(chunk, 2..=7)));
    let expected = [
        (2, false),
        (3, true),
        (7, true),
        (8, true),
        (9, false),
        (12, false),
    ];
    assert_eq!(echoes(&run), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The sender therefore learns of each segment whether it was marked, however acknowledgements
    /// are delayed.
    #[test]
    fn dctcp_tells_exactly_which_segments_were_marked(pattern in prop::collection::vec(any::<bool>(), 1..60), ack_every in 1_u32..5) {
        let (mut test, script) = echoing(Echo::Dctcp, 60.0, pattern.len() as u64 + MORE);
        test.profile.acks.ack_every = ack_every;
        let marked = pattern.clone();
        test.run(100 * MS, mark(move |chunk| marked.get(chunk as usize) == Some(&true)));
        let mut reported = Vec::new();
        for ack in acks(&script) {
            prop_assert!(ack.marked == 0 || ack.marked == ack.acked);
            reported.extend(std::iter::repeat_n(ack.marked > 0, ack.acked as usize));
        }
        prop_assert_eq!(&reported[..pattern.len()], &pattern);
    }

    /// XMP's count: each acknowledgement reports up to three marks, and the next one the rest.
    #[test]
    fn xmp_counts_every_mark(pattern in prop::collection::vec(any::<bool>(), 1..60), ack_every in 1_u32..7) {
        let (mut test, script) = echoing(Echo::Count, 60.0, pattern.len() as u64 + MORE);
        test.profile.acks.ack_every = ack_every;
        let marked = pattern.clone();
        let run = test.run(100 * MS, mark(move |chunk| marked.get(chunk as usize) == Some(&true)));
        let (mut at, mut waiting, mut reported) = (0, 0, 0);
        for (seen, ack) in run.acks().iter().zip(acks(&script)) {
            let next = (seen.packet.seq / 1448) as usize;
            let newly = pattern.iter().take(next).skip(at);
            waiting += newly.filter(|&&marked| marked).count() as u32;
            at = next;
            let count = u32::from(seen.packet.flags >> COUNT_SHIFT & COUNT_MASK);
            prop_assert_eq!(count, waiting.min(3));
            prop_assert_eq!(seen.packet.flags & ECE != 0, count > 0);
            prop_assert_eq!(ack.marked, count.min(ack.acked));
            waiting -= count;
            reported += count;
        }
        let marks = pattern.iter().filter(|&&marked| marked).count() as u32;
        prop_assert_eq!((reported, waiting), (marks, 0));
    }
}

/// RFC 3168, section 6.1.3: ECE on every acknowledgement from the first mark until CWR, which the sender puts on the first new
/// segment after the cut.
#[test]
fn classic_echoes_until_cwr() {
    let (test, script) = echoing(Echo::Classic, 10.0, 60);
    let run = test.run(100 * MS, mark(|chunk| chunk == 15));
    let with_cwr: Vec<u32> = run
        .data()
        .iter()
        .filter(|seen| seen.packet.flags & CWR != 0)
        .map(|seen| seen.packet.chunk)
        .collect();
    // The acknowledgement of segment 15 allows segment 25.
    assert_eq!(with_cwr, [25]);
    for (next, echoed) in echoes(&run) {
        assert_eq!(echoed, (16..=25).contains(&next), "acknowledgement of {next}");
    }
    assert_eq!(script.count(|event| *event == Event::Mark(0)), 1);
}

/// A mark on the segment with CWR starts a new echo.
#[test]
fn a_marked_cwr_keeps_the_echo() {
    let (test, script) = echoing(Echo::Classic, 10.0, 60);
    let run = test.run(100 * MS, mark(|chunk| chunk == 15 || chunk == 25));
    for (next, echoed) in echoes(&run) {
        assert_eq!(echoed, (16..=35).contains(&next), "acknowledgement of {next}");
    }
    assert_eq!(script.count(|event| *event == Event::Mark(0)), 2);
}

/// If every segment is marked, congestion control is notified of one mark per window: the next one
/// follows when all that was in flight at the last one is acknowledged.
#[test]
fn a_window_is_cut_once() {
    for echo in [Echo::Dctcp, Echo::Count, Echo::Classic] {
        for cwnd in [1, 5, 10] {
            let (test, script) = echoing(echo, f64::from(cwnd), 200);
            test.run(1_000 * MS, mark(|_| true));
            // Acknowledgements between marks.
            let (mut gaps, mut acks) = (Vec::new(), 0);
            for event in script.events() {
                match event {
                    Event::Ack(..) => acks += 1,
                    Event::Mark(_) => gaps.push(std::mem::take(&mut acks)),
                    _ => {}
                }
            }
            assert_eq!(gaps[0], 1, "{echo:?}: the first mark cuts");
            // The last window is not used in full.
            let whole = &gaps[1..gaps.len() - 2];
            assert!(whole.len() >= 200 / cwnd as usize - 3, "{echo:?}: {gaps:?}");
            assert!(whole.iter().all(|&gap| gap == cwnd), "{echo:?}: {gaps:?}");
        }
    }
}

/// Between a cut and the end of its window, the window grows or not, as the profile says.
#[test]
fn growth_after_a_mark_is_the_profiles_choice() {
    let [growing, waiting] = [true, false].map(|grow_after_mark| {
        let (mut test, script) = echoing(Echo::Dctcp, 10.0, 60);
        test.profile.marks.grow_after_mark = grow_after_mark;
        test.run(100 * MS, mark(|chunk| chunk == 20));
        assert_eq!(script.count(|event| *event == Event::Mark(0)), 1);
        // The fraction of marks is reported in full either way.
        let rounds = script.events().into_iter().filter_map(|event| match event {
            Event::Round(_, round) => Some(round),
            _ => None,
        });
        let (acked, marked) = rounds.fold((0, 0), |(a, m), round| (a + round.acked, m + round.marked));
        assert!((50..=60).contains(&acked) && marked == 1, "{acked}, {marked}");
        let growing = acks(&script).into_iter().filter(|ack| ack.may_grow);
        growing.map(|ack| ack.acked).sum::<u32>()
    });
    // The acknowledgement of the marked segment grows the window before the cut; those of the nine
    // segments in flight at the cut follow.
    assert_eq!(growing - waiting, 9);
}

/// A mark that the algorithm ignores starts no window in which growth would wait. It is counted
/// nevertheless.
#[test]
fn a_mark_that_is_not_heeded_changes_nothing_but_the_count() {
    let run = |ignores_marks: bool, marked: u32| {
        let (mut test, script) = echoing(Echo::Dctcp, 10.0, 60);
        let script = if ignores_marks {
            script.ignoring_marks()
        } else {
            script
        };
        test.cc = script.algorithm();
        test.profile.marks.grow_after_mark = false;
        test.run(100 * MS, mark(move |chunk| marked > 0 && chunk == 20));
        assert_eq!(acks(&script).iter().map(|ack| ack.marked).sum::<u32>(), marked);
        let grown = acks(&script).into_iter().filter(|ack| ack.may_grow);
        let marks = script.count(|event| *event == Event::Mark(0));
        (marks, grown.map(|ack| ack.acked).sum::<u32>())
    };
    let (_, unmarked) = run(false, 0);
    assert_eq!(run(false, 1), (1, unmarked - 9));
    assert_eq!(run(true, 1), (0, unmarked));
}

/// At a constant window, a round has this many acknowledgements (RFC 8257), or one fewer (Linux).
#[test]
fn a_round_ends_where_the_profile_says() {
    for (round_end, expected) in [(RoundEnd::Rfc8257, 10), (RoundEnd::Linux, 9)] {
        let (mut test, script) = echoing(Echo::Dctcp, 10.0, 200);
        test.profile.marks.round_end = round_end;
        test.run(100 * MS, mark(|_| false));
        let rounds = script.events().into_iter().filter_map(|event| match event {
            Event::Round(_, round) => Some(round.acked),
            _ => None,
        });
        let rounds: Vec<_> = rounds.collect();
        // The handshake's packet and the last window cause additional rounds.
        let whole = &rounds[2..rounds.len() - 2];
        assert!(whole.len() > 15, "{rounds:?}");
        assert!(whole.iter().all(|&acked| acked == expected), "{rounds:?}");
    }
}

/// Once all data is assigned to subflows, marks and rounds are still reported or not, as the
/// profile says.
#[test]
fn the_last_window_reacts_if_the_profile_says_so() {
    for (react_after_last_data, expected) in [(true, 1), (false, 0)] {
        let (mut test, script) = echoing(Echo::Dctcp, 10.0, 60);
        test.profile.marks.react_after_last_data = react_after_last_data;
        test.run(100 * MS, mark(|chunk| chunk == 55));
        assert_eq!(script.count(|event| *event == Event::Mark(0)), expected);
        let marked_rounds = script.count(|event| matches!(event, Event::Round(_, round) if round.marked > 0));
        assert_eq!(marked_rounds, expected);
    }
}

/// The order at one acknowledgement: the end of a round, then growth, then the cut.
#[test]
fn events_of_one_acknowledgement_come_in_order() {
    let (test, script) = echoing(Echo::Dctcp, 1.0, 6);
    test.run(100 * MS, mark(|chunk| chunk == 3));
    let ack = |marked| {
        Event::Ack(
            0,
            only_counts(Ack {
                acked: 1,
                marked,
                ..Ack::default()
            }),
        )
    };
    let round = |marked| Event::Round(0, Round { acked: 1, marked });
    let expected = [
        Event::Open(0),
        round(0),
        ack(0),
        round(0),
        ack(0),
        round(0),
        ack(0),
        round(1),
        ack(1),
        Event::Mark(0),
        round(0),
        ack(0),
        round(0),
        ack(0),
        Event::Close(0),
    ];
    let events = script.events().into_iter().map(|event| match event {
        Event::Ack(s, ack) => Event::Ack(s, only_counts(ack)),
        event => event,
    });
    assert_eq!(events.collect::<Vec<_>>(), expected);
}

/// Returns a report that has only the counts of `ack`.
fn only_counts(ack: Ack) -> Ack {
    let Ack { acked, marked, .. } = ack;
    Ack {
        acked,
        marked,
        ..Ack::default()
    }
}

/// Loss takes precedence: a mark causes no cut while a loss is repaired.
#[test]
fn marks_in_recovery_cut_nothing() {
    for recovery in [Recovery::NewReno, Recovery::Rack] {
        let (test, script) = echoing(Echo::Dctcp, 10.0, 60);
        test.recovering_by(recovery).run(1_000 * MS, |seen| {
            if seen.kind != PacketKind::Data || seen.again > 0 {
                Fate::Pass
            } else if seen.packet.chunk == 20 {
                Fate::Drop
            } else if (24..=28).contains(&seen.packet.chunk) {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        let events = script.events();
        let lost = events
            .iter()
            .position(|event| *event == Event::FastRetransmit(0))
            .unwrap();
        assert!(!events[lost..].contains(&Event::Mark(0)), "{recovery:?}");
    }
}

/// No packet is ECN-capable without an echo. With that of RFC 3168, new data is, but no SYN, acknowledgement or
/// retransmission (sections 6.1.1, 6.1.4 and 6.1.5). With that of DCTCP, all packets are (RFC 8257, section 3.6;
/// `tcp_ecn_send` of Linux).
#[test]
fn packets_are_ecn_capable_as_those_of_linux() {
    for (echo, new_data, others) in [
        (Echo::Off, false, false),
        (Echo::Classic, true, false),
        (Echo::Dctcp, true, true),
        (Echo::Count, true, true),
    ] {
        let (mut test, _) = echoing(echo, 8.0, 40);
        test.profile.handshake.full_handshakes = true;
        let run = test.run(1_000 * MS, |seen| {
            let lost = seen.kind == PacketKind::Data && seen.packet.chunk == 12 && seen.again == 0;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        assert_eq!(run.subflow(0).stats().retransmitted, 1);
        for seen in run.all() {
            let is_new = seen.kind == PacketKind::Data && seen.again == 0;
            let expected = if is_new { new_data } else { others };
            assert_eq!(seen.packet.flags & ECT != 0, expected, "{echo:?} {:?}", seen.kind);
        }
    }
}

/// CWR travels with new data (RFC 3168, section 6.1.2; `tcp_ecn_send` of Linux).
#[test]
fn a_retransmission_carries_no_cwr() {
    let (test, _) = echoing(Echo::Classic, 10.0, 60);
    let mut rule = mark(|chunk| chunk == 14);
    let run = test.run(1_000 * MS, move |seen| {
        let lost = seen.kind == PacketKind::Data && seen.packet.chunk == 12 && seen.again == 0;
        if lost { Fate::Drop } else { rule(seen) }
    });
    let all = run.all();
    let data = || all.iter().filter(|seen| seen.kind == PacketKind::Data);
    let with_cwr = |again: bool| {
        let copies = data().filter(move |seen| (seen.again > 0) == again);
        copies.filter(|seen| seen.packet.flags & CWR != 0).count()
    };
    assert_eq!(data().filter(|seen| seen.again > 0).count(), 1);
    assert_eq!(with_cwr(true), 0);
    assert!(with_cwr(false) > 0);
}

/// SYN and SYN/ACK, and no other packets, are exempt from drops and marks if the profile says so.
#[test]
fn a_protected_handshake_is_only_the_handshake() {
    for protect_handshake in [true, false] {
        let (mut test, _) = echoing(Echo::Dctcp, 4.0, 10);
        test.profile.handshake.protect_handshake = protect_handshake;
        let run = test.run(100 * MS, pass);
        for seen in run.all() {
            let handshake = matches!(seen.kind, PacketKind::Syn | PacketKind::SynAck);
            let expected = protect_handshake && handshake;
            assert_eq!(seen.packet.flags & PROTECTED != 0, expected, "{:?}", seen.kind);
        }
    }
}

/// Marks that duplicates report are counted, too.
#[test]
fn marks_behind_a_hole_are_counted() {
    let mut test = TestConnection::with_window(10.0, 100);
    test.cc = Algorithm::build("dctcp", &[]).unwrap();
    let mut rule = mark(|chunk| (20..26).contains(&chunk));
    let run = test.run(1_000 * MS, move |seen| {
        let lost = seen.kind == PacketKind::Data && seen.packet.chunk == 19 && seen.again == 0;
        if lost { Fate::Drop } else { rule(seen) }
    });
    assert_eq!(run.subflow(0).stats().retransmitted, 1);
    assert_eq!(run.subflow(0).stats().marked, 6);
    assert!(run.finished());
}
