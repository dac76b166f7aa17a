//! A connection that is run twice: with the algorithm of `weft-cc` and with the C code.
//!
//! The windows must agree within [`TOLERANCE`]. Some decisions depend on whole packets: those of
//! AMP at the minimum window, all of XMP's, and those of all algorithms if slow start leaves whole
//! packets beyond `ssthresh`. Two windows within the tolerance, but on two sides of a whole number,
//! then lead to different decisions; the sequence ends there, as a tie.
//!
//! Warp's windows are whole packets, apportioned by fractional shares. The shares must always agree
//! within [`TOLERANCE`]. If the packets differ although the shares agree, rounding must have
//! decided ([`Pair::apportioned_by_rounding`]). The windows of the native build are then set to
//! those of `weft-cc`, and the sequence continues.

use weft_bpf_native::NativeAlgorithm;
use weft_bpf_native::abi::PACKET;
use weft_cc::{Ack, Algorithm, CongestionControl, Elapsed, Round, Window};

/// Relative tolerance of windows; no window is below one packet.
pub const TOLERANCE: f64 = 1e-5;

/// Reason for the early end of a sequence.
pub enum End {
    /// Rounding decides.
    Tie,
    /// The two implementations differ.
    Different(String),
}

pub struct Pair {
    ours: Algorithm,
    kernels: NativeAlgorithm,
    w: Vec<Window>,
    kernel: Vec<Window>,
    /// True for subflows whose last reduction may still prove spurious.
    armed: Vec<bool>,
    whole: bool,
    warp: bool,
    /// Microseconds since the connection opened.
    now: u64,
    /// Number of events after which rounding had apportioned Warp's packets.
    pub settled: u64,
    /// The largest relative difference of a share.
    pub worst: f64,
    history: Vec<String>,
}

/// Index of Warp's share in the state (`warp.rs` of weft-cc).
const SHARE: usize = 0;

impl Pair {
    pub fn new(name: &str, parameters: &[(String, f64)]) -> Self {
        let algorithm = name.trim_start_matches("bpf:");
        Self {
            ours: Algorithm::build(algorithm, parameters).expect("allowed parameters"),
            kernels: NativeAlgorithm::new(name, parameters).expect("allowed parameters"),
            w: Vec::new(),
            kernel: Vec::new(),
            armed: Vec::new(),
            whole: matches!(algorithm, "amp" | "wvegas" | "xmp"),
            warp: algorithm == "warp",
            now: 0,
            settled: 0,
            worst: 0.0,
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
        self.armed.push(false);
        let s = self.w.len() - 1;
        self.event(&format!("open {s} {cwnd} {ssthresh}"), |cc, w| cc.on_open(w, s))
    }

    /// Sets the smoothed round-trip time, in 1/8 us.
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

    /// Reports an acknowledgement, `later` microseconds after the previous event.
    pub fn ack(&mut self, s: usize, later: u64, ack: Ack) -> Result<(), End> {
        self.now += later;
        let now = Elapsed(self.now * 1_000_000);
        let ack = Ack { now, ..ack };
        self.event(&format!("{s} {ack:?}"), |cc, w| cc.on_ack(w, s, ack))
    }

    pub fn round(&mut self, s: usize, round: Round) -> Result<(), End> {
        self.event(&format!("{s} {round:?}"), |cc, w| cc.on_round(w, s, round))
    }

    /// Reports a mark, in the acknowledgement of data that was sent `rtt` microseconds ago.
    pub fn mark(&mut self, s: usize, rtt: u64) -> Result<(), End> {
        let ack = Ack {
            acked: 1,
            marked: 1,
            rtt: rtt as f64 * 1e-6,
            ..Ack::default()
        };
        self.ack(s, 0, ack)?;
        if self.ours.reacts_to_mark(&self.w, s) != self.kernels.reacts_to_mark(&self.kernel, s) {
            return Err(self.different(s));
        }
        self.event(&format!("{s} mark"), |cc, w| cc.on_mark(w, s))
    }

    fn save_prior(&mut self, s: usize) {
        for w in [&mut self.w, &mut self.kernel] {
            w[s].save_prior();
        }
        self.armed[s] = true;
    }

    /// Reports the last reduction of `s` as spurious, if there was one.
    pub fn undo(&mut self, s: usize) -> Result<(), End> {
        if !std::mem::take(&mut self.armed[s]) {
            return Ok(());
        }
        self.recover(s, false);
        self.event(&format!("{s} undo"), |cc, w| cc.on_undo(w, s))
    }

    pub fn fast_retransmit(&mut self, s: usize) -> Result<(), End> {
        self.save_prior(s);
        self.event(&format!("{s} fast retransmit"), |cc, w| {
            cc.on_fast_retransmit(w, s);
        })
    }

    pub fn timeout(&mut self, s: usize, first: bool) -> Result<(), End> {
        if first {
            self.save_prior(s);
        }
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
        let tie = self.on_two_sides()
            || self.warp && self.decided_by_rounding()
            || self.ours.name() == "olia" && self.nearly_the_largest();
        event(&mut self.ours, &mut self.w);
        event(&mut self.kernels, &mut self.kernel);
        self.history.push(format!("{what}: {:?}", cwnds(&self.w)));
        if self.warp {
            self.compare_shares(tie)?;
        }
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
            return Err(self.different(s));
        }
        Ok(())
    }

