//! `weft_dctcp` beside the kernel's own DCTCP, where the kernel has it: one flow over loopback, of whose packets one in
//! ten is marked at random.

use std::process::Command;
use std::time::Duration;

use weft_linux::programs::Name;

use crate::machine::{in_namespace, load, run};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers};

/// Of the window, in packets, as `ss` shows it.
const SAMPLES: u32 = 60;

#[test]
fn dctcp_does_what_the_kernels_own_does() {
    in_namespace("dctcp_does_what_the_kernels_own_does", || {
        let there = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        if !there.is_ok_and(|list| list.split_whitespace().any(|name| name == "dctcp")) {
            println!("dctcp_does_what_the_kernels_own_does: skipped, the kernel has no DCTCP (tcp_dctcp)");
            return;
        }
        run("ip", &["link", "set", "lo", "mtu", "1500", "gso_max_segs", "1"]);
        let marks = Marks::on_loopback();
        marks.one_in(10);
        let programs = load(&[Name::Dctcp]);
        let (kernels, kernels_alpha) = flow("dctcp", |shown, _| {
            let alpha = shown.split("alpha:").nth(1)?;
            Some(alpha.split(',').next()?.parse::<f64>().ok()? / 1024.0)
        });
        let (ours, alpha) = flow("weft_dctcp", |_, port| {
            let connections = programs.connections().ok()?;
            let mut subflows = connections.iter().flat_map(|c| &c.subflows);
            subflows.find(|s| s.local.port() == port)?.alpha
        });
        println!("mean windows {kernels} and {ours}, mean alpha {kernels_alpha} and {alpha}");
        assert!((0.8..1.5).contains(&(ours / kernels)));
        assert!((0.05..0.2).contains(&kernels_alpha));
        assert!((alpha - kernels_alpha).abs() < 0.04);
    });
}

/// The mean window and the mean alpha of a flow, without its beginning.
fn flow(cc: &str, alpha: impl Fn(&str, u16) -> Option<f64>) -> (f64, f64) {
    let peers = Peers::connect(Family::V4, Kind::Tcp, cc, cc);
    let port = peers.client_address().port();
    let filter = format!("sport = :{port}");
    peers.send_for(Duration::from_secs(2));
    let (mut windows, mut alphas) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        peers.send_for(Duration::from_millis(60));
        let shown = Command::new("ss").args(["-tinH", &filter]).output().expect("ss");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let cwnd = shown
            .split_whitespace()
            .find_map(|word| word.strip_prefix("cwnd:"));
        windows.extend(cwnd.and_then(|cwnd| cwnd.parse::<f64>().ok()));
        alphas.extend(alpha(&shown, port));
    }
    peers.close();
    assert!(windows.len() > 40 && alphas.len() > 40, "ss shows the flow");
    (mean(&windows), mean(&alphas))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
