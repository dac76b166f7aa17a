//! The same connection twice: with `weft-cc`'s algorithm and with the kernel's.
//!
//! The two agree within [`TOLERANCE`] of a window. Where an algorithm looks at whole packets (AMP at the floor, XMP
//! in all it does), windows that lie within that tolerance on two sides of a whole number lead to different decisions,
//! and so they do in all algorithms where slow start leaves whole packets beyond `ssthresh`; a sequence ends there, as a
//! tie.

use weft_cc::{Ack, Algorithm, CongestionControl, Round, Window};
use weft_twin::Twin;

/// Relative; windows below one packet do not occur.
pub const TOLERANCE: f64 = 1e-5;

/// Why a sequence ends before its time.
pub enum End {
    /// Rounding decides.
    Tie,
    /// The two differ.
    Different(String),
}

pub struct Pair {
    ours: Algorithm,
    kernels: Twin,
    w: Vec<Window>,
    kernel: Vec<Window>,
    whole: bool,
    history: Vec<String>,
}

impl Pair {
    pub fn new(name: &str, parameters: &[(String, f64)]) -> Self {
        let algorithm = name.trim_start_matches("kernel:");
        Self {
            ours: Algorithm::build(algorithm, parameters).expect("allowed parameters"),
            kernels: Twin::new(name, parameters).expect("allowed parameters"),
            w: Vec::new(),
            kernel: Vec::new(),
            whole: matches!(algorithm, "amp" | "xmp"),
            history: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.w.len()
    }

    pub fn open(&self) -> Vec<usize> {
        (0..self.w.len()).filter(|&s| self.w[s].established).collect()
    }

    pub fn open_one(&mut self, cwnd: f64, ssthresh: f64) -> Result<(), End> {
        let window = Window {
            established: true,
            ..Window::new(cwnd, ssthresh)
        };
        self.w.push(window.clone());
        self.kernel.push(window);
        let s = self.w.len() - 1;
        self.event(&format!("open {s} {cwnd} {ssthresh}"), |cc, w| cc.on_open(w, s))
    }

    /// In 1/8 us.
    pub fn round_trip_time(&mut self, s: usize, srtt: u32) {
        for w in [&mut self.w, &mut self.kernel] {
            w[s].srtt = f64::from(srtt) / 8e6;
        }
    }

    pub fn recover(&mut self, s: usize, in_recovery: bool) {
        for w in [&mut self.w, &mut self.kernel] {
            w[s].in_recovery = in_recovery;
        }
    }

    pub fn ack(&mut self, s: usize, ack: Ack) -> Result<(), End> {
        self.event(&format!("{s} {ack:?}"), |cc, w| cc.on_ack(w, s, ack))
    }

    pub fn round(&mut self, s: usize, round: Round) -> Result<(), End> {
        self.event(&format!("{s} {round:?}"), |cc, w| cc.on_round(w, s, round))
    }

    pub fn mark(&mut self, s: usize) -> Result<(), End> {
        self.event(&format!("{s} mark"), |cc, w| cc.on_mark(w, s))
    }

    pub fn fast_retransmit(&mut self, s: usize) -> Result<(), End> {
        self.event(&format!("{s} fast retransmit"), |cc, w| {
            cc.on_fast_retransmit(w, s);
        })
    }

    pub fn timeout(&mut self, s: usize, first: bool) -> Result<(), End> {
        self.event(&format!("{s} timeout, first: {first}"), |cc, w| {
            cc.on_timeout(w, s, first);
        })
    }

    pub fn close(&mut self, s: usize) -> Result<(), End> {
        for w in [&mut self.w, &mut self.kernel] {
            w[s].established = false;
        }
        self.event(&format!("{s} close"), |cc, w| cc.on_close(w, s))
    }

    fn event(
        &mut self,
        what: &str,
        event: impl Fn(&mut dyn CongestionControl, &mut [Window]),
    ) -> Result<(), End> {
        let tie = self.on_two_sides();
        event(&mut self.ours, &mut self.w);
        event(&mut self.kernels, &mut self.kernel);
        self.history.push(format!("{what}: {:?}", cwnds(&self.w)));
        for s in 0..self.w.len() {
            let (ours, kernels) = (&self.w[s], &self.kernel[s]);
            let same = near(ours.cwnd, kernels.cwnd)
                && near(ours.ssthresh, kernels.ssthresh)
                && ours.active == kernels.active;
            if same {
                continue;
            }
            if tie || self.half_a_packet(s) {
                return Err(End::Tie);
            }
            let history = self.history[self.history.len().saturating_sub(12)..].join("\n");
            return Err(End::Different(format!(
                "subflow {s} after\n{history}\nis {ours:?}\nin the kernel {kernels:?}"
            )));
        }
        Ok(())
    }

    /// Do two windows that are the same but for rounding have different whole packets, where those decide?
    fn on_two_sides(&self) -> bool {
        let beyond = |w: &Window| (w.cwnd - w.ssthresh).floor();
        let packets = |w: &Window| (w.cwnd.floor(), w.ssthresh.floor());
        self.w
            .iter()
            .zip(&self.kernel)
            .any(|(a, b)| beyond(a) != beyond(b) || self.whole && packets(a) != packets(b))
    }

    /// XMP: has rounding decided whether delta's fractions fill a packet?
    fn half_a_packet(&self, s: usize) -> bool {
        const ADDER: usize = 1;
        let saved = self.w[s].slot[ADDER];
        self.ours.name() == "xmp"
            && (self.w[s].cwnd - self.kernel[s].cwnd).abs() == 1.0
            && saved.min(1.0 - saved) < TOLERANCE
    }
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TOLERANCE * a
}

fn cwnds(w: &[Window]) -> Vec<f64> {
    w.iter().map(|w| w.cwnd).collect()
}
