//! The BPF programs on the kernel that runs: root, and a network namespace of its own for each test, which ends with
//! the test's thread. `debian.rs` runs all of it again on Debian's 6.1 kernel.

mod bottleneck;
mod coexistence;
mod cost;
mod dctcp_reference;
mod debian;
mod machine;
mod marks;
mod peers;
mod plb;
mod positions;
mod rules;
mod shares;
mod table;

use std::time::Duration;

use machine::{NO_JOINS, eventually, in_namespace, load, run};
use peers::{Family, Kind, Peers};
use weft_kernel::events::EventKind;
use weft_kernel::programs::{Error, KernelAlgorithm, Options, Programs};
use weft_test_support::{skip, skip_without_feature};

const MEGABYTE: usize = 1 << 20;

#[test]
fn names_are_registered_once_and_taken_back() {
    in_namespace("names_are_registered_once_and_taken_back", || {
        let registered = || {
            let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let list = list.expect("the kernel's list");
            KernelAlgorithm::ALL
                .iter()
                .filter(|n| list.split_whitespace().any(|l| l == n.kernel()))
                .count()
        };
        let programs = load(KernelAlgorithm::ALL);
        assert_eq!(registered(), KernelAlgorithm::ALL.len());
        let again = Programs::load(&[KernelAlgorithm::Amp], &Options::default());
        assert!(matches!(again, Err(Error::Registered("weft_amp"))));
        drop(programs);
        assert_eq!(registered(), 0);
    });
}

/// A process that is killed leaves its names registered where there are no links.
#[test]
fn names_left_behind_are_taken_back() {
    in_namespace("names_left_behind_are_taken_back", || {
        let folder = machine::bpf_file_system();
        let load = || {
            Programs::load(
                &[KernelAlgorithm::Xmp],
                &Options {
                    pin: Some(folder.clone()),
                    ..Options::default()
                },
            )
        };
        let killed = load().expect("the program loads");
        if machine::has_links() {
            assert!(matches!(load(), Err(Error::Registered("weft_xmp"))));
            drop(killed);
        } else {
            std::mem::forget(killed);
        }
        // Twice, since it must also leave nothing behind that is in its own way.
        for _ in 0..2 {
            drop(load().expect("the program loads again"));
        }
        let pin = folder.join("registration_weft_xmp");
        assert_eq!(pin.exists(), !machine::has_links());
        assert!(!Programs::unregister_pinned(&pin), "its registration has ended");
    });
}

/// One process hands over to the next.
#[test]
fn programs_take_the_place_of_others_under_their_name() {
    in_namespace("programs_take_the_place_of_others_under_their_name", || {
        let folder = machine::bpf_file_system();
        let options = |join_after| Options {
            pin: Some(folder.clone()),
            join_after,
            ..Options::default()
        };
        let registered = |name: KernelAlgorithm| {
            let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            list.expect("the kernel's list").contains(name.kernel())
        };
        let both = [KernelAlgorithm::Amp, KernelAlgorithm::Xmp];
        let mut programs = Programs::load(&both, &options(1)).expect("the programs load");
        // A process that becomes another one drops nothing.
        let hand_over = |mut programs: Programs| {
            programs.hand_over(&folder).expect("pins");
            if !machine::has_links() {
                std::mem::forget(programs);
            }
        };
        for bulk in 2..5 {
            hand_over(programs);
            assert!(both.into_iter().all(registered));
            let wrong = Options {
                parameters: vec![(KernelAlgorithm::Xmp, vec![("tau".to_owned(), 8.0)])],
                ..options(bulk)
            };
            assert!(Programs::load(&both, &wrong).is_err());
            assert!(both.into_iter().all(registered), "the next one did not load");
            programs = Programs::load(&both, &options(bulk)).expect("the programs load");
            assert!(both.into_iter().all(registered));
        }
        // A name that the next process does not load is released.
        hand_over(programs);
        let programs = Programs::load(&both[..1], &options(5)).expect("the program loads");
        eventually("the other name is free", || !registered(KernelAlgorithm::Xmp));
        assert!(registered(KernelAlgorithm::Amp));
        drop(programs);
        eventually("both names are free", || !registered(KernelAlgorithm::Amp));
    });
}

