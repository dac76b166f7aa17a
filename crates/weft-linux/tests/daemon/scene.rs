//! Two network namespaces with a link between them, and a daemon that serves both.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, OpenObject, TC_INGRESS, TcHookBuilder};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;
use weft_linux::path_manager::{Namespace, Seen, census};
use weft_linux::status::{Status, ask};

/// The server's addresses.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);
/// Further ones, which nobody knows until they are announced.
pub const SERVER_TOO: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 4);
pub const CLIENT_TOO: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 3);
const CABLE: &str = "cable";
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const CLIENT_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);

/// Why these tests cannot run here, if they cannot.
pub fn missing() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root for network namespaces and BPF".to_owned());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no BTF".to_owned());
    }
    if !Path::new("/proc/sys/net/mptcp/pm_type").exists() {
        return Some("the kernel has no MPTCP with a path manager in user space".to_owned());
    }
    for tool in ["ip", "tc"] {
        if Command::new(tool).arg("-V").output().is_err() {
            return Some(format!("no `{tool}` (Debian: iproute2)"));
        }
    }
    None
}

/// Namespaces, a daemon's folder, and the machine for this test alone.
pub struct Scene {
    pub client: Namespace,
    pub server: Namespace,
    pub folder: TempDir,
    names: [String; 2],
    _alone: Flock<File>,
}

