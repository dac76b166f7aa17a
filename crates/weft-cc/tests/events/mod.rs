//! Random events of a transport, for laws that hold for any events in any order. Laws of all
//! algorithms are in `tests/any_events.rs`, those of one algorithm in its own file.

// Each of the two users needs only a part of this module.
#![allow(dead_code)]

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use weft_cc::{Ack, Algorithm, AlgorithmInfo, CongestionControl, Echo, Elapsed, Parameter, Round, Window};

/// An event that a transport reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Open,
    Close,
    /// A new smoothed RTT, which is not an event of the algorithm.
    RoundTrip(f64),
    Ack(Ack),
    Mark,
    Round(Round),
    FastRetransmit,
    Timeout {
        first: bool,
    },
    /// The end of a recovery, which is not an event of the algorithm.
    Recovered,
    /// The proof that the last reduction was spurious.
    Undo,
}

/// An event with the windows before and after.
pub struct ScriptStep<'a> {
    pub entry: &'a AlgorithmInfo,
    pub params: &'a [(String, f64)],
    pub event: Event,
    /// The subflow of the event.
    pub s: usize,
    pub before: &'a [Window],
    pub after: &'a [Window],
    /// True for subflows that have closed.
    pub closed: &'a [bool],
}

impl std::fmt::Debug for ScriptStep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, (before, after)) = (self.entry.name, self.own());
        write!(
            f,
            "{name} {:?}, {:?} on {}: {before:?}, then {after:?}",
            self.params, self.event, self.s
        )
    }
}

impl ScriptStep<'_> {
    /// Returns the window of the subflow before and after the event.
    pub fn own(&self) -> (&Window, &Window) {
        (&self.before[self.s], &self.after[self.s])
    }

    /// Returns the value of a parameter, or `None` if the algorithm does not have it.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        let value = self
            .params
            .iter()
            .find(|(parameter, _)| parameter == name)
            .map(|p| p.1);
        let default = || {
            self.entry
                .parameters
                .iter()
                .find(|p| p.name == name)
                .map(|p| p.default)
        };
        value.or_else(default)
    }

    /// Returns the subflows that are established and active.
    pub fn live(&self) -> impl Iterator<Item = &Window> {
        self.before.iter().filter(|r| r.established && r.active)
    }

    /// Asserts that only the window of the subflow changes.
    #[track_caller]
    pub fn moves_no_other_window(&self) {
        for (r, (before, after)) in self.before.iter().zip(self.after).enumerate() {
            let same = (before.cwnd, before.ssthresh) == (after.cwnd, after.ssthresh);
            assert!(r == self.s || same, "window {r} moved: {self:?}");
        }
    }

    /// Returns the minimum after a cut: 2 packets (RFC 5681, equation (4)), or `cwnd_min` if the
    /// algorithm has it.
    pub fn floor(&self) -> f64 {
        self.parameter("cwnd_min").unwrap_or(2.0).max(2.0)
    }

    /// Asserts that only acknowledgements let a window grow, except to the minimum.
    #[track_caller]
    pub fn grows_at_acknowledgements_only(&self) {
        let (before, after) = self.own();
        let acked = matches!(self.event, Event::Ack(_) | Event::Undo);
        assert!(acked || after.cwnd <= before.cwnd.max(self.floor()), "{self:?}");
    }

    /// Asserts RFC 5681, section 3.1: congestion avoidance adds at most one packet per round, never
    /// reduces the window, and does not change `ssthresh`.
    #[track_caller]
    pub fn adds_at_most_a_packet_a_round(&self) {
        let (before, after) = self.own();
        if let Event::Ack(ack) = self.event {
            let added = after.cwnd - before.cwnd;
            assert_eq!(after.ssthresh, before.ssthresh);
            let most = if before.cwnd < before.ssthresh {
                f64::from(ack.acked)
            } else {
                (f64::from(ack.acked) / before.cwnd).min(1.0)
            };
            assert!((0.0..=most + 1e-9).contains(&added), "{added}: {self:?}");
        }
    }

    /// Asserts that congestion avoidance adds `growth` per packet acknowledged, for at most one
    /// window.
    #[track_caller]
    pub fn adds_for_each_packet(&self, growth: f64) {
        let (before, after) = self.own();
        if let Event::Ack(Ack {
            acked,
            may_grow: true,
            ..
        }) = self.event
            && before.cwnd >= before.ssthresh
        {
            let (added, expected) = (
                after.cwnd - before.cwnd,
                growth * f64::from(acked).min(before.cwnd),
            );
            assert!(
                (added - expected).abs() <= 1e-9,
                "{added}, expected {expected}: {self:?}"
            );
        }
    }

    /// Asserts that an undo restores the window before the last reduction, and keeps a larger one.
    #[track_caller]
    pub fn undoes_the_reduction(&self) {
        let (before, after) = self.own();
        if self.event == Event::Undo {
            assert_eq!(after.cwnd, before.cwnd.max(before.prior_cwnd), "{self:?}");
            assert_eq!(
                after.ssthresh,
                before.ssthresh.max(before.prior_ssthresh),
                "{self:?}"
            );
        }
    }

    /// Asserts that a fast retransmit leaves `part` of the window, no less than `floor`, and sets
    /// `ssthresh` to it.
    #[track_caller]
    pub fn keeps_at_a_loss(&self, part: f64, floor: f64) {
        let (before, after) = self.own();
        if self.event == Event::FastRetransmit {
            let left = (before.cwnd * part).max(floor);
            assert_eq!((after.cwnd, after.ssthresh), (left, left), "{self:?}");
        }
    }
}

