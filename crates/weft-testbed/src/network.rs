//! Builds the network: a namespace a node, a pair of virtual interfaces a cable, a token bucket at the head of every link.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use weft_fabric::{Fabric, NodeId};
use weft_spec::QueueSize;
use weft_transports::Profile;

use super::layout::{AddressPlan, Interface};
use super::namespace::Namespace;
use super::netlink::{CableEnd, Metrics, Netlink, Shaper};

/// The network, which is deleted when this value is dropped.
pub struct Network {
    nodes: Vec<Namespace>,
    original_namespace: Namespace,
}

impl Network {
    /// Builds it, with hosts that ask for ECN as in RFC 3168 or not. The calling thread is where it was afterwards.
    ///
    /// # Errors
    /// Returns the request that the kernel refused, in words.
    pub fn build(
        fabric: &Fabric,
        layout: &AddressPlan,
        profile: &Profile,
        classic_ecn: bool,
    ) -> Result<Self, String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| format!("{what}: {error}")
        };
        let original_namespace = Namespace::current().map_err(failed("the namespace of this process"))?;
        let mut nodes = Vec::with_capacity(fabric.nodes.len());
        for _ in &fabric.nodes {
            nodes.push(Namespace::new().map_err(failed("a network namespace"))?);
        }
        let network = Self {
            nodes,
            original_namespace,
        };
        let mut sockets = Vec::with_capacity(fabric.nodes.len());
        for (node, at) in fabric.nodes.iter().zip(0..) {
            let socket = network.within(at, || {
                settings(node.is_host, classic_ecn)?;
                Netlink::open()
            });
            sockets.push(socket.map_err(failed("a network namespace's settings"))?);
        }
        let mtu = profile.sizes.mss + IP_AND_TCP;
        let metrics = Metrics {
            initial_cwnd: profile.window.initial_cwnd as u32,
            min_rto_ms: (profile.rto.min_rto.0 / PS_PER_MS) as u32,
        };
        let builder = Builder {
            fabric,
            layout,
            network: &network,
            mtu,
        };
        for (link, there) in (0..).zip(&layout.back).filter(|&(link, &there)| link < there) {
            let here = fabric.links[link as usize].from as usize;
            builder
                .cable(&mut sockets[here], link, *there)
                .map_err(failed("a pair of virtual interfaces (veth)"))?;
        }
        for (i, link) in fabric.links.iter().enumerate() {
            builder
                .switch_on(&mut sockets[link.from as usize], i as Interface)
                .map_err(failed("an interface's addresses"))?;
            sockets[link.from as usize]
                .shape(index(i as Interface), shaper(fabric, i))
                .map_err(failed(
                    "the queues tbf and pfifo (CONFIG_NET_SCH_TBF, CONFIG_NET_SCH_FIFO)",
                ))?;
        }
        for route in &layout.routes {
            let via = layout.gateway(layout.back[route.by as usize]);
            let metrics = fabric.nodes[route.at as usize].is_host.then_some(metrics);
            sockets[route.at as usize]
                .add_route(route.to, via, index(route.by), metrics)
                .map_err(failed("a route"))?;
        }
        Ok(network)
    }

    /// Runs `work` on this thread in the namespace of a node. Files that `work` opens stay in that namespace.
    pub fn within<T>(&self, node: NodeId, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.nodes[node as usize].enter()?;
        let result = work();
        self.original_namespace.enter()?;
        result
    }

    /// The namespace of a node as a path that holds as long as this process does.
    pub fn path(&self, node: NodeId) -> String {
        format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.nodes[node as usize].as_raw_fd()
        )
    }
}

/// The index that an interface has in its namespace; its own number on the whole machine.
pub fn index(interface: Interface) -> u32 {
    interface + FIRST_INDEX
}

struct Builder<'a> {
    fabric: &'a Fabric,
    layout: &'a AddressPlan,
    network: &'a Network,
    mtu: u32,
}

impl Builder<'_> {
    fn cable(&self, netlink: &mut Netlink, here: Interface, there: Interface) -> io::Result<()> {
        let names = [self.name(here), self.name(there)];
        let end = |interface, name| CableEnd {
            index: index(interface),
            name,
            mac: mac(interface),
        };
        let namespace = &self.network.nodes[self.fabric.links[there as usize].from as usize];
        netlink.add_cable(
            &end(here, &names[0]),
            &end(there, &names[1]),
            namespace.as_raw_fd(),
            self.mtu,
        )
    }

    /// Returns the name of an interface, by the node at the other end; the kernel allows 15 bytes.
    fn name(&self, interface: Interface) -> String {
        let to = self.fabric.links[interface as usize].to;
        let mut name = format!("to-{}", self.fabric.nodes[to as usize].name);
        name.truncate(15);
        name
    }

    fn switch_on(&self, netlink: &mut Netlink, interface: Interface) -> io::Result<()> {
        let (layout, index) = (self.layout, index(interface));
        netlink.add_address(index, layout.gateway(interface), 30)?;
        for (address, _) in layout.addresses.iter().filter(|(_, at)| **at == interface) {
            netlink.add_address(index, *address, 32)?;
        }
        netlink.up(index)?;
        let back = layout.back[interface as usize];
        netlink.add_neighbour(index, layout.gateway(back), mac(back))
    }
}

/// A locally administered address of the interface's own.
fn mac(interface: Interface) -> [u8; 6] {
    let [a, b, c, d] = interface.to_be_bytes();
    [0x02, 0x57, a, b, c, d]
}

fn shaper(fabric: &Fabric, link: usize) -> Shaper {
    let link = &fabric.links[link];
    let limit = match link.queue.limit {
        QueueSize::Packets(packets) => packets,
        QueueSize::Bytes(_) => 0, // refused before
    };
    Shaper {
        rate: (link.rate.0 / 8) as u32,
        burst: BURST,
        // The switch drops before the FIFO does.
        limit: limit + 64,
    }
}

/// Settings of the calling thread's namespace.
fn settings(host: bool, classic_ecn: bool) -> io::Result<()> {
    let set = |name: &str, value: &str| {
        let path = format!("/proc/sys/net/{name}");
        fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    };
    // Nothing but the experiment's packets: no neighbour discovery, no router solicitations.
    for which in ["all", "default"] {
        if fs::exists("/proc/sys/net/ipv6")? {
            set(&format!("ipv6/conf/{which}/disable_ipv6"), "1")?;
        }
        set(&format!("ipv4/conf/{which}/rp_filter"), "0")?;
    }
    if !host {
        return set("ipv4/ip_forward", "1");
    }
    // 2, the kernel's default: on request. Reno, CUBIC and LIA have no ECN, as at the packet level; the others request it themselves.
    set("ipv4/tcp_ecn", if classic_ecn { "1" } else { "2" })?;
    set("ipv4/tcp_no_metrics_save", "1")?;
    set("mptcp/pm_type", "1")
}

/// Index of the first interface; 1 is the loopback's.
const FIRST_INDEX: u32 = 2;
/// Bytes of IPv4 and TCP headers with time stamps, which the MSS does not count and the MTU does.
pub const IP_AND_TCP: u32 = 52;
/// The token bucket in bytes: two packets. If a timer is late, the link loses the tokens beyond them.
const BURST: u32 = 2 * 1514;
const PS_PER_MS: u64 = 1_000_000_000;
