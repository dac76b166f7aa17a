//! What holds for every algorithm with any allowed parameters, whatever a transport reports in whatever
//! order.

use proptest::prelude::*;
use weft_cc::{Ack, Algorithm, CongestionControl, Echo, Entry, Round, Window};

#[derive(Clone, Copy, Debug)]
enum Event {
    Open,
    Close,
    RoundTrip(f64),
    Ack(u32),
    Mark,
    Round { acked: u32, marked: u32 },
    FastRetransmit,
    Timeout,
    Recovered,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Open),
        1 => Just(Event::Close),
        4 => (1e-6..1.0_f64).prop_map(Event::RoundTrip),
        20 => (1_u32..40).prop_map(Event::Ack),
        6 => Just(Event::Mark),
        12 => (0_u32..40, 0_u32..40).prop_map(|(a, b)| Event::Round { acked: a.max(b), marked: a.min(b) }),
        2 => Just(Event::FastRetransmit),
        2 => Just(Event::Timeout),
        4 => Just(Event::Recovered),
    ]
}

/// A built-in algorithm with each parameter at its default or anywhere in its range.
fn algorithm() -> impl Strategy<Value = (Entry, Vec<(String, f64)>)> {
    let values = prop::collection::vec(
        prop_oneof![2 => Just(None), 1 => (0.0..=1.0_f64).prop_map(Some)],
        6,
    );
    (prop::sample::select(Algorithm::BUILT_IN), values).prop_map(|(entry, values)| {
        let value = |(p, at): (&weft_cc::Parameter, Option<f64>)| {
            // Squared, so that small values are not rare in a wide range.
            let value = p.allowed.min() + at? * at? * (p.allowed.max() - p.allowed.min());
            let value = [value, value.round()]
                .into_iter()
                .find(|v| p.allowed.contains(*v))?;
            Some((p.name.to_owned(), value))
        };
        (
            entry,
            entry.parameters.iter().zip(values).filter_map(value).collect(),
        )
    })
}

/// A transport that reports only what can happen, and checks each answer.
struct Transport {
    cc: Algorithm,
    entry: Entry,
    given: Vec<(String, f64)>,
    w: Vec<Window>,
    /// Ever opened: a subflow opens once.
    opened: Vec<bool>,
    closed: Vec<bool>,
}