/// Reports random events to the algorithm of `entry` with random parameters, and calls `law` for
/// each step.
pub fn report(entry: &AlgorithmInfo, cases: u32, law: impl Fn(&ScriptStep)) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let initial = (1_u32..=20, prop_oneof![Just(f64::INFINITY), 2.0..60.0_f64]);
    let events = prop::collection::vec((0_usize..20, event()), 0..400);
    TestRunner::new(config)
        .run(
            &(parameters(entry), initial, 1_usize..=20, events),
            |(params, (cwnd, ssthresh), n, events)| {
                let w = vec![Window::new(f64::from(cwnd), ssthresh); n];
                let mut transport = CcDriver::new(Algorithm::build(entry.name, &params).unwrap(), w.clone());
                let mut again = CcDriver::new(Algorithm::build(entry.name, &params).unwrap(), w);
                for (s, event) in [(0, Event::Open)].into_iter().chain(events) {
                    let (s, before) = (s % n, transport.w.clone());
                    again.report(s, event);
                    let Some(event) = transport.report(s, event) else {
                        continue;
                    };
                    let CcDriver { w: after, closed, .. } = &transport;
                    law(&ScriptStep {
                        entry,
                        params: &params,
                        event,
                        s,
                        before: &before,
                        after,
                        closed,
                    });
                }
                // Equal events give equal windows, bit for bit.
                assert_eq!(transport.w, again.w);
                Ok(())
            },
        )
        .unwrap();
}

/// Runs [`report`] for the algorithm of that name.
pub fn obeys(name: &str, law: impl Fn(&ScriptStep)) {
    let entry = Algorithm::BUILT_IN
        .iter()
        .find(|entry| entry.name == name)
        .unwrap();
    report(entry, 200, law);
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (
        0_u32..40,
        0_u32..40,
        any::<bool>(),
        prop_oneof![Just(0.0), 1e-6..1.0_f64],
        0_u64..1_000_000_000_000,
    );
    prop_oneof![
        2 => Just(Event::Open),
        1 => Just(Event::Close),
        4 => (1e-6..1.0_f64).prop_map(Event::RoundTrip),
        20 => ack.prop_map(|(acked, marked, may_grow, rtt, later)| Event::Ack(Ack {
            acked,
            marked: if acked > 0 { marked.min(acked) } else { marked.min(3) },
            may_grow: may_grow && acked > 0,
            rtt,
            now: Elapsed(later),
        })),
        6 => Just(Event::Mark),
        12 => (0_u32..40, 0_u32..40).prop_map(|(a, b)| Event::Round(Round { acked: a.max(b), marked: a.min(b) })),
        2 => Just(Event::FastRetransmit),
        2 => any::<bool>().prop_map(|first| Event::Timeout { first }),
        4 => Just(Event::Recovered),
        2 => Just(Event::Undo),
    ]
}

