//! Settings of a network namespace, and options that its sockets have negotiated.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::Finding;
use crate::daemon::blackholes;
use crate::daemon::settings::read;
use weft_kernel::path_manager::{
    Counters, DiagSubflow, Listener, MptcpCounters, Namespace, endpoints, limits, listeners, mptcp_subflows,
};

pub(super) fn findings(namespace: &Namespace) -> Vec<Finding> {
    vec![
        mptcp(namespace),
        match read_blackholes(namespace) {
            Ok((before, after)) => judge_blackholes(before, after),
            Err(error) => Finding::warning(BLACKHOLES, error.to_string(), "run as root"),
        },
        path_manager(namespace),
        configured_endpoints(namespace),
        kernel_limits(namespace),
        default_algorithm(namespace),
        ecn(namespace),
        match listeners(namespace) {
            Ok(listeners) => listening(&listeners),
            Err(error) => Finding::warning(LISTENERS, error.to_string(), "run as root"),
        },
        match mptcp_subflows(namespace) {
            Ok(seen) => peers(&seen),
            Err(error) => Finding::warning(PEERS, error.to_string(), "run as root"),
        },
        hash_policy(namespace),
    ]
}

fn mptcp(namespace: &Namespace) -> Finding {
    const CHECK: &str = "MPTCP";
    match read(namespace, "net.mptcp.enabled").as_deref() {
        Ok("1") => Finding::ok(CHECK, "enabled"),
        Ok(_) => Finding::failure(CHECK, "disabled", "sysctl -w net.mptcp.enabled=1"),
        Err(_) => Finding::failure(
            CHECK,
            "the kernel has none",
            "boot a kernel built with CONFIG_MPTCP=y (and CONFIG_MPTCP_IPV6=y)",
        ),
    }
}

/// The counters before and after an attempt to connect to a closed port of loopback. The kernel shows in no other way
/// whether it has switched MPTCP off.
fn read_blackholes(namespace: &Namespace) -> io::Result<(MptcpCounters, MptcpCounters)> {
    let counters = Counters::open(namespace)?;
    let before = counters.read()?;
    if before.blackholes == 0 {
        return Ok((before, before));
    }
    namespace.run_in(|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
        let closed = SocketAddr::from((Ipv4Addr::LOCALHOST, CLOSED_PORT));
        let _ = socket.connect_timeout(&closed.into(), Duration::from_millis(100));
        Ok(())
    })?;
    Ok((before, counters.read()?))
}

fn judge_blackholes(before: MptcpCounters, after: MptcpCounters) -> Finding {
    if after.blackholes == 0 {
        return Finding::ok(BLACKHOLES, "none detected");
    }
    let detail = format!(
        "detected {} times, {} connections opened without MPTCP",
        after.blackholes, after.plain_connections
    );
    if after.plain_connections == before.plain_connections {
        return Finding::ok(BLACKHOLES, format!("MPTCP is on; {detail}"));
    }
    Finding::failure(
        BLACKHOLES,
        format!("MPTCP is switched off for new connections, because a SYN with MPTCP was lost; {detail}"),
        format!(
            "find the device that drops SYNs with MPTCP; {}",
            blackholes::RESET
        ),
    )
}

fn path_manager(namespace: &Namespace) -> Finding {
    const CHECK: &str = "path manager";
    match read(namespace, "net.mptcp.pm_type").as_deref() {
        Ok("1") => Finding::ok(CHECK, "in user space (net.mptcp.pm_type=1)"),
        Ok(kind) => Finding::warning(
            CHECK,
            format!(
                "the kernel's (net.mptcp.pm_type={kind}): connections opened now get no subflows and no suppression from weftd"
            ),
            "systemctl start weftd (it sets net.mptcp.pm_type=1), or sysctl -w net.mptcp.pm_type=1",
        ),
        Err(error) => Finding::failure(
            CHECK,
            format!("net.mptcp.pm_type: {error}"),
            "boot a kernel from 5.19 on with MPTCP",
        ),
    }
}

