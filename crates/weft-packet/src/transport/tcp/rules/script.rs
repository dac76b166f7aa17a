//! A congestion control for tests of other parts.

use std::sync::{Arc, Mutex};

use weft_cc::{Ack, Algorithm, AlgorithmFactory, CongestionControl, Echo, Round, Window};

/// An event that was reported to congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Open(usize),
    Ack(usize, Ack),
    Mark(usize),
    Round(usize, Round),
    FastRetransmit(usize),
    Timeout(usize, bool),
    Close(usize),
}

/// The action of a script on the windows at an event that `n` others preceded.
type Act = Arc<dyn Fn(&mut [Window], Event, usize) + Send + Sync>;

/// A congestion control that records its events and runs the action of a test.
#[derive(Clone)]
pub struct Script {
    echo: Echo,
    events: Arc<Mutex<Vec<Event>>>,
    act: Act,
    pace: Option<f64>,
    ignores_marks: bool,
    extra_bursts: u32,
    restarts: bool,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Script {
    pub fn new(act: impl Fn(&mut [Window], Event, usize) + Send + Sync + 'static) -> Self {
        Self {
            echo: Echo::Off,
            events: Arc::default(),
            act: Arc::new(act),
            pace: None,
            ignores_marks: false,
            extra_bursts: 0,
            restarts: false,
        }
    }

    /// Creates a script that keeps all windows at `cwnd`.
    pub fn steady(cwnd: f64) -> Self {
        Self::new(move |w, _, _| {
            for w in w {
                w.cwnd = cwnd;
            }
        })
    }

    pub fn echoing(mut self, echo: Echo) -> Self {
        self.echo = echo;
        self
    }

    /// Makes the script ignore marks.
    pub fn ignoring_marks(mut self) -> Self {
        self.ignores_marks = true;
        self
    }

    /// Lets send buffers hold this many bursts beyond two windows.
    pub fn with_extra_bursts(mut self, bursts: u32) -> Self {
        self.extra_bursts = bursts;
        self
    }

    /// Lets an idle time reduce the windows.
    pub fn restarting_after_idle(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Makes the script ask for a pacing rate of `rate` packets per second.
    pub fn paced(mut self, rate: f64) -> Self {
        self.pace = Some(rate);
        self
    }

    pub fn algorithm(&self) -> Algorithm {
        Algorithm::custom(Arc::new(self.clone()))
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    pub fn count(&self, of: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|event| of(event)).count()
    }

    fn note(&self, w: &mut [Window], event: Event) {
        let mut events = self.events.lock().unwrap();
        (self.act)(w, event, events.len());
        events.push(event);
    }
}

impl AlgorithmFactory for Script {
    fn name(&self) -> &'static str {
        "script"
    }
    fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
        Box::new(self.clone())
    }
}

impl CongestionControl for Script {
    fn echo(&self) -> Echo {
        self.echo
    }
    fn reacts_to_mark(&self, _: &[Window], _: usize) -> bool {
        !self.ignores_marks
    }
    fn restarts_after_idle(&self) -> bool {
        self.restarts
    }
    fn extra_sndbuf_bursts(&self) -> u32 {
        self.extra_bursts
    }
    fn pacing_rate(&self, _: &[Window], _: usize) -> Option<f64> {
        self.pace
    }
    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.note(w, Event::Open(s));
    }
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.note(w, Event::Ack(s, ack));
    }
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.note(w, Event::Mark(s));
    }
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        self.note(w, Event::Round(s, round));
    }
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.note(w, Event::FastRetransmit(s));
    }
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.note(w, Event::Timeout(s, first));
    }
    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.note(w, Event::Close(s));
    }
}
