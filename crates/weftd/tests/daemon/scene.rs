//! Two network namespaces with a link between them, and a daemon that serves both.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;
use weft_kernel::path_manager::{DiagSubflow, Namespace, mptcp_subflows};
use weftd::status::{Status, ask};

mod daemon;
mod network;

pub use daemon::Daemon;
pub use network::{Disorder, Joins, Plan, StockPeer};

/// The server's addresses.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);
/// Additional addresses, which peers do not have until they are announced.
pub const SERVER_TOO: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 4);
pub const CLIENT_TOO: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 3);
/// Beginning of a configuration without `congestion.default`.
pub const NO_DEFAULT: &str = "# no default\n";
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
        wait_for_names();
        // A machine then needs no BPF file system, and pins of other programs are not touched.
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
            add_address(name, &format!("{address}/24"));
            add_address(name, &format!("{v6}/64"));
            ip(&["-n", name, "link", "set", "v0", "up"]);
        }
        // So slow that the processor is not what limits.
        tc(&[
            "-n", c, "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "200mbit", "burst", "20kb", "limit",
            "150kb",
        ]);
        scene
    }

    /// Starts the daemon for both namespaces with further lines of configuration, and waits until it is ready.
    pub fn daemon(&self, more: &str) -> Daemon {
        self.daemon_of(&self.names, more)
    }

    /// Starts a daemon for the namespace of the client only: the path manager of the server is the one of the kernel.
    pub fn daemon_of_the_client(&self, more: &str) -> Daemon {
        self.daemon_of(&self.names[..1], more)
    }

    /// Starts a daemon for these namespaces.
    pub fn daemon_of_these(&self, namespaces: &[&str], more: &str) -> Daemon {
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        self.daemon_of(&namespaces, more)
    }

    pub fn client_name(&self) -> String {
        self.names[0].clone()
    }

    pub fn server_name(&self) -> String {
        self.names[1].clone()
    }

    /// How many sockets of the server listen.
    pub fn listeners(&self) -> usize {
        weft_kernel::path_manager::listeners(&self.server)
            .expect("subflows")
            .len()
    }

    /// Replaces the configuration by one for both namespaces. Returns its file.
    pub fn configure(&self, more: &str) -> PathBuf {
        self.configured(&self.names, more)
    }

    /// Replaces the configuration by one for these namespaces. Returns its file.
    pub fn configure_these(&self, namespaces: &[&str], more: &str) -> PathBuf {
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        self.configured(&namespaces, more)
    }

    fn configured(&self, namespaces: &[String], more: &str) -> PathBuf {
        let config = self.folder.path().join("weftd.toml");
        let metrics = if more.contains("metrics.") {
            ""
        } else {
            "metrics.enabled = false\n"
        };
        // WEFTD_LOG=debug shows all that a daemon does.
        let level = std::env::var("WEFTD_LOG").unwrap_or_else(|_| "info".to_owned());
        let default = if more.starts_with(NO_DEFAULT) {
            ""
        } else {
            "congestion.default = \"weft_amp\"\n"
        };
        let text = format!(
            "namespaces = {namespaces:?}\n{default}log.format = \"json\"\nlog.level = {level:?}\n{metrics}{more}",
        );
        fs::write(&config, text).expect("a configuration");
        config
    }

    fn daemon_of(&self, namespaces: &[String], more: &str) -> Daemon {
        self.daemon_by(Path::new(env!("CARGO_BIN_EXE_weftd")), namespaces, more)
    }

    /// Another program, of which each call makes another file, in the place of the one before.
    pub fn install(&self) -> PathBuf {
        let (program, new) = (self.folder.path().join("weftd"), self.folder.path().join("new"));
        fs::copy(env!("CARGO_BIN_EXE_weftd"), &new).expect("a program");
        fs::rename(new, &program).expect("a program");
        program
    }

    /// The same with a script.
    pub fn install_script(&self, text: &str) {
        let (program, new) = (self.folder.path().join("weftd"), self.folder.path().join("new"));
        fs::write(&new, text).expect("a script");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("a script");
        fs::rename(new, program).expect("a script");
    }

    /// Starts the daemon that is installed there.
    pub fn daemon_at(&self, program: &Path, more: &str) -> Daemon {
        self.daemon_by(program, &self.names, more)
    }

    fn daemon_by(&self, program: &Path, namespaces: &[String], more: &str) -> Daemon {
        let config = self.configured(namespaces, more);
        // The priority that its unit gives it.
        let mut child = Command::new("chrt")
            .args(["-f", "1"])
            .arg(program)
            .args(["run", "--config"])
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
        let log_lines = Arc::new(Mutex::new(lines));
        let all = Arc::clone(&log_lines);
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                eprintln!("{line}");
                let mut all = all.lock().expect("the log");
                all.push_str(&line);
                all.push('\n');
            }
        });
        Daemon {
            child,
            log: log_lines,
        }
    }

    /// Reloads, and waits until the reload has ended: the next one runs in this process, or the one before again.
    pub fn reload(&self, daemon: &Daemon) {
        let began = Instant::now();
        daemon.reload();
        let ended = wait(30, || {
            // Before the status is asked for, which may take longer than a young daemon has run.
            let elapsed = began.elapsed().as_secs_f64();
            let status = self.try_status();
            status.is_some_and(|status| {
                status.process == daemon.process() && status.trial_s.is_none() && status.uptime_s < elapsed
            })
        });
        assert!(ended, "the reload never ended");
    }

    pub fn weftd(&self, arguments: &[&str]) -> Command {
        let mut command = weftd(arguments);
        command.env("RUNTIME_DIRECTORY", self.folder.path());
        command
    }

    /// Returns the status, or `None` while one weftd becomes the next.
    pub fn try_status(&self) -> Option<Status> {
        ask(&self.folder.path().join("status")).ok()
    }

    pub fn status(&self) -> Status {
        ask(&self.folder.path().join("status")).expect("a status")
    }

    /// The client's subflows, as the kernel has them.
    pub fn subflows(&self) -> Vec<DiagSubflow> {
        let mut seen = mptcp_subflows(&self.client).expect("subflows");
        seen.retain(|seen| seen.established);
        seen
    }

    pub fn setting(&self, key: &str) -> String {
        weftd::daemon::settings::read(&self.client, key).expect(key)
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
        Self::serve_both_ways_in(&self.server, SERVER.into())
    }

    /// The same with a congestion control of its own.
    pub fn serve_with(&self, address: IpAddr, cc: Option<&str>) -> Server {
        served(listener(&self.server, address, cc), false)
    }

    /// A server in another namespace that sends to everybody as much as it can, too.
    pub fn serve_both_ways_in(namespace: &Namespace, address: IpAddr) -> Server {
        served(listener(namespace, address, None), true)
    }

    /// A server in another namespace.
    pub fn serve_in(namespace: &Namespace, address: IpAddr) -> Server {
        served(listener(namespace, address, None), false)
    }

    /// A server that accepts nothing: what connects stands, and takes none of this process's descriptors.
    pub fn serve_idle(&self, connections: i32) -> TcpListener {
        let most = || fs::write("/proc/sys/net/core/somaxconn", connections.to_string());
        self.server.run_in(most).expect("a setting");
        let listener = listener(&self.server, SERVER.into(), None);
        let waiting = socket2::SockRef::from(&listener).listen(connections);
        waiting.expect("a longer queue");
        listener
    }

    pub fn connect(&self, to: SocketAddr) -> TcpStream {
        Self::connect_from(&self.client, to, Protocol::MPTCP, None)
    }

    /// Connects within a time. With `cc` the connection is a TCP connection with this congestion control.
    pub fn try_connect(
        &self,
        to: SocketAddr,
        cc: Option<&str>,
        limit: Duration,
    ) -> std::io::Result<TcpStream> {
        self.client.run_in(|| {
            let protocol = if cc.is_some() {
                Protocol::TCP
            } else {
                Protocol::MPTCP
            };
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(protocol))?;
            if let Some(cc) = cc {
                socket.set_tcp_congestion(cc.as_bytes())?;
            }
            socket.connect_timeout(&to.into(), limit)?;
            Ok(socket.into())
        })
    }

    /// Connects with DCTCP on one path. Data that is left when the connection closes is dropped.
    pub fn connect_dctcp(&self, to: SocketAddr) -> TcpStream {
        let stream = Self::connect_from(&self.client, to, Protocol::TCP, Some("weft_dctcp"));
        let lingers = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        lingers.expect("a socket");
        stream
    }

    /// Connects from another namespace.
    pub fn connect_from(
        namespace: &Namespace,
        to: SocketAddr,
        protocol: Protocol,
        cc: Option<&str>,
    ) -> TcpStream {
        namespace
            .run_in(|| {
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
        // A daemon that was killed leaves settings and registrations.
        let _ = self.weftd(&["detach"]).output();
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
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

    /// Watches from now on for how long the server reads nothing.
    pub fn pauses(&self) -> Pauses {
        let read = Arc::clone(&self.read);
        let (ended, longest) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new(Duration::ZERO)),
        );
        let (ends, found) = (Arc::clone(&ended), Arc::clone(&longest));
        let watcher = thread::spawn(move || {
            let mut last = (Instant::now(), read.load(Ordering::Relaxed));
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                let now = read.load(Ordering::Relaxed);
                let mut longest = found.lock().expect("the longest pause");
                *longest = longest.max(last.0.elapsed());
                if now != last.1 {
                    last = (Instant::now(), now);
                }
            }
        });
        Pauses {
            ended,
            longest,
            watcher: Some(watcher),
        }
    }
}

