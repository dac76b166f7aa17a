//! Rules that choose an algorithm for sockets: the kernel takes their program, and it chooses before the SYN goes.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use weft_kernel::programs::scope::{Rule, Scope};
use weft_kernel::programs::{KernelAlgorithm, Programs};

use crate::machine::{in_namespace, is_emulated, load};

#[test]
fn rules_choose_for_sockets_that_connect_and_that_listen() {
    in_namespace("rules_choose_for_sockets_that_connect_and_that_listen", || {
        let programs = load(&[KernelAlgorithm::Amp, KernelAlgorithm::Xmp]);
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            for protocol in [Protocol::TCP, Protocol::MPTCP] {
                if let Err(why) = connection(&programs, address, protocol) {
                    assert!(!is_emulated(), "{why}");
                    weft_test_support::skip("rules_choose_for_sockets_that_connect_and_that_listen", &why);
                    return;
                }
            }
        }
    });
}

/// The client's algorithm is that of a rule by destination, the server's that of one by port.
fn connection(programs: &Programs, address: IpAddr, protocol: Protocol) -> Result<(), String> {
    let domain = Domain::for_address(SocketAddr::new(address, 0));
    let socket = || Socket::new(domain, Type::STREAM, Some(protocol)).expect("a socket");
    let listener = socket();
    listener
        .bind(&SocketAddr::new(address, 0).into())
        .expect("an address");
    let to = listener.local_addr().expect("an address");
    let port = to.as_socket().expect("an address").port();
    let rule = |algorithm: &str, to| Rule {
        algorithm: algorithm.to_owned(),
        to,
        ports: (port, port),
        cgroup: None,
    };
    let bits = if address.is_ipv4() { 8 } else { 128 };
    let rules = vec![rule("weft_xmp", Some((address, bits))), rule("weft_amp", None)];
    let _scope = match Scope::attach(rules, None) {
        Err(error) if error.to_string().contains("not mounted") => return Err(error.to_string()),
        scope => scope.expect("the program loads"),
    };
    listener.listen(8).expect("to listen");
    let mut client = socket();
    client.connect(&to).expect("a connection");
    let (mut server, _) = listener.accept().expect("a client");
    client.write_all(&[7; 100]).expect("to send");
    server.read_exact(&mut [0; 100]).expect("to receive");
    let connections = programs.connections().expect("a map");
    let algorithm_of = |local: u16, remote: u16| {
        let mut all = connections.iter();
        let connection = all.find(|c| {
            c.subflows
                .iter()
                .any(|s| (s.local.port(), s.remote.port()) == (local, remote))
        });
        connection.map(|c| c.algorithm)
    };
    let own = client
        .local_addr()
        .ok()
        .and_then(|own| own.as_socket())
        .expect("an address")
        .port();
    assert_eq!(
        algorithm_of(own, port),
        Some(KernelAlgorithm::Xmp),
        "{address}: {connections:#?}"
    );
    assert_eq!(
        algorithm_of(port, own),
        Some(KernelAlgorithm::Amp),
        "{address}: {connections:#?}"
    );
    Ok(())
}
