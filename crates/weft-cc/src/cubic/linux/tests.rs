use super::*;

/// Calls of `cubictcp_cong_avoid` and `cubictcp_recalc_ssthresh` by Linux 6.18 (HZ = 250) that a
/// program of congestion control recorded, which passed them on to these functions. There is one
/// flow at 200 Mbps and 0.4 ms and one at 2 Mbps and 100 ms, each behind a queue of 20 packets. A
/// third one, at 8 Mbps and 11 ms, loses every 100th packet. Each begins at a loss. `found` is the window
/// after growth or the new slow-start threshold, and `count` is `snd_cwnd_cnt` after it.
const EVENTS: &str = include_str!("events.csv");

#[test]
fn windows_and_counts_are_those_that_linux_recorded() {
    let mut law = (Law::new(0.4, 0.7), Bictcp::default());
    let (mut trace, mut grown, mut reduced) = ("", 0, 0);
    let mut differing = Vec::new();
    for (line, text) in (2..).zip(EVENTS.lines().skip(1)) {
        let cells: Vec<&str> = text.split(',').collect();
        let [name, event, numbers @ ..] = cells.as_slice() else {
            panic!("line {line}")
        };
        let number = |i: usize| numbers[i].parse::<u32>().unwrap_or(0);
        if *name != trace {
            (trace, law.1) = (name, Bictcp::default());
        }
        let (law, bictcp) = (&law.0, &mut law.1);
        let mut w = Window::new(number(3).into(), number(4).into());
        w.min_rtt = f64::from(number(1)) * 1e-6;
        let found = if *event == "reduce" {
            reduced += 1;
            bictcp.reduce(w.cwnd, true, law)
        } else {
            grown += 1;
            let left = crate::slow_start(&mut w, number(2));
            if left > 0 {
                bictcp.grow(&mut w, left, Elapsed(u64::from(number(0)) * JIFFY), law);
            }
            w.cwnd
        };
        let expected = (f64::from(number(5)), number(6));
        if (found, bictcp.cwnd_cnt) != expected {
            differing.push(format!("line {line}: {text}: {found}, {}", bictcp.cwnd_cnt));
            bictcp.cwnd_cnt = expected.1;
        }
    }
    assert!(grown > 2500 && reduced > 20, "{grown}, {reduced}");
    // Linux's cube root, whose error is 0.2 %, moves the cubic function by some milliseconds.
    assert!(differing.len() * 1000 < grown, "{differing:#?}");
}

/// "If credits accumulated at a higher w, apply them gently now" (`tcp_cong_avoid_ai`).
#[test]
fn what_was_counted_with_a_large_divisor_is_used_when_it_falls() {
    let mut bictcp = Bictcp {
        cnt: 100,
        ..Bictcp::default()
    };
    assert_eq!((bictcp.count(60), bictcp.cwnd_cnt), (0, 60));
    bictcp.cnt = 10;
    // One packet for all that was counted, and three for what comes.
    assert_eq!((bictcp.count(35), bictcp.cwnd_cnt), (4, 5));
}

/// beta of 0.7 is 717/1024; a packet of the Reno-friendly window takes 15/8 of a window.
#[test]
fn constants_are_those_of_the_kernel() {
    let law = Law::new(0.4, 0.7);
    assert_eq!((law.beta, law.scale), (717, 15));
    let mut bictcp = Bictcp::default();
    // 100 * 717 / 1024 = 70.02; then 70 * (1024 + 717) / 2048 = 59.5, as 70 is below 100.
    assert_eq!(bictcp.reduce(100.0, true, &law), 70.0);
    assert_eq!(bictcp.reduce(70.0, true, &law), 49.0);
    assert_eq!(bictcp.last_max_cwnd, 59);
    assert_eq!(bictcp.reduce(2.0, true, &law), 2.0);
}

/// 100 idle seconds do not count: the cubic function is where it was, and not at 1,000 packets per
/// second.
#[test]
fn an_epoch_is_moved_by_idle_times() {
    let law = Law::new(0.4, 0.7);
    let mut bictcp = Bictcp::default();
    bictcp.skip_idle(100.0);
    assert_eq!(bictcp.epoch_start, None);
    let mut w = Window::new(10.0, 10.0);
    bictcp.grow(&mut w, 1, Elapsed(0), &law);
    bictcp.skip_idle(-1.0);
    assert_eq!(bictcp.epoch_start, Some(0));
    bictcp.skip_idle(100.0);
    assert_eq!(bictcp.epoch_start, Some(100 * HZ));
    // An epoch that has not begun has lasted no time. The Reno-friendly window is 11 after 19 of
    // 20 packets, so the divisor is 10.
    bictcp.grow(&mut w, 19, Elapsed(50 * HZ * JIFFY), &law);
    assert_eq!(w.cwnd, 12.0);
}