impl Scene {
    pub fn new() -> Self {
        let lock = File::create("/run/weft-testbed.lock").expect("a lock file");
        let alone = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, errno)| errno)
            .expect("the lock");
        // Other tests register the same names.
        let free = wait(120, || {
            let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            names.is_ok_and(|names| !names.contains("weft_"))
        });
        assert!(free, "congestion controls of Weft are registered already");
        // So a machine needs none, and nobody else's pins are touched.
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("private mounts");
        mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none).expect("a BPF file system");
        let names = ["c", "s"].map(|end| format!("weftd-test-{}-{end}", std::process::id()));
        let [c, s] = &names;
        let scene = Self {
            client: Namespace::named(c),
            server: Namespace::named(s),
            folder: tempfile::tempdir().expect("a folder"),
            names: names.clone(),
            _alone: alone,
        };
        for name in &names {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        ip(&[
            "-n", c, "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", s,
        ]);
        for (name, address, v6) in [(c, CLIENT, CLIENT_V6), (s, SERVER, SERVER_V6)] {
            ip(&[
                "-n",
                name,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                "v0",
            ]);
            ip(&[
                "-n",
                name,
                "address",
                "add",
                &format!("{v6}/64"),
                "dev",
                "v0",
                "nodad",
            ]);
            ip(&["-n", name, "link", "set", "v0", "up"]);
        }
        // So slow that the processor is not what limits.
        tc(&[
            "-n", c, "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "200mbit", "burst", "20kb", "limit",
            "150kb",
        ]);
        scene
    }

    /// From now on every packet of the client is marked, or none any more.
    pub fn mark(&self, on: bool) {
        let name = &self.names[0];
        if !on {
            tc(&["-n", name, "qdisc", "del", "dev", "v0", "clsact"]);
            return;
        }
        self.filter(concat!(env!("OUT_DIR"), "/tests_mark_all.o"));
    }

    /// From now on packets of the client are marked that find ten others waiting, each a packet of its own.
    pub fn mark_queue(&self) {
        for name in &self.names {
            ip(&["-n", name, "link", "set", "v0", "gso_max_segs", "1"]);
        }
        self.filter(concat!(env!("OUT_DIR"), "/tests_mark_queue.o"));
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
            ip(&[
                "-n",
                name,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                "v0",
            ]);
        }
    }

    /// What happens from now on to the SYNs of joins that reach the server.
    pub fn joins(&self) -> Joins {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/tests_joins.o"));
        let object = ObjectBuilder::default()
            .open_memory(bytes)
            .and_then(OpenObject::load)
            .expect("the program loads");
        let shown = run(Command::new("ip").args(["-n", &self.names[1], "-o", "link", "show", "v0"]));
        let shown = String::from_utf8_lossy(&shown.stdout);
        let index: i32 = shown
            .split(':')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("an index");
        let attached = self.server.within(|| {
            let program = object.progs().next().expect("a program");
            let mut hook = TcHookBuilder::new(program.as_fd())
                .ifindex(index)
                .replace(true)
                .handle(1)
                .priority(1)
                .hook(TC_INGRESS);
            hook.create()
                .and_then(|mut hook| hook.attach())
                .map(|_| ())
                .map_err(std::io::Error::other)
        });
        attached.expect("clsact at the server");
        Joins { object }
    }

    /// Starts the daemon for both namespaces with further lines of configuration, and waits until it is ready.
    pub fn daemon(&self, more: &str) -> Daemon {
        self.daemon_of(&self.names, more)
    }

    /// The same for the client's namespace alone: the server's path manager is the kernel's.
    pub fn daemon_of_the_client(&self, more: &str) -> Daemon {
        self.daemon_of(&self.names[..1], more)
    }

    /// The same for other namespaces.
    pub fn daemon_of_these(&self, namespaces: &[&str], more: &str) -> Daemon {
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        self.daemon_of(&namespaces, more)
    }

    /// From now on the client's connections to an address have this congestion control.
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

    pub fn client_name(&self) -> String {
        self.names[0].clone()
    }

    pub fn server_name(&self) -> String {
        self.names[1].clone()
    }

    /// How many sockets of the server listen.
    pub fn listeners(&self) -> usize {
        weft_linux::path_manager::listeners(&self.server)
            .expect("a census")
            .len()
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

    /// Writes the configuration anew, for both namespaces.
    pub fn configure(&self, more: &str) {
        self.configured(&self.names, more);
    }

    fn configured(&self, namespaces: &[String], more: &str) -> PathBuf {
        let config = self.folder.path().join("weftd.toml");
        let text = format!(
            "namespaces = {namespaces:?}\ncongestion.default = \"weft_amp\"\nmetrics.enabled = false\nlog.format = \"json\"\n{more}",
        );
        fs::write(&config, text).expect("a configuration");
        config
    }

    fn daemon_of(&self, namespaces: &[String], more: &str) -> Daemon {
        let config = self.configured(namespaces, more);
        // The priority that its unit gives it.
        let mut child = Command::new("chrt")
            .args(["-f", "1", env!("CARGO_BIN_EXE_weftd"), "run", "--config"])
            .arg(config)
            .env("RUNTIME_DIRECTORY", self.folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("weftd");
        let mut log = BufReader::new(child.stderr.take().expect("its log"));
        let mut lines = String::new();
        while !lines.contains("weftd runs\"") {
            let read = log.read_line(&mut lines).expect("its log");
            assert!(read > 0, "weftd ended at once: {lines}");
        }
        thread::spawn(move || {
            let mut rest = String::new();
            let _ = log.read_to_string(&mut rest);
            eprint!("{rest}");
        });
        Daemon { child }
    }

    pub fn weftd(&self, arguments: &[&str]) -> Command {
        let mut command = weftd(arguments);
        command.env("RUNTIME_DIRECTORY", self.folder.path());
        command
    }

    /// While one weftd becomes the next, nobody answers.
    pub fn try_status(&self) -> Option<Status> {
        ask(&self.folder.path().join("status")).ok()
    }

    pub fn status(&self) -> Status {
        ask(&self.folder.path().join("status")).expect("a status")
    }

    /// The client's subflows, as the kernel has them.
    pub fn subflows(&self) -> Vec<Seen> {
        let mut seen = census(&self.client).expect("a census");
        seen.retain(|seen| seen.established);
        seen
    }

    pub fn setting(&self, key: &str) -> String {
        weft_linux::daemon::settings::read(&self.client, key).expect(key)
    }

    /// A server that counts what it reads, on every connection to it.
    pub fn serve(&self) -> Server {
        self.serve_at(SERVER.into())
    }

    /// The same at one of the server's addresses.
    pub fn serve_at(&self, address: IpAddr) -> Server {
        self.serve_with(address, None)
    }

    /// A server that sends to everybody as much as it can, too.
    pub fn serve_both_ways(&self) -> Server {
        self.served(SERVER.into(), None, true)
    }

    /// The same with a congestion control of its own.
    pub fn serve_with(&self, address: IpAddr, cc: Option<&str>) -> Server {
        self.served(address, cc, false)
    }

    /// A server that accepts nothing: what connects stands, and takes none of this process's descriptors.
    pub fn serve_idle(&self, connections: i32) -> TcpListener {
        let most = || fs::write("/proc/sys/net/core/somaxconn", connections.to_string());
        self.server.within(most).expect("a setting");
        let listener = self.listener(SERVER.into(), None);
        let waiting = socket2::SockRef::from(&listener).listen(connections);
        waiting.expect("a longer queue");
        listener
    }

    fn listener(&self, address: IpAddr, cc: Option<&str>) -> TcpListener {
        let address = SocketAddr::from((address, 0));
        self.server
            .within(|| {
                let domain = Domain::for_address(address);
                let socket = Socket::new(domain, Type::STREAM, Some(Protocol::MPTCP))?;
                if let Some(cc) = cc {
                    socket.set_tcp_congestion(cc.as_bytes())?;
                }
                socket.bind(&address.into())?;
                socket.listen(1024)?;
                Ok(socket)
            })
            .expect("a listener")
            .into()
    }

    fn served(&self, address: IpAddr, cc: Option<&str>, sends: bool) -> Server {
        let listener = self.listener(address, cc);
        let address = listener.local_addr().expect("an address");
        let read = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&read);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                if sends {
                    let mut stream = stream.try_clone().expect("a handle");
                    thread::spawn(move || while stream.write_all(&vec![0; 1 << 16]).is_ok() {});
                }
                let counter = Arc::clone(&counter);
                thread::spawn(move || {
                    let mut buffer = vec![0; 1 << 16];
                    while let Ok(n) = stream.read(&mut buffer)
                        && n > 0
                    {
                        counter.fetch_add(n as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        Server { address, read }
    }

    pub fn connect(&self, to: SocketAddr) -> TcpStream {
        self.connected(to, Protocol::MPTCP, None)
    }

    /// One path, by DCTCP. What is left when it closes is thrown away.
    pub fn connect_dctcp(&self, to: SocketAddr) -> TcpStream {
        let stream = self.connected(to, Protocol::TCP, Some("weft_dctcp"));
        let lingers = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        lingers.expect("a socket");
        stream
    }

    fn connected(&self, to: SocketAddr, protocol: Protocol, cc: Option<&str>) -> TcpStream {
        self.client
            .within(|| {
                let domain = Domain::for_address(to);
                let socket = Socket::new(domain, Type::STREAM, Some(protocol))?;
                if let Some(cc) = cc {
                    socket.set_tcp_congestion(cc.as_bytes())?;
                }
                socket.connect(&to.into())?;
                Ok(socket)
            })
            .expect("a connection")
            .into()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What a daemon that was killed has left.
        let _ = self.weftd(&["detach"]).output();
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// What happens to the SYNs of joins, by the program `tests/joins`.
pub struct Joins {
    object: Object,
}

impl Joins {
    /// So many of the next ones are lost.
    pub fn lose(&self, count: u32) {
        self.plan(0, count);
    }

    /// So many of the next ones ask for no ECN when they arrive.
    pub fn bleach(&self, count: u32) {
        self.plan(1, count);
    }

    /// So many of 100 SYNs are lost from now on, whatever they are for.
    pub fn lose_percent(&self, percent: u32) {
        self.plan(3, percent);
    }

    /// How many of joins have come, lost ones included.
    pub fn seen(&self) -> u32 {
        let seen = self
            .map()
            .lookup(&2_u32.to_ne_bytes(), MapFlags::ANY)
            .expect("a map");
        u32::from_ne_bytes(seen.expect("an entry").try_into().expect("a number"))
    }

    fn plan(&self, which: u32, count: u32) {
        let (key, value) = (which.to_ne_bytes(), count.to_ne_bytes());
        self.map().update(&key, &value, MapFlags::ANY).expect("a map");
    }

    fn map(&self) -> libbpf_rs::Map<'_> {
        let mut maps = self.object.maps();
        maps.find(|map| map.name() == "plan").expect("a map")
    }
}

pub struct Server {
    pub address: SocketAddr,
    read: Arc<AtomicU64>,
}

impl Server {
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Writes into a connection until it is told to stop.
pub fn load(mut stream: TcpStream) -> Load {
    let handle = stream.try_clone().expect("a handle");
    let writer = thread::spawn(move || {
        let buffer = vec![0; 1 << 14];
        while stream.write_all(&buffer).is_ok() {}
    });
    Load {
        handle,
        writer: Some(writer),
    }
}

pub struct Load {
    handle: TcpStream,
    writer: Option<thread::JoinHandle<()>>,
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.handle.shutdown(std::net::Shutdown::Both);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// A daemon; it is stopped, and has to end well, when this is dropped.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    pub fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("its end");
    }

    /// How many it has open.
    pub fn descriptors(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.expect("its descriptors").count()
    }

    /// Of memory that it really has.
    pub fn megabytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("a size") / 1024
    }

    /// Of a processor that it has used.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its times");
        // After the name, which is in parentheses, the 12th and 13th number are ticks of 10 ms.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(11).take(2);
        ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    pub fn reload(&self) {
        self.signal(Signal::SIGHUP);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process"));
        kill(pid, signal).expect("a signal");
    }

    pub fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        let end = self.child.wait().expect("its end");
        assert!(end.success(), "{end}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds, at most so many seconds; says whether it does.
pub fn wait(seconds: u64, mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(seconds) {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

/// The same, for what has to come within ten seconds.
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(wait(10, holds), "never: {what}");
}

pub fn weftd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftd"));
    command.args(arguments);
    command
}

fn ip(arguments: &[&str]) {
    run(Command::new("ip").args(arguments));
}

fn tc(arguments: &[&str]) {
    run(Command::new("tc").args(arguments));
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("a command");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
