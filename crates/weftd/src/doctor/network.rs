//! Settings of a network namespace, and options that its sockets have negotiated.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::Finding;
use crate::daemon::blackholes;
use crate::daemon::settings::{self, read};
use crate::status::Status;
use weft_kernel::path_manager::{
    Counters, DiagSubflow, Listener, MptcpCounters, Namespace, endpoints, limits, listeners, mptcp_subflows,
    present,
};

pub(super) fn findings(namespace: &Namespace, status: Option<&Status>) -> Vec<Finding> {
    let metrics = status.and_then(|status| status.settings.metrics);
    vec![
        mptcp(namespace),
        match read_blackholes(namespace) {
            Ok((before, after)) => judge_blackholes(before, after),
            Err(error) => Finding::warning(BLACKHOLES, error.to_string(), "run as root"),
        },
        path_manager(namespace),
        configured_endpoints(namespace),
        kernel_limits(namespace),
        match present(namespace) {
            Ok(present) => addresses(&present, status),
            Err(error) => Finding::warning(ADDRESSES, error.to_string(), "run as root"),
        },
        default_algorithm(namespace),
        allowed_algorithms(namespace, status),
        ecn(namespace),
        match listeners(namespace) {
            // The daemon's own is for programs of this host.
            Ok(mut listeners) => {
                listeners.retain(|listener| Some(listener.local) != metrics);
                listening(&listeners)
            }
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
    let (key, of_user_space) = settings::path_manager(namespace);
    match read(namespace, key).as_deref() {
        Ok(value) if value == of_user_space => Finding::ok(CHECK, format!("in user space ({key}={value})")),
        Ok(kind) => Finding::warning(
            CHECK,
            format!(
                "the kernel's ({key}={kind}): connections opened now get no subflows and no suppression from weftd"
            ),
            format!(
                "systemctl start weftd (it sets {key}={of_user_space}), or sysctl -w {key}={of_user_space}"
            ),
        ),
        Err(error) => Finding::failure(
            CHECK,
            format!("{key}: {error}"),
            "boot a kernel from 5.19 on with MPTCP",
        ),
    }
}

/// The kernel's own path manager makes use of them, which is out of work where weftd serves.
fn configured_endpoints(namespace: &Namespace) -> Finding {
    const CHECK: &str = "endpoints";
    let (key, of_user_space) = settings::path_manager(namespace);
    let in_user_space = read(namespace, key).is_ok_and(|value| value == of_user_space);
    match (endpoints(namespace), in_user_space) {
        (Ok(endpoints), _) if endpoints.is_empty() => Finding::ok(CHECK, "none configured"),
        (Ok(endpoints), true) => Finding::warning(
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
    const KEY: &str = "net.ipv4.tcp_congestion_control";
    match read(namespace, KEY) {
        Ok(name) => judge_default(&name),
        Err(error) => Finding::failure(DEFAULT_ALGORITHM, error.to_string(), "mount /proc"),
    }
}

fn judge_default(name: &str) -> Finding {
    if echoes(name) {
        return Finding::ok(DEFAULT_ALGORITHM, name);
    }
    if WITHOUT_ECN.contains(&name) {
        return Finding::ok(DEFAULT_ALGORITHM, format!("{name}, which uses no marks"));
    }
    Finding::warning(
        DEFAULT_ALGORITHM,
        format!("{name}: sockets get coupled congestion control only where they or their route ask for it"),
        format!("{DEFAULT}, or ip route change ROUTE congctl weft_amp"),
    )
}

/// Subflows between one pair of addresses take one path where each path has an address of its own.
fn addresses(present: &[IpAddr], status: Option<&Status>) -> Finding {
    let is_global = |ip: &&IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let global: Vec<&IpAddr> = present
        .iter()
        .filter(is_global)
        .filter(|ip| !ip.is_loopback())
        .collect();
    let most = [true, false].map(|v4| global.iter().filter(|ip| ip.is_ipv4() == v4).count());
    let most = most.into_iter().max().unwrap_or(0);
    let detail = format!("{} global addresses", global.len());
    if most < 2 || !status.is_some_and(|status| status.settings.one_address_pair) {
        return Finding::ok(ADDRESSES, detail);
    }
    Finding::warning(
        ADDRESSES,
        format!(
            "{detail}, and subflows.policy = \"ndiffports\": all subflows of a connection have the addresses of the first one"
        ),
        "if each address has a path of its own to the other end: subflows.policy = \"fullmesh\" and subflows.count = the number of \
         paths, at both ends",
    )
}

/// The kernel's list is of the whole machine; a `sysctl` of it that does not name them takes them away from users.
fn allowed_algorithms(namespace: &Namespace, status: Option<&Status>) -> Finding {
    const CHECK: &str = "allowed algorithms";
    const KEY: &str = "net.ipv4.tcp_allowed_congestion_control";
    let Some(status) = status.filter(|status| status.settings.unprivileged) else {
        return Finding::ok(CHECK, "not for every user");
    };
    let allowed = read(namespace, KEY).unwrap_or_default();
    let missing: Vec<&str> = status
        .algorithms
        .iter()
        .map(String::as_str)
        .filter(|name| !allowed.split_whitespace().any(|allowed| allowed == *name))
        .collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, "every user may choose weftd's");
    }
    Finding::warning(
        CHECK,
        format!(
            "{KEY} lacks {}, so only root may choose them, and no default but of the first namespace can name them",
            missing.join(" ")
        ),
        "systemctl reload weftd, and remove the setting from /etc/sysctl.d or add the names there",
    )
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
        Ok(value) => Finding::ok(CHECK, format!("net.ipv4.tcp_ecn={value}{}", accurate_ecn(value))),
        Err(error) => Finding::failure(CHECK, error.to_string(), "mount /proc"),
    }
}

/// Returns the effect of a mode of Accurate ECN (RFC 9768) on sockets with an algorithm that needs ECN.
fn accurate_ecn(mode: &str) -> &'static str {
    match mode {
        "3" => {
            ": asks for Accurate ECN and accepts it; where both ends do, marks are counted by the other end and not echoed one by one"
        }
        "4" | "5" => {
            ": accepts Accurate ECN, where marks are counted by the other end, and asks for the ECN of RFC 3168"
        }
        _ => "",
    }
}

