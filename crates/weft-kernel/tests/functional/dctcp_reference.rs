//! `weft_dctcp` compared with the DCTCP of the kernel, if the kernel has it. One flow runs over loopback, where one packet in
//! ten is marked at random, or where RED marks.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_kernel::programs::KernelAlgorithm;

use weft_test_support::skip_without_feature;

use crate::machine::{NamespaceThread, in_namespace, load, run, succeeds};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers, listener_at};

/// Of the window, in packets, as `ss` shows it, of each flow.
const SAMPLES: u32 = 20;

/// Flows of either, in turns: on a busy machine one may stand still for a while.
const TURNS: usize = 3;

#[test]
fn dctcp_does_what_the_kernels_own_does() {
    in_namespace("dctcp_does_what_the_kernels_own_does", || {
        if !has_dctcp("dctcp_does_what_the_kernels_own_does") {
            return;
        }
        let marks = Marks::on_loopback();
        marks.one_in(10);
        run("ip", &["link", "set", "lo", "mtu", "1500", "gso_max_segs", "1"]);
        let [(kernels, kernels_alpha), (ours, alpha)] =
            both(|cc| Peers::connect(Family::V4, Kind::Tcp, cc, cc));
        assert!((0.8..1.5).contains(&(ours / kernels)));
        assert!((0.05..0.2).contains(&kernels_alpha));
        assert!((alpha - kernels_alpha).abs() < 0.04);
    });
}

/// A router with RED as DCTCP wants it: all is marked beyond a threshold of ten packets. Its rate is one that emulation
/// can carry.
#[test]
fn dctcp_does_under_red_what_the_kernels_own_does() {
    in_namespace("dctcp_does_under_red_what_the_kernels_own_does", || {
        if !has_dctcp("dctcp_does_under_red_what_the_kernels_own_does") {
            return;
        }
        let (router, server) = (NamespaceThread::new(), NamespaceThread::new());
        ip(&format!(
            "link add c0 type veth peer name r0 netns {}",
            router.name
        ));
        let next = format!("link add r1 type veth peer name s0 netns {}", server.name);
        ip("address add 10.1.0.1/24 dev c0");
        up("c0");
        ip("route add default via 10.1.0.2");
        let has_red = router.within(move || {
            ip(&next);
            ip("address add 10.1.0.2/24 dev r0");
            ip("address add 10.2.0.2/24 dev r1");
            up("r0");
            up("r1");
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a setting");
            run_words(
                "tc",
                "qdisc add dev r1 root handle 1: tbf rate 20mbit burst 5kb limit 150kb",
            ) && run_words(
                "tc",
                "qdisc add dev r1 parent 1:1 handle 2: red limit 150kb min 15000 max 15001 avpkt 1500 \
                     burst 11 probability 1 bandwidth 20mbit ecn",
            )
        });
        if !has_red {
            skip_without_feature(
                "dctcp_does_under_red_what_the_kernels_own_does",
                "the kernel has no RED (sch_red)",
            );
            return;
        }
        server.within(|| {
            ip("address add 10.2.0.1/24 dev s0");
            up("s0");
            ip("route add default via 10.2.0.2");
        });
        let [(kernels, kernels_alpha), (ours, alpha)] = both(move |cc| {
            let name = cc.to_owned();
            let at = Ipv4Addr::new(10, 2, 0, 1).into();
            let listener = server.within(move || listener_at(at, Kind::Tcp, &name));
            Peers::over(listener, Family::V4, Kind::Tcp, cc)
        });
        assert!((0.8..1.25).contains(&(ours / kernels)));
        // Each flow makes its own marks; of the same marks both make the same (above).
        assert!(kernels_alpha > 0.1 && alpha > 0.1 && (alpha - kernels_alpha).abs() < 0.15);
    });
}

fn ip(words: &str) {
    assert!(run_words("ip", words), "ip {words}");
}

/// Packets are no longer than on the wire.
fn up(interface: &str) {
    ip(&format!("link set {interface} up gso_max_segs 1"));
}

fn run_words(program: &str, words: &str) -> bool {
    succeeds(program, &words.split_whitespace().collect::<Vec<_>>())
}

pub fn has_dctcp(test: &str) -> bool {
    let there = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let has = there.is_ok_and(|list| list.split_whitespace().any(|name| name == "dctcp"));
    if !has {
        skip_without_feature(test, "the kernel has no DCTCP (tcp_dctcp)");
    }
    has
}

/// The mean window and alpha of the kernel's DCTCP, and of ours.
fn both(connect: impl Fn(&str) -> Peers) -> [(f64, f64); 2] {
    let programs = load(&[KernelAlgorithm::Dctcp]);
    let kernels_alpha = |shown: &str, _| {
        let alpha = shown.split("alpha:").nth(1)?;
        Some(alpha.split(',').next()?.parse::<f64>().ok()? / 1024.0)
    };
    let our_alpha = |_: &str, port| {
        let connections = programs.connections().ok()?;
        let mut subflows = connections.iter().flat_map(|c| &c.subflows);
        subflows.find(|s| s.local.port() == port)?.alpha
    };
    let turns = [(); TURNS].map(|()| {
        let kernels = flow(connect("dctcp"), kernels_alpha);
        (kernels, flow(connect("weft_dctcp"), our_alpha))
    });
    let means =
        |flows: [(f64, f64); TURNS]| (mean(&flows.map(|flow| flow.0)), mean(&flows.map(|flow| flow.1)));
    let (kernels, ours) = (means(turns.map(|turn| turn.0)), means(turns.map(|turn| turn.1)));
    println!("mean window and alpha: the kernel's {kernels:?}, ours {ours:?}");
    [kernels, ours]
}

/// The mean window and the mean alpha of a flow, without its beginning.
fn flow(peers: Peers, alpha: impl Fn(&str, u16) -> Option<f64>) -> (f64, f64) {
    let port = peers.client_address().port();
    let filter = format!("sport = :{port}");
    let (mut windows, mut alphas) = (Vec::new(), Vec::new());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // It is never deactivated, since the kernel's window says little then.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                peers.send_for(Duration::from_millis(20));
            }
        });
        std::thread::sleep(Duration::from_secs(2));
        for _ in 0..SAMPLES {
            std::thread::sleep(Duration::from_millis(60));
            let shown = Command::new("ss").args(["-tinH", &filter]).output().expect("ss");
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let cwnd = shown
                .split_whitespace()
                .find_map(|word| word.strip_prefix("cwnd:"));
            windows.extend(cwnd.and_then(|cwnd| cwnd.parse::<f64>().ok()));
            alphas.extend(alpha(&shown, port));
        }
        stop.store(true, Ordering::Relaxed);
    });
    peers.close();
    assert!(windows.len() > 13 && alphas.len() > 13, "ss shows the flow");
    (mean(&windows), mean(&alphas))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
