//! Growth and reduction of CUBIC in Linux (`bictcp_update`, `cubictcp_recalc_ssthresh` and
//! `bictcp_reset` of `net/ipv4/tcp_cubic.c`, `tcp_cong_avoid_ai` of `net/ipv4/tcp_cong.c`; read in
//! 6.12, and compared with events that 6.18 recorded).
//!
//! Windows are whole packets, and time is counted in jiffies. The divisor `cnt` is the number of
//! acknowledged packets for which the window grows by one:
//!
//! - It is evaluated when the window has changed, or after 1/32 s. At an RTT well below 1/32 s, the
//!   Reno-friendly window therefore runs ahead of a window that does not change. The window then
//!   catches up by at most one packet for two that are acknowledged.
//! - Within the jiffy of the last evaluation, only the Reno-friendly window is evaluated, and `cnt`
//!   only falls.
//! - Acknowledgements are counted while the divisor is large, and the count is used when the
//!   divisor falls: the window then grows by one packet at once.
//!
//! One thing differs: the cube root is exact, whereas Linux's has an error of 0.2 %.

use crate::whole_packets::count_acked;
use crate::{Elapsed, Window};

/// Jiffies per second (`CONFIG_HZ` of Debian's kernels).
const HZ: u64 = 250;
/// Picoseconds of a jiffy.
const JIFFY: u64 = 1_000_000_000_000 / HZ;
/// A window that does not change is evaluated after more than this number of jiffies.
const EVAL_JIFFIES: u64 = HZ / 32;
/// Minimum divisor: "cwnd grows at 1.5x per RTT".
const MIN_CNT: u32 = 2;
/// Maximum divisor while no loss has been seen: 5 % per RTT.
const MAX_CNT_WITHOUT_LOSS: u32 = 20;
/// Units of time of the cubic function per second (`1 << BICTCP_HZ`).
const UNITS: u64 = 1024;

/// The constants of the law, as the kernel's integers have them.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// C in packets per cubic second.
    c: f64,
    /// Beta in 1/1024.
    beta: u64,
    /// Packets to acknowledge per packet of the Reno-friendly window and packet of the window, in
    /// 1/8 (`beta_scale`).
    scale: u64,
}

impl Law {
    /// Creates the constants from those of RFC 9438.
    pub fn new(c: f64, beta: f64) -> Self {
        let beta = (beta * 1024.0).round() as u64;
        Self {
            c: (c * 1024.0).round() / 1024.0,
            beta,
            scale: 8 * (1024 + beta) / 3 / (1024 - beta),
        }
    }
}

/// The state of a subflow (`struct bictcp`, and `snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Bictcp {
    /// Packets acknowledged since the window last grew (`snd_cwnd_cnt`).
    cwnd_cnt: u32,
    cnt: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    /// Jiffy of the last evaluation.
    last_time: u64,
    origin_point: u32,
    /// `K` in units of the cubic function.
    k: u64,
    /// Jiffy at which the epoch began; `None` from a reduction to the next growth.
    epoch_start: Option<u64>,
    ack_cnt: u32,
    /// The Reno-friendly window.
    tcp_cwnd: u32,
}

impl Bictcp {
    /// Reduces the window (`cubictcp_recalc_ssthresh`, `tcp_init_cwnd_reduction`). Returns the
    /// slow-start threshold.
    pub fn reduce(&mut self, cwnd: f64, fast_convergence: bool, law: &Law) -> f64 {
        let cwnd = cwnd as u32;
        self.epoch_start = None;
        self.cwnd_cnt = 0;
        let part = |parts: u64, of: u64| (u64::from(cwnd) * parts / of) as u32;
        self.last_max_cwnd = if fast_convergence && cwnd < self.last_max_cwnd {
            part(1024 + law.beta, 2048)
        } else {
            cwnd
        };
        part(law.beta, 1024).max(2).into()
    }

    /// Moves the epoch by the seconds of `idle`, which end now, but not beyond now
    /// (`cubictcp_cwnd_event`).
    pub fn skip_idle(&mut self, idle: f64, now: Elapsed) {
        if let Some(start) = &mut self.epoch_start {
            *start = (*start + (idle * HZ as f64) as u64).min(now.0 / JIFFY);
        }
    }

    /// Grows the window for `acked` packets.
    #[inline]
    pub fn grow(&mut self, w: &mut Window, acked: u32, now: Elapsed, law: &Law) {
        let cwnd = w.cwnd as u32;
        let jiffy = now.0 / JIFFY;
        self.ack_cnt += acked;
        if self.last_cwnd != cwnd || jiffy.saturating_sub(self.last_time) > EVAL_JIFFIES {
            self.evaluate(cwnd, acked, jiffy, w.min_rtt, law);
        }
        w.cwnd += f64::from(count_acked(&mut self.cwnd_cnt, self.cnt, acked));
    }

    /// Finds the divisor (`bictcp_update`).
    fn evaluate(&mut self, cwnd: u32, acked: u32, jiffy: u64, min_rtt: f64, law: &Law) {
        // "The CUBIC function can update ca->cnt at most once per jiffy."
        if self.epoch_start.is_none() || jiffy != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, jiffy);
            let start = match self.epoch_start {
                Some(start) => start,
                None => self.start_epoch(cwnd, acked, jiffy, law),
            };
            let target = self.target(jiffy.saturating_sub(start), min_rtt, law);
            self.cnt = match target.checked_sub(cwnd) {
                Some(ahead @ 1..) => cwnd / ahead,
                _ => cwnd.saturating_mul(100),
            };
            if self.last_max_cwnd == 0 {
                self.cnt = self.cnt.min(MAX_CNT_WITHOUT_LOSS);
            }
        }
        let per_packet = (u64::from(cwnd) * law.scale / 8).max(1) as u32;
        let grown = self.ack_cnt.saturating_sub(1) / per_packet;
        self.ack_cnt -= grown * per_packet;
        self.tcp_cwnd += grown;
        if let Some(ahead @ 1..) = self.tcp_cwnd.checked_sub(cwnd) {
            self.cnt = self.cnt.min(cwnd / ahead);
        }
        self.cnt = self.cnt.max(MIN_CNT);
    }

    /// Begins an epoch. Returns its start.
    fn start_epoch(&mut self, cwnd: u32, acked: u32, jiffy: u64, law: &Law) -> u64 {
        self.epoch_start = Some(jiffy);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        if self.last_max_cwnd <= cwnd {
            (self.k, self.origin_point) = (0, cwnd);
        } else {
            let seconds = (f64::from(self.last_max_cwnd - cwnd) / law.c).cbrt();
            self.k = (seconds * UNITS as f64) as u64;
            self.origin_point = self.last_max_cwnd;
        }
        jiffy
    }

    /// Returns the window of the cubic function an RTT after `elapsed` jiffies of the epoch.
    fn target(&self, elapsed: u64, min_rtt: f64, law: &Law) -> u32 {
        // `usecs_to_jiffies` rounds up.
        let delay = (min_rtt * HZ as f64).ceil() as u64;
        let t = (elapsed + delay) * UNITS / HZ;
        let offset = t.abs_diff(self.k) as f64 / UNITS as f64;
        let delta = (law.c * offset.powi(3)) as u32;
        if t < self.k {
            self.origin_point.saturating_sub(delta)
        } else {
            self.origin_point.saturating_add(delta)
        }
    }
}

#[cfg(test)]
mod tests;
