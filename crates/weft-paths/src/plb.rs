//! PLB: Qureshi et al., "PLB: Congestion Signals are Simple and Effective for Network Load
//! Balancing" (SIGCOMM 2022), by the rules of Linux's `net/ipv4/tcp_plb.c` and of its caller,
//! `tcp_dctcp.c`. A subflow whose packets are marked in many consecutive rounds draws another path.
//!
//! At the end of a round, the fraction of marked packets is compared with a threshold
//! (`tcp_plb_update_state`). A round below it starts the count of congested rounds from 0. The path
//! changes (`tcp_plb_check_rehash`)
//!
//! - after `rehash_rounds` congested rounds, at the end of the last one;
//! - after `idle_rehash_rounds`, if nothing is outstanding: at the end of a round, or when the next
//!   packet is sent (`CA_EVENT_TX_START`). Such a change reorders nothing.
//!
//! Every retransmission timeout, also one of a SYN, changes the path (`sk_rethink_txhash` in
//! `tcp_write_timeout`). If congestion control reduces the window for it (`CA_EVENT_LOSS`), the
//! count starts from 0, and marks change no path for a random time between `suspend_rto` and twice
//! that time (`tcp_plb_update_state_upon_rto`). They could lead back to the path that has failed.
//!
//! A new path is drawn from all paths, as a new flow label is hashed by switches. It may be the
//! current one. Acknowledgements keep the path that ECMP draws for them: Linux changes the flow
//! label of the sender of data only. Linux also changes that of a receiver which gets a segment
//! twice (`tcp_rcv_spurious_retrans`). That rule does not belong to PLB and is not modelled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::Time;

use crate::draw::{draw, uniform_below};
use crate::{Ecmp, Granularity, PathEvent, PathPolicy, PathState, Paths, SubflowDirection};

/// A path that is drawn again after rounds with many marks, and after a timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plb {
    /// Number of consecutive congested rounds after which the path changes:
    /// `tcp_plb_rehash_rounds` of Linux.
    #[serde(default = "weft_spec::default_number::<12>")]
    #[schemars(range(min = 1, max = MAX_ROUNDS))]
    pub rehash_rounds: u32,
    /// Number of consecutive congested rounds after which the path changes when nothing is
    /// outstanding; never if it is 0. It is `tcp_plb_idle_rehash_rounds` of Linux.
    #[serde(default = "weft_spec::default_number::<3>")]
    #[schemars(range(min = 0, max = MAX_ROUNDS))]
    pub idle_rehash_rounds: u32,
    /// Fraction of marked packets from which a round is congested, in units of 1/256:
    /// `tcp_plb_cong_thresh` of Linux.
    #[serde(default = "weft_spec::default_number::<128>")]
    #[schemars(range(min = 0, max = 256))]
    pub cong_thresh: u32,
    /// Minimum time after a timeout for which marks do not change the path, half of the maximum:
    /// `tcp_plb_suspend_rto_sec` of Linux.
    #[serde(default = "default_suspend_rto")]
    pub suspend_rto: Time,
}

fn default_suspend_rto() -> Time {
    Time::from_ms(60_000)
}

impl Plb {
    pub(crate) const ABOUT: &str =
        "a path drawn by hash for each subflow, and again after rounds with many marks, as Linux's PLB does";

    /// Updates the number of congested rounds at the end of a round (`tcp_plb_update_state`).
    fn count_round(&self, state: &mut PathState, acked: u32, marked: u32) {
        let fraction = (u64::from(marked) << SCALE) / u64::from(acked);
        if fraction < u64::from(self.cong_thresh) {
            state.congested_rounds = 0;
        } else {
            state.congested_rounds = (state.congested_rounds + 1).min(self.rehash_rounds);
        }
    }

    /// Decides whether marks change the path (`tcp_plb_check_rehash`).
    fn check_rehash(&self, state: &mut PathState, is_idle: bool, now: Time) -> bool {
        let rounds = state.congested_rounds;
        let is_forced = rounds >= self.rehash_rounds;
        let may_idle = is_idle && self.idle_rehash_rounds > 0 && rounds >= self.idle_rehash_rounds;
        let changes = (is_forced || may_idle) && now >= state.suspended_until;
        if changes {
            state.congested_rounds = 0;
        }
        changes
    }
}

