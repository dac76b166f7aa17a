//! Map entries of connections whose end the kernel does not report.

use std::thread::sleep;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use weft_kernel::abi::Connection;
use zerocopy::{FromBytes, IntoBytes};

use crate::scene::{Scene, load, missing, until, wait};
use crate::scene_or_skip;

const MAP: &str = "/sys/fs/bpf/weft/connections";

/// All entries, with their keys.
pub fn entries() -> Vec<(Vec<u8>, Connection)> {
    let map = MapHandle::from_pinned_path(MAP).expect("the map of connections");
    let read = |key: Vec<u8>| {
        // One may go while others are read.
        let value = map.lookup(&key, MapFlags::ANY).expect("a look-up")?;
        let connection = Connection::read_from_bytes(&value).expect("an entry");
        Some((key, connection))
    };
    map.keys().filter_map(read).collect()
}

/// The entry looks as if the kernel had closed its socket without a call of `release`.
#[test]
fn the_slot_of_a_subflow_whose_end_was_not_reported_is_freed() {
    let scene = scene_or_skip!("the_slot_of_a_subflow_whose_end_was_not_reported_is_freed");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let token = scene.subflows()[0].token;
    load.pause();
    until("all that was written arrives", || {
        let before = server.read();
        sleep(Duration::from_millis(100));
        server.read() == before
    });

    let map = MapHandle::from_pinned_path(MAP).unwrap();
    let entry = || {
        let mut all = entries().into_iter();
        let (key, connection) = all.find(|(_, connection)| connection.token == token).unwrap();
        (connection, key)
    };
    let (mut connection, key) = entry();
    let open = connection.open;
    assert_eq!(open.count_ones(), 4);
    for slot in [6, 7] {
        connection.open |= 1 << slot;
        connection.w[slot] = connection.w[1];
        connection.subflow[slot] = connection.subflow[1];
        connection.subflow[slot].local_port = slot as u16;
        connection.subflow[slot].owner = 77;
    }
    map.update(&key, connection.as_bytes(), MapFlags::EXIST).unwrap();
    // Two looks, ten seconds apart.
    let freed = wait(40, || entry().0.open == open);
    assert!(freed, "{:b}, was {open:b}", entry().0.open);
    assert_eq!(entry().0.w[7].established, 0);
    let before = server.read();
    load.resume();
    until("it goes on", || server.read() > before + 1_000_000);
    assert_eq!(scene.subflows().len(), 4);
}

/// The entry looks as if the kernel had closed the only socket of a connection without a call of `release`.
#[test]
fn an_entry_whose_socket_is_gone_is_removed() {
    let scene = scene_or_skip!("an_entry_whose_socket_is_gone_is_removed");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let stream = scene.connect_dctcp(server.address);
    let port = stream.local_addr().unwrap().port();
    let mut all = entries().into_iter();
    let (key, mut entry) = all
        .find(|(_, entry)| entry.subflow[0].local_port == port)
        .unwrap();
    let mut other = key.clone();
    other[0] ^= 1;
    entry.subflow[0].local_port = 7;
    entry.subflow[0].owner = 77;
    let map = MapHandle::from_pinned_path(MAP).unwrap();
    map.update(&other, entry.as_bytes(), MapFlags::NO_EXIST).unwrap();
    let has = |key: &[u8]| entries().iter().any(|(other, _)| other == key);
    assert!(has(&other));
    let removed = wait(40, || !has(&other));
    assert!(removed);
    assert!(has(&key), "that of a socket stays");
}
