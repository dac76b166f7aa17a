//! Priority flow control: IEEE 802.1Qbb, now clause 36 of IEEE 802.1Q. A switch pauses the neighbour whose
//! packets fill its buffer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{MAX_CLASS, QueueSize, Size, SpecError, Time};

use super::red::{check_ramp, ramp};
use super::{QueueParameters, Red, RedAt};
use crate::Link;

/// Maximum number of traffic classes.
const MAX_CLASSES: u8 = MAX_CLASS + 1;

/// Size of a pause frame on the wire: the smallest Ethernet frame (IEEE 802.3, annex 31B).
pub const PAUSE_FRAME: u32 = 64;

/// Priority flow control (PFC, IEEE 802.1Qbb): a FIFO per traffic class that pauses its neighbours instead of
/// dropping packets. A switch counts the waiting packets of each incoming link, and pauses the link before its
/// buffer is full. Pauses thus spread hop by hop, up to the hosts that send. `limit` is the buffer for the packets
/// of an incoming link in a class. Packets that a host sends itself wait without a limit. Transports of all kinds
/// may send. If paused links wait for each other in a cycle (deadlock), a warning names them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// Part of the buffer for packets that arrive after a pause was sent. The default is the most that can
    /// arrive: 2 x delay x rate + 2 packets of the largest size + a pause frame + `reaction` x rate.
    /// (IEEE 802.1Q, annex O; Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
    /// 2015, section 4.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Size>,
    /// Size of a pool for the headroom of all incoming links and classes of a switch, each of which takes up to
    /// `headroom` from it. By default there is no pool: each has a `headroom` of its own. A pool is smaller
    /// than their sum, because few links need their headroom at once. Switches call it a shared headroom pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_pool: Option<Size>,
    /// A pause is sent once a packet of the largest size might exceed this length. The default is `limit`
    /// without `headroom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Size>,
    /// Length at which the pause ends. The default is two packets of the largest size below `xoff` (Zhu et
    /// al., SIGCOMM 2015).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Size>,
    /// Time from the arrival of a pause frame to its effect. The default, none, is that of the simulators
    /// of DCQCN and HPCC. IEEE 802.3 allows 60 quanta of 512 bits at 10 Gbps.
    #[serde(default = "no_time")]
    pub reaction: Time,
    /// Time after which a paused port drops what waits in the class, and what arrives until the pause ends.
    /// There is none by default. Junos has 200 ms where its watchdog is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Time>,
    /// Number of traffic classes, 1 to 8. Each is paused by itself, and served before all later ones.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_CLASSES))]
    pub classes: u8,
    /// Waiting data of a class up to which no packet is marked when it arrives. From there to `mark_max`, the
    /// probability rises from 0 to `mark_probability`. Zhu et al. have 5 KB at 40 Gbps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_min: Option<QueueSize>,
    /// Waiting data of a class from which every packet is marked, in the unit of `mark_min`. Zhu et al. have 200 KB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_max: Option<QueueSize>,
    /// Probability just below `mark_max`. The default is 1; Zhu et al. have 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mark_probability: Option<f64>,
}

const fn no_time() -> Time {
    Time(0)
}

const fn one() -> u8 {
    1
}

/// The thresholds of an incoming link in bytes, per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// A pause is sent once a packet of the largest size might exceed this.
    pub xoff: u64,
    /// The pause ends at this.
    pub xon: u64,
    /// A packet that would exceed this is dropped.
    pub capacity: u64,
    /// Size of the pool that holds what exceeds `xoff`, if links share one.
    pub pool: Option<u64>,
}

impl Thresholds {
    /// Returns the bytes that a pool holds of an incoming link in a class beyond those that it held before, if
    /// `before` bytes became `after`.
    pub fn pooled(&self, before: u64, after: u64) -> u64 {
        after.max(self.xoff) - before.max(self.xoff)
    }
}

impl Lossless {
    pub(crate) const ABOUT: &str =
        "a FIFO per class that pauses its neighbours instead of dropping packets (PFC, IEEE 802.1Qbb)";