#[test]
fn names_can_be_kept_from_those_who_are_not_privileged() {
    in_namespace("names_can_be_kept_from_those_who_are_not_privileged", || {
        let listed = |list: &str| {
            let list = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control"));
            list.expect("the kernel's list").contains("weft_amp")
        };
        let options = Options {
            restricted: true,
            ..Options::default()
        };
        drop(load(&[KernelAlgorithm::Amp]));
        let programs = Programs::load(&[KernelAlgorithm::Amp], &options).expect("the program loads");
        assert!(listed("available") && !listed("allowed"));
        drop(programs);
        let programs = load(&[KernelAlgorithm::Amp]);
        assert!(listed("available") && listed("allowed"));
        drop(programs);
    });
}

#[test]
fn parameters_that_are_not_allowed_are_refused() {
    let options_with = |name, parameter: &str, value| Options {
        parameters: vec![(name, vec![(parameter.to_owned(), value)])],
        ..Options::default()
    };
    in_namespace("parameters_that_are_not_allowed_are_refused", move || {
        let refusal = |name, parameter, value| {
            let error = Programs::load(&[name], &options_with(name, parameter, value)).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refusal(KernelAlgorithm::Amp, "gamma", 0.0).contains("gamma"));
        assert!(refusal(KernelAlgorithm::Lia, "beta", 4.0).contains("no ECN"));
        assert!(refusal(KernelAlgorithm::Dctcp, "tau", 8.0).contains("tau"));
    });
}

#[test]
fn every_algorithm_carries_tcp_and_mptcp_over_ipv4_and_ipv6() {
    in_namespace("every_algorithm_carries_tcp_and_mptcp_over_ipv4_and_ipv6", || {
        let programs = load(KernelAlgorithm::ALL);
        for &name in KernelAlgorithm::ALL {
            for family in [Family::V4, Family::V6] {
                for kind in [Kind::Tcp, Kind::Mptcp] {
                    let peers = Peers::connect(family, kind, name.kernel(), name.kernel());
                    peers.send(2 * MEGABYTE);
                    let local = peers.client_address();
                    let connections = programs.connections().expect("a map");
                    let [client] = connections
                        .iter()
                        .filter(|c| c.subflows.iter().any(|s| s.local == local))
                        .collect::<Vec<_>>()[..]
                    else {
                        panic!("{name:?} {family:?} {kind:?}: {local} is not in {connections:?}")
                    };
                    assert_eq!((client.algorithm, client.token != 0), (name, kind == Kind::Mptcp));
                    let subflow = &client.subflows[0];
                    assert_eq!(subflow.remote, peers.server_address());
                    assert!(subflow.cwnd >= 1.0 && subflow.srtt > 0.0 && subflow.mss > 0);
                    assert!(subflow.acked > 0 && subflow.rounds > 0 && subflow.active);
                    peers.close();
                    eventually("the connection's entry is gone", || {
                        programs.connections().expect("a map").is_empty()
                    });
                }
            }
        }
        assert_eq!(programs.totals().expect("a map").lost_events, 0);
    });
}

#[test]
fn ten_thousand_connections_leave_no_entry() {
    in_namespace("ten_thousand_connections_leave_no_entry", || {
        let programs = load(&[KernelAlgorithm::Amp]);
        // Under emulation a tenth of it.
        let each = if machine::is_emulated() { 500 } else { 5000 };
        for kind in [Kind::Tcp, Kind::Mptcp] {
            Peers::churn(kind, "weft_amp", each);
        }
        eventually("no entry is left", || {
            programs.connections().expect("a map").is_empty()
        });
        let totals = programs.totals().expect("a map");
        // When the listener is overrun, its cookies know no ECN.
        assert!(
            totals.subflows + totals.without_ecn >= 4 * each as u64,
            "{totals:?}"
        );
        assert!(
            totals.without_ecn < each as u64 && totals.without_slot == 0,
            "{totals:?}"
        );
    });
}

