//! Sockets that get an algorithm by a rule.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use crate::scene::{SERVER, SERVER_V6, Scene, load, missing, until, wait};
use crate::scene_or_skip;

impl Scene {
    /// The congestion controls of a connection's subflows, and whether all of them have ECN.
    fn congestion_of(&self, stream: &TcpStream) -> (Vec<String>, bool) {
        let local = stream.local_addr().unwrap();
        let subflows = self.subflows();
        let token = subflows.iter().find(|s| s.subflow.local == local).unwrap().token;
        let of_it: Vec<_> = subflows.into_iter().filter(|s| s.token == token).collect();
        let ecn = of_it.iter().all(|s| s.ecn);
        (of_it.into_iter().map(|s| s.congestion).collect(), ecn)
    }
}

#[test]
fn rules_by_destination_and_port_choose_for_sockets_that_have_not_chosen() {
    let scene = scene_or_skip!("rules_by_destination_and_port_choose_for_sockets_that_have_not_chosen");
    let daemon = scene.daemon("");
    let reload = |rules: &str| {
        scene.configure(rules);
        scene.reload(&daemon);
    };
    let (server, other, v6) = (scene.serve(), scene.serve(), scene.serve_at(SERVER_V6.into()));
    let port = server.address.port();
    reload(&format!(
        "[[rules]]\nto = \"{SERVER}/30\"\nports = \"{port}\"\nalgorithm = \"weft_xmp\"\n\
         [[rules]]\nto = \"fd99::/16\"\nalgorithm = \"weft_dcm\"\n"
    ));
    let to = |address: SocketAddr, algorithm: &str, count: usize| {
        let stream = scene.connect(address);
        let _load = load(stream.try_clone().unwrap());
        let all = (vec![algorithm.to_owned(); count], true);
        let reached = wait(10, || scene.congestion_of(&stream) == all);
        assert!(reached, "{address}: {:?}", scene.congestion_of(&stream));
    };
    // Additional subflows use it, too.
    to(server.address, "weft_xmp", 4);
    to(v6.address, "weft_dcm", 4);
    to(other.address, "weft_amp", 4);
    // The choice of a program stays.
    let chosen = scene.connect_dctcp(server.address);
    let name = socket2::SockRef::from(&chosen).tcp_congestion().unwrap();
    assert!(name.starts_with(b"weft_dctcp"));
    reload("");
    to(server.address, "weft_amp", 4);
    daemon.stop();
}

/// Where cgroups of version 2 are mounted, if this process may make one.
fn cgroups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let root = fields.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(PathBuf::from(root[1]))
}

/// This process among those of a cgroup.
fn enter(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
}

#[test]
fn a_rule_by_cgroup_holds_for_a_cgroup_that_comes_later() {
    let scene = scene_or_skip!("a_rule_by_cgroup_holds_for_a_cgroup_that_comes_later");
    let name = format!("weftd-test-{}", std::process::id());
    let Some(root) = cgroups() else {
        weft_test_support::skip(
            "a_rule_by_cgroup_holds_for_a_cgroup_that_comes_later",
            "no cgroups of version 2",
        );
        return;
    };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or_default();
    let _daemon = scene.daemon(&format!(
        "[[rules]]\ncgroup = \"{name}\"\nalgorithm = \"weft_xmp\""
    ));
    let server = scene.serve();
    let first = || {
        let stream = scene.connect(server.address);
        scene.congestion_of(&stream).0[0].clone()
    };
    assert_eq!(first(), "weft_amp");
    let below = root.join(&name).join("below");
    fs::create_dir_all(&below).unwrap();
    enter(&below);
    let followed = wait(5, || first() == "weft_xmp");
    enter(&root.join(own));
    fs::remove_dir(&below).unwrap();
    fs::remove_dir(root.join(&name)).unwrap();
    assert!(followed);
    until("it is out of it", || first() == "weft_amp");
}
