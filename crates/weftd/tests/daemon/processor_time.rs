//! Processor time of a connection per Gbit of its data. `make measure-linux`.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use socket2::Protocol;
use weft_kernel::path_manager::Namespace;

use crate::fabric::{connect, port};
use crate::scene::{NO_DEFAULT, Scene, ip, load, missing};
use crate::{number, scene_or_skip};

/// Packets that TSO and GRO combine.
const SEGMENTS: u64 = 44;
/// Packets in the queue from which packets are marked.
const MARK: u32 = 60;
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 82, 0, 2);

/// Two hosts with a link.
struct Hosts {
    names: [String; 2],
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// Returns the seconds that all processors were busy since the machine started.
fn busy_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").expect("times of the processors");
    let ticks: Vec<f64> = stat
        .lines()
        .next()
        .expect("a line for all")
        .split_whitespace()
        .skip(1)
        .map(|ticks| ticks.parse().expect("a number"))
        .collect();
    // User, nice, system, interrupts and soft interrupts, in ticks of 10 ms; the fourth and fifth number are idle time.
    (ticks[..3].iter().sum::<f64>() + ticks[5..7].iter().sum::<f64>()) / 100.0
}

/// The whole machine, with sender, receiver and the daemon.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn processor_time_per_gbit() {
    let scene = scene_or_skip!("processor_time_per_gbit");
    let seconds = number("SECONDS", 10);
    for rate in [1000, 2500, 5000, 10_000] {
        for (cc, protocol, subflows) in [
            ("cubic", Protocol::TCP, 1),
            ("weft_dctcp", Protocol::TCP, 1),
            ("weft_dctcp", Protocol::MPTCP, 1),
            ("weft_amp", Protocol::MPTCP, 4),
            ("weft_warp", Protocol::MPTCP, 4),
        ] {
            let own = std::process::id();
            let hosts = Hosts {
                names: ["client", "server"].map(|end| format!("weftd-test-{own}-{end}")),
            };
            let [client, server] = &hosts.names;
            for name in [client, server] {
                ip(&["netns", "add", name]);
                ip(&["-n", name, "link", "set", "lo", "up"]);
            }
            connect([(client, "v0"), (server, "v0")], "10.82.0", SEGMENTS);
            let _mark = port(client, "v0", rate, MARK);
            let default = if cc == "cubic" { "weft_dctcp" } else { cc };
            let daemon = scene.daemon_of_these(
                &[client, server],
                &format!(
                    "{NO_DEFAULT}congestion.default = \"{default}\"\nsubflows.count = {subflows}\n\
                     subflows.join_after = \"0B\"\n"
                ),
            );
            let to = Scene::serve_in(&Namespace::named(server), ADDRESS.into());
            let chosen = (protocol == Protocol::TCP).then_some(cc);
            let _load = load(Scene::connect_from(
                &Namespace::named(client),
                to.address,
                protocol,
                chosen,
            ));
            sleep(Duration::from_secs(1));
            let (busy, own, read) = (busy_seconds(), daemon.cpu_seconds(), to.read());
            sleep(Duration::from_secs(seconds));
            let (busy, own) = (busy_seconds() - busy, daemon.cpu_seconds() - own);
            let read = to.read() - read;
            let gbit = 8e-9 * read as f64;
            let protocol = if protocol == Protocol::TCP { "TCP" } else { "MPTCP" };
            eprintln!(
                "{rate} Mbit/s, {cc} over {protocol}, {subflows} subflows: {:.2} Gbit/s, {:.0} ms of processor time per Gbit, of which \
                 weftd takes {:.0}",
                gbit / seconds as f64,
                1e3 * busy / gbit,
                1e3 * own / gbit
            );
            assert!(gbit > 0.0, "no data");
            daemon.stop();
        }
    }
}
