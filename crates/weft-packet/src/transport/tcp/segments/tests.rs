use super::*;

const MSS: u32 = 1000;

fn queue(n: u32) -> Segments {
    let mut q = Segments::default();
    for i in 0..n {
        q.push(i * MSS, i, MSS as u16, u64::from(i));
    }
    q
}

#[test]
fn cumulative_acknowledgement_tells_of_the_first_and_the_last() {
    let mut q = queue(4);
    assert_eq!(
        q.acknowledge(MSS * 2 + 1, 9, 0),
        Acked {
            packets: 2,
            delivered: 2,
            first: 0,
            last: 1,
            ..Acked::default()
        }
    );
    assert_eq!(q.pipe(), 2);
    assert_eq!(q.acknowledge(MSS * 2, 9, 0), Acked::default());
}

#[test]
fn three_segments_above_a_hole_make_it_lost() {
    let mut q = queue(6);
    assert_eq!(q.sack(MSS, 3 * MSS, 9, 0).delivered, 2);
    q.mark_lost_by_dupthresh(3);
    assert!(!q.any_lost());
    assert_eq!(q.sack(MSS, 4 * MSS, 9, 0).delivered, 1);
    q.mark_lost_by_dupthresh(3);
    assert!(q.any_to_retransmit());
    // 6 outstanding, 3 sacked, 1 lost.
    assert_eq!(q.pipe(), 2);
    assert_eq!(q.retransmit(50).map(|s| s.chunk), Some(0));
    assert_eq!(q.pipe(), 3);
    assert!(q.retransmit(50).is_none());
    // The retransmission gives no sample, and segments that were sacked before are not counted
    // again.
    assert_eq!(
        q.acknowledge(4 * MSS, 60, 0),
        Acked {
            packets: 4,
            delivered: 1,
            retransmitted: true,
            head_retransmitted_at: 50,
            ..Acked::default()
        }
    );
    assert_eq!(q.pipe(), 2);
    assert!(!q.reordered());
}

#[test]
fn two_holes_are_both_found() {
    let mut q = queue(10);
    q.sack(MSS, 2 * MSS, 9, 0);
    q.sack(3 * MSS, 5 * MSS, 9, 0);
    q.mark_lost_by_dupthresh(3);
    // Above segment 0: 1, 3, 4. Above segment 2: 3, 4 only.
    assert_eq!(q.retransmit(0).map(|s| s.chunk), Some(0));
    assert!(q.retransmit(0).is_none());
    q.sack(3 * MSS, 6 * MSS, 9, 0);
    q.mark_lost_by_dupthresh(3);
    assert_eq!(q.retransmit(0).map(|s| s.chunk), Some(2));
}

/// RFC 8985, section 6.2, step 5: a segment is lost if it was sent before the newest delivered
/// segment and is outstanding for longer than its RTT plus the window. Segments are sent at 0, 1,
/// 2, ...
#[test]
fn what_is_overtaken_is_lost_after_the_window() {
    let mut q = queue(6);
    // Segment 2 took 100.
    q.sack(2 * MSS, 3 * MSS, 102, 0);
    assert_eq!(q.rack_mark_lost(25, 102), 125);
    assert!(!q.any_lost());
    // Segment 0 is due, segment 1 a little later; segment 3 was sent later than the delivered one.
    assert_eq!(q.rack_mark_lost(25, 125), 126);
    assert_eq!(q.retransmit(125).map(|s| s.chunk), Some(0));
    assert_eq!(q.rack_mark_lost(0, 125), u64::MAX);
    assert_eq!(q.retransmit(125).map(|s| s.chunk), Some(1));
    assert!(q.retransmit(125).is_none());
    assert!(!q.reordered());
}

/// A lost retransmission hides no other: segments sent after it are found in the order of
/// transmission, not of sequence.
#[test]
fn retransmissions_are_overtaken_in_the_order_of_sending() {
    let mut q = queue(8);
    q.sack(7 * MSS, 8 * MSS, 100, 0);
    q.rack_mark_lost(0, 100);
    for (now, chunk) in [(100, 0), (110, 1), (120, 2), (130, 3)] {
        assert_eq!(q.retransmit(now).map(|s| s.chunk), Some(chunk));
    }
    // Segment 1 arrives: 0 is lost again, and is retransmitted last.
    q.sack(MSS, 2 * MSS, 210, 0);
    q.rack_mark_lost(0, 210);
    assert_eq!(q.retransmit(210).map(|s| s.chunk), Some(0));
    // Segment 3 arrives: 2 is lost again, although 0, before it in sequence, was sent later.
    q.sack(3 * MSS, 4 * MSS, 230, 0);
    assert_eq!(q.rack_mark_lost(0, 230), u64::MAX);
    assert_eq!(q.retransmit(230).map(|s| s.chunk), Some(2));
}

