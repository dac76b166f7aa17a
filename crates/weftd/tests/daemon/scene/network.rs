//! Marks, losses and reordering between the namespaces.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;

use libbpf_rs::{
    MapCore, MapFlags, Object, ObjectBuilder, OpenObject, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHookBuilder,
};
use weft_kernel::path_manager::Namespace;

use super::{CLIENT_TOO, SERVER_TOO, Scene, Server, add_address, ip, listener, run, served, tc};

const CABLE: &str = "cable";
/// A second cable between client and server, without a queue.
const EXPRESS: &str = "express";
/// Addresses of a network with a peer whose path manager is the one of the kernel.
const STOCK_CLIENT: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const STOCK: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

impl Scene {
    /// From now on every packet of the client is marked, or none any more.
    pub fn mark(&self, on: bool) {
        let name = &self.names[0];
        if !on {
            tc(&["-n", name, "qdisc", "del", "dev", "v0", "clsact"]);
            return;
        }
        self.filter(weft_test_support::MARK_ALL_PATH);
    }

    /// From now on packets of the client are marked that find ten others waiting, each a packet of its own.
    pub fn mark_queue(&self) {
        for name in &self.names {
            ip(&["-n", name, "link", "set", "v0", "gso_max_segs", "1"]);
        }
        self.filter(weft_test_support::MARK_QUEUE_PATH);
    }

    /// Puts a program before the client's queue.
    fn filter(&self, object: &str) {
        let name = &self.names[0];
        tc(&["-n", name, "qdisc", "add", "dev", "v0", "clsact"]);
        let program = ["bpf", "da", "obj", object, "sec", "tc"];
        tc(&[
            &["-n", name, "filter", "add", "dev", "v0", "egress"],
            &program[..],
        ]
        .concat());
    }

    /// Packets that have found no room in the client's queue.
    pub fn dropped(&self) -> u64 {
        let shown =
            run(Command::new("tc").args(["-n", &self.names[0], "-s", "-j", "qdisc", "show", "dev", "v0"]));
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("what tc shows");
        let queues = shown.as_array().into_iter().flatten();
        queues.filter_map(|queue| queue["drops"].as_u64()).sum()
    }

    /// The further addresses of both ends.
    pub fn add_addresses(&self) {
        for (name, address) in self.names.iter().zip([CLIENT_TOO, SERVER_TOO]) {
            add_address(name, &format!("{address}/24"));
        }
    }

    /// Attaches the program that drops or changes SYNs of joins that reach the server.
    pub fn joins(&self) -> Joins {
        Joins::attached(&self.server, "v0")
    }

    /// From now on packets of the client may be lost, or overtake those that wait in its queue. After
    /// [`mark_queue`](Self::mark_queue).
    pub fn disorder(&self) -> Disorder {
        let [client, server] = &self.names;
        let there = ["type", "veth", "peer", "name", EXPRESS, "netns", server];
        ip(&[&["-n", client, "link", "add", EXPRESS][..], &there[..]].concat());
        // Packets of the second cable are also for v0 of the server.
        let shown = run(Command::new("ip").args(["-n", server, "-j", "link", "show", "v0"]));
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("what ip shows");
        let hardware = shown[0]["address"].as_str().expect("an address");
        ip(&["-n", server, "link", "set", EXPRESS, "address", hardware]);
        for name in [client, server] {
            ip(&["-n", name, "link", "set", EXPRESS, "up"]);
        }
        let plan = Plan::attached(weft_test_support::DISORDER, &self.client, "v0", TC_EGRESS);
        plan.set(2, index(&self.client, EXPRESS));
        Disorder { plan }
    }

    /// A peer that the daemon does not serve: its path manager is the kernel's, with default limits.
    pub fn stock_peer(&self) -> StockPeer {
        let (name, client) = (format!("{}-stock", self.names[1]), &self.names[0]);
        ip(&["netns", "add", &name]);
        ip(&["-n", &name, "link", "set", "lo", "up"]);
        self.cable_to(&name);
        for (name, address) in [(client, STOCK_CLIENT), (&name, STOCK)] {
            let address = format!("{address}/24");
            ip(&["-n", name, "address", "add", &address, "dev", CABLE]);
            ip(&["-n", name, "link", "set", CABLE, "up"]);
        }
        // Nor that fast, for its packets take a processor too.
        let rate = ["rate", "20mbit", "burst", "20kb", "limit", "150kb"];
        tc(&[
            &["-n", client, "qdisc", "add", "dev", CABLE, "root", "tbf"][..],
            &rate[..],
        ]
        .concat());
        let namespace = Namespace::named(&name);
        let listener = listener(&namespace, STOCK.into(), Some("weft_dctcp"));
        StockPeer {
            joins: Joins::attached(&namespace, CABLE),
            server: served(listener, false),
            name,
        }
    }

    /// A server of the client's namespace that the [stock peer](Self::stock_peer) reaches.
    pub fn serve_stock_peer(&self) -> Server {
        served(listener(&self.client, STOCK_CLIENT.into(), None), false)
    }

