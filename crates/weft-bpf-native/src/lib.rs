//! The congestion control of the BPF programs (`weft-bpf`), compiled natively, as implementations
//! of the traits of `weft-cc`.
//!
//! Tests compare it with `weft-cc` event by event, and the packet level runs it as `cc =
//! "bpf:amp"`. It lacks the parts that belong to the kernel and not to the algorithm: the timing of
//! events, the detection of idle subflows, and the echo of marks.

use std::sync::Arc;

pub use weft_bpf::abi;
use weft_cc::reno::Reno;
use weft_cc::{Ack, Algorithm, AlgorithmFactory, AlgorithmInfo, CongestionControl, Echo, Error, Round};

use abi::{Connection, PACKET, Parameters, Rows, SUBFLOWS, Window};

/// The prefix of an algorithm's name in a spec.
pub const PREFIX: &str = "bpf:";

/// Names in specs, with the values of `enum weft_algorithm` and descriptions.
const ALGORITHMS: [(&str, u32, &str); 10] = [
    (
        "bpf:amp",
        1,
        "AMP in the C of weftd's program weft_amp: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:amp-fg",
        AMP_FG,
        "AMP-FG in the C of weftd's program weft_amp_fg: positions of marks in rows of bits",
    ),
    (
        "bpf:balia",
        9,
        "BALIA in the C of weftd's program weft_balia: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:dcm",
        2,
        "DCM in the C of weftd's program weft_dcm: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:dctcp",
        3,
        "DCTCP in the C of weftd's program weft_dctcp: windows and alpha in fixed point",
    ),
    (
        "bpf:lia",
        4,
        "LIA in the C of weftd's program weft_lia: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:olia",
        8,
        "OLIA in the C of weftd's program weft_olia: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:warp",
        WARP,
        "Warp in the C of weftd's program weft_warp: one window in fixed point for 8 subflows",
    ),
    (
        "bpf:wvegas",
        WVEGAS,
        "wVegas in the C of weftd's program weft_wvegas: fixed point, up to 8 coupled subflows",
    ),
    (
        "bpf:xmp",
        5,
        "XMP in the C of weftd's program weft_xmp: fixed point, up to 8 coupled subflows",
    ),
];

/// `WEFT_AMP_FG`, the only algorithm with rows.
const AMP_FG: u32 = 6;

/// `WEFT_WARP`, the only algorithm with shares.
const WARP: u32 = 7;

/// `WEFT_WVEGAS`, the only algorithm with samples of round-trip times.
const WVEGAS: u32 = 10;

#[allow(unsafe_code, reason = "C is called through here and nowhere else")]
mod ffi {
    use super::AMP_FG;
    use super::abi::{Connection, Parameters, Rows, SUBFLOWS};

    unsafe extern "C" {
        fn weft_native_event(
            algorithm: u32,
            c: *mut Connection,
            rows: *mut Rows,
            p: *const Parameters,
            event: u32,
            s: u32,
            acked: u32,
            marked: u32,
        );
        fn weft_native_reacts_to_mark(algorithm: u32, c: *const Connection, s: u32) -> u32;
    }

    /// Returns true if a mark on subflow `s`, below [`SUBFLOWS`], reduces windows.
    pub(super) fn reacts_to_mark(algorithm: u32, connection: &Connection, s: usize) -> bool {
        assert!(s < SUBFLOWS);
        // SAFETY: as in `event`; C only reads.
        unsafe { weft_native_reacts_to_mark(algorithm, connection, s as u32) != 0 }
    }

    /// Handles an event of subflow `s`, below [`SUBFLOWS`].
    pub(super) fn event(
        algorithm: u32,
        connection: &mut Connection,
        rows: &mut [Rows],
        parameters: &Parameters,
        event: u32,
        s: usize,
        [acked, marked]: [u32; 2],
    ) {
        assert!(s < SUBFLOWS && (connection.initial as usize) < SUBFLOWS);
        assert!(algorithm != AMP_FG || rows.len() == SUBFLOWS);
        let rows = rows.as_mut_ptr();
        // SAFETY: the structs have C's layout (a test compares them with the BTF of the header) and
        // are borrowed for the call. C indexes windows, and the rows of AMP-FG, with `s` and
        // `initial`, which are in bounds, and with loops up to SUBFLOWS. It masks positions within
        // a row, and it keeps no pointer.
        unsafe {
            weft_native_event(
                algorithm, connection, rows, parameters, event, s as u32, acked, marked,
            );
        }
    }
}

/// The congestion control of one connection, in the C of the BPF programs.
///
/// Subflows beyond the eighth run Reno, as in the kernel.
#[derive(Clone, Debug)]
pub struct NativeAlgorithm {
    algorithm: u32,
    echo: Echo,
    extra_sndbuf_bursts: u32,
    parameters: Parameters,
    connection: Box<Connection>,
    /// Rows of AMP-FG, one per subflow; empty for other algorithms.
    rows: Vec<Rows>,
    /// Time of the newest acknowledgement, in microseconds.
    now: u64,
}

