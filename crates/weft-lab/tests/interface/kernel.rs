//! The kernel's congestion control in simulations: its windows on the traces of simulations equal
//! those of `weft-cc`, and a transport can use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_bpf_native::abi::PACKET;
use weft_bpf_native::{NativeAlgorithm, NativeFactory};
use weft_cc::{Ack, Algorithm, AlgorithmFactory, CongestionControl, Echo, Elapsed, Round, Window};
use weft_lab::{Experiment, ReadOptions, RunOptions};

use crate::experiment::{counts, parse, run_with, table};

/// Relative tolerance of a window.
const TOLERANCE: f64 = 1e-4;

/// Index of the remainder that XMP saves, in packets (`xmp.rs` of weft-cc).
const XMP_ADDER: usize = 1;

/// Index of Warp's share of the connection's window, in packets.
const WARP_SHARE: usize = 0;

/// An incast that competes with long connections.
const INCAST: &str = r#"
    name = "kernel"
    duration = "200ms"
    topology = { kind = "many-to-one", senders = 8, rate = "10Gbps", delay = "2us" }
    queues = { limit = "100 packets", mark = "10 packets" }
    [transports.multipath]
    cc = "both"
    subflows = 4
    # Under Linux' scheduler a subflow waits for what others were given, and a small difference of windows grows.
    scheduler = "round-robin"
    [transports.dctcp]
    cc = "dctcp"
    [[traffic]]
    kind = "bulk"
    transport = "multipath"
    from = "h0"
    to = "r0"
    [[traffic]]
    kind = "incast"
    transport = "multipath"
    flows = 6
    size = "256KB"
    gap = "50us"
    interval = "20ms"
    rounds = 2
    [[traffic]]
    kind = "bulk"
    transport = "dctcp"
    from = "h2"
    to = "r0"
"#;

/// The algorithm of `weft-cc`, which controls the transport, and the kernel's algorithm, which
/// handles the same events.
#[derive(Debug)]
struct Both {
    algorithm: &'static str,
    compared: Arc<Compared>,
}

#[derive(Debug, Default)]
struct Compared {
    events: AtomicU64,
    /// Connections whose comparison ended because rounding gave different whole packets.
    ties: AtomicU64,
    /// Events after which Warp's shares were equal and rounding had apportioned their packets.
    settled: AtomicU64,
    /// Events after which windows differed.
    different: AtomicU64,
    suppressed: AtomicU64,
}

struct Connection {
    ours: Algorithm,
    kernels: NativeAlgorithm,
    w: Vec<Window>,
    compared: Arc<Compared>,
    over: bool,
}

impl AlgorithmFactory for Both {
    fn name(&self) -> &'static str {
        "both"
    }

    fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
        Box::new(Connection {
            ours: Algorithm::build(self.algorithm, &[]).expect("a built-in algorithm"),
            kernels: NativeAlgorithm::new(&format!("bpf:{}", self.algorithm), &[]).expect("the kernel's"),
            w: Vec::new(),
            compared: Arc::clone(&self.compared),
            over: false,
        })
    }
}

impl Connection {
    fn both(&mut self, w: &mut [Window], event: impl Fn(&mut dyn CongestionControl, &mut [Window])) {
        // Both get round-trip times as the kernel stores them, in 1/8 us: at 20 us the difference
        // is up to 0.6 percent.
        let exact: Vec<f64> = w.iter().map(|w| w.srtt).collect();
        for w in w.iter_mut() {
            w.srtt = (w.srtt * 8e6).round() / 8e6;
        }
        for (s, from) in w.iter().enumerate() {
            match self.w.get_mut(s) {
                None => self.w.push(from.clone()),
                Some(to) => {
                    to.established = from.established;
                    to.in_recovery = from.in_recovery;
                    to.srtt = from.srtt;
                }
            }
        }
        let whole_packets_differ = |w: &[Window], kernels: &[Window]| {
            let mut both = w.iter().zip(kernels);
            both.any(|(a, b)| a.cwnd.floor() != b.cwnd.floor())
        };
        let before = whole_packets_differ(w, &self.w);
        event(&mut self.ours, w);
        for (w, srtt) in w.iter_mut().zip(exact) {
            w.srtt = srtt;
        }
        if self.over {
            return;
        }
        event(&mut self.kernels, &mut self.w);
        self.compared.events.fetch_add(1, Ordering::Relaxed);
        if w.iter().any(|w| !w.active) {
            self.compared.suppressed.fetch_add(1, Ordering::Relaxed);
        }
        let same = |(a, b): (&Window, &Window)| {
            (a.cwnd - b.cwnd).abs() <= TOLERANCE * a.cwnd && a.active == b.active
        };
        if self.ours.name() == "warp" && !w.iter().zip(&self.w).all(same) && self.shares_agree(w) {
            self.compared.settled.fetch_add(1, Ordering::Relaxed);
            for (s, (ours, kernels)) in w.iter().zip(&mut self.w).enumerate() {
                self.kernels.set_window(s, ours.cwnd, ours.ssthresh);
                (kernels.cwnd, kernels.ssthresh) = (ours.cwnd, ours.ssthresh);
            }
        }
        if !w.iter().zip(&self.w).all(same) {
            // XMP saves its growth until it is a whole packet. At a tie, the remainder is almost
            // nothing in one implementation and almost a packet in the other.
            let saved = |w: &Window| (w.state[XMP_ADDER] - w.state[XMP_ADDER].round()).abs() < TOLERANCE;
            let tie = before
                || self.ours.name() == "xmp" && w.iter().any(saved) && whole_packets_differ(w, &self.w);
            let counter = if tie {
                &self.compared.ties
            } else {
                &self.compared.different
            };
            counter.fetch_add(1, Ordering::Relaxed);
            self.over = true;
        }
    }

