use super::*;
use crate::test_windows::{ack, in_avoidance};

/// Events of Reno at a socket of Linux 6.18 (`TCP_INFO`): acknowledgements outside recoveries, and losses. A row has
/// the packets newly acknowledged, the window before, and the window after or the new slow-start threshold.
/// Two flows shared 8 Mbps, 11 ms and a queue of 14 packets.
const EVENTS: &str = include_str!("events.csv");

fn rfc() -> Reno {
    Reno::new(Parameters {
        rfc_growth: true,
        ..Parameters::default()
    })
}

#[test]
fn windows_are_those_that_linux_recorded() {
    let mut w = in_avoidance(&[10.0]);
    let (mut acks, mut losses, mut differing) = (0, 0, Vec::new());
    for (line, text) in (2..).zip(EVENTS.lines().skip(1)) {
        let (event, numbers) = text.split_once(',').unwrap();
        let [acked, before, expected] = [0, 1, 2].map(|i| {
            let cell = numbers.split(',').nth(i).unwrap();
            cell.parse::<u32>().unwrap()
        });
        // An acknowledgement that was missed, or after which the sender was not limited.
        w[0].cwnd = before.into();
        if event == "reduce" {
            losses += 1;
            Reno::default().on_fast_retransmit(&mut w, 0);
        } else {
            acks += 1;
            Reno::default().on_ack(&mut w, 0, ack(acked));
        }
        if w[0].cwnd != f64::from(expected) {
            differing.push(format!("line {line}: {text}: {}", w[0].cwnd));
        }
    }
    assert!(acks > 1000 && losses > 30, "{acks}, {losses}");
    // Acknowledgements that report a hole before the loss is detected grow no window.
    assert!(differing.len() * 50 < acks as usize, "{differing:#?}");
}

#[test]
fn slow_start_adds_what_is_acknowledged_up_to_ssthresh() {
    let mut w = vec![Window::new(4.0, 7.0)];
    Reno::default().on_ack(&mut w, 0, ack(2));
    assert_eq!(w[0].cwnd, 6.0);
    // One of the two packets reaches ssthresh 7, the other is left to congestion avoidance: 7 +
    // 1/7 by equation (3).
    let mut whole = w.clone();
    rfc().on_ack(&mut w, 0, ack(2));
    assert_eq!(w[0].cwnd, 7.0 + 1.0 / 7.0);
    Reno::default().on_ack(&mut whole, 0, ack(2));
    assert_eq!((whole[0].cwnd, whole[0].state[COUNT]), (7.0, 1.0));
}

#[test]
fn congestion_avoidance_adds_a_packet_a_round() {
    let mut w = in_avoidance(&[10.0]);
    // A delayed acknowledgement of 2: 10 + 2/10.
    rfc().on_ack(&mut w, 0, ack(2));
    assert_eq!(w[0].cwnd, 10.2);
    // An acknowledgement of more than the window adds only one packet.
    rfc().on_ack(&mut w, 0, ack(50));
    assert_eq!(w[0].cwnd, 11.2);
}

#[test]
fn a_whole_packet_is_added_when_a_window_is_acknowledged() {
    let mut w = in_avoidance(&[3.0]);
    for (acked, expected) in [(2, 3.0), (2, 4.0), (2, 4.0), (2, 5.0), (5, 6.0)] {
        Reno::default().on_ack(&mut w, 0, ack(acked));
        assert_eq!(w[0].cwnd, expected);
    }
}

#[test]
fn losses_halve_and_timeouts_collapse_no_lower_than_two_and_one() {
    for (mut reno, half, again) in [(rfc(), 5.5, 2.75), (Reno::default(), 5.0, 2.0)] {
        let mut w = in_avoidance(&[11.0, 3.0]);
        reno.on_fast_retransmit(&mut w, 0);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (half, half));
        reno.on_timeout(&mut w, 0, true);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, again));
        // A timeout of the same segment holds ssthresh constant.
        reno.on_timeout(&mut w, 0, false);
        assert_eq!((w[0].cwnd, w[0].ssthresh), (1.0, again));
        reno.on_fast_retransmit(&mut w, 1);
        assert_eq!((w[1].cwnd, w[1].ssthresh), (2.0, 2.0));
    }
}

