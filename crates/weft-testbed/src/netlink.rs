//! Asks the kernel through rtnetlink, one request at a time, in the network namespace of the thread that opened the socket.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A socket to the kernel's rtnetlink.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// One end of a cable.
pub struct CableEnd<'a> {
    /// Interface index, free in its namespace.
    pub index: u32,
    /// Interface name, at most 15 bytes.
    pub name: &'a str,
    /// Hardware address.
    pub mac: [u8; 6],
}

/// Initial parameters of TCP on a route.
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    /// Initial congestion window in packets.
    pub initial_cwnd: u32,
    /// Lower bound of the RTO in ms.
    pub min_rto_ms: u32,
}

/// Token bucket and FIFO of one interface.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    /// Rate in bytes per second.
    pub rate: u32,
    /// Size of the bucket in bytes.
    pub burst: u32,
    /// Packets that the FIFO beneath holds.
    pub limit: u32,
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// A pair of virtual interfaces, the peer in another namespace. No segment is larger than a packet on the wire.
    pub fn add_cable(
        &mut self,
        here: &CableEnd<'_>,
        there: &CableEnd<'_>,
        namespace: RawFd,
        mtu: u32,
    ) -> io::Result<()> {
        let mut peer = end(there, mtu);
        peer.attributes.push(LinkAttribute::NetNsFd(namespace));
        let mut message = end(here, mtu);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Switches an interface on.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives an interface an address.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(address.into()),
            AddressAttribute::Address(address.into()),
        ];
        self.request(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Adds a permanent neighbour entry, so that no packet waits for ARP.
    pub fn add_neighbour(&mut self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.request(
            RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// A route to one address.
    pub fn add_route(
        &mut self,
        to: Ipv4Addr,
        via: Ipv4Addr,
        index: u32,
        metrics: Option<Metrics>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(to)),
            RouteAttribute::Gateway(RouteAddress::Inet(via)),
            RouteAttribute::Oif(index),
        ];
        if let Some(metrics) = metrics {
            message.attributes.push(RouteAttribute::Metrics(vec![
                RouteMetric::InitCwnd(metrics.initial_cwnd),
                RouteMetric::RtoMin(metrics.min_rto_ms),
            ]));
        }
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// A token bucket as an interface's root, a FIFO that counts packets beneath.
    pub fn shape(&mut self, index: u32, shaper: Shaper) -> io::Result<()> {
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        let mut bucket = TcMessage::with_index(index.cast_signed());
        bucket.header.family = AddressFamily::Unspec;
        bucket.header.parent = TC_H_ROOT.into();
        bucket.header.handle = TBF.into();
        let option = |kind, value: Vec<u8>| TcOption::Other(DefaultNla::new(kind, value));
        bucket.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(vec![
                option(TCA_TBF_PARMS, bucket_parameters(&shaper)),
                option(TCA_TBF_BURST, shaper.burst.to_ne_bytes().to_vec()),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewQueueDiscipline(bucket), flags)?;
        let mut fifo = TcMessage::with_index(index.cast_signed());
        fifo.header.family = AddressFamily::Unspec;
        fifo.header.parent = (TBF | 1).into();
        fifo.header.handle = FIFO.into();
        fifo.attributes = vec![
            TcAttribute::Kind("pfifo".to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, shaper.limit.to_ne_bytes().to_vec())),
        ];
        self.request(RouteNetlinkMessage::NewQueueDiscipline(fifo), flags)
    }

    /// Sends a request and waits for the kernel's word.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            if let NetlinkPayload::Error(error) = answer.payload {
                return error.code.map_or(Ok(()), |_| Err(error.to_io()));
            }
        }
    }
}

fn end(end: &CableEnd<'_>, mtu: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = end.index;
    message.attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::Address(end.mac.to_vec()),
        LinkAttribute::Mtu(mtu),
        // One segment at a time: the switch counts and marks packets, not what an offload makes of many.
        LinkAttribute::GsoMaxSegs(1),
    ];
    message
}

/// `struct tc_tbf_qopt`: two rates of 12 bytes, limit, buffer, mtu. The bucket's own FIFO is replaced at once, and its size is
/// given in bytes by another attribute.
fn bucket_parameters(shaper: &Shaper) -> Vec<u8> {
    let mut bytes = vec![0; 36];
    bytes[1] = TC_LINKLAYER_ETHERNET;
    bytes[8..12].copy_from_slice(&shaper.rate.to_ne_bytes());
    bytes[24..28].copy_from_slice(&(shaper.limit * 2048).to_ne_bytes());
    bytes
}

// linux/pkt_sched.h and linux/rtnetlink.h.
const TC_H_ROOT: u32 = u32::MAX;
const TC_LINKLAYER_ETHERNET: u8 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
/// Handles of our own.
const TBF: u32 = 1 << 16;
const FIFO: u32 = 2 << 16;