/// `tcp_mark_lost_retrans`: a retransmission is lost if data is sacked that was sent first after it,
/// and not if only data is that was outstanding then.
#[test]
fn data_sent_after_a_retransmission_shows_that_it_is_lost() {
    let mut q = queue(6);
    q.sack(2 * MSS, 5 * MSS, 9, 0);
    q.mark_lost_by_dupthresh(3);
    assert_eq!(q.retransmit(10).map(|s| s.chunk), Some(0));
    q.push(6 * MSS, 6, MSS as u16, 11);
    assert_eq!(q.retransmit(12).map(|s| s.chunk), Some(1));
    q.push(7 * MSS, 7, MSS as u16, 13);
    q.sack(5 * MSS, 6 * MSS, 20, 0);
    q.mark_lost_retransmissions();
    assert!(!q.any_to_retransmit());
    // Segment 6 was sent after the retransmission of 0, and before that of 1.
    q.sack(6 * MSS, 7 * MSS, 21, 0);
    q.mark_lost_retransmissions();
    assert_eq!(q.retransmit(21).map(|s| s.chunk), Some(0));
    assert_eq!(q.retransmit(21).map(|s| s.chunk), None);
    q.sack(7 * MSS, 8 * MSS, 22, 0);
    q.mark_lost_retransmissions();
    assert_eq!(q.retransmit(22).map(|s| s.chunk), Some(1));
    assert_eq!((q.pipe(), q.retransmit(22).map(|s| s.chunk)), (2, None));
}

/// Packets that overtake each other may also overtake a retransmission.
#[test]
fn no_retransmission_is_lost_once_packets_were_reordered() {
    let mut q = queue(6);
    q.sack(2 * MSS, 5 * MSS, 9, 0);
    q.mark_lost_by_dupthresh(3);
    assert_eq!(q.retransmit(10).map(|s| s.chunk), Some(0));
    q.push(6 * MSS, 6, MSS as u16, 11);
    q.push(7 * MSS, 7, MSS as u16, 11);
    q.sack(7 * MSS, 8 * MSS, 20, 0);
    q.sack(6 * MSS, 7 * MSS, 21, 0);
    q.mark_lost_retransmissions();
    assert_eq!(q.retransmit(21).map(|s| s.chunk), Some(1));
    assert_eq!(q.retransmit(21).map(|s| s.chunk), None);
}

#[test]
fn a_hole_filled_by_what_was_sent_once_is_reordering() {
    let mut q = queue(6);
    q.sack(3 * MSS, 4 * MSS, 9, 0);
    assert!(!q.reordered());
    q.sack(MSS, 2 * MSS, 9, 0);
    assert!(q.reordered());
    let mut q = queue(6);
    q.sack(3 * MSS, 4 * MSS, 9, 0);
    q.acknowledge(MSS, 9, 0);
    assert!(q.reordered());
}

#[test]
fn a_timeout_takes_everything_unsacked_for_lost() {
    let mut q = queue(5);
    q.sack(2 * MSS, 3 * MSS, 9, 0);
    q.mark_all_lost(u64::MAX);
    assert_eq!(q.pipe(), 0);
    let again: Vec<u32> = std::iter::from_fn(|| q.retransmit(9).map(|s| s.chunk)).collect();
    assert_eq!(again, [0, 1, 3, 4]);
    assert_eq!(q.pipe(), 4);
    q.mark_all_lost(u64::MAX);
    assert_eq!(q.retransmit(10).map(|s| s.chunk), Some(0));
}

/// RFC 8985, section 6.3: segments sent just before a timeout are not considered lost, except the
/// first one.
#[test]
fn a_timeout_spares_what_was_sent_just_now() {
    let mut q = queue(5);
    q.mark_all_lost(2);
    assert_eq!(q.pipe(), 2);
    let again: Vec<u32> = std::iter::from_fn(|| q.retransmit(9).map(|s| s.chunk)).collect();
    assert_eq!(again, [0, 1, 2]);
    q.unmark_lost();
    assert_eq!((q.pipe(), q.any_lost()), (5, false));
}

/// A segment that a timeout spared is lost once a segment is delivered that was sent after it.
#[test]
fn what_a_timeout_spared_may_be_lost() {
    let mut q = queue(5);
    q.mark_all_lost(2);
    q.push(5 * MSS, 5, MSS as u16, 20);
    q.sack(5 * MSS, 6 * MSS, 30, 0);
    q.rack_mark_lost(0, 1000);
    let again: Vec<u32> = std::iter::from_fn(|| q.retransmit(1000).map(|s| s.chunk)).collect();
    assert_eq!(again, [0, 1, 2, 3, 4]);
}

/// After a timeout a segment has been retransmitted twice. What was sent between the two tells nothing of the second one.
#[test]
fn only_the_last_retransmission_can_be_overtaken() {
    let mut q = queue(3);
    q.mark_all_lost(u64::MAX);
    assert_eq!(q.retransmit(10).map(|s| s.chunk), Some(0));
    q.push(3 * MSS, 3, MSS as u16, 20);
    q.mark_all_lost(15);
    assert_eq!(q.retransmit(300).map(|s| s.chunk), Some(0));
    q.sack(3 * MSS, 4 * MSS, 310, 0);
    q.rack_mark_lost(0, 1000);
    let again: Vec<u32> = std::iter::from_fn(|| q.retransmit(1000).map(|s| s.chunk)).collect();
    assert_eq!(again, [1, 2]);
}

#[test]
fn sequence_numbers_wrap() {
    let mut q = Segments::default();
    let start = u32::MAX - 3 * MSS;
    for i in 0..8 {
        q.push(start.wrapping_add(i * MSS), i, MSS as u16, 0);
    }
    q.sack(start.wrapping_add(2 * MSS), start.wrapping_add(7 * MSS), 9, 0);
    q.mark_lost_by_dupthresh(3);
    let again: Vec<u32> = std::iter::from_fn(|| q.retransmit(9).map(|s| s.chunk)).collect();
    assert_eq!(again, [0, 1]);
    assert_eq!(q.acknowledge(start.wrapping_add(8 * MSS), 9, 0).packets, 8);
    assert_eq!(q.pipe(), 0);
}