impl PathPolicy for Plb {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        Ecmp {}.path(paths, seed, direction)
    }

    fn granularity(&self, _: u32, reverse: bool) -> Granularity {
        if reverse {
            Granularity::Subflow
        } else {
            Granularity::OnEvent
        }
    }

    fn on_event(&self, state: &mut PathState, event: PathEvent, now: Time) -> bool {
        match event {
            PathEvent::Round { acked: 0, .. } => false,
            PathEvent::Round {
                acked,
                marked,
                is_idle,
            } => {
                self.count_round(state, acked, marked);
                self.check_rehash(state, is_idle, now)
            }
            PathEvent::Start => self.check_rehash(state, true, now),
            PathEvent::Timeout { is_loss, random } => {
                if is_loss {
                    let suspend = self.suspend_rto.0;
                    let random = uniform_below((random >> 32) as u32, suspend);
                    let suspended_until = now.0.saturating_add(suspend).saturating_add(random);
                    *state = PathState {
                        congested_rounds: 0,
                        suspended_until: Time(suspended_until),
                    };
                }
                true
            }
        }
    }

    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        if n == 0 || direction.reverse {
            return self.path(paths, seed, direction);
        }
        let hash = draw(&[seed, direction.hash_key(), n, PLB_DOMAIN]);
        let each = paths.count / paths.branches;
        uniform_below((hash >> 32) as u32, paths.branches) * each + uniform_below(hash as u32, each)
    }
}

/// Binary digits of a fraction of marked packets: `TCP_PLB_SCALE` of Linux.
const SCALE: u32 = 8;

/// Maximum number of rounds: `tcp_plb_max_rounds` of Linux.
const MAX_ROUNDS: u32 = 31;