    fn different(&self, s: usize) -> End {
        let history = self.history[self.history.len().saturating_sub(12)..].join("\n");
        let (ours, kernels) = (&self.w[s], &self.kernel[s]);
        let share = self.kernel_share(s);
        End::Different(format!(
            "subflow {s} after\n{history}\nis {ours:?}\nin the kernel {kernels:?}, share {share}"
        ))
    }

    fn kernel_share(&self, s: usize) -> f64 {
        self.kernels.connection().w[s].state[SHARE] as f64 / PACKET
    }

    /// Compares the shares. If they agree but packets differ because of rounding, copies the
    /// windows of `weft-cc`.
    fn compare_shares(&mut self, tie: bool) -> Result<(), End> {
        for s in 0..self.w.len() {
            let (ours, kernels) = (self.w[s].state[SHARE], self.kernel_share(s));
            if near(ours, kernels) && self.w[s].active == self.kernel[s].active {
                self.worst = self.worst.max((ours - kernels).abs() / ours.max(1.0));
            } else {
                let tie = tie || self.decided_by_rounding();
                return Err(if tie { End::Tie } else { self.different(s) });
            }
        }
        let differ = |(a, b): (&Window, &Window)| !near(a.cwnd, b.cwnd) || !near(a.ssthresh, b.ssthresh);
        if self.w.iter().zip(&self.kernel).any(differ) && self.apportioned_by_rounding() {
            self.settled += 1;
            for (s, (ours, kernels)) in self.w.iter().zip(&mut self.kernel).enumerate() {
                self.kernels.set_window(s, ours.cwnd, ours.ssthresh);
                (kernels.cwnd, kernels.ssthresh) = (ours.cwnd, ours.ssthresh);
            }
        }
        Ok(())
    }

    /// Returns true if, within rounding, the sum of the shares or one share is a whole number, or
    /// two remainders are equal.
    fn apportioned_by_rounding(&self) -> bool {
        let shares: Vec<f64> = self.sending().collect();
        let whole = |share: f64| (share - share.round()).abs() <= TOLERANCE * share;
        let mut remainders: Vec<f64> = shares.iter().map(|share| share.fract()).collect();
        remainders.sort_by(f64::total_cmp);
        let same = remainders
            .windows(2)
            .any(|pair| pair[1] - pair[0] <= TOLERANCE * shares.iter().sum::<f64>());
        same || whole(shares.iter().sum()) || shares.into_iter().any(whole)
    }

    /// Returns true if rounding may decide the next event: W is at a threshold at which a subflow
    /// is activated, deactivated or opened with a share. Equal alphas, and a share at the end of
    /// slow start, have that effect as well.
    fn decided_by_rounding(&self) -> bool {
        const ALPHA: usize = 1;
        let whole = |packets: f64| (packets - packets.round()).abs() <= TOLERANCE * (1.0 + packets.abs());
        let total: f64 = self.sending().sum();
        let mut alphas: Vec<f64> = self.w.iter().map(|w| w.state[ALPHA]).collect();
        alphas.sort_by(f64::total_cmp);
        let same = |pair: &[f64]| pair[0] != pair[1] && pair[1] - pair[0] <= TOLERANCE;
        let starts = |w: &Window| {
            w.state[SHARE] <= w.ssthresh * (1.0 + TOLERANCE) && whole(w.ssthresh.min(1e9) - w.state[SHARE])
        };
        whole(total / 2.0) || alphas.windows(2).any(same) || self.w.iter().any(starts)
    }

    /// Returns true if OLIA's sets of the largest windows or of the best paths depend on rounding: two windows, or two qualities,
    /// differ by less than the tolerance.
    fn nearly_the_largest(&self) -> bool {
        let quality = |w: &Window| w.state[0].max(w.state[1]) / (w.srtt * w.srtt);
        let timed = || self.w.iter().filter(|w| w.established && w.srtt > 0.0);
        let nearly = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let near = |pair: &[f64]| pair[0] != pair[1] && pair[1] - pair[0] <= 2.0 * TOLERANCE * pair[1];
            values.windows(2).any(near)
        };
        nearly(timed().map(|w| w.cwnd).collect()) || nearly(timed().map(quality).collect())
    }

    /// Returns the shares of the subflows that send.
    fn sending(&self) -> impl Iterator<Item = f64> {
        let all = self.w.iter().filter(|w| w.established && w.active);
        all.map(|w| w.state[SHARE])
    }

    /// Returns true if two windows that are equal within rounding have different whole packets, and
    /// the algorithm's decisions depend on them.
    fn on_two_sides(&self) -> bool {
        let beyond = |w: &Window| (w.cwnd - w.ssthresh).floor();
        let packets = |w: &Window| (w.cwnd.floor(), w.ssthresh.floor());
        self.w
            .iter()
            .zip(&self.kernel)
            .any(|(a, b)| beyond(a) != beyond(b) || self.whole && packets(a) != packets(b))
    }

    /// Returns true if, in XMP, rounding has decided whether the fractions of delta fill a packet.
    fn half_a_packet(&self, s: usize) -> bool {
        const ADDER: usize = 1;
        let saved = self.w[s].state[ADDER];
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
