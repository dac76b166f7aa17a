//! Addresses that come and go.

use super::*;

const FIRST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SECOND_ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));

fn has(all: &mut Connections, addresses: &[IpAddr], backup: Option<IpAddr>) -> Vec<Command> {
    let eligible = addresses.iter().map(|ip| Address {
        backup: Some(*ip) == backup,
        ..Address::new(*ip)
    });
    commands_of(|t| all.on_addresses(0, eligible.collect(), addresses, 0, t))
}

fn from_second(port: u16) -> Subflow {
    Subflow {
        local_id: 2,
        local: SocketAddr::new(SECOND_ADDRESS, port),
        ..subflow(port)
    }
}

fn joined(all: &mut Connections, subflow: Subflow) -> Vec<Command> {
    let event = Event::SubflowEstablished {
        token: TOKEN,
        subflow,
    };
    commands_of(|t| all.on_event(0, &event, 0, t))
}

#[test]
fn an_address_that_comes_is_announced_and_one_that_goes_is_withdrawn() {
    let mut all = connections(JoinPolicy::Fullmesh);
    has(&mut all, &[FIRST], None);
    assert!(commands_of(|t| all.on_event(0, &established(true), 0, t)).is_empty());
    let announced = Command::Announce {
        token: TOKEN,
        address: SECOND_ADDRESS,
        id: 2,
        backup: false,
    };
    assert_eq!(has(&mut all, &[FIRST, SECOND_ADDRESS], None), [announced]);
    assert!(has(&mut all, &[FIRST, SECOND_ADDRESS], None).is_empty());
    assert!(joined(&mut all, from_second(80)).is_empty());
    let closed = Command::DestroySubflow {
        token: TOKEN,
        local: from_second(80).local,
        remote: from_second(80).remote,
    };
    let withdrawn = Command::RemoveAddress { token: TOKEN, id: 2 };
    assert_eq!(has(&mut all, &[FIRST], None), [withdrawn, closed]);
    assert_eq!(has(&mut all, &[FIRST, SECOND_ADDRESS], None), [announced]);
}

#[test]
fn a_subflow_ends_with_its_address_unless_it_is_the_last() {
    let mut all = connections(JoinPolicy::Fullmesh);
    has(&mut all, &[FIRST, SECOND_ADDRESS], None);
    all.on_event(0, &established(false), 0, &mut Vec::new());
    joined(&mut all, from_second(1001));
    let closed = has(&mut all, &[SECOND_ADDRESS], None);
    assert!(
        matches!(closed[..], [Command::DestroySubflow { local, .. }] if local.ip() == FIRST),
        "{closed:?}"
    );
    assert_eq!(all.get(TOKEN).unwrap().subflows, [from_second(1001)]);
    assert!(has(&mut all, &[], None).is_empty());
    assert_eq!(all.get(TOKEN).unwrap().subflows.len(), 1);
}

#[test]
fn a_client_joins_from_an_address_that_comes() {
    let mut all = connections(JoinPolicy::Fullmesh);
    has(&mut all, &[FIRST], None);
    all.on_event(0, &established(false), 0, &mut Vec::new());
    assert!(commands_of(|t| all.on_bulk(TOKEN, 0, t)).is_empty());
    let joins = has(&mut all, &[FIRST, SECOND_ADDRESS], None);
    assert!(
        matches!(
            joins[..],
            [Command::CreateSubflow {
                local: SECOND_ADDRESS,
                backup: false,
                ..
            }]
        ),
        "{joins:?}"
    );
}

#[test]
fn a_subflow_of_a_backup_address_is_a_backup_whatever_the_algorithm_asks_for() {
    let mut all = connections(JoinPolicy::Fullmesh);
    has(&mut all, &[FIRST, SECOND_ADDRESS], Some(SECOND_ADDRESS));
    all.on_event(0, &established(false), 0, &mut Vec::new());
    let joins = commands_of(|t| all.on_bulk(TOKEN, 0, t));
    assert!(
        matches!(
            joins[..],
            [Command::CreateSubflow {
                local: SECOND_ADDRESS,
                backup: true,
                ..
            }]
        ),
        "{joins:?}"
    );
    joined(&mut all, from_second(1001));
    let backup = |all: &Connections| all.get(TOKEN).unwrap().subflows[1].backup;
    assert!(backup(&all));
    commands_of(|t| request(&mut all, true, SECOND, t));
    commands_of(|t| request(&mut all, false, 2 * SECOND, t));
    commands_of(|t| all.on_deadlines(10 * SECOND, t));
    let connection = all.get(TOKEN).unwrap();
    assert!(!connection.is_suppressed() && backup(&all));
}