fn listening(listeners: &[Listener]) -> Finding {
    let uses_no_marks = |listener: &&Listener| WITHOUT_ECN.contains(&listener.congestion.as_str());
    let without_ecn: Vec<String> = listeners
        .iter()
        .filter(|listener| !echoes(&listener.congestion) && !uses_no_marks(listener))
        .map(|listener| format!("{} ({})", listener.local, listener.congestion))
        .collect();
    if without_ecn.is_empty() {
        // These were chosen, and do without marks.
        let detail = match listeners.iter().filter(uses_no_marks).count() {
            0 => "all with ECN".to_owned(),
            count => format!("{count} of them with an algorithm that uses no marks"),
        };
        return Finding::ok(LISTENERS, format!("{} listening, {detail}", listeners.len()));
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
    (name.starts_with("weft_") && !WITHOUT_ECN.contains(&name)) || name == "dctcp"
}

/// Weft's algorithms that do not ask for ECN.
const WITHOUT_ECN: [&str; 4] = ["weft_balia", "weft_lia", "weft_olia", "weft_wvegas"];
/// The fix of a wrong default. All ends can have one algorithm, which senders and receivers use.
const DEFAULT: &str = "congestion.default = \"weft_amp\" in /etc/weft/weftd.toml";
const DEFAULT_ALGORITHM: &str = "default algorithm";
const BLACKHOLES: &str = "MPTCP blackholes";
/// A port on which nothing listens (`tcpmux`).
const CLOSED_PORT: u16 = 1;
const LISTENERS: &str = "listeners";
const ADDRESSES: &str = "addresses";
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
    fn defaults_that_couple_subflows_are_good_with_and_without_marks() {
        for name in ["weft_amp", "weft_lia", "weft_wvegas", "dctcp"] {
            assert_eq!(judge_default(name).state, State::Good, "{name}");
        }
        assert_eq!(judge_default("bbr").state, State::Warning);
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
    fn several_addresses_need_a_full_mesh() {
        let status = |one_address_pair| Status {
            settings: crate::status::StatusSettings {
                one_address_pair,
                ..crate::status::StatusSettings::default()
            },
            ..Status::default()
        };
        let present = |list: &[&str]| list.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<IpAddr>>();
        let two = present(&["10.0.0.1", "10.1.0.1", "fe80::1", "127.0.0.1"]);
        assert_eq!(addresses(&two, Some(&status(true))).state, State::Warning);
        assert_eq!(addresses(&two, Some(&status(false))).state, State::Good);
        assert_eq!(addresses(&two, None).state, State::Good);
        let one_each = present(&["10.0.0.1", "fd00::1", "fe80::1", "127.0.0.1", "169.254.1.1"]);
        assert_eq!(addresses(&one_each, Some(&status(true))).state, State::Good);
    }

    #[test]
    fn a_listener_that_would_refuse_ecn_is_named() {
        assert_eq!(listening(&[listener(80, "weft_dctcp")]).state, State::Good);
        let chosen = listening(&[listener(80, "weft_amp"), listener(81, "weft_lia")]);
        assert_eq!(chosen.state, State::Good);
        assert!(chosen.detail.contains("1 of them"), "{}", chosen.detail);
        let finding = listening(&[
            listener(80, "weft_amp"),
            listener(81, "cubic"),
            listener(82, "weft_lia"),
        ]);
        assert_eq!(finding.state, State::Warning);
        assert!(
            finding.detail.ends_with("0.0.0.0:81 (cubic)"),
            "{}",
            finding.detail
        );
    }
}