impl Transport {
    fn parameter(&self, name: &str) -> f64 {
        let default = self
            .entry
            .parameters
            .iter()
            .find(|p| p.name == name)
            .map(|p| p.default);
        self.given
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| *value)
            .or(default)
            .unwrap()
    }

    /// Reports `event` on subflow `s`, if it can happen there.
    fn report(&mut self, s: usize, event: Event) {
        let (w, cc) = (&mut self.w, &mut self.cc);
        match event {
            Event::Open if !self.opened[s] => {
                self.opened[s] = true;
                w[s].established = true;
                cc.on_open(w, s);
            }
            _ if !w[s].established => {}
            Event::Close => {
                w[s].established = false;
                self.closed[s] = true;
                cc.on_close(w, s);
            }
            Event::RoundTrip(rtt) => w[s].srtt = rtt,
            Event::Ack(acked) if !w[s].in_recovery => cc.on_ack(
                w,
                s,
                Ack {
                    acked,
                    may_grow: true,
                    ..Ack::default()
                },
            ),
            Event::Mark if cc.echo() != Echo::Off => cc.on_mark(w, s),
            Event::Round { acked, marked } => cc.on_round(w, s, Round { acked, marked }),
            Event::FastRetransmit if !w[s].in_recovery => {
                w[s].in_recovery = true;
                cc.on_fast_retransmit(w, s);
            }
            Event::Timeout => {
                w[s].in_recovery = true;
                cc.on_timeout(w, s, true);
            }
            Event::Recovered => w[s].in_recovery = false,
            Event::Open | Event::Ack(_) | Event::Mark | Event::FastRetransmit => {}
        }
    }

    /// What one packet acknowledged adds to `w[s]` in congestion avoidance by the paper's equation, from the
    /// windows as they are; none where the paper computes it less often.
    fn growth_per_packet(&self, s: usize) -> Option<f64> {
        let live = || self.w.iter().filter(|r| r.established && r.active);
        match self.entry.name {
            "reno" | "dctcp" => Some(1.0 / self.w[s].cwnd),
            "amp" if !self.w[s].active => Some(0.0),
            "amp" => Some(1.0 / live().map(|r| r.cwnd).sum::<f64>()),
            "lia" | "dcm" if self.parameter("per_ack") == 1.0 => {
                let timed = || live().filter(|r| r.srtt > 0.0);
                let best = timed().map(|r| r.cwnd / r.srtt / r.srtt).fold(0.0, f64::max);
                let rate = timed().map(|r| r.cwnd / r.srtt).sum::<f64>();
                let coupled = if rate > 0.0 {
                    best / rate.powi(2)
                } else {
                    f64::INFINITY
                };
                Some(coupled.min(1.0 / self.w[s].cwnd))
            }
            "xmp" => Some(0.0),
            _ => None,
        }
    }

    /// Reports an event and checks everything that must hold.
    fn report_and_check(&mut self, s: usize, event: Event) {
        let before = self.w.clone();
        let (old, growth) = (before[s].clone(), self.growth_per_packet(s));
        self.report(s, event);
        let new = &self.w[s];

        for (r, (after, before)) in self.w.iter().zip(&before).enumerate() {
            assert!(after.cwnd.is_finite() && after.cwnd >= 1.0, "cwnd {}", after.cwnd);
            assert!(after.ssthresh >= 1.0, "ssthresh {}", after.ssthresh);
            assert!(after.slot.iter().all(|x| x.is_finite()));
            assert!(
                r == s || (after.cwnd, after.ssthresh) == (before.cwnd, before.ssthresh),
                "another window moved"
            );
        }

        let unchanged = (old.cwnd, old.ssthresh) == (new.cwnd, new.ssthresh);
        match event {
            // RFC 5681, section 3.1: slow start adds what is acknowledged, congestion avoidance at most a
            // packet a round.
            Event::Ack(acked) if !unchanged => {
                let (acked, added) = (f64::from(acked), new.cwnd - old.cwnd);
                assert_eq!(new.ssthresh, old.ssthresh);
                assert!(added >= 0.0 && added <= acked, "{added} for {acked}");
                if old.cwnd >= old.ssthresh {
                    assert!(
                        added <= (acked / old.cwnd).min(1.0) + 1e-9,
                        "{added} for {acked} of {}",
                        old.cwnd
                    );
                    if let Some(growth) = growth {
                        let expected = growth * acked.min(old.cwnd);
                        assert!(
                            (added - expected).abs() <= 1e-9,
                            "{added}, by the equation {expected}"
                        );
                    }
                }
            }
            Event::Mark if !unchanged => {
                assert!(
                    new.cwnd <= old.cwnd.max(self.parameter("cwnd_min")),
                    "a mark raised the window"
                );
                assert!(new.cwnd >= new.ssthresh, "slow start went on after a mark");
            }
            Event::FastRetransmit if !unchanged => {
                let floor = if self.entry.name == "amp" {
                    self.parameter("cwnd_min")
                } else {
                    2.0
                };
                let exact = (old.cwnd / 2.0).max(floor);
                assert_eq!(
                    new.cwnd,
                    if self.entry.name == "xmp" {
                        exact.floor()
                    } else {
                        exact
                    }
                );
                assert_eq!(new.ssthresh, new.cwnd);
            }
            Event::Timeout if new.established => assert_eq!(new.cwnd, 1.0),
            // XMP alone grows at the end of a round.
            Event::Round { .. } => assert!(unchanged || self.entry.name == "xmp" && new.cwnd > old.cwnd),
            _ => assert!(unchanged),
        }

        let suppresses = self.entry.name == "amp" && self.parameter("ssr") == 1.0;
        assert!(
            suppresses || self.w.iter().all(|r| r.active),
            "suppressed by {}",
            self.entry.name
        );
        assert!(
            self.w[0].active || self.closed[0],
            "the initial subflow is inactive"
        );
        assert!(
            self.w.iter().all(|r| !r.established) || self.w.iter().any(|r| r.established && r.active),
            "nothing may send"
        );
        if self.entry.name == "xmp" {
            assert!(self.w.iter().all(|r| r.cwnd.fract() == 0.0), "a broken packet");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn windows_stay_sound(
        (entry, given) in algorithm(),
        initial in (1_u32..=20, prop_oneof![Just(f64::INFINITY), 2.0..60.0_f64]),
        n in 1_usize..=20,
        events in prop::collection::vec((0_usize..20, event()), 0..400),
    ) {
        let cc = Algorithm::build(entry.name, &given).unwrap();
        let w = vec![Window::new(f64::from(initial.0), initial.1); n];
        let transport = |cc| Transport {
            cc, entry, given: given.clone(), w: w.clone(), opened: vec![false; n], closed: vec![false; n],
        };
        let mut checked = transport(cc.clone());
        let mut again = transport(cc);
        checked.report_and_check(0, Event::Open);
        again.report(0, Event::Open);
        for &(s, event) in &events {
            checked.report_and_check(s % n, event);
            again.report(s % n, event);
        }
        // The same events give the same windows, bit for bit.
        prop_assert_eq!(checked.w, again.w);
    }
}