/// The kernel's own path manager makes use of them, which is out of work where weftd serves.
fn configured_endpoints(namespace: &Namespace) -> Finding {
    const CHECK: &str = "endpoints";
    match (
        endpoints(namespace),
        read(namespace, "net.mptcp.pm_type").as_deref(),
    ) {
        (Ok(endpoints), _) if endpoints.is_empty() => Finding::ok(CHECK, "none configured"),
        (Ok(endpoints), Ok("1")) => Finding::warning(
            CHECK,
            format!(
                "{} of `ip mptcp endpoint` are configured, and not used unless weftd spreads subflows over addresses",
                endpoints.len()
            ),
            "subflows.policy = \"fullmesh\" in /etc/weft/weftd.toml, with subflows.addresses left empty",
        ),
        (Ok(endpoints), _) => Finding::ok(CHECK, format!("{} configured", endpoints.len())),
        (Err(error), _) => Finding::warning(CHECK, error.to_string(), "run as root on a kernel with MPTCP"),
    }
}

fn kernel_limits(namespace: &Namespace) -> Finding {
    const CHECK: &str = "path-manager limits";
    match limits(namespace) {
        Ok(limits) if limits.subflows == 0 => Finding::warning(
            CHECK,
            "the kernel's own path manager opens and accepts no additional subflows; weftd's is not bound by it",
            "ip mptcp limits set subflows 8 add_addr_accepted 8, where connections are left to the kernel's",
        ),
        Ok(limits) => Finding::ok(
            CHECK,
            format!(
                "the kernel's own: {} additional subflows, {} announced addresses",
                limits.subflows, limits.announced_addresses
            ),
        ),
        Err(error) => Finding::failure(CHECK, error.to_string(), "run as root on a kernel with MPTCP"),
    }
}

fn default_algorithm(namespace: &Namespace) -> Finding {
    const CHECK: &str = "default algorithm";
    const KEY: &str = "net.ipv4.tcp_congestion_control";
    match read(namespace, KEY) {
        Ok(name) if echoes(&name) => Finding::ok(CHECK, name),
        Ok(name) => Finding::warning(
            CHECK,
            format!(
                "{name}: sockets get coupled congestion control only where they or their route ask for it"
            ),
            format!("{DEFAULT}, or ip route change ROUTE congctl weft_amp"),
        ),
        Err(error) => Finding::failure(CHECK, error.to_string(), "mount /proc"),
    }
}

/// The congestion controls ask for ECN by themselves; the setting decides for others.
fn ecn(namespace: &Namespace) -> Finding {
    const CHECK: &str = "ECN here";
    match read(namespace, "net.ipv4.tcp_ecn").as_deref() {
        Ok("0") => Finding::warning(
            CHECK,
            "net.ipv4.tcp_ecn=0: only sockets with an algorithm that needs ECN speak it",
            "sysctl -w net.ipv4.tcp_ecn=2",
        ),
        Ok(value) if read(namespace, "net.ipv4.tcp_ecn_fallback").is_ok_and(|value| value == "0") => {
            Finding::warning(
                CHECK,
                format!(
                    "net.ipv4.tcp_ecn={value}, net.ipv4.tcp_ecn_fallback=0: behind a device that drops SYNs with ECN, no socket that asks for ECN \
                 connects"
                ),
                "sysctl -w net.ipv4.tcp_ecn_fallback=1, unless no device does",
            )
        }
        Ok(value) => Finding::ok(CHECK, format!("net.ipv4.tcp_ecn={value}")),
        Err(error) => Finding::failure(CHECK, error.to_string(), "mount /proc"),
    }
}

fn listening(listeners: &[Listener]) -> Finding {
    let without_ecn: Vec<String> = listeners
        .iter()
        .filter(|listener| !echoes(&listener.congestion))
        .map(|listener| format!("{} ({})", listener.local, listener.congestion))
        .collect();
    if without_ecn.is_empty() {
        return Finding::ok(LISTENERS, format!("{} listening, all with ECN", listeners.len()));
    }
    let shown = without_ecn
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = match without_ecn.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Finding::warning(
        LISTENERS,
        format!("refuse ECN to senders that need it, so that their marks are never echoed: {shown}{more}"),
        format!("{DEFAULT}, then restart the listeners"),
    )
}