/// Domain tag that separates these draws from others for the same subflow.
const PLB_DOMAIN: u64 = 0x70_6C62;

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(changes: &str) -> Plb {
        let table: toml::Table = changes.parse().unwrap();
        table.try_into().unwrap()
    }

    /// The end of a round of which this many 256ths were marked, with data outstanding.
    fn round(fraction: u32) -> PathEvent {
        PathEvent::Round {
            acked: 256_000,
            marked: fraction * 1000,
            is_idle: false,
        }
    }

    const IDLE: PathEvent = PathEvent::Round {
        acked: 4,
        marked: 4,
        is_idle: true,
    };

    const EMPTY: PathEvent = PathEvent::Round {
        acked: 0,
        marked: 0,
        is_idle: true,
    };

    fn timeout(is_loss: bool) -> PathEvent {
        PathEvent::Timeout {
            is_loss,
            random: 1 << 63,
        }
    }

    /// Returns the numbers of the events after which the path changes, from 1. Events are 1 s apart.
    fn changes(policy: &Plb, events: &[PathEvent]) -> Vec<usize> {
        let mut state = PathState::default();
        let mut changes = Vec::new();
        for (number, event) in (1..).zip(events) {
            if policy.on_event(&mut state, *event, Time::from_ms(1000 * number as u64)) {
                changes.push(number);
            }
        }
        changes
    }

    #[test]
    fn the_defaults_are_those_of_linux() {
        let plb = policy("");
        assert_eq!((plb.rehash_rounds, plb.idle_rehash_rounds), (12, 3));
        assert_eq!((plb.cong_thresh, plb.suspend_rto), (128, Time::from_ms(60_000)));
    }

    #[test]
    fn rules_of_tcp_plb() {
        use PathEvent::Start;
        let rounds = |n: usize, fraction| vec![round(fraction); n];
        let table: &[(&str, &str, Vec<PathEvent>, &[usize])] = &[
            ("forced after 12", "", rounds(25, 128), &[12, 24]),
            ("threshold is inclusive", "", rounds(30, 127), &[]),
            (
                "a round below it starts the count from 0",
                "",
                [rounds(11, 256), rounds(1, 127), rounds(12, 256)].concat(),
                &[24],
            ),
            ("idle after 3", "", [rounds(3, 256), vec![Start]].concat(), &[4]),
            ("not after 2", "", [rounds(2, 256), vec![Start]].concat(), &[]),
            (
                "the count starts from 0 after a change",
                "",
                [rounds(3, 256), vec![Start, Start], rounds(2, 256), vec![Start]].concat(),
                &[4],
            ),
            ("end of a round that leaves nothing", "", vec![IDLE; 7], &[3, 6]),
            (
                "a round without packets does not count",
                "",
                [vec![IDLE, IDLE, EMPTY], vec![IDLE]].concat(),
                &[4],
            ),
            (
                "0 disables the idle rule",
                "idle_rehash_rounds = 0",
                vec![IDLE; 13],
                &[12],
            ),
            (
                "another number of rounds",
                "rehash_rounds = 5",
                rounds(11, 200),
                &[5, 10],
            ),
            ("another threshold", "cong_thresh = 256", rounds(12, 255), &[]),
            ("a threshold of 0", "cong_thresh = 0", rounds(12, 0), &[12]),
            (
                "every timeout changes the path",
                "",
                vec![timeout(true), timeout(false)],
                &[1, 2],
            ),
            (
                "a loss starts the count from 0",
                "suspend_rto = \"0s\"",
                [rounds(11, 256), vec![timeout(true)], rounds(12, 256)].concat(),
                &[12, 24],
            ),
            (
                "a repeated timeout keeps the count",
                "",
                [rounds(11, 256), vec![timeout(false)], rounds(1, 256)].concat(),
                &[12, 13],
            ),
            // Half of the random bits: 1.5 times 20 s after second 1.
            (
                "suspension",
                "suspend_rto = \"20s\"",
                [vec![timeout(true)], rounds(29, 256), vec![Start], rounds(12, 256)].concat(),
                &[1, 31, 43],
            ),
            (
                "a repeated timeout does not prolong a suspension",
                "suspend_rto = \"20s\"",
                [
                    vec![timeout(true)],
                    rounds(24, 256),
                    vec![timeout(false)],
                    rounds(6, 256),
                ]
                .concat(),
                &[1, 26, 31],
            ),
        ];
        for (what, fields, events, expected) in table {
            assert_eq!(changes(&policy(fields), events), *expected, "{what}");
        }
    }

    #[test]
    fn a_suspension_lasts_between_one_and_two_times_the_field() {
        let until = |random| {
            let mut state = PathState::default();
            let event = PathEvent::Timeout {
                is_loss: true,
                random,
            };
            assert!(policy("").on_event(&mut state, event, Time::from_ms(5_000)));
            state.suspended_until
        };
        assert_eq!(until(0), Time::from_ms(65_000));
        assert_eq!(until(1 << 63), Time::from_ms(95_000));
        assert!(until(u64::MAX) < Time::from_ms(125_000));
        assert!(until(u64::MAX) > Time::from_ms(124_999));
    }

    #[test]
    fn the_first_paths_are_those_of_ecmp_and_acknowledgements_keep_them() {
        let paths = Paths {
            count: 12,
            branches: 4,
        };
        for flow in 0..100 {
            for reverse in [false, true] {
                let direction = SubflowDirection {
                    flow,
                    subflow: 0,
                    subflows: 1,
                    reverse,
                };
                let ecmp = Ecmp {}.path(paths, 7, direction);
                let nth = |n| policy("").nth_path(paths, 7, direction, n);
                assert_eq!((policy("").path(paths, 7, direction), nth(0)), (ecmp, ecmp));
                assert_eq!((1..60).all(|n| nth(n) == ecmp), reverse);
            }
        }
        let granularity = |reverse| policy("").granularity(0, reverse);
        assert_eq!(
            [false, true].map(granularity),
            [Granularity::OnEvent, Granularity::Subflow]
        );
    }

    #[test]
    fn fields_have_the_ranges_of_the_sysctls() {
        let refused = |fields: &str| {
            let refused = weft_spec::from_table::<Plb>(&fields.parse().unwrap());
            refused.unwrap_err().to_string()
        };
        assert_eq!(refused("rehash_rounds = 0"), "rehash_rounds: 0; allowed: 1 to 31");
        assert_eq!(
            refused("rehash_rounds = 32"),
            "rehash_rounds: 32; allowed: 1 to 31"
        );
        assert_eq!(
            refused("idle_rehash_rounds = 32"),
            "idle_rehash_rounds: 32; allowed: 0 to 31"
        );
        assert_eq!(
            refused("cong_thresh = 257"),
            "cong_thresh: 257; allowed: 0 to 256"
        );
    }
}
