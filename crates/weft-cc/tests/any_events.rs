//! Laws of every algorithm of the registry, with any allowed parameters and any events in any
//! order. Laws of a single algorithm are in its own file.

mod events;

use events::{Event, ScriptStep, report};
use weft_cc::{Algorithm, CongestionControl};

/// Algorithms with one window for the whole connection: a subflow that opens takes its share from
/// the others, and any of them may be deactivated.
const ONE_WINDOW: [&str; 1] = ["warp"];

#[test]
fn windows_stay_sound() {
    for entry in Algorithm::BUILT_IN {
        let watched = Algorithm::build(entry.name, &[]).unwrap().may_suppress_on_ack();
        report(entry, 300, |step| sound(step, watched));
    }
}

fn sound(step: &ScriptStep, may_suppress_on_ack: bool) {
    for r in step.after {
        assert!(r.cwnd.is_finite() && r.cwnd >= 1.0, "{step:?}");
        assert!(r.ssthresh >= 1.0, "{step:?}");
        assert!(r.state.iter().all(|x| x.is_finite()), "{step:?}");
    }
    let one_window = ONE_WINDOW.contains(&step.entry.name);
    let (before, after) = step.own();
    if !one_window {
        step.undoes_the_reduction();
    }
    match step.event {
        // RFC 5681, section 3.1: slow start adds the packets acknowledged, and no algorithm adds
        // more.
        Event::Ack(ack) if ack.may_grow => assert!(
            after.cwnd <= before.cwnd + f64::from(ack.acked) + 1e-9,
            "{step:?}"
        ),
        Event::Ack(_) => assert_eq!(after.cwnd, before.cwnd, "{step:?}"),
        // After a timeout, the minimum after a cut may be above the window.
        Event::Mark => {
            let most = before.cwnd.max(step.floor());
            assert!(after.cwnd <= most, "a mark raised the window: {step:?}");
        }
        Event::FastRetransmit => {
            let most = before.cwnd.max(step.floor());
            assert!(after.cwnd <= most, "a loss raised the window: {step:?}");
            assert!(
                after.cwnd >= after.ssthresh,
                "slow start goes on after a loss: {step:?}"
            );
        }
        // RFC 5681, section 3.1: "no more than the loss window, LW, which equals 1 full-sized
        // segment", and ssthresh "is held constant" for the same segment.
        Event::Timeout { first } => {
            assert_eq!(after.cwnd, 1.0, "{step:?}");
            assert!(first || after.ssthresh == before.ssthresh, "{step:?}");
        }
        Event::Undo => assert!(
            after.cwnd >= before.cwnd && after.ssthresh >= before.ssthresh,
            "{step:?}"
        ),
        // XMP grows here, AMP-FG cuts.
        Event::Round(_) => {}
        Event::Open if one_window => assert!(
            after.cwnd <= before.cwnd && after.ssthresh <= before.ssthresh,
            "{step:?}"
        ),
        Event::Open | Event::Close | Event::RoundTrip(_) | Event::Recovered => {
            let same = (before.cwnd, before.ssthresh) == (after.cwnd, after.ssthresh);
            assert!(same, "{step:?}");
        }
    }
    let within_round = matches!(step.event, Event::Ack(_) | Event::Mark | Event::FastRetransmit);
    let same = |(a, b): (&weft_cc::Window, &weft_cc::Window)| a.active == b.active;
    assert!(
        may_suppress_on_ack || !within_round || step.before.iter().zip(step.after).all(same),
        "suppressed or released within a round, unseen: {step:?}"
    );
    assert!(
        one_window || step.after[0].active || step.closed[0],
        "the initial subflow is inactive: {step:?}"
    );
    assert!(
        step.after.iter().all(|r| !r.established) || step.after.iter().any(|r| r.established && r.active),
        "nothing may send: {step:?}"
    );
}
