//! Warp's trials where the connection has too few packets for two subflows.

use weft_bpf_native::NativeAlgorithm;
use weft_cc::{Ack, CongestionControl, Elapsed, Round, Window};

const RTT_US: u64 = 700;
const MIN_INACTIVE_US: u32 = 1_500_000;

/// Returns the times in microseconds at which trials began, of a connection of two subflows whose
/// packets are all marked, during six seconds.
fn trials(min_inactive_us: u32) -> Vec<u64> {
    let mut cc = NativeAlgorithm::new("bpf:warp", &[]).expect("the algorithm");
    cc.set_min_inactive(min_inactive_us);
    let mut w = vec![Window::new(10.0, f64::INFINITY); 2];
    for s in 0..w.len() {
        w[s].established = true;
        w[s].srtt = 1e-6 * RTT_US as f64;
        cc.on_open(&mut w, s);
    }
    let mut times = Vec::new();
    let mut sending = 1;
    for now_us in (RTT_US..6_000_000).step_by(RTT_US as usize) {
        for s in 0..w.len() {
            if !w[s].active {
                continue;
            }
            let (acked, marked) = (2, 2);
            let ack = Ack {
                acked,
                marked,
                may_grow: true,
                rtt: w[s].srtt,
                now: Elapsed(now_us * 1_000_000),
            };
            cc.on_ack(&mut w, s, ack);
            if cc.reacts_to_mark(&w, s) {
                cc.on_mark(&mut w, s);
            }
            cc.on_round(&mut w, s, Round { acked, marked });
        }
        let before = std::mem::replace(&mut sending, w.iter().filter(|r| r.active).count());
        if (before, sending) == (1, 2) {
            times.push(now_us);
        }
    }
    times
}

/// The data that the scheduler has assigned to a subflow leaves it after its deactivation, in
/// addition to the window. A trial therefore waits for `min_inactive` since the last one.
#[test]
fn trials_wait_since_the_last_deactivation() {
    let often = trials(0);
    let gaps = often.windows(2).map(|pair| pair[1] - pair[0]);
    // 1,000 rounds of two packets, and the trial.
    assert!(
        often.len() >= 7
            && gaps
                .clone()
                .all(|gap| (1000 * RTT_US..1050 * RTT_US).contains(&gap)),
        "{often:?}"
    );
    let rare = trials(MIN_INACTIVE_US);
    let mut gaps = rare.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(
        rare.len() >= 3 && gaps.all(|gap| gap >= u64::from(MIN_INACTIVE_US)),
        "{rare:?}"
    );
}
