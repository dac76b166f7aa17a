//! What AMP takes beside DCTCP, by iperf3: a quiet machine is needed, `make measure-linux`.

use std::process::{Child, Command, Stdio};

use crate::scene::{SERVER, SERVER_TOO, Scene, missing, until};
use crate::scene_or_skip;

const RUNS: usize = 5;
const SECONDS: &str = "20";
const PORT: usize = 5201;

/// As weftd sets AMP by default, and with DCTCP's cut for a subflow that is alone.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn amp_takes_the_share_of_a_dctcp_flow() {
    let scene = scene_or_skip!("amp_takes_the_share_of_a_dctcp_flow");
    for tool in ["iperf3", "mptcpize"] {
        if Command::new(tool).arg("-v").output().is_err() {
            eprintln!("SKIPPED amp_takes_the_share_of_a_dctcp_flow: no `{tool}` (Debian: {tool})");
            return;
        }
    }
    scene.add_addresses();
    scene.route(SERVER_TOO, "weft_dctcp");
    scene.mark_queue();
    let mut failed = Vec::new();
    for (set, more) in [
        ("default", ""),
        ("dctcp_cut", "[congestion.parameters.weft_amp]\ndctcp_cut = 1"),
    ] {
        let daemon = scene.daemon(more);
        for others in [2, 4, 8] {
            let mut shares: Vec<_> = (0..RUNS).map(|_| share(&scene, others)).collect();
            shares.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (share, fairness) = shares[RUNS / 2];
            eprintln!(
                "{set}: beside {others} DCTCP flows {share:.2}, Jain's index {fairness:.3}: {shares:.2?}"
            );
            if !(0.85..=1.15).contains(&share) || fairness < 0.98 {
                failed.push((set, others, share, fairness));
            }
        }
        daemon.stop();
    }
    // One of the two settings has to hold; which one is the default follows from this.
    let holds = |set: &str| failed.iter().all(|(of, ..)| *of != set);
    assert!(holds("default") || holds("dctcp_cut"), "{failed:?}");
}

/// AMP's goodput in a DCTCP flow's, and Jain's index of all.
fn share(scene: &Scene, others: usize) -> (f64, f64) {
    let ports: Vec<String> = (PORT..=PORT + others).map(|port| port.to_string()).collect();
    let mut servers: Vec<_> = ports
        .iter()
        .map(|port| scene.within_server("mptcpize", &["run", "iperf3", "-s", "-1", "-p", port]))
        .collect();
    until("the servers listen", || scene.listeners() == ports.len());
    let clients: Vec<_> = ports
        .iter()
        .enumerate()
        .map(|(i, port)| {
            let to = if i == 0 { SERVER } else { SERVER_TOO }.to_string();
            let measure = [
                "iperf3",
                "-J",
                "-t",
                SECONDS,
                "-p",
                port.as_str(),
                "-c",
                to.as_str(),
            ];
            match i {
                0 => scene.within_client("mptcpize", &[&["run"], &measure[..]].concat()),
                _ => scene.within_client(measure[0], &measure[1..]),
            }
        })
        .collect();
    let goodputs: Vec<f64> = clients.into_iter().map(goodput).collect();
    for server in &mut servers {
        server.wait().expect("its end");
    }
    let dctcp = goodputs[1..].iter().sum::<f64>() / others as f64;
    let (sum, squares) = goodputs
        .iter()
        .fold((0.0, 0.0), |(sum, squares), it| (sum + it, squares + it * it));
    (goodputs[0] / dctcp, sum * sum / (squares * goodputs.len() as f64))
}

fn goodput(client: Child) -> f64 {
    let output = client.wait_with_output().expect("its end");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("iperf3's report");
    let goodput = &report["end"]["sum_received"]["bits_per_second"];
    goodput.as_f64().unwrap_or_else(|| panic!("{report:#}"))
}

impl Scene {
    fn within_client(&self, program: &str, arguments: &[&str]) -> Child {
        within(&self.client_name(), program, arguments)
    }

    fn within_server(&self, program: &str, arguments: &[&str]) -> Child {
        within(&self.server_name(), program, arguments)
    }
}

fn within(namespace: &str, program: &str, arguments: &[&str]) -> Child {
    Command::new("ip")
        .args(["netns", "exec", namespace, program])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("ip")
}