/// The pauses of a server, to a millisecond or what the scheduler makes of it.
pub struct Pauses {
    ended: Arc<AtomicBool>,
    longest: Arc<Mutex<Duration>>,
    watcher: Option<thread::JoinHandle<()>>,
}

impl Pauses {
    /// Ends the watch, and returns the longest pause.
    pub fn longest(mut self) -> Duration {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.join().expect("the watcher");
        }
        *self.longest.lock().expect("the longest pause")
    }
}

fn listener(namespace: &Namespace, address: IpAddr, cc: Option<&str>) -> TcpListener {
    let address = SocketAddr::from((address, 0));
    namespace
        .run_in(|| {
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

/// Counts what comes on every connection to a listener.
fn served(listener: TcpListener, sends: bool) -> Server {
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

/// Writes into a connection until it is dropped.
pub fn load(mut stream: TcpStream) -> Load {
    let handle = stream.try_clone().expect("a handle");
    let paused = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&paused);
    let writer = thread::spawn(move || {
        let buffer = vec![0; 1 << 14];
        while stream.write_all(&buffer).is_ok() {
            while waits.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
        }
    });
    Load {
        handle,
        paused,
        writer: Some(writer),
    }
}

pub struct Load {
    handle: TcpStream,
    paused: Arc<AtomicBool>,
    writer: Option<thread::JoinHandle<()>>,
}

impl Load {
    /// Writes nothing until [`resume`](Self::resume).
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.resume();
        let _ = self.handle.shutdown(std::net::Shutdown::Both);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Waits until no congestion control of Weft is registered. Other tests register the same names, also while a long test runs.
pub fn wait_for_names() {
    let free = wait(120, || {
        let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        names.is_ok_and(|names| !names.contains("weft_"))
    });
    assert!(free, "congestion controls of Weft are registered already");
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

/// Waits for a condition that has to become true within ten seconds.
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(wait(10, holds), "never: {what}");
}

/// Checks during some time that nothing changes a condition which already holds.
pub fn stays(what: &str, time: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while began.elapsed() < time {
        assert!(holds(), "no longer: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn weftd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftd"));
    command.args(arguments);
    command
}

pub fn ip(arguments: &[&str]) {
    run(Command::new("ip").args(arguments));
}

/// Adds an address to the interface of a namespace on the link between client and server. With "nodad" it can be used at once.
fn add_address(name: &str, address: &str) {
    ip(&["-n", name, "address", "add", address, "dev", "v0", "nodad"]);
}

pub fn tc(arguments: &[&str]) {
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