    /// Returns true if Warp's shares are equal, and windows differ by at most a packet.
    fn shares_agree(&self, w: &[Window]) -> bool {
        let kernels = self.kernels.connection().w.iter().zip(&self.w);
        w.iter().zip(kernels).all(|(ours, (kernels, window))| {
            let share = kernels.state[WARP_SHARE] as f64 / PACKET;
            (ours.state[WARP_SHARE] - share).abs() <= TOLERANCE * share
                && (ours.cwnd - window.cwnd).abs() <= 1.0
                && ours.active == window.active
        })
    }
}

impl CongestionControl for Connection {
    fn echo(&self) -> Echo {
        self.ours.echo()
    }
    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.both(w, |cc, w| cc.on_open(w, s));
    }
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        // The time in the kernel's unit, for both.
        let now = Elapsed(ack.now.0 / 1_000_000 * 1_000_000);
        let ack = Ack { now, ..ack };
        self.both(w, |cc, w| cc.on_ack(w, s, ack));
    }
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.both(w, |cc, w| cc.on_mark(w, s));
    }
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        self.both(w, |cc, w| cc.on_round(w, s, round));
    }
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.both(w, |cc, w| cc.on_fast_retransmit(w, s));
    }
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.both(w, |cc, w| cc.on_timeout(w, s, first));
    }
    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.both(w, |cc, w| cc.on_close(w, s));
    }
}

#[test]
fn on_simulated_traces_the_kernel_has_the_same_windows() {
    for algorithm in NativeFactory::all().map(|(_, entry)| entry.name) {
        let compared = Arc::new(Compared::default());
        let both: Arc<dyn AlgorithmFactory> = Arc::new(Both {
            algorithm,
            compared: Arc::clone(&compared),
        });
        // Competing with DCTCP, it sends little.
        let rounds = if algorithm == "amp-fg" {
            "rounds = 4"
        } else {
            "rounds = 2"
        };
        let incast = INCAST.replace("rounds = 2", rounds);
        let experiment = Experiment::read(
            &incast,
            &ReadOptions {
                custom_algorithms: &[both],
                ..ReadOptions::default()
            },
        )
        .unwrap();
        run_with(&experiment, RunOptions::default());
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        println!("{algorithm}: {compared:?}");
        assert!(count(&compared.events) > 3_000, "{algorithm}: few events");
        assert_eq!(count(&compared.different), 0, "{algorithm}");
        assert!(count(&compared.ties) <= 1, "{algorithm}");
        assert!(
            count(&compared.settled) <= count(&compared.events) / 1_000,
            "{algorithm}"
        );
        assert_eq!(
            count(&compared.suppressed) > 0,
            matches!(algorithm, "amp" | "warp")
        );
    }
}

#[test]
fn a_transport_uses_it_by_name_and_gets_nearly_the_same_goodput() {
    for algorithm in NativeFactory::all().map(|(_, entry)| entry.name) {
        let [ours, kernels] = ["", "bpf:"].map(|prefix| {
            let cc = format!("transports.multipath.cc={prefix}{algorithm}");
            let run = run_with(&parse(INCAST, &[cc]), RunOptions::default());
            // The flow of the transport under test.
            counts(table(&run, "flows"), "delivered_bytes")[0] as f64
        });
        println!("{algorithm}: {ours} and {kernels} bytes");
        assert!((0.8..1.25).contains(&(kernels / ours)), "{algorithm}");
    }
}

#[test]
fn an_unknown_one_is_refused_with_those_there_are() {
    let override_of = |cc: &str| vec![format!("transports.multipath.cc={cc}")];
    let error = Experiment::parse(INCAST, &override_of("bpf:reno")).unwrap_err();
    assert!(error.to_string().contains("\"bpf:amp\""), "{error}");
    let error = Experiment::parse(INCAST, &override_of("{name=\"bpf:amp\", tau=0}")).unwrap_err();
    assert!(error.to_string().contains("tau"), "{error}");
}
