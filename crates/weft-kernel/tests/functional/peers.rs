//! A client and a server in the test's namespace.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tcp,
    Mptcp,
}

/// A connection whose server reads and throws away.
pub struct Peers {
    client: Socket,
    server: JoinHandle<usize>,
    seen: Arc<Seen>,
}

/// Data that a server has read so far.
#[derive(Default)]
struct Seen {
    bytes: AtomicUsize,
    pauses: AtomicUsize,
}

/// Time without data that counts as a pause: the least time until a retransmission.
const PAUSE: Duration = Duration::from_millis(200);

/// A connection that sends in a thread of its own.
pub struct Sending {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Peers>,
}

impl Sending {
    /// Stops the thread and closes the connection.
    pub fn close(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the sender").close()
    }
}

impl Peers {
    /// Connects over loopback with these congestion controls.
    pub fn connect(family: Family, kind: Kind, client_cc: &str, server_cc: &str) -> Self {
        Self::over(listener(family, kind, server_cc), family, kind, client_cc)
    }

    /// Connects to a listener, of this namespace or another.
    pub fn over(listener: Socket, family: Family, kind: Kind, client_cc: &str) -> Self {
        let address = listener.local_addr().expect("an address");
        let seen = Arc::<Seen>::default();
        let record = Arc::clone(&seen);
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let (mut buffer, mut total) = (vec![0; 1 << 18], 0);
            let mut last = None::<Instant>;
            loop {
                match socket.read(&mut buffer) {
                    Ok(0) | Err(_) => return total,
                    Ok(n) => total += n,
                }
                record.bytes.store(total, Ordering::Relaxed);
                let pauses = last.is_some_and(|last| last.elapsed() >= PAUSE);
                record.pauses.fetch_add(usize::from(pauses), Ordering::Relaxed);
                last = Some(Instant::now());
            }
        });
        let client = socket(family, kind, client_cc);
        client.connect(&address).expect("a connection");
        Self { client, server, seen }
    }

    /// Returns the number of bytes that the server has read.
    pub fn read(&self) -> usize {
        self.seen.bytes.load(Ordering::Relaxed)
    }

    /// Returns how often the server has read nothing for 200 ms or more, between two reads.
    pub fn pauses(&self) -> usize {
        self.seen.pauses.load(Ordering::Relaxed)
    }

    /// Sends so many bytes and waits until all are acknowledged.
    pub fn send(&self, bytes: usize) {
        (&self.client).write_all(&vec![7; bytes]).expect("to send");
        self.drain();
    }

    /// Sends one packet, which is long enough to be marked.
    pub fn send_packet(&self) {
        self.client.set_tcp_nodelay(true).expect("a socket");
        (&self.client).write_all(&[7; 400]).expect("to send");
    }

    /// Returns the number of bytes that are not acknowledged, over IPv6.
    pub fn unacknowledged(&self) -> usize {
        let table = std::fs::read_to_string("/proc/thread-self/net/tcp6").expect("a table");
        let (own, peer) = (self.client_address().port(), self.server_address().port());
        let row = table.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = |field: &str| u16::from_str_radix(field.rsplit(':').next()?, 16).ok();
            let is_own = port(fields.get(1)?)? == own && port(fields.get(2)?)? == peer;
            is_own.then(|| fields[4].split(':').next().map(str::to_owned))?
        });
        usize::from_str_radix(&row.expect("the connection"), 16).expect("a number")
    }

    /// Sends as much as it can for so long.
    pub fn send_for(&self, time: Duration) {
        let (begin, block) = (Instant::now(), vec![7; 1 << 16]);
        while begin.elapsed() < time {
            (&self.client).write_all(&block).expect("to send");
        }
    }

    /// Sends as much as it can until the sender is stopped.
    pub fn send_until_stopped(self) -> Sending {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !is_stopped.load(Ordering::Relaxed) {
                self.send_for(Duration::from_millis(20));
            }
            self
        });
        Sending { stop, thread }
    }

    /// Gives the last acknowledgements time to come.
    fn drain(&self) {
        std::thread::sleep(Duration::from_millis(50));
        let mut nothing = [MaybeUninit::uninit(); 1];
        self.client.set_nonblocking(true).expect("a socket");
        let answer = self.client.recv(&mut nothing);
        assert!(answer.is_err(), "the server says nothing");
        self.client.set_nonblocking(false).expect("a socket");
    }

    pub fn client_address(&self) -> SocketAddr {
        self.client
            .local_addr()
            .ok()
            .and_then(|a| a.as_socket())
            .expect("an address")
    }

    pub fn server_address(&self) -> SocketAddr {
        self.client
            .peer_addr()
            .ok()
            .and_then(|a| a.as_socket())
            .expect("an address")
    }

    pub fn client_algorithm(&self) -> String {
        let name = self.client.tcp_congestion().expect("a name");
        String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()
    }

    /// Closes both ends; how many bytes the server had.
    pub fn close(self) -> usize {
        drop(self.client);
        self.server.join().expect("the server ends")
    }

    /// Opens and closes `count` connections one after the other.
    pub fn churn(kind: Kind, cc: &str, count: usize) {
        let listener = listener(Family::V4, kind, cc);
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            for _ in 0..count {
                let (mut socket, _) = listener.accept().expect("a client");
                // Until the client has closed.
                let _ = socket.read(&mut [0; 16]);
                let _ = socket.read(&mut [0; 16]);
            }
        });
        for _ in 0..count {
            let client = socket(Family::V4, kind, cc);
            client.connect(&address).expect("a connection");
            (&client).write_all(b"x").expect("to send");
        }
        server.join().expect("the server ends");
    }
}

fn listener(family: Family, kind: Kind, cc: &str) -> Socket {
    match family {
        Family::V4 => listener_at(Ipv4Addr::LOCALHOST.into(), kind, cc),
        Family::V6 => listener_at(Ipv6Addr::LOCALHOST.into(), kind, cc),
    }
}

pub fn listener_at(address: IpAddr, kind: Kind, cc: &str) -> Socket {
    let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
    let listener = socket(family, kind, cc);
    listener
        .bind(&SocketAddr::new(address, 0).into())
        .expect("an address");
    listener.listen(128).expect("to listen");
    listener
}

fn socket(family: Family, kind: Kind, cc: &str) -> Socket {
    let domain = match family {
        Family::V4 => Domain::IPV4,
        Family::V6 => Domain::IPV6,
    };
    let protocol = match kind {
        Kind::Tcp => Protocol::TCP,
        Kind::Mptcp => Protocol::MPTCP,
    };
    let socket = Socket::new(domain, Type::STREAM, Some(protocol)).expect("a socket");
    socket
        .set_tcp_congestion(cc.as_bytes())
        .expect("the congestion control");
    socket
}