#[test]
fn where_the_other_end_knows_no_ecn_it_is_reno() {
    in_namespace("where_the_other_end_knows_no_ecn_it_is_reno", || {
        // With Accurate ECN it would know it.
        std::fs::write(machine::TCP_ECN, "2").expect("a setting");
        let programs = load(&[KernelAlgorithm::Amp]);
        let peers = Peers::connect(Family::V4, Kind::Tcp, "weft_amp", "reno");
        peers.send(MEGABYTE);
        assert_eq!(peers.client_algorithm(), "reno");
        assert_eq!(programs.totals().expect("a map").without_ecn, 1);
        assert!(programs.connections().expect("a map").is_empty());
    });
}

/// The receiver's kernel counts the marks, whatever its congestion control. A listener without ECN refuses only the ECN of RFC 3168.
#[test]
fn with_accurate_ecn_the_other_end_needs_no_algorithm() {
    accurate_ecn("with_accurate_ecn_the_other_end_needs_no_algorithm", false);
}

/// The counter in the flags of the header is left (RFC 9768, section 3.2.2 and appendix A.2).
#[test]
fn a_middlebox_that_clears_the_option_of_accurate_ecn_leaves_the_marks() {
    accurate_ecn(
        "a_middlebox_that_clears_the_option_of_accurate_ecn_leaves_the_marks",
        true,
    );
}

fn accurate_ecn(name: &'static str, clears: bool) {
    in_namespace(name, move || {
        if std::fs::write(machine::TCP_ECN, "3").is_err() {
            skip_without_feature(name, "it needs Accurate ECN (net.ipv4.tcp_ecn=3)");
            return;
        }
        let programs = load(&[KernelAlgorithm::Dctcp]);
        let marks = marks::Marks::on_loopback();
        let middlebox = clears.then(marks::Middlebox::on_loopback);
        run("ip", &["link", "set", "lo", "mtu", "1500", "gso_max_segs", "1"]);
        // A busy receiver acknowledges what came meanwhile at once, and without the option more than seven packets are ambiguous.
        // So they come two at a time, however busy the machine is.
        machine::slow_loopback(20, "3kb");
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_dctcp", "reno");
        assert_eq!(peers.client_algorithm(), "weft_dctcp");
        let local = peers.client_address();
        let client = || {
            let connections = programs.connections().expect("a map");
            let mut subflows = connections.into_iter().flat_map(|c| c.subflows);
            subflows.find(|s| s.local == local).expect("the client's")
        };
        let once_all_is_acknowledged = || {
            let mut last = client();
            eventually("nothing is acknowledged any more", || {
                std::thread::sleep(Duration::from_millis(250));
                let before = std::mem::replace(&mut last, client());
                before.acked == last.acked
            });
            last
        };
        peers.send(MEGABYTE);
        let unmarked = once_all_is_acknowledged();
        println!(
            "{} of {} packets marked without marks",
            unmarked.marked, unmarked.acked
        );
        if clears {
            // The kernel takes an acknowledgement of more than seven packets for a wrap of the counter, which has three bits.
            assert!(
                unmarked.marked % 8 == 0 && unmarked.marked < unmarked.acked / 4,
                "{unmarked:?}"
            );
        } else {
            assert_eq!(unmarked.marked, 0);
        }
        marks.one_in(1);
        peers.send(MEGABYTE);
        let after = once_all_is_acknowledged();
        let (acked, marked) = (after.acked - unmarked.acked, after.marked - unmarked.marked);
        println!("{marked} of {acked} packets marked");
        assert!(acked > 700 && marked.abs_diff(acked) <= acked / 100, "{after:?}");
        assert_eq!(programs.totals().expect("a map").without_ecn, 0);
        if let Some(middlebox) = middlebox {
            println!("{} options cleared", middlebox.cleared());
            assert!(middlebox.cleared() > 0, "no option was seen");
        }
        peers.close();
    });
}

/// A receiver gets no acknowledgements, but the kernel reports the mark of each packet, with either mode of ECN.
#[test]
fn a_receiver_has_a_slot_and_its_bytes_are_counted() {
    in_namespace("a_receiver_has_a_slot_and_its_bytes_are_counted", || {
        let programs = load(&[KernelAlgorithm::Dctcp]);
        let events = programs.events().expect("the ring");
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_dctcp", "weft_dctcp");
        peers.send(4 * MEGABYTE);
        let server = peers.server_address();
        eventually("the server's bytes are counted", || {
            let connections = programs.connections().expect("a map");
            let mut subflows = connections.iter().flat_map(|c| &c.subflows);
            subflows.any(|s| s.local == server && s.received > 3 * MEGABYTE as u64)
        });
        let bulk = marks::wait(&events, EventKind::BulkThreshold, 2);
        assert!(bulk.iter().any(|event| event.local == server), "{bulk:?}");
        peers.close();
    });
}