/// `tcp_init_cwnd_reduction` and `tcp_enter_loss` set `snd_cwnd_cnt` to 0.
#[test]
fn a_reduction_forgets_what_was_counted() {
    for timeout in [false, true] {
        let mut w = in_avoidance(&[9.0]);
        Reno::default().on_ack(&mut w, 0, ack(8));
        assert_eq!(w[0].state[COUNT], 8.0);
        if timeout {
            Reno::default().on_timeout(&mut w, 0, true);
        } else {
            Reno::default().on_fast_retransmit(&mut w, 0);
        }
        assert_eq!((w[0].ssthresh, w[0].state[COUNT]), (4.0, 0.0));
    }
}

#[test]
fn the_floor_is_that_of_equation_4_or_another() {
    let mut low = Reno::new(Parameters {
        cwnd_min: 1.0,
        rfc_growth: true,
    });
    let mut w = in_avoidance(&[3.0, 1.5]);
    low.on_fast_retransmit(&mut w, 0);
    low.on_timeout(&mut w, 1, true);
    assert_eq!((w[0].cwnd, w[0].ssthresh), (1.5, 1.5));
    assert_eq!((w[1].cwnd, w[1].ssthresh), (1.0, 1.0));
    let mut high = Reno::new(Parameters {
        cwnd_min: 4.0,
        ..Parameters::default()
    });
    let mut w = in_avoidance(&[5.0]);
    high.on_fast_retransmit(&mut w, 0);
    assert_eq!((w[0].cwnd, w[0].ssthresh), (4.0, 4.0));
}

#[test]
fn a_timeout_is_followed_by_slow_start_to_half_the_window() {
    for (mut reno, last) in [(rfc(), 4.25), (Reno::default(), 4.0)] {
        let mut w = in_avoidance(&[8.0]);
        reno.on_timeout(&mut w, 0, true);
        for expected in [2.0, 3.0, 4.0, last] {
            reno.on_ack(&mut w, 0, ack(1));
            assert_eq!(w[0].cwnd, expected);
        }
    }
}

#[test]
fn its_laws_hold_whatever_is_reported() {
    crate::events::obeys("reno", |step| {
        let floor = step.parameter("cwnd_min").unwrap();
        step.moves_no_other_window();
        step.grows_at_acknowledgements_only();
        if step.parameter("rfc_growth") == Some(1.0) {
            step.adds_at_most_a_packet_a_round();
            step.adds_for_each_packet(1.0 / step.own().0.cwnd);
            step.keeps_at_a_loss(0.5, floor);
        } else {
            grows_and_halves_by_whole_packets(step, floor);
        }
    });
}

/// Asserts that congestion avoidance adds whole packets, at most one more than there were windows
/// acknowledged, and that a loss leaves whole packets.
#[track_caller]
fn grows_and_halves_by_whole_packets(step: &crate::events::ScriptStep<'_>, floor: f64) {
    use crate::events::Event;
    let (before, after) = step.own();
    match step.event {
        Event::Ack(ack) if before.cwnd >= before.ssthresh => {
            let added = after.cwnd - before.cwnd;
            let windows = f64::from(ack.acked) / before.cwnd.floor();
            assert!(
                added.fract().abs() < 1e-9 && (0.0..=windows + 1.0).contains(&added),
                "{step:?}"
            );
        }
        Event::FastRetransmit => {
            let half = (before.cwnd / 2.0).floor().max(floor);
            assert_eq!((after.cwnd, after.ssthresh), (half, half), "{step:?}");
        }
        _ => {}
    }
}