    /// Returns the ramp of marks, if there is one.
    pub fn ramp(&self) -> Option<Red> {
        let probability = self.mark_probability.unwrap_or(1.0);
        ramp([self.mark_min, self.mark_max], probability, RedAt::Enqueue)
    }

    /// Returns the kind without marks.
    #[must_use]
    pub fn without_marks(self) -> Self {
        Self {
            mark_min: None,
            mark_max: None,
            mark_probability: None,
            ..self
        }
    }

    /// Returns the bytes that may arrive over `incoming` after a pause frame was sent over `outgoing`, the
    /// other direction of its cable. `max_packet` is the size of the largest packet in bytes.
    pub fn headroom_bound(&self, incoming: &Link, outgoing: &Link, max_packet: u32) -> u64 {
        // The frame waits for a packet that is being sent.
        let wait = f64::from(max_packet + PAUSE_FRAME) * 8e12 / outgoing.rate.0 as f64;
        let time = (incoming.delay.0 + outgoing.delay.0 + self.reaction.0) as f64 + wait;
        // The neighbour first ends the transmission of a packet.
        (time * incoming.rate.0 as f64 / 8e12).ceil() as u64 + u64::from(max_packet)
    }

    /// Returns the bytes that the limit of the port of a link stands for.
    pub fn buffer(&self, link: &Link, max_packet: u32) -> u64 {
        match link.queue.limit {
            QueueSize::Packets(packets) => u64::from(packets) * u64::from(max_packet),
            QueueSize::Bytes(bytes) => bytes,
        }
    }

    /// Returns the thresholds for the packets that arrive over `incoming` at a node whose port in the other
    /// direction is that of `outgoing`.
    pub fn thresholds(&self, incoming: &Link, outgoing: &Link, max_packet: u32) -> Thresholds {
        let limit = self.buffer(outgoing, max_packet);
        let bound = || self.headroom_bound(incoming, outgoing, max_packet);
        let headroom = self.headroom.map_or_else(bound, |size| size.0);
        let xoff = self
            .xoff
            .map_or_else(|| limit.saturating_sub(headroom), |size| size.0);
        let xon = || xoff.saturating_sub(2 * u64::from(max_packet));
        Thresholds {
            xoff,
            xon: self.xon.map_or_else(xon, |size| size.0),
            capacity: xoff + headroom,
            pool: self.headroom_pool.map(|size| size.0),
        }
    }
}

impl QueueParameters for Lossless {
    fn uses_buffer(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), SpecError> {
        if !(1..=MAX_CLASSES).contains(&self.classes) {
            let allowed = format!("1 to {MAX_CLASSES}");
            return Err(SpecError::new("classes", self.classes.to_string(), allowed));
        }
        if self.watchdog == Some(Time(0)) {
            return Err(SpecError::new("watchdog", "0s", "a time above 0"));
        }
        if self.headroom_pool == Some(Size(0)) {
            return Err(SpecError::new("headroom_pool", "0B", "a size above 0"));
        }
        check_ramp([self.mark_min, self.mark_max])?;
        if let Some(probability) = self.mark_probability {
            if self.mark_min.is_none() {
                let problem = "given without `mark_min` and `mark_max`";
                return Err(SpecError::conflict("mark_probability", problem, "add both"));
            }
            if !(0.0..=1.0).contains(&probability) {
                let given = probability.to_string();
                return Err(SpecError::new("mark_probability", given, "0 to 1"));
            }
        }
        match (self.xon, self.xoff) {
            (Some(xon), Some(xoff)) if xon > xoff => {
                let given = format!("{xon} is above xoff = \"{xoff}\"");
                Err(SpecError::new("xon", given, format!("at most {xoff}")))
            }
            _ => Ok(()),
        }
    }

    fn marks(&self) -> bool {
        self.mark_min.is_some()
    }

    fn classes(&self) -> Option<usize> {
        (self.classes > 1).then_some(self.classes.into())
    }
}
