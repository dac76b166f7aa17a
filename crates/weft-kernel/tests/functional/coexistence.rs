//! Shares of a connection that competes with a DCTCP flow for 20 Mbit/s, where packets are marked if ten or more wait.
//!
//! These tests measure. `make test` runs them one at a time, after all that needs a processor.

use weft_kernel::programs::{KernelAlgorithm, Options};
use weft_test_support::skip;

use crate::bottleneck::{additional_subflow, bottleneck, compare};
use crate::machine::{NO_JOINS, NamespaceThread, in_namespace, load, load_with};
use crate::peers::Kind;

/// The shares of AMP-FG at the packet level (`many-to-one`, 20 Mbit/s, delays of 20 us, `cwnd_min = 2`). Its cuts are deeper than
/// DCTCP's, and its subflows are not coupled.
const AMP_FG_ONE_SUBFLOW: f64 = 0.225;
const AMP_FG_TWO_SUBFLOWS: f64 = 0.549;

/// The share of Warp with two subflows at the packet level (`many-to-one`, delays of 20 us, 7 s, mean of seeds 1 to 3). With one
/// subflow Warp is DCTCP.
const WARP_TWO_SUBFLOWS: f64 = 1.0;

/// The share of DCTCP over MPTCP with one subflow, which the packet level does not model (6.18, mean of 52 runs of 3 s and 6 s). Two
/// subflows of Warp do not lose as much: five runs on an idle machine had 0.92 to 1.23 of a DCTCP flow's bytes.
const DCTCP_OVER_MPTCP: f64 = 0.72;

#[test]
fn amp_fg_beside_dctcp_has_the_share_that_the_packet_level_says() {
    in_namespace(
        "amp_fg_beside_dctcp_has_the_share_that_the_packet_level_says",
        || {
            let options = Options {
                parameters: vec![(KernelAlgorithm::AmpFg, vec![("cwnd_min".to_owned(), 2.0)])],
                ..Options::default()
            };
            let programs = load_with(&[KernelAlgorithm::AmpFg, KernelAlgorithm::Dctcp], &options);
            let (router, server) = (NamespaceThread::new(), NamespaceThread::new());
            bottleneck(&router, &server);
            compare(
                &programs,
                &server,
                (KernelAlgorithm::AmpFg, Kind::Tcp),
                AMP_FG_ONE_SUBFLOW,
                2.0,
            );
            if !additional_subflow(&server) {
                skip("amp_fg_beside_dctcp, two subflows", NO_JOINS);
                return;
            }
            compare(
                &programs,
                &server,
                (KernelAlgorithm::AmpFg, Kind::Mptcp),
                AMP_FG_TWO_SUBFLOWS,
                2.0,
            );
        },
    );
}

#[test]
fn warp_takes_what_a_dctcp_flow_takes() {
    in_namespace("warp_takes_what_a_dctcp_flow_takes", || {
        let programs = load(&[KernelAlgorithm::Warp, KernelAlgorithm::Dctcp]);
        let (router, server) = (NamespaceThread::new(), NamespaceThread::new());
        bottleneck(&router, &server);
        compare(&programs, &server, (KernelAlgorithm::Warp, Kind::Tcp), 1.0, 1.5);
        compare(
            &programs,
            &server,
            (KernelAlgorithm::Dctcp, Kind::Mptcp),
            DCTCP_OVER_MPTCP,
            1.5,
        );
        if !additional_subflow(&server) {
            skip("warp_takes_what_a_dctcp_flow_takes, two subflows", NO_JOINS);
            return;
        }
        compare(
            &programs,
            &server,
            (KernelAlgorithm::Warp, Kind::Mptcp),
            WARP_TWO_SUBFLOWS,
            1.5,
        );
    });
}
