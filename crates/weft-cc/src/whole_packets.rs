//! Growth of windows by whole packets (`tcp_cong_avoid_ai` of `net/ipv4/tcp_cong.c`, kernel 6.x).

/// Counts acknowledged packets in `count` (`snd_cwnd_cnt`), and returns by how many packets the
/// window grows if it grows by one for each `per_packet` of them.
pub(crate) fn count_acked(count: &mut u32, per_packet: u32, acked: u32) -> u32 {
    let mut grown = 0;
    // "If credits accumulated at a higher w, apply them gently now."
    if *count >= per_packet {
        *count = 0;
        grown = 1;
    }
    *count += acked;
    if *count >= per_packet {
        grown += *count / per_packet;
        *count %= per_packet;
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_for_a_large_divisor_is_used_when_it_falls() {
        let mut count = 0;
        assert_eq!((count_acked(&mut count, 100, 60), count), (0, 60));
        // One packet for all that was counted, and three for what comes.
        assert_eq!((count_acked(&mut count, 10, 35), count), (4, 5));
    }
}