/// Events, in the order of `enum native_event`.
#[derive(Clone, Copy)]
enum Event {
    Open,
    Ack,
    Mark,
    Round,
    FastRetransmit,
    Timeout,
    Close,
    /// An acknowledgement that delivers data, whether or not the window may grow. Of wVegas: a sample
    /// of the round-trip time, in microseconds in place of the packets.
    Delivered,
    Undo,
}

impl NativeAlgorithm {
    /// Creates the state of a new connection of `bpf:NAME`.
    ///
    /// # Errors
    /// Returns the errors of [`Algorithm::build`] for the algorithm behind the name.
    pub fn new(name: &str, params: &[(String, f64)]) -> Result<Self, Error> {
        let unknown = || Error::Algorithm {
            name: name.to_owned(),
        };
        let (name, number, _) = ALGORITHMS
            .iter()
            .find(|(known, ..)| *known == name)
            .ok_or_else(unknown)?;
        let algorithm = &name[PREFIX.len()..];
        let simulated = Algorithm::build(algorithm, params)?;
        Ok(Self {
            algorithm: *number,
            echo: simulated.echo(),
            extra_sndbuf_bursts: simulated.extra_sndbuf_bursts(),
            parameters: Parameters::new(algorithm, params)?,
            connection: Box::new(zerocopy::FromZeros::new_zeroed()),
            rows: if *number == AMP_FG {
                vec![zerocopy::FromZeros::new_zeroed(); SUBFLOWS]
            } else {
                Vec::new()
            },
            now: 0,
        })
    }

    /// Returns the connection as the programs store it.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sets the window and threshold of a subflow, in packets, regardless of the algorithm.
    pub fn set_window(&mut self, s: usize, cwnd: f64, ssthresh: f64) {
        let window = &mut self.connection.w[s];
        window.cwnd = fixed(cwnd);
        window.ssthresh = fixed(ssthresh.min(INFINITE_SSTHRESH));
    }

    /// Sets the time in microseconds from a deactivation until Warp may activate a subflow. It is 0
    /// natively, and `suppression.min_cycle` in the kernel.
    pub fn set_min_inactive(&mut self, us: u32) {
        self.parameters.min_inactive = us;
    }

    /// Saves the window as the programs do before a loss or timeout that reduces it
    /// (`weft_save_prior`).
    fn save_prior(&mut self, s: usize) {
        let (window, subflow) = (self.connection.w[s], &mut self.connection.subflow[s]);
        (subflow.prior_cwnd, subflow.prior_ssthresh) = (window.cwnd, window.ssthresh);
        subflow.prior_state = window.state;
    }

    /// Copies `w` to the C structs, handles `event` of subflow `s` in C, and copies the windows
    /// back.
    fn event(&mut self, event: Event, w: &mut [weft_cc::Window], s: usize, counts: [u32; 2]) {
        for (r, (from, to)) in w.iter().zip(&mut self.connection.w).enumerate() {
            to.established = u8::from(from.established);
            to.in_recovery = u8::from(from.in_recovery);
            to.srtt = (from.srtt * 8e6).round() as u32;
            self.connection.open |= 1 << r;
        }
        self.connection.newest_ack = self.now;
        if matches!(event, Event::Open) {
            self.connection.subflow[s].last_ack = self.now;
            let window = &mut self.connection.w[s];
            *window = Window {
                cwnd: fixed(w[s].cwnd),
                ssthresh: fixed(w[s].ssthresh.min(INFINITE_SSTHRESH)),
                state: [0; 4],
                active: 1,
                ..*window
            };
        }
        ffi::event(
            self.algorithm,
            &mut self.connection,
            &mut self.rows,
            &self.parameters,
            event as u32,
            s,
            counts,
        );
        for (from, to) in self.connection.w.iter().zip(w).filter(|(from, _)| from.cwnd != 0) {
            to.cwnd = from.cwnd as f64 / PACKET;
            to.ssthresh = if from.ssthresh >= fixed(INFINITE_SSTHRESH) {
                f64::INFINITY
            } else {
                from.ssthresh as f64 / PACKET
            };
            to.active = from.active != 0;
        }
    }
}

/// Picoseconds per microsecond, the kernel's unit.
const PICOSECONDS: u64 = 1_000_000;

/// `TCP_INFINITE_SSTHRESH`, in packets.
const INFINITE_SSTHRESH: f64 = 2_147_483_647.0;

fn fixed(packets: f64) -> u64 {
    (packets * PACKET).round() as u64
}

impl CongestionControl for NativeAlgorithm {
    /// Stock Linux echoes each mark or none.
    fn echo(&self) -> Echo {
        match self.echo {
            Echo::Off => Echo::Off,
            _ => Echo::Dctcp,
        }
    }

