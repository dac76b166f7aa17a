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