    /// Makes later connections of the client to an address use this congestion control.
    pub fn route(&self, to: Ipv4Addr, cc: &str) {
        let to = format!("{to}/32");
        ip(&[
            "-n",
            &self.names[0],
            "route",
            "replace",
            &to,
            "dev",
            "v0",
            "congctl",
            cc,
        ]);
    }

    /// A cable between the client and another namespace.
    pub fn cable_to(&self, namespace: &str) {
        let (here, there) = (["-n", &self.names[0]], ["netns", namespace]);
        let cable = ["link", "add", CABLE, "type", "veth", "peer", "name", CABLE];
        ip(&[&here[..], &cable[..], &there[..]].concat());
    }

    pub fn has_cable(&self) -> bool {
        let shown = Command::new("ip")
            .args(["-n", &self.names[0], "link", "show", CABLE])
            .output();
        shown.expect("ip").status.success()
    }
}

/// A program of tests on a device, which does what its map says.
pub struct Plan {
    object: Object,
}

impl Plan {
    pub fn attached(program: &[u8], namespace: &Namespace, device: &str, point: TcAttachPoint) -> Self {
        let object = ObjectBuilder::default()
            .open_memory(program)
            .and_then(OpenObject::load)
            .expect("the program loads");
        let index = index(namespace, device);
        let attached = namespace.run_in(|| {
            let program = object.progs().next().expect("a program");
            let mut hook = TcHookBuilder::new(program.as_fd())
                .ifindex(i32::try_from(index).map_err(io::Error::other)?)
                .replace(true)
                .handle(1)
                .priority(1)
                .hook(point);
            hook.create()
                .and_then(|mut hook| hook.attach())
                .map(|_| ())
                .map_err(io::Error::other)
        });
        attached.expect("clsact");
        Self { object }
    }

    pub fn set(&self, which: u32, value: u32) {
        let (key, value) = (which.to_ne_bytes(), value.to_ne_bytes());
        self.map().update(&key, &value, MapFlags::ANY).expect("a map");
    }

    fn get(&self, which: u32) -> u32 {
        let value = self
            .map()
            .lookup(&which.to_ne_bytes(), MapFlags::ANY)
            .expect("a map");
        u32::from_ne_bytes(value.expect("an entry").try_into().expect("a number"))
    }

    fn map(&self) -> libbpf_rs::Map<'_> {
        let mut maps = self.object.maps();
        maps.find(|map| map.name() == "plan").expect("a map")
    }
}

/// A device's number.
fn index(namespace: &Namespace, device: &str) -> u32 {
    let name = namespace.path().file_name().expect("a name").to_string_lossy();
    let shown = run(Command::new("ip").args(["-n", &name, "-j", "link", "show", device]));
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("what ip shows");
    let index = shown[0]["ifindex"].as_u64().expect("an index");
    u32::try_from(index).expect("an index")
}

/// The program `tests/joins`, which drops or changes SYNs of joins.
pub struct Joins {
    plan: Plan,
}

impl Joins {
    fn attached(namespace: &Namespace, device: &str) -> Self {
        Self {
            plan: Plan::attached(weft_test_support::JOINS, namespace, device, TC_INGRESS),
        }
    }

    /// Drops the next `count` SYNs.
    pub fn lose(&self, count: u32) {
        self.plan.set(0, count);
    }

    /// Clears the request for ECN in the next `count` SYNs.
    pub fn bleach(&self, count: u32) {
        self.plan.set(1, count);
    }

    /// Drops `percent` of all SYNs from now on, also those that are not of joins.
    pub fn lose_percent(&self, percent: u32) {
        self.plan.set(3, percent);
    }

    /// Whether SYNs of new MPTCP connections are lost from now on.
    pub fn lose_mptcp(&self, lost: bool) {
        self.plan.set(4, lost.into());
    }

    /// Whether SYNs that ask for ECN are lost from now on.
    pub fn lose_ecn(&self, lost: bool) {
        self.plan.set(5, lost.into());
    }

    /// How many of joins have come, lost ones included.
    pub fn seen(&self) -> u32 {
        self.plan.get(2)
    }
}

/// The program `tests/disorder`, which drops and reorders packets of the client.
pub struct Disorder {
    plan: Plan,
}

impl Disorder {
    /// Drops `many` of 10,000 packets from now on.
    pub fn lose(&self, many: u32) {
        self.plan.set(0, many);
    }

    /// Lets `many` of 10,000 packets overtake others from now on.
    pub fn reorder(&self, many: u32) {
        self.plan.set(1, many);
    }

    /// How many were lost, and how many have overtaken others.
    pub fn done(&self) -> (u32, u32) {
        (self.plan.get(3), self.plan.get(4))
    }
}

/// A server in a namespace that the daemon does not serve.
pub struct StockPeer {
    pub joins: Joins,
    pub server: Server,
    name: String,
}

impl StockPeer {
    pub fn namespace(&self) -> Namespace {
        Namespace::named(&self.name)
    }
}

impl Drop for StockPeer {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).output();
    }
}