    fn on_open(&mut self, w: &mut [weft_cc::Window], s: usize) {
        if s < SUBFLOWS {
            self.event(Event::Open, w, s, [0; 2]);
        }
    }

    /// Runs `on_ack` of the C code only if the window may grow, as the kernel's `cong_control`
    /// does.
    fn on_ack(&mut self, w: &mut [weft_cc::Window], s: usize, ack: Ack) {
        self.now = ack.now.0 / PICOSECONDS;
        if s < SUBFLOWS {
            let rtt = if ack.rtt > 0.0 { ack.rtt } else { w[s].srtt };
            let sent = ack.now.0.saturating_sub((rtt * 1e12).round() as u64);
            self.connection.subflow[s].last_sent = sent / PICOSECONDS;
            self.connection.subflow[s].last_ack = self.now;
            self.connection.subflow[s].acked += u64::from(ack.acked);
            if !self.rows.is_empty() || self.algorithm == WARP && ack.acked > 0 {
                self.event(Event::Delivered, w, s, [ack.acked, ack.marked]);
            }
            if self.algorithm == WVEGAS && ack.rtt > 0.0 {
                self.event(Event::Delivered, w, s, [(ack.rtt * 1e6).round() as u32, 0]);
            }
            if ack.may_grow {
                self.event(Event::Ack, w, s, [ack.acked, ack.marked]);
            }
        } else {
            Reno::default().on_ack(w, s, ack);
        }
    }

    fn reacts_to_mark(&self, _: &[weft_cc::Window], s: usize) -> bool {
        s >= SUBFLOWS || ffi::reacts_to_mark(self.algorithm, &self.connection, s)
    }

    fn extra_sndbuf_bursts(&self) -> u32 {
        self.extra_sndbuf_bursts
    }

    fn on_mark(&mut self, w: &mut [weft_cc::Window], s: usize) {
        if s < SUBFLOWS {
            self.event(Event::Mark, w, s, [0; 2]);
        } else {
            Reno::default().on_mark(w, s);
        }
    }

    fn on_round(&mut self, w: &mut [weft_cc::Window], s: usize, round: Round) {
        if s < SUBFLOWS {
            self.event(Event::Round, w, s, [round.acked, round.marked]);
        }
    }

    fn on_fast_retransmit(&mut self, w: &mut [weft_cc::Window], s: usize) {
        if s < SUBFLOWS {
            self.save_prior(s);
            self.event(Event::FastRetransmit, w, s, [0; 2]);
        } else {
            Reno::default().on_fast_retransmit(w, s);
        }
    }

    fn on_timeout(&mut self, w: &mut [weft_cc::Window], s: usize, first: bool) {
        if s < SUBFLOWS {
            if first {
                self.save_prior(s);
            }
            self.event(Event::Timeout, w, s, [u32::from(first), 0]);
        } else {
            Reno::default().on_timeout(w, s, first);
        }
    }

    fn on_undo(&mut self, w: &mut [weft_cc::Window], s: usize) {
        if s < SUBFLOWS {
            self.event(Event::Undo, w, s, [0; 2]);
        } else {
            Reno::default().on_undo(w, s);
        }
    }

    fn on_close(&mut self, w: &mut [weft_cc::Window], s: usize) {
        if s < SUBFLOWS {
            self.event(Event::Close, w, s, [0; 2]);
        }
    }
}

/// Creates a [`NativeAlgorithm`] for each connection of a transport with `cc = "bpf:NAME"`.
#[derive(Clone, Debug)]
pub struct NativeFactory {
    name: &'static str,
    new_state: NativeAlgorithm,
}

impl NativeFactory {
    /// Returns all names with the registry entries of the algorithms behind them, which have their
    /// own descriptions.
    pub fn all() -> impl Iterator<Item = (&'static str, AlgorithmInfo)> {
        ALGORITHMS.iter().filter_map(|&(name, _, about)| {
            let entry = Algorithm::BUILT_IN
                .iter()
                .find(|e| e.name == &name[PREFIX.len()..])?;
            Some((name, AlgorithmInfo { about, ..*entry }))
        })
    }

    /// Creates the factory of `bpf:NAME` with these parameters.
    ///
    /// # Errors
    /// Returns the errors of [`Algorithm::build`] for the algorithm behind the name.
    pub fn factory(name: &str, params: &[(String, f64)]) -> Result<Arc<dyn AlgorithmFactory>, Error> {
        let new_state = NativeAlgorithm::new(name, params)?;
        let known = ALGORITHMS.iter().find(|(known, ..)| *known == name);
        Ok(Arc::new(Self {
            name: known.map_or("bpf", |(name, ..)| *name),
            new_state,
        }))
    }
}

impl AlgorithmFactory for NativeFactory {
    fn name(&self) -> &str {
        self.name
    }

    fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
        Box::new(self.new_state.clone())
    }
}