/// The programs make Reno of a socket without ECN.
fn peers(seen: &[DiagSubflow]) -> Finding {
    let stand: Vec<&DiagSubflow> = seen.iter().filter(|seen| seen.established).collect();
    let without_ecn =
        |seen: &&&DiagSubflow| !seen.ecn && (echoes(&seen.congestion) || seen.congestion == "reno");
    let count = stand.iter().filter(without_ecn).count();
    let Some(first) = stand.iter().find(without_ecn) else {
        return Finding::ok(PEERS, format!("{} subflows, all with ECN", stand.len()));
    };
    Finding::warning(
        PEERS,
        format!(
            "{count} of {} subflows are Reno without ECN, such as to {}: the other end refused it, or the algorithm was chosen after connect \
             (as iperf3 -C does), when the SYN had gone without",
            stand.len(),
            first.subflow.remote
        ),
        format!(
            "at the other end {DEFAULT}; here choose the algorithm before connect: by the default, or ip route change ROUTE \
             congctl weft_amp"
        ),
    )
}

fn hash_policy(namespace: &Namespace) -> Finding {
    const CHECK: &str = "ECMP";
    let key = "net.ipv4.fib_multipath_hash_policy";
    match read(namespace, key).as_deref() {
        Ok("1") => Finding::ok(CHECK, "by port, so that subflows spread over equal routes"),
        Ok(value) => Finding::warning(
            CHECK,
            format!(
                "{key}={value}: subflows between one pair of addresses all take the same of equal routes of this host"
            ),
            format!("sysctl -w {key}=1 (and net.ipv6.fib_multipath_hash_policy=1)"),
        ),
        Err(_) => Finding::ok(CHECK, "the kernel has no multipath routes"),
    }
}

/// Whether an algorithm needs, and therefore echoes, ECN marks.
fn echoes(name: &str) -> bool {
    (name.starts_with("weft_") && name != "weft_lia") || name == "dctcp"
}

/// The fix of a wrong default. All ends can have one algorithm, which senders and receivers use.
const DEFAULT: &str = "congestion.default = \"weft_amp\" in /etc/weft/weftd.toml";
const BLACKHOLES: &str = "MPTCP blackholes";
/// A port on which nothing listens (`tcpmux`).
const CLOSED_PORT: u16 = 1;
const LISTENERS: &str = "listeners";
const PEERS: &str = "ECN at the other ends";
/// Listeners named in one line.
const SHOWN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn listener(port: u16, congestion: &str) -> Listener {
        Listener {
            local: ([0, 0, 0, 0], port).into(),
            congestion: congestion.to_owned(),
        }
    }

    #[test]
    fn a_blackhole_is_a_failure_while_connections_go_without_mptcp() {
        let counters = |blackholes, plain_connections| MptcpCounters {
            blackholes,
            plain_connections,
        };
        let state = |before, after| judge_blackholes(before, after).state;
        assert_eq!(state(counters(0, 0), counters(0, 0)), State::Good);
        assert_eq!(state(counters(1, 5), counters(1, 5)), State::Good);
        assert_eq!(state(counters(1, 5), counters(1, 6)), State::Failure);
    }

    #[test]
    fn all_fixes_name_one_default() {
        let fixes = [
            listening(&[listener(80, "cubic")]).fix,
            default_algorithm(&Namespace::current()).fix,
        ];
        for fix in fixes.into_iter().flatten() {
            assert!(fix.contains(DEFAULT), "{fix}");
        }
    }

    #[test]
    fn a_listener_that_would_refuse_ecn_is_named() {
        assert_eq!(listening(&[listener(80, "weft_dctcp")]).state, State::Good);
        let finding = listening(&[listener(80, "weft_amp"), listener(81, "cubic")]);
        assert_eq!(finding.state, State::Warning);
        assert!(
            finding.detail.ends_with("0.0.0.0:81 (cubic)"),
            "{}",
            finding.detail
        );
    }
}