#[test]
fn dctcp_estimates_the_fraction_of_marks() {
    in_namespace("dctcp_estimates_the_fraction_of_marks", || {
        let programs = load(&[KernelAlgorithm::Dctcp]);
        let marks = marks::Marks::on_loopback();
        marks.one_in(4);
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_dctcp", "weft_dctcp");
        let local = peers.client_address();
        let client = || {
            let connections = programs.connections().expect("a map");
            let mut subflows = connections.into_iter().flat_map(|c| c.subflows);
            subflows.find(|s| s.local == local).expect("the client's")
        };
        peers.send_for(Duration::from_secs(1));
        // One alpha is that of some sixteen rounds of two or three packets.
        let alphas = (0..50).map(|_| {
            peers.send_for(Duration::from_millis(20));
            client().alpha.expect("DCTCP has one")
        });
        let alpha = alphas.sum::<f64>() / 50.0;
        let subflow = client();
        // Marks fall on skbs, of one packet or two, at random: 0.2 on 6.18, 0.12 on an emulated 6.1.
        let fraction = subflow.marked as f64 / subflow.acked as f64;
        println!("marked {fraction}, alpha {alpha}, window {}", subflow.cwnd);
        assert!((0.08..0.4).contains(&fraction), "{subflow:?}");
        assert!((alpha - fraction).abs() < 0.2, "{alpha}: {subflow:?}");
        assert!(subflow.marks > 10 && subflow.ssthresh.is_finite() && subflow.cwnd >= 2.0);
    });
}

/// The path manager of the kernel opens up to eight in addition to the first.
#[test]
fn a_ninth_subflow_is_reno_and_leaves_the_others_alone() {
    in_namespace("a_ninth_subflow_is_reno_and_leaves_the_others_alone", || {
        let programs = load(&[KernelAlgorithm::Amp]);
        if !machine::join_over_loopback(8) {
            skip("a_ninth_subflow_is_reno", NO_JOINS);
            return;
        }
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp", "weft_amp");
        let totals = || programs.totals().expect("a map");
        eventually("a ninth subflow at both ends", || {
            peers.send(MEGABYTE);
            totals().without_slot == 2
        });
        let connections = programs.connections().expect("a map");
        assert_eq!(connections.len(), 2, "{connections:?}");
        assert!(
            connections.iter().all(|c| c.subflows.len() == 8),
            "{connections:?}"
        );
        assert_eq!(totals().subflows, 16);
        peers.send(MEGABYTE);
        peers.close();
        eventually("the connection's entries are gone", || {
            programs.connections().expect("a map").is_empty()
        });
    });
}

/// Sequence numbers wrap around after 4 GiB, and comparisons after half of that.
#[test]
fn marks_are_seen_after_gigabytes_without_any() {
    in_namespace("marks_are_seen_after_gigabytes_without_any", || {
        if machine::is_emulated() {
            skip_without_feature(
                "marks_are_seen_after_gigabytes_without_any",
                "emulation is too slow for gigabytes",
            );
            return;
        }
        let programs = load(&[KernelAlgorithm::Dctcp]);
        let marks = marks::Marks::on_loopback();
        let peers = Peers::connect(Family::V4, Kind::Tcp, "weft_dctcp", "weft_dctcp");
        let cuts = || {
            let connections = programs.connections().expect("a map");
            let subflows = connections.iter().flat_map(|c| &c.subflows);
            subflows.map(|s| s.marks).sum::<u64>()
        };
        for _ in 0..10 {
            peers.send(256 * MEGABYTE);
        }
        assert_eq!(cuts(), 0);
        marks.one_in(1);
        peers.send(MEGABYTE);
        assert!(cuts() > 0);
        peers.close();
    });
}