/// Generates parameters at their defaults or anywhere in their ranges.
fn parameters(entry: &AlgorithmInfo) -> impl Strategy<Value = Vec<(String, f64)>> + use<> {
    let all = entry.parameters;
    let at = prop_oneof![2 => Just(None), 1 => (0.0..=1.0_f64).prop_map(Some)];
    prop::collection::vec(at, all.len()).prop_map(move |values| {
        let value = |(p, at): (&Parameter, Option<f64>)| {
            // Squared, so that small values are not rare in a wide range.
            let value = p.allowed.min() + at? * at? * (p.allowed.max() - p.allowed.min());
            let value = [value, value.round()]
                .into_iter()
                .find(|v| p.allowed.contains(*v))?;
            Some((p.name.to_owned(), value))
        };
        all.iter().zip(values).filter_map(value).collect()
    })
}

/// A transport that reports only events that can happen.
struct CcDriver {
    cc: Algorithm,
    w: Vec<Window>,
    now: u64,
    /// True for subflows that have opened: a subflow opens only once.
    opened: Vec<bool>,
    closed: Vec<bool>,
    /// True for subflows whose last reduction may still prove spurious.
    armed: Vec<bool>,
}

impl CcDriver {
    fn new(cc: Algorithm, w: Vec<Window>) -> Self {
        let n = w.len();
        Self {
            cc,
            w,
            now: 0,
            opened: vec![false; n],
            closed: vec![false; n],
            armed: vec![false; n],
        }
    }

    /// Reports `event` on subflow `s`; returns `None` if the event cannot happen there. Each
    /// acknowledgement comes a fixed time after the previous one.
    fn report(&mut self, s: usize, event: Event) -> Option<Event> {
        let (w, cc) = (&mut self.w, &mut self.cc);
        match event {
            Event::Open if !self.opened[s] => {
                self.opened[s] = true;
                w[s].established = true;
                cc.on_open(w, s);
            }
            _ if !w[s].established => return None,
            Event::Close => {
                w[s].established = false;
                self.closed[s] = true;
                cc.on_close(w, s);
            }
            Event::RoundTrip(rtt) => {
                w[s].srtt = rtt;
                w[s].min_rtt = if w[s].min_rtt == 0.0 {
                    rtt
                } else {
                    rtt.min(w[s].min_rtt)
                };
            }
            Event::Ack(mut ack) => {
                self.now += ack.now.0;
                ack.now = Elapsed(self.now);
                ack.may_grow &= !w[s].in_recovery;
                cc.on_ack(w, s, ack);
                return Some(Event::Ack(ack));
            }
            Event::Mark if cc.echo() != Echo::Off => cc.on_mark(w, s),
            Event::Round(round) => cc.on_round(w, s, round),
            Event::FastRetransmit if !w[s].in_recovery => {
                w[s].in_recovery = true;
                w[s].save_prior();
                self.armed[s] = true;
                cc.on_fast_retransmit(w, s);
            }
            Event::Timeout { first } => {
                w[s].in_recovery = true;
                if first {
                    w[s].save_prior();
                    self.armed[s] = true;
                }
                cc.on_timeout(w, s, first);
            }
            Event::Recovered => w[s].in_recovery = false,
            Event::Undo if self.armed[s] => {
                self.armed[s] = false;
                w[s].in_recovery = false;
                cc.on_undo(w, s);
            }
            Event::Open | Event::Mark | Event::FastRetransmit | Event::Undo => return None,
        }
        Some(event)
    }
}
